"""Composite cells of exports: elements in elements → tuples of (engineering type, value).

An element is written once and may be referenced again, also inside others:

    1  <a><x/></a>    2  <a>(1)(1)</a>    3  <a>(2)(2)</a>    …    n has 2^(n-1) leaves

Each is decoded once and its tuple is shared. Its leaves count at every reference, so that a cell
that is short in the file is short in memory, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracekit.parsers.xml.value_store import DamagedCellError, ValueForm, ValueStore

MAX_DEPTH = 32
MAX_LEAVES = 10_000
MAX_LEAVES_OF_A_COLUMN = 20_000_000
"""Real cells have some tens of leaves and are three deep."""

Parts = tuple[tuple[str, Any], ...]


class _Decoded(NamedTuple):
    """An element's value, and the leaves and levels in it."""

    value: Any
    leaves: int
    depth: int


class CompositeCells:
    """Decodes the composite cells of one column. Raises ``DamagedCellError`` for cells beyond the limits."""

    def __init__(self, store: ValueStore) -> None:
        self._store = store
        self._decoded: dict[int, _Decoded] = {}
        self._leaves = 0

    def decode(self, slot: int) -> Parts:
        """Return a composite cell as (engineering type, value) pairs, nested composites as nested tuples."""
        decoded = self._decode_once(slot, 0)
        self._leaves += decoded.leaves
        if self._leaves > MAX_LEAVES_OF_A_COLUMN:
            raise DamagedCellError(slot, "the composite values of a column are longer than any recording's")
        parts: Parts = decoded.value
        return parts

    def _decode_once(self, slot: int, depth: int) -> _Decoded:
        if slot not in self._decoded:
            if depth > MAX_DEPTH:
                raise DamagedCellError(slot, "a composite value is nested deeper than any recording's")
            self._decoded[slot] = self._decode_element(slot, depth)
        return self._decoded[slot]

    def _decode_element(self, slot: int, depth: int) -> _Decoded:
        store = self._store
        children = store.list_child_slots(slot)
        if not children:
            text = store.get_text(slot)
            return _Decoded(((store.tags[store.tag[slot]], text),) if text else (), 1, 0)
        parts = [self._decode_part(child, depth) for child in children]
        leaves = sum(part.leaves for part in parts)
        levels = 1 + max(part.depth for part in parts)
        if levels > MAX_DEPTH:
            raise DamagedCellError(slot, "a composite value is nested deeper than any recording's")
        if leaves > MAX_LEAVES:
            raise DamagedCellError(slot, "a composite value is longer than any recording's")
        tags = (store.tags[store.tag[child]] for child in children)
        return _Decoded(tuple(zip(tags, (part.value for part in parts), strict=True)), leaves, levels)

    def _decode_part(self, slot: int, depth: int) -> _Decoded:
        store = self._store
        tag, form = store.tags[store.tag[slot]], store.form[slot]
        if slot == 0:
            return _Decoded(None, 1, 0)
        if tag in ("thread", "process"):
            return _Decoded(store.get_fmt(slot), 1, 0)
        if tag == "frame":
            return _Decoded(_decode_frame(store, slot), 1, 0)
        if form == ValueForm.CHILDREN:
            return self._decode_once(slot, depth + 1)
        return _Decoded(
            store.get_number(slot) if form in (ValueForm.INT, ValueForm.NEGATIVE) else store.get_text(slot),
            1,
            0,
        )


def _decode_frame(store: ValueStore, slot: int) -> tuple[tuple[str, Any], ...]:
    frames = store.frames
    # int32, as the columns: to search them for another type, numpy would copy them.
    row = int(np.searchsorted(frames.slot, np.int32(slot)))
    name, address, binary = store.strings[frames.name[row]], int(frames.address[row]), frames.binary[row]
    if not binary:
        return (("symbol", name), ("address", address))
    image = int(store.binaries.name[np.searchsorted(store.binaries.slot, binary)])
    return (("symbol", name), ("address", address), ("binary", store.strings[image]))
