"""Logs: ``log show``, ``log stream``, dmesg, and what a program printed → ``os-log`` and the engine's power.

Few of a system's million lines concern the Neural Engine. Markers are searched for in blocks of bytes, and
only lines with one are decoded. The kept lines are those of the frameworks below Core ML and Core AI by their
subsystem, and, without a subsystem or with one of Core ML's own, lines of the kernel's driver and errors that
frameworks print. Signposts in JSON are kept, whoever wrote them: an app marks its own work with them. A log
that has some is read as ``tracekit watch`` reads it while it is written, by ``log_order.py`` and
``signpost_pairing.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain

import numpy as np
import pandas as pd

from tracekit.model.columns import PROCESSES, THREADS, IntArray
from tracekit.model.schemas import ANE_POWER_STATE, OS_LOG
from tracekit.model.tables import PICKED, Column, StackTable, Table
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.model.vocabulary import REPORTING_SUBSYSTEMS, SUBSYSTEMS
from tracekit.parsers.limits import LimitError, require_at_most
from tracekit.parsers.text.device_lines import SIGNPOST_TYPES
from tracekit.parsers.text.log_lines import PREAMBLE, LogEntry, is_json, is_log, parse_line
from tracekit.parsers.text.log_order import MAX_BACKWARD_NS
from tracekit.parsers.text.log_signposts import (
    LogEntities,
    arrange_signposts,
    build_signpost_tables,
    make_text_column,
)
from tracekit.parsers.text.text_file import HEAD_BYTES, TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_MARKERS = (
    b'"signpostName"',
    *(f'"{name}"'.encode() for name in SIGNPOST_TYPES),
    b'"lossEvent"',
    b"ANE",
    b"E5RT",
    b"Unsupported op ",
    b"Unsupported MIL ",
    b"createProgramInstanceForModel",
    b"Program load ",
    *(name.removeprefix("com.").encode() for name in sorted(SUBSYSTEMS)),
)
_OF_ENGINE = re.compile(
    r"H11ANE|\bANE\d: |ANE_Program|ANEProgramProcessRequestDirect|ANECCompile|_ANEErrors"
    r"|com\.apple\.appleneuralengine|ANE model load|ANE compilation failed|failed to compile ANE model"
    r"|ANE (?:Evaluation|Scheduling) Error|ANE inference operation|E5RT|Unsupported op (?:\d+|<private>) \("
    r"|Unsupported MIL operation|ANECF|createProgramInstanceForModel|Program load (?:new instance )?failure"
)
"""Required in a line without a subsystem, or of ``REPORTING_SUBSYSTEMS``, to be kept."""
_REPORTING_SENDERS = frozenset(("CoreML", "Espresso", "AppleNeuralEngine"))
"""Frameworks that log much else and pass on errors of the engine: a choice of subsystems and libraries."""
_MENTION = re.compile(r"(?<![A-Za-z])ANE(?![a-z])")
"""A name of the Neural Engine: ``ANE0``, ``ANECF``, ``_ANEClient``, but not a part of a word such as
PLANE."""
_POWER = re.compile(
    r"(?:\b(?P<device>ANE\d+): .{0,200})?setPowerStateGated(?:: (?P<state>[01])\b| - ANE sleep initiated)"
)
"""1 is on and 0 is off (a real log of macOS 14); "sleep initiated" is known from the driver's strings."""
_KERNEL = "kernel"
_MAX_INSPECTED = 2_000
_MAX_ENTRY_BYTES = 16 << 20
_MAX_INSPECTED_ENTRIES = 20
"""Limits on the lines and JSON entries that are searched for a time."""
_ARRAY_EDGES, _LINE_EDGES = (b"\n},{", b"\n}"), (b"\n", b"\n")
"""The bytes before and behind an entry of JSON."""
_ENTRIES = "lines about the Neural Engine"
_COLUMNS = (
    Column("time", "Timestamp", "event-time", "int"),
    Column("thread", "Thread", "thread", "thread"),
    Column("process", "Process", "process", "process"),
    Column("message-type", "Message Type", "event-type", "text"),
    Column("subsystem", "Subsystem", "subsystem", "text"),
    Column("category", "Category", "category", "text"),
    Column("message", "Message", "string", "text"),
)
_STATE_COLUMNS = (
    Column("start", "Start", "start-time", "int"),
    Column("duration", "Duration", "duration", "int"),
    Column("state", "State", "uint64", "int"),
    Column("device", "Device", "string", "text"),
)


