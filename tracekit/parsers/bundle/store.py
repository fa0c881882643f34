"""One table's rows as they are stored: ``schema.xml`` names the columns, ``bulkstore_descriptor`` the fields,
``bulkstore`` holds the rows, packed and little-endian, after a header page.

A row begins with the *topology*: its time, duration and one or two categories, which stand for the columns
whose ``topologyField`` names them. Everything is checked (magic, widths, row size, number of rows), because
the format is Apple's own and may change with any Xcode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from lxml import etree

from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles
from tracekit.parsers.bundle.inflate import ROWS_RATIO, ROWS_SLACK_BYTES, read_chunks, read_file
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.topology import TOPOLOGY_FIELDS, TOPOLOGY_NAMES, TOPOLOGY_WIDTHS, split_topology
from tracekit.parsers.bundle.uniquer import NO_VALUE_32, NO_VALUE_64

_MAGIC = 0x1234_0A0A
_HEADER_BYTES = 20
_FIELD_WIDTHS = {1: 4, 2: 8}
_MOST_COLUMNS = 512
_MOST_ROWS = 2**40


@dataclass(frozen=True)
class StoreColumn:
    """A column of ``schema.xml``; ``topology_field`` is "" for a column with a field of its own."""

    mnemonic: str
    title: str
    type_id: str
    topology_field: str


@dataclass(frozen=True)
class RawColumn:
    """A column as it is stored; ``missing`` marks what means no value."""

    raw: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Field:
    name: str
    type: int


class Store:
    """One ``indexed-store-<k>`` folder. Opening it reads the schema and the descriptor, not the rows.

    Raises ``DamagedFileError`` when they are damaged or of a kind that is not known.
    """

    def __init__(self, files: BundleFiles, folder: str) -> None:
        self.folder = folder
        self._files = files
        self.schema, self.columns, topology = _read_schema(files, f"{folder}/schema.xml")
        self._fields, self.row_count, self._row_bytes = _read_descriptor(
            files, f"{folder}/bulkstore_descriptor"
        )
        self._topology = self._check_topology(topology)

    def _check_topology(self, name: str) -> int:
        file = f"{self.folder}/bulkstore_descriptor"
        kind = self._fields[0].type
        if kind not in TOPOLOGY_WIDTHS:
            raise DamagedFileError(file, f"has rows of the unknown topology {kind} ({name})")
        if name and TOPOLOGY_NAMES.get(name, kind) != kind:
            raise DamagedFileError(file, f"has rows of topology {kind} where the schema says {name}")
        widths = [TOPOLOGY_WIDTHS[kind]]
        for field in self._fields[1:]:
            if field.type not in _FIELD_WIDTHS:
                raise DamagedFileError(file, f"has a field '{field.name}' of the unknown kind {field.type}")
            widths.append(_FIELD_WIDTHS[field.type])
        if sum(widths) != self._row_bytes:
            raise DamagedFileError(
                file, f"says {self._row_bytes} bytes a row where the fields are {sum(widths)}"
            )
        return kind

    def read(self) -> list[RawColumn]:
        """Return the values of ``columns``, in their order.

        Raises ``DamagedFileError`` when the rows are not as many as the descriptor says.
        """
        fields = self._read_fields()
        columns = []
        for column in self.columns:
            name = TOPOLOGY_FIELDS.get(column.topology_field, f"field:{column.mnemonic}")
            if name not in fields:
                raise DamagedFileError(
                    f"{self.folder}/bulkstore_descriptor", f"has no field for the column '{column.mnemonic}'"
                )
            values = fields[name]
            no_value = NO_VALUE_64 if values.dtype.itemsize == 8 else NO_VALUE_32
            columns.append(RawColumn(values, values == no_value))
        return columns

    def _read_fields(self) -> dict[str, npt.NDArray[Any]]:
        """Return every field's values; a block of rows is taken apart before the next one is read."""
        dtype = self._row_type()
        pieces = self._split(np.zeros(0, dtype))
        parts = {name: [values] for name, values in pieces.items()}
        rows = 0
        for block in self._row_blocks():
            piece = np.frombuffer(block, dtype)
            rows += len(piece)
            for name, values in self._split(piece).items():
                parts[name].append(values)
        if rows != self.row_count:
            raise DamagedFileError(
                f"{self.folder}/bulkstore", f"holds {rows} rows of the {self.row_count} that were recorded"
            )
        return {name: np.concatenate(parts.pop(name)) for name in list(parts)}

    def _split(self, rows: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        fields = split_topology(self._topology, rows["topology"])
        for at, field in enumerate(self._fields[1:], start=1):
            fields[f"field:{field.name}"] = np.ascontiguousarray(rows[f"f{at}"])
        return fields

    def _row_type(self) -> np.dtype[Any]:
        own = [(f"f{at}", f"<u{_FIELD_WIDTHS[f.type]}") for at, f in enumerate(self._fields[1:], start=1)]
        return np.dtype([("topology", f"V{TOPOLOGY_WIDTHS[self._topology]}"), *own])

    def _row_blocks(self) -> Any:
        """Yield whole rows as bytes, and no more than the descriptor counts: zero padding follows them."""
        file = f"{self.folder}/bulkstore"
        left = self.row_count * self._row_bytes
        head = b""
        started = False
        if not left:
            return
        for chunk in read_chunks(self._files, file, ROWS_RATIO, ROWS_SLACK_BYTES):
            head += chunk
            if not started:
                if len(head) < _HEADER_BYTES:
                    continue
                start = self._check_header(file, head)
                if len(head) < start:
                    continue
                head, started = head[start:], True
            whole = min(len(head) - len(head) % self._row_bytes, left)
            if whole:
                yield head[:whole]
                head = head[whole:]
                left -= whole
            if not left:
                return

    def _check_header(self, file: str, head: bytes) -> int:
        """Return where the rows begin."""
        magic, version, _, start, row_bytes = (
            int.from_bytes(head[i : i + 4], "little") for i in range(0, 20, 4)
        )
        if magic != _MAGIC or version != 3:
            raise DamagedFileError(file, "does not begin as stored rows do")
        if row_bytes != self._row_bytes:
            raise DamagedFileError(
                file, f"says {row_bytes} bytes a row where its descriptor says {self._row_bytes}"
            )
        if not _HEADER_BYTES <= start <= 1 << 20:
            raise DamagedFileError(file, "has rows at no possible place")
        return start


def _read_schema(files: BundleFiles, file: str) -> tuple[str, tuple[StoreColumn, ...], str]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(read_file(files, file), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if isinstance(error, DamagedFileError):
            raise
        raise DamagedFileError(file, "is no well-formed XML") from error
    columns = tuple(
        StoreColumn(
            str(column.get("mnemonic", "")),
            str(column.get("engineeringName", "")),
            str(column.get("engineeringType", "")),
            str(column.get("topologyField", "")),
        )
        for column in root.iterchildren("column")
    )
    name = str(root.get("name", ""))
    if root.tag != "schema" or not name or not columns or len(columns) > _MOST_COLUMNS:
        raise DamagedFileError(file, "describes no table")
    return name, columns, str(root.get("topology", ""))


def _read_descriptor(files: BundleFiles, file: str) -> tuple[tuple[_Field, ...], int, int]:
    """Return the fields in storage order, the number of rows and the bytes of each."""
    archive = KeyedArchive(file, read_file(files, file))
    described = archive.plain(archive.top())
    root = described.get("$0") if isinstance(described, dict) else None
    if not isinstance(root, dict):
        raise DamagedFileError(file, "describes no rows")
    listed = root.get("_fields")
    parts = [part.get("$0") for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    fields = [part for part in parts if isinstance(part, dict)]
    properties = root.get("_props")
    count = properties.get("next_event_id") if isinstance(properties, dict) else None
    row_bytes = root.get("_maxEventSize")
    if not fields or len(fields) > _MOST_COLUMNS or not _is_count(count) or not _is_count(row_bytes):
        raise DamagedFileError(file, "does not say what a row holds, or how many there are")
    if root.get("_variableSize") or any(part.get("_multi", 1) != 1 for part in fields):
        raise DamagedFileError(file, "has rows of variable size, which no recording seen so far has")
    if not all(_is_count(part.get("_index")) and _is_count(part.get("_type")) for part in fields):
        raise DamagedFileError(file, "has a field without a place or a kind")
    ordered = sorted(fields, key=lambda part: int(part["_index"]))
    return tuple(_Field(str(p.get("_name", "")), int(p["_type"])) for p in ordered), count, row_bytes


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_ROWS
