"""Mach-O files: the builds in one, and the place of each one's code and symbols.

    fat header ──► slice (one architecture) ──► header ──► load commands ──► UUID, segments, symbol table, …

A dSYM's inner file is a Mach-O file too: it has the segments of the binary without their content, the symbol
table, and the debug information in sections of its own. Source: ``mach-o/loader.h``, ``mach-o/fat.h`` and
``mach-o/nlist.h`` of Apple's SDK. Sizes and offsets are claims of the file and are compared with its size.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from tracekit.frozen import frozen
from tracekit.parsers.bundle.loaded_images import find_architecture
from tracekit.symbols.symbol_file_names import MACHO_HEADS
from tracekit.symbols.work_budget import SymbolFileError, WorkBudget

_THIN = {b"\xcf\xfa\xed\xfe": True, b"\xce\xfa\xed\xfe": False}
"""The first bytes of a little-endian file → True for 64 bits."""
_FAT = {b"\xca\xfe\xba\xbe": struct.Struct(">5I"), b"\xca\xfe\xba\xbf": struct.Struct(">2I2Q2I")}

_HEADER = struct.Struct("<7I")
_COMMAND = struct.Struct("<2I")
_SEGMENT = {True: struct.Struct("<16s4Q4I"), False: struct.Struct("<16s8I")}
_SECTION = {True: struct.Struct("<16s16s2Q8I"), False: struct.Struct("<16s16s9I")}
_SYMTAB = struct.Struct("<4I")
_RANGE = struct.Struct("<2I")

_LC_SEGMENT, _LC_SYMTAB, _LC_SEGMENT_64, _LC_UUID, _LC_FUNCTION_STARTS = 0x1, 0x2, 0x19, 0x1B, 0x26
_HAS_INSTRUCTIONS = 0x8000_0400  # S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS
_MAX_ARCHITECTURES = 32
_MAX_COMMANDS = 20_000
_MAX_SECTIONS = 1_000
"""In one architecture. A symbol can name 255 of them."""
_BYTES_PER_SECTION = 512
_MAX_COMMAND_BYTES = 16 << 20
_MAX_PART_BYTES = 512 << 20


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its address in the binary, and its bytes' place in the slice.

    ``number`` is that by which symbols name it, from 1 on.
    """

    number: int
    name: str
    address: int
    size: int
    offset: int
    is_code: bool


@frozen
class Build:
    """One architecture of a Mach-O file. ``uuid`` is "" where it has none."""

    path: Path
    offset: int
    size: int
    is_64: bool
    uuid: str
    arch: str
    text_address: int
    text_size: int
    sections: tuple[Section, ...]
    """Those with code or debug information."""
    symbols: tuple[int, int, int, int]
    """Offset and number of the symbols, offset and size of their names."""
    function_starts: tuple[int, int]

    @property
    def has_debug_info(self) -> bool:
        """True for a file with DWARF, such as that of a dSYM."""
        return any(section.name == "__debug_info" and section.size for section in self.sections)

    def read_bytes(self, offset: int, size: int) -> bytes:
        """Return bytes of the slice. Raises ``SymbolFileError`` where it has fewer."""
        if size > _MAX_PART_BYTES:
            raise SymbolFileError("has a table of more than 512 MB")
        if offset + size > self.size:
            raise SymbolFileError("is cut off")
        with self.path.open("rb") as file:
            return _read_exactly(file, self.offset + offset, size)


def is_macho(head: bytes) -> bool:
    """Return True for the first bytes of a Mach-O file."""
    return head.startswith(MACHO_HEADS)


