"""Findings: what happened to each model, what it costs, what to do next; a module per kind of detector."""
