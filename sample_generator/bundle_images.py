"""Binaries of a bundle: the symbols of each, and the addresses at which a process loaded it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ALWAYS = (0, 2**63 - 1)
"""Mach time of loading and unloading for an image that stays loaded all the time."""

_CPU_TYPES = {"arm64": (0x100000C, 0), "arm64e": (0x100000C, 2), "x86_64": (0x1000007, 3)}
_NONE = 0xFFFFFFFF
_SYMBOL_FLAGS = 0x33490061
_INLINE_FLAGS = 0x85528501
_MACH_HEADER_SIZE = 0x1000
_SIGNATURE_MAGIC = 0xFF01FF02
_CACHE_MAGIC = 0x00C0FFEE
_NO_UUID = UUID(int=0)
_KERNEL_CACHE = UUID(bytes=bytes(range(16)))


@dataclass(frozen=True)
class Segment:
    """A segment; in an image the first begins at 0, at runtime at any address."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Line:
    """The source of some instructions."""

    address: int
    size: int
    path: str
    line: int
    column: int = 0


@dataclass(frozen=True)
class Symbol:
    """A function; without display name 0 is stored, and its reader demangles the name.

    Of a function inlined into another one, `called_from` is the source that called it.
    """

    address: int
    size: int
    name: str
    display: str = ""
    inlined: tuple[Symbol, ...] = ()
    called_from: Line | None = None


@dataclass(frozen=True)
class Image:
    """A binary."""

    uuid: UUID
    path: str
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...] = ()
    lines: tuple[Line, ...] = ()
    arch: str = "arm64e"
    version: str = "1.0"

    @property
    def cpu_type(self) -> tuple[int, int]:
        return _CPU_TYPES[self.arch]

    def at(self, places: int | dict[str, int]) -> tuple[Segment, ...]:
        """Return the segments as loaded: all moved by one distance, or those that are named, to addresses."""
        if isinstance(places, int):
            return tuple(replace(segment, address=segment.address + places) for segment in self.segments)
        return tuple(
            replace(segment, address=places[segment.name])
            for segment in self.segments
            if segment.name in places
        )


@dataclass(frozen=True)
class Loaded:
    """An image in the memory of a process, in mach time from loading until unloading."""

    image: Image
    segments: tuple[Segment, ...]
    lifetime: tuple[int, int] = ALWAYS

    def moved(self, distance: int) -> Loaded:
        segments = tuple(replace(segment, address=segment.address + distance) for segment in self.segments)
        return replace(self, segments=segments)


# Signatures: which images a process has -------------------------------------------------------------------


def process_signature(
    pid: int, loaded: Iterable[Loaded], cache: UUID = _NO_UUID, cache_base: int = 0
) -> bytes:
    """Return the list of images of a process, with its shared cache and the cache's address."""
    return _signature((pid, 0), list(loaded), (cache, cache_base), _NO_UUID)


def kernel_signature(loaded: Iterable[Loaded]) -> bytes:
    """Return the list of the kernel and its extensions, which name a bundle id instead of a path."""
    return _signature((_NONE, 1), list(loaded), (_KERNEL_CACHE, 0), _KERNEL_CACHE)


def _signature(
    owner: tuple[int, int], loaded: list[Loaded], cache: tuple[UUID, int], second_uuid: UUID
) -> bytes:
    header = struct.pack("<6I", _SIGNATURE_MAGIC, 1, *owner, 0x2000, len(loaded))
    versions = _padded(b"".join(f"{entry.image.version}\0".encode() for entry in loaded))
    uuid, base = cache
    tail = struct.pack(
        "<2I16sQ16sQQI", _CACHE_MAGIC, 4, uuid.bytes, base, second_uuid.bytes, 0, 0, len(versions)
    )
    return header + b"".join(map(_loaded, loaded)) + tail + versions


