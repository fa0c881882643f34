"""Property lists: binary ones object by object, and the small XML ones as a whole.

``plistlib`` decodes a whole list at once. ``form.template`` holds megabytes of interface state, and a
reader needs a few values of it, and in a hostile list a thousand arrays may share the same bytes. Decoding on
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
from collections.abc import Iterator
from typing import Any
from xml.parsers.expat import ExpatError

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen

_MAGIC = b"bplist0"
_UNPRINTABLE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_TRAILER = struct.Struct(">6xBBQQQ")
_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""By width in bytes; CF writes no other."""
DICTIONARIES = (0xD,)
ARRAYS = (0xA, 0xB, 0xC)
"""Kinds of objects."""
_NO_KEYS = (0x8, 0xA, 0xB, 0xC, 0xD)  # references and containers
_MAX_OBJECTS = 1 << 23
"""Of a list: that of 20,000 tables has half a million."""
_ELEMENTS_SLACK = 500_000
_ELEMENTS_RATIO = 4
"""Containers are decoded at each request, some several times; each element takes at least one byte."""
_NAME_CHARACTERS = 64
_TOO_MANY = "holds more than any recording does"


# plistlib passes on the errors of its parser.
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


@frozen
class Uid:
    """A reference of the keyed archiver: the number of an object in ``$objects``."""

    number: int


