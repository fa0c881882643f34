"""The page of several analyses side by side; it has no callbacks of its own."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.errors import NotFound
from dashboard.library.library import Library
from dashboard.library.measures import read_measures
from dashboard.library.store import split
from dashboard.library.variants import described
from dashboard.pages import trend
from dashboard.pages.compare import in_order
from dashboard.pages.components import Node
from dashboard.pages.frame import not_found


def page(library: Library, analyses: Sequence[str]) -> Node:
    """Return the page of these analyses, recordings or variants, in order of time."""
    distinct = list(dict.fromkeys(analyses))
    if len(distinct) > trend.MOST:
        return trend.too_many_page(len(distinct))
    try:
        columns = {analysis: _column(library, analysis) for analysis in distinct}
    except NotFound:
        return not_found("One of these recordings is not in the library, or was removed.")
    ordered = in_order([column.recording for column in columns.values()])
    return trend.page([columns[recording.id] for recording in ordered])


def _column(library: Library, analysis: str) -> trend.Column:
    recording = library.recording(analysis)
    recording_id, variant = split(analysis)
    options = described(library.analyses.find(recording_id, variant).options) if variant else []
    try:
        measures = read_measures(library.results(analysis))
    except NotFound:
        measures = None
    return trend.Column(recording, ", ".join(f"{name} {value}" for name, value in options), measures)