def read_builds(path: Path, budget: WorkBudget) -> tuple[Build, ...]:
    """Return the builds in a Mach-O file. Raises ``SymbolFileError`` for a damaged one, and ``OSError``."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        # Some architectures may claim the same bytes.
        places = dict.fromkeys(_iter_slices(file, size))
        builds = tuple(_read_slice(path, file, *place) for place in places)
    budget.take(_BYTES_PER_SECTION * sum(1 + len(build.sections) for build in builds))
    return builds


def _iter_slices(file: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """Yield offset and size of each architecture."""
    magic = _read_exactly(file, 0, 4)
    if magic in _THIN:
        yield 0, size
        return
    if magic not in _FAT:
        raise SymbolFileError("is no Mach-O file")
    count = int.from_bytes(_read_exactly(file, 4, 4), "big")
    if count > _MAX_ARCHITECTURES:
        raise SymbolFileError(f"has a header of {count:,} architectures")
    entry = _FAT[magic]
    for number in range(count):
        _, _, offset, length, *_ = entry.unpack(_read_exactly(file, 8 + number * entry.size, entry.size))
        if offset + length > size:
            raise SymbolFileError("is cut off")
        yield offset, length


def _read_slice(path: Path, file: BinaryIO, offset: int, size: int) -> Build:
    magic = _read_exactly(file, offset, 4)
    if magic not in _THIN:
        raise SymbolFileError("holds an architecture that is no little-endian Mach-O file")
    is_64 = _THIN[magic]
    _, cpu, subtype, _, count, command_bytes, _ = _HEADER.unpack(_read_exactly(file, offset, _HEADER.size))
    start = _HEADER.size + (4 if is_64 else 0)
    if count > _MAX_COMMANDS or command_bytes > _MAX_COMMAND_BYTES or start + command_bytes > size:
        raise SymbolFileError("is cut off, or its header is damaged")
    identity, text, symbols, starts = "", (0, 0), (0, 0, 0, 0), (0, 0)
    sections: list[Section] = []
    for command, data in _iter_commands(_read_exactly(file, offset + start, command_bytes), count):
        if command == _LC_UUID and len(data) >= 16:
            identity = str(uuid.UUID(bytes=data[:16])).upper()
        elif command in (_LC_SEGMENT, _LC_SEGMENT_64):
            name, address, length, read = _read_segment(data, len(sections), is_64=command == _LC_SEGMENT_64)
            text = (address, length) if name == "__TEXT" else text
            sections += read
            if len(sections) > _MAX_SECTIONS:
                raise SymbolFileError(f"has a header of more than {_MAX_SECTIONS:,} sections")
        elif command == _LC_SYMTAB and len(data) >= _SYMTAB.size:
            symbols = _SYMTAB.unpack_from(data)
        elif command == _LC_FUNCTION_STARTS and len(data) >= _RANGE.size:
            starts = _RANGE.unpack_from(data)
    arch = find_architecture(cpu, subtype)
    used = tuple(section for section in sections if section.is_code or section.name.startswith("__debug"))
    return Build(path, offset, size, is_64, identity, arch, *text, used, symbols, starts)


def _iter_commands(data: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    """Yield each load command's number and its content."""
    offset = 0
    for _ in range(count):
        if offset + _COMMAND.size > len(data):
            raise SymbolFileError("is cut off, or its header is damaged")
        command, size = _COMMAND.unpack_from(data, offset)
        if size < _COMMAND.size or offset + size > len(data):
            raise SymbolFileError("has a damaged load command")
        yield command, data[offset + _COMMAND.size : offset + size]
        offset += size


def _read_segment(data: bytes, section_count: int, *, is_64: bool) -> tuple[str, int, int, list[Section]]:
    """Return name, address and size of a segment, and its sections; ``section_count`` came before."""
    layout, section = _SEGMENT[is_64], _SECTION[is_64]
    if len(data) < layout.size:
        raise SymbolFileError("has a damaged load command")
    name, address, size, _, _, _, _, count, _ = layout.unpack_from(data)
    if layout.size + count * section.size > len(data):
        raise SymbolFileError("has a damaged load command")
    table = data[layout.size : layout.size + count * section.size]
    sections = [
        Section(
            section_count + number,
            _decode_name(row[0]),
            row[2],
            row[3],
            row[4],
            bool(row[8] & _HAS_INSTRUCTIONS),
        )
        for number, row in enumerate(islice(section.iter_unpack(table), _MAX_SECTIONS + 1), 1)
    ]
    return _decode_name(name), address, size, sections


def _decode_name(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode("ascii", "replace")


def _read_exactly(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    data = file.read(size)
    if len(data) < size:
        raise SymbolFileError("is cut off")
    return data
