"""A pack → its members → tables. Nothing is read beyond the manifest's sizes; every reference is checked."""

from __future__ import annotations

import struct
import zipfile
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import BINARIES, FRAMES, PROCESSES, THREADS, Columns, make_categorical, take_texts
from tracekit.model.tables import Column, ColumnKind, CoreType, StackTable, Table
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError, Limits
from tracekit.parsers.pack.format import (
    FORMAT,
    MANIFEST,
    MAX_DEPTH,
    MAX_MANIFEST_BYTES,
    MAX_ROWS,
    SIZES,
    VERSION,
    DamagedPackError,
    ManifestObject,
    get_max_text_bytes,
    parse_json,
    sum_declared_size,
)
from tracekit.parsers.zip_archive import BoundedZip
from tracekit.text import format_size

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int32]

_ZIP_MAGIC = b"PK\x03\x04"
_ZIP_NAME_OFFSET = 30
_ENCRYPTED = 1
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)

_ENTITIES = ("thread", "process", "stack")
_DTYPES = {"int": ("int64", "uint64"), "float": ("float64",)}


def is_pack(path: Path) -> bool:
    """Return whether a file is a pack: by its first bytes, or, zipped again, by its manifest."""
    name = MANIFEST.encode()
    with path.open("rb") as file:
        head = file.read(_ZIP_NAME_OFFSET + len(name))
    if not head.startswith(_ZIP_MAGIC) or head[_ZIP_NAME_OFFSET:] == name:
        return head.startswith(_ZIP_MAGIC)
    try:
        with BoundedZip(str(path), DEFAULT_LIMITS.files) as archive:
            return MANIFEST in archive.namelist()
    except (LimitError, zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False  # the reader of bundles refuses a damaged zip, or one of too many files


class PackMembers:
    """An opened pack: its manifest and its members. Raises ``DamagedPackError`` or ``LimitError``."""

    def __init__(self, path: str, limits: Limits) -> None:
        self._path = path
        self._size_bytes = Path(path).stat().st_size
        self._max_array_bytes = max(limits.value_bytes, 3 * self._size_bytes)
        try:
            self._zip = BoundedZip(path, limits.pack_members)
        except _ZIP_ERRORS as error:
            raise DamagedPackError("", f"is cut off or damaged ({error})") from error
        entries = self._zip.infolist()
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) < len(entries):
            raise DamagedPackError("", "has members of the same name")
        self.manifest = self._read_manifest()

    def _read_manifest(self) -> ManifestObject:
        size_bytes = self._find_entry(MANIFEST).file_size
        if size_bytes > MAX_MANIFEST_BYTES:
            raise DamagedPackError(MANIFEST, f"has {size_bytes >> 20} MB, far more than a pack's")
        value = parse_json(MANIFEST, self._read(MANIFEST, size_bytes))
        manifest = ManifestObject(value, "manifest")
        name, _, version = manifest.text("format").partition("/")
        if name != FORMAT or not version.isdecimal():
            raise DamagedPackError(MANIFEST, "names no format of packs")
        if version != str(VERSION):
            raise DamagedPackError(
                "",
                f"is a pack of version {version[:9]}; this tracekit reads version {VERSION}: update tracekit",
            )
        # Before anything is unpacked: a small file that declares gigabytes is refused by its manifest alone.
        if not sum_declared_size(value).fits(self._size_bytes):
            raise DamagedPackError("", "unpacks to far more than a recording does; it was not read")
        return manifest

    def array(self, reference: ManifestObject, *types: str) -> Array:
        """Return an array of one of these types."""
        name, dtype = reference.text("member"), reference.text("type")
        count = reference.integer("count", MAX_ROWS)
        if dtype not in types:
            expected = " or ".join(types)
            raise DamagedPackError(MANIFEST, f"has another type than {expected} at {reference.path}")
        width = SIZES[dtype]
        if count * width > self._max_array_bytes:
            raise LimitError(self._path, f"holds an array of more than {format_size(self._max_array_bytes)}")
        # Stored plane by plane, all lowest bytes first; the transpose puts each value's bytes side by side:
        #   a0 b0 c0 … a1 b1 c1 …    reshape (width, count), .T    a0 a1 … b0 b1 …
        data = np.frombuffer(self._read(name, count * width), np.uint8)
        little = np.ascontiguousarray(data.reshape(width, count).T).view(np.dtype(dtype).newbyteorder("<"))
        del data
        values: Array = little.reshape(count).astype(dtype)
        if "delta" in reference and reference.flag("delta") and values.dtype.kind in "iu":
            # Sums modulo the width undo differences modulo the width; unsigned, so that wrapping is defined.
            words = values.view(f"u{width}")
            values = np.cumsum(words, dtype=words.dtype).view(dtype)
        return values

    def json(self, reference: ManifestObject) -> Any:
        """Return a value that is stored as JSON."""
        name = reference.text("member")
        return parse_json(name, self._read(name, reference.integer("bytes")))

    def require_short(self, text_bytes: int, column: ManifestObject) -> None:
        """Raise for a column with more text in its rows than a recording of that size has."""
        if text_bytes > get_max_text_bytes(self._size_bytes):
            raise DamagedPackError(MANIFEST, f"has far more text than a recording does at {column.path}")

    def _read(self, name: str, size_bytes: int) -> bytes:
        """Return a member that must have exactly this size: not a byte more is unpacked."""
        entry = self._find_entry(name)
        if entry.file_size != size_bytes:
            raise DamagedPackError(name, f"has {entry.file_size} bytes instead of {size_bytes}")
        try:
            with self._zip.open(entry) as file:
                data = file.read(size_bytes + 1)  # one more: zipfile checks the checksum at the end only
        except _ZIP_ERRORS as error:
            raise DamagedPackError(name, f"is damaged ({error})") from error
        if len(data) != size_bytes:
            raise DamagedPackError(name, "is cut off or damaged")
        return data

    def _find_entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self._entries:
            raise DamagedPackError(name, "is missing")
        entry = self._entries[name]
        is_plain = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not is_plain or entry.flag_bits & _ENCRYPTED:
            raise DamagedPackError(name, "is encrypted, or compressed in a way that packs do not use")
        return entry


