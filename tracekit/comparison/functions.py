"""Sampled weight of functions per window: which differ between two sides, of all that were seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.classification.sample_labels import find_deciding_frames
from tracekit.comparison.estimates import SPREADS_ALIKE
from tracekit.comparison.observations import Observations
from tracekit.comparison.quantities import FloatArray
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import WeightUnit
from tracekit.model.vocabulary import ENGINES
from tracekit.statistics.distributions import t_upper_tail

MOST_FUNCTIONS = 20
"""The number of largest differences that are listed without being shown to be more than chance."""
_FEWEST_WINDOWS = 5
"""Functions with samples in fewer windows, of both sides together, are not compared."""
UNNAMED = "(no symbol)"
Function = tuple[str, str, str]
"""Binary, symbol, engine. Functions without a symbol are one per binary: addresses differ from run to run."""


@dataclass(frozen=True)
class FunctionWeights:
    """The sampled weights of a run's functions, one row per (function, window) that has samples."""

    rows: pd.DataFrame
    windows: int
    sample_weight: float
    """The weight of one sample; where samples differ, the mean that their own weight gives them."""

    def select(self, is_of_model: BoolArray) -> FunctionWeights:
        """Return the weights in the marked windows alone."""
        rows = self.rows[is_of_model[self.rows["window"].to_numpy()]]
        return FunctionWeights(rows, int(is_of_model.sum()), self.sample_weight)


def measure_models(run: Observations, models: Sequence[str]) -> list[FunctionWeights]:
    """Return the weights of a run's functions in the calls of each model; "" is all calls."""
    weights = measure_weights(run)
    names = run.model.astype(str)
    return [weights.select(names == model) if model else weights for model in models]


def measure_weights(run: Observations) -> FunctionWeights:
    """Return the weights of a run's functions: the frame that decided a sample's engine, else its leaf."""
    trace, labels = run.analysis.trace, run.analysis.labels
    members = run.analysis.members
    has_stack = (trace.samples["stack_id"] >= 0).to_numpy(bool)
    stack_ids = trace.samples["stack_id"].to_numpy()[has_stack]
    deciding = find_deciding_frames(labels.classification, trace.stacks, stack_ids)
    frames = np.full(len(has_stack), -1, np.int64)
    frames[has_stack] = np.where(deciding >= 0, deciding, _find_leaves(run, stack_ids))
    tally = members.tally(np.where(frames >= 0, frames * len(ENGINES) + labels.engine, -1), trace.weights)
    frame_id, engine_id = np.divmod(tally.code, len(ENGINES))
    frame = pd.DataFrame(
        {"frame": frame_id, "engine": engine_id, "window": tally.window, "weight": tally.sums[0]}
    ).sort_values(["frame", "engine", "window"], ignore_index=True)
    names = {}
    for frame_id, engine in frame[["frame", "engine"]].drop_duplicates().itertuples(index=False):
        symbol = str(trace.stacks.symbols[frame_id])
        symbol = symbol if has_symbol(symbol) else UNNAMED
        names[frame_id, engine] = (str(trace.stacks.binary_names[frame_id]), symbol, str(ENGINES[engine]))
    pairs = zip(frame["frame"].tolist(), frame["engine"].tolist(), strict=True)
    frame["function"] = pd.Series([names[pair] for pair in pairs], index=frame.index, dtype=object)
    call_counts = np.where(has_stack, members.times_counted(len(has_stack)), 0)
    weights = trace.weights.astype(np.float64)
    sample_weight = float((call_counts * weights**2).sum() / max(1.0, (call_counts * weights).sum()))
    return FunctionWeights(frame[["function", "window", "weight"]], run.count, sample_weight)


def _find_leaves(run: Observations, stack_ids: np.ndarray[tuple[int], np.dtype[np.int32]]) -> IntArray:
    """Return the leaf's frame of each stack; -1 for an empty stack."""
    stacks = run.analysis.trace.stacks
    starts, ends = stacks.offsets[:-1][stack_ids], stacks.offsets[1:][stack_ids]
    leaves: IntArray = np.append(stacks.frame_ids, np.int32(-1)).astype(np.int64)[
        np.where(ends > starts, starts, len(stacks.frame_ids))
    ]
    return leaves


@dataclass(frozen=True)
class Compared:
    """Functions that are seen often enough to be compared, the largest difference first.

    ``means`` has the weight per window of each function in each run: arrays of functions × runs, for BASE and
    for NEW. ``probabilities`` are those of a difference at least as large without a real one, and None where
    nothing shows how much runs differ.
    """

    names: list[Function]
    means: tuple[FloatArray, FloatArray]
    probabilities: FloatArray | None
    count: int
    """The number of tested functions, those without a difference included."""


def find_changed(compared: Sequence[Compared]) -> list[set[int]]:
    """Return the rows of each that are shown to differ: at most 5 % of all are expected to be wrong."""
    tested = [
        np.ones(len(entry.names)) if entry.probabilities is None else entry.probabilities
        for entry in compared
    ]
    edges = np.cumsum([0, *map(len, tested)])
    discoveries = find_discoveries(np.concatenate(tested), sum(entry.count for entry in compared))
    return [
        {int(row - start) for row in discoveries if start <= row < stop}
        for start, stop in pairwise(edges.tolist())
    ]


