"""Composite cells (labels, log messages, locations) as text."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

_UUID_HALVES = 2
PRIVATE = "<private>"
"""A part that the system withholds from logs; exports have the number 0 in its place."""
_HEX_TYPES = frozenset({"uint64-hex-lowercase", "metal-command-buffer-id", "address"})


def format_parts(parts: Sequence[tuple[str, Any]]) -> str:
    """Return a composite cell as text: its pieces in order, addresses in hexadecimal.

    The two halves of a UUID are one UUID; a location is ``<UUID of the binary> + 0x<offset>``, as in exports.
    """
    halves = [value for kind, value in parts if kind == "eight-byte-array" and _is_word(value)]
    if len(parts) == len(halves) == _UUID_HALVES:
        return str(uuid.UUID(int=(halves[0] << 64) | halves[1])).upper()
    pieces = [""]
    for kind, value in parts:
        piece = _format_part(kind, value)
        # Some labels contain the prefix already: "MPSGraph:0x" and a number (Xcode 16.4).
        has_prefix = kind in _HEX_TYPES and pieces[-1].endswith("0x")
        pieces.append(piece.removeprefix("0x") if has_prefix else piece)
    return "".join(pieces)


def _is_word(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 2**64


def _format_part(kind: str, value: Any) -> str:
    if kind == "private":
        return PRIVATE
    if value is None:
        return ""
    if kind == "mach-o-vm-offset" and _is_word(value):
        return f" + 0x{value:x}"
    if kind == "frame":
        return f"{value[0][1]} "
    if isinstance(value, tuple):
        return format_parts(value)
    return f"0x{value:x}" if kind in _HEX_TYPES and isinstance(value, int) else str(value)
