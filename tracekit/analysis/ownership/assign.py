"""``assign``: each interval of an engine's table to one owner.

An interval is the work of a call if it lies in the call's time, in the process that ran it, and for the model
that it names. Where that leaves one call, the call owns all of it: an interval belongs to the call that it is
work of, not to each that it touches. Where it leaves several, a stack that hands over work at the interval's
start decides, or the only call whose stacks show the engine; else the interval is contested.

Of a model that another process has as well (``second_users.py``), only the calls that show the engine on
their stacks own rows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import is_engine
from tracekit.analysis.engines.ownership import Ownership
from tracekit.analysis.ownership.calls import Calls
from tracekit.analysis.ownership.candidates import Candidates
from tracekit.analysis.ownership.decisions import Decisions
from tracekit.analysis.ownership.owners import Assignment, Owner, Reason
from tracekit.analysis.ownership.pairs import Pairs
from tracekit.analysis.ownership.rows import Rows
from tracekit.analysis.ownership.rules import Rules
from tracekit.analysis.ownership.second_users import SecondUsers
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Engine


def assign(
    frame: pd.DataFrame,
    labels: Ownership,
    calls: Calls,
    pids: frozenset[int],
    own_pids: frozenset[int],
    submitters: Submitters,
) -> Assignment:
    """Return the owner of each row of ``frame``.

    ``pids`` are the processes that the analysis is about, ``own_pids`` these and its calls'; none is any.
    """
    rows = Rows.of(frame, labels, calls, own_pids)
    assigner = _Assigner(rows, calls, pids, submitters, bool(labels.runtimes))
    if calls.is_listed.any():
        return assigner.assign_rows(assigner.mark_doubted())
    # The calls that a runtime reports show other users of the engine, whatever the calls of the analysis are.
    reported = Calls.of_runtimes(frame, labels.models)
    runtime_assigner = _Assigner(Rows.of(frame, labels, reported, own_pids), reported, pids, submitters, True)
    return assigner.assign_rows(runtime_assigner.mark_doubted())


class _Assigner:
    """One assignment: rows are narrowed down step by step, and each step keeps its reason.

    ``has_runtime`` is True where a table of a runtime names the app's models.
    """

    def __init__(
        self, rows: Rows, calls: Calls, pids: frozenset[int], submitters: Submitters, has_runtime: bool
    ) -> None:
        self._rows, self._calls, self._has_runtime = rows, calls, has_runtime
        self._submitters = submitters
        self._candidates = Candidates(rows, calls, pids)
        self._rules = Rules(rows, calls, submitters)
        self._second_users = SecondUsers(rows, calls, submitters)
        self._decisions = Decisions(len(rows))

    def mark_doubted(self) -> BoolArray:
        """Mark the rows that may be another process's."""
        return self._second_users.mark_doubted(self._of_models, self._candidates.crowded)

    @cached_property
    def _of_models(self) -> Pairs:
        """The calls that may own each row, by its model."""
        free_rows = np.flatnonzero(self._is_free)
        return self._find_pairs(free_rows, self._rows.pool[free_rows])

    @cached_property
    def _of_nameless(self) -> Pairs:
        """The calls without a model that may own rows of models, where no call of that model is around."""
        has_pair = np.zeros(len(self._rows), bool)
        has_pair[self._of_models.row] = True
        is_unpaired = self._is_free & ~(has_pair | self._candidates.crowded | self._rows.is_nameless)
        return self._without_model(np.flatnonzero(is_unpaired))

    @cached_property
    def _lacks_callers(self) -> bool:
        """Whether threads make calls that are not among these."""
        return self._calls.lack_callers(self._submitters.callers)

    @property
    def _is_free(self) -> BoolArray:
        return self._rows.is_work & ~self._rows.is_other

    def assign_rows(self, doubted: BoolArray) -> Assignment:
        """Return the owner of each row; ``doubted`` rows need a call that shows the engine."""
        rows, decisions = self._rows, self._decisions
        is_other = rows.is_work & rows.is_other
        decisions.set(rows.is_work, Owner.PROCESS, Reason.OUTSIDE)
        decisions.set(is_other, Owner.OTHER, Reason.LABEL)
        decisions.set(is_other & (rows.pid >= 0), Owner.OTHER, Reason.NAMED_PROCESS)
        decisions.set(self._is_free & doubted, Owner.CONTESTED, Reason.SECOND_USER)
        pairs, crowded = self._of_models, self._candidates.crowded
        is_doubted = doubted[pairs.row]
        self._decide_doubted(pairs.select(is_doubted).narrow())
        self._decide(pairs.select(~is_doubted).narrow())
        self._decide_nameless(self._of_nameless, doubted)
        decisions.set(crowded, Owner.CONTESTED, Reason.SEVERAL_CALLS)
        return decisions.build_assignment(self._calls.window, crowded, doubted)

    def _mark_needing_stack(self, pairs: Pairs) -> BoolArray:
        """Mark other engines' rows in calls that the Neural Engine's rows show, beside other threads' calls.

        The time of such a call is the Neural Engine's: what else lies in it may be of another call, also
        of the same model.
        """
        rows, calls = self._rows, self._calls
        is_other = calls.is_of_engine[pairs.call] & ~rows.is_open[pairs.row]
        mask: BoolArray = is_other & self._submitters.has_several_callers
        return mask

    def _without_model(self, rows: IntArray) -> Pairs:
        """Return the calls without a model that may own these rows."""
        return self._find_pairs(rows, np.full(len(rows), self._calls.nameless))

    def _find_pairs(self, rows: IntArray, pool: IntArray) -> Pairs:
        """Return the calls of a pool that may own these rows."""
        pairs = self._candidates.of(rows, pool)
        needs_stack = self._mark_needing_stack(pairs)
        return pairs.select(~needs_stack | self._rules.mark_near(pairs)) if needs_stack.any() else pairs

    def _decide(self, pairs: Pairs) -> None:
        """Give rows to their only call, or to the call that a rule finds, or contest them."""
        pairs = pairs.select(~self._contest_refuted(pairs))
        is_alone = pairs.is_alone
        is_inside = is_alone & pairs.is_contained
        self._rules.count_labels(pairs.select(is_inside))
        self._decisions.give(pairs, is_inside, Reason.CONTAINED)
        self._decisions.give(pairs, is_alone & ~pairs.is_contained, Reason.MOST)
        pairs = pairs.select(~is_alone)
        for find, reason in self._rules.in_order:
            if not len(pairs):
                return
            mask = find(pairs)
            self._decisions.give(pairs, mask, reason)
            pairs = pairs.select(pairs.sum_per_row(mask) == 0)
        self._decisions.contest(pairs, np.ones(len(pairs), bool), Reason.SEVERAL_CALLS)

    def _contest_refuted(self, pairs: Pairs) -> BoolArray:
        """Contest rows that nothing but time gives to a call, while another engine worked for it.

        So are rows that reach too far beyond it, and all of these rows where threads make calls
        that nothing lists, or that an edge of the recording cuts. A name or a stack would give them to it.
        Marks their pairs.
        """
        rows, calls = self._rows, self._calls
        # A row of the GPU without a label is of its process all the same.
        has_label = ~rows.is_nameless | rows.is_named_otherwise
        is_of_gpu = is_engine(rows.engine, Engine.GPU) & rows.is_execution & has_label
        is_open = (rows.is_open | is_of_gpu)[pairs.row]
        is_named = ~rows.is_nameless & ~rows.is_named_otherwise
        has_name = is_named[pairs.row] & (rows.pool[pairs.row] == calls.model[pairs.call])
        refuted = is_open & ~pairs.is_near & ~pairs.is_most
        refuted |= (is_of_gpu & rows.is_named_otherwise)[pairs.row] & (
            calls.model[pairs.call] != calls.nameless
        )
        if self._submitters.has_several_callers:
            edges, start = self._submitters.edges, rows.starts[pairs.row]
            # A cut call of another thread may be of the same model.
            is_certain = has_name & ~calls.has_several_threads[pairs.call]
            refuted |= ~is_certain & edges.may_be_cut(calls, pairs.call, start)
        by_time = np.flatnonzero(is_open & ~has_name)
        if self._lacks_callers:
            refuted[by_time] = True
        elif len(by_time):
            timed = pairs.select(by_time)
            is_busy = self._second_users.is_busy_elsewhere(timed, self._of_models, self._of_nameless)
            # Edges of calls on stacks are those of samples: a row may reach beyond them by a wait.
            is_beyond = ~timed.is_near & ~timed.is_contained & calls.is_listed[timed.call]
            # A label shows that models have names: one that fits no call's needs more than its time.
            _, is_elsewhere = self._rules.mark_showing(timed)
            is_elsewhere &= ~rows.is_nameless[timed.row]
            refuted[by_time[is_busy | is_beyond | is_elsewhere]] = True
        if refuted.any():
            refuted &= ~self._rules.mark_near(pairs)
            refuted = pairs.sum_per_row(refuted) == pairs.sum_per_row(np.ones(len(pairs), bool))
            self._decisions.contest(pairs, refuted, Reason.DOUBTFUL)
        return refuted

    def _decide_doubted(self, pairs: Pairs) -> None:
        """Give a row that another process may own to the only call around it that shows the engine."""
        if not len(pairs):
            return
        decisions = self._decisions
        is_near = self._rules.mark_near(pairs)
        shows_engine, _ = self._rules.mark_showing(pairs)
        # A call whose stacks may begin a row, this one or another, shows nothing else about it.
        has_near = np.zeros(len(self._calls), bool)
        has_near[self._of_models.call[self._rules.may_begin(self._of_models)]] = True
        shows = is_near | (shows_engine & ~has_near[pairs.call] & (pairs.sum_per_row(is_near) == 0))
        count = pairs.sum_per_row(shows)
        decisions.give(pairs, shows & (count == 1), Reason.SUBMITTED)
        decisions.contest(pairs, shows & (count > 1), Reason.SEVERAL_CALLS)
        unseen = pairs.select(count == 0)
        submitted = self._second_users.mark_submitted_by_others(unseen.row, self._calls.pid[unseen.call])
        # Of rows that begin together, the other process may have begun another one.
        is_foreign = (unseen.sum_per_row(~submitted) == 0) & self._rules.is_apart[unseen.row]
        decisions.contest(unseen, ~is_foreign, Reason.SECOND_USER)
        rows = np.unique(unseen.row[is_foreign])
        decisions.set(rows, Owner.OTHER, Reason.SUBMITTED)
        # The other process may have a call on stacks.
        nameless = self._without_model(rows)
        decisions.give(nameless, nameless.mark_only(self._rules.mark_near(nameless)), Reason.SUBMITTED)

    def _decide_nameless(self, pairs: Pairs, doubted: BoolArray) -> None:
        """Give rows that name a model to calls that name none.

        Where other calls are of the row's model, it lies outside of them: only a stack shows that it is of
        this one. The same holds for a label that no stack supports, beside labels that some do, for one whose
        rows lie outside of calls, beside labels whose rows all lie in calls, and for the GPU's where several
        threads make calls.
        """
        if not len(pairs):
            return
        rows = self._rows
        model, is_open = rows.model[pairs.row], rows.is_open[pairs.row]
        is_near = self._rules.mark_near(pairs)
        supported = np.zeros(rows.models, bool)
        supported[model[is_near & is_open]] = True
        is_odd = ~supported[model] & (supported.any() and not self._has_runtime)
        is_odd |= self._mark_lying_outside(pairs)[model]
        needs_stack = is_open & (is_odd | doubted[pairs.row] | (rows.pool[pairs.row] >= 0))
        # Another thread may have made a call of that model that nothing lists.
        needs_stack |= is_engine(rows.engine[pairs.row], Engine.GPU) & self._submitters.has_several_callers
        open_pairs, is_near = pairs.select(needs_stack), is_near[needs_stack]
        count = open_pairs.sum_per_row(is_near)
        self._decisions.give(open_pairs, is_near & (count == 1), Reason.SUBMITTED)
        self._decisions.contest(open_pairs, is_near & (count > 1), Reason.SEVERAL_CALLS)
        self._decisions.contest(open_pairs, count == 0, Reason.NO_SUBMITTER)
        self._decide(pairs.select(~needs_stack).narrow())

    def _mark_lying_outside(self, pairs: Pairs) -> BoolArray:
        """Mark the models of labels with a row in no call, if all rows of others lie in calls."""
        rows = self._rows
        is_inside = np.zeros(len(rows), bool)
        for of_calls in (pairs, self._of_models):
            is_inside[of_calls.row[of_calls.is_contained]] = True
        is_named = rows.is_open & ~rows.is_nameless
        inside_counts, total_counts = (
            np.bincount(rows.model[mask], minlength=rows.models) for mask in (is_named & is_inside, is_named)
        )
        is_always = (total_counts > 0) & (inside_counts == total_counts)
        mask: BoolArray = (inside_counts < total_counts) & bool(is_always.any() and not self._has_runtime)
        return mask
