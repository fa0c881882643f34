"""The page of several analyses side by side; it has no callbacks of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.page_measures import read_measures
from tracekit_dashboard.library.store import split
from tracekit_dashboard.library.variants import describe_options
from tracekit_dashboard.pages import trend
from tracekit_dashboard.pages.compare import sort_by_time
from tracekit_dashboard.pages.components import Node
from tracekit_dashboard.pages.frame import build_not_found


def build_page(library: Library, analyses: Sequence[str]) -> Node:
    """Return the page of these analyses, recordings or variants, in order of time."""
    distinct = list(dict.fromkeys(analyses))
    if len(distinct) > trend.MAX_COLUMNS:
        return trend.build_too_many_page(len(distinct))
    try:
        columns = {analysis: _build_column(library, analysis) for analysis in distinct}
    except NotFound:
        return build_not_found("One of these recordings is not in the library, or was removed.")
    ordered = sort_by_time([column.recording for column in columns.values()])
    return trend.build_page([columns[recording.id] for recording in ordered])


def _build_column(library: Library, analysis: str) -> trend.TrendColumn:
    recording = library.find_recording(analysis)
    recording_id, variant = split(analysis)
    options = describe_options(library.analyses.find(recording_id, variant).options) if variant else []
    try:
        measures = read_measures(library.find_results(analysis))
    except NotFound:
        measures = None
    return trend.TrendColumn(recording, ", ".join(f"{name} {value}" for name, value in options), measures)
