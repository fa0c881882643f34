"""The differences of a comparison as charts: per measure a dot, its interval, and its limits.

    p50      ──────│──●────      ▲ worse: 25.9 ms → 28.9 ms (+11.6 %), 95 % interval +9.1 … +14.2 %
             BASE ─┘

A line of a chart is an SVG whose positions are percentages, so that it fits any width without a script; it
stands between two texts: whoever sees no picture, or no colour, reads the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracekit.checks.results import ChangeResult
from tracekit.comparison.metrics import METRICS, REQUEST_METRICS, RUN_METRICS, name_late_calls
from tracekit.comparison.result import Difference, Group
from tracekit.frozen import frozen
from tracekit.report.comparison.decision import WITHIN
from tracekit.report.comparison.wording import value_text
from tracekit.report.html.elements import Html, join, tag

_LENGTHS = {*RUN_METRICS, *(metric.name for metric in METRICS if metric.quantity == "length")}
_UNDRAWN = {
    "too few to tell": "Too few independent calls for an interval",
    "on a grid": "Not tested, because lengths are on a grid",
    "spread not given": "Not tested, because its spread between runs is not given",
}
"""Judgements of differences that have no interval, and why."""
_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_LEAST_EXTENT = 0.01
_FAR = 4.0
"""A difference or an interval that reaches this many times as far as the middle one of a chart is cut."""
_BEYOND = " (beyond the axis)"
_HEIGHT, _MIDDLE = 22, 11


@frozen
class _Chart:
    """Measures with one axis; ``less`` and ``more`` are what lies left and right of the middle."""

    caption: str
    less: str
    more: str
    worse: str
    better: str
    has: Callable[[Difference], bool]
    is_folded: bool = False


LEGEND = (
    "A line is the interval of the difference (in brackets): of 95 %, wider for what the summary tests"
    " together. A filled dot is a difference that is shown, a hollow one a difference that may be chance. The"
    " band around 0 holds changes that count as none; a dashed line is a required limit, an arrow what goes"
    " on beyond the axis."
)

_CHARTS = (
    _Chart(
        "Times of a call, NEW against BASE",
        "shorter, better",
        "longer, worse",
        "worse",
        "better",
        lambda row: row.metric in _LENGTHS,
    ),
    _Chart(
        "Shares, NEW minus BASE in points",
        "smaller",
        "larger",
        "larger",
        "smaller",
        lambda row: row.unit == "share",
    ),
    _Chart(
        "Requests to language models, NEW against BASE",
        "less",
        "more",
        "more",
        "less",
        lambda row: row.metric in REQUEST_METRICS,
    ),
    _Chart(
        "Work and waiting, NEW against BASE",
        "less",
        "more",
        "more",
        "less",
        lambda row: row.metric not in (*_LENGTHS, *REQUEST_METRICS) and row.unit != "share",
        is_folded=True,
    ),
)


@frozen
class _Place:
    """A row on its axis: fractions of BASE, or of a whole for a share."""

    row: Difference
    point: float
    low: float | None
    high: float | None
    limits: tuple[float, ...]
    ignored: float
    """Changes up to this one count as none in the first sentence; 0 for a row that it does not rest on."""

    @property
    def ends(self) -> tuple[float, ...]:
        """The ends of the interval."""
        return () if self.low is None or self.high is None else (self.low, self.high)


def charts(
    group: Group, rows: Sequence[Difference], min_change: float, changes: Sequence[ChangeResult]
) -> Html | None:
    """Return the charts of a group's rows; None where no row has a difference to draw."""
    figures = []
    for chart in _CHARTS:
        of_chart = [row for row in rows if chart.has(row)]
        places = [place for row in of_chart if (place := _place(group, row, min_change, changes))]
        if places:
            figures.append(_figure(chart, of_chart, places))
    return join(figures) if figures else None


def _place(
    group: Group, row: Difference, min_change: float, changes: Sequence[ChangeResult]
) -> _Place | None:
    if row.difference is None or row.judgement in _UNDRAWN:
        return None
    of_sentence = ("mean", name_late_calls(group.grid.limit_ns)) if group.grid else ("p50", "p90", "mean")
    ignored = min_change if row.metric in of_sentence else 0.0
    if row.unit == "share":
        return _Place(row, row.difference, row.low, row.high, _limits(group, row, changes), ignored)
    if row.ratio is None or not row.base.value:
        return None
    limits = _limits(group, row, changes)
    return _Place(row, row.ratio, row.relative_low, row.relative_high, limits, ignored)


def _limits(group: Group, row: Difference, changes: Sequence[ChangeResult]) -> tuple[float, ...]:
    """Return the changes of a row that would fail, as places on its axis."""
    base = row.base.value or 0.0
    required = [
        result.change for result in changes if result.group == group and result.change.metric == row.metric
    ]
    if row.unit == "share":
        return tuple(change.amount * base if change.relative else change.amount for change in required)
    return tuple(change.amount if change.relative else change.amount / base for change in required)


