"""Kdebug streams and stackshots as sources: samples with the schema ``time-profile``, or counted stacks.

A stream states no weights. Each sample of a running thread counts as one sampling interval, the usual
distance between samples of one core; samples of other threads weigh nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import (
    BINARIES,
    FRAMES,
    PROCESSES,
    THREADS,
    IntArray,
    make_categorical,
    take_texts,
)
from tracekit.model.schemas import TIME_PROFILE
from tracekit.model.tables import Column, StackTable, Table
from tracekit.model.trace import KDEBUG, Issue, TraceInfo
from tracekit.parsers.combine import merge_stacks
from tracekit.parsers.in_memory import InMemorySource
from tracekit.parsers.kdebug.kdebug_samples import STATES, KperfSamples, read_samples
from tracekit.parsers.kdebug.kdebug_stream import (
    KdebugStream,
    choose_tick_rate,
    convert_ticks,
    read_kdebug_stream,
)
from tracekit.parsers.kdebug.kdebug_tasks import (
    KERNEL_PID,
    KdebugTasks,
    KnownThread,
    collect_tasks,
    name_thread,
)
from tracekit.parsers.kdebug.kernel_file_heads import COMPRESSED_KCDATA, STACKSHOT
from tracekit.parsers.kdebug.stackshot import Image, Stackshot, parse_stackshot, parse_stackshot_json
from tracekit.parsers.limits import Limits, require_at_most
from tracekit.parsers.text.pause import PauseCounts, PausedFrame, PausedImage
from tracekit.parsers.text.text_recording import TextRecording, build_source
from tracekit.text import plural

_COLUMNS = (
    Column("time", "Sample Time", "sample-time", "int"),
    Column("thread", "Thread", "thread", "thread"),
    Column("core", "Core", "core", "int"),
    Column("thread-state", "Thread State", "thread-state", "text"),
    Column("weight", "Weight", "weight", "int"),
    Column("stack", "Backtrace", "backtrace", "stack"),
)
_DEFAULT_PERIOD_NS = 1_000_000
_MIN_DISTANCES = 3
"""One or two distances are no sign of a timer."""
_MOST_NS = 2**60
"""36 years: more than any recording lasts."""
_MAX_STACKSHOT_BYTES = 1 << 30
_NO_SAMPLES_ADVICE = "Record samples: a time trigger with user stacks (kperf), such as Time Profiler's."


def open_kernel_recording(
    path: Path, name: str, limits: Limits, stackshot: Path | None = None, sampled_event: str = ""
) -> InMemorySource:
    """Return a stream or a stackshot as a source of one run.

    ``stackshot`` is one that pymobiledevice3 saved as JSON when the stream began. ``sampled_event`` is a
    clause about the event at which samples were taken, where it is known that no timer took them. Raises
    ``InputError`` for a recording without a sample, and ``LimitError``.
    """
    with path.open("rb") as file:
        head = file.read(4)
    if head in (STACKSHOT, COMPRESSED_KCDATA):
        recording = _read_stackshot(path, name, limits)
        return build_source(name, "stackshot", [recording], limits)
    return build_source(name, KDEBUG, [_read_stream(path, name, limits, stackshot, sampled_event)], limits)


def _read_stackshot(path: Path, name: str, limits: Limits) -> TextRecording:
    require_at_most(name, path.stat().st_size, _MAX_STACKSHOT_BYTES, "bytes")
    counts = PauseCounts(name, limits)
    tasks = parse_stackshot(path.read_bytes(), name).tasks
    kernel = _ImageStarts(next((task.images for task in tasks if task.pid == KERNEL_PID), ()))
    for task in tasks:
        images = _ImageStarts(task.images)
        for thread in task.threads:
            row = counts.add_thread(thread.tid, name_thread(thread.name, thread.queue), task.pid, task.name)
            frames = [*kernel.pair_frames(thread.kernel_frames), *images.pair_frames(thread.user_frames)]
            counts.add_stack(row, counts.add_frames(frames), 1, thread.state)
    if not len(counts):
        raise InputError(name, "is a stackshot without a thread.", "Save the stackshot again.")
    return TextRecording(TraceInfo(name, "stackshot"), (counts,))


class _ImageStarts:
    """Images of a process, none of which has an end: a frame lies in the last one that begins before it."""

    def __init__(self, images: Sequence[Image]) -> None:
        in_order = sorted(images)
        self._starts = [image.address for image in in_order]
        self._images = [
            PausedImage(image.name, image.path, image.uuid, "", image.address) for image in in_order
        ]

    def pair_frames(self, addresses: Sequence[int]) -> list[tuple[PausedFrame, PausedImage | None]]:
        """Return a frame for each address, with its image if there is one."""
        rows = (bisect_right(self._starts, address) - 1 for address in addresses)
        return [
            (PausedFrame("", address=address), self._images[row] if row >= 0 else None)
            for address, row in zip(addresses, rows, strict=True)
        ]


def _read_stream(
    path: Path, name: str, limits: Limits, stackshot: Path | None, sampled_event: str
) -> TextRecording:
    stream = read_kdebug_stream(path, name, limits)
    stackshots = [_read_embedded(content, name) for content in stream.stackshots]
    if stackshot is not None:
        require_at_most(stackshot.name, stackshot.stat().st_size, _MAX_STACKSHOT_BYTES, "bytes")
        stackshots.append(parse_stackshot_json(stackshot.read_bytes(), stackshot.name))
    clock = next((known for known in stackshots if known.ticks and known.microseconds), None)
    stream = _use_tick_rate(stream, stackshots)
    samples = read_samples(stream.events)
    if not len(samples.ticks):
        events = plural(len(stream.events), "event")
        raise InputError(name, f"is a kdebug stream of {events} without a sample.", _NO_SAMPLES_ADVICE)
    require_at_most(name, len(samples.addresses), limits.stack_frames * 4, "frames")
    tasks = collect_tasks(stream, stackshots)
    times = convert_ticks(samples.ticks - samples.ticks.min(), stream)
    if times.min() < 0 or times.max() > _MOST_NS:
        raise InputError(
            name, "has samples that are more than 36 years apart.", "The file is damaged: copy it again."
        )
    period_ns, is_steady = measure_period(times, samples.cpus)
    table = _build_table(samples, tasks, times, period_ns, is_apple_silicon=_is_apple_silicon(stream))
    info = TraceInfo(
        name,
        KDEBUG,
        start=_format_start(int(samples.ticks.min()), stream, clock) if clock else "",
        duration_ns=int(times.max()),
        recording_mode="kperf",
    )
    timing = _describe_timing(period_ns, is_steady, sampled_event)
    return TextRecording(info, (table,), (*timing, *_list_issues(stream, samples, tasks)))


def _read_embedded(content: bytes, name: str) -> Stackshot:
    """Return a stackshot inside a stream; an empty one if it is compressed or damaged."""
    try:
        return parse_stackshot(content, name)
    except InputError:
        return Stackshot()


def _use_tick_rate(stream: KdebugStream, stackshots: Sequence[Stackshot]) -> KdebugStream:
    """Return the stream, with the rate of a stackshot's clock if it states none itself."""
    if stream.has_tick_rate:
        return stream
    rates = (choose_tick_rate(known.ns_numerator, known.ns_denominator) for known in stackshots)
    for numerator, denominator, is_stated in rates:
        if is_stated:
            return replace(stream, ns_numerator=numerator, ns_denominator=denominator, has_tick_rate=True)
    return stream