class BinaryPlist:
    """The objects of one list, by number. Arrays come as tuples of numbers, dictionaries as dicts of them.

    ``uids`` has for each object the number of a ``Uid``, and -1 for objects of another kind.
    """

    def __init__(self, data: bytes) -> None:
        if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + _TRAILER.size:
            raise PlistError("is not a binary property list")
        offset_bytes, self._ref_bytes, count, self.top, table = _TRAILER.unpack_from(data, len(data) - 32)
        self._data = data
        self._end = len(data) - _TRAILER.size
        widths_are_valid = offset_bytes in _FORMATS and self._ref_bytes in _FORMATS
        if not widths_are_valid or table + offset_bytes * count > self._end or self.top >= count:
            raise PlistError("is a damaged property list")
        if count > _MAX_OBJECTS:
            raise PlistError(_TOO_MANY)
        offsets = np.frombuffer(data, f">u{offset_bytes}", count, table).astype(np.uint64)
        # Those beyond the end stay there: none must become a negative number.
        self._starts = np.minimum(offsets, np.uint64(self._end)).astype(np.int64)
        # As memoryviews, whose items are plain integers.
        self._offsets = self._starts.data
        self.uids = _find_uids(data, self._starts, self._end).data
        self._elements_left = _ELEMENTS_SLACK + _ELEMENTS_RATIO * len(data)
        self._names: dict[int, str] = {}

    def read(self, number: int) -> Any:
        """Return one object; raise ``PlistError`` when it is damaged or of an unknown kind."""
        # One function for the common kinds: an archive has hundreds of thousands of objects.
        offset = self._find_offset(number)
        marker = self._data[offset]
        kind, size = marker >> 4, marker & 15
        offset += 1
        if kind < 0x4:
            return self._read_scalar(kind, offset, size)
        if size == 15 and kind != 0x8:
            offset, size = self._read_size(offset)
        if kind == 0x5:
            return self._read_bytes(offset, size).decode("ascii", "replace")
        if kind == 0xD:  # all keys first, then all values
            numbers = self._read_numbers(offset, 2 * size)
            names = self._names
            return {
                names[key] if key in names else self.key(key): value
                for key, value in zip(numbers[:size], numbers[size:], strict=True)
            }
        if kind in ARRAYS:
            return self._read_numbers(offset, size)
        if kind == 0x4:
            return self._read_bytes(offset, size)
        if kind == 0x6:
            return self._read_bytes(offset, 2 * size).decode("utf-16-be", "replace")
        if kind == 0x8:
            return Uid(self._read_number(offset, size + 1))
        raise PlistError(f"holds an object of the unknown kind {kind:#x}")

    def elements(
        self, numbers: npt.NDArray[np.int64], kinds: tuple[int, ...]
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Yield the containers of one kind and size: positions in ``numbers``, and the elements, a row each.

        A dictionary's are all its keys, then all its values. Everything but an undamaged container of fewer
        than 15 entries is left out.
        """
        positions = np.flatnonzero((numbers >= 0) & (numbers < len(self._starts)))
        starts = self._starts[numbers[positions]]
        raw = np.frombuffer(self._data, np.uint8)
        markers = raw[starts]
        for marker in np.flatnonzero(np.bincount(markers, minlength=256)).tolist():
            kind, size = marker >> 4, marker & 15
            if kind not in kinds or size == 15:
                continue
            count = 2 * size if kind in DICTIONARIES else size
            size_bytes = count * self._ref_bytes
            container_rows = np.flatnonzero((markers == marker) & (starts + 1 + size_bytes <= self._end))
            self._count_elements(count * len(container_rows))
            packed = raw[starts[container_rows, None] + 1 + np.arange(size_bytes)]
            rows = packed.view(f">u{self._ref_bytes}").reshape(len(container_rows), count)
            # A number beyond the last object stays one: it must not become a negative.
            yield positions[container_rows], np.minimum(rows, len(self._starts)).astype(np.int64)

    def _read_scalar(self, kind: int, offset: int, low: int) -> Any:
        if kind == 0x0:
            return {0: None, 8: False, 9: True}.get(low)
        if kind == 0x1:
            return self._read_integer(offset, low)
        if kind == 0x2 and low in (2, 3):
            return struct.unpack(">f" if low == 2 else ">d", self._read_bytes(offset, 1 << low))[0]
        if kind == 0x3:
            return struct.unpack(">d", self._read_bytes(offset, 8))[0]
        raise PlistError(f"holds an object of the unknown kind {kind:#x}")

    def key(self, number: int) -> Any:
        """Return a key; the short ones, which are the names of fields and repeat, are decoded once."""
        if self._data[self._find_offset(number)] >> 4 in _NO_KEYS:
            raise PlistError("has a key that is no plain value")
        key = self.read(number)
        if isinstance(key, str) and len(key) <= _NAME_CHARACTERS:
            self._names[number] = key
        return key

    def _find_offset(self, number: int) -> int:
        """Return the offset in bytes at which an object begins."""
        if not 0 <= number < len(self._offsets):
            raise PlistError("refers to an object beyond its end")
        offset = self._offsets[number]
        if offset >= self._end:
            raise PlistError("is cut off")
        return offset

    def _read_numbers(self, offset: int, count: int) -> tuple[int, ...]:
        """Return numbers of objects; raise ``PlistError`` once more were read than any recording needs."""
        raw = self._read_bytes(offset, count * self._ref_bytes)
        self._count_elements(count)
        return struct.unpack(f">{count}{_FORMATS[self._ref_bytes]}", raw)

    def _count_elements(self, count: int) -> None:
        self._elements_left -= count
        if self._elements_left < 0:
            raise PlistError(_TOO_MANY)

    def _read_size(self, offset: int) -> tuple[int, int]:
        """Return the offset of a sized object's content, and its size, an integer object before it."""
        kind, exponent = divmod(self._read_number(offset, 1), 16)
        if kind != 0x1 or exponent > 3:
            raise PlistError("has an object without a readable size")
        return offset + 1 + (1 << exponent), self._read_number(offset + 1, 1 << exponent)

    def _read_integer(self, offset: int, exponent: int) -> int:
        """Return an integer: unsigned with up to 4 bytes, signed with 8 and 16 bytes."""
        if exponent > 4:
            raise PlistError("holds an integer of an unknown size")
        return int.from_bytes(self._read_bytes(offset, 1 << exponent), signed=exponent >= 3)

    def _read_number(self, offset: int, size: int) -> int:
        return int.from_bytes(self._read_bytes(offset, size))

    def _read_bytes(self, offset: int, size: int) -> bytes:
        if offset + size > self._end:
            raise PlistError("is cut off")
        return self._data[offset : offset + size]


def _find_uids(data: bytes, starts: npt.NDArray[np.int64], end: int) -> npt.NDArray[np.int64]:
    """Return for each object the number of a ``Uid``, -1 for another object; see ``BinaryPlist.uids``.

    Most objects of an archive are Uids, so all are decoded at once. One of an archive has at most 4 bytes.
    """
    raw = np.frombuffer(data, np.uint8)
    markers = raw[starts]
    numbers = raw[starts + 1].astype(np.int64)
    for more in range(1, 4):  # the trailer follows every object
        numbers = np.where(markers >= 0x80 + more, numbers << 8 | raw[starts + 1 + more], numbers)
    return np.where((markers >= 0x80) & (markers <= 0x83) & (starts < end), numbers, -1)


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
