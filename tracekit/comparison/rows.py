"""The rows of a group of windows: each metric on both sides, its difference, interval and judgement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tracekit.comparison.estimates import (
    Estimate,
    Tested,
    estimate_between_runs,
    estimate_within_runs,
    scale_of,
)
from tracekit.comparison.grid import Grid, recognize_grid
from tracekit.comparison.metrics import (
    LATE,
    Column,
    GroupMetric,
    GroupSide,
    is_amount,
    list_metrics,
    run_values,
)
from tracekit.comparison.quantities import FloatArray, Unit
from tracekit.comparison.result import Difference, Judgement, Value
from tracekit.comparison.run_variation import measure_variation
from tracekit.comparison.sessions import NOTHING_GIVEN, GivenSpread
from tracekit.comparison.shares import compute_share_interval
from tracekit.statistics.call_statistics import count_required_values
from tracekit.statistics.share_intervals import LEVEL

_OF_LENGTHS = ("length", "part", LATE)
_IN_CALLS = ("part", "busy")
"""Quantities that count each moment of a call at most once."""


@dataclass(frozen=True)
class Sides:
    """Both sides of a group, and its windows in groups of recordings that differ by chance alone (``noise``).

    ``deadlines_ns`` are the lengths from which on calls are late.
    """

    base: GroupSide
    new: GroupSide
    noise: Sequence[GroupSide]
    spread: GivenSpread = NOTHING_GIVEN
    deadlines_ns: Sequence[float] = ()

    @cached_property
    def grid(self) -> Grid | None:
        """The few values that nearly all lengths take; None for other lengths."""
        return recognize_grid([*self.base.lengths_ns, *self.new.lengths_ns])

    def find_run_noise(self, metric: GroupMetric) -> float | None:
        """Return the given spread of a metric between runs; None where it is not given."""
        on_grid = metric.quantity in ("length", LATE) and self.grid is not None
        # How many calls miss a tick differs between runs by more than their lengths do.
        return (
            None
            if on_grid and metric.quantity == LATE
            else self.spread.find_run_noise(metric.statistic, on_grid)
        )

    @property
    def metrics(self) -> list[GroupMetric]:
        """The metrics of the group, with late calls for each deadline and for a tick of the grid."""
        of_grid = [self.grid.limit_ns] if self.grid else []
        return list_metrics([*self.deadlines_ns, *of_grid])

    @cached_property
    def same_sources(self) -> bool:
        """True where lengths on both sides are of the same kind of windows."""
        return self.base.sources == self.new.sources or not (self.base.sources and self.new.sources)


@dataclass(frozen=True)
class Columns:
    """A metric with its columns in BASE, in NEW, and in each group of recordings that show the noise."""

    metric: GroupMetric
    base: Column
    new: Column
    noise: Sequence[Column]

    @property
    def is_shown(self) -> bool:
        """True where the row is worth listing."""
        return self.metric.always or self.base.value.value is not None or self.new.value.value is not None

    @property
    def is_open(self) -> bool:
        """True for a share that windows of unknown engine leave open."""
        both_have_values = self.base.value.value is not None and self.new.value.value is not None
        return both_have_values and not (self.base.upper_runs is None and self.new.upper_runs is None)


def iter_group_rows(
    sides: Sides, metrics: Sequence[GroupMetric], level: float = LEVEL
) -> Iterator[Difference]:
    """Yield the group's rows, without those that neither side shows."""
    every = (
        Columns(
            metric,
            sides.base.column(metric),
            sides.new.column(metric),
            [group.column(metric) for group in sides.noise],
        )
        for metric in metrics
    )
    for columns in (entry for entry in every if entry.is_shown):
        if columns.is_open:
            yield _open_share(columns, sides, level)
        elif sides.same_sources or columns.metric.quantity not in _OF_LENGTHS:
            yield _compute_difference(columns, sides, level)
        else:
            yield _report_incomparable_lengths(columns, sides)


