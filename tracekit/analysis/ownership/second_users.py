"""Second users: other processes with a model of the same name as one of the app's.

The Neural Engine's rows name no process. A label that names a model of the app is the app's, unless the
recording refutes it: such a label on rows outside of the model's calls shows that another process has a model
of that name.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tracekit.analysis.engines.codes import group_codes, is_engine, sum_by_code
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.ownership.calls import Calls
from tracekit.analysis.ownership.pairs import Pairs
from tracekit.analysis.ownership.rows import Rows
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING, Engine

_MIN_OTHER_SAMPLES = 3
"""Heuristic: minimum number of samples of other engines that rules out chance."""

_MIN_ROWS = 2
"""Heuristic: minimum number of rows extending beyond their calls that rules out chance."""

_REACH_DIVISOR = 10
"""A row reaches out of a call by more than 1/10 of the call: a choice."""


class SecondUsers:
    """What rows and stacks show of other processes with models of the same names."""

    def __init__(self, rows: Rows, calls: Calls, submitters: Submitters) -> None:
        self._rows, self._calls, self._submitters = rows, calls, submitters

    def mark_doubted(self, pairs: Pairs, crowded: BoolArray) -> BoolArray:
        """Mark the open rows that may be another process's, by the model or the label that they share.

        Another process used the engine if a row lies between calls, in none of them, or reaches out of its
        call, and no stack of the process shows a call that the tables lack; or if a stack of another process
        hands over work where a row begins, and no stack of the row's call. Where a row lies in no call, or a
        label names a model by another name, a row in a call that another engine worked for meanwhile may be
        another process's as well.
        """
        rows, calls = self._rows, self._calls
        doubted = np.zeros(len(rows), bool)
        is_open = rows.is_open & (rows.pool >= 0)
        open_rows = np.flatnonzero(is_open)
        if not len(open_rows) or not calls.is_listed.any():
            return doubted
        pid, is_between = self._find_pools(open_rows)
        has_pair, is_inside = np.zeros((2, len(rows)), bool)
        has_pair[pairs.row] = True
        is_inside[pairs.row[pairs.is_contained]] = True
        group = self._group(open_rows)
        is_alone = ~(has_pair | crowded)[open_rows]
        is_odd = is_alone & (is_between | self._mark_coming_twice(open_rows, is_alone & ~is_between))
        # If no row meets a call, the clocks differ or no table lists the calls.
        is_odd &= (np.bincount(group[has_pair[open_rows]], minlength=int(group.max()) + 1) > 0)[group]
        of_rows = pairs.select((is_open & ~is_inside & ~crowded)[pairs.row])
        is_odd |= self._mark_reaching_out(of_rows, group, is_inside[open_rows])[open_rows]
        odd_rows = np.flatnonzero(is_odd)
        # A stack of the process shows a call that the tables lack.
        is_submitted = self._submitters.mark_near_process(
            Engine.ANE, pid[odd_rows], rows.starts[open_rows[odd_rows]]
        )
        has_odd, has_alone = np.zeros((2, int(group.max()) + 1), bool)
        has_odd[group[odd_rows[~is_submitted]]] = True
        has_alone[group[is_alone]] = True
        doubted[open_rows] = has_odd[group] | self.mark_submitted_elsewhere(open_rows, pid)
        doubted[self._find_refuted(pairs, open_rows, group, has_alone[group], doubted)] = True
        return doubted

    def _find_refuted(
        self, pairs: Pairs, open_rows: IntArray, group: IntArray, has_alone: BoolArray, doubted: BoolArray
    ) -> IntArray:
        """Return the rows whose calls another engine worked for, or whose copy never shows this one.

        ``group`` and ``has_alone`` are of the open rows; ``has_alone`` marks those of groups with a row in no
        call. Of a group with such a row, others whose calls show other engines alone are refuted too.
        """
        rows, pairs = self._rows, pairs.narrow()
        is_suspect = np.zeros(len(rows), bool)
        is_suspect[open_rows] = has_alone | rows.is_named_otherwise[open_rows]
        suspects = pairs.select((is_suspect & ~doubted)[pairs.row])
        if not len(suspects):
            return open_rows[:0]
        refuted = np.zeros(len(rows), bool)
        is_refuted = self.is_busy_elsewhere(suspects, pairs) | self._never_seen[suspects.call]
        refuted[suspects.row[is_refuted]] = True
        has_refuted = np.zeros(int(group.max()) + 1, bool)
        has_refuted[group[(refuted | doubted)[open_rows]]] = True
        is_of_refuted = np.zeros(len(rows), bool)
        is_of_refuted[open_rows] = has_refuted[group]
        refuted[suspects.row[is_of_refuted[suspects.row] & self._mark_showing_others(suspects)]] = True
        return np.flatnonzero(refuted)

    @cached_property
    def _never_seen(self) -> BoolArray:
        """Marks the calls of loaded copies that show other engines on their stacks, and never this one."""
        calls = self._calls
        if (calls.window < 0).any():
            return np.zeros(len(calls), bool)
        copy = group_codes(calls.model, calls.copy)
        count = int(copy.max(initial=-1)) + 1
        engine_samples = self._submitters.count_samples(Engine.ANE)[calls.window] + calls.logged
        other_samples = self._submitters.count_other_samples(Engine.ANE)[calls.window]
        is_elsewhere = (sum_by_code(copy, engine_samples, count) == 0) & (
            sum_by_code(copy, other_samples, count) >= _MIN_OTHER_SAMPLES
        )
        mask: BoolArray = is_elsewhere[copy]
        return mask

    def _mark_showing_others(self, pairs: Pairs) -> BoolArray:
        """Mark the Neural Engine's rows of calls whose stacks show other engines, and not this one."""
        window = self._calls.window[pairs.call]
        if (window < 0).any():
            return np.zeros(len(pairs), bool)
        is_unseen = self._submitters.count_samples(Engine.ANE)[window] == 0
        mask: BoolArray = is_unseen & (self._submitters.count_other_samples(Engine.ANE)[window] > 0)
        return mask

    def _find_pools(self, open_rows: IntArray) -> tuple[IntArray, BoolArray]:
        """Return the process of the calls that rows may be of, -1 for several, and mark rows between them."""
        rows, calls = self._rows, self._calls
        every = len(calls.models)
        first_start, last_end = np.full(every + 1, np.iinfo(np.int64).max), np.full(every + 1, -1)
        np.minimum.at(first_start, calls.model, calls.starts)
        np.maximum.at(last_end, calls.model, calls.ends)
        first_start[every], last_end[every] = first_start.min(), last_end.max()
        pid = np.full(every + 1, calls.pid[0] if (calls.pid == calls.pid[0]).all() else -1)
        pid[calls.model] = calls.pid
        pool = rows.pool[open_rows]
        is_between = (rows.starts[open_rows] >= first_start[pool]) & (rows.ends[open_rows] <= last_end[pool])
        return pid[pool], is_between

    def _group(self, open_rows: IntArray) -> IntArray:
        """Return a number for each row: of its model, or of its label where it names none."""
        rows = self._rows
        return np.where(rows.is_nameless, rows.models + 1 + rows.label, rows.model)[open_rows]

    def _mark_reaching_out(self, pairs: Pairs, group: IntArray, is_inside: BoolArray) -> BoolArray:
        """Mark the rows that reach out of their calls, unless the clocks of two tables may be the reason.

        They may be where most rows of a group do so, all to the same side. ``group`` and ``is_inside`` are of
        the open rows.
        """
        rows, calls = self._rows, self._calls
        slack = (calls.ends - calls.starts)[pairs.call] // _REACH_DIVISOR
        is_before = rows.starts[pairs.row] + slack < calls.starts[pairs.call]
        is_after = rows.ends[pairs.row] - slack > calls.ends[pairs.call]
        # The call that most of the row lies in counts, if no call has the whole row.
        counts = (pairs.shared == pairs.find_row_maximum(pairs.shared)) & (
            pairs.sum_per_row(~is_before & ~is_after) == 0
        )
        begins_before, ends_after = np.zeros((2, len(rows)), bool)
        begins_before[pairs.row[is_before & counts]] = True
        ends_after[pairs.row[is_after & counts]] = True
        open_rows = np.flatnonzero(rows.is_open & (rows.pool >= 0))
        before_counts, after_counts, inside_counts = (
            np.bincount(group[mask], minlength=int(group.max()) + 1)
            for mask in (begins_before[open_rows], ends_after[open_rows], is_inside)
        )
        is_odd = (before_counts + after_counts <= inside_counts) | ((before_counts > 0) & (after_counts > 0))
        reaches = (begins_before | ends_after)[open_rows]
        distinct = np.unique(
            np.stack([group, rows.starts[open_rows], rows.ends[open_rows]])[:, reaches], axis=1
        )
        is_odd &= np.bincount(distinct[0], minlength=len(before_counts)) >= _MIN_ROWS
        mask = np.zeros(len(rows), bool)
        mask[open_rows] = reaches & is_odd[group]
        return mask

    def is_busy_elsewhere(self, suspects: Pairs, *pairs: Pairs) -> BoolArray:
        """Mark the pairs of which another engine worked for the call more than half of the time in common.

        ``pairs`` are all rows in calls.
        """
        rows, calls = self._rows, self._calls
        starts = np.maximum(rows.starts[suspects.row], calls.starts[suspects.call])
        ends = starts + suspects.shared
        window = calls.window[suspects.call]
        samples = np.zeros(len(suspects), np.int64)
        mask = np.zeros(len(suspects), bool)
        for engine in SERVING:
            of_engine = is_engine(rows.engine, engine)
            is_beside = ~of_engine[suspects.row]
            if engine is not Engine.ANE:  # whose samples are those that hand work over
                samples += is_beside * self._submitters.count(engine, window, starts, ends)
            for every in pairs:
                work = every.select(every.is_contained & (of_engine & rows.is_execution)[every.row])
                mask |= is_beside & (2 * self._measure_shared_time(work, suspects) > ends - starts)
        is_sampled = samples >= _MIN_OTHER_SAMPLES
        mask |= is_sampled & (2 * samples * self._submitters.period_ns > ends - starts)
        return mask

    def _measure_shared_time(self, work: Pairs, suspects: Pairs) -> IntArray:
        """Return how much of the rows ``suspects`` lies in the rows ``work`` of the same calls."""
        rows, calls = self._rows, self._calls
        number = np.unique(suspects.call)
        longest = int((calls.ends - calls.starts)[number].max(initial=0)) + 1
        if not len(number) or longest > np.iinfo(np.int64).max // (len(number) + 1):
            return np.zeros(len(suspects), np.int64)
        # The calls one after another: a time is a call's position and the time since its start, as a number.
        work = work.select(np.isin(work.call, number))

        def times(of: Pairs, edges: IntArray) -> IntArray:
            since = np.clip(edges[of.row] - calls.starts[of.call], 0, (calls.ends - calls.starts)[of.call])
            moments: IntArray = np.searchsorted(number, of.call) * longest + since
            return moments

        spans = IntervalSet.of(times(work, rows.starts), times(work, rows.ends))
        return spans.within(times(suspects, rows.starts), times(suspects, rows.ends))

    def mark_submitted_elsewhere(self, row: IntArray, pid: IntArray) -> BoolArray:
        """Mark rows at whose start a stack of another process hands over work, unless to a row of its own."""
        rows, near_ns = self._rows, self._submitters.near_ns
        starts = rows.starts[row]
        is_elsewhere = self._submitters.mark_near_others(Engine.ANE, pid, starts) & (pid >= 0)
        other_starts = np.sort(rows.starts[rows.is_work & rows.is_other])
        if not len(other_starts) or not is_elsewhere.any():
            return is_elsewhere
        start, stop = (np.searchsorted(other_starts, starts + shift) for shift in (-near_ns, near_ns + 1))
        mask: BoolArray = is_elsewhere & (stop == start)
        return mask

    def mark_submitted_by_others(self, row: IntArray, pid: IntArray) -> BoolArray:
        """Mark rows at whose start a stack of another process hands over work, and none of this process."""
        is_own = self._submitters.mark_near_process(Engine.ANE, pid, self._rows.starts[row])
        return self.mark_submitted_elsewhere(row, pid) & ~is_own

    def _mark_coming_twice(self, open_rows: IntArray, mask: BoolArray) -> BoolArray:
        """Mark rows before the first call or after the last whose label comes twice there.

        The recording cuts one call at each end, and a call has one row of a label.
        """
        rows = self._rows
        label = rows.label[open_rows]
        # A row may be in the table twice.
        has_label = mask & (label >= 0)
        distinct = np.unique(
            np.stack([label, rows.starts[open_rows], rows.ends[open_rows]])[:, has_label], axis=1
        )
        counts = np.bincount(distinct[0], minlength=int(label.max(initial=0)) + 1)
        twice: BoolArray = mask & (label >= 0) & (np.append(counts, 0)[label] > 1)
        return twice
