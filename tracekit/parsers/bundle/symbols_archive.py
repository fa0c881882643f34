"""``symbols/stores/<UUID>.symbolsarchive``: the names of the functions that were hit, per binary.

Version 7, little-endian:

    0x00  u32 version, ?
    0x08  u32 numbers of segments, sections, symbols, inlined functions, lines
    0x54  u32 bytes of the string table
    0x60  segments    u64 address, u64 size, 16 bytes name
          sections    24 bytes
          symbols     u32 address, size, flags, display name, name, first inlined function or -1
          inlined     a symbol, then u32 path, line and column of the call
          lines       u32 address, size, path, line, column
          …           tables of order
    end   strings     zero-terminated; names and paths are offsets into it

Addresses are relative to the binary, as its segments define. A display name exists when nothing needs
demangling. Source: archives of Xcode 16 and 26 compared with exports of the same recordings.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError, read_file
from tracekit.parsers.bundle.demangle import Demangler
from tracekit.parsers.bundle.interned import Words

_VERSION = 7
_HEADER_BYTES = 0x60
_COUNTS_OFFSET = 8
_STRING_BYTES_OFFSET = 0x54
_SEGMENT = struct.Struct("<2Q16s")
_SECTION_BYTES = 24
_SYMBOL_BYTES = 24
_INLINED_BYTES = 36
_NAMES_SLACK_BYTES = 1 << 20
_NAMES_RATIO = 8
"""A name may be the tail of another; together they are at most a few times as long as their table."""

_DEDUPLICATED = 0x800
"""The flag of functions that the linker folded into one: which of them was called is unknown.

Source: an export of Xcode 26.3, in which all seven frames with the flag show so and no other frame does.
"""
_LINE_BYTES = 20
_MAX_COMPARISONS = 200_000_000


def get_archive_name(uuid: str) -> str:
    """Return the archive's name in the bundle."""
    return f"symbols/stores/{uuid}.symbolsarchive"


@frozen
class FunctionsAt:
    """The function at each of several addresses."""

    name: IntArray
    """A row for ``SymbolsArchive.name``, -1 for none."""
    inlined: npt.NDArray[np.bool_]
    path: IntArray
    """An offset for ``SymbolsArchive.string``, 0 for none."""
    line: IntArray
    """-1 for none."""


