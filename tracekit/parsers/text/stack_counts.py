"""Stacks with counts → one ``stack-counts`` table: the samples of a text that has no time line.

A row is one stack of one thread and the number of samples that it stands for. The rows of a thread add up to
the count of the thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tracekit.model.columns import BINARIES, FRAMES, PROCESSES, THREADS, Columns, categorical
from tracekit.model.schemas import STACK_COUNTS
from tracekit.model.tables import Column, StackTable, Table

_COLUMNS = (
    Column("thread", "Thread", "thread", "thread"),
    Column("thread-state", "State", "thread-state", "text"),
    Column("weight", "Samples", "sample-count", "int"),
    Column("stack", "Backtrace", "backtrace", "stack"),
)
MOST_COUNT = 10**12
"""A choice: more samples of one stack than a year of sampling takes; sums stay in 64 bits."""


@dataclass
class StackCounts:
    """Collects threads, frames and counted stacks; equal ones get one row."""

    _binaries: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _frames: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _threads: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _processes: dict[tuple[int, str], int] = field(default_factory=dict)
    _stacks: dict[tuple[int, ...], int] = field(default_factory=dict)
    _rows: dict[tuple[int, str, int], int] = field(default_factory=dict)
    """(thread, state, stack) → samples."""

    def binary(self, name: str, path: str = "", uuid: str = "", arch: str = "", load_address: int = 0) -> int:
        """Return the row of a binary; -1 for one without a name."""
        if not name:
            return -1
        key = (name, path, uuid, arch, load_address)
        return self._binaries.setdefault(key, len(self._binaries))

    def frame(
        self,
        symbol: str,
        binary: int = -1,
        address: int = 0,
        source_file: str = "",
        source_line: int = -1,
        *,
        is_inlined: bool = False,
    ) -> int:
        """Return the row of a frame; ``symbol`` is "0x…" where the text has an address only."""
        key = (symbol, binary, address, source_file, source_line, is_inlined)
        return self._frames.setdefault(key, len(self._frames))

    def thread(self, tid: int, name: str = "", pid: int = -1, process: str = "") -> int:
        """Return the row of a thread; -1 for an unknown number. Threads without a number differ by name."""
        self._processes.setdefault((pid, process), len(self._processes))
        return self._threads.setdefault((tid, name, pid, process), len(self._threads))

    def stack(self, frames: Sequence[int]) -> int:
        """Return the row of a stack, leaf first; -1 for an empty one."""
        key = tuple(frames)
        return self._stacks.setdefault(key, len(self._stacks)) if key else -1

    def add(self, thread: int, stack: Sequence[int], count: int = 1, state: str = "") -> None:
        """Count samples of a thread in a stack of frames, leaf first; an empty stack is none.

        Raises ``ValueError`` for a count below 0 or above ``MOST_COUNT``.
        """
        if not 0 <= count <= MOST_COUNT:
            raise ValueError(f"a count of {count}")
        row = (thread, state, self.stack(stack))
        self._rows[row] = self._rows.get(row, 0) + count

    def table(self, run: int = 1) -> Table:
        """Return everything that was counted."""
        threads, states, stacks = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        names = list(dict.fromkeys(state for state in states if state))
        codes = {"": -1} | {name: code for code, name in enumerate(names)}
        rows = pd.DataFrame(
            {
                "thread": np.array(threads, np.int32),
                "thread-state": categorical(np.array([codes[state] for state in states], np.int32), names),
                "weight": pd.array(list(self._rows.values()), dtype="Int64"),
                "stack": np.array(stacks, np.int32),
            }
        )
        return self.table_of(STACK_COUNTS, _COLUMNS, rows, run)

    def table_of(self, schema: str, columns: Sequence[Column], rows: pd.DataFrame, run: int = 1) -> Table:
        """Return rows of another table with these threads, processes and stacks."""
        threads = _frame_of(list(self._threads), THREADS)
        processes = _frame_of(list(self._processes), PROCESSES)
        return Table(schema, tuple(columns), rows, threads, processes, self._stack_table(), run)

    def _stack_table(self) -> StackTable:
        frames = list(zip(*self._frames, strict=True)) if self._frames else [()] * 6
        symbols, binaries, addresses, files, lines, inlined = frames
        rows = pd.DataFrame(
            {
                "symbol": pd.Series(list(symbols), dtype="str").astype("category"),
                "binary_id": np.array(binaries, np.int32),
                "address": np.array(addresses, np.uint64),
                "source_file": pd.Series(list(files), dtype="str").astype("category"),
                "source_line": np.array(lines, np.int32),
                "inlined": np.array(inlined, bool),
            }
        )
        lengths = [0, *map(len, self._stacks)]
        frame_ids = np.array([frame for stack in self._stacks for frame in stack], np.int32)
        binaries_frame = _frame_of(list(self._binaries), BINARIES)
        return StackTable(
            np.cumsum(lengths, dtype=np.int64), frame_ids, FRAMES.check(rows, "frames"), binaries_frame
        )


def _frame_of(records: Sequence[tuple[Any, ...]], columns: Columns) -> pd.DataFrame:
    frame = pd.DataFrame(list(records), columns=list(columns.required)).astype(dict(columns.required))
    return columns.check(frame, "threads and binaries")
