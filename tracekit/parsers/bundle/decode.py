"""Stored values → the columns of a ``Table``, and composite cells → tuples of (tag, value).

``CellDecoder`` reads composite cells (log messages, narratives, labels) from typed lists:

    typed list   type 12 │ "Sent " │ type 7 │ 3 │ type 30 │ ref of another typed list │ …
    cell         (("narrative-text", "Sent "), ("uint64", 3), ("formatted-label", (…)), …)

``ColumnDecoder`` reads whole columns: every distinct value once, then spread over the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.tables import ColumnKind
from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.interned import NO_VALUE_32, NO_VALUE_64, InternPool
from tracekit.parsers.bundle.stored_rows import RawColumn
from tracekit.parsers.bundle.types import Encoding, find_encoding
from tracekit.parsers.engineering_types import KIND_OF_TYPE

Parts: TypeAlias = "tuple[tuple[str, Any], ...]"

_MAX_DEPTH = 16
_MAX_LEAVES = 20_000
"""For one cell with everything nested in it: nested lists are shared, so few bytes could expand to many."""

_FIXED_ZERO = 2**63 - 1
_FIXED_UNIT = 1e9
_FIXED_STRING_COUNT = 14
"""The strings 0 to 13 are the same in every recording."""
_MAX_INT64 = 2**63 - 1


def convert_fixed_point(raw: int) -> float:
    """Return the value of a fixed-point number."""
    return (raw - _FIXED_ZERO) / _FIXED_UNIT


class CellDecoder:
    """Decodes composite cells of one run.

    ``tag_of`` returns the export's tag of a type. ``report_type`` is called with each type that no export has
    confirmed, and whether its encoding is known from elsewhere.
    """

    def __init__(
        self,
        pool: InternPool,
        entities: Entities,
        tag_of: Callable[[str], str],
        report_type: Callable[[str, bool], None],
    ) -> None:
        self._pool = pool
        self._entities = entities
        self._tag_of = tag_of
        self._report_type = report_type
        self._cells: dict[int, tuple[Parts, int, int]] = {}
        self._decode_lists: dict[int, tuple[int, ...]] = {}

    def read(self, ref: int) -> Parts:
        """Return one cell's parts; raise ``DamagedFileError`` for a list that no recording would hold."""
        return self._read(ref, 0)[0]

    def prepare(self, refs: IntArray) -> None:
        """Fetch the lists of many cells at once: fetching them singly would take most of the time."""
        valid = refs[refs < len(self._pool.typed_lists)]
        lists = self._pool.typed_lists.tuples(valid)
        self._decode_lists = dict(zip(valid.tolist(), lists, strict=True))

    def read_location(self, value: int) -> Parts:
        """Return a return location's parts: the binary's UUID, and the offset in it."""
        return (("uuid", self.read_uuid(value >> 32)), ("mach-o-vm-offset", value & 0xFFFF_FFFF))

    def read_uuid(self, ref: int) -> Parts:
        """Return the two halves of a UUID, each a number whose big-endian bytes are the UUID's."""
        return tuple(("eight-byte-array", half) for half in self._pool.lists.single(ref))

    def _read(self, ref: int, depth: int) -> tuple[Parts, int, int]:
        """Return the parts, and the number of leaves and of levels with everything nested in them."""
        # Memoised with its leaf count: a shared list is not decoded again, but its leaves count again, so
        # a few lists that refer to one another cannot expand to billions of parts.
        if ref not in self._cells:
            lists = self._pool.typed_lists
            if depth > _MAX_DEPTH:
                raise self._make_depth_error()
            values = self._decode_lists[ref] if ref in self._decode_lists else lists.single(ref)
            if len(values) % 2:
                raise DamagedFileError(lists.file, "has a composite value without a type")
            parts = [
                self._decode_part(type_number, value, depth)
                for type_number, value in zip(values[::2], values[1::2], strict=True)
            ]
            leaves = sum(count for _, _, count, _ in parts)
            levels = 1 + max((nested_levels for *_, nested_levels in parts), default=0)
            if levels > _MAX_DEPTH + 1:  # lists that were read before do not recurse
                raise self._make_depth_error()
            if leaves > _MAX_LEAVES:
                raise DamagedFileError(lists.file, "has a composite value longer than any recording's")
            self._cells[ref] = tuple((tag, value) for tag, value, *_ in parts), leaves, levels
        return self._cells[ref]

    def _make_depth_error(self) -> DamagedFileError:
        problem = "has a composite value nested deeper than any recording's"
        return DamagedFileError(self._pool.typed_lists.file, problem)

    def _decode_part(self, type_number: int, value: int, depth: int) -> tuple[str, Any, int, int]:
        """Return one part's tag and value, and the number of leaves and of levels in it."""
        type_ids = self._pool.type_ids
        if type_number >= len(type_ids):
            problem = f"refers to a type {type_number} that is not listed"
            raise DamagedFileError(self._pool.typed_lists.file, problem)
        type_id = type_ids[type_number]
        tag = self._tag_of(type_id)
        encoding, confirmed = find_encoding(type_id, tag)
        if not confirmed:
            self._report_type(type_id, encoding is not Encoding.UNKNOWN)
        if encoding in (Encoding.PARTS, Encoding.ANY):
            if value in (NO_VALUE_32, NO_VALUE_64):
                return tag, None, 1, 0
            parts, leaves, levels = self._read(value, depth + 1)
            return tag, parts, leaves + 1, levels
        return tag, self._decode_scalar(encoding, value), 1, 0

    def _decode_scalar(self, encoding: Encoding, value: int) -> Any:
        if value == NO_VALUE_64:
            return None
        if encoding is Encoding.TEXT:
            return self._pool.string(value) if value != NO_VALUE_32 else None
        if encoding is Encoding.FIXED:
            return str(convert_fixed_point(value))
        if encoding is Encoding.PROCESS:
            pid, name = self._entities.process(value)
            return f"{name} ({pid})"
        if encoding is Encoding.THREAD:
            tid, name, pid, process = self._entities.thread(value)
            return f"{name} 0x{tid:x} ({process}, pid: {pid})"
        if encoding is Encoding.UUID:
            return self.read_uuid(value)
        if encoding is Encoding.LOCATION:
            return self.read_location(value)
        return value


