"""The timeline of an analysis as a Plotly figure: calls by thread, busy intervals by engine."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.errors import UsageError
from tracekit.installation import require_packages
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import SERVING, Phase
from tracekit.report import wording
from tracekit.report.pictures.shapes import COLOURS
from tracekit.text import clip, format_thread, plural, printable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_MARKS = 5_000
"""The most bars of one lane: more are drawn slowly by a browser, and cannot be distinguished by eye."""
_MOST_THREADS = 12
_NAME_WIDTH = 60


def timeline_figure(analysis: Analysis) -> Figure:
    """Return the figure; of lanes with more than ``MOST_MARKS`` bars the longest are drawn.

    Names from the recording are escaped: Plotly reads a few HTML tags in text. Raises ``UsageError`` for a
    trace without times, and where Plotly is not installed.
    """
    if not analysis.trace.has_timeline:
        raise UsageError(f"{analysis.trace.info.name} has no times, so there is no timeline.")
    require_packages("A figure", ["plotly"], "dashboard")
    from plotly import graph_objects

    figure = graph_objects.Figure()
    lanes: list[str] = []
    for engine in SERVING:
        spans = analysis.measured.everything((engine, Phase.EXECUTE))
        if len(spans):
            lane = f"{engine} busy"
            lanes.append(lane)
            texts = [lane] * len(spans)
            _add_bars(figure, lane, str(engine), spans.starts, spans.ends, texts, show=True)
    _add_windows(figure, analysis, lanes)
    left_out = max(0, int(analysis.window_rows["thread_id"].nunique()) - _MOST_THREADS)
    more = f" ({plural(left_out, 'thread')} with fewer calls not shown)" if left_out else ""
    figure.update_layout(
        title=f"{_escape_text(analysis.trace.info.name)}: calls and measured engine time{more}",
        barmode="overlay",
        bargap=0.25,
        height=160 + 44 * max(1, len(lanes)),
        xaxis_title="time in ms",
        legend_title="engine or verdict",
        plot_bgcolor=COLOURS["surface"],
    )
    figure.update_yaxes(categoryorder="array", categoryarray=lanes[::-1])
    return figure


def _add_windows(figure: Figure, analysis: Analysis, lanes: list[str]) -> None:
    """Add one lane per thread, those with most calls first, with a color per verdict."""
    rows = analysis.window_rows
    thread_ids = rows["thread_id"].to_numpy(np.int64)
    starts, ends = (rows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    verdicts = np.array(analysis.verdicts.names, object)
    names = wording.call_names(analysis)
    present, counts = np.unique(thread_ids, return_counts=True)
    legend_groups: set[str] = {engine for engine in SERVING if f"{engine} busy" in lanes}
    for thread in present[np.argsort(-counts, kind="stable")][:_MOST_THREADS].tolist():
        lane = _describe_lane(analysis, thread)
        lanes.append(lane)
        for verdict in sorted(set(verdicts[thread_ids == thread])):
            call_rows = np.flatnonzero((thread_ids == thread) & (verdicts == verdict))
            texts = [f"{escape(names.title(row))}: {verdict}" for row in call_rows.tolist()]
            _add_bars(
                figure,
                lane,
                verdict,
                starts[call_rows],
                ends[call_rows],
                texts,
                show=verdict not in legend_groups,
            )
            legend_groups.add(verdict)


def _describe_lane(analysis: Analysis, thread: int) -> str:
    if thread < 0:
        return "calls, thread not known"
    row = analysis.trace.threads.iloc[thread]
    return format_thread(_escape_text(row["name"]), int(row["tid"]))


def _add_bars(
    figure: Figure, lane: str, group: str, starts: IntArray, ends: IntArray, texts: list[str], show: bool
) -> None:
    bar_rows = np.arange(len(starts))
    if len(starts) > MOST_MARKS:
        bar_rows = np.sort(np.argsort(starts - ends, kind="stable")[:MOST_MARKS])
    lengths = (ends - starts)[bar_rows] / 1e6
    details: list[Any] = [texts[row] for row in bar_rows.tolist()]
    figure.add_bar(
        x=lengths,
        base=starts[bar_rows] / 1e6,
        y=[lane] * len(bar_rows),
        orientation="h",
        name=group,
        legendgroup=group,
        showlegend=show,
        marker_color=COLOURS[group],
        hovertext=details,
        hovertemplate="%{hovertext}<br>from %{base:.3f} ms, %{x:.3f} ms long<extra></extra>",
    )


def _escape_text(value: object) -> str:
    return escape(clip(printable(str(value)), _NAME_WIDTH))
