"""Tables of a kdebug stream: samples of kperf, and signposts of ``kdebug_signpost``.

A signpost is an event of class 0x21 (applications), subclass 0x0a: its code is a number that the app chose,
its place in a pair that of every event (libsyscall/wrappers/kdebug_trace.c of apple-oss-distributions/xnu).
A Begin and its End are of one thread: the numbers of an app have no other identity, and two threads may use
one of them at the same time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import (
    BINARIES,
    FRAMES,
    PROCESSES,
    THREADS,
    IntArray,
    make_categorical,
    take_texts,
)
from tracekit.model.schemas import SIGNPOST_EVENTS, TIME_PROFILE
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.combine import merge_stacks
from tracekit.parsers.kdebug.kdebug_samples import STATES, KperfSamples, Words
from tracekit.parsers.kdebug.kdebug_stream import Events
from tracekit.parsers.kdebug.kdebug_tasks import KERNEL_PID, KdebugTasks, KnownThread
from tracekit.parsers.kdebug.stackshot import Image

_SAMPLE_COLUMNS = (
    Column("time", "Sample Time", "sample-time", "int"),
    Column("thread", "Thread", "thread", "thread"),
    Column("core", "Core", "core", "int"),
    Column("thread-state", "Thread State", "thread-state", "text"),
    Column("weight", "Weight", "weight", "int"),
    Column("stack", "Backtrace", "backtrace", "stack"),
)
_SIGNPOST_COLUMNS = (
    Column("time", "Timestamp", "event-time", "int"),
    Column("thread", "Thread", "thread", "thread"),
    Column("process", "Process", "process", "process"),
    Column("event-type", "Event Type", "event-type", "text"),
    Column("scope", "Scope", "string", "text"),
    Column("name", "Name", "signpost-name", "text"),
    Column("subsystem", "Subsystem", "subsystem", "text"),
    Column("message", "Message", "os-log-metadata", "text"),
)
_SIGNPOST_CLASS = 0x210A
_EVENT_TYPES = ("Event", "Begin", "End", "Event")
"""By the place in a pair; one that is both begins and ends at once."""
_CODE_MASK = np.uint32(0xFFFC)


def build_sample_table(
    samples: KperfSamples, tasks: KdebugTasks, times: IntArray, period_ns: int, *, is_apple_silicon: bool
) -> Table:
    """Return samples with the schema ``time-profile``; one of a running thread weighs ``period_ns``."""
    owners = _build_owners(samples.tids, samples.pids, tasks)
    stacks, stack_ids = _build_stacks(samples, owners.pids, tasks, "arm64" if is_apple_silicon else "")
    running = samples.states == STATES.index("Running")
    rows = pd.DataFrame(
        {
            "time": pd.array(times, dtype="Int64"),
            "thread": owners.thread_rows,
            "core": pd.array(samples.cpus, dtype="Int64"),
            "thread-state": make_categorical(samples.states, STATES),
            "weight": pd.array(running * period_ns, dtype="Int64"),
            "stack": stack_ids,
        }
    )
    return Table(TIME_PROFILE, _SAMPLE_COLUMNS, rows, owners.threads, owners.processes, stacks)


def select_signposts(events: Events) -> Events:
    """Return the events that are signposts."""
    signposts: Events = events[events["code"] >> 16 == _SIGNPOST_CLASS]
    return signposts


def build_signpost_table(signposts: Events, times: IntArray, tasks: KdebugTasks) -> Table:
    """Return signposts as Begin, End and Event, each with its four arguments as message."""
    owners = _build_owners(signposts["tid"], np.full(len(signposts), -1, np.int64), tasks)
    codes, numbers = pd.factorize((signposts["code"] & _CODE_MASK) >> 2)
    count = len(signposts)
    same = np.zeros(count, np.int32)
    messages, distinct = pd.factorize(
        np.array([", ".join(map(str, row)) for row in signposts["arguments"].tolist()], object)
    )
    rows = pd.DataFrame(
        {
            "time": pd.array(times, dtype="Int64"),
            "thread": owners.thread_rows,
            "process": owners.process_rows,
            "event-type": make_categorical(
                np.array([0, 1, 2, 0], np.int8)[signposts["code"] & 3], list(_EVENT_TYPES[:3])
            ),
            "scope": make_categorical(same, ["Thread"]),
            "name": make_categorical(codes, [f"signpost {number}" for number in numbers.tolist()]),
            "subsystem": make_categorical(same, ["kdebug"]),
            "message": make_categorical(messages, list(map(str, distinct))),
        }
    )
    return Table(
        SIGNPOST_EVENTS, _SIGNPOST_COLUMNS, rows, owners.threads, owners.processes, StackTable.empty()
    )


@frozen
class _RowOwners:
    """The threads and processes of a table, and those of each row; ``pids`` are the rows' processes."""

    thread_rows: npt.NDArray[np.int32]
    process_rows: npt.NDArray[np.int32]
    pids: IntArray
    threads: pd.DataFrame
    processes: pd.DataFrame