def _compute_difference(columns: Columns, sides: Sides, level: float) -> Difference:
    metric, base, new = columns.metric, columns.base, columns.new
    units = base.unit, new.unit
    if refusal := refuse_difference(metric.name, units, base.value, new.value):
        return refusal
    if metric.is_share_of_windows:
        return _compute_share(columns, sides, level)
    if metric.is_percentile_of_length and sides.grid:
        return _report_untested(metric.name, base, new, "on a grid")
    base_values, new_values = (run_values(side.runs, metric.statistic) for side in (base, new))
    noise = _list_noise_values(columns)
    scale = scale_of(metric.is_compared_by_factor(base.unit), base_values, new_values, *noise)
    run_noise = sides.find_run_noise(metric)
    estimate = None
    if run_noise is None:
        most = _find_most(metric, base.unit, sides)
        sessions, order = sides.spread.sessions, sides.spread.order
        estimate = estimate_between_runs(base_values, new_values, noise, scale, most, sessions, order)
    fewest = metric.fewest_per_run if estimate is not None else count_required_values(metric.statistic)
    if _count_fewest(base, new) < fewest:
        return _report_untested(metric.name, base, new)
    if estimate is None and run_noise is None and sides.spread.run_noise:
        return _report_untested(metric.name, base, new, "spread not given")
    if estimate is None:
        estimate = _estimate_within(columns, sides)
    if estimate is None:
        return _report_untested(metric.name, base, new)
    return build_tested_row(metric.name, base.unit, (base.value, new.value), estimate, level)


def _list_noise_values(columns: Columns) -> list[FloatArray]:
    """Return the values of the recordings that show the noise, by group; none where they do not compare."""
    base = columns.base
    return [
        np.empty(0)
        if _is_different((base.unit, noise.unit), base.value, noise.value)
        else run_values(noise.runs, columns.metric.statistic)
        for noise in columns.noise
    ]


def _count_fewest(base: Column, new: Column) -> int:
    """Return the fewest values that any run has; runs without a value are not compared."""
    counts = [int((~np.isnan(run)).sum()) for side in (base, new) for run in side.runs]
    return min((count for count in counts if count), default=0)


def _report_untested(
    name: str, base: Column, new: Column, judgement: Judgement = "too few to tell"
) -> Difference:
    assert base.value.value is not None
    assert new.value.value is not None
    change = new.value.value - base.value.value
    return Difference(name, base.unit, base.value, new.value, change, None, None, judgement)


def _estimate_within(columns: Columns, sides: Sides) -> Estimate | None:
    """Return the difference by the variation within the runs; None where their calls do not bound it."""
    metric = columns.metric
    values = [[run[~np.isnan(run)] for run in side.runs] for side in (columns.base, columns.new)]
    values = [[run for run in side if len(run)] for side in values]
    scale = scale_of(
        metric.is_compared_by_factor(columns.base.unit), *(run for side in values for run in side)
    )
    variations = [[measure_variation(run, metric.statistic, scale) for run in side] for side in values]
    base, new = ([variation for variation in side if variation is not None] for side in variations)
    if (len(base), len(new)) != (len(values[0]), len(values[1])):
        return None
    most = _find_most(metric, columns.base.unit, sides)
    return estimate_within_runs(
        base, new, scale, sides.find_run_noise(metric), most, sides.spread.session_noise
    )


def _find_most(metric: GroupMetric, unit: Unit, sides: Sides) -> float:
    """Return the most that a number can be: a share is at most 1, work in a call as long as a call."""
    if unit == "share":
        return 1.0
    if metric.quantity not in _IN_CALLS:
        return math.inf
    return max(side.longest_ns for side in (sides.base, sides.new))


def build_tested_row(
    name: str, unit: Unit, sides: tuple[Value, Value], estimate: Estimate, level: float = LEVEL
) -> Difference:
    """Return the row of an estimate."""
    low, high = estimate.interval(level)
    ratio_low, ratio_high = estimate.compute_ratio_interval(level) or (None, None)
    change = estimate.new - estimate.base
    base, new = replace(sides[0], value=estimate.base), replace(sides[1], value=estimate.new)
    within = estimate.tested == "within these recordings"
    judged = decide_judgement(estimate.base, change, low, high, within)
    tested = estimate.tested
    return Difference(
        name, unit, base, new, change, low, high, judged, ratio_low, ratio_high, tested, level, estimate
    )


def decide_judgement(base: float, change: float, low: float, high: float, within: bool) -> Judgement:
    """Return the judgement of an interval; ``within`` where it covers variation within two runs only."""
    if low <= 0 <= high or abs(change) <= 1e-9 * abs(base):
        return "within the noise"
    if within:
        return "higher in these recordings" if change > 0 else "lower in these recordings"
    return "higher" if change > 0 else "lower"


# Shares of windows -----------------------------------------------------------------------------------------


