"""Samples summed by piece of time, lane and stack, a block of time after another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.combinations import find_combinations, iter_row_blocks

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@frozen
class SampleRows:
    """Parallel arrays, sorted by lane, then by time; a row represents ``number`` samples of one stack.

    ``stack`` is a row of ``LabelledStacks``. If every sample has a row, ``bin_ns`` is 0 and ``edges`` is
    empty. Else a row's time is the start of a piece of time between two neighbouring edges: a bin of
    ``bin_ns``, cut where a window begins or ends.
    """

    bin_ns: float
    edges: Floats
    lane: Ints
    time: Ints | Floats
    stack: Ints
    weight: Ints | Floats
    number: Ints


class SampleBins:
    """All samples of a run in order of time, with the few distinct combinations of their lane and kind."""

    def __init__(
        self, analysis: Analysis, lane_of_thread: Ints, kind_of_samples: npt.NDArray[np.int32]
    ) -> None:
        trace = analysis.trace
        threads = trace.samples["thread_id"].to_numpy()
        rows, self._group = find_combinations([threads, kind_of_samples], len(threads))
        self._lane = lane_of_thread[threads[rows].astype(np.int64)]
        self._kind = kind_of_samples[rows].astype(np.int64)
        self._times, self._weights = trace.samples["time_ns"].to_numpy(np.int64), trace.weights
        if not (self._times[1:] >= self._times[:-1]).all():
            order = np.argsort(self._times, kind="stable")
            self._times, self._weights, self._group = (
                self._times[order],
                self._weights[order],
                self._group[order],
            )

    def summed(
        self, stack_of_kind: Ints, bin_ns: float, edges: Floats, max_rows: int | None
    ) -> SampleRows | None:
        """Return the sums by piece between edges; None as soon as they are more than ``max_rows`` rows."""
        stack = stack_of_kind[self._kind]
        rows, code = find_combinations((self._lane, stack), len(stack))
        keys, weights, numbers = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0, np.int64)]
        count = 0
        for block, piece in self._iter_pieces(edges):
            key = piece * len(rows) + code[self._group[block]]
            group, distinct = pd.factorize(key)
            keys.append(distinct)
            weights.append(np.bincount(group, self._weights[block], len(distinct)).astype(np.float64))
            numbers.append(np.bincount(group, minlength=len(distinct)))
            count += len(distinct)
            if max_rows is not None and count > max_rows:
                return None
        slot, summed = np.divmod(np.concatenate(keys), max(1, len(rows)))
        lane, stack = self._lane[rows][summed], stack[rows][summed]
        order = np.lexsort((stack, slot, lane))
        return SampleRows(
            bin_ns,
            edges,
            lane[order],
            edges[slot[order] - 1],
            stack[order],
            np.concatenate(weights)[order],
            np.concatenate(numbers)[order],
        )

    def _iter_pieces(self, edges: Floats) -> Iterator[tuple[slice, Ints]]:
        """Yield blocks of whole pieces, and the piece of each of their samples, counted from 1.

        Piece 0 is the time before the first edge.
        """
        # Samples are in order of time, so the samples of a piece lie between two cuts.
        count = len(self._times)
        cuts = np.concatenate([[0], np.searchsorted(self._times, edges), [count]])
        ends = np.searchsorted(cuts, [block.stop for block in iter_row_blocks(count)])
        for start, stop in pairwise([0, *np.unique(ends).tolist()]):
            pieces = np.repeat(np.arange(start, stop), np.diff(cuts[start : stop + 1]))
            yield slice(int(cuts[start]), int(cuts[stop])), pieces
