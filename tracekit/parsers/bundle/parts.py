"""Composite cells (log messages, narratives, labels): typed lists → tuples of (tag, value)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tracekit.model.columns import IntArray
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.types import Form, form_of
from tracekit.parsers.bundle.uniquer import NO_VALUE_32, NO_VALUE_64
from tracekit.parsers.bundle.uniquing import Uniquing

Parts: TypeAlias = "tuple[tuple[str, Any], ...]"

_MOST_DEPTH = 16
_MOST_LEAVES = 20_000
"""Of one cell with all that is nested in it: nested lists are shared, so few bytes could spell many."""

_FIXED_ZERO = 2**63 - 1
_FIXED_UNIT = 1e9


def fixed_point(raw: int) -> float:
    """Return the value of a fixed-point number."""
    return (raw - _FIXED_ZERO) / _FIXED_UNIT


class PartsReader:
    """Reads composite cells of one run; ``tag_of`` names types, ``doubt`` is told of unconfirmed ones."""

    def __init__(
        self,
        uniquing: Uniquing,
        entities: Entities,
        tag_of: Callable[[str], str],
        doubt: Callable[[str, bool], None],
    ) -> None:
        self._uniquing = uniquing
        self._entities = entities
        self._tag_of = tag_of
        self._doubt = doubt
        self._known: dict[int, tuple[Parts, int]] = {}
        self._lists: dict[int, tuple[int, ...]] = {}

    def read(self, ref: int) -> Parts:
        """Return one cell's parts; raise ``DamagedFileError`` for what no recording holds."""
        return self._read(ref, 0)[0]

    def prepare(self, refs: IntArray) -> None:
        """Fetch the lists of many cells at once: one by one takes most of the time."""
        wanted = refs[refs < len(self._uniquing.typed_lists)]
        lists = self._uniquing.typed_lists.tuples(wanted)
        self._lists = dict(zip(wanted.tolist(), lists, strict=True))

    def location(self, value: int) -> Parts:
        """Return a return location's parts: the binary's UUID, and the offset in it."""
        return (("uuid", self.uuid(value >> 32)), ("mach-o-vm-offset", value & 0xFFFF_FFFF))

    def uuid(self, ref: int) -> Parts:
        """Return the two halves of a UUID, each a number whose big-endian bytes are the UUID's."""
        return tuple(("eight-byte-array", half) for half in self._uniquing.lists.one(ref))

    def _read(self, ref: int, depth: int) -> tuple[Parts, int]:
        """Return the parts, and how many leaves they have with all that is nested in them."""
        if ref not in self._known:
            lists = self._uniquing.typed_lists
            if depth > _MOST_DEPTH:
                raise DamagedFileError(lists.file, "has a composite value nested deeper than any recording's")
            values = self._lists[ref] if ref in self._lists else lists.one(ref)
            if len(values) % 2:
                raise DamagedFileError(lists.file, "has a composite value without a type")
            pairs = [
                self._part(kind, value, depth) for kind, value in zip(values[::2], values[1::2], strict=True)
            ]
            leaves = sum(count for _, _, count in pairs)
            if leaves > _MOST_LEAVES:
                raise DamagedFileError(lists.file, "has a composite value longer than any recording's")
            self._known[ref] = tuple((tag, value) for tag, value, _ in pairs), leaves
        return self._known[ref]

    def _part(self, kind: int, value: int, depth: int) -> tuple[str, Any, int]:
        type_ids = self._uniquing.type_ids
        if kind >= len(type_ids):
            raise DamagedFileError(
                self._uniquing.typed_lists.file, f"refers to a type {kind} that is not listed"
            )
        tag = self._tag_of(type_ids[kind])
        form, confirmed = form_of(type_ids[kind], tag)
        if not confirmed:
            self._doubt(type_ids[kind], form is not Form.UNKNOWN)
        if form in (Form.PARTS, Form.ANY):
            if value in (NO_VALUE_32, NO_VALUE_64):
                return tag, None, 1
            parts, leaves = self._read(value, depth + 1)
            return tag, parts, leaves + 1
        return tag, self._scalar(form, value), 1

    def _scalar(self, form: Form, value: int) -> Any:
        if value == NO_VALUE_64:
            return None
        if form is Form.TEXT:
            return self._uniquing.string(value) if value != NO_VALUE_32 else None
        if form is Form.FIXED:
            return str(fixed_point(value))
        if form is Form.PROCESS:
            pid, name = self._entities.process(value)
            return f"{name} ({pid})"
        if form is Form.THREAD:
            tid, name, pid, process = self._entities.thread(value)
            return f"{name} 0x{tid:x} ({process}, pid: {pid})"
        if form is Form.UUID:
            return self.uuid(value)
        if form is Form.LOCATION:
            return self.location(value)
        return value