def _compute_share(columns: Columns, sides: Sides, level: float) -> Difference:
    """Return the row of a share of windows, whose interval is never 0 … 0."""
    base, new = columns.base, columns.new
    runs = [tuple(run[~np.isnan(run)] for run in side.runs) for side in (base, new)]
    runs = [tuple(run for run in side if len(run)) for side in runs]
    if min(sum(len(run) for run in side) for side in runs) < count_required_values("mean"):
        return _report_untested(columns.metric.name, base, new)
    spread, run_noise = None, sides.find_run_noise(columns.metric)
    if run_noise is None:
        values = [run_values(side, "mean") for side in runs]
        noise = _list_noise_values(columns)
        spread = estimate_between_runs(values[0], values[1], noise, "linear", 1.0, sides.spread.sessions)
    if spread is None and run_noise is None and sides.spread.run_noise:
        return _report_untested(columns.metric.name, base, new, "spread not given")
    low, high = compute_share_interval(runs[0], runs[1], spread, run_noise, level, sides.spread.session_noise)
    assert base.value.value is not None
    assert new.value.value is not None
    change = new.value.value - base.value.value
    within = spread is None and run_noise is None
    row = Difference(
        columns.metric.name,
        base.unit,
        base.value,
        new.value,
        change,
        low,
        high,
        decide_judgement(base.value.value, change, low, high, within),
    )
    tested: Tested = "between runs" if spread else "within these recordings" if within else "given noise"
    return replace(row, tested=tested, level=level)


def _open_share(columns: Columns, sides: Sides, level: float) -> Difference:
    """Return the row of a share with windows of unknown engine: decided only if both extremes agree."""
    base, new = columns.base, columns.new
    assert base.value.value is not None
    assert new.value.value is not None
    row = _compute_share(columns, sides, level)
    lowest = _compute_share(replace(columns, base=base.highest), sides, level)
    highest = _compute_share(replace(columns, new=new.highest), sides, level)
    if lowest.judgement == highest.judgement:
        return replace(row, low=lowest.low, high=highest.high, judgement=lowest.judgement)
    unknown = [
        f"{side.total - side.count:,} of {side.total:,} calls in {name}"
        for name, side in (("BASE", row.base), ("NEW", row.new))
        if side.most is not None
    ]
    reason = f"the engine of {' and '.join(unknown)} is unknown, and the result depends on them"
    undecided = build_incomparable_row(row.metric, row.unit, row.base, row.new, reason)
    return replace(undecided, low=lowest.low, high=highest.high, tested=row.tested, level=level)


# Numbers that cannot be subtracted -------------------------------------------------------------------------


def refuse_difference(name: str, units: tuple[Unit, Unit], base: Value, new: Value) -> Difference | None:
    """Return the row of two numbers that cannot be subtracted; None where they can."""
    if base.value is None or new.value is None:
        unit = units[1] if base.value is None else units[0]
        return Difference(name, unit, base, new, None, None, None, "not measurable")
    if not _is_different(units, base, new):
        return None
    bases = f"{base.basis} in BASE and {new.basis} in NEW"
    reason = f"{bases if units[0] == units[1] else ' and '.join(units)}, which cannot be compared"
    return build_incomparable_row(name, units[0], base, new, reason)


def _is_different(units: tuple[Unit, Unit], base: Value, new: Value) -> bool:
    # Shares and counts of windows are comparable whatever the basis of each window, and so is no time at all.
    has_other_basis = bool(base.basis and new.basis) and base.basis != new.basis
    return units[0] != units[1] or (is_amount(units[0]) and has_other_basis)


def build_incomparable_row(name: str, unit: Unit, base: Value, new: Value, reason: str) -> Difference:
    """Return a row with the values of both sides and without a difference."""
    base, new = replace(base, missing=reason), replace(new, missing=reason)
    return Difference(name, unit, base, new, None, None, None, "not measurable")


def _report_incomparable_lengths(columns: Columns, sides: Sides) -> Difference:
    """Return the row of lengths of different things, such as a prediction and an engine's interval."""
    names = [" and ".join(sorted(side.sources)) or "nothing" for side in (sides.base, sides.new)]
    reason = f"calls come from {names[0]} in BASE and from {names[1]} in NEW"
    base, new = columns.base, columns.new
    return build_incomparable_row(columns.metric.name, base.unit, base.value, new.value, reason)