class TableDecoder:
    """Decodes a pack's tables; parts that they share are decoded once. Raises ``DamagedPackError``."""

    def __init__(self, members: PackMembers) -> None:
        self._members = members
        self._frames: dict[str, pd.DataFrame] = {}
        self._stacks: dict[str, StackTable] = {}

    @cached_property
    def _shared(self) -> dict[str, list[ManifestObject]]:
        manifest = self._members.manifest
        return {kind: manifest.objects(kind) for kind in ("threads", "processes", "stacks")}

    def table(self, description: ManifestObject, run: int) -> Table:
        """Return the table that the manifest describes there."""
        threads = self._read_entities(description, "threads", THREADS)
        processes = self._read_entities(description, "processes", PROCESSES)
        stacks = self._get_stacks(description)
        # Ids are checked against these numbers, so that no later index can miss its entity.
        entity_counts = {"thread": len(threads), "process": len(processes), "stack": len(stacks)}
        rows = description.integer("rows", MAX_ROWS)
        columns: list[Column] = []
        data: dict[str, Any] = {}
        for stored in description.objects("columns"):
            column = Column(
                stored.text("mnemonic"),
                stored.text("title"),
                stored.text("type_name"),
                cast(ColumnKind, stored.text("kind")),
            )
            if column.kind not in get_args(ColumnKind) or column.mnemonic in data:
                problem = f"has a column of an unknown kind, or twice, at {stored.path}"
                raise DamagedPackError(MANIFEST, problem)
            columns.append(column)
            data[column.mnemonic] = cells = self._read_cells(stored, column.kind, entity_counts)
            if len(cells) != rows:
                raise DamagedPackError(MANIFEST, f"has {len(cells)} cells for {rows} rows at {stored.path}")
        return Table(
            description.text("schema"),
            tuple(columns),
            pd.DataFrame(data, index=pd.RangeIndex(rows)),
            threads,
            processes,
            stacks,
            run,
            description.texts("attributes"),
            {core.integer("core"): _parse_core_type(core) for core in description.objects("cores")},
        )

    def _read_cells(self, column: ManifestObject, kind: ColumnKind, entity_counts: dict[str, int]) -> Any:
        if kind in _ENTITIES:
            return self._read_ids(column.object("values"), entity_counts[kind], column)
        if kind == "text":
            codes, words = self._read_words(column)
            if len(set(words)) < len(words):
                raise DamagedPackError(MANIFEST, f"has a word twice at {column.path}")
            return make_categorical(codes, words)
        if "cells" in column:
            return self._read_composite(column, kind)
        if kind not in _DTYPES:
            raise DamagedPackError(MANIFEST, f"has no cells at {column.path}")
        values = self._members.array(column.object("values"), *_DTYPES[kind])
        if kind == "float":
            return values
        return pd.arrays.IntegerArray(values, self._read_missing(column, len(values)))

    def _read_missing(self, column: ManifestObject, count: int) -> npt.NDArray[np.bool_]:
        if "missing" not in column:
            return np.zeros(count, np.bool_)
        missing = self._members.array(column.object("missing"), "uint8")
        if len(missing) != count or (missing > 1).any():
            raise DamagedPackError(MANIFEST, f"marks missing cells wrongly at {column.path}")
        return missing.astype(np.bool_)

    def _read_composite(self, column: ManifestObject, kind: ColumnKind) -> pd.Series[Any]:
        stored = self._members.json(column.object("cells"))
        rows = column.object("codes").integer("count", MAX_ROWS)
        if not isinstance(stored, list) or len(stored) > rows:  # each distinct value is in some row
            _refuse_value(column)
        values = [_decode_value(value, kind, column) for value in stored]
        # One more element for null, which code -1 selects.
        distinct = np.empty(len(values) + 1, dtype=object)
        distinct[:-1] = values
        distinct[-1] = pd.NA if kind == "int" else None
        codes = self._read_ids(column.object("codes"), len(values), column)
        return pd.Series(distinct[codes], dtype=object)

    def _read_ids(self, reference: ManifestObject, count: int, column: ManifestObject) -> Rows:
        """Return an array of numbers from -1 to less than ``count``."""
        ids: Rows = self._members.array(reference, "int32")
        if len(ids) and (ids.min() < -1 or ids.max() >= count):
            problem = f"refers to a value that does not exist ({column.path})"
            raise DamagedPackError(reference.text("member"), problem)
        return ids

    def _read_words(self, column: ManifestObject) -> tuple[Rows, list[str]]:
        words = self._members.json(column.object("words"))
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            _refuse_value(column)
        return self._read_ids(column.object("codes"), len(words), column), words

    def _read_entities(self, description: ManifestObject, kind: str, columns: Columns) -> pd.DataFrame:
        shared = self._find_shared(description, kind)
        if shared.path not in self._frames:
            self._frames[shared.path] = self._read_frame(shared, columns)
        return self._frames[shared.path]

    def _find_shared(self, description: ManifestObject, kind: str) -> ManifestObject:
        """Return the entry of the manifest's list ``kind`` that a table refers to."""
        number, entries = description.integer(kind), self._shared[kind]
        if number >= len(entries):
            raise DamagedPackError(MANIFEST, f"has no {kind} {number}, to which {description.path} refers")
        return entries[number]

    def _read_frame(self, description: ManifestObject, columns: Columns) -> pd.DataFrame:
        data = {
            name: self._read_values(description.object(name), dtype)
            for name, dtype in columns.required.items()
        }
        if len({len(values) for values in data.values()}) > 1:
            raise DamagedPackError(MANIFEST, f"has columns of different lengths at {description.path}")
        return columns.check(pd.DataFrame(data), description.path)

    def _read_numbers(self, column: ManifestObject, dtype: str) -> Array:
        values = self._members.array(column.object("values"), "uint8" if dtype == "bool" else dtype)
        return values.astype(dtype)

    def _read_values(self, column: ManifestObject, dtype: str) -> Any:
        if dtype not in ("str", "category"):
            return self._read_numbers(column, dtype)
        codes, words = self._read_words(column)
        if (codes < 0).any():
            _refuse_value(column)
        if dtype == "category":
            return take_texts(codes, words)
        lengths = np.array([len(word) for word in words], np.int64)
        self._members.require_short(int(lengths[codes].sum()), column)
        return pd.array(words, dtype="str").take(codes) if words else pd.array([], dtype="str")

    def _get_stacks(self, description: ManifestObject) -> StackTable:
        shared = self._find_shared(description, "stacks")
        if shared.path not in self._stacks:
            self._stacks[shared.path] = self._read_stacks(shared)
        return self._stacks[shared.path]

    def _read_stacks(self, stored: ManifestObject) -> StackTable:
        frames = self._read_frame(stored.object("frames"), FRAMES)
        binaries = self._read_frame(stored.object("binaries"), BINARIES)
        offsets = self._members.array(stored.object("offsets"), "int64")
        frame_ids = self._members.array(stored.object("frame_ids"), "int32")
        is_complete = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(frame_ids)
        if not is_complete or (offsets[1:] < offsets[:-1]).any():
            raise DamagedPackError(MANIFEST, f"has stacks that do not follow one another at {stored.path}")
        for ids, minimum, count in ((frame_ids, 0, len(frames)), (frames["binary_id"], -1, len(binaries))):
            if len(ids) and (ids.min() < minimum or ids.max() >= count):
                problem = f"has stacks of frames or binaries that do not exist at {stored.path}"
                raise DamagedPackError(MANIFEST, problem)
        return StackTable(offsets, frame_ids, frames, binaries)