def _loaded(entry: Loaded) -> bytes:
    path = _padded(entry.image.path.encode() + b"\0")
    fixed = struct.pack(
        "<16s2I2Q4I",
        entry.image.uuid.bytes,
        *(0, 0x221),
        *entry.lifetime,
        *entry.image.cpu_type,
        *(len(entry.segments), len(path)),
    )
    segments = (struct.pack("<16s2Q", part.name.encode(), part.address, part.size) for part in entry.segments)
    return fixed + path + b"".join(segments)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


# Archives: the symbols of an image ------------------------------------------------------------------------


class _Strings:
    """Zero-terminated strings, each once; offset 0, the first, means none."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[str, int] = {}
        self("MACH_HEADER")

    def __call__(self, text: str) -> int:
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._offsets[text]


def symbols_archive(image: Image) -> bytes:
    """Return the file that holds an image's symbols, inlined functions and source lines."""
    strings = _Strings()
    symbols = sorted(image.symbols, key=lambda symbol: symbol.address)
    inlined = [function for symbol in symbols for function in symbol.inlined]
    segments = b"".join(
        struct.pack("<2Q16s", segment.address, segment.size, segment.name.encode())
        for segment in image.segments
    )
    sections = _sections(image, strings)
    body = _symbol_records(symbols, strings) + b"".join(_inlined(function, strings) for function in inlined)
    body += b"".join(_line(line, strings) for line in sorted(image.lines, key=lambda line: line.address))
    by_name = _by_name(symbols, lambda symbol: symbol.name, len(body))
    by_display = _by_name(symbols, lambda symbol: symbol.display, len(body + by_name))
    body += by_name + by_display
    version = strings(image.version)
    counts = (len(image.segments), len(sections) // 24, len(symbols), len(inlined), len(image.lines))
    size = 0x60 + len(segments) + len(sections) + len(body) + len(strings.data)
    header = struct.pack("<2I5I4I2I", 7, size, *counts, *(0, 0, 0, 0), version, size)
    header += image.uuid.bytes + struct.pack("<2I", *image.cpu_type)
    header += struct.pack("<5I", 0, 0, len(strings.data), len(by_display), 0)
    return header + segments + sections + body + bytes(strings.data)


def _sections(image: Image, strings: _Strings) -> bytes:
    text = next((segment for segment in image.segments if segment.name == "__TEXT"), image.segments[0])
    start = text.address + min(_MACH_HEADER_SIZE, text.size)
    return struct.pack("<2Q2I", text.address, start - text.address, strings("MACH_HEADER"), 0) + struct.pack(
        "<2Q2I", start, text.address + text.size - start, strings("__TEXT __text"), 0
    )


def _symbol_records(symbols: list[Symbol], strings: _Strings) -> bytes:
    """Return 24 bytes a symbol; the last field is the number of its first inlined function."""
    records, first = [], 0
    for symbol in symbols:
        records.append(_symbol(symbol, strings, _SYMBOL_FLAGS, first if symbol.inlined else _NONE))
        first += len(symbol.inlined)
    return b"".join(records)


def _symbol(symbol: Symbol, strings: _Strings, flags: int, first_inlined: int) -> bytes:
    display = strings(symbol.display) if symbol.display else 0
    return struct.pack(
        "<6I", symbol.address, symbol.size, flags, display, strings(symbol.name), first_inlined
    )


def _inlined(symbol: Symbol, strings: _Strings) -> bytes:
    caller = symbol.called_from
    place = (strings(caller.path), caller.line, caller.column) if caller else (0, 0, 0)
    return _symbol(symbol, strings, _INLINE_FLAGS, _NONE) + struct.pack("<3I", *place)


def _line(line: Line, strings: _Strings) -> bytes:
    return struct.pack("<5I", line.address, line.size, strings(line.path), line.line, line.column)


def _by_name(symbols: list[Symbol], name: Callable[[Symbol], str], position: int) -> bytes:
    """Return the position of each named symbol's record, by name, as a distance back from the entry."""
    named = sorted((name(symbol).encode(), index) for index, symbol in enumerate(symbols) if name(symbol))
    places = (position + 4 * entry - 24 * index for entry, (_, index) in enumerate(named))
    return b"".join(struct.pack("<I", place) for place in places)
