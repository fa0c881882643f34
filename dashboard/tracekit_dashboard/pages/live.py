"""The live page: calls of a stream as they end; live_page.js draws what the server sends."""

from __future__ import annotations

from typing import Any

from dash import html

from tracekit_dashboard.pages.components import Node

_ABOUT = (
    "Each mark is a call of the last two minutes: green with requests to the Neural Engine in the log, red"
    " with one that failed, grey where the log shows no engine, which is not the same as another engine."
)
_HOW = (
    "No stream is watched. Start the dashboard with one: log stream --style ndjson --signpost | tracekit"
    " dashboard --watch - --window-signpost encode, or --watch FILE for a file that grows."
)


def build_page(*, is_watching: bool) -> Node:
    """Return the page of the stream, or how to watch one."""
    if not is_watching:
        return html.Main([html.H1("Live"), html.P(_HOW, className="note")])
    attributes: Any = {"data-live": ""}
    return html.Main(
        [
            html.Header([html.H1("Live"), html.P(_ABOUT, className="note")]),
            html.Div(html.P("Waiting for the stream …", className="note loading"), id="live-body"),
        ],
        id="live",
        **attributes,
    )