class SymbolsArchive:
    """The symbols of one binary. Raises ``DamagedFileError`` for a file with another layout."""

    def __init__(self, files: BundleFiles, uuid: str, demangler: Demangler) -> None:
        self._demangler = demangler
        self._file = get_archive_name(uuid)
        self._data = data = read_file(files, self._file)
        if len(data) < _HEADER_BYTES or int.from_bytes(data[:4], "little") != _VERSION:
            raise DamagedFileError(self._file, "is not a symbols archive of version 7")
        segments, sections, symbols, inlined, lines = struct.unpack_from("<5I", data, _COUNTS_OFFSET)
        (string_bytes,) = struct.unpack_from("<I", data, _STRING_BYTES_OFFSET)
        self._strings = data[len(data) - string_bytes :] if string_bytes else b""
        self._name_bytes_left = _NAMES_SLACK_BYTES + _NAMES_RATIO * string_bytes
        segments_end = _HEADER_BYTES + segments * _SEGMENT.size
        symbols_offset = segments_end + sections * _SECTION_BYTES
        inlined_offset = symbols_offset + symbols * _SYMBOL_BYTES
        lines_offset = inlined_offset + inlined * _INLINED_BYTES
        if lines_offset + lines * _LINE_BYTES + string_bytes > len(data):
            raise DamagedFileError(self._file, "is cut off")
        self._segments = {
            name.rstrip(b"\0").decode("ascii", "replace"): address
            for address, _, name in _SEGMENT.iter_unpack(data[_HEADER_BYTES:segments_end])
        }
        self._symbols = self._read_table(symbols_offset, symbols, _SYMBOL_BYTES)
        self._inlined = self._read_table(inlined_offset, inlined, _INLINED_BYTES)
        self._lines = self._read_table(lines_offset, lines, _LINE_BYTES)
        # Size, flags, display name and name of symbols, then of inlined functions: one numbering for both.
        self._names = np.concatenate([self._symbols[:, 1:5], self._inlined[:, 1:5]]).astype(np.int64)

    def _read_table(self, offset: int, count: int, row_bytes: int) -> npt.NDArray[np.uint32]:
        """Return ``count`` rows of u32, by address."""
        width = row_bytes // 4
        rows = np.frombuffer(self._data, "<u4", offset=offset, count=count * width).reshape(-1, width)
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def get_segment_address(self, name: str) -> int | None:
        """Return the start of a segment, in the archive's addresses."""
        return self._segments.get(name)

    def find(self, addresses: Words) -> FunctionsAt:
        """Return the innermost function at each of the archive's addresses, as Instruments shows it."""
        name = _find_rows(self._symbols, addresses)
        innermost = self._find_innermost(addresses)
        inlined = (innermost >= 0) & (name >= 0)
        line = _find_rows(self._lines, addresses)
        has_line = (line >= 0) & (name >= 0)
        lines = self._lines if len(self._lines) else np.zeros((1, 5), np.uint32)
        return FunctionsAt(
            np.where(inlined, innermost + len(self._symbols), name),
            inlined,
            np.where(has_line, lines[line, 2], 0).astype(np.int64),
            np.where(has_line, lines[line, 3].astype(np.int64), -1),
        )

    def _find_innermost(self, addresses: Words) -> IntArray:
        """Return the smallest inlined function around each address; -1 for none."""
        innermost = np.full(len(addresses), -1, np.int64)
        if len(self._inlined) * len(addresses) > _MAX_COMPARISONS:
            return innermost
        starts = self._inlined[:, 0].astype(np.uint64)
        ends = starts + self._inlined[:, 1]
        # Ranges nest. From the largest to the smallest, each overwrites the larger ones around it.
        for row in np.argsort(self._inlined[:, 1], kind="stable")[::-1].tolist():
            innermost[(addresses >= starts[row]) & (addresses < ends[row])] = row
        return innermost

    def name(self, row: int) -> str:
        """Return a function's name as stacks show it, "" for none. Raises ``DamagedFileError``.

        A binary without symbols has functions named by their address, and has addresses outside any function
        as symbols of one byte: the latter have no name.
        """
        size, flags, display, mangled = self._names[row].tolist()
        if flags & _DEDUPLICATED:
            return "<deduplicated_symbol>"
        name = self.string(display) if display else self._demangler.demangle(self.string(mangled))
        return "" if size == 1 and name.startswith("0x") else name

    def string(self, offset: int) -> str:
        """Return a string; raise ``DamagedFileError`` for one beyond the string table."""
        end = self._strings.find(b"\0", offset)
        if offset >= len(self._strings) or end < 0:
            raise DamagedFileError(self._file, "has a name beyond its strings")
        self._name_bytes_left -= end - offset
        if self._name_bytes_left < 0:
            raise DamagedFileError(self._file, "has names that share their bytes more than any recording's")
        return self._strings[offset:end].decode("utf-8", "replace")


def _find_rows(table: npt.NDArray[np.uint32], addresses: Words) -> IntArray:
    """Return the row whose (address, size) contains each address; -1 for none."""
    if not len(table):
        return np.full(len(addresses), -1, np.int64)
    # Rows are by address: the last one that starts at or below the address is the only candidate.
    starts = table[:, 0].astype(np.uint64)
    row = np.searchsorted(starts, addresses, side="right") - 1
    is_inside = (row >= 0) & (addresses < starts[row] + table[row, 1])
    return np.where(is_inside, row, -1).astype(np.int64)
