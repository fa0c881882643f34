"""The history page: lengths and engines of models over the builds of an app; history_page.js draws it."""

from __future__ import annotations

from typing import Any

from dash import html

from dashboard.pages.components import Node

_ABOUT = (
    "Each dot is the median length of calls in a build's recordings (their winsorised mean), with a 95 %"
    " interval over them; the smaller dot is the 90th percentile. The bar below has the engines that served"
    " the calls, a call of several engines under each; what could not be determined is hatched."
)
_LOADING = "Loading the history …"


def page() -> Node:
    """Return the page of a dataset."""
    named: Any = {"data-history": ""}
    return html.Div(
        [
            html.Header([html.H1("History"), html.P(_ABOUT, className="note")]),
            html.Main(html.P(_LOADING, className="note loading", role="status"), id="history-body"),
        ],
        id="history",
        **named,
    )


def how_page() -> Node:
    """Return the page of a dashboard without a dataset."""
    return html.Main(
        [
            html.H1("History"),
            html.Section(
                [
                    html.P("The history of models over builds is shown of a dataset of many recordings:"),
                    html.Pre("tracekit fleet run traces/ -o results/\ntracekit dashboard --fleet results/"),
                ]
            ),
        ]
    )
