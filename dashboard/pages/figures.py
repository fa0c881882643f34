"""Distributions as Plotly figures: the lengths of windows, and the sums of their counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dash import dcc, html

from dashboard.pages.components import Node, aria
from tracekit.text import clip, printable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Window = Mapping[str, Any]
"""What ``library/reading_results`` stores of a window."""
_MAX_MODELS, _MAX_EVENTS, _MAX_POINTS = 12, 8, 5_000
_COLOURS = ("#3b7dd8", "#d98200", "#1a9a5b", "#b061ae", "#c9503c", "#5e9fb8", "#8d8432", "#888888")
_GREY = "#7b8794"
"""Readable on white and on black: the figures are the same in both themes of the page."""


def distributions(windows: Sequence[Window]) -> list[Node]:
    """Return the figures for which the windows of an analysis have data."""
    figures = [
        _shown("Length of windows by model", latency_figure(windows)),
        _shown("Counters, sums over a window", counter_figure(windows)),
    ]
    drawn = [figure for figure in figures if figure is not None]
    return drawn or [html.P("No window has a length or counters to draw.", className="note")]


def latency_figure(windows: Sequence[Window]) -> Figure | None:
    """Return a box of lengths for each model, the first window of each as a diamond."""
    from plotly import graph_objects

    models = _by_model(windows)
    figure = graph_objects.Figure()
    for index, (name, model_windows) in enumerate(models.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        figure.add_box(
            x=[_length_ms(window) for window in model_windows if not window["first"]],
            name=name,
            orientation="h",
            boxpoints="all" if len(model_windows) <= _MAX_POINTS else "outliers",
            jitter=0.4,
            pointpos=0,
            marker={"color": colour, "size": 4},
            line={"color": colour},
        )
        # The first window of a model includes preparation, so it would stretch the box of the others: it is a
        # mark of its own.
        firsts = [window for window in model_windows if window["first"]]
        figure.add_scatter(
            x=[_length_ms(window) for window in firsts],
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

    sums = [(window["window_id"], window["events"]) for window in windows if window["events"]]
    names = sorted({name for _number, events in sums for name in events})[:_MAX_EVENTS]
    figure = graph_objects.Figure()
    for index, name in enumerate(names):
        points = [(number, events[name]) for number, events in sums if name in events]
        figure.add_scatter(
            x=[number for number, _value in points],
            y=[value for _number, value in points],
            mode="lines+markers",
            name=printable(name),
            marker={"color": _COLOURS[index % len(_COLOURS)], "symbol": index},
        )
    if not figure.data:
        return None
    # Cycles and cache misses differ by factors of thousands: on a linear axis, most events would lie on the
    # ground.
    figure.update_yaxes(type="log")
    return _laid_out(figure, "window", "sum", 6, legend=True)


def _by_model(windows: Sequence[Window]) -> dict[str, list[Window]]:
    models: dict[str, list[Window]] = {}
    for window in windows:
        models.setdefault(printable(clip(window["model"] or window["label"], 40)), []).append(window)
    frequent = sorted(models, key=lambda name: -len(models[name]))[:_MAX_MODELS]
    return {name: models[name] for name in frequent}


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
