"""The table of models of a comparison: calls, engines and p50 on both sides, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.comparison.quantities import Unit
from tracekit.comparison.result import Comparison, Difference, Group, ModelLengths, OneSided, Value
from tracekit.report.comparison.decision import SIGN, WITHIN, decide_model, find_decisive
from tracekit.report.comparison.wording import amount, ratio, span, value_text
from tracekit.report.document.blocks import Block, Table
from tracekit.text import clip, format_duration, printable

HEADING = "Models"
_NAME_WIDTH = 40
_ALL_CALLS = "all calls"
_COLUMNS = ("model", "result", "calls", "length", "difference", "engines")
_NUMBERS = ("calls", "length", "difference")
_ABSENT = "–"


def build_models_table(comparison: Comparison) -> tuple[Block, ...]:
    """Return a row for each model: those of both sides, then those of one side."""
    rows = [*_iter_shared(comparison), *map(_describe_one_sided, _list_one_sided(comparison))]
    return (Table.from_rows(_COLUMNS, rows, _NUMBERS, dispensable=("engines",)),) if rows else ()


def _iter_shared(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    for model in comparison.first_sentence.lengths:
        name = model.model
        group = _find_group(comparison, name)
        if group is None or not group.base_windows + group.new_windows:
            continue
        row = find_decisive(model, comparison.min_change)
        counts = f"{group.base_windows:,} → {group.new_windows:,}"
        yield (
            clip(printable(name), _NAME_WIDTH) or _ALL_CALLS,
            describe_length_result(model, comparison.min_change),
            counts,
            f"{row.metric} {_join_sides(*(_describe_value(side, row.unit) for side in (row.base, row.new)))}",
            _describe_difference(row),
            _join_sides(*_describe_engines(group.rows)),
        )


def _describe_difference(row: Difference) -> str:
    """Return ``+19.3 % (-4.5 … +49.1)``."""
    if row.difference is None:
        return ""
    change = ratio(row) or amount(row.difference, row.unit, True)
    unit = change.rpartition(" ")[2]
    return f"{change} ({span(row).removesuffix(f' {unit}')})" if row.low is not None else change


def _find_group(comparison: Comparison, name: str) -> Group | None:
    """Return the group of a model's calls; that of all calls without a name."""
    if not name:
        return comparison.groups[0]
    return next((group for group in comparison.groups if ("model", name) in group.names), None)


def describe_length_result(model: ModelLengths, min_change: float) -> str:
    """Return the tag of a model, by the decision that the first sentence follows: ``▲ slower``.

    Of one run per side, which leaves open how runs differ, it is ``? slower here``.
    """
    if all(row.difference is None for row in model.rows):
        return "not comparable"
    if all(row.judgement == "too few to tell" for row in model.rows):
        return "too few calls"
    outcome = decide_model(model, min_change)
    words = {"same": "the same", "not shown": "chance"}.get(outcome, outcome)
    if outcome != "not shown" and any(row.tested == WITHIN for row in model.rows):
        return f"? {words} here"
    return f"{SIGN[outcome]} {words}"


def _describe_engines(rows: tuple[Difference, ...]) -> tuple[str, str]:
    """Return the engines of both sides' calls: ``ANE``, ``50.0 % ANE, 50.0 % CPU``."""
    shares = [row for row in rows if row.metric.endswith(" share") and " busy" not in row.metric]
    base, new = (
        [(row.metric.removesuffix(" share"), value) for row, value in zip(shares, values, strict=True)]
        for values in ([row.base for row in shares], [row.new for row in shares])
    )
    return _list_engines(base), _list_engines(new)


def _list_engines(shares: list[tuple[str, Value]]) -> str:
    present = [(name, value) for name, value in shares if value.highest]
    if len(present) == 1 and present[0][1].value == 1:
        return present[0][0]
    return ", ".join(f"{_format_share(value)} {name}" for name, value in present)


def _format_share(value: Value) -> str:
    return value_text(value, "share") if value.most is not None else f"{100 * (value.value or 0.0):.3g} %"


def _describe_value(value: Value, unit: Unit) -> str:
    return _describe_length(value) if unit == "ns" else value_text(value, unit)


def _describe_length(value: Value) -> str:
    return "" if value.value is None else format_duration(round(value.value))


def _join_sides(base: str, new: str) -> str:
    """Return ``25.9 → 30.9 ms``; what is the same on both sides once."""
    amount, _, unit = base.partition(" ")
    if unit.isalpha() and new.endswith(f" {unit}") and base != new:
        base = amount
    return base if base == new else f"{base or _ABSENT} → {new or _ABSENT}"


# Models of one side ----------------------------------------------------------------------------------------


def _list_one_sided(comparison: Comparison) -> list[OneSided]:
    return [group for group in comparison.one_sided if group.kind == "model"]


def _describe_one_sided(group: OneSided) -> tuple[str, ...]:
    p50 = next((row for row in group.rows if row.metric == "p50"), None)
    length = (_describe_length(p50.base), _describe_length(p50.new)) if p50 is not None else ("", "")
    count = f"{group.windows:,}"
    return (
        clip(printable(group.name), _NAME_WIDTH),
        f"{group.side.upper()} only",
        _join_sides(*((count, "") if group.side == "base" else ("", count))),
        _join_sides(*length),
        "",
        _join_sides(*_describe_engines(group.rows)),
    )
