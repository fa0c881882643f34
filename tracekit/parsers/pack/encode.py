"""Tables → a pack's members and the manifest's words about them. Equal arrays are stored once."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import TracekitError
from tracekit.model.columns import BINARIES, FRAMES, PROCESSES, THREADS, Columns
from tracekit.model.tables import Column, StackTable, Table

Json: TypeAlias = dict[str, Any]
Array: TypeAlias = npt.NDArray[Any]

_TRIED_VALUES = 1 << 16


class Members:
    """The members of a pack, in the order in which they were added."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}

    def array(self, values: Array) -> Json:
        """Add an array; return the reference to it.

        Its bytes are stored plane by plane, the lowest ones first, and as differences where that is smaller:
        times and ids then compress to a fraction.
        """
        values = values.astype(np.uint8) if values.dtype == np.bool_ else values
        differences = _differences(values) if values.dtype.kind in "iu" else None
        delta = differences is not None and _tried(differences) < _tried(values)
        reference: Json = {"type": str(values.dtype), "count": len(values)}
        if delta:
            reference["delta"] = True
        return {"member": self._add(_planes(differences if delta else values)), **reference}

    def json(self, value: Any) -> Json:
        """Add a value as JSON; return the reference to it."""
        # A lone half of a character is no text: no parser gives one.
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        return {"member": self._add(data), "bytes": len(data)}

    def _add(self, data: bytes) -> str:
        digest = hashlib.sha256(data).digest()
        name = self._names.setdefault(digest, f"data/{len(self._names)}")
        self.data.setdefault(name, data)
        return name


def _differences(values: Array) -> Array:
    """Return each value less the one before it, wrapping round."""
    words = values.view(f"u{values.dtype.itemsize}")
    return np.diff(words, prepend=words.dtype.type(0)).view(values.dtype)


def _tried(values: Array) -> int:
    return len(zlib.compress(_planes(values[:_TRIED_VALUES]), 1))


def _planes(values: Array | None) -> bytes:
    assert values is not None
    data = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return data.view(np.uint8).reshape(len(values), values.dtype.itemsize).T.tobytes()


class TableEncoder:
    """Describes tables; their threads, processes and stacks are listed once each and shared."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self.shared: dict[str, list[Json]] = {"threads": [], "processes": [], "stacks": []}
        self._known: dict[str, int] = {}

    def table(self, table: Table) -> Json:
        """Return the manifest's words about a table."""
        return {
            "schema": table.schema,
            "attributes": dict(table.attributes),
            "rows": len(table),
            "cores": [{"core": core, "type": kind} for core, kind in table.core_types.items()],
            "threads": self._share("threads", self._frame(table.threads, THREADS)),
            "processes": self._share("processes", self._frame(table.processes, PROCESSES)),
            "stacks": self._share("stacks", self._stacks(table.stacks)),
            "columns": [self._column(table, column) for column in table.columns],
        }

    def _share(self, what: str, described: Json) -> int:
        listed = self.shared[what]
        at = self._known.setdefault(f"{what} {json.dumps(described)}", len(listed))
        if at == len(listed):
            listed.append(described)
        return at

    def _stacks(self, stacks: StackTable) -> Json:
        return {
            "offsets": self._members.array(stacks.offsets),
            "frame_ids": self._members.array(stacks.frame_ids),
            "frames": self._frame(stacks.frames, FRAMES),
            "binaries": self._frame(stacks.binaries, BINARIES),
        }

    def _frame(self, frame: pd.DataFrame, columns: Columns) -> Json:
        described: Json = {}
        for name, dtype in columns.required.items():
            if dtype == "category":
                named = pd.Categorical(frame[name])
                described[name] = self._words(named.codes, named.categories)
            elif dtype == "str":
                described[name] = self._words(*pd.factorize(frame[name]))
            else:
                described[name] = {"values": self._members.array(frame[name].to_numpy())}
        return described

    def _words(self, codes: Array, words: pd.Index[Any]) -> Json:
        return {
            "codes": self._members.array(np.asarray(codes, np.int32)),
            "words": self._members.json(words.tolist()),
        }

    def _column(self, table: Table, column: Column) -> Json:
        cells = table.rows[column.mnemonic]
        named = {"mnemonic": column.mnemonic, "title": column.title}
        return {
            **named,
            "type_name": column.engineering_type,
            "kind": column.kind,
            **self._cells(cells, column),
        }

    def _cells(self, cells: pd.Series[Any], column: Column) -> Json:
        dtype = str(cells.dtype)
        if dtype == "category":
            return self._words(cells.cat.codes.to_numpy(), cells.cat.categories)
        if dtype == "object":
            codes, distinct = _distinct(cells.tolist())
            return {"codes": self._members.array(codes), "cells": self._members.json(distinct)}
        if dtype in ("Int64", "UInt64"):
            missing = cells.isna().to_numpy(np.bool_)
            stored = {"values": self._members.array(cells.fillna(0).to_numpy(dtype.lower()))}
            return {**stored, "missing": self._members.array(missing)} if missing.any() else stored
        if dtype in ("float64", "int32"):
            return {"values": self._members.array(cells.to_numpy())}
        raise TracekitError(
            f"'{column.mnemonic}' has cells of type {dtype}. This is a defect of tracekit: please report it."
        )


def _distinct(cells: list[Any]) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """Return the distinct values and each cell's place among them, -1 for null; looks at each object once."""
    numbers, distinct = pd.factorize(np.fromiter(map(id, cells), np.int64, len(cells)))
    firsts = np.zeros(len(distinct), np.int64)
    firsts[numbers[::-1]] = np.arange(len(cells))[::-1]
    known: dict[Any, int] = {}
    objects = [cells[at] for at in firsts.tolist()]
    places = [-1 if one is None or one is pd.NA else known.setdefault(one, len(known)) for one in objects]
    return np.array(places, np.int32)[numbers], list(known)
