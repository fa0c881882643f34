"""Busy time: when each engine was in each phase, as tables measured it, and for each call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.engines.measured_rows import Key, MeasuredRows, OwnedIntervals, get_edges
from tracekit.analysis.engines.ownership import NAMELESS, Ownership
from tracekit.analysis.ownership.assign import assign
from tracekit.analysis.ownership.call_spans import NO_SPANS, CallSpans, Spans, merge_spans
from tracekit.analysis.ownership.calls import Calls
from tracekit.analysis.ownership.owners import Assignment
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, GPU_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase


class Measured(MeasuredRows):
    """The intervals of a trace as disjoint intervals by engine, phase, process and model, and of each call.

    ``pids`` are the processes that the analysis is about; none is any. Windows may be of further processes.
    ``ane_is_target`` is False where the target's stacks show that the Neural Engine worked for another
    process, see ``ownership.ane_may_be_target``. ``logged`` counts the requests of each window that the log
    shows as served. ``assignment`` has the owner of each interval; a call's work is what it owns, and that
    of a range which the user gave is all work of its process in its time.
    """

    def __init__(
        self,
        trace: Trace,
        pids: frozenset[int],
        windows: pd.DataFrame,
        submitters: Submitters,
        logged: IntArray,
        ane_is_target: bool = True,
    ) -> None:
        rows = _list_outermost(trace.intervals)
        frame = trace.intervals if len(rows) == len(trace.intervals) else trace.intervals.iloc[rows]
        window_pids = {int(pid) for pid in windows["pid"].unique() if pid >= 0}
        all_pids = pids | window_pids if pids else pids
        labels = Ownership(frame, ane_is_target, all_pids)
        calls = Calls.of(windows, labels.models, logged)
        assignment = assign(frame, labels, calls, pids, all_pids, submitters)
        model_code = _find_models(labels, assignment, calls)
        self._intervals = OwnedIntervals(frame, rows, labels, assignment, model_code, pids, all_pids)
        super().__init__(self._intervals, windows)
        self.is_call[calls.window] = True
        self._of_calls: dict[Key, CallSpans] = {}

    def for_ranges(self, ranges: pd.DataFrame) -> MeasuredRows:
        """Return the same intervals for ranges, each of the process that its owner shows."""
        frame = self._frame.assign(pid=self.processes)
        assignment = self.assignment.without_calls()
        return MeasuredRows(replace(self._intervals, frame=frame, assignment=assignment), ranges)

    @cached_property
    def processes(self) -> IntArray:
        """The process that each of ``rows`` names, else that of the call which owns it; -1 for none."""
        named = super().processes
        rows, calls = self.assignment.owned_row, self.assignment.owned_call
        is_nameless = named[rows] < 0
        processes = named.copy()
        processes[rows[is_nameless]] = self._windows["pid"].to_numpy(np.int64)[calls[is_nameless]]
        return processes

    def of_windows(self, key: Key, windows: IntArray) -> Iterator[tuple[IntArray, Spans]]:
        """Yield some windows, and when that engine was in that phase for them.

        A call has its own work; a range that the user gave has all work of its process and model.
        """
        of_calls = windows[self.is_call[windows]]
        if len(of_calls):
            yield of_calls, self.of_calls(key).of_windows(of_calls)
        yield from super().of_windows(key, windows)

    def of_calls(self, key: Key) -> CallSpans:
        """Return when that engine was in that phase for each call, cut to the call."""
        if key not in self._of_calls:
            self._of_calls[key] = self._cut(self._owned.get(key))
        return self._of_calls[key]

    def _cut(self, pairs: tuple[IntArray, IntArray] | None) -> CallSpans:
        """Return the time of some rows, each cut to its window."""
        if pairs is None:
            return NO_SPANS
        rows, windows = pairs
        starts, ends = (
            limit(self.edges[side][rows], self._window_edges[side][windows])
            for side, limit in enumerate((np.maximum, np.minimum))
        )
        return CallSpans.of(windows, starts, ends)

    @cached_property
    def _owned(self) -> dict[Key, tuple[IntArray, IntArray]]:
        """The rows that calls own, with their windows, by engine and phase."""
        return self._group_by_key(self.assignment.owned_row, self.assignment.owned_call)

    @cached_property
    def _contested(self) -> dict[Key, tuple[IntArray, IntArray]]:
        """The contested rows, with the windows that may own them, by engine and phase."""
        return self._group_by_key(self.assignment.contested_row, self.assignment.contested_call)

    def _group_by_key(self, rows: IntArray, windows: IntArray) -> dict[Key, tuple[IntArray, IntArray]]:
        return {key: (rows[members], windows[members]) for key, members in self.group_by_key(rows)}

    @cached_property
    def _window_edges(self) -> tuple[IntArray, IntArray]:
        return get_edges(self._windows)

    def contested_ns(self, key: Key) -> IntArray:
        """Return for how long that engine was in that phase in each window for an owner that is not known."""
        count = len(self._windows)
        rows, windows, crowded = self.list_contested(key)
        pieces = self._cut((rows, windows))
        if not len(pieces) and not len(crowded):
            return np.zeros(count, np.int64)
        owned = self.of_calls(key)
        contested = merge_spans([pieces, owned]).sum_per_window(count) - owned.sum_per_window(count)
        starts, ends = self._window_edges
        several = IntervalSet.of(*(edges[crowded] for edges in self.edges))
        contested += np.where(self.is_call, several.within(starts, ends), 0)
        capped_ns: IntArray = np.minimum(contested, ends - starts - owned.sum_per_window(count))
        return capped_ns

    def list_contested(self, key: Key) -> tuple[IntArray, IntArray, IntArray]:
        """Return the rows that may be of calls, the call of each, and those of more than are listed."""
        nothing, _, crowded = super().list_contested(key)
        return *self._contested.get(key, (nothing, nothing)), crowded

    @cached_property
    def submissions(self) -> pd.DataFrame:
        """The Neural Engine's rows of execution that calls own, each with ``window`` and once."""
        rows, windows = self.assignment.owned_row, self.assignment.owned_call
        is_submission = self._is_submission[rows]
        frame = self._frame.iloc[rows[is_submission]].assign(window=windows[is_submission])
        frame = frame.assign(label=frame["label"].astype("str"))
        return frame.drop_duplicates(["window", "start_ns", "end_ns", "label"])

    @cached_property
    def contested_submissions(self) -> BoolArray:
        """Marks the windows with a row of the Neural Engine's execution whose owner is not known."""
        rows, windows = self.assignment.contested_row, self.assignment.contested_call
        has_contested = np.bincount(windows[self._is_submission[rows]], minlength=len(self._windows)) > 0
        crowded = IntervalSet.of(
            *(edges[self._is_submission & self.assignment.crowded] for edges in self.edges)
        )
        mask: BoolArray = has_contested | (self.is_call & crowded.touches(*self._window_edges))
        return mask

    @cached_property
    def _is_submission(self) -> BoolArray:
        frame = self._frame
        is_work = is_among(frame["phase"], Phase.EXECUTE) & is_among(frame["source"], *ANE_TABLES)
        return is_work & (self.edges[1] > self.edges[0])


