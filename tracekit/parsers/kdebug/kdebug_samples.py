"""Events of kperf → the samples that it took: when, of which thread, in which state, and its stack.

The events of one sample are between its begin and its end, in the order of the thread that took it. Events of
other threads may stand between them:

    PERF_Event begin      (samplers, action)
    PERF_THD_Data         (pid, tid, dispatch queue, run mode) of the thread that was sampled
    PERF_STK_KHdr, UHdr   (flags, frames)
    PERF_STK_KData, UData (four addresses each, leaf first)
    PERF_Event end

Sources: osfmk/kperf/{buffer.h, callstack.c, kperf.c, thread_samplers.c} of apple-oss-distributions/xnu, and
pykdebugparser, which tests compare with. Frames of asynchronous callers, which follow a user stack, are left
out.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.parsers.kdebug.kdebug_stream import Events

Words: TypeAlias = npt.NDArray[np.uint64]

_CLASS = 0x25
_SAMPLE = 0x2500_0000
_THREAD_DATA = 0x2501_0004
_KERNEL_DATA, _USER_DATA = 0x2502_000C, 0x2502_0010
_KERNEL_HEADER, _USER_HEADER = 0x2502_0014, 0x2502_0018
_BEGIN, _END = 1, 2
_PLACE = np.uint32(3)
"""The bits of a code that are the place in a pair."""
_RUNNING, _RUNNABLE, _WAITING = 1, 2, 4
"""Run modes of osfmk/kperf/thread_samplers.h."""
STATES = ("Running", "Runnable", "Blocked", "")
"""The names of ``KperfSamples.states``; the last is unknown."""
_FRAMES_PER_EVENT = 4


@frozen
class KperfSamples:
    """Samples, thread by thread. ``ticks`` are as recorded; ``pids`` are -1 where no event states them.

    ``offsets`` and ``addresses`` are the stacks in CSR form, leaf first; ``in_kernel`` marks the kernel's
    frames.
    """

    ticks: Words
    tids: Words
    pids: IntArray
    cpus: IntArray
    states: npt.NDArray[np.int8]
    offsets: IntArray
    addresses: Words
    in_kernel: BoolArray
    cut_off: int
    """Samples whose end, or some of whose frames, were not recorded."""


def select_rows(events: Events, classes: tuple[int, ...]) -> IntArray:
    """Return the rows of the events of some classes."""
    return np.flatnonzero(np.isin(events["code"] >> 24, classes))


def read_samples(events: Events) -> KperfSamples:
    """Return the samples among some events, in the order of threads."""
    # Sorted by thread, and within a thread as recorded, the events of a sample are neighbours. An event
    # belongs to the last begin before it, if that is of its thread and no end is between them:
    #   events       d E B D h d E d │ B h d       B begin, E end, D thread, h header, d data
    #   last_begin   . . 2 2 2 2 2 2 │ 8 8 8
    #   ends_before  0 0 1 1 1 1 1 2 │ 2 2 2
    #   is_inside    . . T T T T T . │ T T T
    rows = select_rows(events, (_CLASS,))
    rows = rows[np.argsort(events["tid"][rows], kind="stable")]
    tids, codes = events["tid"][rows], events["code"][rows]
    is_begin, is_end = codes == _SAMPLE | _BEGIN, codes == _SAMPLE | _END
    begins = np.flatnonzero(is_begin)
    sample_of_event = np.cumsum(is_begin) - 1
    last_begin = np.append(begins, -1)[sample_of_event]
    ends_before = np.cumsum(is_end) - is_end
    is_inside = (last_begin >= 0) & (tids == tids[last_begin]) & (ends_before == ends_before[last_begin])
    has_end = np.zeros(len(begins), bool)
    has_end[sample_of_event[is_end & is_inside]] = True
    inner = _InnerEvents(
        events, rows[is_inside], codes[is_inside] & ~_PLACE, sample_of_event[is_inside], len(begins)
    )
    sampled_tids, pids, states = _read_threads(inner, tids[begins])
    kernel = _read_frames(inner, _KERNEL_HEADER, _KERNEL_DATA)
    user = _read_frames(inner, _USER_HEADER, _USER_DATA)
    offsets, addresses, in_kernel = _join_frames(kernel, user)
    return KperfSamples(
        events["ticks"][rows[begins]],
        sampled_tids,
        pids,
        events["cpu"][rows[begins]].astype(np.int64),
        states,
        offsets,
        addresses,
        in_kernel,
        int((~has_end | kernel.is_cut | user.is_cut).sum()),
    )


@frozen
class _InnerEvents:
    """The events between begin and end of samples: ``rows`` of ``events``, and the sample of each."""

    events: Events
    rows: IntArray
    codes: npt.NDArray[np.uint32]
    samples: IntArray
    sample_count: int

    def select(self, code: int) -> tuple[IntArray, Words]:
        """Return the sample and the four arguments of each event of a code."""
        is_of_code = self.codes == code
        return self.samples[is_of_code], self.events["arguments"][self.rows[is_of_code]]


@frozen
class _Frames:
    """The frames of one kind: ``counts`` for each sample, and their addresses, sample after sample."""

    counts: IntArray
    addresses: Words
    is_cut: BoolArray


def _read_threads(inner: _InnerEvents, own_tids: Words) -> tuple[Words, IntArray, npt.NDArray[np.int8]]:
    """Return each sample's thread, process and state."""
    # A timer samples the thread that it interrupts, which runs; a sampling thread states whom it samples.
    tids = own_tids.copy()
    pids = np.full(inner.sample_count, -1, np.int64)
    states = np.full(inner.sample_count, STATES.index("Running"), np.int8)
    samples, arguments = inner.select(_THREAD_DATA)
    modes = arguments[:, 3]
    pids[samples] = arguments[:, 0].astype(np.int64)
    tids[samples] = arguments[:, 1]
    states[samples] = np.select(
        [modes & np.uint64(_RUNNING) > 0, modes & np.uint64(_RUNNABLE) > 0, modes & np.uint64(_WAITING) > 0],
        [0, 1, 2],
        3,
    )
    return tids, pids, states


