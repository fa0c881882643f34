"""``compare``: two sides of analyses → Comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.comparison import functions as by_function
from tracekit.comparison.bootstrap import (
    ColumnStatistic,
    Panel,
    estimate,
    fewest_values,
    intervals,
)
from tracekit.comparison.cautions import cautions, describe_side, other_verdict_bases, repeated
from tracekit.comparison.metrics import METRICS, RUN_METRICS, Column, GroupMetric, GroupSide
from tracekit.comparison.observations import Amount, Observations, Unit, concatenated
from tracekit.comparison.result import (
    Change,
    Comparison,
    Difference,
    FunctionChange,
    Group,
    GroupKind,
    Judgement,
    OneSided,
    Value,
)
from tracekit.errors import UsageError
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import Phase

_MOST_GROUPS = 20


def compare(base: Analysis | Sequence[Analysis], new: Analysis | Sequence[Analysis]) -> Comparison:
    """Return the differences between two sides, with intervals; several analyses of a side are repetitions.

    The order within a side does not matter, and swapping the sides negates every difference. Raises
    ``UsageError`` for a side without an analysis.
    """
    if not all(isinstance(side, (Analysis, Sequence)) for side in (base, new)):
        raise UsageError(
            "compare takes analyses: tracekit.compare(tracekit.analyze(base), tracekit.analyze(new))."
        )
    base, new = ([side] if isinstance(side, Analysis) else list(side) for side in (base, new))
    if not base or not new:
        raise UsageError("A comparison needs a recording on each side.")
    sides = [[Observations(analysis) for analysis in side] for side in (base, new)]
    base_side, new_side = describe_side(sides[0]), describe_side(sides[1])
    groups, one_sided, left_out = _groups(*sides)
    changed, missing = _functions(*sides)
    return Comparison(
        base=base_side,
        new=new_side,
        cautions=(
            *repeated(*sides),
            *cautions(base_side, new_side, one_sided),
            *other_verdict_bases(*sides),
        ),
        groups=groups,
        preparing=tuple(_run_metrics(*sides)),
        functions=changed,
        one_sided=one_sided,
        functions_missing=missing,
        groups_left_out=left_out,
        base_analysis=base[0],
        new_analysis=new[0],
    )


# Groups of windows -----------------------------------------------------------------------------------------

_Key = tuple[GroupKind, str, str]


def _groups(
    base: Sequence[Observations], new: Sequence[Observations]
) -> tuple[tuple[Group, ...], tuple[OneSided, ...], int]:
    """Return the groups that both sides have, those of one side only, and the number of groups left out.

    The groups are all windows, each kind of windows, and each model. Groups of exactly the same windows (such
    as all windows and those of the only model) are merged.
    """
    by_windows: dict[bytes, Group] = {}
    one_sided: list[OneSided] = []
    keys: list[_Key] = [("all", "", ""), *sorted(_keys(base) | _keys(new))]
    counts = {key: sum(_side(side, key).windows for side in (base, new)) for key in keys}
    largest = sorted(keys[1:], key=lambda key: (-counts[key], key))[:_MOST_GROUPS]
    for key in [keys[0], *sorted(largest)]:
        sides = _side(base, key), _side(new, key)
        empty = [not side.windows for side in sides]
        if key[0] != "all" and any(empty):
            filled = sides[empty.index(False)]
            one_sided.append(OneSided(*key, "new" if empty[0] else "base", filled.windows))
            continue
        windows = b"".join(rows.tobytes() + b"|" for side in sides for rows in side.rows)
        if windows in by_windows:
            same = by_windows[windows]
            by_windows[windows] = replace(same, also=(*same.also, key))
        else:
            by_windows[windows] = Group(*key, sides[0].windows, sides[1].windows, tuple(_rows(*sides)))
    return tuple(by_windows.values()), tuple(one_sided), len(keys) - 1 - len(largest)


def _keys(side: Sequence[Observations]) -> set[_Key]:
    kinds: set[_Key] = {
        ("kind", str(label), str(source))
        for run in side
        for label, source in zip(run.label, run.source, strict=True)
    }
    return kinds | {("model", str(model), "") for run in side for model in run.model if model}


def _side(runs: Sequence[Observations], key: _Key) -> GroupSide:
    kind, name, source = key
    masks: dict[GroupKind, Callable[[Observations], BoolArray]] = {
        "all": lambda run: np.ones(run.count, bool),
        "kind": lambda run: np.asarray((run.label == name) & (run.source == source), bool),
        "model": lambda run: np.asarray(run.model == name, bool),
    }
    return GroupSide(runs, [masks[kind](run) for run in runs])


_MetricColumns = tuple[GroupMetric, Column, Column]
"""A metric with its columns in BASE and in NEW."""


def _rows(base: GroupSide, new: GroupSide) -> Iterator[Difference]:
    """Yield the group's rows, without those that neither side shows."""
    columns = [(metric, base.column(metric), new.column(metric)) for metric in METRICS]
    listed = [
        (metric, base_column, new_column)
        for metric, base_column, new_column in columns
        if metric.always or base_column.value.value is not None or new_column.value.value is not None
    ]
    # A share that windows of unknown engine leave open is computed twice more, at both ends of its range. All
    # rows are resampled together; the two extra ones of the n-th open row follow the listed rows:
    #   [listed … | lowest, highest of the 1st | lowest, highest of the 2nd | …]
    open_rows = [row for row, (_, of_base, of_new) in enumerate(listed) if _is_open(of_base, of_new)]
    extremes: list[_MetricColumns] = []
    for metric, of_base, of_new in (listed[row] for row in open_rows):
        extremes += [(metric, of_base.highest, of_new), (metric, of_base, of_new.highest)]
    differences = list(_differences(base, new, listed, extremes))
    for number, row in enumerate(open_rows):
        start = len(listed) + 2 * number
        differences[row] = _open_share(differences[row], *differences[start : start + 2])
    same_sources = base.sources == new.sources or not (base.sources and new.sources)
    for (metric, _, _), row_difference in zip(listed, differences, strict=False):
        if same_sources or metric.quantity != "length":
            yield row_difference
        else:
            yield _incomparable_lengths(row_difference, base, new)


