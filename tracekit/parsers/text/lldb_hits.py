"""Hits of the breakpoints that ``tracekit lldb`` sets (markers/lldb_program.py): lines of JSON.

    {"tracekit": "lldb-hits", "version": 1, "start": …, "process": …, "pid": …, "rules": […]}
    {"module": 0, "name": "Espresso", "path": …, "uuid": …, "address": …}
    {"time": 81, "rule": "ane.submit", "tid": 7, "name": …, "queue": …, "stack": [[0, 4096, "f", false], …]}
    {"time": 99, "counts": {"ane.submit": 12}, "kept": 10, "errors": 0}

A hit is a row; the hits after the script's limit are in its counts only, and an issue states how many.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import take_texts
from tracekit.model.schemas import LLDB_HITS
from tracekit.model.tables import Column, Table
from tracekit.model.trace import Issue, TraceInfo
from tracekit.parsers.text.pause import (
    MAX_ADDRESS,
    PauseCounts,
    PausedFrame,
    PausedImage,
    get_json_text,
    normalize_time,
    normalize_uuid,
)
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording
from tracekit.text import plural

_HEAD = re.compile(r'^\s*\{"tracekit": ?"lldb-hits"')
_COLUMNS = (
    Column("time", "Time", "sample-time", "int"),
    Column("thread", "Thread", "thread", "thread"),
    Column("weight", "Hits", "hit-count", "int"),
    Column("rule", "Rule", "string", "text"),
    Column("stack", "Backtrace", "backtrace", "stack"),
)
_MAX_NUMBER = 2**62


@dataclass
class _Hits:
    """One file of hits while its lines are read."""

    rows: PauseCounts
    header: dict[str, Any]
    images: dict[int, PausedImage] = field(default_factory=dict)
    times: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    stacks: list[tuple[int, int]] = field(default_factory=list)
    """The leaf and the callers of each hit's stack."""
    rules: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """All hits by rule: the last line of counts, and the hits after it."""
    errors: int = 0
    damaged: int = 0

    def add(self, record: dict[str, Any]) -> None:
        """Read a line. Raises ``ValueError`` for one that is not of this format."""
        if isinstance(counts := record.get("counts"), dict):
            self._add_counts(counts)
            self.errors = _require_number(record.get("errors"))
        elif "module" in record:
            name, path = get_json_text(record.get("name")), get_json_text(record.get("path"))
            uuid, start = (
                normalize_uuid(get_json_text(record.get("uuid"))),
                _require_number(record.get("address"), MAX_ADDRESS),
            )
            image = PausedImage(name, path, uuid, get_json_text(record.get("arch")), start)
            self.images[_require_number(record["module"])] = image
        elif isinstance(stack := record.get("stack"), list):
            self._add_hit(record, stack)
        else:
            raise ValueError("neither a hit nor a count")

    def _add_counts(self, counts: dict[str, Any]) -> None:
        """Take the counts of a line; a damaged count leaves those of its rule and of the others unchanged."""
        damaged = 0
        for rule, count in counts.items():
            try:
                self.counts[get_json_text(rule)] = _require_number(count)
            except ValueError:
                damaged = 1
        self.damaged += damaged

    def _add_hit(self, record: dict[str, Any], stack: list[Any]) -> None:
        time_ns, rule = _require_number(record.get("time")), get_json_text(record.get("rule"))
        frames = [self._build_frame(frame) for frame in stack]
        name = get_json_text(record.get("name")) or get_json_text(record.get("queue"))
        tid = _require_number(record.get("tid"))
        self.threads.append(self.rows.add_thread(tid, name, self.pid, self.process))
        self.stacks.append(self.rows.split(self.rows.add_frames(frames)))
        self.times.append(time_ns)
        self.rules.append(rule)
        self.counts[rule] += 1

    def _build_frame(self, frame: Any) -> tuple[PausedFrame, PausedImage | None]:
        if not isinstance(frame, list) or len(frame) != 4:
            raise ValueError("a frame of another form")
        module, address, symbol, is_inlined = frame
        image = self.images.get(module) if isinstance(module, int) else None
        paused = PausedFrame(
            get_json_text(symbol),
            address=_require_number(address, MAX_ADDRESS),
            is_inlined=is_inlined is True,
        )
        return paused, image

    @property
    def pid(self) -> int:
        """The process, -1 if it was not running yet."""
        pid = self.header.get("pid")
        return pid if isinstance(pid, int) and 0 <= pid < 2**31 else -1

    @property
    def process(self) -> str:
        """The name of the process."""
        return get_json_text(self.header.get("process"))

    def build_table(self) -> Table:
        """Return the hits that were kept."""
        codes, names = pd.factorize(np.array(self.rules, object))
        rows = pd.DataFrame(
            {
                "time": pd.array(self.times, dtype="Int64"),
                "thread": np.array(self.threads, np.int32),
                "weight": pd.array([1] * len(self.times), dtype="Int64"),
                "rule": take_texts(codes, [str(name) for name in names]),
            }
        )
        return self.rows.build_table_of(LLDB_HITS, _COLUMNS, rows, self.stacks)

    def iter_issues(self) -> Iterator[Issue]:
        """Yield the issues that limit the hits."""
        text = "breakpoints stopped the program at every hit: the times order the hits and are no latency"
        yield Issue("info", "breakpoints-slow", text)
        kept = Counter(self.rules)
        missing_counts = {
            rule: count - kept[rule] for rule, count in self.counts.items() if count > kept[rule]
        }
        if missing_counts:
            by_rule = ", ".join(f"{count:,} of {rule}" for rule, count in sorted(missing_counts.items())[:8])
            total = sum(missing_counts.values())
            kept_hits = f"{len(self.times):,}"
            text = (
                f"{plural(total, 'hit')} counted without thread, time and stack, after the first {kept_hits}"
            )
            yield Issue("warning", "hits-not-kept", f"{text}: {by_rule}", total)
        if self.errors:
            text = f"hits that the script could not record, because lldb failed: {self.errors:,}"
            yield Issue("warning", "hits-not-recorded", text, self.errors)
        if self.damaged:
            text = f"lines of the file that are damaged or cut off, and not read as a whole: {self.damaged:,}"
            yield Issue("warning", "document-damaged", text, self.damaged)


