"""Modules that run as processes: ``python -m tracekit_dashboard.jobs.workers.<name>``."""
