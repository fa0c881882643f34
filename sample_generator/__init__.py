"""Writes ``sample_traces/``: synthetic recordings with their truth, independent of tracekit's readers."""
