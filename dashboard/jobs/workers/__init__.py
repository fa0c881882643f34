"""Modules that run as processes: ``python -m dashboard.jobs.workers.<name>``."""