def _parse_core_type(core: ManifestObject) -> CoreType:
    return (
        cast(CoreType, core.text("type")) if core.text("type") in get_args(CoreType) else _refuse_value(core)
    )


def _decode_value(stored: Any, kind: ColumnKind, column: ManifestObject) -> Any:
    if kind == "int":
        return stored if _is_integer(stored) else _refuse_value(column)
    if not isinstance(stored, list):
        return _refuse_value(column)
    if kind == "ints":
        return tuple(stored) if all(map(_is_integer, stored)) else _refuse_value(column)
    return _decode_parts(stored, column, 0) if kind == "parts" else _refuse_value(column)


def _decode_parts(stored: list[Any], column: ManifestObject, depth: int) -> tuple[tuple[str, Any], ...]:
    return (
        tuple(_decode_part(part, column, depth) for part in stored)
        if depth < MAX_DEPTH
        else _refuse_value(column)
    )


def _decode_part(stored: Any, column: ManifestObject, depth: int) -> tuple[str, Any]:
    if not isinstance(stored, list) or len(stored) != 2 or not isinstance(stored[0], str):
        _refuse_value(column)
    name, value = stored
    if isinstance(value, list):
        return name, _decode_parts(value, column, depth + 1)
    if not (value is None or isinstance(value, str) or _is_integer(value)):
        _refuse_value(column)
    return name, value


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64


def _refuse_value(column: ManifestObject) -> Any:
    raise DamagedPackError(MANIFEST, f"refers to an invalid value at {column.path}")
