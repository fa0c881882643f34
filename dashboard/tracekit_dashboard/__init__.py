"""The interactive dashboard: it imports ``tracekit``, and ``tracekit`` never imports it."""
