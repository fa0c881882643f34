"""The tray of ticked recordings, which stays in sight below the library's list."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html

from tracekit.text import format_duration, plural, printable
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.pages import compare, trend
from tracekit_dashboard.pages.components import Node, build_aria_attributes, format_minute
from tracekit_dashboard.pages.engine_bar import build_engine_bar


def build_tray(recordings: Sequence[Recording]) -> Node:
    """Return the tray of the ticked recordings, in order of time, with links to compare them."""
    if not recordings:
        return None
    ordered = compare.sort_by_time(recordings)
    clear = html.Button("Clear", id="library-unchoose", type="button", n_clicks=0)
    heading = html.Strong(f"{plural(len(ordered), 'recording')} chosen")
    if len(ordered) == 1:
        line = f" “{printable(ordered[0].name)}”. Choose one more to compare, or several to see the trend."
        return html.Div([html.Span([heading, line]), clear], className="notice chosen")
    base = ordered[0]
    rows = [_build_row(recording, base) for recording in ordered]
    names = {"Recording": "", "Recorded": "", "Calls": "number", "p50": "number", "Engines": ""}
    ways = html.Td(html.Span("Ways to compare", className="unseen"))
    head = html.Thead(
        html.Tr([*(html.Th(name, scope="col", className=kind) for name, kind in names.items()), ways])
    )
    table_of_chosen = html.Table([html.Caption("Chosen recordings"), head, html.Tbody(rows)])
    about = html.Span(
        [heading, " BASE is the oldest. Several runs of each side show whether a difference is noise."]
    )
    every = html.A("Side by side", href=trend.build_address([r.id for r in ordered]), className="button")
    region = build_aria_attributes(label="Chosen recordings, table")
    scroll = html.Div(table_of_chosen, className="table-scroll", tabIndex=0, role="region", **region)
    return html.Div([html.Div([about, every, clear], className="chosen"), scroll], className="notice tray")


def _build_row(recording: Recording, base: Recording) -> Node:
    """Return a line of the tray: what it needs to see a trend, and the link that compares it with BASE."""
    is_base = recording.id == base.id
    name = printable(recording.name)
    link = html.A(
        "Compare",
        href=compare.build_address(base.id, recording.id),
        className="button",
        **build_aria_attributes(label=f"Compare {name} with {printable(base.name)}"),
    )
    return html.Tr(
        [
            html.Th(name, scope="row"),
            html.Td(format_minute(recording.recorded) if recording.recorded else ""),
            html.Td(f"{recording.windows:,}", className="number"),
            html.Td(format_duration(recording.p50_ns) if recording.p50_ns else "", className="number"),
            html.Td(build_engine_bar(recording)),
            html.Td("BASE" if is_base else link),
        ]
    )
