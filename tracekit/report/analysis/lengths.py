"""The groups of calls whose lengths are stated apart."""

from __future__ import annotations

from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations, measure_durations

UNNAMED = "calls without a model"


def lengths_of_groups(analysis: Analysis) -> dict[str, Durations]:
    """Return the lengths of the calls of each model, and of those that name none; nothing for a single group.

    Calls that name no model may be another process's: percentiles over both would be of neither.
    """
    groups, windows = dict(analysis.summary.models), analysis.window_rows
    unnamed = windows[windows["model"].astype("str") == ""]
    if groups and len(unnamed):
        verdicts = [analysis.verdicts.names[row] for row in unnamed.index.tolist()]
        groups[UNNAMED] = measure_durations(unnamed, verdicts)
    return groups if len(groups) > 1 else {}
