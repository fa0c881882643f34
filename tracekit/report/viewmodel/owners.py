"""The owners of the intervals that a view shows: those by which the analysis counts (``Assignment``)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import group_rows
from tracekit.analysis.engines.ranges import list_positions
from tracekit.analysis.ownership.owners import OWNER_CODE, Assignment, Owner, Reason
from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Basis

NONE = -1


@frozen(eq=False)
class IntervalOwners:
    """The owner of each row of a trace's intervals, as codes in ``OWNERS`` and ``REASONS``; -1 without work.

    ``pair_row`` and ``pair_call`` are the intervals and the calls that own or may own them, in order of the
    row. ``is_sure`` marks the pairs in which the system reported the model of both, and the call's edges.
    """

    owner: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    pair_row: IntArray
    pair_call: IntArray
    is_sure: BoolArray
    is_other: BoolArray
    """Marks the work of other processes, and what may be theirs: no number of the app's contains it."""

    def pairs_of(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the pairs of some rows: the positions of the rows in ``rows``, and the pairs' own."""
        position = np.full(len(self.owner), NONE, np.int64)
        position[rows] = np.arange(len(rows))
        of_row = position[self.pair_row]
        pairs = np.flatnonzero(of_row >= 0)
        pairs = pairs[np.argsort(of_row[pairs], kind="stable")]
        return of_row[pairs], pairs


def find_interval_owners(analysis: Analysis) -> IntervalOwners:
    """Return the owners of all intervals; a row inside of another one of its table has the outer row's."""
    measured, frame = analysis.measured, analysis.trace.intervals
    assignment, rows = measured.assignment, measured.rows
    assigned = np.full(len(frame), NONE, np.int64)
    assigned[rows] = np.arange(len(rows))
    assigned = _with_nested(frame, assigned)
    # -1 takes the last entry: the rows that no assignment is about.
    owner, reason = (
        np.append(codes, np.int8(NONE))[assigned] for codes in (assignment.owner, assignment.reason)
    )
    is_other = np.append(measured.is_other, False)[assigned] | ((owner < 0) & _is_elsewhere(analysis))
    row, call = _list_pairs(assignment)
    # An outer row's calls are those of the rows inside of it as well.
    has_owner = np.flatnonzero(assigned >= 0)
    starts, stops = (np.searchsorted(row, assigned[has_owner], side) for side in ("left", "right"))
    pair = list_positions(starts, stops)
    pair_row = np.repeat(has_owner, stops - starts)
    return IntervalOwners(
        owner, reason, pair_row, call[pair], _mark_sure(analysis, row, call)[pair], is_other
    )


def _list_pairs(assignment: Assignment) -> tuple[IntArray, IntArray]:
    """Return the calls that own or may own intervals, as pairs in order of the interval."""
    row = np.concatenate([assignment.owned_row, assignment.contested_row])
    call = np.concatenate([assignment.owned_call, assignment.contested_call])
    order = np.argsort(row, kind="stable")
    return row[order], call[order]


def _with_nested(frame: pd.DataFrame, assigned: IntArray) -> IntArray:
    """Return the number of the assigned row that contains each row without a number, -1 for none."""
    starts, ends = (frame[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    missing = assigned < 0
    result = assigned.copy()
    if not missing.any():
        return result
    for _, members in group_rows(frame, "source", "pid"):
        nested, outer = members[missing[members]], members[~missing[members]]
        if not len(nested) or not len(outer):
            continue
        outer = outer[np.argsort(starts[outer], kind="stable")]
        outer_index = np.searchsorted(starts[outer], starts[nested], "right") - 1
        around = outer[np.maximum(outer_index, 0)]
        lies_within = (outer_index >= 0) & (ends[around] >= ends[nested])
        result[nested[lies_within]] = assigned[around[lies_within]]
    return result


def _is_elsewhere(analysis: Analysis) -> BoolArray:
    """Mark the rows whose process is none of the calls' and not the target."""
    pids = {int(pid) for pid in analysis.window_rows["pid"].unique() if pid >= 0}
    if analysis.trace.info.pid is not None:
        pids.add(analysis.trace.info.pid)
    pid = analysis.trace.intervals["pid"].to_numpy(np.int64)
    mask: BoolArray = (pid >= 0) & ~np.isin(pid, sorted(pids)) & bool(pids)
    return mask


def _mark_sure(analysis: Analysis, row: IntArray, call: IntArray) -> BoolArray:
    """Mark the pairs of an interval that names the call's model and lies in this call, as tables report."""
    windows, assignment = analysis.window_rows, analysis.measured.assignment
    model = analysis.measured.owner.model[row]
    is_contained = assignment.has_reason(Reason.CONTAINED)[row]
    is_owned = (assignment.owner == OWNER_CODE[Owner.CALL])[row]
    is_reported = (windows["basis"] == Basis.MEASURED).to_numpy(bool)[call]
    names_model = (model != "") & (model == windows["model"].to_numpy(object)[call])
    mask: BoolArray = is_owned & is_contained & is_reported & names_model.astype(bool)
    return mask
