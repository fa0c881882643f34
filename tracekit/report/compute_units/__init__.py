"""Runs of one app with different compute units, side by side."""