@dataclass
class LogContent:
    """The kept entries of a log, and its first and last entry, kept or not."""

    entries: list[LogEntry] = field(default_factory=list)
    first_entry: LogEntry | None = None
    last_entry: LogEntry | None = None
    lines: int = 0
    damaged: int = 0
    losses: int = 0
    """Entries in which the log itself reports that it dropped others."""
    unread: int = 0
    """Entries that mention the Neural Engine, and are of no known subsystem and form."""

    def add(self, entry: LogEntry) -> None:
        """Keep a signpost, or an entry that concerns the Neural Engine; count one that only mentions it."""
        if entry.is_loss:
            self.losses += 1
        elif entry.signpost is not None or concerns_engine(entry):
            self.entries.append(entry)
        elif _MENTION.search(entry.message) is not None:
            self.unread += 1


def has_marker(line: bytes) -> bool:
    """Return whether a line may have to be read; most lines of a system need not be decoded."""
    find = line.find  # ``in`` tries first whether the marker is a number
    for marker in _MARKERS:  # noqa: SIM110 - it runs for every line, and ``any`` takes longer
        if find(marker) >= 0:
            return True
    return False


def concerns_engine(entry: LogEntry) -> bool:
    """Return whether an entry is a line about the Neural Engine that is read."""
    subsystem = entry.subsystem.lower()
    is_passed_on = subsystem.startswith("com.apple.") and entry.sender in _REPORTING_SENDERS
    may_report = not subsystem or subsystem in REPORTING_SUBSYSTEMS or is_passed_on
    return subsystem in SUBSYSTEMS or (may_report and _OF_ENGINE.search(entry.message) is not None)


def _read_log(file: TextFile) -> Iterator[TextRecording]:
    """Yield the log as one recording, which may hold no line about the Neural Engine."""
    log = LogContent()
    blocks = file.iter_line_blocks()
    first_block = next(blocks, b"")
    head = first_block[:HEAD_BYTES].decode(errors="replace").lstrip("\ufeff \t\r\n")
    if is_json(head):
        _read_objects(chain([first_block], blocks), log, file, is_array=head.startswith("["))
    else:
        _read_lines(chain([first_block], blocks), log, file)
    yield build_log_recording(file.name, log)


def _find_marked(block: bytes, begin: bytes, end: bytes) -> list[tuple[int, int]]:
    """Return the positions of the pieces between ``begin`` and ``end`` that have a marker, in order."""
    places: dict[int, int] = {}
    for marker in _MARKERS:
        position, floor = block.find(marker), 0
        while position >= 0:
            start = block.rfind(begin, floor, position)
            start = floor if start < 0 else start + len(begin)
            stop = block.find(end, position)
            places[start] = floor = len(block) if stop < 0 else stop
            position = block.find(marker, floor)
    return sorted(places.items())