def _build_owners(row_tids: Words, row_pids: IntArray, tasks: KdebugTasks) -> _RowOwners:
    """Return the owners of rows; a process of -1 is that of the thread, as far as it is known."""
    rows, tids = pd.factorize(row_tids.astype(np.int64))
    stated_pids = np.full(len(tids), -1, np.int64)
    stated_pids[rows] = row_pids
    known = [tasks.threads.get(tid, KnownThread()) for tid in tids.tolist()]
    thread_pids = np.where(stated_pids >= 0, stated_pids, [thread.pid for thread in known])
    process_rows, pids = pd.factorize(thread_pids)
    names = [tasks.process_names.get(pid, "") for pid in pids.tolist()]
    threads = pd.DataFrame(
        {
            "tid": tids,
            "name": [thread.name for thread in known],
            "pid": thread_pids,
            "process": [names[row] for row in process_rows.tolist()],
        }
    ).astype(dict(THREADS.required))
    processes = pd.DataFrame({"pid": pids, "name": names}).astype(dict(PROCESSES.required))
    return _RowOwners(
        rows.astype(np.int32),
        process_rows.astype(np.int32)[rows],
        thread_pids[rows],
        threads,
        processes,
    )


def _build_stacks(
    samples: KperfSamples, pids: IntArray, tasks: KdebugTasks, arch: str
) -> tuple[StackTable, npt.NDArray[np.int32]]:
    """Return the distinct stacks, and each sample's row of them; -1 for none."""
    counts = np.diff(samples.offsets)
    frame_pids = np.where(samples.in_kernel, KERNEL_PID, np.repeat(pids, counts))
    # A frame is an address in a process. Addresses are numbered first, so that a pair fits into one integer.
    address_codes, addresses = pd.factorize(samples.addresses)
    pid_codes, distinct_pids = pd.factorize(frame_pids)
    width = max(len(distinct_pids), 1)
    frame_ids, pairs = pd.factorize(address_codes.astype(np.int64) * width + pid_codes)
    frame_addresses = addresses[pairs // width].astype(np.uint64)
    binary_ids, binaries = _find_binaries(frame_addresses, distinct_pids[pairs % width], tasks, arch)
    frames = pd.DataFrame(
        {
            "symbol": take_texts(
                np.arange(len(frame_addresses)), [f"{address:#x}" for address in frame_addresses.tolist()]
            ),
            "binary_id": binary_ids,
            "address": frame_addresses,
            "source_file": make_categorical(np.zeros(len(frame_addresses), np.int8), [""]),
            "source_line": np.full(len(frame_addresses), -1, np.int32),
            "inlined": np.zeros(len(frame_addresses), bool),
        }
    )
    stacks, rows = merge_stacks(
        counts,
        frame_ids.astype(np.int32),
        FRAMES.check(frames, "frames"),
        BINARIES.check(binaries, "binaries"),
    )
    return stacks, np.where(counts > 0, rows, -1).astype(np.int32)


def _find_binaries(
    addresses: npt.NDArray[np.uint64], pids: IntArray, tasks: KdebugTasks, arch: str
) -> tuple[npt.NDArray[np.int32], pd.DataFrame]:
    """Return each frame's row of binaries (-1 for none), and the binaries."""
    binary_ids = np.full(len(addresses), -1, np.int32)
    records: dict[Image, int] = {}
    for pid in np.unique(pids).tolist():
        starts, known_images = tasks.find_images(pid)
        frames = np.flatnonzero(pids == pid)
        images = np.searchsorted(starts, addresses[frames], side="right") - 1
        for image in np.unique(images[images >= 0]).tolist():
            row = records.setdefault(known_images[image], len(records))
            binary_ids[frames[images == image]] = row
    binaries = pd.DataFrame(
        {
            "name": [image.name for image in records],
            "path": [image.path for image in records],
            "uuid": [image.uuid for image in records],
            "arch": arch,
            "load_address": np.array([image.address for image in records], np.uint64),
        }
    )
    return binary_ids, binaries.astype(dict(BINARIES.required))
