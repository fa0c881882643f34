"""The sentences of a comparison: amounts with units, the summary, the notes beneath the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracekit.analysis.verdicts import UNKNOWN
from tracekit.checks.changes import coverage, runs_needed
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

_SHORT = {
    "within the noise": "noise",
    "too few to tell": "too few",
    "higher in these recordings": "higher here",
    "lower in these recordings": "lower here",
}
_MOST_RUNS = 10
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


def footnote(comparison: Comparison) -> str:
    """Return the explanation beneath the tables: what was tested on what."""
    several = max(len(comparison.base.runs), len(comparison.new.runs)) > 1
    parts = ["Differences are NEW minus BASE, shares in points (pts)."]
    if several:
        parts.append("A side's number is the mean of the numbers of its runs (of times, the geometric mean).")
    parts.append("'noise': the 95 % interval of the difference contains 0.")
    if one_run_per_side(comparison):
        parts.append(
            "'here': the difference is larger than calls vary within these two recordings; how much runs of"
            " the same program differ is not known from one run per side."
        )
    parts.append(
        "'too few': too few windows (runs for load and compile) for an interval. Each row is tested alone:"
        " among 20 rows without a real difference, about one is not 'noise'."
    )
    return " ".join(parts)


def one_run_per_side(comparison: Comparison) -> bool:
    """Return True where nothing shows how much runs of the same program differ."""
    several = max(len(comparison.base.runs), len(comparison.new.runs)) > 1
    return not (several or comparison.noise_runs or comparison.run_noise is not None)


def sentence(comparison: Comparison) -> str:
    """Return two sentences: the p50 and the engines, and what was tested on what."""
    base, new = comparison.base.windows, comparison.new.windows
    if not base or not new:
        empty = "NEW has" if base else "BASE has" if new else "BASE and NEW have"
        return f"Inferences cannot be compared: {empty} no windows."
    engines = _engines(comparison.first_sentence.engines)
    summary = f"{_lengths(comparison)} {engines}"
    if any(caution.code == MIXED_WINDOWS for caution in comparison.cautions):
        return f"{summary} But the sides have different kinds of windows: compare each kind."
    return summary


def _lengths(comparison: Comparison) -> str:
    row = comparison.first_sentence.length
    if row is None or row.difference is None:
        reason = (row.base.missing or row.new.missing) if row else "there is no length"
        return f"Lengths cannot be compared: {reason}."
    if row.judgement == "too few to tell":
        return f"Too few windows for an interval of the lengths: {row.metric} {_pair(row)}."
    if row.tested == "within these recordings":
        return _within(row, comparison.min_change)
    return _between(row, comparison)


def _within(row: Difference, min_change: float) -> str:
    """Return the sentence on one run per side, which is about these recordings and nothing else."""
    if not row.difference:
        return f"In these recordings {row.metric} is the same: {_value_text(row.new, row.unit)}."
    if row.judgement == "within the noise":
        return (
            f"In these recordings {row.metric} differs by no more than calls vary: {_pair(row)}, 95 %"
            f" interval {_span(row)}."
        )
    if row.ratio is not None and abs(row.ratio) < min_change:
        return f"In these recordings {row.metric} is the same to within {_percent(min_change)}: {_pair(row)}."
    direction = "longer" if (row.difference or 0) > 0 else "shorter"
    return (
        f"In these recordings {row.metric} is {direction}: {_pair(row)}. One run per side does not show how"
        " much runs of the same program differ."
    )


def _between(row: Difference, comparison: Comparison) -> str:
    """Return the sentence on a difference that was tested between runs."""
    small = row.ratio is not None and abs(row.ratio) < comparison.min_change
    numbers = f"{row.metric} {_pair(row)}, 96 % interval {_span(row)}"
    tested = _tested(comparison)
    if row.judgement in ("higher", "lower") and not small:
        word = "Slower" if row.judgement == "higher" else "Faster"
        return f"{word}: {numbers}, tested {tested}."
    limit = comparison.min_change
    ends = (row.relative_low, row.relative_high)
    if all(end is not None and abs(end) <= limit for end in ends):
        return f"No slower and no faster to within {_percent(limit)}: {numbers}, tested {tested}."
    if row.judgement in ("higher", "lower"):
        return f"Slower or faster by less than {_percent(limit)}: {numbers}, tested {tested}."
    return f"No difference in length is shown: {numbers}, tested {tested}{_could_show(row)}."


def _could_show(row: Difference) -> str:
    if row.smallest is None or not row.smallest:
        return ""
    estimate = row.estimate
    if estimate is not None and estimate.scale == "log":
        smallest = _percent(row.smallest)
    else:
        smallest = amount(row.smallest, row.unit, True).removeprefix("+")
    return f"; a change of {smallest} would show in 4 of 5 such comparisons"


def _tested(comparison: Comparison) -> str:
    if comparison.run_noise is not None:
        return f"with a given spread between runs of {_percent(comparison.run_noise)}"
    counts = len(comparison.base.runs), len(comparison.new.runs)
    builds = f" (of {plural(comparison.noise_builds, 'build')})" if comparison.noise_builds else ""
    more = f" and {comparison.noise_runs} for the noise{builds}" if comparison.noise_runs else ""
    return f"between {plural(counts[0], 'run')} of BASE and {counts[1]} of NEW{more}"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"


def _span(row: Difference) -> str:
    """Return the interval relative to the base, or in the unit where there is no relative one."""
    if row.relative_low is None or row.relative_high is None:
        return _with_unit(row)
    return f"{100 * row.relative_low:+.1f} … {100 * row.relative_high:+.1f} %"


def _pair(row: Difference) -> str:
    part = ratio(row) or amount(row.difference, row.unit, True)
    return f"{_value_text(row.base, row.unit)} → {_value_text(row.new, row.unit)} ({part})"


def _engines(shares: Sequence[Difference]) -> str:
    of_engines = [row for row in shares if row.metric != f"{UNKNOWN} share"]
    if not any(row.base.value is not None or row.new.value is not None for row in of_engines):
        return "No window has a known engine."
    incomparable = [row for row in of_engines if row.difference is None]
    if incomparable:
        return (
            f"Engines cannot be compared: {missing(incomparable)[0].reason.removeprefix('not measurable, ')}."
        )
    changed = [row for row in shares if row.judgement not in ("within the noise", "too few to tell")]
    if changed:
        here = " in these recordings" if changed[0].tested == "within these recordings" else ""
        return f"Other engines{here}: {', '.join(f'{row.metric} {_pair(row)}' for row in changed)}."
    moved = [row for row in shares if row.difference]
    if not moved:
        return "Every engine's share of the windows is the same."
    if any(row.judgement == "too few to tell" for row in moved):
        pairs = ", ".join(f"{row.metric} {_pair(row)}" for row in moved)
        return f"Too few windows for an interval of the engines' shares: {pairs}."
    return "No difference in the engines' shares of the windows is shown."


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
        amount(row.difference, row.unit, True),
        change.engine,
        change.symbol,
        change.binary,
    ]


FUNCTION_HEADER = ("change", "BASE", "NEW", "difference", "engine", "function", "binary")
CHANGED_FUNCTIONS = "Functions that changed"


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
    return f"{len(comparison.functions)} of {count}; about 5 % of these at most are chance"


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
    span = _span(row) if result.change.relative else _with_unit(row)
    with_interval = f", 95 % interval {span}" if row.low is not None else ""
    advice = _advice(result, row) if result.outcome == "open" else ""
    return f"{row.metric}{scope} {_pair(row)}{with_interval}: {result.reason}{advice}"


def _advice(result: ChangeResult, row: Difference) -> str:
    """Return what an open result lacks: the change that these runs would show, or more runs."""
    if row.tested == "within these recordings":
        return ". Record five runs per side, or give --run-noise or --noise-from"
    shown = _could_show(row)
    runs = runs_needed(result)
    given = max(len(row.base.runs), len(row.new.runs))
    if runs is not None and runs > given:
        return f"{shown}; about {runs} runs per side would show one as large as the threshold"
    return shown