def _extent(places: Sequence[_Place]) -> float:
    """Return the end of an axis: a round number that holds every limit, and every line but far ones."""
    reaches = sorted(max(abs(value) for value in (place.point, *place.ends)) for place in places)
    middle = reaches[(len(reaches) - 1) // 2]
    near = [reach for reach in reaches if reach <= _FAR * middle]
    held = (abs(value) for place in places for value in (place.ignored, *place.limits))
    needed = max(_LEAST_EXTENT, *near, *held) * 1.04
    if places[0].row.unit == "share" and needed > 0.5:
        return 1.0
    unit = 1.0
    while unit > needed:
        unit /= 10
    while unit * 10 <= needed:
        unit *= 10
    return unit * next(step for step in _STEPS if unit * step >= needed)


def _figure(chart: _Chart, rows: Sequence[Difference], places: Sequence[_Place]) -> Html:
    extent = _extent(places)
    metrics = {place.row.metric for place in places}
    absent = [row for row in rows if row.metric not in metrics and row.difference is not None]
    by_reason: dict[str, list[str]] = {"BASE has none of": []}
    for row in absent:
        by_reason.setdefault(_UNDRAWN.get(row.judgement, "BASE has none of"), []).append(row.metric)
    note = "".join(f" {reason}: {', '.join(names)}." for reason, names in by_reason.items() if names)
    unit = "pts" if places[0].row.unit == "share" else "%"
    axis = tag(
        "p",
        tag("span", f"−{100 * extent:,.3g} {unit}"),
        tag("span", "0"),
        tag("span", f"+{100 * extent:,.3g} {unit}"),
        class_="forest-axis",
        aria_hidden="true",
    )
    figure = tag(
        "figure",
        tag("figcaption", f"{chart.caption}: left is {chart.less}, right is {chart.more}.", note),
        axis,
        tag("ul", *(_line(chart, place, extent) for place in places)),
        class_="forest",
    )
    return tag("details", tag("summary", chart.caption), figure) if chart.is_folded else figure


def _line(chart: _Chart, place: _Place, extent: float) -> Html:
    sign, word, kind = _finding(chart, place.row)
    unit = "pts" if place.row.unit == "share" else "%"
    beyond = _BEYOND if abs(place.point) > extent else ""
    parts = [f"{word}: {_describe_sides(place.row)}{100 * place.point:+z,.1f} {unit}{beyond}"]
    if place.ends:
        parts[0] += f" ({' … '.join(f'{100 * end:+z,.1f}' for end in place.ends)})"
    parts += [f"limit {100 * limit:+,.3g} {unit}" for limit in place.limits]
    return tag(
        "li",
        tag("span", place.row.metric, class_="forest-name"),
        _picture(place, extent, kind),
        tag(
            "span",
            tag("span", f"{sign} ", aria_hidden="true"),
            ", ".join(parts),
            class_="forest-text",
        ),
        class_=f"forest-{kind}",
    )


def _describe_sides(row: Difference) -> str:
    """Return both numbers where a side has none of it, for which a change in percent is no measure."""
    return "" if row.new.value or row.unit == "share" else f"{value_text(row.base, row.unit)} → 0, "


def _finding(chart: _Chart, row: Difference) -> tuple[str, str, str]:
    """Return the sign, the words and the kind of what is shown of a row."""
    if row.judgement.startswith("higher"):
        here = " in these recordings" if row.judgement.endswith("recordings") else ""
        return "▲", f"{chart.worse}{here}", "more"
    if row.judgement.startswith("lower"):
        here = " in these recordings" if row.judgement.endswith("recordings") else ""
        return "▼", f"{chart.better}{here}", "less"
    if not row.difference:
        return "=", "the same in these recordings" if row.tested == WITHIN else "no difference", "open"
    return "○", "may be chance" if row.judgement == "within the noise" else row.judgement, "open"


def _picture(place: _Place, extent: float, kind: str) -> Html:
    def x(value: float) -> str:
        return f"{50 + 50 * max(-1.0, min(1.0, value / extent)):.2f}%"

    shapes = []
    if place.ignored:
        share = min(100.0, 100 * place.ignored / extent)
        shapes.append(
            tag(
                "rect",
                class_="forest-band",
                x=f"{50 - share / 2:.2f}%",
                y=0,
                width=f"{share:.2f}%",
                height=_HEIGHT,
            )
        )
    shapes.append(tag("line", class_="forest-zero", x1="50%", x2="50%", y1=0, y2=_HEIGHT))
    shapes += [
        tag("line", class_="forest-limit", x1=x(limit), x2=x(limit), y1=0, y2=_HEIGHT)
        for limit in place.limits
    ]
    if place.ends:
        low, high = place.ends
        shapes.append(tag("line", class_="forest-interval", x1=x(low), x2=x(high), y1=_MIDDLE, y2=_MIDDLE))
        shapes += [_end(x(end), end, extent) for end in place.ends]
    if abs(place.point) <= extent:
        shapes.append(tag("circle", class_="forest-dot", cx=x(place.point), cy=_MIDDLE, r=5))
    elif not any(abs(end) > extent for end in place.ends):
        shapes.append(_end(x(place.point), place.point, extent))
    return tag("svg", *shapes, class_=f"forest-{kind}", width="100%", height=_HEIGHT, aria_hidden="true")


def _end(place: str, value: float, extent: float) -> Html:
    """Return the end of an interval: a cross line, or a point out of the picture where it goes on there."""
    if abs(value) <= extent:
        return tag("line", class_="forest-interval", x1=place, x2=place, y1=_MIDDLE - 4, y2=_MIDDLE + 4)
    outline = f"M0 {_MIDDLE}l{'-8' if value > 0 else '8'} -5v10z"
    return tag("svg", tag("path", d=outline), class_="forest-beyond", x=place, y=0, overflow="visible")
