"""Protocol buffers as bytes: the fields of a message, without a schema and without copying.

The wire format: https://protobuf.dev/programming-guides/encoding/. A message is decoded one level at a time,
so that weights, which are fields of some messages, are passed over as a view of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_MAX_FIELDS = 4_000_000
"""Fields of one message, layers and operations among them."""


class DamagedModelError(Exception):
    """Bytes that are no model of their format; ``files.read_model`` turns it into an ``InputError``."""


class Message:
    """The fields of one message by number. Lengths are compared with the bytes that are there."""

    __slots__ = ("_fields",)

    def __init__(self, data: memoryview) -> None:
        self._fields = _read_fields(data)

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    @property
    def numbers(self) -> Iterator[int]:
        """The numbers of the fields that are present, in the order of their first occurrence."""
        return iter(self._fields)

    def integer(self, number: int, default: int = 0) -> int:
        """Return the last value of an integer field."""
        value = self._last(number)
        return value if isinstance(value, int) else default

    def signed(self, number: int, default: int = 0) -> int:
        """Return the last value of an integer field as a signed number of 64 bits."""
        return _sign(self.integer(number, default))

    def text(self, number: int) -> str:
        """Return the last value of a string field; bytes that are no UTF-8 are replaced."""
        value = self._last(number)
        return bytes(value).decode("utf-8", "replace") if isinstance(value, memoryview) else ""

    def view(self, number: int) -> memoryview:
        """Return the last value of a field of bytes, or an empty view."""
        value = self._last(number)
        return value if isinstance(value, memoryview) else memoryview(b"")

    def message(self, number: int) -> Message:
        """Return the last value of a field of messages; one without fields where it is absent."""
        return Message(self.view(number))

    def messages(self, number: int) -> Iterator[Message]:
        """Iterate over the values of a repeated field of messages."""
        return map(Message, self.views(number))

    def views(self, number: int) -> Iterator[memoryview]:
        """Iterate over the values of a repeated field of bytes."""
        return (value for value in self._fields.get(number, ()) if isinstance(value, memoryview))

    def texts(self, number: int) -> list[str]:
        """Return the values of a repeated field of strings."""
        return [bytes(value).decode("utf-8", "replace") for value in self.views(number)]

    def integers(self, number: int, most: int) -> list[int]:
        """Return the first ``most`` values of a repeated field of signed integers, packed or not."""
        numbers: list[int] = []
        for value in self._fields.get(number, ()):
            if isinstance(value, int):
                numbers.append(_sign(value))
            else:
                position = 0
                while position < len(value) and len(numbers) < most:
                    item, position = _read_varint(value, position)
                    numbers.append(_sign(item))
            if len(numbers) >= most:
                break
        return numbers[:most]

    def floats(self, number: int, most: int) -> list[float]:
        """Return the first ``most`` values of a repeated field of floats, packed or not."""
        numbers: list[float] = []
        for value in self._fields.get(number, ()):
            data = struct.pack("<I", value & 0xFFFFFFFF) if isinstance(value, int) else value
            count = min(len(data) // 4, most - len(numbers))
            numbers.extend(struct.unpack_from(f"<{count}f", data))
        return numbers

    def entries(self, number: int) -> Iterator[tuple[str, Message]]:
        """Iterate over a map from strings to messages."""
        return ((entry.text(1), entry.message(2)) for entry in self.messages(number))

    def _last(self, number: int) -> int | memoryview | None:
        values = self._fields.get(number)
        return values[-1] if values else None


def _read_fields(data: memoryview) -> dict[int, list[int | memoryview]]:
    fields: dict[int, list[int | memoryview]] = {}
    position, end, left = 0, len(data), _MAX_FIELDS
    value: int | memoryview
    while position < end:
        key, position = _read_varint(data, position)
        kind = key & 7
        if kind == _BYTES:
            size, position = _read_varint(data, position)
            stop = position + size
            value = data[position:stop]
        elif kind == _VARINT:
            value, stop = _read_varint(data, position)
        elif kind in (_FIXED32, _FIXED64):
            stop = position + (4 if kind == _FIXED32 else 8)
            value = int.from_bytes(data[position:stop], "little")
        else:
            raise DamagedModelError(f"has a field of kind {kind}, which no protocol buffer has")
        if stop > end:
            raise DamagedModelError("ends within a field")
        position = stop
        left -= 1
        if left < 0:
            raise DamagedModelError(f"has a message of more than {_MAX_FIELDS:,} fields")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    result = shift = 0
    try:
        while True:
            byte = data[position]
            position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result & 0xFFFFFFFFFFFFFFFF, position
            shift += 7
            if shift >= 7 * _MAX_VARINT_BYTES:
                raise DamagedModelError("has an integer of more than ten bytes")
    except IndexError:
        raise DamagedModelError("ends within an integer") from None


def _sign(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
