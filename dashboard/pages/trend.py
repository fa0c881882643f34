"""The page of several analyses side by side: a column for each, in order of time, and a row per measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dash import html

from dashboard.library.catalog import Recording
from dashboard.library.measures import Measures, Number
from dashboard.pages.components import Node, aria, minute_text
from tracekit.text import format_percent, format_rounded, printable

MOST = 20
_WIDEST_PERCENT = 100.0
_ALL_CALLS = "All calls"
_ABOUT = (
    "Changes are against BASE, the first column, and are not tested: compare two recordings to see which of"
    " them are more than chance. Columns that are analyses of one recording differ by their options alone."
)


@dataclass(frozen=True)
class Column:
    """One analysis: its recording, the options of a variant as text, and its numbers."""

    recording: Recording
    options: str
    measures: Measures | None
    """None where the analysis is not ready, or was made by an earlier version."""


def address(analyses: Sequence[str]) -> str:
    """Return the address of analyses side by side."""
    return "/trend/" + "/".join(analyses)


def page(columns: Sequence[Column]) -> Node:
    """Return the page; ``columns`` are in order of time."""
    shown = [column for column in columns if column.measures]
    absent = [column for column in columns if not column.measures]
    every = dict.fromkeys(model for column in shown for model in column.measures or {})
    # A model that makes all calls of every recording has their table already.
    models = [
        model
        for model in every
        if not model or any(_of(column, model) != _of(column, "") for column in shown)
    ]
    tables = [_table(shown, model) for model in models] if len(shown) > 1 else []
    few = html.P("Two analyses with calls are needed. Tick recordings in the library.", role="status")
    return html.Div(
        [
            html.Header([html.H1(f"{len(columns):,} analyses side by side"), html.P(_ABOUT)]),
            html.Main([*([html.P(_absent(absent))] if absent else []), *(tables or [few])]),
        ],
        id="trend",
    )


def too_many_page(count: int) -> Node:
    """Return the page for more analyses than a table can show."""
    return html.Div(
        html.Main(html.P(f"{count:,} analyses do not fit side by side: choose up to {MOST}.", role="status"))
    )


def _absent(columns: Sequence[Column]) -> str:
    names = ", ".join(_name(column) for column in columns)
    return (
        f"Not shown, because they have no calls, are not ready, or were read by an earlier version: {names}."
    )


def _name(column: Column) -> str:
    options = f" ({column.options})" if column.options else ""
    return printable(f"{column.recording.name}{options}")


def _table(columns: Sequence[Column], model: str) -> Node:
    title = f"Model {printable(model)}" if model else _ALL_CALLS
    metrics = list(dict.fromkeys(name for column in columns for name in _of(column, model)))
    head = html.Tr(
        [html.Th("measure", scope="col"), *(_head(column, not n) for n, column in enumerate(columns))]
    )
    rows = [_row(columns, model, metric) for metric in metrics]
    table = html.Table([html.Caption(title), html.Thead(head), html.Tbody([row for row in rows if row])])
    scroll = html.Div(
        table, className="table-scroll", tabIndex=0, role="region", **aria(label=f"{title}, table")
    )
    return html.Section([html.H2(title), scroll])


def _of(column: Column, model: str) -> dict[str, Number]:
    return (column.measures or {}).get(model, {})


def _head(column: Column, is_base: bool) -> Node:
    recording, variant = column.recording.id.partition(".")[::2]
    link = f"/recordings/{recording}" + (f"?variant={variant}" if variant else "")
    moment = minute_text(column.recording.recorded) if column.recording.recorded else ""
    facts = [
        *(["BASE"] if is_base else []),
        moment,
        printable(column.recording.system),
        printable(column.options),
    ]
    notes = [html.Div(fact, className="note") for fact in facts if fact]
    return html.Th(
        [html.A(printable(column.recording.name), href=link), *notes], scope="col", className="number"
    )


def _row(columns: Sequence[Column], model: str, metric: str) -> Node:
    """Return the row of a measure; None where every column has 0."""
    cells = [_of(column, model).get(metric) for column in columns]
    largest = max((value for _, value, _ in filter(None, cells)), default=0.0)
    if not largest:
        return None
    absent = ["not measured" if _of(column, model) else "no call" for column in columns]
    bases = [None, *[cells[0]] * (len(cells) - 1)]
    shown = (_cell(cell, base, largest, word) for cell, base, word in zip(cells, bases, absent, strict=True))
    return html.Tr([html.Th(metric, scope="row"), *shown])


def _cell(cell: Number | None, base: Number | None, largest: float, absent: str) -> Node:
    if cell is None:
        return html.Td(absent, className="number note")
    unit, value, _ = cell
    bar = html.Span(className="trend-bar", style={"width": f"{_WIDEST_PERCENT * value / largest:.1f}%"})
    change = _change(cell, base) if base is not None else ""
    return html.Td(
        [
            _text(unit, value),
            html.Div(change, className="note") if change else None,
            html.Span(bar, className="trend", **aria(hidden="true")),
        ],
        className="number",
    )


def _text(unit: str, value: float) -> str:
    if unit == "ns":
        return format_rounded(value)
    return format_percent(value) if unit == "share" else f"{value:,.0f}"


def _change(cell: Number, base: Number) -> str:
    """Return ``+12 %`` or ``-50 pts``; "the same" where nothing differs."""
    (unit, value, kind), (base_unit, base_value, base_kind) = cell, base
    if (unit, kind) != (base_unit, base_kind):
        return f"{kind or unit}: not comparable"
    if value == base_value:
        return "the same"
    if unit == "calls":
        return f"{value - base_value:+,.0f}"
    if unit == "share":
        return f"{100 * (value - base_value):+.1f} pts"
    return f"{100 * (value / base_value - 1):+.1f} %" if base_value else "0 in BASE"
