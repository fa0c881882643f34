"""Removal of private data from a recording before it is shared."""
