"""``assign``: each interval of an engine's table to one owner.

An interval is the work of a call if it lies in the call's time, in the process that ran it, and for the model
that it names. Where that leaves one call, the call owns all of it: an interval belongs to the call that it is
work of, not to each that it touches. Where it leaves several, a stack that hands over work at the interval's
start decides, or the only call whose stacks show the engine; else the interval is contested.

The Neural Engine's rows name no process. A label that names a model of the app is the app's, unless the
recording refutes it: such a label on rows outside of the model's calls shows that another process has a model
of that name. Then only the calls that show the engine on their stacks own such rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import firsts, group_codes, is_engine, recoded
from tracekit.analysis.engines.ownership import Ownership
from tracekit.analysis.ownership.candidates import CallPools
from tracekit.analysis.ownership.owners import OWNER_CODE, REASON_CODE, Assignment, Owner, Reason
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASE_CODE, PHASES, SERVING, Engine, Phase

FLOOR = 20
"""A row that shares less than 1/20 of its length and of the call's with a call touches it, and is no work of
it: a choice."""
_PROTRUDES = 10
_CLOCKS_NS = 1_000_000
"""A row of 1/10 of its length outside of a call, and of a millisecond at most, lies in it: two tables'
clocks differ."""
_DOMINATES = 3
"""Of calls that a row reaches beyond, one owns it with so many times the row's time in any other: a
choice."""
_FEWEST_ALONE = 3
"""So many rows of a label show which calls it is of: a choice."""
_FEWEST_ELSEWHERE = 3
"""So many samples of other engines in a call, and none of this one, are no chance."""


@dataclass(frozen=True)
class Calls:
    """The calls of an analysis: rows of its windows that are no ranges of the user's, as parallel arrays."""

    window: IntArray
    starts: IntArray
    ends: IntArray
    pid: IntArray
    thread: IntArray
    model: npt.NDArray[np.object_]
    copy: npt.NDArray[np.object_]
    """The loaded copy of the model, "" where no table names it."""
    logged: IntArray
    """Requests to the Neural Engine that the log shows as served."""

    @classmethod
    def of(cls, windows: pd.DataFrame, names: frozenset[str], logged: IntArray) -> Calls:
        """Return the calls among windows; a model that no row of a table names is not known."""
        starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        is_call = ~windows["source"].isin(GIVEN_SOURCES).to_numpy(bool) & (ends > starts)
        rows = np.flatnonzero(is_call)
        model = windows["model"].astype("str").to_numpy(object)[rows]
        codes, distinct = pd.factorize(model)
        known = np.array([name if name in names else "" for name in distinct.tolist()], object)
        return cls(
            rows,
            starts[rows],
            ends[rows],
            windows["pid"].to_numpy(np.int64)[rows],
            windows["thread_id"].to_numpy(np.int64)[rows],
            known[codes] if len(rows) else model,
            windows["copy"].astype("str").to_numpy(object)[rows],
            logged[rows],
        )


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
    return _Assigner(frame, labels, calls, pids, own_pids, submitters).assignment()


@dataclass(frozen=True)
class _Pairs:
    """Rows and calls that may be their owners, in order of the row; ``shared`` is the time in common."""

    row: IntArray
    call: IntArray
    shared: IntArray
    is_contained: BoolArray

    def part(self, marked: BoolArray) -> _Pairs:
        return _Pairs(self.row[marked], self.call[marked], self.shared[marked], self.is_contained[marked])

    def alone(self) -> BoolArray:
        """Mark the pairs that are the only one of their row."""
        differs = self.row[1:] != self.row[:-1]
        marked: BoolArray = (
            np.append(True, differs)[: len(self.row)] & np.append(differs, True)[: len(self.row)]
        )
        return marked

    def per_row(self, amounts: npt.NDArray[np.generic], count: int) -> IntArray:
        """Return the sum of the amounts of each row's pairs."""
        total: IntArray = np.bincount(self.row, amounts, minlength=count).astype(np.int64)
        return total


