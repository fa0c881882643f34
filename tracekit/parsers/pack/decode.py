"""A pack's members → tables; every reference is checked."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import BINARIES, FRAMES, PROCESSES, THREADS, Columns, categorical, texts_at
from tracekit.model.tables import Column, ColumnKind, CoreType, StackTable, Table
from tracekit.parsers.pack.layout import MANIFEST, MOST_DEPTH, MOST_ROWS, DamagedPackError
from tracekit.parsers.pack.members import Array, PackMembers
from tracekit.parsers.pack.shape import Node

Rows = npt.NDArray[np.int32]

_ENTITIES = ("thread", "process", "stack")
_DTYPES = {"int": ("int64", "uint64"), "float": ("float64",)}


class TableDecoder:
    """Decodes a pack's tables; what they share is decoded once. Raises ``DamagedPackError``."""

    def __init__(self, members: PackMembers) -> None:
        self._members = members
        self._frames: dict[str, pd.DataFrame] = {}
        self._stacks: dict[str, StackTable] = {}

    @cached_property
    def _shared(self) -> dict[str, list[Node]]:
        manifest = self._members.manifest
        return {what: manifest.nodes(what) for what in ("threads", "processes", "stacks")}

    def table(self, node: Node, run: int) -> Table:
        """Return the table that the manifest describes there."""
        threads = self._entities(node, "threads", THREADS)
        processes = self._entities(node, "processes", PROCESSES)
        stacks = self._stacks_of(node)
        held = {"thread": len(threads), "process": len(processes), "stack": len(stacks)}
        rows = node.whole("rows", MOST_ROWS)
        columns: list[Column] = []
        data: dict[str, Any] = {}
        for one in node.nodes("columns"):
            column = Column(
                one.text("mnemonic"),
                one.text("title"),
                one.text("type_name"),
                cast(ColumnKind, one.text("kind")),
            )
            if column.kind not in get_args(ColumnKind) or column.mnemonic in data:
                raise DamagedPackError(MANIFEST, f"has a column of no known kind, or twice, at {one.place}")
            columns.append(column)
            data[column.mnemonic] = cells = self._cells(one, column.kind, held)
            if len(cells) != rows:
                raise DamagedPackError(MANIFEST, f"has {len(cells)} cells for {rows} rows at {one.place}")
        return Table(
            node.text("schema"),
            tuple(columns),
            pd.DataFrame(data, index=pd.RangeIndex(rows)),
            threads,
            processes,
            stacks,
            run,
            node.texts("attributes"),
            {one.whole("core"): _core_type(one) for one in node.nodes("cores")},
        )

    def _cells(self, node: Node, kind: ColumnKind, held: dict[str, int]) -> Any:
        if kind in _ENTITIES:
            return self._ids(node.node("values"), held[kind], node)
        if kind == "text":
            codes, words = self._words(node)
            if len(set(words)) < len(words):
                raise DamagedPackError(MANIFEST, f"has a word twice at {node.place}")
            return categorical(codes, words)
        if "cells" in node:
            return self._composite(node, kind)
        if kind not in _DTYPES:
            raise DamagedPackError(MANIFEST, f"has no cells at {node.place}")
        values = self._members.array(node.node("values"), *_DTYPES[kind])
        return values if kind == "float" else pd.arrays.IntegerArray(values, self._missing(node, len(values)))

    def _missing(self, node: Node, count: int) -> npt.NDArray[np.bool_]:
        if "missing" not in node:
            return np.zeros(count, np.bool_)
        missing = self._members.array(node.node("missing"), "uint8")
        if len(missing) != count or (missing > 1).any():
            raise DamagedPackError(MANIFEST, f"says wrongly which cells are missing at {node.place}")
        return missing.astype(np.bool_)

    def _composite(self, node: Node, kind: ColumnKind) -> pd.Series[Any]:
        stored = self._members.json(node.node("cells"))
        rows = node.node("codes").whole("count", MOST_ROWS)
        if not isinstance(stored, list) or len(stored) > rows:  # each is some row's
            _wrong(node)
        values = [_value(one, kind, node) for one in stored]
        held = np.empty(len(values) + 1, dtype=object)
        held[:-1] = values
        held[-1] = pd.NA if kind == "int" else None
        return pd.Series(held[self._ids(node.node("codes"), len(values), node)], dtype=object)

    def _ids(self, reference: Node, count: int, node: Node) -> Rows:
        """Return numbers from -1 to less than ``count``."""
        ids: Rows = self._members.array(reference, "int32")
        if len(ids) and (ids.min() < -1 or ids.max() >= count):
            raise DamagedPackError(reference.text("member"), f"refers to what is not there ({node.place})")
        return ids

    def _words(self, node: Node) -> tuple[Rows, list[str]]:
        words = self._members.json(node.node("words"))
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            _wrong(node)
        return self._ids(node.node("codes"), len(words), node), words

    def _entities(self, node: Node, what: str, columns: Columns) -> pd.DataFrame:
        place = self._place(node, what)
        if place.place not in self._frames:
            self._frames[place.place] = self._frame(place, columns)
        return self._frames[place.place]

    def _place(self, node: Node, what: str) -> Node:
        at, listed = node.whole(what), self._shared[what]
        if at >= len(listed):
            raise DamagedPackError(MANIFEST, f"lists no {what} {at}, to which {node.place} refers")
        return listed[at]

    def _frame(self, node: Node, columns: Columns) -> pd.DataFrame:
        data = {name: self._values(node.node(name), dtype) for name, dtype in columns.required.items()}
        if len({len(values) for values in data.values()}) > 1:
            raise DamagedPackError(MANIFEST, f"has columns of different lengths at {node.place}")
        return columns.check(pd.DataFrame(data), node.place)

    def _numbers(self, node: Node, dtype: str) -> Array:
        values = self._members.array(node.node("values"), "uint8" if dtype == "bool" else dtype)
        return values.astype(dtype)

    def _values(self, node: Node, dtype: str) -> Any:
        if dtype not in ("str", "category"):
            return self._numbers(node, dtype)
        codes, words = self._words(node)
        if (codes < 0).any():
            _wrong(node)
        if dtype == "category":
            return texts_at(codes, words)
        lengths = np.array([len(word) for word in words], np.int64)
        self._members.require_short(int(lengths[codes].sum()), node)
        return pd.array(words, dtype="str").take(codes) if words else pd.array([], dtype="str")

    def _stacks_of(self, node: Node) -> StackTable:
        place = self._place(node, "stacks")
        if place.place not in self._stacks:
            self._stacks[place.place] = self._read_stacks(place)
        return self._stacks[place.place]

    def _read_stacks(self, node: Node) -> StackTable:
        frames = self._frame(node.node("frames"), FRAMES)
        binaries = self._frame(node.node("binaries"), BINARIES)
        offsets = self._members.array(node.node("offsets"), "int64")
        frame_ids = self._members.array(node.node("frame_ids"), "int32")
        whole = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(frame_ids)
        if not whole or (offsets[1:] < offsets[:-1]).any():
            raise DamagedPackError(MANIFEST, f"has stacks that do not follow one another at {node.place}")
        for ids, least, count in ((frame_ids, 0, len(frames)), (frames["binary_id"], -1, len(binaries))):
            if len(ids) and (ids.min() < least or ids.max() >= count):
                raise DamagedPackError(
                    MANIFEST, f"has stacks of frames or binaries that are not there at {node.place}"
                )
        return StackTable(offsets, frame_ids, frames, binaries)


