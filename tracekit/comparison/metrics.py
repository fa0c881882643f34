"""The metrics of a comparison, and their values on one side of a group of windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from tracekit.comparison.estimates import compute_centre, scale_of
from tracekit.comparison.observations import SUBMISSION_COUNTS, Observations
from tracekit.comparison.quantities import FloatArray, Quantity, Unit, join_arrays
from tracekit.comparison.result import Value
from tracekit.model.columns import BoolArray
from tracekit.model.power_rails import RAILS
from tracekit.model.vocabulary import SERVING, Engine
from tracekit.statistics.call_statistics import Statistic, count_required_values, estimate

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99}
LATE = "late"
"""Calls that take longer than a deadline."""
VERDICTS = (*map(str, SERVING), "MIXED", "UNKNOWN")
_MOST_NAMES = 3
_WAITED_FOR = (Engine.ANE, Engine.GPU, Engine.RUNTIME)


@dataclass(frozen=True)
class GroupMetric:
    """One number of a group of windows: a statistic of a column over all, first or warm windows.

    ``of`` is what the quantity is of: an engine, a part of the call, or the deadline of late calls in ns.
    """

    name: str
    quantity: str
    statistic: Statistic
    of: str = ""
    part: str = ""
    always: bool = False
    """Listed even where neither side shows it."""
    is_summed: bool = False
    """Whether the numbers of several metrics sum to another one, on each side and in their differences."""

    @property
    def is_share_of_engine(self) -> bool:
        """True for a share of windows by verdict, not for a mean of the windows' shares of busy time."""
        return self.quantity == "share"

    @property
    def is_share_of_windows(self) -> bool:
        """True for a number of windows as a share of all."""
        return self.quantity in ("share", LATE)

    @property
    def is_percentile_of_length(self) -> bool:
        """True for an order statistic of lengths."""
        return self.quantity == "length" and self.statistic != "mean"

    def is_compared_by_factor(self, unit: Unit) -> bool:
        """Return True for times and other weights, but not where they must sum to another number."""
        return is_amount(unit) and not self.is_summed

    @property
    def fewest_per_run(self) -> int:
        """The windows that each of several runs needs for a value of its own."""
        return (
            1 if self.statistic == "mean" or self.part == "first" else count_required_values(self.statistic)
        )


def _iter_lengths() -> Iterator[GroupMetric]:
    for name, fraction in PERCENTILES.items():
        yield GroupMetric(name, "length", fraction, always=True)
    yield GroupMetric("mean", "length", "mean", always=True)
    for name, fraction in PERCENTILES.items():
        yield GroupMetric(f"warm {name}", "length", fraction, part="warm")
    yield GroupMetric("first", "length", 0.5, part="first")


def _iter_others() -> Iterator[GroupMetric]:
    for name in VERDICTS:
        yield GroupMetric(f"{name} share", "share", "mean", name)
    for engine in SERVING:
        yield GroupMetric(f"{engine} busy", "busy", "mean", engine)
        yield GroupMetric(f"{engine} busy share", "busy share", "mean", engine)
    for engine in SERVING:
        yield GroupMetric(f"{engine} samples", "samples", "mean", engine)
    for engine in _WAITED_FOR:
        yield GroupMetric(f"{engine} waiting", "waiting", "mean", engine)
    yield GroupMetric("hand-offs", "hand-offs", "mean")
    for quantity, name in SUBMISSION_COUNTS.items():
        yield GroupMetric(name, quantity, "mean")


