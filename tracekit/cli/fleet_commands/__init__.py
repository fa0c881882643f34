"""The commands of ``tracekit fleet``: one file per command."""
