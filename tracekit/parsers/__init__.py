"""Files → Source → Table → Trace. Knows no analysis."""
