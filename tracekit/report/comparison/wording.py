"""A comparison in words: amounts with units, the sentence that comes first, what stands in which table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracekit.analysis.verdicts import UNKNOWN
from tracekit.checks.changes import ChangeResult, resting
from tracekit.comparison.observations import Unit
from tracekit.comparison.recorded import MIXED_WINDOWS
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


def _told(value: Value, unit: Unit) -> str:
    """Return a side's number; both ends of what it can be where some windows leave it open."""
    if value.most is None or value.value is None:
        return amount(value.value, unit)
    return f"{amount(value.value, unit).partition(' ')[0]} … {amount(value.most, unit)}"


def interval(row: Difference) -> str:
    """Return ``+1.200 … +3.400`` in the unit of ``amount``; nothing where there is none."""
    if row.low is None or row.high is None:
        return ""
    return " … ".join(amount(end, row.unit, True).partition(" ")[0] for end in (row.low, row.high))


def _with_unit(row: Difference) -> str:
    return f"{interval(row)} {amount(row.difference, row.unit, True).partition(' ')[2]}".rstrip()


def ratio(row: Difference) -> str:
    """Return ``+8.1 %``; nothing for shares, whose difference is in points."""
    if row.ratio is None or row.unit == "share":
        return ""
    return f"{100 * row.ratio:+.1f} %" if row.ratio < 10 else f"×{1 + row.ratio:,.3g}"


def basis(row: Difference) -> str:
    """Return how the row is known, all ways of both sides."""
    found = {one for side in (row.base, row.new) for one in side.basis.split(" and ") if one}
    return ", ".join(sorted(found))


def cells(row: Difference) -> list[str]:
    """Return the row as the cells of ``HEADER``."""
    return [
        row.metric,
        _told(row.base, row.unit),
        _told(row.new, row.unit),
        amount(row.difference, row.unit, True),
        ratio(row),
        interval(row),
        basis(row),
        _SHORT.get(row.judgement, row.judgement),
    ]


def shown(rows: Iterator[Difference]) -> tuple[list[Difference], list[Difference]]:
    """Return the rows for the table, and those of which more is to be said beneath it (``missing``).

    Zeros on both sides are left out; a number of some of the windows stands in both.
    """
    every = [row for row in rows if row.difference is None or row.base.highest or row.new.highest]
    return (
        [row for row in every if row.judgement != "not measurable"],
        [row for row in every if row.judgement == "not measurable" or _is_partial(row)],
    )


def _is_partial(row: Difference) -> bool:
    return row.base.is_partial or row.new.is_partial


@dataclass(frozen=True)
class Missing:
    """Metrics that are not measurable, or are of some windows only, for one reason."""

    metrics: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return f"{self.reason}: {', '.join(self.metrics)}"


