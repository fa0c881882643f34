"""The documents of a plan."""