def _read_frames(inner: _InnerEvents, header_code: int, data_code: int) -> _Frames:
    """Return the frames whose number a header states, and which follow four to an event."""
    header_samples, headers = inner.select(header_code)
    stated = np.zeros(inner.sample_count, np.uint64)
    stated[header_samples] = headers[:, 1]
    samples, arguments = inner.select(data_code)
    #   samples   0 0 2        first event of a sample   0 0 2        slots   0…3 4…7 0…3
    event_number = np.arange(len(samples)) - np.searchsorted(samples, samples)
    slots = event_number[:, None] * _FRAMES_PER_EVENT + np.arange(_FRAMES_PER_EVENT)
    is_frame = (slots.astype(np.uint64) < stated[samples][:, None]) & (arguments > 0)
    recorded = np.bincount(samples, minlength=inner.sample_count) * _FRAMES_PER_EVENT
    counts = np.bincount(samples, is_frame.sum(axis=1), minlength=inner.sample_count).astype(np.int64)
    return _Frames(counts, arguments[is_frame], stated > recorded.astype(np.uint64))


def _join_frames(kernel: _Frames, user: _Frames) -> tuple[IntArray, Words, BoolArray]:
    """Return the stacks: the kernel's frames, which are nearer to the leaf, then those of the process."""
    offsets = np.concatenate([[0], np.cumsum(kernel.counts + user.counts)]).astype(np.int64)
    addresses = np.zeros(int(offsets[-1]), np.uint64)
    in_kernel = np.zeros(len(addresses), bool)
    for frames, starts in ((kernel, offsets[:-1]), (user, offsets[:-1] + kernel.counts)):
        before = np.cumsum(frames.counts) - frames.counts
        positions = np.arange(len(frames.addresses)) + np.repeat(starts - before, frames.counts)
        addresses[positions] = frames.addresses
        in_kernel[positions] = frames is kernel
    return offsets, addresses, in_kernel
