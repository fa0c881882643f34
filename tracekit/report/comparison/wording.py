"""The words of a comparison: amounts with units, the cells of its tables, the notes beneath them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tracekit.checks.changes import describe_coverage, estimate_runs_needed
from tracekit.checks.results import ChangeResult
from tracekit.comparison.estimates import find_usual_spread
from tracekit.comparison.grid import Grid
from tracekit.comparison.metrics import name_late_calls
from tracekit.comparison.quantities import Unit
from tracekit.comparison.result import (
    Comparison,
    Difference,
    FunctionChange,
    Group,
    OneSided,
    Side,
    Value,
)
from tracekit.comparison.turns import NOT_IN_TURN, SESSION_NOISE
from tracekit.frozen import frozen
from tracekit.statistics.share_intervals import LEVEL
from tracekit.text import plural

_SHORT = {
    "within the noise": "noise",
    "too few to tell": "too few",
    "higher in these recordings": "higher here",
    "lower in these recordings": "lower here",
    "spread not given": "no spread",
}
_MOST_RUNS = 10
HEADER = ("measure", "BASE", "NEW", "difference", "relative", "interval", "basis", "finding")


def amount(value: float | None, unit: Unit, signed: bool = False) -> str:
    """Return ``25.900 ms``, ``50.0 %``, ``1.80``; with a sign where it is a difference."""
    if value is None:
        return "–"
    sign = "+z" if signed else "-z"  # without a minus before zeros
    if unit == "ns":
        return f"{value / 1e6:{sign},.3f} ms"
    if unit == "share":
        return f"{100 * value:{sign}.1f} {'pts' if signed else '%'}"
    if unit == "mJ":
        return f"{value:{sign},.3f} mJ"
    if unit == "tokens/s":
        return f"{value:{sign},.1f} tokens/s"
    return f"{value:{sign},.2f}" if unit == "count" else f"{value:{sign},.0f} {unit}"


def value_text(value: Value, unit: Unit) -> str:
    """Return a side's number; where windows of unknown engine leave it open, both ends of its range."""
    if value.most is None or value.value is None:
        return amount(value.value, unit)
    return f"{amount(value.value, unit).partition(' ')[0]} … {amount(value.most, unit)}"


def interval(row: Difference) -> str:
    """Return ``+1.200 … +3.400`` in the unit of ``amount``; "" where there is none.

    No amount is less than none: what is printed begins at −BASE, as a relative interval does at −100 %.
    """
    if row.low is None or row.high is None:
        return ""
    least = -math.inf if row.unit == "share" or row.base.value is None else -row.base.value
    ends = (max(least, end) for end in (row.low, row.high))
    return " … ".join(amount(end, row.unit, True).partition(" ")[0] for end in ends)


def _interval_cell(row: Difference) -> str:
    """Return the interval; that of the first sentence, which is wider, with its level."""
    level = "" if row.level == LEVEL or row.low is None else f" ({100 * row.level:.3g} %)"
    return interval(row) + level


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
        value_text(row.base, row.unit),
        value_text(row.new, row.unit),
        amount(row.difference, row.unit, True),
        ratio(row),
        _interval_cell(row),
        basis(row),
        _SHORT.get(row.judgement, row.judgement),
    ]


def table_rows(rows: Iterable[Difference]) -> tuple[list[Difference], list[Difference]]:
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


@frozen
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
        return f"{describe_coverage(row)}, and the number covers only these" if _is_partial(row) else ""
    if row.base.missing and row.base.missing == row.new.missing:
        return f"not measurable, {row.base.missing}"
    sides = (("BASE", row.base.missing), ("NEW", row.new.missing))
    return "; ".join(f"not measurable in {name}, {missing}" for name, missing in sides if missing)


def title(group: Group) -> str:
    """Return ``All calls: 12 in BASE, 12 in NEW; the same are SpeechEncoder``."""
    titles = {"all": "All calls", "kind": f"Calls {group.name}, from {group.source}"}
    text = titles.get(group.kind, f"Model {group.name}")
    same = [f"{name} from {source}" if source else f"model {name}" for _, name, source in group.also]
    also = f" (the same as {', '.join(same)})" if same else ""
    return f"{text}{also}: {group.base_windows:,} in BASE, {group.new_windows:,} in NEW"


def run_values(group: Group) -> str:
    """Return the p50 of each run and their spread, where a side has several; "" where none has."""
    row = group.row("p50")
    if row is None:
        return ""
    sides = [_values_of_runs(name, side) for name, side in (("BASE", row.base), ("NEW", row.new))]
    return f"p50 of each run: {'; '.join(filter(None, sides))}" if any(sides) else ""