def _core_type(node: Node) -> CoreType:
    return cast(CoreType, node.text("type")) if node.text("type") in get_args(CoreType) else _wrong(node)


def _value(stored: Any, kind: ColumnKind, node: Node) -> Any:
    if kind == "int":
        return stored if _is_whole(stored) else _wrong(node)
    if not isinstance(stored, list):
        return _wrong(node)
    if kind == "ints":
        return tuple(stored) if all(map(_is_whole, stored)) else _wrong(node)
    return _parts(stored, node, 0) if kind == "parts" else _wrong(node)


def _parts(stored: list[Any], node: Node, depth: int) -> tuple[tuple[str, Any], ...]:
    return tuple(_part(one, node, depth) for one in stored) if depth < MOST_DEPTH else _wrong(node)


def _part(stored: Any, node: Node, depth: int) -> tuple[str, Any]:
    if not isinstance(stored, list) or len(stored) != 2 or not isinstance(stored[0], str):
        _wrong(node)
    name, value = stored
    if isinstance(value, list):
        return name, _parts(value, node, depth + 1)
    if not (value is None or isinstance(value, str) or _is_whole(value)):
        _wrong(node)
    return name, value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64


def _wrong(node: Node) -> Any:
    raise DamagedPackError(MANIFEST, f"refers at {node.place} to what cannot stand there")
