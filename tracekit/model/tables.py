"""Tables as Instruments records them: typed columns, and unique stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import BINARIES, FRAMES, IntArray
from tracekit.model.content import Content
from tracekit.text import plural, printable

CoreType: TypeAlias = Literal["E", "P"]
ColumnKind: TypeAlias = Literal["int", "float", "text", "ints", "parts", "thread", "process", "stack"]


@frozen
class StackTable(Content):
    """Unique stacks in CSR form, leaf first.

    ``frame_ids[offsets[i]:offsets[i + 1]]`` are stack ``i``'s rows of ``frames``; frames point into
    ``binaries`` by ``binary_id``. A row of ``frames`` is one program counter of one function, so the same
    function appears several times with different addresses.
    """

    offsets: IntArray
    frame_ids: npt.NDArray[np.int32]
    frames: pd.DataFrame
    binaries: pd.DataFrame

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        counts = (plural(len(self), "stack"), plural(len(self.frames), "frame"))
        return f"<StackTable: {', '.join(counts)}, {len(self.binaries):,} binaries>"

    @classmethod
    def empty(cls) -> StackTable:
        """Return a table with no stack."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), FRAMES.empty(), BINARIES.empty())

    @classmethod
    def from_stacks(cls, stacks: Sequence[Sequence[tuple[str, str]]]) -> StackTable:
        """Return a table of stacks given as (binary, symbol) per frame, leaf first; "" for no binary.

        Frames have neither addresses nor source lines. Stack ``i`` is row ``i``, also where stacks repeat.
        """
        frame_ids = {frame: row for row, frame in enumerate(dict.fromkeys(chain.from_iterable(stacks)))}
        names = list(dict.fromkeys(binary for binary, _ in frame_ids if binary))
        binary_ids = {"": -1} | {name: row for row, name in enumerate(names)}
        count = len(frame_ids)
        frames = pd.DataFrame(
            {
                "symbol": pd.Series([symbol for _, symbol in frame_ids], dtype="str").astype("category"),
                "binary_id": np.array([binary_ids[binary] for binary, _ in frame_ids], np.int32),
                "address": np.zeros(count, np.uint64),
                "source_file": pd.Series([""] * count, dtype="str").astype("category"),
                "source_line": np.full(count, -1, np.int32),
                "inlined": np.zeros(count, bool),
            }
        )
        binaries = pd.DataFrame(
            {
                "name": names,
                "path": "",
                "uuid": "",
                "arch": "",
                "load_address": np.zeros(len(names), np.uint64),
            }
        )
        return cls(
            np.cumsum([0, *map(len, stacks)], dtype=np.int64),
            np.array([frame_ids[frame] for frame in chain.from_iterable(stacks)], np.int32),
            FRAMES.check(frames, "frames"),
            BINARIES.check(binaries.astype(dict(BINARIES.required)), "binaries"),
        )

    def stack(self, stack_id: int) -> npt.NDArray[np.int32]:
        """Return the frame ids of one stack, leaf first."""
        return self.frame_ids[self.offsets[stack_id] : self.offsets[stack_id + 1]]

    @cached_property
    def derived(self) -> dict[str, Any]:
        """Results of work on these stacks alone, by its name: several analyses of a recording share them."""
        return {}

    @cached_property
    def binary_names(self) -> npt.NDArray[np.object_]:
        """The binary's name for each row of ``frames``; "" where the frame has none."""
        # The binary_id -1 of a frame without a binary finds the "" at the end.
        names = np.append(self.binaries["name"].to_numpy(object), "")
        names_by_frame: npt.NDArray[np.object_] = names[self.frames["binary_id"].to_numpy()]
        return names_by_frame

    @cached_property
    def symbols(self) -> npt.NDArray[np.object_]:
        """The symbol for each row of ``frames``."""
        symbols_by_frame: npt.NDArray[np.object_] = self.symbol_names[self.symbol_codes]
        return symbols_by_frame

    @cached_property
    def symbol_names(self) -> npt.NDArray[np.object_]:
        """Every symbol once, by its code; some may be of no frame."""
        return self._symbol_column.categories.to_numpy(object)

    @cached_property
    def symbol_codes(self) -> npt.NDArray[np.int32]:
        """The code of the symbol for each row of ``frames``."""
        return self._symbol_column.codes.astype(np.int32)

    @cached_property
    def _symbol_column(self) -> pd.Categorical:
        """The column as a category, also where it was replaced by plain texts."""
        return pd.Categorical(self.frames["symbol"])


@frozen
class Column:
    """One column of a ``Table``: the export's mnemonic, its title, and Apple's engineering type."""

    mnemonic: str
    title: str
    engineering_type: str
    kind: ColumnKind


@frozen
class Table(Content):
    """One Instruments table as typed columns, whatever its schema.

    ``rows`` has one column per mnemonic. By ``Column.kind``:

    * ``int``: exact integers, nullable (``Int64``, or ``UInt64`` where a value is beyond 2^63-1);
    * ``float``: float64; ``text``: category; ``ints``: tuples of int;
    * ``parts``: a composite cell as a tuple of ``(engineering type, value)``; ``None`` for null;
    * ``thread``, ``process``, ``stack``: int32 rows of ``threads``, ``processes``, ``stacks``; -1 for null.
    """

    schema: str
    columns: tuple[Column, ...]
    rows: pd.DataFrame
    threads: pd.DataFrame
    processes: pd.DataFrame
    stacks: StackTable
    run: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict)
    core_types: Mapping[int, CoreType] = field(default_factory=dict)
    """For each core that the recording describes: "E", efficiency, or "P", performance."""

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        counts = f"{plural(len(self), 'row')}, {plural(len(self.columns), 'column')}"
        return f"<Table {printable(self.schema)}, run {self.run}: {counts}>"


OVERLAID = "overlaid"
"""The attribute of a table that was laid over a recording by wall clock: the name of its text."""
PICKED = "picked"
"""The attribute of a log whose reader picked its lines: those without a subsystem count too."""
NOT_COUNTED = -1
"""As a number of rows: the input holds the table, which was not opened."""


@frozen
class TableInfo:
    """One table of a run, as the table of contents or the document lists it.

    ``row_count`` is None when the table of contents names the table but the input does not hold its rows, and
    ``NOT_COUNTED`` for a table of a bundle that an analysis does not read.
    ``attributes`` qualify the schema (``target-pid``, ``pmc-events``, …). ``index`` is the position in the
    run's table of contents, from 1; 0 when unknown.
    """

    schema: str
    run: int = 1
    index: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    row_count: int | None = None
    location: str = ""
