"""``symbols/stores/<UUID>.symbolsarchive``: the names of the functions that were hit, per binary.

Version 7, little-endian: a header of 0x60 bytes (from 8: numbers of segments, sections, symbols, inlined
functions, lines; at 0x54 the size of the string table), then segments (u64 address, u64 size, 16 bytes
name), sections (24 bytes), symbols (u32 address, size, flags, display name, name, first inlined function
or -1), inlined functions (a symbol, then u32 path, line and column of the call), lines (u32 address, size,
path, line, column), tables of order, and the string table at the file's end. Addresses are relative to the
binary, as its segments say. A display name is there when nothing needs demangling.

Source: archives of Xcode 16 and 26 compared with exports of the same recordings.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray
from tracekit.parsers.bundle.demangle import Demangler
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles
from tracekit.parsers.bundle.inflate import read_file
from tracekit.parsers.bundle.uniquer import Words

_VERSION = 7
_HEADER_BYTES = 0x60
_COUNTS_AT = 8
_STRINGS_SIZE_AT = 0x54
_SEGMENT = struct.Struct("<2Q16s")
_SECTION_BYTES = 24
_SYMBOL_BYTES = 24
_INLINED_BYTES = 36
_NAMES_SLACK_BYTES = 1 << 20
_NAMES_RATIO = 8
"""A name may be the tail of another; together they are a few times as long as their table at most."""

_DEDUPLICATED = 0x800
"""The flag of functions that the linker folded into one: which of their names was called is not known.

By an export of Xcode 26.3, in which all seven frames with the flag show so and no other frame does.
"""
_LINE_BYTES = 20
_MOST_COMPARISONS = 200_000_000


def archive_name(uuid: str) -> str:
    """Return the archive's name in the bundle."""
    return f"symbols/stores/{uuid}.symbolsarchive"


@dataclass(frozen=True)
class Found:
    """What lies at each of some addresses: a row of names (-1 for none), whether it is inlined, its line."""

    name: IntArray
    inlined: npt.NDArray[np.bool_]
    path: IntArray  # place in the strings, 0 for none
    line: IntArray  # -1 for none


class SymbolsArchive:
    """The symbols of one binary. Raises ``DamagedFileError`` when the file is not laid out as an archive."""

    def __init__(self, files: BundleFiles, uuid: str, demangler: Demangler) -> None:
        self._demangler = demangler
        self._file = archive_name(uuid)
        self._data = data = read_file(files, self._file)
        if len(data) < _HEADER_BYTES or int.from_bytes(data[:4], "little") != _VERSION:
            raise DamagedFileError(self._file, "is no archive of symbols of version 7")
        segments, sections, symbols, inlined, lines = struct.unpack_from("<5I", data, _COUNTS_AT)
        (string_bytes,) = struct.unpack_from("<I", data, _STRINGS_SIZE_AT)
        self._strings = data[len(data) - string_bytes :] if string_bytes else b""
        self._left_bytes = _NAMES_SLACK_BYTES + _NAMES_RATIO * string_bytes
        segments_end = _HEADER_BYTES + segments * _SEGMENT.size
        symbols_at = segments_end + sections * _SECTION_BYTES
        inlined_at = symbols_at + symbols * _SYMBOL_BYTES
        lines_at = inlined_at + inlined * _INLINED_BYTES
        if lines_at + lines * _LINE_BYTES + string_bytes > len(data):
            raise DamagedFileError(self._file, "is cut off")
        self._segments = {
            name.rstrip(b"\0").decode("ascii", "replace"): address
            for address, _, name in _SEGMENT.iter_unpack(data[_HEADER_BYTES:segments_end])
        }
        self._symbols = self._table(symbols_at, symbols, _SYMBOL_BYTES)
        self._inlined = self._table(inlined_at, inlined, _INLINED_BYTES)
        self._lines = self._table(lines_at, lines, _LINE_BYTES)
        self._names = np.concatenate([self._symbols[:, 1:5], self._inlined[:, 1:5]]).astype(np.int64)

    def _table(self, at: int, count: int, row_bytes: int) -> npt.NDArray[np.uint32]:
        """Return ``count`` rows of u32, by address."""
        width = row_bytes // 4
        rows = np.frombuffer(self._data, "<u4", offset=at, count=count * width).reshape(-1, width)
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def segment_address(self, name: str) -> int | None:
        """Return where a segment begins, in the archive's addresses."""
        return self._segments.get(name)

    def find(self, addresses: Words) -> Found:
        """Return what lies at the archive's addresses: the innermost function, as Instruments shows it."""
        name = _rows_at(self._symbols, addresses)
        innermost = self._innermost(addresses)
        inlined = (innermost >= 0) & (name >= 0)
        line = _rows_at(self._lines, addresses)
        known = (line >= 0) & (name >= 0)
        table = self._lines if len(self._lines) else np.zeros((1, 5), np.uint32)
        return Found(
            np.where(inlined, innermost + len(self._symbols), name),
            inlined,
            np.where(known, table[line, 2], 0).astype(np.int64),
            np.where(known, table[line, 3].astype(np.int64), -1),
        )

    def _innermost(self, addresses: Words) -> IntArray:
        """Return the smallest inlined function around each address; -1 for none."""
        found = np.full(len(addresses), -1, np.int64)
        if len(self._inlined) * len(addresses) > _MOST_COMPARISONS:
            return found
        starts = self._inlined[:, 0].astype(np.uint64)
        ends = starts + self._inlined[:, 1]
        for at in np.argsort(self._inlined[:, 1], kind="stable")[::-1].tolist():
            found[(addresses >= starts[at]) & (addresses < ends[at])] = at
        return found

    def name(self, row: int) -> str:
        """Return a function's name as stacks show it, "" for none. Raises ``DamagedFileError``.

        A binary without symbols has its functions named by their address, and addresses that are in no
        function as symbols of one byte: these have no name.
        """
        size, flags, display, plain = self._names[row].tolist()
        if flags & _DEDUPLICATED:
            return "<deduplicated_symbol>"
        name = self.string(display) if display else self._demangler.demangle(self.string(plain))
        return "" if size == 1 and name.startswith("0x") else name

    def string(self, at: int) -> str:
        """Return a string; raise ``DamagedFileError`` for one beyond the string table."""
        end = self._strings.find(b"\0", at)
        if at >= len(self._strings) or end < 0:
            raise DamagedFileError(self._file, "has a name beyond its strings")
        self._left_bytes -= end - at
        if self._left_bytes < 0:
            raise DamagedFileError(self._file, "has names that share their bytes more than any recording's")
        return self._strings[at:end].decode("utf-8", "replace")


def _rows_at(table: npt.NDArray[np.uint32], addresses: Words) -> IntArray:
    """Return the row whose (address, size) holds each address; -1 for none."""
    if not len(table):
        return np.full(len(addresses), -1, np.int64)
    starts = table[:, 0].astype(np.uint64)
    at = np.searchsorted(starts, addresses, side="right") - 1
    held = (at >= 0) & (addresses < starts[at] + table[at, 1])
    return np.where(held, at, -1).astype(np.int64)
