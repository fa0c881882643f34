"""Texts of other tools → ``Source``: stack dumps, crash reports, logs and power samples."""