def _format_start(ticks: int, stream: KdebugStream, clock: Stackshot) -> str:
    """Return the wall-clock time of a tick, in UTC; "" for a time that no date has."""
    since_ns = (ticks - clock.ticks) * stream.ns_numerator // stream.ns_denominator
    try:
        moment = datetime.fromtimestamp(0, UTC) + timedelta(
            microseconds=clock.microseconds + since_ns // 1000
        )
    except OverflowError:
        return ""
    return moment.isoformat(timespec="microseconds")


def _is_apple_silicon(stream: KdebugStream) -> bool:
    """Return whether the clock is not Intel's, which counts nanoseconds."""
    return (stream.ns_numerator, stream.ns_denominator) != (1, 1)


def measure_period(times: IntArray, cpus: IntArray) -> tuple[int, bool]:
    """Return the usual distance of a core's samples in nanoseconds, and whether most are multiples of it.

    A core that idles is not sampled, so a timer leaves distances of one, two, … intervals.
    """
    order = np.lexsort((times, cpus))
    distances = np.diff(times[order])[cpus[order][1:] == cpus[order][:-1]]
    # Threads that are sampled in one tick are microseconds apart.
    distances = distances[distances > 20_000]
    if len(distances) < _MIN_DISTANCES:
        return _DEFAULT_PERIOD_NS, False
    period = float(np.quantile(distances, 0.25, method="nearest"))
    period = float(np.median(distances[distances < 1.5 * period]))
    deviation = np.abs(distances / period - np.round(distances / period))
    return round(period), bool((deviation < 0.2).mean() >= 0.8)


