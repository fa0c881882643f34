"""The metrics of a comparison, and what one side of a group of windows shows of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from tracekit.comparison.bootstrap import Statistic, estimate
from tracekit.comparison.observations import FloatArray, Observations, Quantity, Unit, pooled
from tracekit.comparison.result import Value
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import ANE_INTERVALS, ANE_TABLES
from tracekit.model.vocabulary import SERVING, Engine

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99}
VERDICTS = (*map(str, SERVING), "MIXED", "UNKNOWN")
_MOST_NAMED = 3
_AWAITED = (Engine.ANE, Engine.GPU, Engine.RUNTIME)


@dataclass(frozen=True)
class Metric:
    """One number of a group of windows: which column, over which of the windows, by which statistic."""

    name: str
    quantity: str
    statistic: Statistic
    engine: str = ""
    part: str = ""
    always: bool = False
    """Told even where neither side shows it."""


def _metrics() -> Iterator[Metric]:
    for name, fraction in PERCENTILES.items():
        yield Metric(name, "length", fraction, always=True)
    for name, fraction in PERCENTILES.items():
        yield Metric(f"warm {name}", "length", fraction, part="warm")
    yield Metric("first", "length", 0.5, part="first")
    for name in VERDICTS:
        yield Metric(f"{name} share", "share", "mean", name)
    for engine in SERVING:
        yield Metric(f"{engine} busy", "busy", "mean", engine)
        yield Metric(f"{engine} busy share", "busy share", "mean", engine)
    for engine in SERVING:
        yield Metric(f"{engine} samples", "samples", "mean", engine)
    for engine in _AWAITED:
        yield Metric(f"{engine} waiting", "waiting", "mean", engine)
    yield Metric("hand-offs", "hand-offs", "mean")


METRICS: tuple[Metric, ...] = tuple(_metrics())
PREPARING = ("load", "compile")
"""Metrics of whole runs."""


def all_names() -> list[str]:
    """Return the names of every metric that a comparison can have."""
    return list(chain((metric.name for metric in METRICS), PREPARING))


@dataclass(frozen=True)
class Column:
    """A metric's value per window, NaN where a window does not count, and the side's number.

    Of a share of which some windows tell nothing, these are the least that they can have; ``most`` the most.
    """

    values: FloatArray
    value: Value
    unit: Unit
    most: FloatArray | None = None

    @property
    def highest(self) -> Column:
        """The same with the most that windows can have."""
        if self.most is None:
            return self
        return Column(self.most, replace(self.value, value=self.value.most), self.unit)


@dataclass(frozen=True)
class GroupSide:
    """One side of one group: its runs, and which windows of each."""

    runs: Sequence[Observations]
    rows: Sequence[BoolArray]

    @property
    def windows(self) -> int:
        """How many the side has."""
        return sum(int(rows.sum()) for rows in self.rows)

    @property
    def sources(self) -> set[str]:
        """Where the windows come from; the Neural Engine's table has two names."""
        found = {str(one) for run, rows in zip(self.runs, self.rows, strict=True) for one in run.source[rows]}
        return {ANE_INTERVALS if one in ANE_TABLES else one for one in found}

    def column(self, metric: Metric) -> Column:
        """Return what the windows show of a metric, and the side's number."""
        found = [run.quantity(metric.quantity, metric.engine) for run in self.runs]
        chosen = [self._part(run, rows, metric.part) for run, rows in zip(self.runs, self.rows, strict=True)]
        asked = np.concatenate([part[rows] for part, rows in zip(chosen, self.rows, strict=True)])
        values = pooled([one.values[rows] for one, rows in zip(found, self.rows, strict=True)])
        values = np.where(asked, values, np.nan)
        units = {one.unit for one in found}
        missing = self._missing(found, chosen, metric)
        if len(units) > 1:
            missing = f"the runs count {' and '.join(sorted(units))}"
        unit, total, known = found[0].unit, int(asked.sum()), ~np.isnan(values)
        if missing:
            return Column(np.full(len(values), np.nan), Value(None, 0, total, missing=missing), unit)
        bases = {basis for one, part in zip(found, chosen, strict=True) for basis in one.bases(part)}
        basis, count = " and ".join(sorted(bases)), int(known.sum())
        if metric.quantity == "share" and count < total:  # of windows that tell no engine, none or all
            least, most = (np.where(asked & ~known, fill, values) for fill in (0.0, 1.0))
            ends = estimate(least, "mean"), estimate(most, "mean")
            return Column(least, Value(ends[0], count, total, basis, most=ends[1]), unit, most)
        return Column(values, Value(estimate(values, metric.statistic), count, total, basis), unit)

    @staticmethod
    def _part(run: Observations, rows: BoolArray, part: str) -> BoolArray:
        if part == "first":
            return rows & run.first
        return rows & ~run.first if part == "warm" else rows

    def _missing(self, found: Sequence[Quantity], chosen: Sequence[BoolArray], metric: Metric) -> str:
        """Say why the runs give no number, and which of them; a run with other windows is passed over."""
        alone = len(self.runs) == 1
        problems = [
            (run, one.problem(part))
            for run, one, part in zip(self.runs, found, chosen, strict=True)
            if part.any() or alone
        ]
        if not problems:
            return "there is no such window"
        told = [(run, problem) for run, problem in problems if problem]
        if told:
            why = told[0][1]
            return why if len(told) == len(problems) else f"{_names([run for run, _ in told])}: {why}"
        bases = {basis for one, part in zip(found, chosen, strict=True) for basis in one.bases(part)}
        if len(bases) > 1 and not metric.quantity.endswith(("share", "hand-offs")):
            return f"the runs are {' and '.join(sorted(bases))}, which one number does not mix"
        return ""


def _names(runs: Sequence[Observations]) -> str:
    """Return which runs are meant: ``A, run 1 and B, run 1``."""
    names = [f"{run.analysis.trace.info.name}, run {run.analysis.trace.info.run}" for run in runs]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return " and ".join(names[:_MOST_NAMED] + more)