def _differences(
    base: GroupSide,
    new: GroupSide,
    listed: Sequence[_MetricColumns],
    extremes: Sequence[_MetricColumns],
) -> Iterator[Difference]:
    pairs = [*listed, *extremes]
    statistics = [
        ColumnStatistic(position, metric.statistic) for position, (metric, _, _) in enumerate(pairs)
    ]
    row_intervals = intervals(
        Panel(tuple(int(rows.sum()) for rows in base.rows), tuple(column.values for _, column, _ in pairs)),
        Panel(tuple(int(rows.sum()) for rows in new.rows), tuple(column.values for _, _, column in pairs)),
        [*_share_columns(statistics[: len(listed)], listed), *statistics[len(listed) :]],
    )
    for (metric, of_base, of_new), interval in zip(pairs, row_intervals, strict=True):
        units = of_base.unit, of_new.unit
        fewest = fewest_values(metric.statistic)
        yield difference(metric.name, units, of_base.value, of_new.value, interval, fewest)


def _is_open(base: Column, new: Column) -> bool:
    both_have_values = base.value.value is not None and new.value.value is not None
    return both_have_values and not (base.most is None and new.most is None)


def _open_share(row: Difference, lowest: Difference, highest: Difference) -> Difference:
    """Return the row of a share with windows of unknown engine: decided only if both extremes agree."""
    if lowest.judgement == highest.judgement:
        return replace(row, low=lowest.low, high=highest.high, judgement=lowest.judgement)
    unknown = [
        f"{side.total - side.count:,} of {side.total:,} windows in {name}"
        for name, side in (("BASE", row.base), ("NEW", row.new))
        if side.most is not None
    ]
    reason = f"the engine of {' and '.join(unknown)} is unknown, and the result depends on them"
    return incomparable(row.metric, row.unit, row.base, row.new, reason)


def _incomparable_lengths(row: Difference, base: GroupSide, new: GroupSide) -> Difference:
    """Return the row of lengths of different things, such as a prediction and an engine's interval."""
    names = [" and ".join(sorted(side.sources)) or "nothing" for side in (base, new)]
    reason = f"windows come from {names[0]} in BASE and from {names[1]} in NEW"
    return incomparable(row.metric, row.unit, row.base, row.new, reason)


def incomparable(name: str, unit: Unit, base: Value, new: Value, reason: str) -> Difference:
    """Return a row with the values of both sides and without a difference."""
    base, new = replace(base, missing=reason), replace(new, missing=reason)
    return Difference(name, unit, base, new, None, None, None, "not measurable")


def _share_columns(
    statistics: Sequence[ColumnStatistic], listed: Sequence[_MetricColumns]
) -> list[ColumnStatistic]:
    """Let percentiles of the same windows use one column, which is then sorted once."""
    first: dict[tuple[str, str, str], int] = {}
    return [
        ColumnStatistic(
            first.setdefault((metric.quantity, metric.engine, metric.part), spec.column), spec.statistic
        )
        for spec, (metric, _, _) in zip(statistics, listed, strict=True)
    ]