def _values_of_runs(name: str, side: Value) -> str:
    if len(side.runs) < 2:
        return ""
    listed = ", ".join(amount(value, "ns").partition(" ")[0] for value in side.runs[:_MOST_RUNS])
    more = f" and {len(side.runs) - _MOST_RUNS} more" if len(side.runs) > _MOST_RUNS else ""
    spread = f", standard deviation {100 * side.spread:.1f} %" if side.spread is not None else ""
    return f"{name} {listed} ms{more}{spread}"


def describe_grid(grid: Grid) -> str:
    """Return why percentiles are not tested, and what is compared instead."""
    where = f"end at frames of {grid.period_ns / 1e6:.3g} ms" if grid.period_ns else "take a few values only"
    limit = name_late_calls(grid.limit_ns)
    return f"Lengths {where}, so percentiles jump and are not tested; compared are '{limit}' and the mean"


def footnote(comparison: Comparison) -> str:
    """Return the explanation beneath the tables: what was tested on what."""
    several = max(len(comparison.base.runs), len(comparison.new.runs)) > 1
    parts = ["Differences are NEW minus BASE, shares in points (pts)."]
    if several:
        middle = ""
        if any(row.drift is not None for group in comparison.groups for row in group.rows):
            middle = "; of runs in turn, a time is that in the middle of the series, without the common drift"
        parts.append(
            f"A side's number is the mean of the numbers of its runs (of times, the geometric mean{middle})."
        )
    parts.append(
        "'noise': the interval of the difference contains 0. Intervals of amounts are printed from −BASE"
        " (nothing is left) on."
    )
    if one_run_per_side(comparison):
        parts.append(
            "'here': the difference is larger than calls vary within these two recordings; how much runs of"
            " the same program differ is not known from one run per side."
        )
    if comparison.run_noise:
        parts.append("'no spread': the spread of this number between runs is not given.")
    parts.append(
        "'too few': too few independent calls (runs for load, compile and energy) for an interval. Rows with"
        " a level beside their interval are those of the summary, tested together. Each other row is tested"
        " alone, at 95 %: among 20 of them without a real difference, about one is not 'noise'."
    )
    return " ".join(parts)


def one_run_per_side(comparison: Comparison) -> bool:
    """Return True where nothing shows how much runs of the same program differ."""
    several = max(len(comparison.base.runs), len(comparison.new.runs)) > 1
    return not (several or comparison.noise_runs or comparison.run_noise)


def could_show(row: Difference) -> str:
    """Return the change that four of five such comparisons would show; "" where that is not known.

    Of two runs per side it is two of three: Welch's test, with fewer degrees of freedom, is taken for some.
    """
    if row.smallest is None or not row.smallest:
        return ""
    estimate = row.estimate
    if estimate is not None and estimate.scale == "log":
        smallest = percent(row.smallest)
    else:
        smallest = amount(row.smallest, row.unit, True).removeprefix("+")
    has_two_runs = estimate is not None and estimate.runs == 2 and estimate.df <= 2
    part = "2 of 3" if has_two_runs else "4 of 5"
    return f"; a change of {smallest} would show in {part} such comparisons"


def percent(fraction: float) -> str:
    """Return ``2.5 %``."""
    return f"{100 * fraction:.3g} %"


def span(row: Difference) -> str:
    """Return the interval relative to the base, or in the unit where there is no relative one."""
    if row.relative_low is None or row.relative_high is None:
        return _with_unit(row)
    return f"{100 * row.relative_low:+z.1f} … {100 * row.relative_high:+z.1f} %"


def usual_span(row: Difference) -> str:
    """Return the interval of a factor if runs of one program differ by the usual spread; "" without one.

    The distances of the ends are added in squares to those of the spread, on logarithms (docs/statistics.md).
    """
    if row.ratio is None or row.relative_low is None or row.relative_high is None:
        return ""
    if min(row.ratio, row.relative_low) <= -1:
        return ""
    spread = 1.96 * find_usual_spread(row.metric) * math.sqrt(2)
    middle, *ends = (math.log1p(value) for value in (row.ratio, row.relative_low, row.relative_high))
    low, high = (
        100 * math.expm1(middle + sign * math.hypot(end - middle, spread))
        for sign, end in zip((-1, 1), ends, strict=True)
    )
    return f"{low:+.1f} … {high:+.1f} %"


