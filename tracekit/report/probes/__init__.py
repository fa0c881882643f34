"""What a recording of probes shows, for people and for programs."""
