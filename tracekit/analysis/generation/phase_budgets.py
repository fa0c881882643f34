"""The budgets of phases: the parts of any call's, of all work of their process in their time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from tracekit.analysis.budget.axis import CallAxis
from tracekit.analysis.budget.budget import Budget, BudgetPieces
from tracekit.analysis.budget.parts import BUDGET_KINDS, BUDGET_PARTS, KIND_CODE, BudgetPart
from tracekit.analysis.budget.run_layers import Evidence
from tracekit.analysis.engines.assignment import assign_samples
from tracekit.analysis.engines.codes import group_codes
from tracekit.analysis.engines.interval_sets import merge_by_group
from tracekit.analysis.generation.marked_requests import find_latest
from tracekit.analysis.generation.phases import Phases
from tracekit.analysis.run import AnalyzedRun
from tracekit.analysis.windows.window import build_range_frame
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING


@frozen(eq=False)
class PhaseBudgets:
    """The time of each part in each phase: a row per phase, a column for each of ``BUDGET_KINDS``."""

    duration_ns: IntArray

    @cached_property
    def by_part(self) -> Mapping[BudgetPart, IntArray]:
        """The time of each part in each phase, by whatever basis."""
        totals = {part: np.zeros(len(self.duration_ns), np.int64) for part in BUDGET_PARTS}
        for column, kind in enumerate(BUDGET_KINDS):
            totals[kind.part] += self.duration_ns[:, column]
        return totals


def sum_budgets(analysis: AnalyzedRun, phases: Phases, is_shared: BoolArray) -> PhaseBudgets:
    """Return the parts of each phase.

    ``is_shared`` marks the phases that may share time with others of their process. What they cover together
    is divided once, so that the work does not grow with the square of the requests at once.
    """
    duration_ns = np.zeros((len(phases.pid), len(BUDGET_KINDS)), np.int64)
    filled = np.flatnonzero(phases.length_ns > 0)
    # A range for each phase of its own, and for what the others of a process cover together.
    owner = group_codes(phases.pid[filled], np.where(is_shared[filled], -1, filled))
    owners, starts, ends = merge_by_group(owner, phases.start_ns[filled], phases.end_ns[filled])
    order = np.argsort(starts, kind="stable")
    owners, starts, ends = owners[order], starts[order], ends[order]
    pid_of_owner = np.zeros(len(filled), np.int64)
    pid_of_owner[owner] = phases.pid[filled]
    budget = _build_budget(analysis, starts, ends, pid_of_owner[owners])
    range_of_phase = find_latest(owners, starts, owner, phases.start_ns[filled])
    is_range = ~is_shared[filled]
    columns = np.array([KIND_CODE[kind] for kind in budget.sums.kinds], np.int64)
    duration_ns[np.ix_(filled[is_range], columns)] = budget.sums.duration_ns[range_of_phase[is_range]]
    for first, stop in budget.blocks:
        inside = np.flatnonzero(~is_range & (range_of_phase >= first) & (range_of_phase < stop))
        if not len(inside):
            continue
        rows, axis = filled[inside], CallAxis(starts[first:stop], ends[first:stop])
        shift = axis.begins[range_of_phase[inside] - first] - starts[range_of_phase[inside]]
        places = phases.start_ns[rows] + shift, phases.end_ns[rows] + shift
        pieces = budget.list_block(first, stop)
        duration_ns[rows] = _measure_kinds(pieces, first, axis, places)
    return PhaseBudgets(duration_ns)


def _measure_kinds(
    pieces: BudgetPieces, first: int, axis: CallAxis, places: tuple[IntArray, IntArray]
) -> IntArray:
    """Return the time of each kind of pieces in each of some stretches of the axis of their ranges."""
    durations = np.zeros((len(places[0]), len(BUDGET_KINDS)), np.int64)
    for code in np.unique(pieces.kind).tolist():
        of_kind = np.flatnonzero(pieces.kind == code)
        laid = axis.lay(pieces.window[of_kind] - first, pieces.start_ns[of_kind], pieces.end_ns[of_kind])
        durations[:, code] = laid.within(*places)
    return durations


def _build_budget(analysis: AnalyzedRun, starts: IntArray, ends: IntArray, pids: IntArray) -> Budget:
    """Return the budgets of ranges, each of all work of its process."""
    trace, labels, known = analysis.trace, analysis.labels, analysis.budget.evidence
    ranges = build_range_frame(starts, ends, pids)
    return Budget(
        Evidence(
            trace,
            labels,
            assign_samples(trace, labels, ranges),
            ranges,
            analysis.measured.for_ranges(ranges),
            known.waiting,
            known.sampled,
            analysis.selection,
            dict.fromkeys(SERVING, np.zeros(len(ranges), bool)),
        )
    )
