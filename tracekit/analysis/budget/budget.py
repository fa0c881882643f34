"""``Budget``: the length of each call divided into parts that sum to it exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracekit.analysis.budget.axis import CallAxis
from tracekit.analysis.budget.layers import Layers
from tracekit.analysis.budget.parts import BUDGET_KINDS, KIND_CODE, BudgetKind, BudgetPart
from tracekit.analysis.budget.run_layers import Evidence, RunLayers
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.engines.ranges import iter_blocks
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import SERVING, Basis

_LONGEST_LENGTH_BITS = 40
"""Of each call's length, only what lies above so many bits counts for the size of a block: the calls of a
block, laid out end to end, then end before 2**62."""


@frozen(eq=False)
class BudgetPieces:
    """Calls tiled by pieces, in order of call and time: parallel arrays.

    The pieces of a call begin at its start, end at its end, and leave no gap. ``kind`` is a position in
    ``BUDGET_KINDS``.
    """

    window: IntArray
    start_ns: IntArray
    end_ns: IntArray
    kind: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.window)


@frozen(eq=False)
class BudgetSums:
    """The time of each part in each call: a row per call, a column for each of ``kinds``.

    ``kinds`` are those that any call has time or overlap of, in order of precedence. A row of ``duration_ns``
    sums to the call's length; ``overlap_ns`` is for how long the part happened while another one had the
    moment.
    """

    kinds: tuple[BudgetKind, ...]
    duration_ns: IntArray
    overlap_ns: IntArray

    @cached_property
    def parts(self) -> tuple[BudgetPart, ...]:
        """The parts that any call has time of, each once."""
        columns = np.flatnonzero(self.duration_ns.any(axis=0)).tolist()
        return tuple(dict.fromkeys(self.kinds[column].part for column in columns))

    @cached_property
    def basis_ranks(self) -> IntArray:
        """The rank of the worst basis of each of ``parts``: 0 is the best, measured time."""
        bases = [*Basis, None]
        ranks = [
            max(bases.index(kind.basis) for kind in self.kinds if kind.part is part) for part in self.parts
        ]
        return np.array(ranks, np.int64)

    def sum_part(self, part: BudgetPart) -> IntArray:
        """Return the time of a part in each call, by whatever basis."""
        columns = [column for column, kind in enumerate(self.kinds) if kind.part is part]
        total: IntArray = self.duration_ns[:, columns].sum(axis=1)
        return total

    @cached_property
    def by_part(self) -> IntArray:
        """The time of each of ``parts``, by whatever basis: a row per call."""
        columns = [self.sum_part(part) for part in self.parts]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.duration_ns), 0), np.int64)


@frozen(eq=False)
class _Block:
    """The budgets of neighbouring calls, from row ``first``: sums per call and kind, and the pieces.

    ``times`` are those of each of ``codes`` on the axis of the calls: few outputs need them call by call.
    """

    first: int
    axis: CallAxis
    duration_ns: IntArray
    overlap_ns: IntArray
    codes: Sequence[int]
    times: Sequence[IntervalSet]

    @cached_property
    def pieces(self) -> BudgetPieces:
        """The pieces of all kinds."""
        nothing = (np.zeros(0, np.int64),) * 3
        cuts = [self.axis.cut(times) for times in self.times]
        window, starts, ends = (np.concatenate(column) for column in zip(nothing, *cuts, strict=True))
        kind = np.repeat(np.array(self.codes, np.int8), [len(cut[0]) for cut in cuts])
        order = np.lexsort((starts, window))
        return BudgetPieces(window[order] + self.first, starts[order], ends[order], kind[order])


class Budget:
    """The budgets of a run's calls; computed where they are asked for, some neighbouring calls at a time.

    Calls that overlap have the same work of others each, so there may be as many pieces as calls times
    intervals: sums are kept for all calls, pieces for one block of them.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._run = RunLayers(evidence)
        self._latest: tuple[tuple[int, int], _Block] | None = None

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of calls (first, after) whose pieces fit into memory together."""
        evidence, run = self.evidence, self._run
        sizes = 1 + evidence.members.counts + ((run.ends - run.starts) >> _LONGEST_LENGTH_BITS)
        for engine in SERVING:
            sizes = sizes + evidence.measured.find_work(engine).count(run.starts, run.ends)
        for pid in np.unique(run.pids).tolist():
            rows = np.flatnonzero(run.pids == pid)
            sizes[rows] += run.find_computing(pid, is_clear=False).count(run.starts[rows], run.ends[rows])
        return list(iter_blocks(sizes)) or [(0, 0)]

    @cached_property
    def sums(self) -> BudgetSums:
        """The sums of all calls."""
        blocks = [self._build(*block) for block in self.blocks]
        amounts = [sums for block in blocks for sums in (block.duration_ns, block.overlap_ns)]
        codes = np.flatnonzero(np.any([sums.any(axis=0) for sums in amounts], axis=0))
        return BudgetSums(
            tuple(BUDGET_KINDS[code] for code in codes),
            np.concatenate([block.duration_ns[:, codes] for block in blocks]),
            np.concatenate([block.overlap_ns[:, codes] for block in blocks]),
        )

    def iter_pieces(self) -> Iterator[BudgetPieces]:
        """Yield the pieces of all calls, block by block."""
        for block in self.blocks:
            yield self.list_block(*block)

    def list_block(self, first: int, stop: int) -> BudgetPieces:
        """Return the pieces of the calls of one of ``blocks``."""
        return self._build(first, stop).pieces

    def list_pieces(self, row: int) -> BudgetPieces:
        """Return the pieces of one call; quickest for calls in ascending order."""
        block = next((start, stop) for start, stop in self.blocks if start <= row < stop)
        pieces = self._build(*block).pieces
        edges = slice(*np.searchsorted(pieces.window, [row, row + 1]))
        return BudgetPieces(
            pieces.window[edges], pieces.start_ns[edges], pieces.end_ns[edges], pieces.kind[edges]
        )

    def _build(self, start: int, stop: int) -> _Block:
        if self._latest is None or self._latest[0] != (start, stop):
            self._latest = (start, stop), _build_block(Layers(self._run, start, stop), start)
        return self._latest[1]


def _build_block(layers: Layers, first: int) -> _Block:
    """Give each moment of some calls to the first layer that has it."""
    axis = layers.axis
    remaining = axis.whole
    duration, overlap = np.zeros((2, len(axis), len(BUDGET_KINDS)), np.int64)
    codes, times_of_kinds = [], []

    def take(kind: BudgetKind, times: IntervalSet, free: IntervalSet) -> IntervalSet:
        """Give the part what is free of its time, and return what remains then."""
        if not len(times):
            return remaining
        taken, code = times & free, KIND_CODE[kind]
        duration[:, code] = axis.measure(taken)
        overlap[:, code] = axis.measure(times) - duration[:, code]
        codes.append(code)
        times_of_kinds.append(taken)
        return remaining - taken

    for kind, times in layers.iter_layers():
        remaining = take(kind, times, remaining)
    # The shorter a pause, the less its lack of samples means: the rest is unknown.
    gaps = layers.select_sampled(remaining)
    other_threads = BudgetKind(BudgetPart.OTHER_THREADS, Basis.SAMPLED)
    remaining = take(other_threads, layers.lay_other_threads(), gaps)
    idle = layers.select_sampled(layers.lay_idle() & gaps & remaining)
    remaining = take(BudgetKind(BudgetPart.IDLE, Basis.INFERRED), idle, remaining)
    take(BudgetKind(BudgetPart.UNKNOWN, None), remaining, remaining)
    return _Block(first, axis, duration, overlap, codes, times_of_kinds)
