"""Lines of ``tracekit record --with usage``: which processes held memory on the Neural Engine, and when.

    {"tracekit": "process-usage", "version": 1, "timestamp": "2026-11-28T09:00:00.100000+00:00",
     "interval_ms": 100, "processes": [{"pid": 42, "name": "MyApp", "neural_bytes": 85000000, …}],
     "unreadable": 310}

A row is one process in one sample, from its moment to the next sample. Held memory means loaded programs: it
shows neither that they ran nor when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import PROCESSES, THREADS, make_categorical
from tracekit.model.schemas import PROCESS_USAGE
from tracekit.model.tables import Column, StackTable, Table
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.parsers.limits import require_at_most
from tracekit.parsers.text.pause import get_json_text
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_HEAD = re.compile(r'^\s*\{"tracekit": ?"process-usage"')
_COLUMNS = (
    Column("start", "Start", "start-time", "int"),
    Column("duration", "Duration", "duration", "int"),
    Column("process", "Process", "string", "text"),
    Column("pid", "PID", "pid", "int"),
    Column("neural-bytes", "Held on the Neural Engine", "size-in-bytes", "int"),
    Column("energy-nj", "Energy since the process began (nJ)", "uint64", "int"),
    Column("instructions", "Instructions since the process began", "uint64", "int"),
)
_NUMBERS = ("pid", "neural_bytes", "energy_nj", "instructions")
_MAX_NUMBER = 2**62
_MAX_LENGTH_MS = 60_000


@dataclass
class _UsageRows:
    """The samples of a text while its lines are read."""

    moments_us: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    """For each row, its sample."""
    names: list[str] = field(default_factory=list)
    numbers: list[tuple[int, ...]] = field(default_factory=list)
    interval_ms: int = 0
    unreadable: int = 0
    issues: IssueCounter = field(default_factory=IssueCounter)

    def add(self, line: str) -> None:
        """Read a line; one that is damaged is counted."""
        try:
            sample = json.loads(line)
            moment = datetime.fromisoformat(sample["timestamp"])
            interval_ms = _require_number(sample["interval_ms"], _MAX_LENGTH_MS)
            rows = [(get_json_text(row["name"]), _read_numbers(row)) for row in sample["processes"]]
            unreadable = _require_number(sample["unreadable"], _MAX_NUMBER)
            moment_us = round(moment.timestamp() * 1e6)
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
            text = "samples of memory on the Neural Engine that are damaged or cut off: {n}"
            self.issues.add("warning", "lines-unreadable", text)
            return
        self.samples += [len(self.moments_us)] * len(rows)
        self.names += [name for name, _ in rows]
        self.numbers += [numbers for _, numbers in rows]
        self.moments_us.append(moment_us)
        self.interval_ms = interval_ms
        self.unreadable = max(self.unreadable, unreadable)

    def build_recording(self, file: TextFile) -> TextRecording:
        """Return the rows as a table; each lasts until the next sample, two intervals at most."""
        moments = np.array(self.moments_us, np.int64) * 1000
        usual_ns = self.interval_ms * 1_000_000
        lengths = np.clip(np.append(np.diff(moments), usual_ns), 0, 2 * usual_ns)
        rows = np.array(self.samples, np.int64)
        numbers = np.array(self.numbers, np.int64).reshape(-1, len(_NUMBERS))
        codes, names = pd.factorize(np.array(self.names, object))
        table_rows = pd.DataFrame(
            {
                "start": pd.array(moments[rows] - moments[0], dtype="Int64"),
                "duration": pd.array(lengths[rows], dtype="Int64"),
                "process": make_categorical(codes, [str(name) for name in names]),
                **{
                    column.mnemonic: pd.array(numbers[:, position], dtype="Int64")
                    for position, column in enumerate(_COLUMNS[3:])
                },
            }
        )
        attributes = {"unreadable": str(self.unreadable)}
        table = Table(
            PROCESS_USAGE,
            _COLUMNS,
            table_rows,
            THREADS.empty(),
            PROCESSES.empty(),
            StackTable.empty(),
            attributes=attributes,
        )
        info = TraceInfo(
            file.name,
            PROCESS_USAGE_TEXT.name,
            platform="macOS",
            start=datetime.fromtimestamp(self.moments_us[0] / 1e6).astimezone().isoformat(),
            duration_ns=int(moments[-1] - moments[0] + usual_ns),
        )
        return TextRecording(info, (table,), self.issues.issues())


def _read_numbers(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(_require_number(row[name], _MAX_NUMBER) for name in _NUMBERS)


def _require_number(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError("no number of a sample")
    return value


def _read_lines(file: TextFile) -> Iterator[TextRecording]:
    """Yield the samples as one recording. Raises ``InputError`` for a text without any."""
    rows = _UsageRows()
    for line in file.iter_lines():
        if line.strip():
            rows.add(line)
            require_at_most(file.name, len(rows.numbers) * len(_COLUMNS), file.limits.cells, "cells")
    if not rows.moments_us:
        raise InputError(file.name, "holds no whole sample.", "Record again: tracekit record --with usage")
    yield rows.build_recording(file)


def _is_process_usage(head: str) -> bool:
    return _HEAD.match(head) is not None


PROCESS_USAGE_TEXT = TextKind(
    "process-usage", "samples of memory on the Neural Engine", _is_process_usage, _read_lines
)
