"""Tables of a recording: stored once as Arrow columns, then filtered, sorted and drawn from the disk."""