class _Assigner:
    """One assignment: rows are narrowed down step by step, and each step keeps its reason."""

    def __init__(
        self,
        frame: pd.DataFrame,
        labels: Ownership,
        calls: Calls,
        pids: frozenset[int],
        own_pids: frozenset[int],
        submitters: Submitters,
    ) -> None:
        self._calls, self._submitters, self._pids = calls, submitters, pids
        self._count = len(frame)
        self._starts, self._ends, self._pid = (
            frame[name].to_numpy(np.int64) for name in ("start_ns", "end_ns", "pid")
        )
        self._engine = recoded(frame["engine"], ENGINES).astype(np.int8)
        phase = recoded(frame["phase"], PHASES)
        is_call_row = is_engine(self._engine, Engine.RUNTIME) & (phase < 0)
        self._is_work = (self._ends > self._starts) & ~is_call_row
        is_named_elsewhere = (self._pid >= 0) & ~np.isin(self._pid, sorted(own_pids)) & bool(own_pids)
        self._is_other = labels.other_process | is_named_elsewhere
        is_ane = frame["source"].isin(ANE_TABLES).to_numpy(bool) & (phase == PHASE_CODE[Phase.EXECUTE])
        self._is_open = is_ane & (self._pid < 0) & self._is_work & ~self._is_other
        """Marks the rows of the Neural Engine's work that name no process."""
        self._has_runtime = bool(labels.runtimes)
        self._model, self._models = pd.factorize(labels.model)
        self._is_nameless = self._model == _position(self._models, "")
        call_models = pd.unique(calls.model)
        code_of = {name: code for code, name in enumerate(call_models.tolist())}
        pool_of_model = np.array([code_of.get(name, -1) for name in self._models.tolist()] + [-1], np.int64)
        every, self._no_model = len(call_models), code_of.get("", -1)
        self._pool = np.where(self._is_nameless, every, pool_of_model[self._model])
        self._pool_of_call = np.array([code_of[name] for name in calls.model.tolist()], np.int64)
        numbers = np.arange(len(calls.window))
        needs_every = bool((self._is_nameless & self._is_work & ~self._is_other).any())
        self._pools = CallPools(
            np.append(self._pool_of_call, np.full(len(numbers) * needs_every, every)),
            np.tile(numbers, 1 + needs_every),
            calls.starts,
            calls.ends,
        )
        # A label that names neither a model nor a part of one is the same for all models: -1.
        names_work = ((frame["model"] != "") | (frame["segment"] != "")).to_numpy(bool)
        copies = np.append(frame["copy"].astype("str").to_numpy(object), calls.copy)
        codes, distinct_copies = pd.factorize(copies)
        self._copy, self._copy_of_call = codes[: self._count], codes[self._count :]
        self._no_copy = _position(distinct_copies, "")
        self._label = np.where(names_work, frame["label"].cat.codes.to_numpy(np.int64), -1)
        self._group = group_codes(calls.model, calls.thread, calls.pid) if len(numbers) else numbers
        labels_count = len(frame["label"].cat.categories) + 1
        self._decided = np.zeros(labels_count, np.int64)
        self._least_group, self._most_group = np.full((2, labels_count), [[len(numbers)], [-1]])
        self.owner = np.full(self._count, -1, np.int8)
        self.reason = np.full(self._count, -1, np.int8)
        self._crowded = np.zeros(self._count, bool)
        none = np.zeros(0, np.int64)
        self._owned: list[tuple[IntArray, IntArray]] = [(none, none)]
        self._contested: list[tuple[IntArray, IntArray]] = [(none, none)]

    def assignment(self) -> Assignment:
        """Return the owner of each row."""
        self._set(self._is_work, Owner.PROCESS, Reason.OUTSIDE)
        is_named = self._is_work & self._is_other & (self._pid >= 0)
        self._set(self._is_work & self._is_other, Owner.OTHER, Reason.LABEL)
        self._set(is_named, Owner.OTHER, Reason.NAMED_PROCESS)
        rows = np.flatnonzero(self._is_work & ~self._is_other)
        pairs = self._candidates(rows, self._pool[rows])
        doubted = self._second_users(pairs)
        self._decide(pairs, doubted)
        # A row that names a model may be of a call that names none, if no call of its model is around it.
        has_pair = np.zeros(self._count, bool)
        has_pair[pairs.row] = True
        unpaired = rows[~has_pair[rows] & ~self._crowded[rows] & ~self._is_nameless[rows]]
        if self._no_model >= 0 and len(unpaired):
            self._decide_nameless(self._candidates(unpaired, np.full(len(unpaired), self._no_model)))
        self._set(self._crowded, Owner.CONTESTED, Reason.SEVERAL_CALLS)
        owned, contested = (
            tuple(np.concatenate(part) for part in zip(*pairs, strict=True))
            for pairs in (self._owned, self._contested)
        )
        window = self._calls.window
        return Assignment(
            self.owner,
            self.reason,
            owned[0],
            window[owned[1]],
            contested[0],
            window[contested[1]],
            self._crowded,
            doubted,
        )

    def _set(self, rows: BoolArray | IntArray, owner: Owner, reason: Reason) -> None:
        self.owner[rows], self.reason[rows] = OWNER_CODE[owner], REASON_CODE[reason]

    def _own(self, pairs: _Pairs, marked: BoolArray, reason: Reason) -> None:
        rows = pairs.row[marked]
        self._set(rows, Owner.CALL, reason)
        self._owned.append((rows, pairs.call[marked]))

    def _contest(self, pairs: _Pairs, marked: BoolArray, reason: Reason) -> None:
        rows = pairs.row[marked]
        self._set(rows, Owner.CONTESTED, reason)
        self._contested.append((rows, pairs.call[marked]))

    # Candidates ---------------------------------------------------------------------------------------------

    def _candidates(self, rows: IntArray, pool: IntArray) -> _Pairs:
        """Return the calls whose time, process and pool fit these rows, without those that they touch."""
        starts, ends = self._starts[rows], self._ends[rows]
        listed = self._pools.pairs(pool, starts, ends)
        self._crowded[rows[listed.crowded]] = True
        calls, call = self._calls, listed.call
        row = rows[listed.row]
        row_pid, call_pid = self._pid[row], calls.pid[call]
        fits = (row_pid < 0) | (row_pid == call_pid)
        fits |= (call_pid < 0) & (np.isin(row_pid, sorted(self._pids)) | (not self._pids))
        first = np.maximum(self._starts[row], calls.starts[call])
        shared = np.minimum(self._ends[row], calls.ends[call]) - first
        length, call_length = self._ends[row] - self._starts[row], calls.ends[call] - calls.starts[call]
        row_copy, call_copy = self._copy[row], self._copy_of_call[call]
        fits &= (row_copy == call_copy) | (row_copy == self._no_copy) | (call_copy == self._no_copy)
        fits &= (shared >= length // FLOOR) | (shared >= call_length // FLOOR)
        protrudes = length - shared
        is_contained = protrudes <= np.minimum(length // _PROTRUDES, _CLOCKS_NS)
        return _Pairs(row, call, shared, is_contained).part(fits)

    def _narrowed(self, pairs: _Pairs) -> _Pairs:
        """Return the calls that contain each row; of a row that none contains, all of its calls."""
        contained = pairs.per_row(pairs.is_contained, self._count)
        return pairs.part(pairs.is_contained | (contained == 0)[pairs.row])

    # Decisions ----------------------------------------------------------------------------------------------

    def _decide(self, pairs: _Pairs, doubted: BoolArray) -> None:
        """Give rows to their only call, or contest them.

        ``doubted`` rows need a call that shows the engine.
        """
        pairs = self._narrowed(pairs)
        is_doubted = doubted[pairs.row]
        self._decide_doubted(pairs.part(is_doubted))
        pairs = pairs.part(~is_doubted)
        alone = pairs.alone()
        self._learn(pairs.part(alone & pairs.is_contained))
        self._own(pairs, alone & pairs.is_contained, Reason.CONTAINED)
        self._own(pairs, alone & ~pairs.is_contained, Reason.MOST)
        self._decide_between(pairs.part(~alone))

    def _decide_between(self, pairs: _Pairs) -> None:
        """Decide on rows that fit several calls."""
        if not len(pairs.row):
            return
        for find, reason in (
            (self._nested, Reason.CONTAINED),
            (self._longest, Reason.MOST),
            (self._learned, Reason.LABEL_ALONE),
            (self._submitted, Reason.SUBMITTED),
            (self._only_seen, Reason.ENGINE_SEEN),
        ):
            chosen = find(pairs)
            self._own(pairs, chosen, reason)
            decided = pairs.per_row(chosen, self._count) > 0
            pairs = pairs.part(~decided[pairs.row])
        self._contest(pairs, np.ones(len(pairs.row), bool), Reason.SEVERAL_CALLS)

    def _nested(self, pairs: _Pairs) -> BoolArray:
        """Mark the calls around a row that are all of one thread: they nest, and are no choice."""
        thread = self._calls.thread[pairs.call]
        first = thread[firsts(np.unique(pairs.row, return_inverse=True)[1], len(np.unique(pairs.row)))]
        of_row = np.zeros(self._count, np.int64)
        of_row[np.unique(pairs.row)] = first
        differs = pairs.per_row((thread != of_row[pairs.row]) | (thread < 0), self._count) > 0
        marked: BoolArray = pairs.is_contained & ~differs[pairs.row]
        return marked

    def _longest(self, pairs: _Pairs) -> BoolArray:
        """Mark the call that most of a row lies in, of rows that no call contains.

        It is also the one that the row begins in, or has many times as much of it as any other.
        """
        best = np.zeros(self._count, np.int64)
        np.maximum.at(best, pairs.row, pairs.shared)
        is_best = pairs.shared == best[pairs.row]
        begins = self._calls.starts[pairs.call] <= self._starts[pairs.row]
        begins &= self._starts[pairs.row] < self._calls.ends[pairs.call]
        begun = pairs.per_row(begins, self._count)
        rivals = pairs.per_row(_DOMINATES * pairs.shared > best[pairs.row], self._count)
        is_chosen = is_best & ((rivals == 1)[pairs.row] | (begins & (begun == 1)[pairs.row]))
        marked: BoolArray = is_chosen & (pairs.per_row(is_chosen, self._count) == 1)[pairs.row]
        return marked & ~pairs.is_contained

    def _submitted(self, pairs: _Pairs) -> BoolArray:
        """Mark the only call of a row that has a sample of the engine near the row's start."""
        near = self._near(pairs)
        count = pairs.per_row(near, self._count)
        marked: BoolArray = near & (count == 1)[pairs.row]
        return marked

    def _near(self, pairs: _Pairs) -> BoolArray:
        near = np.zeros(len(pairs.row), bool)
        for engine in SERVING:
            rows = np.flatnonzero(self._engine[pairs.row] == ENGINE_CODE[engine])
            call = self._calls.window[pairs.call[rows]]
            near[rows] = self._submitters.near(engine, call, self._starts[pairs.row[rows]])
        return near & self._is_apart[pairs.row]

    @cached_property
    def _is_apart(self) -> BoolArray:
        """Marks the rows that begin so far from others of their engine that a sample shows which it is of."""
        apart = np.ones(self._count, bool)
        for engine in SERVING:
            rows = np.flatnonzero(self._is_work & (self._engine == ENGINE_CODE[engine]))
            starts = np.sort(self._starts[rows])
            starts = starts[np.append(True, starts[1:] > starts[:-1])[: len(starts)]]
            is_far = np.diff(starts) > 2 * self._submitters.near_ns
            far = np.append(True, is_far) & np.append(is_far, True) if len(starts) else is_far
            apart[rows] = far[np.searchsorted(starts, self._starts[rows])]
        return apart

    def _shows(self, pairs: _Pairs) -> tuple[BoolArray, BoolArray]:
        """Mark the calls whose stacks or log show the row's engine, and those that show others alone."""
        seen, elsewhere = np.zeros((2, len(pairs.row)), bool)
        for engine in SERVING:
            rows = np.flatnonzero(self._engine[pairs.row] == ENGINE_CODE[engine])
            call = pairs.call[rows]
            window = self._calls.window[call]
            seen[rows] = self._submitters.of_engine(engine)[window] > 0
            if engine is Engine.ANE:
                seen[rows] |= self._calls.logged[call] > 0
            elsewhere[rows] = self._submitters.beside(engine)[window] >= _FEWEST_ELSEWHERE
        return seen, elsewhere & ~seen

    def _only_seen(self, pairs: _Pairs) -> BoolArray:
        """Mark the only call of a row that shows the engine, where the others show where they worked."""
        seen, elsewhere = self._shows(pairs)
        count = pairs.per_row(seen, self._count)
        unknown = pairs.per_row(~seen & ~elsewhere, self._count)
        marked: BoolArray = seen & ((count == 1) & (unknown == 0))[pairs.row]
        return marked

    def _learn(self, pairs: _Pairs) -> None:
        """Count the rows of each label that are of calls of each model and thread."""
        label, group = self._label[pairs.row], self._group[pairs.call]
        np.add.at(self._decided, label, 1)
        np.minimum.at(self._least_group, label, group)
        np.maximum.at(self._most_group, label, group)

    def _learned(self, pairs: _Pairs) -> BoolArray:
        """Mark the only call of a row that is of the model and thread of all decided rows of its label."""
        label = self._label[pairs.row]
        is_known = (self._decided >= _FEWEST_ALONE) & (self._least_group == self._most_group)
        is_known[-1] = False
        fits = is_known[label] & (self._group[pairs.call] == self._least_group[label])
        marked: BoolArray = fits & (pairs.per_row(fits, self._count) == 1)[pairs.row]
        return marked

    # Another process
    # -----------------------------------------------------------------------------------------

    def _second_users(self, pairs: _Pairs) -> BoolArray:
        """Mark the open rows of models that another process has as well.

        It has if a row of the model's name lies between the model's calls, mostly in none of them, and no
        stack of the process shows a call that the tables lack; or if a stack of another process hands over
        work where a row begins, and no stack of the row's call.
        """
        named = np.flatnonzero(self._is_open & ~self._is_nameless & (self._pool >= 0))
        doubted = np.zeros(self._count, bool)
        if not len(named) or not self._has_runtime:
            return doubted
        calls = self._calls
        pool_count = max(int(self._pool.max()), int(self._pool_of_call.max(initial=0))) + 1
        first, last = np.full(pool_count, np.iinfo(np.int64).max), np.full(pool_count, -1)
        pid = np.full(pool_count, -1)
        np.minimum.at(first, self._pool_of_call, calls.starts)
        np.maximum.at(last, self._pool_of_call, calls.ends)
        pid[self._pool_of_call] = calls.pid
        has_pair = np.zeros(self._count, bool)
        has_pair[pairs.row] = True
        pool = self._pool[named]
        between = (self._starts[named] >= first[pool]) & (self._ends[named] <= last[pool])
        shared = pairs.per_row(pairs.shared, self._count)
        length = self._ends - self._starts
        is_outside = (2 * shared < length) & ~self._crowded
        # Where most rows reach far beyond their calls, the clocks of the two tables may be the reason.
        inside, beyond = (
            np.bincount(pool[marked[named]], minlength=pool_count)
            for marked in (2 * shared >= length, is_outside & has_pair)
        )
        is_odd = is_outside & (~has_pair | np.append(beyond <= inside, False)[self._pool])
        outside = named[is_odd[named] & (between | self._comes_twice(named, is_odd[named] & ~between))]
        is_submitted = self._submitters.by_process(
            Engine.ANE, pid[self._pool[outside]], self._starts[outside]
        )
        proven = np.zeros(pool_count, bool)
        proven[self._pool[outside[~is_submitted]]] = True
        doubted[named] = proven[pool]
        foreign = self._submitted_elsewhere(named, pid[pool])
        doubted[named[foreign]] = True
        return doubted

    def _lies_outside(self, pairs: _Pairs) -> BoolArray:
        """Mark the models of labels with a row in no call, if all rows of others lie in calls."""
        is_inside = pairs.per_row(pairs.is_contained, self._count) > 0
        rows = np.flatnonzero(self._is_open & ~self._is_nameless)
        count = len(self._models) + 1
        inside, every = (
            np.bincount(self._model[chosen], minlength=count) for chosen in (rows[is_inside[rows]], rows)
        )
        is_always = (every > 0) & (inside == every)
        marked: BoolArray = (inside < every) & bool(is_always.any() and not self._has_runtime)
        return marked

    def _comes_twice(self, rows: IntArray, marked: BoolArray) -> BoolArray:
        """Mark rows before the first call or after the last whose label comes twice there.

        The recording cuts one call at each end, and a call has one row of a label.
        """
        label = self._label[rows]
        counts = np.bincount(label[marked & (label >= 0)], minlength=int(label.max(initial=0)) + 1)
        twice: BoolArray = marked & (label >= 0) & (np.append(counts, 0)[label] > 1)
        return twice

    def _submitted_elsewhere(self, rows: IntArray, pid: IntArray) -> BoolArray:
        """Mark rows at whose start a stack of another process hands over work, unless to a row of its own."""
        is_elsewhere = self._submitters.elsewhere(Engine.ANE, pid, self._starts[rows]) & (pid >= 0)
        other_starts = np.sort(self._starts[self._is_work & self._is_other])
        if not len(other_starts) or not is_elsewhere.any():
            return is_elsewhere
        near = self._submitters.near_ns
        first, last = (
            np.searchsorted(other_starts, self._starts[rows] + shift) for shift in (-near, near + 1)
        )
        alone: BoolArray = is_elsewhere & (last == first)
        return alone

    def _decide_doubted(self, pairs: _Pairs) -> None:
        """Give a row that another process may own to the only call around it that shows the engine."""
        if not len(pairs.row):
            return
        near = self._near(pairs)
        seen, _ = self._shows(pairs)
        shows = near | (seen & (pairs.per_row(near, self._count) == 0)[pairs.row])
        count = pairs.per_row(shows, self._count)
        self._own(pairs, shows & (count == 1)[pairs.row], Reason.SUBMITTED)
        self._contest(pairs, shows & (count > 1)[pairs.row], Reason.SEVERAL_CALLS)
        unseen = pairs.part((count == 0)[pairs.row])
        pid = self._calls.pid[unseen.call]
        is_foreign = self._submitted_elsewhere(unseen.row, pid)
        foreign = unseen.per_row(is_foreign, self._count) > 0
        self._contest(unseen, ~foreign[unseen.row], Reason.SECOND_USER)
        rows = np.flatnonzero(foreign)
        self._set(rows, Owner.OTHER, Reason.SUBMITTED)
        if self._no_model >= 0 and len(rows):
            # The other process may have a call on stacks.
            nameless = self._candidates(rows, np.full(len(rows), self._no_model))
            near = self._near(nameless)
            count = nameless.per_row(near, self._count)
            self._own(nameless, near & (count == 1)[nameless.row], Reason.SUBMITTED)

    def _decide_nameless(self, pairs: _Pairs) -> None:
        """Give rows that name a model to calls that name none.

        Where other calls are of the row's model, it lies outside of them: only a stack shows that it is of
        this one. The same holds for a label that no stack supports, beside labels that some do, and for one
        whose rows lie outside of calls, beside labels whose rows all lie in calls.
        """
        is_open = self._is_open[pairs.row]
        near = self._near(pairs)
        supported = np.zeros(len(self._models) + 1, bool)
        supported[self._model[pairs.row[near & is_open]]] = True
        is_elsewhere = self._pool[pairs.row] >= 0
        is_odd = ~supported[self._model[pairs.row]] & (supported.any() and not self._has_runtime)
        is_odd |= self._lies_outside(pairs)[self._model[pairs.row]]
        needs_stack = is_open & (is_elsewhere | is_odd)
        open_pairs = pairs.part(needs_stack)
        near = near[needs_stack]
        count = open_pairs.per_row(near, self._count)
        self._own(open_pairs, near & (count == 1)[open_pairs.row], Reason.SUBMITTED)
        self._contest(open_pairs, near & (count > 1)[open_pairs.row], Reason.SEVERAL_CALLS)
        self._contest(open_pairs, (count == 0)[open_pairs.row], Reason.NO_SUBMITTER)
        self._decide(pairs.part(~needs_stack), np.zeros(self._count, bool))


def _position(values: npt.NDArray[np.object_], value: str) -> int:
    """Return the position of a value among distinct ones, -2 where it is not there."""
    positions = np.flatnonzero(values == value)
    return int(positions[0]) if len(positions) else -2