def pair(row: Difference) -> str:
    """Return ``25.900 ms → 28.900 ms (+11.6 %)``."""
    part = ratio(row) or amount(row.difference, row.unit, True)
    return f"{value_text(row.base, row.unit)} → {value_text(row.new, row.unit)} ({part})"


def verdicts(side: Side) -> str:
    """Return ``12 calls: 6 ANE, 6 CPU``."""
    listed = ", ".join(f"{count:,} {verdict}" for verdict, count in side.verdicts.items())
    return f"{plural(side.windows, 'call')}{f': {listed}' if listed else ''}"


def function_cells(change: FunctionChange) -> list[str]:
    """Return a function's change as the cells of ``FUNCTION_HEADER``."""
    row = change.row
    return [
        change.change,
        amount(row.base.value, row.unit),
        amount(row.new.value, row.unit),
        amount(row.difference, row.unit, True),
        change.engine,
        change.model,
        change.symbol,
        change.binary,
    ]


FUNCTION_HEADER = ("change", "BASE", "NEW", "difference", "engine", "model", "function", "binary")
CHANGED_FUNCTIONS = "Functions that changed"
FLAME = "Flame graph of both sides"


def flame_note(comparison: Comparison) -> str:
    """Return the explanation of the flame graph: which runs it shows, and what is tested in it."""
    sides = (comparison.base, comparison.new)
    runs = " and ".join(f"{side.runs[0].name}, run {side.runs[0].run}" for side in sides)
    are_several = any(len(side.runs) > 1 for side in sides)
    several = f"Of several runs, the first of each side: {runs}. " if are_several else ""
    tested = " What is tested are functions, by the frame that decided the engine."
    tested = "" if comparison.without_times else tested
    return (
        f"{several}Host samples by path of functions, from the root down. A + is more in NEW, a − less; the"
        " colour is stronger the larger the change is, relative to the larger side. Paths are not tested: a"
        f" difference here may be chance.{tested}"
    )


def largest_functions_title(comparison: Comparison) -> str:
    """Return the heading of the largest differences that are not shown to be more than chance."""
    if comparison.largest_functions and comparison.largest_functions[0].row.tested is None:
        return "Largest differences of functions, not tested"
    return "Largest other differences of functions, which may be chance"


def functions_note(comparison: Comparison) -> str:
    """Return the sentence on how functions were tested; "" where they were not."""
    if not any(change.row.tested for change in (*comparison.functions, *comparison.largest_functions)):
        return "" if comparison.largest_functions else "no function differs"
    count = plural(comparison.functions_compared, "function")
    if not comparison.functions:
        return f"none of {count} is shown to have changed"
    changed = f"{len(comparison.functions)} of {count}"
    if {NOT_IN_TURN, SESSION_NOISE} & {caution.code for caution in comparison.cautions}:
        return (
            f"{changed} differ by more than runs of a side do; the sides are not shown to be recorded in"
            " turn, so what changed in between may explain all of it"
        )
    return f"{changed}; about 5 % of these at most are chance"


def one_sided(group: OneSided) -> str:
    """Return ``model Detector: only in NEW, 8 calls``."""
    name = f"model {group.name}" if group.kind == "model" else f"{group.name}, from {group.source}"
    return f"{name}: only in {group.side.upper()}, {plural(group.windows, 'call')}"


def change_reason(result: ChangeResult) -> str:
    """Return the reason for the outcome of one ``--fail-on``, with the compared numbers."""
    group = result.group
    scope = f" ({group.name})" if group is not None and group.kind != "all" else ""
    row = result.row
    if row is None or row.difference is None:
        return f"{result.reason}{scope}"
    shown = span(row) if result.change.relative else _with_unit(row)
    with_interval = f", 95 % interval {shown}" if row.low is not None else ""
    advice = _advice(result, row) if result.outcome == "open" else ""
    return f"{row.metric}{scope} {pair(row)}{with_interval}: {result.reason}{advice}"


def _advice(result: ChangeResult, row: Difference) -> str:
    """Return what an open result lacks: the change that these runs would show, or more runs."""
    if row.tested == "within these recordings":
        return ". Record five runs per side, or give --run-noise or --noise-from"
    shown = could_show(row)
    runs = estimate_runs_needed(result)
    given = max(len(row.base.runs), len(row.new.runs))
    if runs is not None and runs > given:
        return f"{shown}; about {runs} runs per side would show one as large as the threshold"
    return shown