def _parse_object(line: str) -> dict[str, Any]:
    """Return a line as an object. Raises ``ValueError`` for any other line."""
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("no object")  # noqa: TRY004 - as for a line that is not JSON
    return record


def _require_number(value: Any, maximum: int = _MAX_NUMBER) -> int:
    """Return a whole number. Raises ``ValueError`` for anything else, and for an impossible number."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise ValueError("no number")
    return value


def _is_lldb_hits(head: str) -> bool:
    return _HEAD.match(head) is not None


def _read_runs(file: TextFile) -> Iterator[TextRecording]:
    """Yield the hits of each run of the script in the file."""
    hits = _make_hits(file)
    for line in file.iter_lines():
        if not line.strip():
            continue
        try:
            record = _parse_object(line)
            if "tracekit" in record:
                if hits.header:
                    yield _build_recording(file.name, hits)
                hits = _make_hits(file, record)
                continue
            hits.add(record)
        except (ValueError, RecursionError):
            hits.damaged += 1
    yield _build_recording(file.name, hits)


def _make_hits(file: TextFile, header: dict[str, Any] | None = None) -> _Hits:
    return _Hits(PauseCounts(file.name, file.limits), header or {})


def _build_recording(name: str, hits: _Hits) -> TextRecording:
    if not hits.times and not hits.counts:
        raise InputError(
            name,
            "has no hit: no function with a breakpoint was called.",
            "Let the program predict while the breakpoints are set. tracekit-hits in lldb prints the counts.",
        )
    order = sorted(range(len(hits.times)), key=hits.times.__getitem__)
    duration_ns = hits.times[order[-1]] if order else 0
    info = TraceInfo(
        name,
        LLDB_HITS_TEXT.name,
        start=normalize_time(get_json_text(hits.header.get("start"))),
        duration_ns=duration_ns,
        process=hits.process,
        pid=None if hits.pid < 0 else hits.pid,
    )
    return TextRecording(info, (hits.build_table(),), tuple(hits.iter_issues()))


LLDB_HITS_TEXT = TextKind("lldb-hits", "hits of breakpoints in lldb", _is_lldb_hits, _read_runs)
