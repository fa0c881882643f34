"""Values of ``key=value`` in the messages of signposts."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.model.columns import IntArray

UNKNOWN = -1
"""A number that a span does not have."""
_SEPARATED = r"(?:^|[\s,;{{(]){}=(?P<value>{})(?:$|[\s,;}})])"
_MOST_DIGITS = 9
_NUMBER, _WORD = rf"\d{{1,{_MOST_DIGITS}}}", r"[^\s,;})]{1,200}"
_SPACE = b"\t\n\f\r "
_OPENS, _CLOSES = (np.isin(np.arange(256), list(_SPACE + marks)) for marks in (b",;{(", b",;})"))


def read_numbers(messages: pa.LargeStringArray | pa.ChunkedArray, key: str) -> IntArray:
    """Return the number of a key in each ``key=number, key=number``; ``UNKNOWN`` where a message lacks it."""
    if isinstance(messages, pa.ChunkedArray):  # of tables that were joined
        messages = messages.combine_chunks()
    values, is_certain = _read_first_numbers(messages, key)
    others = np.flatnonzero(~is_certain)
    if len(others):
        found = _extract(messages.take(pa.array(others)), key, _NUMBER)
        values[others] = pc.fill_null(pc.cast(found, pa.int64()), UNKNOWN).to_numpy(zero_copy_only=False)
    return values


def read_words(messages: pa.LargeStringArray, key: str) -> npt.NDArray[np.object_]:
    """Return the word of a key in each ``key=word, key=word``; "" where a message lacks it."""
    words: npt.NDArray[np.object_] = (
        _extract(messages, key, _WORD).fill_null("").to_numpy(zero_copy_only=False)
    )
    return words


def _extract(messages: pa.LargeStringArray, key: str, value: str) -> pa.LargeStringArray:
    """Return the value of a key; null where a message lacks it."""
    found = pc.extract_regex(messages, pattern=_SEPARATED.format(re.escape(key), value))
    return pc.struct_field(found, "value")


def _read_first_numbers(messages: pa.LargeStringArray, key: str) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the number at the first place of each message that reads ``key=``, and a mark for certain ones.

    Where a mark is missing, a later place may have the number: ``subkey=1, key=2``. All messages are read
    together, a digit at a time, in a tenth of the time that an expression takes.
    """
    word = f"{key}="
    values = np.full(len(messages), UNKNOWN, np.int64)
    place = pc.fill_null(pc.find_substring(messages, word), -1).to_numpy(zero_copy_only=False)
    is_certain = place < 0
    rows = np.flatnonzero(~is_certain)
    if not len(rows):
        return values, is_certain
    _, edges, text = messages.buffers()
    offsets = np.frombuffer(edges, np.int64)[messages.offset :][: len(messages) + 1]
    # The last number may end with the text: one character more ends it.
    characters = np.append(np.frombuffer(text, np.uint8), np.uint8(0))
    begins, stops = offsets[rows] + place[rows], offsets[rows + 1]
    is_regular = (place[rows] == 0) | _OPENS[characters[begins - 1]]
    begins += len(word.encode())
    moments, numbers = begins.copy(), np.zeros(len(rows), np.int64)
    for _ in range(_MOST_DIGITS + 1):
        digits = characters[moments] - ord("0")
        is_digit = (digits < 10) & (moments < stops)
        if not is_digit.any():
            break
        numbers = np.where(is_digit, numbers * 10 + digits, numbers)
        moments += is_digit  # a number that has ended stays at what follows it
    is_regular &= (moments > begins) & (moments - begins <= _MOST_DIGITS)
    is_regular &= (moments >= stops) | _CLOSES[characters[moments]]
    values[rows[is_regular]] = numbers[is_regular]
    is_certain[rows[is_regular]] = True
    return values, is_certain
