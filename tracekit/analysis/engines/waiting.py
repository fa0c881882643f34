"""Waiting: when a thread that had submitted work to an engine was off the CPU.

It is known in one of three ways: the best that a recording has for an engine, and never two in one number:

* measured: rows of ``thread-state`` show that the thread was blocked, or Core ML's rows that a request was
  under way;
* sampled: the recorder sampled blocked threads too (``record-waiting-threads``);
* inferred: the thread was sampled submitting work or waiting, and next sampled only later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_keys, group_positions, is_among, is_engine, is_phase
from tracekit.analysis.engines.interval_sets import IntervalSet, merge_sets
from tracekit.analysis.windows.stack_windows import LONG_HOLE_NS
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, Basis, Engine, Phase

AWAITED = (Engine.ANE, Engine.GPU, Engine.RUNTIME)
"""RUNTIME: the thread waits inside Core ML, and its stack does not show the engine."""
_BLOCKED = ("Blocked", "Waiting")
_BLOCK_SAMPLES = 1 << 20  # samples looked at together: memory for many millions at once is slow to get


@frozen
class _Lane:
    engine: Engine
    thread_id: int
    pid: int
    is_worker: bool


class Waiting:
    """Intervals of waiting by engine and thread, and the basis of each engine's waiting."""

    def __init__(self, trace: Trace, labels: SampleLabels) -> None:
        self._trace = trace
        self._labels = labels
        self.basis: dict[Engine, Basis] = {}
        self._lanes: dict[_Lane, IntervalSet] = {}
        lanes_by_basis = {
            Basis.MEASURED: self._find_blocked_states(),
            Basis.SAMPLED: self._find_blocked_samples(),
            Basis.INFERRED: self._find_gaps(),
        }
        # The first basis that has any waiting of the engine wins for the engine as a whole. Adding a weaker
        # basis for threads that the stronger one lacks would mix two in one number.
        for engine in AWAITED:
            for basis, lanes in lanes_by_basis.items():
                of_engine = {
                    lane: spans for lane, spans in lanes.items() if lane.engine is engine and len(spans)
                }
                if of_engine:
                    self.basis[engine] = basis
                    self._lanes |= of_engine
                    break

    def spans(self, engine: Engine, thread_id: int, pid: int, with_workers: bool) -> IntervalSet:
        """Return when that thread waited for the engine, or a worker of its process did for it.

        ``thread_id`` -1 is any thread, ``pid`` -1 any process.
        """
        if thread_id < 0:
            return merge_sets(self._groups["process", engine, pid])
        own = self._groups["thread", engine, thread_id] if pid in (-1, self._pids[thread_id]) else ()
        return merge_sets([*own, *(self._groups["workers", engine, pid] if with_workers else ())])

    @cached_property
    def _pids(self) -> list[int]:
        """The process of each thread."""
        pids: list[int] = self._trace.threads["pid"].tolist()
        return pids

    @cached_property
    def _groups(self) -> Mapping[tuple[str, Engine, int], Sequence[IntervalSet]]:
        """The lanes of a thread, of a process and of its workers; process -1 is any."""
        groups: defaultdict[tuple[str, Engine, int], list[IntervalSet]] = defaultdict(list)
        for lane, spans in self._lanes.items():
            groups["thread", lane.engine, lane.thread_id].append(spans)
            for pid in {lane.pid, -1}:
                groups["process", lane.engine, pid].append(spans)
                if lane.is_worker:
                    groups["workers", lane.engine, pid].append(spans)
        return groups

    @cached_property
    def _submits(self) -> BoolArray:
        hands_over = is_phase(self._labels.phase, Phase.DISPATCH, Phase.WAIT)
        return hands_over & is_engine(self._labels.engine, *AWAITED)

    def _find_gaps(self) -> dict[_Lane, IntervalSet]:
        """Return the holes after samples that submit work; a long one may be the end of the call."""
        if self._trace.weight_unit != "ns":
            return {}
        times = self._trace.samples["time_ns"].to_numpy(np.int64)
        period = sampling_period_ns(self._trace)
        nothing = np.zeros(0, np.int64)
        gaps = [(nothing, nothing)]
        for rows, following in self._iter_followed():
            hole = times[following] - times[rows]
            # Longer than 1.5 periods: at least one sample is missing, beyond the jitter of the timer.
            waits = np.flatnonzero((2 * hole > 3 * period) & (hole <= max(LONG_HOLE_NS, 5 * period)))
            gaps.append((rows[waits], following[waits]))
        rows, following = (np.concatenate(part) for part in zip(*gaps, strict=True))
        return self._group_by_lane(rows, times[rows] + period, times[following], self._labels.engine)

    def _iter_followed(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the samples that submit work and are not their thread's last, and the next of each."""
        threads = self._trace.samples["thread_id"].to_numpy()
        threads = threads.astype(
            np.min_scalar_type(-1 - len(self._trace.threads))
        )  # sorts fast up to 16 bits
        order = np.argsort(threads, kind="stable")
        for begin in range(0, len(order), _BLOCK_SAMPLES):
            piece = order[begin : begin + _BLOCK_SAMPLES + 1]
            # Sorted by thread, each sample's neighbor is its thread's next one, but for the last of a thread.
            positions = np.flatnonzero(self._submits[piece[:-1]])
            rows, following = piece[positions], piece[positions + 1]
            in_thread = np.flatnonzero(threads[rows] == threads[following])
            yield rows[in_thread], following[in_thread]

    def _find_blocked_samples(self) -> dict[_Lane, IntervalSet]:
        # States are categories: the test is made once per category, and code -1 (no state) takes the appended
        # False.
        state = self._trace.samples["state"].cat
        is_blocked = np.append(state.categories.isin(_BLOCKED), False)
        blocked = is_blocked[state.codes.to_numpy()]
        rows = np.flatnonzero(blocked & self._submits)
        if self._trace.weight_unit != "ns":
            return {}
        times = self._trace.samples["time_ns"].to_numpy(np.int64)[rows]
        return self._group_by_lane(rows, times, times + self._trace.weights[rows], self._labels.engine)

    def _find_blocked_states(self) -> dict[_Lane, IntervalSet]:
        """Return blocked thread states that follow a sample of the same thread which submits work.

        A thread that was last seen elsewhere in a prediction call waits inside the runtime.
        """
        states = self._trace.thread_states
        states = states[is_among(states["state"], *_BLOCKED)]
        if not len(states) or not len(self._trace.samples) or not self._trace.has_timeline:
            return {}
        # Samples sorted by (thread, time): the sample before a state is found by a binary search.
        # Row -1 of a sample's thread takes the appended -1, which no thread has.
        tids = np.append(self._trace.threads["tid"].to_numpy(np.int64), -1)
        tid = tids[self._trace.samples["thread_id"].to_numpy()]
        times = self._trace.samples["time_ns"].to_numpy(np.int64)
        sampled_tids = np.unique(tid)
        order = np.lexsort((times, tid))
        keys = np.searchsorted(sampled_tids, tid[order])
        thread_keys, is_sampled = _find(sampled_tids, states["tid"].to_numpy(np.int64))
        starts = states["start_ns"].to_numpy(np.int64)
        last_position = _find_last_before(keys, times[order], thread_keys, starts)
        sample = order[np.maximum(last_position, 0)]
        is_near = starts - times[sample] <= LONG_HOLE_NS  # it may wake and wait again without a sample
        fits = (
            is_sampled & (last_position >= 0) & (keys[np.maximum(last_position, 0)] == thread_keys) & is_near
        )
        submits = self._submits
        fits &= (submits | self._labels.in_call)[sample]
        engines = np.where(submits, self._labels.engine, ENGINE_CODE[Engine.RUNTIME])
        ends = states["end_ns"].to_numpy(np.int64)
        return self._group_by_lane(sample[fits], starts[fits], ends[fits], engines)

    def _group_by_lane(
        self, samples: IntArray, starts: IntArray, ends: IntArray, engines: npt.NDArray[np.integer]
    ) -> dict[_Lane, IntervalSet]:
        """Group intervals by the engine, the thread and the process of the sample before each."""
        threads = self._trace.samples["thread_id"].to_numpy()
        workers = self._labels.is_worker[samples]
        width = len(self._trace.threads) + 1
        # A thread belongs to one process, so engine, thread and worker identify a lane.
        keys, lane_of_sample = group_keys(
            (engines[samples].astype(np.int64) * width + threads[samples] + 1) * 2 + workers
        )
        lanes = {}
        for positions in group_positions(lane_of_sample, len(keys)):
            first_sample = int(samples[positions[0]])
            lane = _Lane(
                ENGINES[engines[first_sample]],
                int(threads[first_sample]),
                int(self._labels.pid[first_sample]),
                bool(self._labels.is_worker[first_sample]),
            )
            lanes[lane] = IntervalSet.of(starts[positions], ends[positions])
        return lanes


def _find(sorted_values: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the position of each value among sorted ones, and a mark for those that occur there."""
    positions = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return positions, (sorted_values[positions] == values) & (values >= 0)


def _find_last_before(keys: IntArray, times: IntArray, query_keys: IntArray, moments: IntArray) -> IntArray:
    """Return, per (query key, moment), the position of the last sorted (key, time) that is not after it.

    Both parts become one number: key × span + rank of the time, where all times share one ranking. Ranks fit
    where nanoseconds times the number of keys would not.
    """
    #   keys 0 0 1, times 10 30 20        ranked   0·4+0   0·4+2   1·4+1
    #   query (0, 25) with ranks of 10 20 25 30 …   the rank of 25 decides within key 0, and key 1 lies above
    every = np.unique(np.concatenate([times, moments]))
    span = np.int64(len(every) + 1)
    ranked = keys * span + np.searchsorted(every, times)
    positions: IntArray = (
        np.searchsorted(ranked, query_keys * span + np.searchsorted(every, moments), "right") - 1
    )
    return positions
