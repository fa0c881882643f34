"""The samples of a view: each one, or their sums by bin of time, lane, call-tree node, engine and phase."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.result import Analysis
from tracekit.report.view.tree import CallTree, build_tree, prune

MOST_EXACT = 120_000
"""Up to so many samples, each is kept: a page of them weighs a megabyte."""
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_MOST_ROWS = 160_000
_MOST_NODES_FULL = 100_000
_DETAILS = (
    *((4_096, 6_000), (2_048, 6_000), (1_024, 6_000), (512, 6_000), (512, 3_000), (512, 1_500)),
    *((256, 1_500), (256, 750), (256, 375), (128, 375), (128, 190), (64, 190)),
)
"""Bins of time and nodes of the call tree, from the finest picture to one of any recording."""
_MOST_CUT_WINDOWS = 2_000
"""Bins are cut at the edges of so many windows, so that what is summed up for a window is its own."""


@dataclass(frozen=True)
class ViewSamples:
    """Parallel arrays, sorted by time. ``number`` is how many samples a row stands for.

    ``bin_ns`` is 0 where every sample is kept, and ``edges`` is empty. Else a row's time is the start of a
    piece of time from one edge to the next: a bin of ``bin_ns``, cut where a window begins or ends.
    """

    bin_ns: float
    edges: Floats
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
    order = np.argsort(trace.samples["time_ns"].to_numpy(), kind="stable")
    stack = trace.samples["stack_id"].to_numpy(np.int64)[order]
    weight = trace.weights.astype(np.float64)[order]
    exact = full or len(stack) <= MOST_EXACT
    per_stack = np.bincount(stack[stack >= 0], weight[stack >= 0], len(trace.stacks)).astype(np.float64)
    kept = _MOST_NODES_FULL if full else _DETAILS[0][1]
    tree = prune(whole, per_stack, kept)
    samples = ViewSamples(
        0.0,
        np.zeros(0),
        trace.samples["time_ns"].to_numpy(np.float64)[order],
        lane_of_thread[trace.samples["thread_id"].to_numpy(np.int64)[order]],
        np.append(tree.leaf, -1)[stack],
        weight,
        np.ones(len(stack), np.int64),
        labels.engine.astype(np.int64)[order],
        labels.phase.astype(np.int64)[order],
    )
    if exact:
        return samples, tree
    for bins, nodes in _DETAILS:
        width = max(duration_ns, 1) / bins
        if nodes != kept:
            kept = nodes
            tree = prune(whole, per_stack, kept)
            samples = replace(samples, node=np.append(tree.leaf, -1)[stack])
        edges = _edges(analysis.windows, bins, width)
        piece = np.searchsorted(edges, samples.time, "right") - 1
        keys = _keys(samples, piece)
        if len(pd.unique(keys)) <= _MOST_ROWS:
            break
    return _summed(replace(samples, bin_ns=width, edges=edges, time=edges[piece]), keys), tree


def _edges(windows: pd.DataFrame, bins: int, width: float) -> Floats:
    edges = np.arange(bins + 1) * width
    if len(windows) <= _MOST_CUT_WINDOWS:
        edges = np.concatenate(
            [edges, windows["start_ns"].to_numpy(float), windows["end_ns"].to_numpy(float)]
        )
    distinct: Floats = np.unique(edges)
    return distinct


def _keys(samples: ViewSamples, piece: Ints) -> Ints:
    """Return a number per sample that is the same for what a row stands for."""
    key = piece.astype(np.int64)
    for column in samples.columns:
        low = int(column.min(initial=0))
        key = key * (int(column.max(initial=0)) - low + 1) + (column - low)
    return key


def _summed(samples: ViewSamples, keys: Ints) -> ViewSamples:
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.bincount(inverse, samples.weight, len(first)).astype(np.float64)
    number = np.bincount(inverse, minlength=len(first)).astype(np.int64)
    lane, node, engine, phase = (column[first] for column in samples.columns)
    return ViewSamples(
        samples.bin_ns, samples.edges, samples.time[first], lane, node, weight, number, engine, phase
    )