def missing(rows: Sequence[Difference]) -> list[Missing]:
    """Return why rows are not measurable, or on how many windows they rest, each reason once."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.judgement != "not measurable":
            reason = f"{resting(row)}, and the number is of these"
        elif row.base.missing and row.base.missing == row.new.missing:
            reason = f"not measurable, {row.base.missing}"
        else:
            sides = (("BASE", row.base.missing), ("NEW", row.new.missing))
            reason = "; ".join(f"not measurable in {name}, {why}" for name, why in sides if why)
        found.setdefault(reason, []).append(row.metric)
    return [Missing(tuple(metrics), reason) for reason, metrics in found.items()]


def title(group: Group) -> str:
    """Return ``All windows: 12 in BASE, 12 in NEW; the same are SpeechEncoder``."""
    named = {"all": "All windows", "kind": f"Windows {group.name}, from {group.source}"}
    text = named.get(group.kind, f"Model {group.name}")
    same = [f"{name} from {source}" if source else f"model {name}" for _, name, source in group.also]
    also = f" (the same as {', '.join(same)})" if same else ""
    return f"{text}{also}: {group.base_windows:,} in BASE, {group.new_windows:,} in NEW"


def sentence(comparison: Comparison) -> str:
    """Say in one or two sentences whether it is slower, on another engine, and whether that may be chance."""
    base, new = comparison.base.windows, comparison.new.windows
    if not base or not new:
        empty = "NEW has" if base else "BASE has" if new else "BASE and NEW have"
        return f"Nothing can be compared per inference: {empty} no window."
    told = f"{_lengths(comparison.groups[0])} {_engines(comparison.groups[0])}"
    mixed = any(one.code == MIXED_WINDOWS for one in comparison.cautions)
    return f"{told} But the sides hold different kinds of windows: compare each of them." if mixed else told


def _lengths(group: Group) -> str:
    rows = [group.row(name) for name in ("p50", "p90")]
    told = [row for row in rows if row is not None and row.difference is not None]
    if not told:
        row = rows[0]
        why = (row.base.missing or row.new.missing) if row else "there is no length"
        return f"Lengths cannot be compared: {why}."
    changed = [row for row in told if row.judgement in ("higher", "lower")]
    if changed:
        pairs = ", ".join(f"{row.metric} {_pair(row)}" for row in changed)
        slower = {row.judgement for row in changed}
        word = "Mixed" if len(slower) > 1 else "Slower" if "higher" in slower else "Faster"
        return f"{word}, beyond the noise: {pairs}."
    row = told[0]
    if row.judgement == "too few to tell":
        return f"Too few windows to tell whether lengths differ: {row.metric} {_pair(row)}."
    return f"Lengths differ within the noise: {row.metric} {_pair(row)}, interval {_with_unit(row)}."


def _pair(row: Difference) -> str:
    part = ratio(row) or amount(row.difference, row.unit, True)
    return f"{_told(row.base, row.unit)} → {_told(row.new, row.unit)} ({part})"


def _engines(group: Group) -> str:
    rows = [row for row in group.rows if row.unit == "share" and row.metric.count(" ") == 1]
    told = [row for row in rows if row.metric != f"{UNKNOWN} share"]
    if not told:
        return "No window tells an engine."
    silent = [row for row in told if row.difference is None]
    if silent:
        return f"Engines cannot be compared: {missing(silent)[0].reason.removeprefix('not measurable, ')}."
    changed = [row for row in rows if row.judgement in ("higher", "lower")]
    if changed:
        return f"Other engines: {', '.join(f'{row.metric} {_pair(row)}' for row in changed)}."
    if any(row.judgement == "too few to tell" for row in rows):
        moved = [row for row in rows if row.difference]
        if not moved:
            return "Every engine's share of the windows is the same."
        pairs = ", ".join(f"{row.metric} {_pair(row)}" for row in moved)
        return f"Too few windows to tell whether engines differ: {pairs}."
    return "The engines' shares of the windows differ within the noise."


def verdicts(side: Side) -> str:
    """Return ``12 windows: 6 ANE, 6 CPU``."""
    listed = ", ".join(f"{count:,} {verdict}" for verdict, count in side.verdicts.items())
    return f"{plural(side.windows, 'window')}{f': {listed}' if listed else ''}"


def function_cells(change: FunctionChange) -> list[str]:
    """Return a function's change as cells: what became of it, weights per window, where it is."""
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


def one_sided(one: OneSided) -> str:
    """Return ``model Detector: only in NEW, 8 windows``."""
    named = f"model {one.name}" if one.kind == "model" else f"{one.name}, from {one.source}"
    return f"{named}: only in {one.side.upper()}, {plural(one.windows, 'window')}"


def judged(result: ChangeResult) -> str:
    """Return the reasons of one ``--fail-on``, with the numbers that it was judged by."""
    group = result.group
    where = f" ({group.name})" if group is not None and group.kind != "all" else ""
    row = result.row
    if row is None or row.difference is None:
        return f"{result.reason}{where}"
    told = f", interval {_with_unit(row)}" if row.low is not None else ""
    return f"{row.metric}{where} {_pair(row)}{told}: {result.reason}"
