"""Protobuf messages of columns: a block of equal messages is encoded at once, without an object for each.

The wire format is that of protobuf.dev/programming-guides/encoding. A block is a column of byte strings, one
per row; a field of every row is such a column, and a message is its fields side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import BoolArray, IntArray

VARINT, BYTES = 0, 2
"""Wire types: an integer, or a length and so many bytes."""
_LONGEST = 10
"""Bytes of the longest varint, that of 64 bits."""


@dataclass(frozen=True)
class Rows:
    """One byte string per row, one after another in ``data``."""

    data: npt.NDArray[np.uint8]
    lengths: IntArray

    def __len__(self) -> int:
        return len(self.lengths)


def tag(field: int, wire_type: int) -> bytes:
    """Return the bytes that begin a field."""
    return varint(field << 3 | wire_type)


def varint(number: int) -> bytes:
    """Return one integer, not below 0, as a varint."""
    return encoded(np.array([number], np.int64)).data.tobytes()


def encoded(numbers: npt.NDArray[np.integer[Any]], before: bytes = b"") -> Rows:
    """Return varints, each behind the bytes ``before``; a negative number has the bits of its 64."""
    # Groups of 7 bits, the lowest first; all but the last have the bit 0x80.
    rest = numbers.astype(np.uint64)
    count = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))
    table = np.empty((len(rest), len(before) + count), np.uint8)
    table[:, : len(before)] = np.frombuffer(before, np.uint8)
    is_used = np.ones(table.shape, bool)
    for position in range(len(before), len(before) + count):
        is_used[:, position] = (rest > 0) | (position == len(before))
        following = rest >> np.uint64(7)
        table[:, position] = (rest & np.uint64(0x7F)) | np.where(following > 0, np.uint64(0x80), np.uint64(0))
        rest = following
    return Rows(table[is_used], is_used.sum(axis=1))


def picked(texts: Sequence[bytes], codes: npt.NDArray[np.integer[Any]]) -> Rows:
    """Return ``texts[code]`` for each of the codes."""
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.cumsum(sizes) - sizes
    data = np.frombuffer(b"".join(texts), np.uint8)
    lengths = sizes[codes]
    return Rows(data[_positions(starts[codes], lengths)], lengths)


def where(mask: BoolArray, rows: Rows) -> Rows:
    """Return the rows that are marked, empty strings for the others."""
    return Rows(rows.data[np.repeat(mask, rows.lengths)], np.where(mask, rows.lengths, 0))


def joined(columns: Sequence[Rows]) -> Rows:
    """Return each row's strings of all columns, one after another."""
    lengths: IntArray = np.sum([column.lengths for column in columns], axis=0)
    data = np.empty(int(lengths.sum()), np.uint8)
    starts = np.cumsum(lengths) - lengths
    for column in columns:
        data[_positions(starts, column.lengths)] = column.data
        starts = starts + column.lengths
    return Rows(data, lengths)


def message(field: int, columns: Sequence[Rows]) -> Rows:
    """Return a field of each row that is a message of these fields."""
    content = joined(columns)
    return joined([encoded(content.lengths, tag(field, BYTES)), content])


def _positions(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the positions ``start … start + length - 1`` of every row, one after another."""
    #   starts 4 9, lengths 2 3      repeat(starts - lengths before)  4 4 7 7 7      + arange  4 5 9 10 11
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
