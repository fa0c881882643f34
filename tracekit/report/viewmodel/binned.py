"""Samples summed by piece of time, lane, call-tree node, engine and phase, a block of time after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.call_tree import CallTree
from tracekit.analysis.result import Analysis
from tracekit.model.combinations import blocks, combinations

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ViewSamples:
    """Parallel arrays, sorted by time; a row represents ``number`` samples.

    If every sample has a row, ``bin_ns`` is 0 and ``edges`` is empty. Else a row's time is the start of a
    piece of time between two neighbouring edges: a bin of ``bin_ns``, cut where a window begins or ends.
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
    joined: Ints
    """The node of the joined stack, ``node`` where there is none."""


class SampleBins:
    """All samples of a run, with the few distinct combinations of their lane, stack, engine and phase."""

    def __init__(self, analysis: Analysis, lane_of_thread: Ints) -> None:
        trace, labels = analysis.trace, analysis.labels
        threads, stacks = trace.samples["thread_id"].to_numpy(), trace.samples["stack_id"].to_numpy()
        # A joined stack is of one stack, so it takes the stack's place in the combinations.
        joined = analysis.joined.stack
        rows, self._group = combinations([threads, joined, labels.engine, labels.phase], len(threads))
        self._lane, self._stack = lane_of_thread[threads[rows]], stacks[rows].astype(np.int64)
        self._joined = joined[rows]
        self._engine, self._phase = labels.engine[rows].astype(np.int64), labels.phase[rows].astype(np.int64)
        self._times, self._weights = trace.samples["time_ns"].to_numpy(np.int64), trace.weights
        if not (self._times[1:] >= self._times[:-1]).all():
            order = np.argsort(self._times, kind="stable")
            self._times, self._weights, self._group = (
                self._times[order],
                self._weights[order],
                self._group[order],
            )

    def summed(self, tree: CallTree, bin_ns: float, edges: Floats, most: int | None) -> ViewSamples | None:
        """Return the sums by piece between edges; None as soon as they are more than ``most`` rows."""
        # The appended -1 is the node of samples without a stack, whose stack is -1.
        leaf = np.append(tree.leaf, -1)
        columns = (self._lane, leaf[self._stack], self._engine, self._phase, leaf[self._joined])
        rows, code = combinations(columns, len(self._stack))
        keys, weights, numbers = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0, np.int64)]
        count = 0
        for block, piece in self._pieces(edges):
            key = piece * len(rows) + code[self._group[block]]
            group, distinct = pd.factorize(key)
            order = np.argsort(distinct)
            keys.append(distinct[order])
            weights.append(np.bincount(group, self._weights[block], len(order))[order].astype(np.float64))
            numbers.append(np.bincount(group, minlength=len(order))[order])
            count += len(order)
            if most is not None and count > most:
                return None
        slot, summed = np.divmod(np.concatenate(keys), max(1, len(rows)))
        lane, node, engine, phase, joined = (column[rows][summed] for column in columns)
        return ViewSamples(
            bin_ns,
            edges,
            edges[slot - 1],
            lane,
            node,
            np.concatenate(weights),
            np.concatenate(numbers),
            engine,
            phase,
            joined,
        )

    def _pieces(self, edges: Floats) -> Iterator[tuple[slice, Ints]]:
        """Yield blocks of whole pieces, and the piece of each of their samples, counted from 1.

        Piece 0 is the time before the first edge.
        """
        # Samples are in order of time, so the samples of a piece lie between two cuts.
        count = len(self._times)
        cuts = np.concatenate([[0], np.searchsorted(self._times, edges), [count]])
        ends = np.searchsorted(cuts, [block.stop for block in blocks(count)])
        for first, last in pairwise([0, *np.unique(ends).tolist()]):
            pieces = np.repeat(np.arange(first, last), np.diff(cuts[first : last + 1]))
            yield slice(int(cuts[first]), int(cuts[last])), pieces
