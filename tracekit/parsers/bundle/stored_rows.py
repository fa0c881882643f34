"""The rows of one table as they are stored, column by column.

A table is a folder ``indexed-store-<k>``: ``schema.xml`` names the columns, ``bulkstore_descriptor`` the
fields, and ``bulkstore`` holds the rows, packed and little-endian, after a header page:

    bulkstore   u32 magic 12340a0a, version 3, ?, start of rows, bytes of a row │ … │ row │ row │ … │ zeros
    row         topology │ field 1 │ field 2 │ …          fields of type 1 have 4 bytes, of type 2 have 8

The *topology* is the first field of every row: time, duration and one or two categories, in one of four
layouts. They are the values of the columns whose ``topologyField`` names them.

==== ======================= ============================================================== ================
type name                    content, little-endian                                         Instruments
==== ======================= ============================================================== ================
4    XRT50_C22_TypeID        72 bits: time 50, category 22                                  8.3 to 10.1
5    XRTD50_CC22_R_TypeID    144 bits: time 50, duration 50, category 22, category 22       9.3 to 10.1
6    XRTD64_CC32_R_TypeID    u64 time, u64 duration, u32 category, u32 category             Xcode 13 and later
7    XRT64_CC32_R_TypeID     u64 time, u32 category, u32 category                           Xcode 13 and later
==== ======================= ============================================================== ================

Times and durations are nanoseconds, times since the start of the run. A category that no column declares is
uninitialised memory. Everything is checked (magic, widths, row size, number of rows): the format is Apple's
own and undocumented, and may change with any Xcode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
from lxml import etree

from tracekit.frozen import frozen
from tracekit.parsers.bundle.bundle_files import (
    ROWS_RATIO,
    ROWS_SLACK_BYTES,
    BundleFiles,
    DamagedFileError,
    read_chunks,
    read_file,
)
from tracekit.parsers.bundle.interned import NO_VALUE_32, NO_VALUE_64
from tracekit.parsers.bundle.keyed_archive import KeyedArchive

_MAGIC = 0x1234_0A0A
_HEADER_BYTES = 20
_FIELD_WIDTHS = {1: 4, 2: 8}
_MAX_COLUMNS = 512
_DESCRIBED = ("_fields", "_props", "_maxEventSize", "_variableSize")
_MAX_ROWS = 2**40

_TOPOLOGY_WIDTHS = {4: 9, 5: 18, 6: 24, 7: 16}
_TOPOLOGY_TYPES = {
    "XRT50_C22_TypeID": 4,
    "XRTD50_CC22_R_TypeID": 5,
    "XRTD50_CC22_TypeID": 5,
    "XRTD64_CC32_R_TypeID": 6,
    "XRT64_CC32_R_TypeID": 7,
}
_TOPOLOGY_FIELDS = {
    "XRTraceRelativeTimestampFieldID": "time",
    "XRDurationFieldID": "duration",
    "XRCategory1FieldID": "category-1",
    "XRCategory2FieldID": "category-2",
}
_MASK_50 = np.uint64((1 << 50) - 1)
_MASK_22 = np.uint64((1 << 22) - 1)


@frozen
class SchemaColumn:
    """A column of ``schema.xml``; ``topology_field`` is "" for a column with a separate field."""

    mnemonic: str
    title: str
    type_id: str
    topology_field: str


@frozen
class RawColumn:
    """A column as it is stored; ``missing`` marks the values that mean null."""

    raw: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_]


@frozen
class _Field:
    name: str
    type: int


_Schema: TypeAlias = tuple[str, tuple[SchemaColumn, ...], str]
_Descriptor: TypeAlias = tuple[tuple[_Field, ...], int, int]
_Described = TypeVar("_Described", _Schema, _Descriptor)


class TableDescriptions:
    """The schemas and descriptors of the tables, each decoded once for all tables that have the same bytes.

    A recording has one table per process, or per set of attributes, with the same columns, and most are
    empty: among 20,000 tables there are some hundreds of different descriptions.
    """

    def __init__(self, files: BundleFiles) -> None:
        self._files = files
        self._decoded: dict[tuple[str, bytes], Any] = {}

    def read_schema(self, file: str) -> _Schema:
        """Return the content of a ``schema.xml``. Raises ``DamagedFileError``."""
        return self._decode_once(_decode_schema, file)

    def read_descriptor(self, file: str) -> _Descriptor:
        """Return the content of a ``bulkstore_descriptor``. Raises ``DamagedFileError``."""
        return self._decode_once(_decode_descriptor, file)

    def _decode_once(self, decode: Callable[[str, bytes], _Described], file: str) -> _Described:
        content = read_file(self._files, file)
        # By a digest, so that no content is kept. Nothing is kept of a damaged file: its error has its name.
        key = decode.__name__, blake2b(content).digest()
        if key not in self._decoded:
            self._decoded[key] = decode(file, content)
        description: _Described = self._decoded[key]
        return description


class IndexedStore:
    """One ``indexed-store-<k>`` folder. Opening it reads the schema and the descriptor, not the rows.

    Raises ``DamagedFileError`` when they are damaged, of an unknown kind, or of another schema than
    ``listed_schema`` ("" when that is unknown).
    """

    def __init__(
        self, files: BundleFiles, folder: str, listed_schema: str, descriptions: TableDescriptions
    ) -> None:
        self.folder = folder
        self._files = files
        self._descriptor = f"{folder}/bulkstore_descriptor"
        file = f"{folder}/schema.xml"
        self.schema, self.columns, topology = descriptions.read_schema(file)
        if listed_schema not in ("", self.schema):
            raise DamagedFileError(file, f"is of a table '{self.schema}', but the list of tables has another")
        self._fields, self.row_count, self._row_bytes = descriptions.read_descriptor(self._descriptor)
        self._topology = self._check_topology(topology)

    def _check_topology(self, name: str) -> int:
        """Return the type of the topology; raise unless the widths of all fields add up to a row."""
        file, topology = self._descriptor, self._fields[0].type
        if topology not in _TOPOLOGY_WIDTHS:
            raise DamagedFileError(file, f"has rows of the unknown topology {topology} ({name})")
        if name and _TOPOLOGY_TYPES.get(name, topology) != topology:
            raise DamagedFileError(file, f"has rows of topology {topology} where the schema requires {name}")
        # The layout is known from real bundles and documented nowhere, so it is proved for each table: unless
        # the widths that this reader assumes add up to the stored size of a row, nothing is read.
        widths = [_TOPOLOGY_WIDTHS[topology]]
        for field in self._fields[1:]:
            if field.type not in _FIELD_WIDTHS:
                raise DamagedFileError(file, f"has a field '{field.name}' of the unknown kind {field.type}")
            widths.append(_FIELD_WIDTHS[field.type])
        if sum(widths) != self._row_bytes:
            problem = f"declares {self._row_bytes} bytes a row, but its fields add up to {sum(widths)}"
            raise DamagedFileError(file, problem)
        return topology

    def read(self) -> list[RawColumn]:
        """Return the values of ``columns``, in their order.

        Raises ``DamagedFileError`` when the number of rows differs from the descriptor's.
        """
        fields = self._read_fields()
        columns = []
        for column in self.columns:
            name = _TOPOLOGY_FIELDS.get(column.topology_field, f"field:{column.mnemonic}")
            if name not in fields:
                raise DamagedFileError(self._descriptor, f"has no field for the column '{column.mnemonic}'")
            values = fields[name]
            # All bits set means null, in either width.
            no_value = NO_VALUE_64 if values.dtype.itemsize == 8 else NO_VALUE_32
            columns.append(RawColumn(values, values == no_value))
        return columns

    def count_cells(self, at_most: int) -> int:
        """Return the number of cells; where more than ``at_most`` are claimed, they are counted.

        Raises ``DamagedFileError`` when the rows that must be counted are damaged.
        """
        width = len(self.columns)
        if self.row_count * width <= at_most:
            return self.row_count * width
        rows = 0
        for block in self._iter_row_blocks():
            rows += len(block) // self._row_bytes
            if rows * width > at_most:
                break
        return rows * width

    def _read_fields(self) -> dict[str, npt.NDArray[Any]]:
        """Return every field's values; a block of rows is split into fields before the next is read."""
        dtype = self._build_row_type()
        # The fields of zero rows: names and types are right for an empty table, too.
        pieces = {name: [values] for name, values in self._split_fields(np.zeros(0, dtype)).items()}
        row_count = 0
        for block in self._iter_row_blocks():
            rows = np.frombuffer(block, dtype)
            row_count += len(rows)
            for name, values in self._split_fields(rows).items():
                pieces[name].append(values)
        if row_count != self.row_count:
            problem = f"holds {row_count} rows of the {self.row_count} that were recorded"
            raise DamagedFileError(f"{self.folder}/bulkstore", problem)
        # Popped one by one, so that only one field is in memory twice.
        return {name: np.concatenate(pieces.pop(name)) for name in list(pieces)}

    def _split_fields(self, rows: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        fields = _split_topology(self._topology, rows["topology"])
        for number, field in enumerate(self._fields[1:], start=1):
            fields[f"field:{field.name}"] = np.ascontiguousarray(rows[f"f{number}"])
        return fields

    def _build_row_type(self) -> np.dtype[Any]:
        # Numbered, not named: two fields of one name would be an error of numpy.
        fields = [
            (f"f{number}", f"<u{_FIELD_WIDTHS[field.type]}")
            for number, field in enumerate(self._fields[1:], start=1)
        ]
        return np.dtype([("topology", f"V{_TOPOLOGY_WIDTHS[self._topology]}"), *fields])

    def _iter_row_blocks(self) -> Iterator[bytes]:
        """Yield whole rows as bytes, as many as the descriptor counts: zero padding follows them."""
        file = f"{self.folder}/bulkstore"
        bytes_left = self.row_count * self._row_bytes
        buffer = b""
        started = False
        if not bytes_left:
            return
        for chunk in read_chunks(self._files, file, ROWS_RATIO, ROWS_SLACK_BYTES):
            buffer += chunk
            if not started:
                if len(buffer) < _HEADER_BYTES:
                    continue
                start = self._check_header(file, buffer)
                if len(buffer) < start:
                    continue
                buffer, started = buffer[start:], True
            # Whole rows only; the beginning of the next one waits in the buffer for the rest of it.
            size = min(len(buffer) - len(buffer) % self._row_bytes, bytes_left)
            if size:
                yield buffer[:size]
                buffer = buffer[size:]
                bytes_left -= size
            if not bytes_left:
                return

    def _check_header(self, file: str, header: bytes) -> int:
        """Return the offset of the first row."""
        magic, version, _, start, row_bytes = (
            int.from_bytes(header[i : i + 4], "little") for i in range(0, 20, 4)
        )
        if magic != _MAGIC or version != 3:
            raise DamagedFileError(file, "does not begin like stored rows")
        if row_bytes != self._row_bytes:
            problem = f"declares {row_bytes} bytes a row, but its descriptor {self._row_bytes}"
            raise DamagedFileError(file, problem)
        if not _HEADER_BYTES <= start <= 1 << 20:
            raise DamagedFileError(file, "has rows at an impossible offset")
        return start


def _split_topology(topology: int, column: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the parts of a topology column by the names in ``_TOPOLOGY_FIELDS``; times as uint64."""
    raw = np.ascontiguousarray(column)
    if topology in (6, 7):
        durations = ["duration"] if topology == 6 else []
        names = ["time", *durations, "category-1", "category-2"]
        dtype = np.dtype([(name, "<u4" if name.startswith("category") else "<u8") for name in names])
        parts = raw.view(dtype)
        return {name: np.ascontiguousarray(parts[name]) for name in names}
    # The old layouts are bit fields of 9 or 18 bytes; padded to three 64-bit words they can be shifted:
    #   bit    0          50         64        100        122   128      144
    #   type 4 │ time      │ category-1 (to 72) │
    #   type 5 │ time      │ duration           │ category-1 │ category-2 │
    #   word   │ low                  │ middle                     │ high
    width = _TOPOLOGY_WIDTHS[topology]
    padded = np.zeros((len(raw), 24), np.uint8)
    padded[:, :width] = raw.view(np.uint8).reshape(-1, width)
    low, middle, high = padded.view("<u8").reshape(-1, 3).T
    if topology == 4:
        return {"time": low & _MASK_50, "category-1": _widen_category(_join_bits(low, 50, middle))}
    return {
        "time": low & _MASK_50,
        "duration": _join_bits(low, 50, middle) & _MASK_50,
        "category-1": _widen_category(middle >> np.uint64(36)),
        "category-2": _widen_category(_join_bits(middle, 58, high)),
    }


def _join_bits(
    low: npt.NDArray[np.uint64], shift: int, high: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return the bits from ``shift`` of ``low`` on, continued by those of ``high``."""
    return (low >> np.uint64(shift)) | (high << np.uint64(64 - shift))


def _widen_category(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    """Return 22-bit categories as 32-bit ones; all ones mean null in both."""
    narrow = bits & _MASK_22
    return np.where(narrow == _MASK_22, NO_VALUE_32, narrow).astype(np.uint32)


def _decode_schema(file: str, content: bytes) -> _Schema:
    """Return the schema's name, its columns and the name of its topology ("" for none)."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DamagedFileError(file, "is not well-formed XML") from error
    columns = tuple(
        SchemaColumn(
            str(column.get("mnemonic", "")),
            str(column.get("engineeringName", "")),
            str(column.get("engineeringType", "")),
            str(column.get("topologyField", "")),
        )
        for column in root.iterchildren("column")
    )
    name = str(root.get("name", ""))
    if root.tag != "schema" or not name or not columns or len(columns) > _MAX_COLUMNS:
        raise DamagedFileError(file, "describes no table")
    return name, columns, str(root.get("topology", ""))


def _decode_descriptor(file: str, content: bytes) -> _Descriptor:
    """Return the fields in storage order, the number of rows and the bytes of each.

    A keyed archive, as seen in bundles: ``$0`` has ``_fields`` (each with ``_index``, ``_name``, ``_type``),
    ``_maxEventSize`` (bytes of a row) and ``_props.next_event_id`` (the number of rows).
    """
    archive = KeyedArchive(file, content)
    described = archive.items(archive.get(archive.top(), "$0"))
    if not described:
        raise DamagedFileError(file, "describes no rows")
    root = {name: archive.plain(archive.follow(described[name])) for name in _DESCRIBED if name in described}
    entries = root.get("_fields")
    parts = (
        [part.get("$0") for part in entries if isinstance(part, dict)] if isinstance(entries, list) else []
    )
    fields = [part for part in parts if isinstance(part, dict)]
    properties = root.get("_props")
    count = properties.get("next_event_id") if isinstance(properties, dict) else None
    row_bytes = root.get("_maxEventSize")
    if not fields or len(fields) > _MAX_COLUMNS or not _is_count(count) or not _is_count(row_bytes):
        raise DamagedFileError(file, "does not define the fields of a row, or the number of rows")
    if root.get("_variableSize") or any(part.get("_multi", 1) != 1 for part in fields):
        raise DamagedFileError(file, "has rows of variable size, which no recording seen so far has")
    if not all(_is_count(part.get("_index")) and _is_count(part.get("_type")) for part in fields):
        raise DamagedFileError(file, "has a field without an index or a type")
    ordered = sorted(fields, key=lambda part: int(part["_index"]))
    return tuple(_Field(str(p.get("_name", "")), int(p["_type"])) for p in ordered), count, row_bytes


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_ROWS
