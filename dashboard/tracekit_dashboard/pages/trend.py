"""The page of several analyses side by side: a column for each, in order of time, and a row per measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dash import html

from tracekit.text import format_percent, format_rounded, printable
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.page_measures import Measures, Number
from tracekit_dashboard.pages.components import Node, build_aria_attributes, format_minute

MAX_COLUMNS = 20
_WIDEST_PERCENT = 100.0
_ALL_CALLS = "Calls without a model"
_ABOUT = (
    "Changes are against BASE, the first column, and are not tested: compare two recordings to see which of"
    " them are more than chance. Columns that are analyses of one recording differ by their options alone."
)


@dataclass(frozen=True)
class TrendColumn:
    """One analysis: its recording, the options of a variant as text, and its numbers."""

    recording: Recording
    options: str
    measures: Measures | None
    """None where the analysis is not ready, or was made by an earlier version."""


def build_address(analyses: Sequence[str]) -> str:
    """Return the address of analyses side by side."""
    return "/trend/" + "/".join(analyses)


def build_page(columns: Sequence[TrendColumn]) -> Node:
    """Return the page; ``columns`` are in order of time."""
    shown_columns = [column for column in columns if column.measures]
    absent = [column for column in columns if not column.measures]
    every = dict.fromkeys(model for column in shown_columns for model in column.measures or {})
    # The numbers of all calls of several models are of none of them, and change with the models that run.
    unnamed = [column for column in shown_columns if not any(column.measures or {})]
    tables = [_build_table(unnamed, "")] if unnamed else []
    tables += [_build_table(shown_columns, model) for model in every if model]
    hint = html.P("Two analyses with calls are needed. Tick recordings in the library.", role="status")
    return html.Div(
        [
            html.Header([html.H1(f"{len(columns):,} analyses side by side"), html.P(_ABOUT)]),
            html.Main(
                [
                    *([html.P(_explain_absent(absent))] if absent else []),
                    *(tables if len(shown_columns) > 1 else [hint]),
                ]
            ),
        ],
        id="trend",
    )


def build_too_many_page(count: int) -> Node:
    """Return the page for more analyses than a table can show."""
    return html.Div(
        html.Main(
            html.P(f"{count:,} analyses do not fit side by side: choose up to {MAX_COLUMNS}.", role="status")
        )
    )


def _explain_absent(columns: Sequence[TrendColumn]) -> str:
    names = ", ".join(_describe_column(column) for column in columns)
    return (
        f"Not shown, because they have no calls, are not ready, or were read by an earlier version: {names}."
    )


def _describe_column(column: TrendColumn) -> str:
    options = f" ({column.options})" if column.options else ""
    return printable(f"{column.recording.name}{options}")


def _build_table(columns: Sequence[TrendColumn], model: str) -> Node:
    title = f"Model {printable(model)}" if model else _ALL_CALLS
    metrics = list(dict.fromkeys(name for column in columns for name in _find_measures(column, model)))
    head = html.Tr(
        [
            html.Th("measure", scope="col"),
            *(_build_heading(column, not n) for n, column in enumerate(columns)),
        ]
    )
    rows = [_build_row(columns, model, metric) for metric in metrics]
    table = html.Table([html.Caption(title), html.Thead(head), html.Tbody([row for row in rows if row])])
    scroll = html.Div(
        table,
        className="table-scroll",
        tabIndex=0,
        role="region",
        **build_aria_attributes(label=f"{title}, table"),
    )
    return html.Section([html.H2(title), scroll])


def _find_measures(column: TrendColumn, model: str) -> dict[str, Number]:
    return (column.measures or {}).get(model, {})


def _build_heading(column: TrendColumn, is_base: bool) -> Node:
    recording, variant = column.recording.id.partition(".")[::2]
    link = f"/recordings/{recording}" + (f"?variant={variant}" if variant else "")
    moment = format_minute(column.recording.recorded) if column.recording.recorded else ""
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


def _build_row(columns: Sequence[TrendColumn], model: str, metric: str) -> Node:
    """Return the row of a measure; None where every column has 0."""
    cells = [_find_measures(column, model).get(metric) for column in columns]
    largest = max((value for _, value, _ in filter(None, cells)), default=0.0)
    if not largest:
        return None
    absent = ["not measured" if _find_measures(column, model) else "no call" for column in columns]
    bases = [None, *[cells[0]] * (len(cells) - 1)]
    cell_nodes = (
        _build_cell(cell, base, largest, word) for cell, base, word in zip(cells, bases, absent, strict=True)
    )
    return html.Tr([html.Th(metric, scope="row"), *cell_nodes])


def _build_cell(cell: Number | None, base: Number | None, largest: float, absent: str) -> Node:
    if cell is None:
        return html.Td(absent, className="number note")
    unit, value, _ = cell
    bar = html.Span(className="trend-bar", style={"width": f"{_WIDEST_PERCENT * value / largest:.1f}%"})
    change = _describe_change(cell, base) if base is not None else ""
    return html.Td(
        [
            _format_value(unit, value),
            html.Div(change, className="note") if change else None,
            html.Span(bar, className="trend", **build_aria_attributes(hidden="true")),
        ],
        className="number",
    )


def _format_value(unit: str, value: float) -> str:
    if unit == "ns":
        return format_rounded(value)
    return format_percent(value) if unit == "share" else f"{value:,.0f}"


def _describe_change(cell: Number, base: Number) -> str:
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
