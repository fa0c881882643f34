"""Lines of ``tracekit record --with presence``: how long the Neural Engine's bandwidth floors were held.

    {"tracekit": "engine-presence", "version": 1, "timestamp": "2026-11-28T09:00:00.200000+00:00",
     "interval_ms": 200, "channels": [{"group": "PMP0", "subgroup": "DCS Floor", "name": "ANE-DCS-BW",
     "states": [["F1", 400000], ["F2", 4400000]]}]}

A row is one channel in one interval, which ends at the timestamp: the share of its ticks above the lowest
state (``VMIN``, or the lowest of ``F1``, ``F2``, …). On an M5 Max that share was 0 % while it idled or worked
on the CPU or the GPU, and 83 % while a program ran on the Neural Engine (silicon-ledger, EXP-024); on an M4
Pro the channels stay at the lowest state whatever runs (vpipe). Without ticks a channel was silent, not idle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import PROCESSES, THREADS
from tracekit.model.schemas import ENGINE_PRESENCE
from tracekit.model.tables import Column, StackTable, Table
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.parsers.limits import require_at_most
from tracekit.parsers.text.log_signposts import make_text_column
from tracekit.parsers.text.pause import get_json_text
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_HEAD = re.compile(r'^\s*\{"tracekit": ?"engine-presence"')
_COLUMNS = (
    Column("start", "Start", "start-time", "int"),
    Column("duration", "Duration", "duration", "int"),
    Column("channel", "Channel", "string", "text"),
    Column("above-lowest", "Above the lowest state (%)", "fixed-decimal", "float"),
)
_LOWEST = "VMIN"
_VOLTAGE = re.compile(r"V(?:MIN|NOM|MAX|OVD\w{0,8})")
_LEVEL = re.compile(r"F(\d{1,3})")
_MAX_TICKS = 2**62
_MAX_LENGTH_MS = 60_000
_MAX_CHANNELS, _MAX_STATES = 100, 100


def measure_share(states: Sequence[tuple[str, int]]) -> float | None:
    """Return the share of the ticks above the lowest state; None without ticks, or for unknown states."""
    total = sum(ticks for _, ticks in states)
    levels = [int(match[1]) for name, _ in states if (match := _LEVEL.fullmatch(name))]
    is_voltage = all(_VOLTAGE.fullmatch(name) for name, _ in states)
    lowest = f"F{min(levels)}" if len(levels) == len(states) and levels else _LOWEST if is_voltage else ""
    if not total or not any(name == lowest for name, _ in states):
        return None
    return 1 - sum(ticks for name, ticks in states if name == lowest) / total


@dataclass
class _FloorRows:
    """The samples of a text while its lines are read."""

    moments_us: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    """For each row, its sample."""
    channels: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    interval_ms: int = 0
    issues: IssueCounter = field(default_factory=IssueCounter)

    def add(self, line: str) -> None:
        """Read a line; one that is damaged, and a channel whose states are unknown, are counted."""
        try:
            sample = json.loads(line)
            moment_us = round(datetime.fromisoformat(sample["timestamp"]).timestamp() * 1e6)
            interval_ms = _require_number(sample["interval_ms"], _MAX_LENGTH_MS)
            rows = [_read_channel(channel) for channel in sample["channels"][:_MAX_CHANNELS]]
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
            text = "samples of the Neural Engine's floors that are damaged or cut off: {n}"
            self.issues.add("warning", "lines-unreadable", text)
            return
        known = [(name, share) for name, share in rows if share is not None]
        text = "samples of channels without ticks, or with states that are not known: {n}; they show nothing"
        self.issues.add("info", "channels-silent", text, len(rows) - len(known))
        self.samples += [len(self.moments_us)] * len(known)
        self.channels += [name for name, _ in known]
        self.shares += [100 * share for _, share in known]
        self.moments_us.append(moment_us)
        self.interval_ms = interval_ms

    def build_recording(self, file: TextFile) -> TextRecording:
        """Return the rows as a table; each begins where the sample before it ended, two intervals at most."""
        ends = np.array(self.moments_us, np.int64) * 1000
        usual_ns = self.interval_ms * 1_000_000
        lengths = np.clip(np.diff(ends, prepend=ends[0] - usual_ns), 0, 2 * usual_ns)
        origin_ns = int(ends[0] - lengths[0])
        rows = np.array(self.samples, np.int64)
        table_rows = pd.DataFrame(
            {
                "start": pd.array((ends - lengths - origin_ns)[rows], dtype="Int64"),
                "duration": pd.array(lengths[rows], dtype="Int64"),
                "channel": make_text_column(self.channels),
                "above-lowest": np.array(self.shares, np.float64),
            }
        )
        table = Table(
            ENGINE_PRESENCE, _COLUMNS, table_rows, THREADS.empty(), PROCESSES.empty(), StackTable.empty()
        )
        info = TraceInfo(
            file.name,
            ENGINE_PRESENCE_TEXT.name,
            platform="macOS",
            start=datetime.fromtimestamp(origin_ns / 1e9).astimezone().isoformat(),
            duration_ns=int(ends[-1] - origin_ns),
        )
        return TextRecording(info, (table,), self.issues.issues())


def _read_channel(channel: dict[str, Any]) -> tuple[str, float | None]:
    """Return a channel's name, with its group where that is another die's, and its share."""
    states = [
        (get_json_text(name), _require_number(ticks, _MAX_TICKS))
        for name, ticks in channel["states"][:_MAX_STATES]
    ]
    words = [get_json_text(channel[key])[:100] for key in ("group", "subgroup", "name")]
    return " ".join(words), measure_share(states)


def _require_number(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError("no number of a sample")
    return value


def _read_lines(file: TextFile) -> Iterator[TextRecording]:
    """Yield the samples as one recording. Raises ``InputError`` for a text without any."""
    rows = _FloorRows()
    for line in file.iter_lines():
        if line.strip():
            rows.add(line)
            require_at_most(file.name, len(rows.shares) * len(_COLUMNS), file.limits.cells, "cells")
    if not rows.moments_us:
        raise InputError(file.name, "holds no whole sample.", "Record again: tracekit record --with presence")
    yield rows.build_recording(file)


def _is_engine_presence(head: str) -> bool:
    return _HEAD.match(head) is not None


ENGINE_PRESENCE_TEXT = TextKind(
    "engine-presence", "samples of the Neural Engine's bandwidth floors", _is_engine_presence, _read_lines
)
