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

_FEWEST_ELSEWHERE = 3
"""Heuristic: minimum number of samples of other engines that rules out chance."""

_FEWEST_ROWS = 2
"""Heuristic: minimum number of rows extending beyond their calls that rules out chance."""

_REACHES = 10
"""A row reaches out of a call by more than 1/10 of the call: a choice."""


class SecondUsers:
    """What rows and stacks show of other processes with models of the same names."""

    def __init__(self, rows: Rows, calls: Calls, submitters: Submitters) -> None:
        self._rows, self._calls, self._submitters = rows, calls, submitters

    def doubted(self, pairs: Pairs, crowded: BoolArray) -> BoolArray:
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
        chosen = np.flatnonzero(is_open)
        if not len(chosen) or not calls.is_listed.any():
            return doubted
        pid, between = self._find_pools(chosen)
        has_pair, is_inside = np.zeros((2, len(rows)), bool)
        has_pair[pairs.row] = True
        is_inside[pairs.row[pairs.is_contained]] = True
        group = self._group(chosen)
        is_alone = ~(has_pair | crowded)[chosen]
        is_odd = is_alone & (between | self._mark_coming_twice(chosen, is_alone & ~between))
        # If no row meets a call, the clocks differ or no table lists the calls.
        is_odd &= (np.bincount(group[has_pair[chosen]], minlength=int(group.max()) + 1) > 0)[group]
        of_rows = pairs.part((is_open & ~is_inside & ~crowded)[pairs.row])
        is_odd |= self._mark_reaching_out(of_rows, group, is_inside[chosen])[chosen]
        odd = np.flatnonzero(is_odd)
        # A stack of the process shows a call that the tables lack.
        is_submitted = self._submitters.by_process(Engine.ANE, pid[odd], rows.starts[chosen[odd]])
        has_odd, has_alone = np.zeros((2, int(group.max()) + 1), bool)
        has_odd[group[odd[~is_submitted]]] = True
        has_alone[group[is_alone]] = True
        doubted[chosen] = has_odd[group] | self.submitted_elsewhere(chosen, pid)
        doubted[self._find_refuted(pairs, chosen, group, has_alone[group], doubted)] = True
        return doubted

    def _find_refuted(
        self, pairs: Pairs, chosen: IntArray, group: IntArray, has_alone: BoolArray, doubted: BoolArray
    ) -> IntArray:
        """Return the rows whose calls another engine worked for, or whose copy never shows this one.

        ``chosen`` are the open rows, ``group`` is theirs, and ``has_alone`` marks those of groups with a row
        in no call. Of a group with such a row, others whose calls show other engines alone are refuted too.
        """
        rows, pairs = self._rows, pairs.narrowed()
        is_suspect = np.zeros(len(rows), bool)
        is_suspect[chosen] = has_alone | rows.is_named_otherwise[chosen]
        inside = pairs.part((is_suspect & ~doubted)[pairs.row])
        if not len(inside):
            return chosen[:0]
        refuted = np.zeros(len(rows), bool)
        is_refuted = self.is_busy_elsewhere(inside, pairs) | self._never_seen[inside.call]
        refuted[inside.row[is_refuted]] = True
        has_refuted = np.zeros(int(group.max()) + 1, bool)
        has_refuted[group[(refuted | doubted)[chosen]]] = True
        is_of_refuted = np.zeros(len(rows), bool)
        is_of_refuted[chosen] = has_refuted[group]
        refuted[inside.row[is_of_refuted[inside.row] & self._mark_showing_others(inside)]] = True
        return np.flatnonzero(refuted)

    @cached_property
    def _never_seen(self) -> BoolArray:
        """Marks the calls of loaded copies that show other engines on their stacks, and never this one."""
        calls = self._calls
        if (calls.window < 0).any():
            return np.zeros(len(calls), bool)
        copy = group_codes(calls.model, calls.copy)
        count = int(copy.max(initial=-1)) + 1
        seen = self._submitters.of_engine(Engine.ANE)[calls.window] + calls.logged
        beside = self._submitters.beside(Engine.ANE)[calls.window]
        is_elsewhere = (sum_by_code(copy, seen, count) == 0) & (
            sum_by_code(copy, beside, count) >= _FEWEST_ELSEWHERE
        )
        marked: BoolArray = is_elsewhere[copy]
        return marked

    def _mark_showing_others(self, inside: Pairs) -> BoolArray:
        """Mark the Neural Engine's rows of calls whose stacks show other engines, and not this one."""
        window = self._calls.window[inside.call]
        if (window < 0).any():
            return np.zeros(len(inside), bool)
        is_unseen = self._submitters.of_engine(Engine.ANE)[window] == 0
        marked: BoolArray = is_unseen & (self._submitters.beside(Engine.ANE)[window] > 0)
        return marked

    def _find_pools(self, chosen: IntArray) -> tuple[IntArray, BoolArray]:
        """Return the process of the calls that rows may be of, -1 for several, and mark rows between them."""
        rows, calls = self._rows, self._calls
        every = len(calls.models)
        first, last = np.full(every + 1, np.iinfo(np.int64).max), np.full(every + 1, -1)
        np.minimum.at(first, calls.model, calls.starts)
        np.maximum.at(last, calls.model, calls.ends)
        first[every], last[every] = first.min(), last.max()
        pid = np.full(every + 1, calls.pid[0] if (calls.pid == calls.pid[0]).all() else -1)
        pid[calls.model] = calls.pid
        pool = rows.pool[chosen]
        between = (rows.starts[chosen] >= first[pool]) & (rows.ends[chosen] <= last[pool])
        return pid[pool], between

    def _group(self, chosen: IntArray) -> IntArray:
        """Return a number for each row: of its model, or of its label where it names none."""
        rows = self._rows
        return np.where(rows.is_nameless, rows.models + 1 + rows.label, rows.model)[chosen]

    def _mark_reaching_out(self, pairs: Pairs, group: IntArray, is_inside: BoolArray) -> BoolArray:
        """Mark the rows that reach out of their calls, unless the clocks of two tables may be the reason.

        They may be where most rows of a group do so, all to the same side. ``group`` and ``is_inside`` are of
        the open rows.
        """
        rows, calls = self._rows, self._calls
        slack = (calls.ends - calls.starts)[pairs.call] // _REACHES
        is_before = rows.starts[pairs.row] + slack < calls.starts[pairs.call]
        is_after = rows.ends[pairs.row] - slack > calls.ends[pairs.call]
        # The call that most of the row lies in counts, if no call has the whole row.
        counts = (pairs.shared == pairs.most_of_row(pairs.shared)) & (
            pairs.of_row(~is_before & ~is_after) == 0
        )
        begins_before, ends_after = np.zeros((2, len(rows)), bool)
        begins_before[pairs.row[is_before & counts]] = True
        ends_after[pairs.row[is_after & counts]] = True
        chosen = np.flatnonzero(rows.is_open & (rows.pool >= 0))
        before, after, inside = (
            np.bincount(group[marked], minlength=int(group.max()) + 1)
            for marked in (begins_before[chosen], ends_after[chosen], is_inside)
        )
        is_odd = (before + after <= inside) | ((before > 0) & (after > 0))
        reaches = (begins_before | ends_after)[chosen]
        distinct = np.unique(np.stack([group, rows.starts[chosen], rows.ends[chosen]])[:, reaches], axis=1)
        is_odd &= np.bincount(distinct[0], minlength=len(before)) >= _FEWEST_ROWS
        marked = np.zeros(len(rows), bool)
        marked[chosen] = reaches & is_odd[group]
        return marked

    def is_busy_elsewhere(self, inside: Pairs, *pairs: Pairs) -> BoolArray:
        """Mark the pairs of which another engine worked for the call more than half of the time in common.

        ``pairs`` are all rows in calls.
        """
        rows, calls = self._rows, self._calls
        starts = np.maximum(rows.starts[inside.row], calls.starts[inside.call])
        ends = starts + inside.shared
        window = calls.window[inside.call]
        samples = np.zeros(len(inside), np.int64)
        marked = np.zeros(len(inside), bool)
        for engine in SERVING:
            of_engine = is_engine(rows.engine, engine)
            is_beside = ~of_engine[inside.row]
            if engine is not Engine.ANE:  # whose samples are those that hand work over
                samples += is_beside * self._submitters.count(engine, window, starts, ends)
            for every in pairs:
                work = every.part(every.is_contained & (of_engine & rows.is_execution)[every.row])
                marked |= is_beside & (2 * self._measure_shared_time(work, inside) > ends - starts)
        is_sampled = samples >= _FEWEST_ELSEWHERE
        marked |= is_sampled & (2 * samples * self._submitters.period_ns > ends - starts)
        return marked

    def _measure_shared_time(self, work: Pairs, inside: Pairs) -> IntArray:
        """Return how much of the rows ``inside`` calls lies in the rows ``work`` of the same calls."""
        rows, calls = self._rows, self._calls
        number = np.unique(inside.call)
        longest = int((calls.ends - calls.starts)[number].max(initial=0)) + 1
        if not len(number) or longest > np.iinfo(np.int64).max // (len(number) + 1):
            return np.zeros(len(inside), np.int64)
        # The calls one after another: a time is a call's position and the time since its start, as a number.
        work = work.part(np.isin(work.call, number))

        def times(of: Pairs, edges: IntArray) -> IntArray:
            since = np.clip(edges[of.row] - calls.starts[of.call], 0, (calls.ends - calls.starts)[of.call])
            moments: IntArray = np.searchsorted(number, of.call) * longest + since
            return moments

        spans = IntervalSet.of(times(work, rows.starts), times(work, rows.ends))
        return spans.within(times(inside, rows.starts), times(inside, rows.ends))

    def submitted_elsewhere(self, chosen: IntArray, pid: IntArray) -> BoolArray:
        """Mark rows at whose start a stack of another process hands over work, unless to a row of its own."""
        rows, near_ns = self._rows, self._submitters.near_ns
        starts = rows.starts[chosen]
        is_elsewhere = self._submitters.elsewhere(Engine.ANE, pid, starts) & (pid >= 0)
        other_starts = np.sort(rows.starts[rows.is_work & rows.is_other])
        if not len(other_starts) or not is_elsewhere.any():
            return is_elsewhere
        first, last = (np.searchsorted(other_starts, starts + shift) for shift in (-near_ns, near_ns + 1))
        alone: BoolArray = is_elsewhere & (last == first)
        return alone

    def submitted_by_others(self, chosen: IntArray, pid: IntArray) -> BoolArray:
        """Mark rows at whose start a stack of another process hands over work, and none of this process."""
        is_own = self._submitters.by_process(Engine.ANE, pid, self._rows.starts[chosen])
        return self.submitted_elsewhere(chosen, pid) & ~is_own

    def _mark_coming_twice(self, chosen: IntArray, marked: BoolArray) -> BoolArray:
        """Mark rows before the first call or after the last whose label comes twice there.

        The recording cuts one call at each end, and a call has one row of a label.
        """
        rows = self._rows
        label = rows.label[chosen]
        # A row may be in the table twice.
        named = marked & (label >= 0)
        distinct = np.unique(np.stack([label, rows.starts[chosen], rows.ends[chosen]])[:, named], axis=1)
        counts = np.bincount(distinct[0], minlength=int(label.max(initial=0)) + 1)
        twice: BoolArray = marked & (label >= 0) & (np.append(counts, 0)[label] > 1)
        return twice