_LENGTHS, _OTHERS = tuple(_iter_lengths()), tuple(_iter_others())
METRICS: tuple[GroupMetric, ...] = (*_LENGTHS, *_OTHERS)
RUN_METRICS = ("load", "compile")
"""Metrics of whole runs."""
ENERGY_METRICS = {f"{rail} energy": rail for rail in RAILS}
"""Energy of a call of a model, one number per run, and its rail."""
FIRST_TOKEN = "time to first token"  # noqa: S105 - of a language model
DECODE_RATE = "tokens per second in decode"
OF_SIGNPOSTS = (FIRST_TOKEN, DECODE_RATE)
"""Numbers of requests to language models that signposts mark."""
REQUEST_LENGTH, RESPONSE_RATE = "request length", "response tokens per second"
INCOMPLETE = "incomplete requests"
OF_REPORTED = (REQUEST_LENGTH, RESPONSE_RATE, INCOMPLETE)
"""Numbers of requests that Foundation Models reports as a whole; incomplete ones failed or have no end."""
MEDIANS = (FIRST_TOKEN, REQUEST_LENGTH)
"""Times of requests, of which a comparison has the median."""
REQUEST_METRICS: Mapping[str, Unit] = {
    FIRST_TOKEN: "ns",
    DECODE_RATE: "tokens/s",
    REQUEST_LENGTH: "ns",
    RESPONSE_RATE: "tokens/s",
    INCOMPLETE: "count",
}
"""Numbers of requests to language models, one per run: median times, rates of all tokens, and a count."""


def name_late_calls(limit_ns: float) -> str:
    """Return ``calls > 16.7ms``."""
    return f"calls > {limit_ns / 1e6:.12g}ms"


def make_late_metric(limit_ns: float) -> GroupMetric:
    """Return the share of the calls that take longer than a deadline."""
    return GroupMetric(name_late_calls(limit_ns), LATE, "mean", str(limit_ns))


def list_metrics(limits_ns: Iterable[float]) -> list[GroupMetric]:
    """Return the metrics of a group, with a share of late calls for each deadline."""
    return [*_LENGTHS, *(make_late_metric(limit_ns) for limit_ns in sorted({*limits_ns})), *_OTHERS]


def list_all_names() -> list[str]:
    """Return the names of every metric that a comparison can have without a deadline."""
    return list(chain((metric.name for metric in METRICS), RUN_METRICS, ENERGY_METRICS, REQUEST_METRICS))


@dataclass(frozen=True)
class Column:
    """A metric's value per window of each run, NaN where a window does not count, and the side's number.

    Where the engine of some windows is unknown, a share lies in a range: ``runs`` and ``value`` have the
    least that these windows can contribute, ``upper_runs`` the most.
    """

    runs: tuple[FloatArray, ...]
    value: Value
    unit: Unit
    upper_runs: tuple[FloatArray, ...] | None = None

    @property
    def highest(self) -> Column:
        """The same column with the most that windows of unknown engine can contribute."""
        if self.upper_runs is None:
            return self
        return Column(self.upper_runs, replace(self.value, value=self.value.most), self.unit)


def run_values(runs: Sequence[FloatArray], statistic: Statistic) -> FloatArray:
    """Return the value of each run that has one."""
    values = np.array([estimate(run, statistic) for run in runs], float)
    with_value: FloatArray = values[~np.isnan(values)]
    return with_value


def is_amount(unit: Unit) -> bool:
    """Return True for times and other weights, whose differences are factors."""
    return unit in ("ns", "mJ", "tokens/s", "cycles", "events", "hits")


