"""Kdebug streams and stackshots as sources: samples with the schema ``time-profile``, or counted stacks.

A stream states no weights. Each sample of a running thread counts as one sampling interval, the usual
distance between samples of one core; samples of other threads weigh nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.tables import Table
from tracekit.model.trace import KDEBUG, Issue, TraceInfo
from tracekit.parsers.in_memory import InMemorySource
from tracekit.parsers.kdebug.kdebug_log import read_stream_log
from tracekit.parsers.kdebug.kdebug_samples import KperfSamples, read_samples
from tracekit.parsers.kdebug.kdebug_stream import (
    KdebugStream,
    UnreadChunks,
    WallClock,
    choose_tick_rate,
    convert_ticks,
    read_kdebug_stream,
)
from tracekit.parsers.kdebug.kdebug_tables import build_sample_table, build_signpost_table, select_signposts
from tracekit.parsers.kdebug.kdebug_tasks import KdebugTasks, collect_tasks
from tracekit.parsers.kdebug.kernel_file_heads import COMPRESSED_KCDATA, STACKSHOT
from tracekit.parsers.kdebug.stackshot import Stackshot, parse_stackshot, parse_stackshot_json
from tracekit.parsers.kdebug.stackshot_text import build_stackshot_recording
from tracekit.parsers.limits import Limits, require_at_most
from tracekit.parsers.text.json_text import read_json_text
from tracekit.parsers.text.log_text import LOG, LogContent, build_log_recording
from tracekit.parsers.text.text_file import TextFile, TextPlace
from tracekit.parsers.text.text_recording import TextRecording, build_source
from tracekit.text import format_size, plural

_DEFAULT_PERIOD_NS = 1_000_000
_MIN_DISTANCES = 3
"""One or two distances are no sign of a timer."""
_MOST_NS = 2**60
"""36 years: more than any recording lasts."""
_MAX_STACKSHOT_BYTES = 1 << 30
_CHUNK_NAMES = {
    0x8001: "modules of dyld",
    0x8002: "a stackshot that is too large",
    0x8004: "images",
    0x8005: "kernel extensions",
    0x8010: "processes",
    0x8011: "a part of the log that is too large",
    0x8012: "texts of the log that are too large",
    0x8013: "events of a CPU",
    0x8C01: "events of a CPU",
}
"""Of ktrace's own tags, by pykdebugparser and py-ios-device."""
_NO_SAMPLES_ADVICE = "Record samples: a time trigger with user stacks (kperf), such as Time Profiler's."


@frozen
class KernelRecording:
    """The events of a stream or a stackshot, and the log of a stream; one of them is there.

    ``problem`` is why there are no events.
    """

    events: InMemorySource | None
    log: InMemorySource | None = None
    problem: InputError | None = None


def open_kernel_recording(
    path: Path, name: str, limits: Limits, stackshot: Path | None = None, sampled_event: str = ""
) -> KernelRecording:
    """Return a stream or a stackshot as sources of one run.

    ``stackshot`` is one that pymobiledevice3 saved as JSON when the stream began. ``sampled_event`` is a
    clause about the event at which samples were taken, where it is known that no timer took them. Raises
    ``InputError`` for a recording with nothing to read, and ``LimitError``.
    """
    with path.open("rb") as file:
        head = file.read(4)
    if head in (STACKSHOT, COMPRESSED_KCDATA):
        require_at_most(name, path.stat().st_size, _MAX_STACKSHOT_BYTES, "bytes")
        recording = build_stackshot_recording(parse_stackshot(path.read_bytes(), name, limits), name, limits)
        return KernelRecording(build_source(name, "stackshot", [recording], limits))
    stream = read_kdebug_stream(path, name, limits)
    log = read_stream_log(stream, name, limits)
    file_issues = tuple(_list_file_issues(stream, log))
    log_source = _build_log_source(log, name)
    try:
        recording = _read_stream(stream, name, limits, stackshot, sampled_event)
    except InputError as error:
        if log_source is None:
            raise
        issues = (*log_source.issues(1), *file_issues)
        return KernelRecording(None, replace(log_source, issues_by_run={1: issues}), error)
    recording = replace(recording, issues=(*recording.issues, *file_issues))
    return KernelRecording(build_source(name, KDEBUG, [recording], limits), log_source)


def _build_log_source(log: LogContent, name: str) -> InMemorySource | None:
    if log.last_entry is None:
        return None
    name = f"the log of {name}"
    return build_source(name, LOG.name, [build_log_recording(name, log)])