def _build_table(
    samples: KperfSamples, tasks: KdebugTasks, times: IntArray, period_ns: int, *, is_apple_silicon: bool
) -> Table:
    thread_rows, threads, processes, pids = _build_threads(samples, tasks)
    stacks, stack_ids = _build_stacks(samples, pids, tasks, "arm64" if is_apple_silicon else "")
    running = samples.states == STATES.index("Running")
    rows = pd.DataFrame(
        {
            "time": pd.array(times, dtype="Int64"),
            "thread": thread_rows,
            "core": pd.array(samples.cpus, dtype="Int64"),
            "thread-state": make_categorical(samples.states, STATES),
            "weight": pd.array(running * period_ns, dtype="Int64"),
            "stack": stack_ids,
        }
    )
    return Table(TIME_PROFILE, _COLUMNS, rows, threads, processes, stacks)


def _build_threads(
    samples: KperfSamples, tasks: KdebugTasks
) -> tuple[npt.NDArray[np.int32], pd.DataFrame, pd.DataFrame, IntArray]:
    """Return each sample's row of threads, threads, processes, and each sample's process."""
    rows, tids = pd.factorize(samples.tids.astype(np.int64))
    stated_pids = np.full(len(tids), -1, np.int64)
    stated_pids[rows] = samples.pids
    known = [tasks.threads.get(tid, KnownThread()) for tid in tids.tolist()]
    thread_pids = np.where(stated_pids >= 0, stated_pids, [thread.pid for thread in known])
    processes = {int(pid): tasks.process_names.get(int(pid), "") for pid in np.unique(thread_pids)}
    threads = pd.DataFrame(
        {
            "tid": tids,
            "name": [thread.name for thread in known],
            "pid": thread_pids,
            "process": [processes[pid] for pid in thread_pids.tolist()],
        }
    ).astype(dict(THREADS.required))
    process_frame = pd.DataFrame({"pid": list(processes), "name": list(processes.values())})
    return rows.astype(np.int32), threads, process_frame.astype(dict(PROCESSES.required)), thread_pids[rows]


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


def _describe_timing(period_ns: int, is_steady: bool, sampled_event: str) -> Iterator[Issue]:
    is_interval = is_steady and not sampled_event
    weight = f"one sampling interval, {period_ns / 1e6:g} ms" if is_interval else f"{period_ns / 1e6:g} ms"
    text = f"a kdebug stream has no weights: each sample of a running thread counts as {weight}"
    yield Issue("info", "weight-assumed", text)
    if sampled_event:
        text = f"a sample was taken whenever {sampled_event}, and not by a timer: weights are no time"
        yield Issue("warning", "sampling-uneven", text)
    elif not is_steady:
        text = (
            "the samples have no common interval: they may be taken at events instead of by a timer, and then"
            " their weights are no time"
        )
        yield Issue("warning", "sampling-uneven", text)


def _list_issues(stream: KdebugStream, samples: KperfSamples, tasks: KdebugTasks) -> tuple[Issue, ...]:
    issues = []
    if not stream.has_tick_rate:
        text = (
            "the stream does not state how long a tick of its clock lasts: 24 MHz, that of Apple silicon, was"
            " taken, and every time and length depends on it"
        )
        issues.append(Issue("warning", "tick-rate-assumed", text))
    if tasks.losses:
        text = f"the kernel lost events in {plural(tasks.losses, 'place')} because they were not read in time"
        issues.append(Issue("warning", "events-lost", text, tasks.losses))
    if samples.cut_off:
        text = f"samples whose end, or some of whose frames, were not recorded: {samples.cut_off:,}"
        issues.append(Issue("warning", "samples-cut", text, samples.cut_off))
    if stream.unread_bytes:
        text = f"the file is cut off: its last {plural(stream.unread_bytes, 'byte')} are no whole event"
        issues.append(Issue("warning", "document-incomplete", text))
    return tuple(issues)
