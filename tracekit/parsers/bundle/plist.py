"""Property lists: binary ones object by object, and the small XML ones as a whole.

``plistlib`` decodes a whole list at once. ``form.template`` holds megabytes of interface state of which a
reader needs a few values, and in a hostile list a thousand arrays may share the same bytes. Decoding on
demand costs no more than the values that are requested. Format: CFBinaryPList.c of Apple's open-source CF.

    "bplist00" │ objects … │ offset table │ trailer (32 bytes)
                    ▲            │  ▲            │
                    └── offset ──┘  └─ table ────┘   plus top object, count, widths of offsets and references

An object begins with a byte ``kind << 4 | low``; ``low`` is the size, or 15 for a size that follows as an
integer object. The objects of an array or dictionary are numbers of entries of the offset table.
"""

from __future__ import annotations

import plistlib
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.parsers.expat import ExpatError

_MAGIC = b"bplist0"
_UNPRINTABLE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_TRAILER = struct.Struct(">6xBBQQQ")
_CONTAINERS = (0xA, 0xB, 0xC, 0xD)
_ELEMENTS_SLACK = 500_000
_ELEMENTS_RATIO = 4
_NAME_CHARACTERS = 64
"""Containers are decoded at each request, some several times; each element takes at least one byte."""


# plistlib lets the errors of its own parser through.
_PLISTLIB_ERRORS = (
    ExpatError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)


class PlistError(ValueError):
    """Not a binary property list, or a damaged one."""


# Not frozen, although nothing changes them: a list has tens of thousands, and a frozen one takes four times
# as long to make.
@dataclass(slots=True)
class Ref:
    """The number of an object in its list."""

    number: int


@dataclass(slots=True)
class Uid:
    """A reference of the keyed archiver: the number of an object in ``$objects``."""

    number: int


@dataclass(frozen=True)
class Refs:
    """The undecoded contents of an array or set: ``count`` references from ``offset`` on."""

    offset: int
    count: int


