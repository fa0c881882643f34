"""Stacks with counts → one ``stack-counts`` table: the samples of a text that has no time line.

A row is one stack of one thread and its number of samples. The rows of a thread add up to
the count of the thread.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tracekit.model.columns import (
    BINARIES,
    FRAMES,
    PROCESSES,
    THREADS,
    BoolArray,
    Columns,
    IntArray,
    make_categorical,
)
from tracekit.model.schemas import STACK_COUNTS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits, require_at_most
from tracekit.parsers.text.call_paths import CallPaths, Rows

_COLUMNS = (
    Column("thread", "Thread", "thread", "thread"),
    Column("thread-state", "State", "thread-state", "text"),
    Column("weight", "Samples", "sample-count", "int"),
    Column("stack", "Backtrace", "backtrace", "stack"),
)
MAX_COUNT = 10**12
"""Chosen limit: more samples of one stack than in a year of sampling; sums fit 64 bits."""


class StackCounts:
    """Collects threads, frames and counted stacks as columns; equal ones get one row of the table.

    A stack is a leaf's frame and the path of its callers: call trees share the paths. Raises ``LimitError``
    for more than ``limits`` allow.
    """

    def __init__(self, name: str = "the text", limits: Limits = DEFAULT_LIMITS) -> None:
        self._name, self._limits = name, limits
        self._binaries: dict[tuple[Any, ...], int] = {}
        self._frames: dict[tuple[Any, ...], int] = {}
        self._threads: dict[tuple[Any, ...], int] = {}
        self._processes: dict[tuple[int, str], int] = {}
        self._states: dict[str, int] = {"": -1}
        self._paths = CallPaths(name, limits)
        # One entry for each counted stack; a leaf of -1 means no stack, and a caller of -1 the root of a
        # thread.
        self._row_threads, self._row_states = array("i"), array("i")
        self._leaves, self._callers = array("i"), array("i")
        self._samples = array("q")

    schema = STACK_COUNTS
    attributes: ClassVar[Mapping[str, str]] = {}

    @property
    def processes(self) -> Iterable[tuple[int, str]]:
        """Number (-1 for an unknown one) and name of each process."""
        return self._processes

    def __len__(self) -> int:
        """Return the rows of the table; nothing can be added afterwards."""
        return len(self._merged[0])

    def add_binary(
        self, name: str, path: str = "", uuid: str = "", arch: str = "", load_address: int = 0
    ) -> int:
        """Return the row of a binary; -1 for one without a name."""
        if not name:
            return -1
        key = (name, path, uuid, arch, load_address)
        return self._binaries.setdefault(key, len(self._binaries))

    def add_frame(
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
        row = self._frames.get(key)
        if row is None:
            row = self._frames[key] = len(self._frames)
            self.require_few_frames(row + 1)
        return row

    def require_few_frames(self, count: int) -> None:
        """Raise ``LimitError`` for more different frames than the limit, also if they have no row yet."""
        require_at_most(self._name, count, self._limits.frames, "different frames")

    def add_thread(self, tid: int, name: str = "", pid: int = -1, process: str = "") -> int:
        """Return the row of a thread; -1 for an unknown number. Threads without a number differ by name."""
        key = (tid, name, pid, process)
        row = self._threads.get(key)
        if row is None:
            row = self._threads[key] = len(self._threads)
            require_at_most(self._name, row + 1, self._limits.threads, "threads")
            self._processes.setdefault((pid, process), len(self._processes))
        return row

    def add_caller(self, frame: int, caller: int = -1) -> int:
        """Return a new path: that of a caller, and one more frame that it called."""
        return self._paths.add(frame, caller)

    def add(self, thread: int, leaf: int = -1, caller: int = -1, count: int = 1, state: str = "") -> None:
        """Count samples of a thread in a frame below a path of callers; a leaf of -1 means no stack.

        Raises ``ValueError`` for a count below 0 or above ``MAX_COUNT``.
        """
        if not 0 <= count <= MAX_COUNT:
            raise ValueError(f"a count of {count}")
        code = self._states.setdefault(state, len(self._states) - 1)
        self._samples.append(count)
        require_at_most(self._name, len(self._samples), self._limits.call_paths, "counted stacks")
        self._row_threads.append(thread)
        self._row_states.append(code)
        self._leaves.append(leaf)
        self._callers.append(caller)

    def add_stack(self, thread: int, stack: Sequence[int], count: int = 1, state: str = "") -> None:
        """Count samples of a thread in a stack of frames, leaf first; it may be empty."""
        self.add(thread, *self.split(stack), count, state)

    def weigh(self, samples: IntArray) -> None:
        """Give each counted stack, in the order of counting, another number of samples."""
        self._samples = array("q", samples.tobytes())

    def split(self, stack: Sequence[int]) -> tuple[int, int]:
        """Return the leaf of a stack of frames, leaf first, and the path of its callers."""
        return (stack[0] if stack else -1), self._paths.add_stack(stack[:0:-1])

    @property
    def end(self) -> tuple[int, int]:
        """The number of counted stacks and of paths so far."""
        return len(self._samples), len(self._paths)

    def replace_frames(self, since: tuple[int, int], frame_of: Callable[[int, bool], int]) -> None:
        """Replace the frames that were added since an earlier ``end``.

        ``frame_of`` is called once per number of a leaf (True) and once per number of a caller.
        """
        rows, paths = since
        leaves = np.frombuffer(self._leaves, np.intc)[rows:].copy()
        callers = np.frombuffer(self._callers, np.intc)[rows:].copy()
        _replace_numbers(leaves, leaves >= 0, lambda number: frame_of(number, True))
        self._leaves[rows:] = array("i", leaves.tobytes())
        frames, are_used = self._paths.copy_used_frames(paths, callers)
        _replace_numbers(frames, are_used, lambda number: frame_of(number, False))
        self._paths.replace_frames(paths, frames)

    def build_table(self, run: int = 1) -> Table:
        """Return all counted stacks."""
        merged_rows, offsets, frame_ids = self._merged
        names = list(self._states)[1:]
        rows = merged_rows.assign(
            **{"thread-state": make_categorical(merged_rows["thread-state"].to_numpy(), names)}
        )
        return self._make_table(
            STACK_COUNTS, _COLUMNS, rows, self._build_stack_table(offsets, frame_ids), run
        )

    @cached_property
    def _merged(self) -> tuple[pd.DataFrame, IntArray, Rows]:
        """The rows of the table, equal ones as one, and its stacks as offsets and frames.

        It is cheap, unlike the table: of many reports in one file, one is analyzed.
        """
        columns = (self._row_threads, self._row_states, self._leaves, self._callers)
        thread, state, leaf, caller = (np.frombuffer(column, np.intc) for column in columns)
        offsets, frame_ids, stack = self._paths.build_stacks(leaf, caller)
        # Each factor is at most the number of rows or of frames, so no product exceeds 64 bits.
        _, of_thread = np.unique(thread * np.int64(len(self._states)) + state + 1, return_inverse=True)
        keys = of_thread * np.int64(len(offsets)) + stack + 1
        _, first_positions, inverse = np.unique(keys, return_index=True, return_inverse=True)
        samples = np.zeros(len(first_positions), np.int64)
        np.add.at(samples, inverse, np.frombuffer(self._samples, np.int64))
        order = np.argsort(first_positions)
        firsts = first_positions[order]
        rows = pd.DataFrame(
            {
                "thread": thread[firsts],
                "thread-state": state[firsts],
                "weight": pd.array(samples[order], dtype="Int64"),
                "stack": stack[firsts],
            }
        )
        return rows, offsets, frame_ids

    def build_table_of(
        self,
        schema: str,
        columns: Sequence[Column],
        rows: pd.DataFrame,
        stacks: Sequence[tuple[int, int]],
    ) -> Table:
        """Return rows of another table with these threads and processes, and a column of their stacks.

        ``stacks`` are those of the rows, as ``split`` returned them.
        """
        parts = np.array(stacks, np.int32).reshape(-1, 2)
        offsets, frame_ids, stack = self._paths.build_stacks(parts[:, 0], parts[:, 1])
        rows = rows.assign(stack=stack)
        return self._make_table(schema, columns, rows, self._build_stack_table(offsets, frame_ids), 1)

    def _make_table(
        self, schema: str, columns: Sequence[Column], rows: pd.DataFrame, stacks: StackTable, run: int
    ) -> Table:
        threads = _build_frame(list(self._threads), THREADS)
        processes = _build_frame(list(self._processes), PROCESSES)
        return Table(schema, tuple(columns), rows, threads, processes, stacks, run)

    def _build_stack_table(self, offsets: IntArray, frame_ids: Rows) -> StackTable:
        frames = list(zip(*self._frames, strict=True)) if self._frames else [()] * 6
        symbols, binaries, addresses, files, lines, inlined = frames
        columns = pd.DataFrame(
            {
                "symbol": pd.Series(list(symbols), dtype="str").astype("category"),
                "binary_id": np.array(binaries, np.int32),
                "address": np.array(addresses, np.uint64),
                "source_file": pd.Series(list(files), dtype="str").astype("category"),
                "source_line": np.array(lines, np.int32),
                "inlined": np.array(inlined, bool),
            }
        )
        binary_rows = _build_frame(list(self._binaries), BINARIES)
        return StackTable(offsets, frame_ids, FRAMES.check(columns, "frames"), binary_rows)


def _replace_numbers(numbers: Rows, are_replaced: BoolArray, row_of: Callable[[int], int]) -> None:
    """Replace the marked numbers in place by their rows."""
    different, inverse = np.unique(numbers[are_replaced], return_inverse=True)
    numbers[are_replaced] = np.array([row_of(int(number)) for number in different], np.intc)[inverse]


def _build_frame(records: Sequence[tuple[Any, ...]], columns: Columns) -> pd.DataFrame:
    frame = pd.DataFrame(list(records), columns=list(columns.required)).astype(dict(columns.required))
    return columns.check(frame, "threads and binaries")
