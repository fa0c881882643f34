"""A stored table: its Arrow columns, mapped from the disk, with the orders and masks that pages need."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.tables.table_columns import ShownColumn
from tracekit_dashboard.tables.table_files import ABOUT, FORMAT, FRAMES, ROWS, STACKS

Array: TypeAlias = Any
"""An array of Arrow, whose types mypy does not see."""
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
_UNREADABLE = "This table's data is damaged, or of another version of tracekit. Read it again."


@dataclass(frozen=True)
class StoredTable:
    """A table on the disk; ``revision`` changes when the table is stored again."""

    revision: str
    schema: str
    rows: int
    columns: tuple[ShownColumn, ...]
    has_time: bool
    is_timed: bool
    about: dict[str, Any]
    batch: Array
    folder: Path
    _ranks: dict[int, Ints] = field(default_factory=dict, repr=False)

    def read_array(self, column: int) -> Array:
        """Return a column: numbers, or a dictionary of texts."""
        return self.batch.column(column)

    def is_text(self, column: int) -> bool:
        """Return True for a column of texts, False for one of numbers."""
        return hasattr(self.read_array(column), "dictionary")

    def list_texts(self, column: int) -> list[str]:
        """Return the distinct texts of a column, by their codes."""
        texts: list[str] = self.read_array(column).dictionary.to_pylist()
        return texts

    def read_codes(self, column: int) -> Ints:
        """Return the code of each row's text, -1 for null."""
        return _fill_nulls(self.read_array(column).indices, -1)

    def match_texts(self, column: int, matches: Callable[[str], bool]) -> Bools:
        """Return the rows whose text matches; each distinct text is looked at once."""
        return self.match_codes(
            column, np.array([matches(text) for text in self.list_texts(column)], np.bool_)
        )

    def match_codes(self, column: int, marks: Bools) -> Bools:
        """Return the rows whose code is marked."""
        # The appended False is what the code -1 of a null finds.
        mask: Bools = np.append(marks, False)[self.read_codes(column)]
        return mask

    def read_numbers(self, column: int) -> tuple[npt.NDArray[Any], Bools]:
        """Return a column's numbers, and where there is one: neither null nor NaN."""
        array = self.read_array(column)
        present = array.is_valid().to_numpy(zero_copy_only=False)
        values = _fill_nulls(array, 0)
        if values.dtype.kind == "f":
            present = present & ~np.isnan(values)
        return values, present

    @cached_property
    def start(self) -> Ints:
        """The start of each row in ns; the largest int64 for a row without a time."""
        return _fill_nulls(self.batch.column(len(self.columns)), np.iinfo(np.int64).max)

    @cached_property
    def end(self) -> Ints:
        """The end of each row in ns; 0 for a row without a time."""
        return _fill_nulls(self.batch.column(len(self.columns) + 1), 0)

    @cached_property
    def frames(self) -> Array:
        """The frames of all stacks: symbol, binary, address."""
        return _map_batch(self.folder / FRAMES)

    @cached_property
    def stacks(self) -> Array:
        """The numbers of the frames of each stack, leaf first."""
        return _map_batch(self.folder / STACKS).column(0)

    def match_stacks(self, matches: Callable[[str], bool]) -> Bools:
        """Return the stacks that have a frame whose symbol matches."""
        symbols = self.frames.column(0)
        is_matching = np.array([matches(text) for text in symbols.dictionary.to_pylist()], np.bool_)
        of_frame = np.append(is_matching, False)[_fill_nulls(symbols.indices, -1)]
        hits = np.concatenate([[0], np.cumsum(of_frame[self.stacks.values.to_numpy()])])
        offsets = self.stacks.offsets.to_numpy()
        mask: Bools = hits[offsets[1:]] > hits[offsets[:-1]]
        return mask

    def read_stack(self, number: int, max_frames: int) -> list[list[str | None]]:
        """Return symbol, binary and address of a stack's first frames, leaf first."""
        rows = self.stacks[number].values.slice(0, max_frames)
        columns = [self.frames.column(place).take(rows).to_pylist() for place in range(3)]
        return [
            [symbol, binary or None, f"0x{address:x}" if address else None]
            for symbol, binary, address in zip(*columns, strict=True)
        ]

    def rank_texts(self, column: int) -> Ints:
        """Return the place of each distinct text in alphabetical order, without regard to case."""
        if column not in self._ranks:
            texts = self.list_texts(column)
            order = sorted(range(len(texts)), key=lambda code: (texts[code].casefold(), texts[code]))
            ranks = np.empty(len(texts), np.int64)
            ranks[order] = np.arange(len(texts))
            self._ranks[column] = ranks
        return self._ranks[column]

    def order(self, column: int, descending: bool) -> npt.NDArray[np.uint32]:
        """Return all rows in the order of a column; null and NaN come last, equal rows keep their order."""
        if self.is_text(column):
            codes = self.read_codes(column)
            present = codes >= 0
            keys: npt.NDArray[Any] = np.append(self.rank_texts(column), 0)[codes]
        else:
            keys, present = self.read_numbers(column)
        rows = np.flatnonzero(present).astype(np.uint32)
        keys = keys[rows]
        if descending:
            # The stable order of the reversed rows, reversed: equal rows keep their order.
            ordered = rows[::-1][np.argsort(keys[::-1], kind="stable")][::-1]
        else:
            ordered = rows[np.argsort(keys, kind="stable")]
        return np.concatenate([ordered, np.flatnonzero(~present).astype(np.uint32)])


def open_table(folder: Path) -> StoredTable:
    """Map a stored table; raises ``NotFound`` if it is damaged or of another version."""
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        if about["format"] != FORMAT:
            raise NotFound(_UNREADABLE)
        batch = _map_batch(folder / ROWS)
        columns = tuple(ShownColumn(**column) for column in about["columns"])
        if batch.num_columns != len(columns) + 2 or batch.num_rows != about["rows"]:
            raise NotFound(_UNREADABLE)
        return StoredTable(
            read_revision(folder),
            about["schema"],
            about["rows"],
            columns,
            about["has_time"],
            about["is_timed"],
            about,
            batch,
            folder,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:  # Arrow's errors are of these kinds
        raise NotFound(_UNREADABLE) from error


def read_revision(folder: Path) -> str:
    """Return a text that differs between two storings of a table."""
    try:
        status = (folder / ABOUT).stat()
    except OSError:
        return "none"
    return f"{status.st_ino:x}-{status.st_mtime_ns:x}"


def _map_batch(path: Path) -> Array:
    import pyarrow as pa

    # The file stays mapped as long as an array of it is in use.
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    return reader.get_batch(0)


def _fill_nulls(array: Array, missing: int) -> npt.NDArray[Any]:
    filled = array.fill_null(missing) if array.null_count else array
    values: npt.NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return values


def choose_columns(table: StoredTable, columns: Sequence[int] | None) -> Sequence[int]:
    """Return the chosen columns, or all."""
    return range(len(table.columns)) if columns is None else columns
