"""The sentences of a comparison: amounts with units, the summary, the notes beneath the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracekit.analysis.verdicts import UNKNOWN
from tracekit.checks.changes import coverage
from tracekit.checks.results import ChangeResult
from tracekit.comparison.cautions import MIXED_WINDOWS
from tracekit.comparison.observations import Unit
from tracekit.comparison.result import (
    Comparison,
    Difference,
    FunctionChange,
    Group,
    OneSided,
    Side,
    Value,
)
from tracekit.text import plural

_SHORT = {"within the noise": "noise", "too few to tell": "too few"}
HEADER = ("measure", "BASE", "NEW", "difference", "relative", "95 % interval", "basis", "finding")


def amount(value: float | None, unit: Unit, signed: bool = False) -> str:
    """Return ``25.900 ms``, ``50.0 %``, ``1.80``; with a sign where it is a difference."""
    if value is None:
        return "–"
    sign = "+" if signed else "-"
    if unit == "ns":
        return f"{value / 1e6:{sign},.3f} ms"
    if unit == "share":
        return f"{100 * value:{sign}.1f} {'pts' if signed else '%'}"
    return f"{value:{sign},.2f}" if unit == "count" else f"{value:{sign},.0f} {unit}"


def _value_text(value: Value, unit: Unit) -> str:
    """Return a side's number; where windows of unknown engine leave it open, both ends of its range."""
    if value.most is None or value.value is None:
        return amount(value.value, unit)
    return f"{amount(value.value, unit).partition(' ')[0]} … {amount(value.most, unit)}"


def interval(row: Difference) -> str:
    """Return ``+1.200 … +3.400`` in the unit of ``amount``; "" where there is none."""
    if row.low is None or row.high is None:
        return ""
    return " … ".join(amount(end, row.unit, True).partition(" ")[0] for end in (row.low, row.high))


def _with_unit(row: Difference) -> str:
    return f"{interval(row)} {amount(row.difference, row.unit, True).partition(' ')[2]}".rstrip()


def ratio(row: Difference) -> str:
    """Return ``+8.1 %``; "" for shares, whose difference is in points."""
    if row.ratio is None or row.unit == "share":
        return ""
    # From eleven times the base on, a factor reads better than thousands of percent.
    return f"{100 * row.ratio:+.1f} %" if row.ratio < 10 else f"×{1 + row.ratio:,.3g}"


def basis(row: Difference) -> str:
    """Return the bases of both sides."""
    bases = {basis for side in (row.base, row.new) for basis in side.basis.split(" and ") if basis}
    return ", ".join(sorted(bases))


def cells(row: Difference) -> list[str]:
    """Return the row as the cells of ``HEADER``."""
    return [
        row.metric,
        _value_text(row.base, row.unit),
        _value_text(row.new, row.unit),
        amount(row.difference, row.unit, True),
        ratio(row),
        interval(row),
        basis(row),
        _SHORT.get(row.judgement, row.judgement),
    ]


def table_rows(rows: Iterator[Difference]) -> tuple[list[Difference], list[Difference]]:
    """Return the rows for the table, and those that need a note beneath it (``missing``).

    Rows of zeros on both sides are left out; a number that covers only some of the windows is in both lists.
    """
    relevant = [row for row in rows if row.difference is None or row.base.highest or row.new.highest]
    return (
        [row for row in relevant if row.judgement != "not measurable"],
        [row for row in relevant if row.judgement == "not measurable" or _is_partial(row)],
    )


def _is_partial(row: Difference) -> bool:
    return row.base.is_partial or row.new.is_partial


@dataclass(frozen=True)
class Missing:
    """Metrics that are not measurable, or cover some windows only, for the same reason."""

    metrics: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return f"{self.reason}: {', '.join(self.metrics)}"


