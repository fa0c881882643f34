"""Distributions as figures of Plotly: how long windows take, and what their counters sum up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dash import dcc, html

from dashboard.pages import words
from dashboard.pages.parts import Node, aria
from tracekit.text import clip

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Window = Mapping[str, Any]
"""A window of ``tracekit-analysis/1``."""
_MOST_MODELS, _MOST_EVENTS, _MOST_POINTS = 12, 8, 5_000
_COLOURS = ("#3b7dd8", "#d98200", "#1a9a5b", "#b061ae", "#c9503c", "#5e9fb8", "#8d8432", "#888888")
_GREY = "#7b8794"
"""Readable on white and on black: figures do not know the page's theme."""


def distributions(windows: Sequence[Window]) -> list[Node]:
    """Return the figures that the windows of an analysis are enough for."""
    found = [
        _shown("Length of windows by model", latency_figure(windows)),
        _shown("Counters, sums over a window", counter_figure(windows)),
    ]
    shown = [one for one in found if one is not None]
    return shown or [html.P("No window was found whose length or counters could be drawn.", className="note")]


def latency_figure(windows: Sequence[Window]) -> Figure | None:
    """Return a box of lengths for each model, the first window of each as a diamond."""
    from plotly import graph_objects

    models = _by_model(windows)
    figure = graph_objects.Figure()
    for at, (name, own) in enumerate(models.items()):
        colour = _COLOURS[at % len(_COLOURS)]
        figure.add_box(
            x=[_length_ms(one) for one in own if not one["first"]],
            name=name,
            orientation="h",
            boxpoints="all" if len(own) <= _MOST_POINTS else "outliers",
            jitter=0.4,
            pointpos=0,
            marker={"color": colour, "size": 4},
            line={"color": colour},
        )
        firsts = [one for one in own if one["first"]]
        figure.add_scatter(
            x=[_length_ms(one) for one in firsts],
            y=[name] * len(firsts),
            mode="markers",
            marker={"symbol": "diamond-open", "size": 11, "color": colour},
            name=f"{name}, first",
            hovertemplate="first: %{x:.3f} ms<extra></extra>",
        )
    return _laid_out(figure, "length in ms", "", len(models)) if models else None


def counter_figure(windows: Sequence[Window]) -> Figure | None:
    """Return the sums of each event by window, all engines together."""
    from plotly import graph_objects

    sums = [(one["id"], _events(one)) for one in windows if one.get("counters")]
    names = sorted({name for _number, events in sums for name in events})[:_MOST_EVENTS]
    figure = graph_objects.Figure()
    for at, name in enumerate(names):
        own = [(number, events[name]) for number, events in sums if name in events]
        figure.add_scatter(
            x=[number for number, _value in own],
            y=[value for _number, value in own],
            mode="lines+markers",
            name=words.shown(name),
            marker={"color": _COLOURS[at % len(_COLOURS)], "symbol": at},
        )
    if not figure.data:
        return None
    figure.update_yaxes(type="log")
    return _laid_out(figure, "window", "sum", 6, legend=True)


def _by_model(windows: Sequence[Window]) -> dict[str, list[Window]]:
    found: dict[str, list[Window]] = {}
    for one in windows:
        found.setdefault(words.shown(clip(one["model"] or one["label"], 40)), []).append(one)
    most = sorted(found, key=lambda name: -len(found[name]))[:_MOST_MODELS]
    return {name: found[name] for name in most}


def _events(window: Window) -> dict[str, int]:
    sums: dict[str, int] = {}
    for counted in window["counters"].values():
        for name, value in counted["events"].items():
            sums[name] = sums.get(name, 0) + value
    return sums


def _length_ms(window: Window) -> float:
    length_ns: int = window["end_ns"] - window["start_ns"]
    return length_ns / 1e6


def _laid_out(figure: Figure, x: str, y: str, rows: int, *, legend: bool = False) -> Figure:
    figure.update_layout(
        height=140 + 45 * rows,
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _GREY, "size": 12},
        showlegend=legend,
    )
    grid = {
        "gridcolor": "rgba(128,128,128,0.25)",
        "zerolinecolor": "rgba(128,128,128,0.4)",
        "automargin": True,
    }
    figure.update_xaxes(title=x, **grid)
    figure.update_yaxes(title=y, **grid)
    return figure


def _shown(title: str, figure: Figure | None) -> Node:
    if figure is None:
        return None
    graph = dcc.Graph(figure=figure, config={"displaylogo": False, "responsive": True})
    return html.Figure([html.Figcaption(title, className="note"), graph], **aria(label=title))
