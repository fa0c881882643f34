"""The history page: lengths and engines of models over the builds of an app; history_page.js draws it."""

from __future__ import annotations

from typing import Any

from dash import html

from tracekit_dashboard.pages.components import Node

_ABOUT = (
    "Each dot is the median length of calls in a build's recordings (their winsorised mean), with a 95 %"
    " interval over them; the smaller dot is the 90th percentile. In the rows of a language model, a dot is"
    " the time to first token, or the time per token in decode. The line of a model that changed is its"
    " level, fitted to all builds at once. The bar below has the engines that served the calls, a call of"
    " several engines under each; what could not be determined is hatched."
)
_LOADING = "Loading the history …"


_OF_LIBRARY = (
    "These are the recordings of the library that have been read. A tag such as build=422 gives a recording"
    " its build; those without one are in no row. The history of other recordings: tracekit fleet run traces/"
    " -o results/, then tracekit dashboard --fleet results/."
)


def build_page(*, of_library: bool) -> Node:
    """Return the page of the library or of a dataset."""
    attributes: Any = {"data-history": ""}
    notes = [_ABOUT, *([_OF_LIBRARY] if of_library else [])]
    return html.Div(
        [
            html.Header([html.H1("History"), *(html.P(note, className="note") for note in notes)]),
            html.Main(html.P(_LOADING, className="note loading", role="status"), id="history-body"),
        ],
        id="history",
        **attributes,
    )
