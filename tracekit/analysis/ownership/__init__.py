"""Ownership: the one call, or other owner, of each interval that a table of an engine reports."""
