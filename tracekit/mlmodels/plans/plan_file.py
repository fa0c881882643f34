"""A file that may be a plan: its beginning, its text or its JSON, each read once and within bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tracekit.mlmodels.protobuf_wire import DamagedModelError

HEAD_BYTES = 1 << 20
"""The beginning of a file by which its kind is recognised."""
_MAX_TEXT_BYTES = 256 << 20
_MAX_JSON_BYTES = 64 << 20
_MAX_JSON_MARKS = 5_000_000
"""Brackets, commas and colons: each is a value of some 80 bytes, however short its text is."""
_MAX_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class PlanFile:
    """A file by its path; what is read of it is kept as long as this object."""

    path: Path

    @cached_property
    def head(self) -> bytes:
        """The first bytes."""
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def head_text(self) -> str:
        """The first bytes as text."""
        return self.head.decode("utf-8", "replace").lstrip("\ufeff")

    @cached_property
    def document(self) -> Any:
        """The JSON value of the file; None for a file that is no JSON, or too large to be read as such."""
        if not self.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            return None
        if self.path.stat().st_size > _MAX_JSON_BYTES:
            return None
        data = self.path.read_bytes()
        if sum(data.count(mark) for mark in (b"{", b"[", b",", b":")) > _MAX_JSON_MARKS:
            return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None

    def iter_lines(self) -> Iterator[bytes]:
        """Yield the lines with their ends; one that is longer than a piece comes in several."""
        with self.path.open("rb") as file:
            while piece := file.readline(_MAX_PIECE_BYTES):
                yield piece

    def read_text(self) -> str:
        """Return the whole text. Raises ``DamagedModelError`` where it is too large."""
        size = self.path.stat().st_size
        if size > _MAX_TEXT_BYTES:
            raise DamagedModelError(f"has {size:,} bytes; at most {_MAX_TEXT_BYTES:,} are read")
        return self.path.read_bytes().decode("utf-8", "replace").lstrip("\ufeff")