def _read_stream(
    stream: KdebugStream, name: str, limits: Limits, stackshot: Path | None, sampled_event: str
) -> TextRecording:
    embedded = [_read_embedded(content, name, limits) for content in stream.stackshots]
    stackshots = [known for known in embedded if known is not None]
    if stackshot is not None:
        text = read_json_text(TextFile(TextPlace(str(stackshot), stackshot.name), "utf-8", limits, None))
        stackshots.append(parse_stackshot_json(text, stackshot.name))
    clocks = (WallClock(known.ticks, known.microseconds) for known in stackshots)
    clock = stream.clock or next((clock for clock in clocks if clock.ticks and clock.microseconds), None)
    stream = _use_tick_rate(stream, stackshots)
    samples, signposts = read_samples(stream.events), select_signposts(stream.events)
    ticks = np.concatenate([samples.ticks, signposts["ticks"]])
    if not len(ticks):
        events = plural(len(stream.events), "event")
        raise InputError(name, f"is a kdebug stream of {events} without a sample.", _NO_SAMPLES_ADVICE)
    require_at_most(name, len(samples.addresses), limits.stack_frames * 4, "frames")
    require_at_most(name, len(signposts), limits.cells // 40, "signposts")
    tasks = collect_tasks(stream, stackshots)
    times = convert_ticks(ticks - ticks.min(), stream)
    if times.min() < 0 or times.max() > _MOST_NS:
        raise InputError(
            name, "has events that are more than 36 years apart.", "The file is damaged: copy it again."
        )
    sample_times, signpost_times = np.split(times, [len(samples.ticks)])
    tables: list[Table] = []
    issues = list(_list_issues(stream, samples, tasks, embedded.count(None)))
    if len(samples.ticks):
        period_ns, is_steady = measure_period(sample_times, samples.cpus)
        is_apple_silicon = _is_apple_silicon(stream)
        tables.append(
            build_sample_table(samples, tasks, sample_times, period_ns, is_apple_silicon=is_apple_silicon)
        )
        issues += _describe_timing(period_ns, is_steady, sampled_event)
    if len(signposts):
        tables.append(build_signpost_table(signposts, signpost_times, tasks))
    info = TraceInfo(
        name,
        KDEBUG,
        start=_format_start(int(ticks.min()), stream, clock) if clock else "",
        duration_ns=int(times.max()),
        recording_mode="kperf" if len(samples.ticks) else "",
    )
    return TextRecording(info, tuple(tables), tuple(issues))


def _read_embedded(content: bytes, name: str, limits: Limits) -> Stackshot | None:
    """Return a stackshot inside a stream; None if it is damaged."""
    try:
        return parse_stackshot(content, name, limits)
    except InputError:
        return None


def _use_tick_rate(stream: KdebugStream, stackshots: Sequence[Stackshot]) -> KdebugStream:
    """Return the stream, with the rate of a stackshot's clock if it states none itself."""
    if stream.has_tick_rate:
        return stream
    rates = (choose_tick_rate(known.ns_numerator, known.ns_denominator) for known in stackshots)
    for numerator, denominator, is_stated in rates:
        if is_stated:
            return replace(stream, ns_numerator=numerator, ns_denominator=denominator, has_tick_rate=True)
    return stream


def _format_start(ticks: int, stream: KdebugStream, clock: WallClock) -> str:
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


def _list_issues(
    stream: KdebugStream, samples: KperfSamples, tasks: KdebugTasks, unread_stackshots: int
) -> Iterator[Issue]:
    if unread_stackshots:
        text = f"stackshots in the file that cannot be read: {unread_stackshots}; names may be missing"
        yield Issue("warning", "names-damaged", text, unread_stackshots)
    if not stream.has_tick_rate:
        text = (
            "the stream does not state how long a tick of its clock lasts: 24 MHz, that of Apple silicon, was"
            " taken, and every time and length depends on it"
        )
        yield Issue("warning", "tick-rate-assumed", text)
    if tasks.losses:
        text = f"the kernel lost events in {plural(tasks.losses, 'place')} because they were not read in time"
        yield Issue("warning", "events-lost", text, tasks.losses)
    if samples.cut_off:
        text = f"samples whose end, or some of whose frames, were not recorded: {samples.cut_off:,}"
        yield Issue("warning", "samples-cut", text, samples.cut_off)


def _list_file_issues(stream: KdebugStream, log: LogContent) -> Iterator[Issue]:
    if stream.unread_bytes:
        text = f"the file is cut off: its last {plural(stream.unread_bytes, 'byte')} are no whole event"
        yield Issue("warning", "document-incomplete", text)
    if stream.unread_chunks:
        listed = ", ".join(map(_describe_chunks, stream.unread_chunks))
        count = sum(chunks.count for chunks in stream.unread_chunks)
        text = f"parts of the file whose form is not published, and that were not read: {listed}"
        yield Issue("warning", "parts-unread", text, count)
    if log.last_entry is None and log.damaged:
        text = f"the log in the file cannot be read: damaged entries: {log.damaged:,}"
        yield Issue("warning", "log-entries-damaged", text, log.damaged)


def _describe_chunks(chunks: UnreadChunks) -> str:
    name = _CHUNK_NAMES.get(chunks.tag, "")
    named = f"{chunks.tag:#06x} ({name})" if name else f"{chunks.tag:#06x}" if chunks.tag else "others"
    return f"{named} {format_size(chunks.size_bytes)} in {plural(chunks.count, 'part')}"
