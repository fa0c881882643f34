"""What a pack is made of, and how much of it is read at most; docs/formats.md describes it for others.

Columns are plain arrays and JSON, and no Parquet: what an array unpacks to is known before it is read,
whereas a Parquet file of few bytes may spell any number of rows and strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracekit.errors import TracekitError

MANIFEST = "tracekit-pack.json"
"""The first member; by its name a pack is recognised."""
FORMAT = "tracekit-pack"
VERSION = 1

SIZES = {"int64": 8, "uint64": 8, "int32": 4, "uint8": 1, "float64": 8}
"""The types of arrays, with the bytes of one value."""

MOST_MEMBERS = 200_000
MOST_MANIFEST_BYTES = 16 << 20
MOST_ROWS = 2**31 - 1
MOST_DEPTH = 32
"""Of composite values inside one another."""

# As for bundles (bundle/inflate.py): of rows, and of text, which takes far more memory than bytes.
_ARRAYS_RATIO, _ARRAYS_SLACK_BYTES = 256, 256 << 20
_TEXTS_RATIO, _TEXTS_SLACK_BYTES = 64, 16 << 20


class DamagedPackError(ValueError):
    """A member of a pack is missing, cut off, or not what the manifest promises."""

    def __init__(self, member: str, problem: str) -> None:
        self.problem = f"{member} {problem}" if member else problem
        super().__init__(self.problem)


@dataclass(frozen=True)
class Declared:
    """How many bytes everything that a manifest refers to unpacks to, counted once per reference."""

    arrays_bytes: int
    texts_bytes: int

    def fits(self, pack_bytes: int) -> bool:
        """Return whether a pack of that size may hold as much."""
        return (
            self.arrays_bytes <= _ARRAYS_SLACK_BYTES + _ARRAYS_RATIO * pack_bytes
            and self.texts_bytes <= _TEXTS_SLACK_BYTES + _TEXTS_RATIO * pack_bytes
        )


def most_text_bytes(pack_bytes: int) -> int:
    """Return how much text a column may spell: each text is stored once and may stand in many rows."""
    return _ARRAYS_SLACK_BYTES + _ARRAYS_RATIO * pack_bytes


def declared(manifest: Any) -> Declared:
    """Return what the references in a manifest add up to; whatever is no reference counts nothing."""
    arrays = texts = 0
    waiting = [manifest]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
            count, size = one.get("count"), one.get("bytes")
            if isinstance(one.get("type"), str) and isinstance(count, int):
                arrays += max(count, 0) * SIZES.get(one["type"], 8)
            elif isinstance(size, int):
                texts += max(size, 0)
        elif isinstance(one, list):
            waiting += one
    return Declared(arrays, texts)


def require_writable(manifest: Any, pack_bytes: int) -> None:
    """Raise ``TracekitError`` for a pack that its reader would refuse."""
    if not declared(manifest).fits(pack_bytes):
        raise TracekitError(
            "The tables repeat themselves so much that a pack of them could not be told from a bomb."
        )
