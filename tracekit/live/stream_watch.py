"""The watch: bytes of a stream in, ended calls and findings out."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tracekit.errors import InputError
from tracekit.live.call_building import CallBuilder
from tracekit.live.call_groups import MIN_CALLS_BEFORE, GroupKey, LiveCallGroup
from tracekit.live.call_signposts import CallSignposts
from tracekit.live.line_splitter import LineSplitter
from tracekit.live.live_call import LiveCall, StreamCounts, WatchFinding, WatchKind
from tracekit.live.recent_lines import RecentLines
from tracekit.model.vocabulary import LogKind
from tracekit.parsers.tables.log_messages import find_client_phase, match_message
from tracekit.parsers.text.device_lines import DeviceForm
from tracekit.parsers.text.log_lines import PREAMBLE
from tracekit.parsers.text.log_objects import parse_json_line
from tracekit.parsers.text.log_order import PlacedEntry
from tracekit.parsers.text.log_stream import ClockStep, DroppedBegins, LogStream, StreamItem
from tracekit.parsers.text.log_text import concerns_engine, has_marker
from tracekit.parsers.text.signpost_pairing import PlacedSignpost, SignpostInterval

Happening: TypeAlias = LiveCall | WatchFinding
MAX_GROUPS = 256
MAX_RECENT_CALLS = 5_000
_MAX_RECENT_FINDINGS = 50
_MAX_OTHER_LINES = 5
_MAX_OTHER_CHARACTERS = 200
_MAX_REFUSALS = 1_000
_MAX_SIGNPOSTS = 200
_FOREVER_NS = 2**63
_WORD = re.compile(r"\w{3}")
_ADVICE = (
    "Stream or export the log as lines: log stream --style ndjson --signpost, or of an iPhone,"
    " pymobiledevice3 developer dvt oslog --format json."
)


class StreamWatch:
    """Follows a stream. Its state has a bound, whatever comes and however long it runs.

    ``patterns`` are the signposts whose intervals are calls; without any, those that are known to hold one
    run of a model. ``process`` (a name or number) leaves out what others wrote; "" is all. ``keep_bytes`` is
    the memory for ``recent_lines``. ``feed`` takes bytes as they come, cut anywhere. ``settle`` is for a
    stream that is silent, ``finish`` for its end.
    """

    def __init__(self, patterns: Sequence[str] = (), process: str = "", keep_bytes: int = 0) -> None:
        self.counts = StreamCounts()
        self.groups: dict[GroupKey, LiveCallGroup] = {}
        self.signposts: Counter[tuple[str, str, str]] = Counter()
        """Intervals by subsystem, category and name: calls, if the user says so."""
        self.recent_calls: deque[LiveCall] = deque(maxlen=MAX_RECENT_CALLS)
        self.recent_findings: deque[WatchFinding] = deque(maxlen=_MAX_RECENT_FINDINGS)
        self.other_lines: list[str] = []
        self.recent_lines = RecentLines(keep_bytes)
        self.first_ns = self.now_ns = 0
        self.utc_offset_s: int | None = None
        """The time zone of the log's clock."""
        self.patterns, self.process = tuple(patterns), process
        self._choice = CallSignposts(patterns)
        self._splitter = LineSplitter()
        self._stream = LogStream()
        self._builder = CallBuilder(self._is_call)
        self._refusals: dict[tuple[int, WatchKind, str, str], int] = {}
        self._breaks = 0
        self._has_row_of_requests = self._has_engine_lines = False
        self.has_entries = False
        """True once a line was read as an entry of a log."""
        self.device_forms: set[DeviceForm] = set()
        """The forms of the lines, where pymobiledevice3 printed them."""

    def feed(self, data: bytes) -> Iterator[Happening]:
        """Yield what these bytes show, calls that ended and findings; reads no further than it is asked."""
        self.counts.bytes += len(data)
        for line in self._splitter.split(data):
            yield from self._read_line(line)
        self._count()

    def settle(self) -> Iterator[Happening]:
        """Yield what waits for the next entry of a stream that is silent for now."""
        yield from self._take(self._stream.finish(), _FOREVER_NS)
        self._count()

    def finish(self) -> Iterator[Happening]:
        """Yield what is left at the end of the stream."""
        yield from self._read_line(self._splitter.finish())
        yield from self.settle()

    def require_entries(self, source: str) -> None:
        """Raise ``InputError`` where the stream has ended without a line that could be read."""
        if self.has_entries:
            return
        problem = "has no line of JSON that is an entry of a log." if self.counts.lines else "is empty."
        raise InputError(source, problem, _ADVICE)

    def could_see(self, kind: str) -> bool:
        """Return whether the stream had that in which a finding of this kind can be seen."""
        if kind == WatchKind.FELL_BACK:
            return self._has_row_of_requests
        if kind == WatchKind.REQUESTS_FAILED:
            return any(group.with_requests or group.failed for group in self.groups.values())
        return self._has_engine_lines

    def _read_line(self, line: bytes | None) -> list[Happening]:
        if line is None:
            self.counts.lines += 1
            self.counts.too_long += 1
            self._breaks += 1
            return []
        line = line.removesuffix(b"\r")
        if not line:
            return []
        self.counts.lines += 1
        if not line.startswith(b"{"):
            self._note_other(line)
            return []
        # Other lines need not be decoded, once it is known that this is a log.
        if self.has_entries and not has_marker(line):
            return []
        entry = parse_json_line(line)
        if entry is None:
            self.counts.damaged += 1
            self._breaks += 1
            return []
        self.has_entries = True
        if entry.device_form is not None:
            self.device_forms.add(entry.device_form)
        if entry.is_loss:
            self.counts.lost += 1
            self._breaks += 1
            return []
        self.counts.nameless += entry.is_nameless
        if entry.signpost is None and not concerns_engine(entry):
            return []
        if self.process and self.process not in (entry.process, str(entry.pid)):
            self.counts.others_signposts += entry.signpost is not None
            return []
        if self.utc_offset_s is None:
            self.utc_offset_s = entry.utc_offset_s
        self.counts.signposts += entry.signpost is not None
        if entry.time_ns is not None:
            self.recent_lines.add(line, entry.time_ns)
        order = self._stream.order
        late = order.counts.late
        items = self._stream.add(entry)
        self._breaks += order.counts.late - late
        return self._take(items, order.settled_ns)

    def _take(self, items: Iterable[StreamItem], settled_ns: int) -> list[Happening]:
        happenings: list[Happening] = []
        for item in items:
            if isinstance(item, PlacedSignpost):
                self._see(item.time_ns)
                self._builder.open_call(item)
            elif isinstance(item, SignpostInterval):
                self._see(item.end_ns)
                self._take_interval(item)
            elif isinstance(item, PlacedEntry):
                self._see(item.time_ns)
                happenings += self._read_message(item)
            elif isinstance(item, DroppedBegins):
                self._builder.drop(item.begins, item.time_ns)
                # A call or a request of which nothing is known is missing among those before and after it.
                self._breaks += item.is_ambiguous and any(map(self._is_evidence, item.begins))
            elif isinstance(item, ClockStep):
                self._breaks += 1
        for call in self._builder.take_ready(settled_ns):
            happenings += self._end_call(call)
        return happenings

    def _see(self, time_ns: int) -> None:
        self.first_ns = self.first_ns or time_ns
        self.now_ns = max(self.now_ns, time_ns)

    def _read_message(self, placed_entry: PlacedEntry) -> list[Happening]:
        entry = placed_entry.entry
        self._has_engine_lines = True
        form = match_message(entry.message)
        self._builder.add_line(placed_entry.time_ns, entry.pid, entry.tid, entry.process, form)
        if form.kind is LogKind.UNSUPPORTED:
            kind = WatchKind.OPERATORS_REFUSED
        elif form.kind is LogKind.NOT_LOADED:
            kind = WatchKind.PROGRAM_NOT_LOADED
        else:
            return []
        key = (entry.pid, kind, form.operator, form.reason)
        self._refusals[key] = self._refusals.pop(key, 0) + 1
        if self._refusals[key] > 1:
            return []
        if len(self._refusals) > _MAX_REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        finding = WatchFinding(
            kind, placed_entry.time_ns, entry.process, entry.pid, operator=form.operator, reason=form.reason
        )
        self.recent_findings.append(finding)
        return [finding]

    def _end_call(self, call: LiveCall) -> list[Happening]:
        key = (call.pid, call.name, call.model)
        group = self.groups.pop(key, None)
        if group is None:
            group = LiveCallGroup(call.process, breaks=self._breaks)
            if len(self.groups) >= MAX_GROUPS:
                del self.groups[next(iter(self.groups))]
        self.groups[key] = group  # the group of the latest call comes last
        calls_before = group.add(call, self._breaks)
        self._has_row_of_requests |= group.calls_before >= MIN_CALLS_BEFORE or calls_before > 0
        call = group.latest = replace(call, number=group.calls, name=key[1], process=group.process)
        self.counts.calls += 1
        self.recent_calls.append(call)
        findings = []
        if call.failed:
            findings.append(
                WatchFinding(WatchKind.REQUESTS_FAILED, call.end_ns, call.process, call.pid, call)
            )
        if calls_before:
            findings.append(
                WatchFinding(WatchKind.FELL_BACK, call.end_ns, call.process, call.pid, call, calls_before)
            )
        self.recent_findings += findings
        return [call, *findings]

    def _is_call(self, begin: PlacedSignpost) -> bool:
        return self._choice.matches(begin.subsystem, begin.category, begin.signpost.name)

    def _is_evidence(self, begin: PlacedSignpost) -> bool:
        return self._is_call(begin) or find_client_phase(begin.subsystem, begin.signpost.name) is not None

    def _take_interval(self, interval: SignpostInterval) -> None:
        begin = interval.begin
        key = (begin.subsystem, begin.category, begin.signpost.name)
        if key in self.signposts or len(self.signposts) < _MAX_SIGNPOSTS:
            self.signposts[key] += 1
        phase = find_client_phase(begin.subsystem, begin.signpost.name)
        if phase is not None:
            self._builder.add_client_interval(interval, phase)
        self._builder.close_call(interval)

    def _note_other(self, line: bytes) -> None:
        if line.startswith(PREAMBLE.encode()):
            self.has_entries = True
            return
        self.counts.other_lines += 1
        if len(self.other_lines) < _MAX_OTHER_LINES and _is_text(line):
            self.other_lines.append(line[:_MAX_OTHER_CHARACTERS].decode(errors="replace"))

    def _count(self) -> None:
        """Collect the counts of the parts."""
        counts, order, pairing = self.counts, self._stream.order.counts, self._stream.pairing
        counts.repeated, counts.late = order.repeated, order.late
        counts.without_time, counts.clock_jumps = order.without_time, order.steps
        counts.without_begin, counts.without_end = pairing.without_begin, pairing.without_end
        counts.overlapping = pairing.overlapping
        counts.requests, counts.requests_dropped = self._builder.requests, self._builder.dropped


def _is_text(line: bytes) -> bool:
    """Return whether a reader may learn something from a line: it has a word, in an encoding."""
    text = line.decode(errors="replace")
    return "\0" not in text and "\ufffd" not in text and _WORD.search(text) is not None