def difference(
    name: str,
    units: tuple[Unit, Unit],
    base: Value,
    new: Value,
    interval: tuple[float, float] | None,
    fewest: int,
) -> Difference:
    """Return one row with its judgement; numbers of different bases or units are not subtracted."""
    if base.value is not None and new.value is not None and _differ(units, base, new):
        bases = f"{base.basis} in BASE and {new.basis} in NEW"
        reason = f"{bases if units[0] == units[1] else ' and '.join(units)}, which cannot be compared"
        return incomparable(name, units[0], base, new, reason)
    if base.value is None or new.value is None:
        unit = units[1] if base.value is None else units[0]
        return Difference(name, unit, base, new, None, None, None, "not measurable")
    change = new.value - base.value
    if interval is None or min(base.count, new.count) < fewest:
        return Difference(name, units[0], base, new, change, None, None, "too few to tell")
    return Difference(name, units[0], base, new, change, *interval, _judgement(base.value, change, *interval))


def _differ(units: tuple[Unit, Unit], base: Value, new: Value) -> bool:
    # Shares and counts of windows are comparable whatever the basis of each window.
    return units[0] != units[1] or (units[0] in ("ns", "cycles", "events") and base.basis != new.basis)


def _judgement(base: float, change: float, low: float, high: float) -> Judgement:
    if low <= 0 <= high or abs(change) <= 1e-9 * abs(base):
        return "within the noise"
    return "higher" if change > 0 else "lower"


# Whole runs, and functions ---------------------------------------------------------------------------------


def _run_metrics(base: Sequence[Observations], new: Sequence[Observations]) -> Iterator[Difference]:
    """Yield the rows of loading and compiling; one number per run."""
    for name in RUN_METRICS:
        sides = [[run.preparation(Phase(name)) for run in side] for side in (base, new)]
        values = [_of_runs(side) for side in sides]
        if all(value.value is None for value in values):
            continue
        panels = [
            Panel((1,) * len(side), (concatenated([[_or_nan(amount)] for amount in side]),)) for side in sides
        ]
        interval = intervals(panels[0], panels[1], [ColumnStatistic(0, "mean")])[0]
        yield difference(name, ("ns", "ns"), values[0], values[1], interval, fewest_values("mean"))


def _or_nan(amount: Amount) -> float:
    return float("nan") if amount.value is None else amount.value


def _of_runs(amounts: Sequence[Amount]) -> Value:
    values = [amount.value for amount in amounts if amount.value is not None]
    bases = sorted({amount.basis for amount in amounts if amount.value is not None})
    if not values:
        return Value(None, 0, len(amounts), missing=amounts[0].missing)
    if len(bases) > 1:
        reason = f"some runs are {' and some '.join(bases)}, which one number cannot combine"
        return Value(None, 0, len(amounts), missing=reason)
    return Value(float(np.mean(values)), len(values), len(amounts), bases[0])


def _functions(
    base: Sequence[Observations], new: Sequence[Observations]
) -> tuple[tuple[FunctionChange, ...], str]:
    """Return the functions that changed beyond the noise, or the reason why they cannot be compared."""
    if reason := by_function.problem(base, new):
        return (), reason
    weights = [[by_function.weights_of(run) for run in side] for side in (base, new)]
    names = by_function.largest_changes(*weights)
    panels = [
        Panel(
            tuple(run.windows for run in side),
            tuple(concatenated([run.per_window(name) for run in side]) for name in names),
        )
        for side in weights
    ]
    function_intervals = intervals(
        panels[0], panels[1], [ColumnStatistic(column, "mean") for column in range(len(names))]
    )
    unit: Unit = next(iter(by_function.units_of(base)))
    rows = []
    for column, ((binary, symbol, engine), interval) in enumerate(
        zip(names, function_intervals, strict=True)
    ):
        of_base, of_new = (
            Value(estimate(panel.columns[column], "mean"), sum(panel.sizes), sum(panel.sizes), "sampled")
            for panel in panels
        )
        fewest = fewest_values("mean")
        row = difference("weight per window", (unit, unit), of_base, of_new, interval, fewest)
        if row.judgement in ("higher", "lower"):
            rows.append(FunctionChange(binary, symbol, engine, _change(row), row))
    return tuple(rows), ""


def _change(row: Difference) -> Change:
    if not row.base.value:
        return "appeared"
    if not row.new.value:
        return "vanished"
    return "grew" if row.judgement == "higher" else "shrank"