def missing(rows: Sequence[Difference]) -> list[Missing]:
    """Return the reasons why rows are not measurable or incomplete, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        by_reason.setdefault(reason(row), []).append(row.metric)
    return [Missing(tuple(metrics), text) for text, metrics in by_reason.items()]


def reason(row: Difference) -> str:
    """Return the reason why a row is not measurable or incomplete; "" for any other."""
    if row.judgement != "not measurable":
        return f"{coverage(row)}, and the number covers only these" if _is_partial(row) else ""
    if row.base.missing and row.base.missing == row.new.missing:
        return f"not measurable, {row.base.missing}"
    sides = (("BASE", row.base.missing), ("NEW", row.new.missing))
    return "; ".join(f"not measurable in {name}, {missing}" for name, missing in sides if missing)


def title(group: Group) -> str:
    """Return ``All windows: 12 in BASE, 12 in NEW; the same are SpeechEncoder``."""
    titles = {"all": "All windows", "kind": f"Windows {group.name}, from {group.source}"}
    text = titles.get(group.kind, f"Model {group.name}")
    same = [f"{name} from {source}" if source else f"model {name}" for _, name, source in group.also]
    also = f" (the same as {', '.join(same)})" if same else ""
    return f"{text}{also}: {group.base_windows:,} in BASE, {group.new_windows:,} in NEW"


def sentence(comparison: Comparison) -> str:
    """Return one or two sentences: slower or faster, other engines, and whether that is beyond the noise."""
    base, new = comparison.base.windows, comparison.new.windows
    if not base or not new:
        empty = "NEW has" if base else "BASE has" if new else "BASE and NEW have"
        return f"Inferences cannot be compared: {empty} no windows."
    summary = f"{_lengths(comparison.groups[0])} {_engines(comparison.groups[0])}"
    if any(caution.code == MIXED_WINDOWS for caution in comparison.cautions):
        return f"{summary} But the sides have different kinds of windows: compare each kind."
    return summary


def _lengths(group: Group) -> str:
    # The p99 needs a hundred windows and is rarely decided, so the summary does not mention it.
    rows = [group.row(name) for name in ("p50", "p90")]
    compared = [row for row in rows if row is not None and row.difference is not None]
    if not compared:
        row = rows[0]
        reason = (row.base.missing or row.new.missing) if row else "there is no length"
        return f"Lengths cannot be compared: {reason}."
    changed = [row for row in compared if row.judgement in ("higher", "lower")]
    if changed:
        pairs = ", ".join(f"{row.metric} {_pair(row)}" for row in changed)
        slower = {row.judgement for row in changed}
        word = "Mixed" if len(slower) > 1 else "Slower" if "higher" in slower else "Faster"
        return f"{word}, beyond the noise: {pairs}."
    row = compared[0]
    if row.judgement == "too few to tell":
        return f"Too few windows for an interval of the lengths: {row.metric} {_pair(row)}."
    return f"Lengths differ within the noise: {row.metric} {_pair(row)}, interval {_with_unit(row)}."


def _pair(row: Difference) -> str:
    part = ratio(row) or amount(row.difference, row.unit, True)
    return f"{_value_text(row.base, row.unit)} → {_value_text(row.new, row.unit)} ({part})"


def _engines(group: Group) -> str:
    # "ANE share" has one space; "ANE busy share" has two and is not a share of windows.
    rows = [row for row in group.rows if row.unit == "share" and row.metric.count(" ") == 1]
    of_engines = [row for row in rows if row.metric != f"{UNKNOWN} share"]
    if not of_engines:
        return "No window has a known engine."
    incomparable = [row for row in of_engines if row.difference is None]
    if incomparable:
        return (
            f"Engines cannot be compared: {missing(incomparable)[0].reason.removeprefix('not measurable, ')}."
        )
    changed = [row for row in rows if row.judgement in ("higher", "lower")]
    if changed:
        return f"Other engines: {', '.join(f'{row.metric} {_pair(row)}' for row in changed)}."
    if any(row.judgement == "too few to tell" for row in rows):
        moved = [row for row in rows if row.difference]
        if not moved:
            return "Every engine's share of the windows is the same."
        pairs = ", ".join(f"{row.metric} {_pair(row)}" for row in moved)
        return f"Too few windows for an interval of the engines' shares: {pairs}."
    return "The engines' shares of the windows differ within the noise."


def verdicts(side: Side) -> str:
    """Return ``12 windows: 6 ANE, 6 CPU``."""
    listed = ", ".join(f"{count:,} {verdict}" for verdict, count in side.verdicts.items())
    return f"{plural(side.windows, 'window')}{f': {listed}' if listed else ''}"


def function_cells(change: FunctionChange) -> list[str]:
    """Return a function's change as the cells of ``FUNCTION_HEADER``."""
    row = change.row
    return [
        change.change,
        amount(row.base.value, row.unit),
        amount(row.new.value, row.unit),
        interval(row),
        change.engine,
        change.symbol,
        change.binary,
    ]


FUNCTION_HEADER = ("change", "BASE", "NEW", "95 % interval", "engine", "function", "binary")


def one_sided(group: OneSided) -> str:
    """Return ``model Detector: only in NEW, 8 windows``."""
    name = f"model {group.name}" if group.kind == "model" else f"{group.name}, from {group.source}"
    return f"{name}: only in {group.side.upper()}, {plural(group.windows, 'window')}"


def change_reason(result: ChangeResult) -> str:
    """Return the reason for the outcome of one ``--fail-on``, with the compared numbers."""
    group = result.group
    scope = f" ({group.name})" if group is not None and group.kind != "all" else ""
    row = result.row
    if row is None or row.difference is None:
        return f"{result.reason}{scope}"
    with_interval = f", interval {_with_unit(row)}" if row.low is not None else ""
    return f"{row.metric}{scope} {_pair(row)}{with_interval}: {result.reason}"
