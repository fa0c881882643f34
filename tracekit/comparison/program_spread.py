"""How much runs of one program differ, and which changes a comparison of such runs decides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.comparison.cautions import select_distinct_runs
from tracekit.comparison.drift import count_lost_degrees
from tracekit.comparison.estimates import Estimate
from tracekit.comparison.grid import recognize_grid
from tracekit.comparison.metrics import run_values
from tracekit.comparison.observations import Observations
from tracekit.comparison.sessions import estimate_session_spread
from tracekit.comparison.turns import split_sessions
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.call_statistics import Statistic, count_required_values

RUNS_PER_SIDE = (3, 5, 10, 20)
_NUMBERS: tuple[tuple[str, Statistic], ...] = (("p50", 0.5), ("p90", 0.9), ("mean", "mean"))


@dataclass(frozen=True)
class NumberSpread:
    """How much a number of a model's calls differs between runs of one program.

    ``value`` is the geometric mean of all runs, ``fraction`` the standard deviation between runs of one build
    and session as a fraction of it, with ``df`` degrees of freedom, from ``runs`` runs. ``session_fraction``
    is that between sessions of one build, None where too few sessions show it. ``is_on_grid`` marks a
    percentile of lengths on a grid, which comparisons do not test.
    """

    model: str
    metric: str
    value: float
    fraction: float
    df: int
    runs: int
    session_fraction: float | None = None
    is_on_grid: bool = False

    def compute_smallest(self, runs_per_side: int) -> float:
        """Return the smallest change that is shown in four of five comparisons of sides recorded in turn.

        A gate at this threshold passes an unchanged program in four of five comparisons.
        """
        error = self.fraction * math.sqrt(2 / runs_per_side)
        df = 2.0 * (runs_per_side - 1) - count_lost_degrees(runs_per_side)
        return Estimate(1.0, 1.0, 0.0, error, df, "log", "between runs").compute_smallest()


def select_alike(builds: Sequence[Sequence[Analysis]]) -> tuple[list[list[Analysis]], int]:
    """Return the runs whose calls come from what those of most runs do, and the number of the others.

    A prediction and an interval of an engine differ in length, but not as runs of a program do.
    """
    sources = [[frozenset(analysis.window_rows["source"]) for analysis in build] for build in builds]
    counts = Counter(kinds for build in sources for kinds in build if kinds)
    if not counts:
        return [], sum(map(len, builds))
    usual = max(counts, key=lambda kinds: (counts[kinds], sorted(kinds)))
    alike = [
        [analysis for analysis, kinds in zip(build, of_build, strict=True) if kinds == usual]
        for build, of_build in zip(builds, sources, strict=True)
    ]
    return [build for build in alike if build], sum(map(len, builds)) - sum(map(len, alike))


def measure_spreads(builds: Sequence[Sequence[Analysis]]) -> list[NumberSpread]:
    """Return the spread of the lengths of each model's calls; ``builds`` has the runs of each build.

    Builds, and sessions where these are known, spread around their own means. The calls of all runs are of
    one kind (``select_alike``). A number that fewer than two runs of a build have, or that has a length of 0,
    is left out.
    """
    groups = [select_distinct_runs([Observations(analysis) for analysis in build]) for build in builds]
    sessions, build_numbers = split_sessions(groups)
    models = sorted({str(name) for group in groups for run in group for name in run.model})
    return [
        spread
        for model in models
        for spread in _iter_numbers(model, [_list_lengths(runs, model) for runs in sessions], build_numbers)
    ]


def _list_lengths(runs: Sequence[Observations], model: str) -> list[FloatArray]:
    return [run.lengths_ns[np.asarray(run.model == model, bool)] for run in runs]


def _iter_numbers(
    model: str, sessions: Sequence[Sequence[FloatArray]], build_numbers: Sequence[int]
) -> Iterator[NumberSpread]:
    is_on_grid = recognize_grid([run for runs in sessions for run in runs]) is not None
    for metric, statistic in _NUMBERS:
        fewest = count_required_values(statistic)
        values = [run_values([run for run in runs if len(run) >= fewest], statistic) for runs in sessions]
        if any((of_session <= 0).any() for of_session in values):
            continue
        logs = [np.log(of_session) for of_session in values]
        df = sum(max(0, len(of_session) - 1) for of_session in logs)
        if not df:
            continue
        squares = sum(float(((entry - entry.mean()) ** 2).sum()) for entry in logs if len(entry))
        every = np.concatenate(logs)
        yield NumberSpread(
            model,
            metric,
            math.exp(float(every.mean())),
            math.sqrt(squares / df),
            df,
            len(every),
            _estimate_between_sessions(logs, build_numbers, squares / df),
            is_on_grid and statistic != "mean",
        )


def _estimate_between_sessions(
    logs: Sequence[FloatArray], build_numbers: Sequence[int], run_variance: float
) -> float | None:
    """Return the spread between sessions alone; 0 where sessions differ by no more than their runs do."""
    spread = estimate_session_spread(logs, build_numbers) if build_numbers else None
    if spread is None:
        return None
    return math.sqrt(max(0.0, spread.variance - run_variance / spread.runs))