class BinaryPlist:
    """The objects of one list. Arrays come as ``Refs``, dictionaries as dicts of ``Ref``."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + _TRAILER.size:
            raise PlistError("is not a binary property list")
        offset_bytes, self._ref_bytes, self._count, top, table = _TRAILER.unpack_from(data, len(data) - 32)
        self._data = data
        self._end = len(data) - _TRAILER.size
        widths_are_valid = 1 <= offset_bytes <= 8 and 1 <= self._ref_bytes <= 8
        if not widths_are_valid or table + offset_bytes * self._count > self._end or top >= self._count:
            raise PlistError("is a damaged property list")
        self._table = table
        self._offset_bytes = offset_bytes
        self._elements_left = _ELEMENTS_SLACK + _ELEMENTS_RATIO * len(data)
        self._names: dict[int, str] = {}
        self.top = Ref(top)

    def read(self, ref: Ref) -> Any:
        """Return one object; raise ``PlistError`` when it is damaged or of an unknown kind."""
        offset = self._offset(ref)
        if offset >= self._end:
            raise PlistError("is cut off")
        marker = self._data[offset]
        kind, low = marker >> 4, marker & 15
        if kind == 0x8:
            return Uid(self._number(offset + 1, low + 1))
        if kind >= 0x4:
            size_is_behind = low == 15
            return self._sized(kind, *(self._size(offset + 1) if size_is_behind else (offset + 1, low)))
        if kind == 0x0:
            return {0: None, 8: False, 9: True}.get(low)
        if kind == 0x1:
            return self._integer(offset + 1, low)
        if kind == 0x2 and low in (2, 3):
            return struct.unpack(">f" if low == 2 else ">d", self._bytes(offset + 1, 1 << low))[0]
        if kind == 0x3:
            return struct.unpack(">d", self._bytes(offset + 1, 8))[0]
        raise PlistError(f"holds an object of the unknown kind {kind:#x}")

    def _sized(self, kind: int, offset: int, size: int) -> Any:
        if kind == 0x5:
            return self._bytes(offset, size).decode("ascii", "replace")
        if kind == 0x4:
            return self._bytes(offset, size)
        if kind == 0x6:
            return self._bytes(offset, 2 * size).decode("utf-16-be", "replace")
        if kind in (0xA, 0xB, 0xC):
            return self._refs(offset, size)
        if kind == 0xD:  # all keys first, then all values
            keys, values = self._refs(offset, size), self._refs(offset + size * self._ref_bytes, size)
            names = self._names
            return {
                names[key] if key in names else self._key(key): Ref(value)
                for key, value in zip(self._numbers(keys), self._numbers(values), strict=True)
            }
        raise PlistError(f"holds an object of the unknown kind {kind:#x}")

    def _key(self, number: int) -> Any:
        """Return a key; the short ones, which are the names of fields and repeat, are decoded once."""
        ref = Ref(number)
        if self._number(self._offset(ref), 1) >> 4 in _CONTAINERS:
            raise PlistError("has a container as a key")
        key = self.read(ref)
        if isinstance(key, str) and len(key) <= _NAME_CHARACTERS:
            self._names[number] = key
        return key

    def _offset(self, ref: Ref) -> int:
        """Return the offset in bytes at which an object begins."""
        if not 0 <= ref.number < self._count:
            raise PlistError("refers to an object beyond its end")
        # The constructor has checked where the table ends.
        start = self._table + ref.number * self._offset_bytes
        return int.from_bytes(self._data[start : start + self._offset_bytes])

    def element(self, refs: Refs, index: int) -> Ref:
        """Return one element; raise ``PlistError`` for an index beyond the array."""
        if not 0 <= index < refs.count:
            raise PlistError("refers to an object beyond its end")
        return Ref(self._number(refs.offset + index * self._ref_bytes, self._ref_bytes))

    def every(self, refs: Refs) -> list[Ref]:
        """Return all elements; raise ``PlistError`` once more were read than any recording needs."""
        return [Ref(number) for number in self._numbers(refs)]

    def _numbers(self, refs: Refs) -> Sequence[int]:
        """Return the numbers of all elements; see ``every``."""
        self._elements_left -= refs.count
        if self._elements_left < 0:
            raise PlistError("holds more than any recording does")
        width = self._ref_bytes
        raw = self._bytes(refs.offset, refs.count * width)
        if width == 1:
            return raw
        return [int.from_bytes(raw[i : i + width]) for i in range(0, len(raw), width)]

    def _refs(self, offset: int, count: int) -> Refs:
        if offset + count * self._ref_bytes > self._end:
            raise PlistError("is cut off")
        return Refs(offset, count)

    def _size(self, offset: int) -> tuple[int, int]:
        """Return the offset of a sized object's content, and its size, an integer object before it."""
        kind, exponent = divmod(self._number(offset, 1), 16)
        if kind != 0x1 or exponent > 3:
            raise PlistError("has an object without a readable size")
        return offset + 1 + (1 << exponent), self._number(offset + 1, 1 << exponent)

    def _integer(self, offset: int, exponent: int) -> int:
        """Return an integer: unsigned with up to 4 bytes, signed with 8 and 16 bytes."""
        if exponent > 4:
            raise PlistError("holds an integer of an unknown size")
        return int.from_bytes(self._bytes(offset, 1 << exponent), signed=exponent >= 3)

    def _number(self, offset: int, size: int) -> int:
        return int.from_bytes(self._bytes(offset, size))

    def _bytes(self, offset: int, size: int) -> bytes:
        if offset + size > self._end:
            raise PlistError("is cut off")
        return self._data[offset : offset + size]


def read_plist(data: bytes) -> Any:
    """Return a small property list, usually XML, as plain values; raise ``PlistError`` for anything else.

    XML allows no control characters, yet Instruments writes them: they become U+FFFD.
    """
    if not data.startswith(_MAGIC):
        data = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}".encode(), data)
    try:
        return plistlib.loads(data)
    except _PLISTLIB_ERRORS as error:
        raise PlistError(f"is not a readable property list ({type(error).__name__})") from error
