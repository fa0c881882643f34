"""Calls as they end: a stream of signposts and lines of the log, with a state that never grows."""
