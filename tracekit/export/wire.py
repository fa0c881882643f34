"""Protobuf messages from columns: a block of messages of one type is encoded without an object per message.

The wire format is that of protobuf.dev/programming-guides/encoding. A block is a column of byte strings, one
per row; a field of every row is such a column, and a message is its fields side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray

VARINT, BYTES = 0, 2
"""Wire types: an integer, or a length followed by that number of bytes."""


@frozen
class ByteRows:
    """One byte string per row, one after another in ``data``."""

    data: npt.NDArray[np.uint8]
    lengths: IntArray

    def __len__(self) -> int:
        return len(self.lengths)


def encode_tag(field: int, wire_type: int) -> bytes:
    """Return the bytes that begin a field."""
    return encode_varint(field << 3 | wire_type)


def encode_varint(number: int) -> bytes:
    """Return a non-negative integer as a varint."""
    return encode_varints(np.array([number], np.int64)).data.tobytes()


def encode_varints(numbers: npt.NDArray[np.integer[Any]], prefix: bytes = b"") -> ByteRows:
    """Return varints, each after the bytes ``prefix``; a negative number is encoded as unsigned 64 bits."""
    # Groups of 7 bits, the lowest first; all but the last have the bit 0x80.
    remaining_bits = numbers.astype(np.uint64)
    count = max(1, -(-int(remaining_bits.max(initial=0)).bit_length() // 7))
    table = np.empty((len(remaining_bits), len(prefix) + count), np.uint8)
    table[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    is_used = np.ones(table.shape, bool)
    for position in range(len(prefix), len(prefix) + count):
        is_used[:, position] = (remaining_bits > 0) | (position == len(prefix))
        following = remaining_bits >> np.uint64(7)
        table[:, position] = (remaining_bits & np.uint64(0x7F)) | np.where(
            following > 0, np.uint64(0x80), np.uint64(0)
        )
        remaining_bits = following
    return ByteRows(table[is_used], is_used.sum(axis=1))


def take_texts(texts: Sequence[bytes], codes: npt.NDArray[np.integer[Any]]) -> ByteRows:
    """Return ``texts[code]`` for each of the codes."""
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.cumsum(sizes) - sizes
    data = np.frombuffer(b"".join(texts), np.uint8)
    lengths = sizes[codes]
    return ByteRows(data[_list_byte_positions(starts[codes], lengths)], lengths)


def select_rows(mask: BoolArray, rows: ByteRows) -> ByteRows:
    """Return the rows selected by ``mask``, and empty strings for the others."""
    return ByteRows(rows.data[np.repeat(mask, rows.lengths)], np.where(mask, rows.lengths, 0))


def join_columns(columns: Sequence[ByteRows]) -> ByteRows:
    """Return each row's strings of all columns, one after another."""
    lengths: IntArray = np.sum([column.lengths for column in columns], axis=0)
    data = np.empty(int(lengths.sum()), np.uint8)
    starts = np.cumsum(lengths) - lengths
    for column in columns:
        data[_list_byte_positions(starts, column.lengths)] = column.data
        starts = starts + column.lengths
    return ByteRows(data, lengths)


def encode_message(field: int, columns: Sequence[ByteRows]) -> ByteRows:
    """Return a field of each row that is a message of these fields."""
    content = join_columns(columns)
    return join_columns([encode_varints(content.lengths, encode_tag(field, BYTES)), content])


def _list_byte_positions(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the positions ``start … start + length - 1`` of every row, one after another."""
    #   starts 4 9, lengths 2 3      repeat(starts - lengths before)  4 4 7 7 7      + arange  4 5 9 10 11
    earlier_sizes = np.cumsum(lengths) - lengths
    return np.repeat(starts - earlier_sizes, lengths) + np.arange(int(lengths.sum()))
