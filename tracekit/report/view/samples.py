"""The samples of a view: each one, or their sums by bin of time, lane, call-tree node, engine and phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracekit.analysis.result import Analysis
from tracekit.report.view.tree import CallTree, build_tree, prune

MOST_EXACT = 120_000
"""Up to so many samples, each is kept: a page of them weighs a megabyte."""
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_MOST_ROWS = 160_000
_MOST_NODES = 6_000
_MOST_NODES_FULL = 100_000
_MOST_BINS = 4_096
_FEWEST_BINS = 64


@dataclass(frozen=True)
class ViewSamples:
    """Parallel arrays, sorted by time. ``number`` is how many samples a row stands for.

    ``bin_ns`` is 0 where every sample is kept; else a row's time is its bin's start.
    """

    bin_ns: float
    time: Floats
    lane: Ints
    node: Ints
    weight: Floats
    number: Ints
    engine: Ints
    phase: Ints

    @property
    def columns(self) -> tuple[Ints, ...]:
        """What tells rows of one bin apart."""
        return self.lane, self.node, self.engine, self.phase


def view_samples(
    analysis: Analysis, lane_of_thread: Ints, duration_ns: int, full: bool
) -> tuple[ViewSamples, CallTree]:
    """Return the samples and the call tree that they point into.

    ``lane_of_thread`` has one entry per row of ``Trace.threads``, and one more for samples without a thread.
    With ``full`` every sample is kept, however many there are, and far more of the call tree.
    """
    trace, labels = analysis.trace, analysis.labels
    whole = build_tree(trace.stacks)
    stack = trace.samples["stack_id"].to_numpy(np.int64)
    weight = trace.weights.astype(np.float64)
    exact = full or len(stack) <= MOST_EXACT
    per_stack = np.bincount(stack[stack >= 0], weight[stack >= 0], len(trace.stacks)).astype(np.float64)
    tree = prune(whole, per_stack, _MOST_NODES_FULL if full else _MOST_NODES)
    samples = ViewSamples(
        0.0,
        trace.samples["time_ns"].to_numpy(np.float64),
        lane_of_thread[trace.samples["thread_id"].to_numpy(np.int64)],
        np.append(tree.leaf, -1)[stack],
        weight,
        np.ones(len(stack), np.int64),
        labels.engine.astype(np.int64),
        labels.phase.astype(np.int64),
    )
    order = np.argsort(samples.time, kind="stable")
    lane, node, engine, phase = (column[order] for column in samples.columns)
    samples = ViewSamples(0.0, samples.time[order], lane, node, weight[order], samples.number, engine, phase)
    return (samples if exact else _binned(samples, duration_ns)), tree


def _binned(samples: ViewSamples, duration_ns: int) -> ViewSamples:
    """Sum up samples by ever longer bins until there are few enough rows."""
    bins = _MOST_BINS
    while True:
        width = max(duration_ns, 1) / bins
        found = _summed(samples, width)
        if len(found.time) <= _MOST_ROWS or bins <= _FEWEST_BINS:
            return found
        bins //= 2


def _summed(samples: ViewSamples, width: float) -> ViewSamples:
    bin_ = np.floor(samples.time / width).astype(np.int64)
    key = bin_
    for column in samples.columns:
        low = int(column.min(initial=0))
        key = key * (int(column.max(initial=0)) - low + 1) + (column - low)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    weight = np.bincount(inverse, samples.weight, len(first)).astype(np.float64)
    number = np.bincount(inverse, minlength=len(first)).astype(np.int64)
    lane, node, engine, phase = (column[first] for column in samples.columns)
    return ViewSamples(
        width, (bin_[first] * width).astype(np.float64), lane, node, weight, number, engine, phase
    )