def compare_functions(
    base: Sequence[FunctionWeights],
    new: Sequence[FunctionWeights],
    noise: Sequence[Sequence[FunctionWeights]],
) -> Compared:
    """Return the functions with samples in five windows or more, and their tests between runs.

    ``noise`` has groups of recordings that differ by nothing but chance within each.
    """
    tables = [_build_table(side) for side in (base, new, *noise)]
    names = sorted(
        function
        for function in tables[0].keys() | tables[1].keys()
        if sum(table[function].windows for table in tables[:2] if function in table) >= _FEWEST_WINDOWS
    )
    base_means, new_means, *noise_means = (
        np.array([table[name].means if name in table else np.zeros(len(side)) for name in names]).reshape(
            len(names), len(side)
        )
        for table, side in zip(tables, (base, new, *noise), strict=True)
    )
    change = new_means.mean(axis=1) - base_means.mean(axis=1)
    order = np.argsort(-np.abs(change), kind="stable")
    order, family = order[change[order] != 0], len(names)
    names = [names[row] for row in order]
    base_means, new_means, noise_means = (
        base_means[order],
        new_means[order],
        [group[order] for group in noise_means],
    )
    windows = [sum(run.windows for run in side) for side in (base, new)]
    sample_weight = max(run.sample_weight for run in (*base, *new))
    probabilities = _compute_probabilities(base_means, new_means, noise_means, windows, sample_weight)
    return Compared(names, (base_means, new_means), probabilities, family)


@dataclass(frozen=True)
class _Seen:
    """The windows that have samples of a function, and its weight per window in each run of a side."""

    windows: int
    means: FloatArray


def _build_table(side: Sequence[FunctionWeights]) -> dict[Function, _Seen]:
    windows: Counter[Function] = Counter()
    means: dict[Function, FloatArray] = {}
    for number, run in enumerate(side):
        grouped = run.rows.groupby("function", sort=False)["weight"].agg(["size", "sum"])
        sizes, sums = grouped["size"].tolist(), grouped["sum"].tolist()
        for function, count, weight in zip(grouped.index, sizes, sums, strict=True):
            windows[function] += count
            means.setdefault(function, np.zeros(len(side)))[number] = weight / max(1, run.windows)
    return {function: _Seen(count, means[function]) for function, count in windows.items()}


def _compute_probabilities(
    base: FloatArray,
    new: FloatArray,
    noise: Sequence[FloatArray],
    windows: Sequence[int],
    sample_weight: float,
) -> FloatArray | None:
    """Return the probability of each function's difference; None where no spread between runs is known."""
    sizes = base.shape[1], new.shape[1]
    pooled = max((group.shape[1] for group in noise), default=0) >= 2 or min(sizes) < 2
    groups = [base, new, *noise] if pooled else [base, new]
    dfs = [max(0, group.shape[1] - 1) for group in groups]
    if not sum(dfs):
        return None
    squares = [
        ((group - group.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for group in groups if group.shape[1]
    ]
    change = new.mean(axis=1) - base.mean(axis=1)
    if pooled:
        variance = np.sum(squares, axis=0) / sum(dfs) * sum(1 / size for size in sizes)
        df = np.full(len(change), float(sum(dfs)))
    else:
        parts = [square / df / size for square, df, size in zip(squares, dfs, sizes, strict=True)]
        variance = parts[0] + parts[1]
        df = _compute_degrees_of_freedom(parts[0], parts[1], dfs)
    # Samples are counts: even without any spread between runs, their number varies as Poisson's does.
    total = sum(group.mean(axis=1) * count for group, count in zip((base, new), windows, strict=True))
    poisson_variance = sample_weight * total / sum(windows) * sum(1 / count for count in windows)
    statistic = np.abs(change) / np.sqrt(np.maximum(variance, poisson_variance))
    # Below 1.9, no degrees of freedom give a probability that could be a discovery.
    return np.array(
        [
            2 * t_upper_tail(t, d) if t > 1.9 else 1.0
            for t, d in zip(statistic.tolist(), df.tolist(), strict=True)
        ]
    )


def _compute_degrees_of_freedom(base: FloatArray, new: FloatArray, dfs: Sequence[int]) -> FloatArray:
    """Return the degrees of freedom from the variances of both sides' means, as ``estimates`` does."""
    with np.errstate(invalid="ignore", divide="ignore"):
        welch = (base + new) ** 2 / (base**2 / dfs[0] + new**2 / dfs[1])
    welch = np.where(np.isfinite(welch), welch, min(dfs))
    is_alike = np.maximum(base, new) <= SPREADS_ALIKE**2 * np.minimum(base, new)
    return np.where(is_alike & (dfs[0] == dfs[1]), float(sum(dfs)), welch)


def find_discoveries(probabilities: FloatArray, family: int, rate: float = 0.05) -> IntArray:
    """Return the rows whose difference is shown, of ``family`` in all (Benjamini and Hochberg 1995)."""
    order = np.argsort(probabilities, kind="stable")
    ranks = np.arange(1, len(probabilities) + 1)
    passed = np.flatnonzero(probabilities[order] <= rate * ranks / max(1, family))
    return np.sort(order[: passed[-1] + 1]) if len(passed) else np.zeros(0, np.int64)


def explain_problem(base: Sequence[Observations], new: Sequence[Observations]) -> str:
    """Return the reason why functions cannot be compared; "" where they can."""
    for name, side in (("BASE", base), ("NEW", new)):
        for run in side:
            trace = run.analysis.trace
            if not (trace.samples["stack_id"] >= 0).any():
                return f"not measurable in {name}: no host sample has a stack"
            if not run.count:
                return f"not measurable in {name}: there is no call"
    units = list_units(base) | list_units(new)
    if len(units) > 1:
        return f"samples are weighted in {' and '.join(sorted(units))}, which cannot be compared"
    return ""


def list_units(side: Sequence[Observations]) -> set[WeightUnit]:
    """Return the units in which the samples of a side are weighted."""
    return {run.analysis.trace.weight_unit for run in side}