def _read_lines(blocks: Iterator[bytes], log: LogContent, file: TextFile) -> None:
    # The nearest entry before a line that continues a message.
    head: LogEntry | None = None
    for block in blocks:
        log.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        log.first_entry = log.first_entry or _find_first_entry(block)
        last_start = 0
        for start, stop in _find_marked(block, b"\n", b"\n"):
            line = block[start:stop].decode(errors="replace")
            entry = parse_line(line)
            head = entry or _find_entry_before(block, start, last_start) or head
            last_start = start
            log.add(entry or (head.make_continuation(line) if head else LogEntry(None, line.rstrip("\r"))))
        require_at_most(file.name, len(log.entries), file.limits.cells // 40, _ENTRIES)
        head = _find_entry_before(block, len(block), last_start) or head
    log.last_entry = head


def _find_first_entry(block: bytes) -> LogEntry | None:
    lines = block[: 1 << 18].split(b"\n")[:_MAX_INSPECTED]
    entries = (parse_line(line.decode(errors="replace")) for line in lines)
    return next((entry for entry in entries if entry is not None), None)


def _find_entry_before(block: bytes, stop: int, floor: int) -> LogEntry | None:
    """Return the last entry that begins at ``floor`` or later, and before ``stop``."""
    for _ in range(_MAX_INSPECTED):
        if stop <= floor:
            return None
        start = block.rfind(b"\n", floor, stop - 1) + 1 or floor
        entry = parse_line(block[start:stop].decode(errors="replace"))
        if entry is not None:
            return entry
        stop = start
    return None


def _read_objects(blocks: Iterator[bytes], log: LogContent, file: TextFile, *, is_array: bool) -> None:
    """Read entries as JSON: one per line, or, in an array, each on separate lines between ``},{``."""
    begin, _ = _ARRAY_EDGES
    waiting = b""
    for block in blocks:
        text = waiting + block.replace(b"\r\n", b"\n")
        cut = text.rfind(begin) if is_array else len(text)
        _read_pieces(text[: max(cut, 0)], log, is_array=is_array)
        waiting = text[max(cut, 0) :]
        if len(waiting) > _MAX_ENTRY_BYTES:
            raise LimitError(file.name, f"has an entry of more than {_MAX_ENTRY_BYTES:,} bytes")
        require_at_most(file.name, len(log.entries), file.limits.cells // 40, _ENTRIES)
    _read_pieces(waiting, log, is_array=is_array)


def _read_pieces(text: bytes, log: LogContent, *, is_array: bool) -> None:
    # A small export is analyzed without the decoder of JSON, which takes milliseconds to import.
    from tracekit.parsers.text.log_objects import parse_array_piece, parse_json_line

    begin, end = _ARRAY_EDGES if is_array else _LINE_EDGES
    parse = parse_array_piece if is_array else parse_json_line
    log.lines += text.count(b'"eventMessage"')
    for start, stop in _find_marked(text, begin, end):
        entry = parse(text[start:stop])
        if entry is None:
            log.damaged += not text.startswith(PREAMBLE.encode(), start)
        else:
            log.add(entry)
    ends = (
        text[: 1 << 18].split(begin)[:_MAX_INSPECTED_ENTRIES],
        text[-(1 << 18) :].split(begin)[-_MAX_INSPECTED_ENTRIES:],
    )
    first_entries, last_entries = (
        [entry for piece in pieces if (entry := parse(piece)) is not None] for pieces in ends
    )
    log.first_entry = log.first_entry or next(iter(first_entries), None)
    log.last_entry = last_entries[-1] if last_entries else log.last_entry


def build_log_recording(name: str, log: LogContent) -> TextRecording:
    """Return a log as tables whose times count from its first moment."""
    issues = IssueCounter()
    entries, signpost_count = log.entries, sum(entry.signpost is not None for entry in log.entries)
    arranged = arrange_signposts(entries)
    stamped = [
        entry for entry in (log.first_entry, *entries, log.last_entry) if entry and entry.time_ns is not None
    ]
    times = [entry.time_ns or 0 for entry in stamped if entry.is_uptime == stamped[0].is_uptime]
    if arranged is not None:
        entries = arranged.lines
        times = [*arranged.times(), *([] if arranged.has_steps else times)]
    origin_ns, end_ns = (min(times), max(times)) if times else (0, 0)
    text = "lines of the log that do not concern the Neural Engine, and were not read: {n}"
    unrelated = log.lines - len(entries) - signpost_count - log.unread - log.losses
    issues.add("info", "log-lines-unrelated", text, max(unrelated, 0))
    text = "lines of the log that mention ANE and are of no subsystem and form that are read: {n}"
    issues.add("info", "log-lines-unread", text, log.unread)
    text = "places where the log reports that it lost entries: {n}"
    issues.add("warning", "log-entries-lost", text, log.losses)
    relative_times = [
        entry.time_ns - origin_ns
        if entry.time_ns is not None and origin_ns <= entry.time_ns <= end_ns
        else None
        for entry in entries
    ]
    text = "entries of the log that cannot be read: {n}"
    issues.add("warning", "log-entries-damaged", text, log.damaged)
    text = "lines of the log without a time; they count from the log's start: {n}"
    issues.add("warning", "log-lines-without-time", text, relative_times.count(None))
    moments = np.array([moment or 0 for moment in relative_times], np.int64)
    known = np.array([moment for moment in relative_times if moment is not None], np.int64)
    text = "places where the clock of the log goes backwards by more than a second: {n}"
    issues.add("warning", "log-clock-backwards", text, int((np.diff(known) < -MAX_BACKWARD_NS).sum()))
    tables = [_build_log_table(entries, moments)]
    states = _build_state_table(entries, moments, end_ns - origin_ns)
    tables += [states] if len(states) else []
    tables += [] if arranged is None else build_signpost_tables(arranged, origin_ns)
    has_one_clock = arranged is None or not arranged.has_steps
    is_wall_clock = bool(stamped) and not stamped[0].is_uptime and has_one_clock
    offset_s = next((entry.utc_offset_s for entry in stamped if entry.utc_offset_s is not None), None)
    info = TraceInfo(
        name,
        LOG.name,
        start=_format_iso(origin_ns, offset_s) if is_wall_clock else "",
        duration_ns=end_ns - origin_ns,
    )
    return TextRecording(
        info, tuple(tables), (*issues.issues(), *(arranged.issues.issues() if arranged else ()))
    )


def _build_log_table(entries: list[LogEntry], moments: IntArray) -> Table:
    entities = LogEntities()
    thread, process = entities.number_rows([(entry.pid, entry.tid, entry.process) for entry in entries])
    texts = {
        "message-type": [entry.message_type for entry in entries],
        "subsystem": [entry.subsystem for entry in entries],
        "category": [entry.category for entry in entries],
        "message": [entry.message for entry in entries],
    }
    rows = pd.DataFrame(
        {
            "time": pd.array(moments, "Int64"),
            "thread": thread,
            "process": process,
            **{name: make_text_column(values) for name, values in texts.items()},
        }
    )
    return Table(
        OS_LOG,
        _COLUMNS,
        rows,
        entities.threads(),
        entities.processes(),
        StackTable.empty(),
        attributes={PICKED: "yes"},
    )


def _build_state_table(entries: list[LogEntry], moments: IntArray, end_ns: int) -> Table:
    """Return each engine's power states; a state holds until its device's next line, or the end."""
    rows: dict[str, list[tuple[int, int]]] = {}
    for entry, moment in zip(entries, moments.tolist(), strict=True):
        match = _POWER.search(entry.message) if entry.process == _KERNEL else None
        if match:
            rows.setdefault(match["device"] or "", []).append((moment, int(match["state"] or 0)))
    starts, durations, states, devices = [], [], [], []
    for device, changes in rows.items():
        changes.sort(key=lambda change: change[0])
        following = [moment for moment, _ in changes[1:]] + [max(end_ns, changes[-1][0])]
        for (moment, state), until in zip(changes, following, strict=True):
            starts.append(moment)
            durations.append(until - moment)
            states.append(state)
            devices.append(device)
    frame = pd.DataFrame(
        {
            "start": pd.array(starts, "Int64"),
            "duration": pd.array(durations, "Int64"),
            "state": pd.array(states, "Int64"),
            "device": make_text_column(devices),
        }
    )
    return Table(
        ANE_POWER_STATE, _STATE_COLUMNS, frame, THREADS.empty(), PROCESSES.empty(), StackTable.empty()
    )


def _format_iso(epoch_ns: int, utc_offset_s: int | None) -> str:
    """Return the wall clock with its zone; or without a zone if the log states none."""
    zone = UTC if utc_offset_s is None else timezone(timedelta(seconds=utc_offset_s))
    seconds, fraction_ns = divmod(epoch_ns, 10**9)
    moment = datetime.fromtimestamp(seconds, zone).replace(microsecond=fraction_ns // 1000)
    text = moment.isoformat(timespec="microseconds")
    return text if utc_offset_s is not None else text[:26]


LOG = TextKind("log", "a log", is_log, _read_log)
