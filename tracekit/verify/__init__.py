"""Comparison of two readings of one recording, cell by cell."""
