"""Membership: the samples of each window."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tracekit.analysis.engines.codes import find_firsts, group_keys, sum_before, sum_by_code
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.engines.ranges import find_highest, list_positions, sum_per_range
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray

UNASSIGNED = -1
"""The ``window_id`` of what lies in no window."""
_MAX_WINDOWS_PER_SAMPLE = 2
"""While samples are in so few windows each, they are listed window by window; beyond, counted per code."""


@frozen
class Tally:
    """One row per window and code that has samples, in this order: parallel arrays.

    ``count`` are the samples, ``first`` is the earliest of them, ``sums`` the sums of their amounts.
    """

    window: IntArray
    code: IntArray
    count: IntArray
    first: IntArray
    sums: tuple[IntArray, ...]


@frozen
class Membership:
    """The samples that count in each window, as a range of a list: memory does not grow with overlap.

    ``samples`` are lists of samples, one after another, each in order of time; ``list_starts`` is where each
    begins. A window counts the samples from position ``start`` up to ``stop``. ``ambiguous`` are the ML
    samples that no single one of several overlapping calls can claim, in order of time.
    """

    samples: IntArray
    list_starts: IntArray
    start: IntArray
    stop: IntArray
    ambiguous: IntArray

    @property
    def counts(self) -> IntArray:
        """The number of samples of each window."""
        return self.stop - self.start

    def pairs(self, windows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the samples of these windows one after another, and the window of each."""
        positions = list_positions(self.start[windows], self.stop[windows])
        return self.samples[positions], np.repeat(windows, self.counts[windows])

    def select(self, samples: BoolArray, windows: BoolArray) -> Membership:
        """Return the membership of the marked windows in the marked samples alone, both numbered anew."""
        is_kept = samples[self.samples]
        position = sum_before(is_kept)
        new_number = np.cumsum(samples) - 1
        return Membership(
            new_number[self.samples[is_kept]],
            position[self.list_starts],
            position[self.start[windows]],
            position[self.stop[windows]],
            new_number[self.ambiguous[samples[self.ambiguous]]],
        )

    def count(self, mask: BoolArray) -> IntArray:
        """Return how many of the marked samples each window has."""
        return sum_per_range(mask[self.samples], self.start, self.stop)

    def merge_positions(self, windows: IntArray) -> IntervalSet:
        """Return the positions that any of these windows counts."""
        return IntervalSet.of(self.start[windows], self.stop[windows])

    def mark(self, windows: IntArray, count: int) -> BoolArray:
        """Mark those of ``count`` samples that any of these windows counts."""
        mask = np.zeros(count, bool)
        spans = self.merge_positions(windows)
        mask[self.samples[list_positions(spans.starts, spans.ends)]] = True
        return mask

    def find_outside(self, count: int) -> IntArray:
        """Return those of ``count`` samples that no window counts."""
        return np.flatnonzero(~self.mark(np.arange(len(self.start)), count))

    def times_counted(self, count: int) -> IntArray:
        """Return in how many windows each of ``count`` samples counts."""
        size = len(self.samples) + 1
        edges = np.bincount(self.start, minlength=size) - np.bincount(self.stop, minlength=size)
        return sum_by_code(self.samples, np.cumsum(edges)[:-1], count)

    def find_highest(self, rank: IntArray, count: int) -> IntArray:
        """Return the highest rank of the windows that count each of ``count`` samples, -1 where none does."""
        result = np.full(count, -1, np.int64)
        np.maximum.at(result, self.samples, find_highest(self.start, self.stop, rank, len(self.samples)))
        return result

    def tally(self, code: IntArray, *amounts: IntArray) -> Tally:
        """Return the samples of each window by their code, with sums of their amounts; no code is -1."""
        if int(self.counts.sum()) <= _MAX_WINDOWS_PER_SAMPLE * len(self.samples):
            return self._count_by_sample(code, amounts)
        parts = list(self._iter_tallies(code, amounts))
        if not parts:
            return self._count_by_sample(np.full(len(code), -1, np.int64), amounts)
        window, codes, count, first_sample, *totals = (
            np.concatenate(part) for part in zip(*parts, strict=True)
        )
        order = np.argsort(window, kind="stable")
        return Tally(
            window[order],
            codes[order],
            count[order],
            first_sample[order],
            tuple(total[order] for total in totals),
        )

    def _count_by_sample(self, code: IntArray, amounts: tuple[IntArray, ...]) -> Tally:
        sample, window = self.pairs(np.arange(len(self.start)))
        counts = np.flatnonzero(code[sample] >= 0)
        sample, window = sample[counts], window[counts]
        width = int(code.max(initial=0)) + 1
        keys, row = group_keys(window * width + code[sample])
        window, codes = np.divmod(keys, width)
        totals = tuple(sum_by_code(row, amount[sample], len(keys)) for amount in amounts)
        count = np.bincount(row, minlength=len(keys))
        return Tally(window, codes, count, sample[find_firsts(row, len(keys))], totals)

    def _iter_tallies(self, code: IntArray, amounts: tuple[IntArray, ...]) -> Iterator[tuple[IntArray, ...]]:
        """Yield the columns of each code's tally: differences of running sums at the edges of the windows."""
        codes = code[self.samples]
        order = np.argsort(codes, kind="stable")
        changes = np.flatnonzero(np.diff(codes[order])) + 1
        for begin, end in pairwise([0, *changes.tolist(), len(order)]):
            if codes[order[begin]] < 0:
                continue
            positions = order[begin:end]
            start, stop = np.searchsorted(positions, self.start), np.searchsorted(positions, self.stop)
            window = np.flatnonzero(stop > start)
            start, stop, sample = start[window], stop[window], self.samples[positions]
            totals = (sum_per_range(amount[sample], start, stop) for amount in amounts)
            own_code = np.full(len(window), codes[positions[0]], np.int64)
            yield window, own_code, stop - start, sample[start], *totals


_NOTHING = np.zeros(0, np.int64)
NO_WINDOWS = Membership(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING)