def _list_outermost(frame: pd.DataFrame) -> IntArray:
    """Return the rows of intervals that count: rows of hardware tables nest, and time counts once."""
    is_nested = is_among(frame["source"], *ANE_TABLES, *GPU_TABLES) & (frame["depth"] > 0).to_numpy(bool)
    if not is_nested.any():
        return np.arange(len(frame))
    outer = frame["source"][(frame["depth"] <= 0).to_numpy(bool)].unique()
    # It repeats time of the row around it, unless only the nested row marks the work as ML.
    is_marked = is_among(frame["engine"], Engine.GPU)
    return np.flatnonzero(~(is_nested & ~is_marked & is_among(frame["source"], *outer)))


def _find_models(labels: Ownership, assignment: Assignment, calls: Calls) -> IntArray:
    """Return the model of each interval as its label names it, else that of the call that owns it."""
    position = {name: code for code, name in enumerate(labels.model_names.tolist())}
    codes = np.array([position[name] for name in calls.models.tolist()], np.int64)
    rows, windows = assignment.owned_row, assignment.owned_call
    nameless = labels.model_code[rows] == NAMELESS
    call = np.searchsorted(calls.window, windows[nameless])
    model_code = labels.model_code.copy()
    model_code[rows[nameless]] = codes[calls.model[call]]
    return model_code
