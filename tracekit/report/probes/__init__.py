"""Results of probes, for people and for programs."""