@dataclass(frozen=True)
class GroupSide:
    """One side of one group: its runs, and the mask of each run's windows that belong to the group."""

    runs: Sequence[Observations]
    rows: Sequence[BoolArray]

    @property
    def windows(self) -> int:
        """The number of windows on this side."""
        return sum(int(rows.sum()) for rows in self.rows)

    @property
    def lengths_ns(self) -> list[FloatArray]:
        """The lengths of the windows of each run."""
        return [run.lengths_ns[rows] for run, rows in zip(self.runs, self.rows, strict=True)]

    @property
    def longest_ns(self) -> float:
        """The length of the longest window on this side; 0 without windows."""
        return max((float(lengths.max(initial=0.0)) for lengths in self.lengths_ns), default=0.0)

    @property
    def sources(self) -> set[str]:
        """The sources of the windows."""
        runs = zip(self.runs, self.rows, strict=True)
        return {str(source) for run, rows in runs for source in run.source[rows]}

    def column(self, metric: GroupMetric) -> Column:
        """Return a metric's value in each window, and the side's number: of several runs, their mean."""
        if not self.runs:
            return Column((), Value(None, 0, 0, missing="there is no such recording"), "count")
        quantities = [run.quantity(metric.quantity, metric.of) for run in self.runs]
        # Columns keep the length of the whole group, so that all metrics share one panel of windows: windows
        # that a metric leaves out (the first ones of a warm metric) are NaN.
        masks = [
            self._mark_part(run, rows, metric.part) for run, rows in zip(self.runs, self.rows, strict=True)
        ]
        row_masks = [part[rows] for part, rows in zip(masks, self.rows, strict=True)]
        runs = tuple(
            np.where(part, quantity.values[rows], np.nan)
            for part, quantity, rows in zip(row_masks, quantities, self.rows, strict=True)
        )
        units = {quantity.unit for quantity in quantities}
        missing = self._explain_missing(quantities, masks, metric)
        if len(units) > 1:
            missing = f"the runs are weighted in {' and '.join(sorted(units))}"
        unit, total = quantities[0].unit, int(sum(part.sum() for part in row_masks))
        if missing:
            nothing = tuple(np.full(len(run), np.nan) for run in runs)
            return Column(nothing, Value(None, 0, total, missing=missing), unit)
        basis = " and ".join(sorted(_list_bases(quantities, masks)))
        count = int((~np.isnan(join_arrays(runs))).sum())
        if metric.is_share_of_windows and count < total:
            # Of the windows whose engine is unknown, none or all may have it.
            lower_runs, upper_runs = (
                tuple(
                    np.where(part & np.isnan(run), fill, run)
                    for part, run in zip(row_masks, runs, strict=True)
                )
                for fill in (0.0, 1.0)
            )
            highest = float(run_values(upper_runs, "mean").mean())
            return Column(
                lower_runs,
                _compute_value(lower_runs, metric, unit, (count, total), basis, highest),
                unit,
                upper_runs,
            )
        return Column(runs, _compute_value(runs, metric, unit, (count, total), basis), unit)

    @staticmethod
    def _mark_part(run: Observations, rows: BoolArray, part: str) -> BoolArray:
        if part == "first":
            return rows & run.first
        return rows & ~run.first if part == "warm" else rows

    def _explain_missing(
        self, quantities: Sequence[Quantity], masks: Sequence[BoolArray], metric: GroupMetric
    ) -> str:
        """Return the reason why the runs give no number, and which runs; a run without windows is skipped."""
        is_only_run = len(self.runs) == 1
        problems = [
            (run, quantity.problem(part))
            for run, quantity, part in zip(self.runs, quantities, masks, strict=True)
            if part.any() or is_only_run
        ]
        if not problems:
            return "there is no such call"
        failing = [(run, problem) for run, problem in problems if problem]
        if failing:
            reason = failing[0][1]
            if len(failing) == len(problems):
                return reason
            return f"{_list_names([run for run, _ in failing])}: {reason}"
        bases = _list_bases(quantities, masks)
        if len(bases) > 1 and not metric.quantity.endswith(("share", "hand-offs", "part")):
            return f"some runs are {' and some '.join(sorted(bases))}, which one number cannot combine"
        return ""


def _compute_value(
    runs: Sequence[FloatArray],
    metric: GroupMetric,
    unit: Unit,
    counts: tuple[int, int],
    basis: str,
    highest: float | None = None,
) -> Value:
    values = run_values(runs, metric.statistic)
    middle = compute_centre(values, scale_of(metric.is_compared_by_factor(unit), values))
    return Value(middle, *counts, basis, most=highest, runs=tuple(values.tolist()))


def _list_bases(quantities: Sequence[Quantity], masks: Sequence[BoolArray]) -> set[str]:
    parts = zip(quantities, masks, strict=True)
    return {basis for quantity, part in parts for basis in quantity.bases(part)}


def _list_names(runs: Sequence[Observations]) -> str:
    """Return the names of runs: ``A, run 1 and B, run 1``."""
    names = [f"{run.analysis.trace.info.name}, run {run.analysis.trace.info.run}" for run in runs]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return " and ".join(names[:_MOST_NAMES] + more)
