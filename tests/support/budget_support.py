"""Budgets of calls as plain pieces."""

from __future__ import annotations

from typing import NamedTuple

from tracekit import Analysis
from tracekit.analysis.budget.parts import BUDGET_KINDS, BudgetPart
from tracekit.model.vocabulary import Basis


class Piece(NamedTuple):
    """A piece of a call's time, and the part that it is counted as."""

    start_ns: int
    end_ns: int
    part: BudgetPart
    basis: Basis | None


def pieces_of(analysis: Analysis) -> list[list[Piece]]:
    """Return the pieces of each call."""
    pieces: list[list[Piece]] = [[] for _ in range(len(analysis.window_rows))]
    for block in analysis.budget.iter_pieces():
        columns = (column.tolist() for column in (block.window, block.start_ns, block.end_ns, block.kind))
        for window, start_ns, end_ns, kind in zip(*columns, strict=True):
            pieces[window].append(Piece(start_ns, end_ns, *BUDGET_KINDS[kind]))
    return pieces


def sums_of(analysis: Analysis) -> list[dict[BudgetPart, tuple[Basis | None, int, int]]]:
    """Return the basis, the time and the overlap of each part that a call has time or overlap of."""
    sums = analysis.budget.sums
    return [
        {
            kind.part: (kind.basis, duration, overlap)
            for kind, duration, overlap in zip(sums.kinds, durations, overlaps, strict=True)
            if duration or overlap
        }
        for durations, overlaps in zip(sums.duration_ns.tolist(), sums.overlap_ns.tolist(), strict=True)
    ]
