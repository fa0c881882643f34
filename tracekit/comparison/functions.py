"""Sampled weight of functions per window: the functions that differ most between two sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.classification.sample_labels import deciding_frames
from tracekit.comparison.observations import FloatArray, Observations
from tracekit.model.columns import IntArray
from tracekit.model.trace import WeightUnit
from tracekit.model.vocabulary import ENGINES

MOST_FUNCTIONS = 20
"""Only the functions whose weight per window differs most are compared."""
UNNAMED = "(no symbol)"
Function = tuple[str, str, str]
"""Binary, symbol, engine. Functions without a symbol are one per binary: addresses differ from run to run."""


@dataclass(frozen=True)
class FunctionWeights:
    """The sampled weights of a run's functions, one row per (function, window) that has samples."""

    rows: pd.DataFrame
    windows: int

    def per_window(self, function: Function) -> FloatArray:
        """Return a function's weight in each window; without a sample it is 0."""
        matches = self.rows[self.rows["function"].isin([function]).to_numpy(bool)]
        return np.bincount(
            matches["window"].to_numpy(np.int64),
            matches["weight"].to_numpy(np.float64),
            minlength=self.windows,
        ).astype(np.float64)


def weights_of(run: Observations) -> FunctionWeights:
    """Return the weights of a run's functions: the frame that decided a sample's engine, else its leaf."""
    trace, labels = run.analysis.trace, run.analysis.labels
    sample, window = run.analysis.members.sample, run.analysis.members.window
    stack_ids = trace.samples["stack_id"].to_numpy()[sample]
    has_stack = stack_ids >= 0
    sample, window, stack_ids = sample[has_stack], window[has_stack], stack_ids[has_stack]
    deciding = deciding_frames(labels.classification, trace.stacks, stack_ids)
    frame = pd.DataFrame(
        {
            "frame": np.where(deciding >= 0, deciding, _leaves(run, stack_ids)),
            "engine": labels.engine[sample].astype(np.int64),
            "window": window,
            "weight": trace.weights[sample],
        }
    )
    keys = ["frame", "engine", "window"]
    frame = frame[frame["frame"] >= 0].groupby(keys)["weight"].sum().reset_index()
    names = {}
    for frame_id, engine in frame[["frame", "engine"]].drop_duplicates().itertuples(index=False):
        symbol = str(trace.stacks.symbols[frame_id])
        symbol = symbol if has_symbol(symbol) else UNNAMED
        names[frame_id, engine] = (str(trace.stacks.binary_names[frame_id]), symbol, str(ENGINES[engine]))
    pairs = zip(frame["frame"].tolist(), frame["engine"].tolist(), strict=True)
    frame["function"] = pd.Series([names[pair] for pair in pairs], index=frame.index, dtype=object)
    return FunctionWeights(frame[["function", "window", "weight"]], run.count)


def _leaves(run: Observations, stack_ids: np.ndarray[tuple[int], np.dtype[np.int32]]) -> IntArray:
    """Return the leaf's frame of each stack; -1 for an empty stack."""
    stacks = run.analysis.trace.stacks
    starts, ends = stacks.offsets[:-1][stack_ids], stacks.offsets[1:][stack_ids]
    leaves: IntArray = np.append(stacks.frame_ids, np.int32(-1)).astype(np.int64)[
        np.where(ends > starts, starts, len(stacks.frame_ids))
    ]
    return leaves


def largest_changes(base: Sequence[FunctionWeights], new: Sequence[FunctionWeights]) -> list[Function]:
    """Return the functions whose weight per window differs most, at most ``MOST_FUNCTIONS``."""
    of_base, of_new = _means(base), _means(new)
    changes = {
        function: abs(of_new.get(function, 0.0) - of_base.get(function, 0.0))
        for function in of_base.keys() | of_new.keys()
    }
    changed = [function for function, change in changes.items() if change > 0]
    return sorted(changed, key=lambda function: (-changes[function], function))[:MOST_FUNCTIONS]


def _means(runs: Iterable[FunctionWeights]) -> dict[Function, float]:
    runs = list(runs)
    windows = max(1, sum(run.windows for run in runs))
    rows = pd.concat([run.rows for run in runs], ignore_index=True)
    sums = rows.groupby("function", sort=False)["weight"].sum()
    return {function: float(weight) / windows for function, weight in sums.items()}  # type: ignore[misc]


def problem(base: Sequence[Observations], new: Sequence[Observations]) -> str:
    """Return the reason why functions cannot be compared; "" where they can."""
    for name, side in (("BASE", base), ("NEW", new)):
        for run in side:
            trace = run.analysis.trace
            if not (trace.samples["stack_id"] >= 0).any():
                return f"not measurable in {name}: no host sample has a stack"
            if not run.count:
                return f"not measurable in {name}: there is no window"
    units = units_of(base) | units_of(new)
    if len(units) > 1:
        return f"samples are weighted in {' and '.join(sorted(units))}, which cannot be compared"
    return ""


def units_of(side: Sequence[Observations]) -> set[WeightUnit]:
    """Return the units in which the samples of a side are weighted."""
    return {run.analysis.trace.weight_unit for run in side}
