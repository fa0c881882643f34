"""A view as one block of bytes, which the page inflates itself: a JSON header and the arrays that it names.

| header length (u32) | header (JSON, UTF-8) | padding to 8 | array | padding | array | …
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.text import clip

FORMAT, SAMPLES_FORMAT = "tracekit-view/2", "tracekit-samples/1"
_ALIGN = 8
_LARGE_BYTES = 1 << 16
_LONGEST_TEXT = 4_000
"""No Swift or C++ name in a real recording is longer; a longer one would fill the page."""
_SMALLEST, _QUICKER = 9, 6
"""Compression levels; the first takes three times as long on a large block and saves a few percent."""
_TYPES = {"u1": "u8", "i1": "i8", "u2": "u16", "u4": "u32", "i4": "i32", "f4": "f32", "f8": "f64"}


class Arrays:
    """The arrays of a block by name; small equal ones are stored once.

    ``is_packed`` is False for a block that is sent as it is: then encodings would only cost time.
    """

    def __init__(self, is_packed: bool = True) -> None:
        self._is_packed = is_packed
        self._index: dict[str, list[Any]] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._names: dict[tuple[str, bytes], str] = {}

    def add(self, values: npt.NDArray[Any], dtype: str) -> str:
        """Store an array as a numpy dtype such as "u2", and return its name."""
        # The encoding "planes" makes large arrays compress better: all lowest bytes come first, then all
        # second ones, and so on, because neighbouring values mostly share their upper bytes:
        #   01 00 02 00 03 00  →  01 02 03 00 00 00
        encodings = []
        stored = np.ascontiguousarray(values, dtype=f"<{dtype}")
        data = stored.tobytes()
        if self._is_packed and len(data) >= _LARGE_BYTES and stored.itemsize in (2, 4):
            data = np.ascontiguousarray(stored.view(np.uint8).reshape(-1, stored.itemsize).T).tobytes()
            encodings.append("planes")
        key = (" ".join([dtype, *encodings]), data)
        if key in self._names:
            return self._names[key]
        name = f"a{len(self._index)}"
        self._index[name] = [
            _TYPES[dtype],
            self._size,
            values.size,
            *([" ".join(encodings)] if encodings else []),
        ]
        padding = -len(data) % _ALIGN
        self._parts.append(data + bytes(padding))
        self._size += len(data) + padding
        # Large arrays are unlikely to be equal, and as keys they would be in memory twice.
        if len(data) < _LARGE_BYTES:
            self._names[key] = name
        return name

    def block(self, header: dict[str, Any]) -> bytes:
        """Return header and arrays; offsets count from the block's start."""
        # The offsets stand in the header and depend on its length, which depends on their digits. So begin
        # with a header of length 0 and repeat until the length no longer changes; it only grows.
        size = 0
        while True:
            index = {
                name: [kind, offset + size, *more] for name, (kind, offset, *more) in self._index.items()
            }
            text = json.dumps(
                {**header, "arrays": index}, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            )
            data = text.encode("utf-8", "backslashreplace")
            needed = 4 + len(data) + -(4 + len(data)) % _ALIGN
            if needed == size:
                return b"".join(
                    [struct.pack("<I", len(data)), data, bytes(size - 4 - len(data)), *self._parts]
                )
            size = needed


class Strings:
    """The texts of a view, each once; elsewhere a text is a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def add(self, text: object) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(shown_text(text), len(self._numbers))

    def column(self, values: Any) -> npt.NDArray[np.int64]:
        """Return the numbers of a column of texts."""
        codes, distinct = pd.factorize(np.asarray(values, dtype=object))
        numbers = np.array([self.add(text) for text in distinct.tolist()] or [0], np.int64)
        return numbers[codes]

    @property
    def all(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


def shown_text(text: object) -> str:
    """Return a text as a view stores it."""
    return clip(str(text), _LONGEST_TEXT)


def packed(block: bytes) -> str:
    """Return a block compressed and as base64, for HTML. The same block gives the same text."""
    level = _SMALLEST if len(block) < 1 << 20 else _QUICKER
    return base64.b64encode(gzip.compress(block, level, mtime=0)).decode("ascii")