@frozen
class DecodedColumn:
    """A decoded column; ``tag`` replaces the declared type where the cells carry their own (``any``)."""

    kind: ColumnKind
    data: Any
    tag: str = ""


class ColumnDecoder:
    """Decodes the columns of values other than threads, processes and stacks."""

    def __init__(self, pool: InternPool, cells: CellDecoder) -> None:
        self._pool = pool
        self._cells = cells

    def read_unconfirmed(self, column: RawColumn, encoding: Encoding, tag: str) -> DecodedColumn | None:
        """Return a column whose encoding no export has confirmed; None when its values do not fit it.

        A text column of numbers below 14 fits only by chance: these strings are the same in every recording.
        """
        if encoding is Encoding.TEXT and (column.raw[~column.missing] < _FIXED_STRING_COUNT).all():
            return None
        try:
            return self.read(column, encoding, tag)
        except DamagedFileError:
            return None

    def read(self, column: RawColumn, encoding: Encoding, tag: str) -> DecodedColumn:
        """Return the column as a ``Table`` holds it. Raises ``DamagedFileError``."""
        if encoding is Encoding.UNKNOWN and column.missing.all():
            return _make_null_column(len(column.raw), KIND_OF_TYPE.get(tag, "text"))
        if encoding is Encoding.FIXED:
            return self._decode_fixed(column)
        if encoding in (Encoding.TEXT, Encoding.THREAD_NAME):
            return self._decode_text(column, encoding)
        if encoding is Encoding.INTEGERS:
            return DecodedColumn("ints", self._decode_lists(column))
        if encoding in (Encoding.ANY, Encoding.PARTS):
            self._cells.prepare(np.unique(column.raw[~column.missing]).astype(np.int64))
        if encoding is Encoding.ANY:
            return self._decode_any(column)
        composite: dict[Encoding, Callable[[int], Any]] = {
            Encoding.PARTS: self._cells.read,
            Encoding.UUID: self._cells.read_uuid,
            Encoding.LOCATION: self._cells.read_location,
        }
        if encoding in composite:
            return DecodedColumn("parts", self._decode_distinct(column, composite[encoding]))
        return DecodedColumn("int", make_integers(column))

    def _decode_fixed(self, column: RawColumn) -> DecodedColumn:
        # Exact in Python's integers: the raw numbers are near 2^63, where float64 has steps of 1024.
        unique, inverse = np.unique(column.raw, return_inverse=True)
        values = np.array([convert_fixed_point(raw) for raw in unique.tolist()], np.float64)[inverse]
        return DecodedColumn("float", np.where(column.missing, np.nan, values))

    def _decode_text(self, column: RawColumn, encoding: Encoding) -> DecodedColumn:
        # Three levels of numbers: row → distinct stored number → category. Two stored numbers may name equal
        # strings, and a number that occurs only as null is not a string.
        #   raw    [8, 5, 8, ff]        unique [8, 5, ff]      texts ["b", "a", None]
        #   index  [0, 1, 0, 2]         codes  [0, 1, 0, -1]   categories ["b", "a"]
        raw = column.raw >> np.uint64(32) if encoding is Encoding.THREAD_NAME else column.raw
        index, unique = pd.factorize(raw)
        has_value = np.zeros(len(unique), bool)
        has_value[index[~column.missing]] = True
        texts = [
            self._pool.string(number) if present else None
            for number, present in zip(unique.tolist(), has_value.tolist(), strict=True)
        ]
        categories = list(dict.fromkeys(text for text in texts if text is not None))
        code_of = {text: code for code, text in enumerate(categories)}
        codes = np.array([-1 if text is None else code_of[text] for text in texts], np.int32)[index]
        codes[column.missing] = -1
        data = pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype="str"))
        return DecodedColumn("text", data)

    def _decode_distinct(self, column: RawColumn, read: Callable[[int], Any]) -> pd.Series[Any]:
        """Decode each distinct value once; equal cells become one object."""
        unique, inverse = np.unique(column.raw, return_inverse=True)
        missing = np.unique(column.raw[column.missing])
        decoded = np.empty(len(unique), dtype=object)
        decoded[:] = [None if raw in missing else read(raw) for raw in unique.tolist()]
        return pd.Series(decoded[inverse], dtype=object)

    def _decode_lists(self, column: RawColumn) -> pd.Series[Any]:
        refs, inverse = np.unique(column.raw[~column.missing].astype(np.int64), return_inverse=True)
        lists = np.empty(len(refs), dtype=object)
        lists[:] = self._pool.lists.tuples(refs)
        cells = np.full(len(column.raw), None, dtype=object)
        cells[~column.missing] = lists[inverse]
        return pd.Series(cells, dtype=object)

    def _decode_any(self, column: RawColumn) -> DecodedColumn:
        """Decode values that carry their type: a column of numbers, of text, or of composite values."""
        cells = self._decode_distinct(column, self._cells.read)
        present = [cell for cell in cells if cell is not None]
        tags = {tag for cell in present for tag, _ in cell}
        tag = tags.pop() if len(tags) == 1 else ""
        if any(len(cell) != 1 or isinstance(cell[0][1], tuple) for cell in present):
            return DecodedColumn("parts", cells, tag)
        values = [None if cell is None else cell[0][1] for cell in cells]
        if present and all(isinstance(cell[0][1], int) for cell in present):
            missing = np.array([value is None for value in values], bool)
            numbers = np.array([value or 0 for value in values], np.uint64)
            return DecodedColumn("int", make_integers(RawColumn(numbers, missing)), tag)
        texts = [None if value is None else str(value) for value in values]
        return DecodedColumn("text", pd.Categorical(pd.Series(texts, dtype="str")), tag)


def make_integers(column: RawColumn) -> pd.arrays.IntegerArray:
    """Return exact integers, unsigned only where a value is beyond 2^63-1."""
    values = np.where(column.missing, 0, column.raw).astype(np.uint64)
    needs_unsigned = len(values) and int(values.max()) > _MAX_INT64
    return pd.arrays.IntegerArray(
        values if needs_unsigned else values.astype(np.int64), column.missing.copy()
    )


def _make_null_column(rows: int, kind: ColumnKind) -> DecodedColumn:
    missing = np.ones(rows, bool)
    if kind == "int":
        return DecodedColumn(kind, make_integers(RawColumn(np.zeros(rows, np.uint64), missing)))
    if kind == "float":
        return DecodedColumn(kind, np.full(rows, np.nan))
    if kind == "text":
        no_categories = pd.Index([], dtype="str")
        return DecodedColumn(kind, pd.Categorical.from_codes(np.full(rows, -1), categories=no_categories))
    if kind in ("parts", "ints"):
        return DecodedColumn(kind, pd.Series([None] * rows, dtype=object))
    return DecodedColumn(kind, np.full(rows, -1, np.int32))
