"""A recording in memory → the bytes of a pack: the same bytes for the same tables."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import TracekitError
from tracekit.model.columns import BINARIES, FRAMES, PROCESSES, THREADS, Columns
from tracekit.model.tables import Column, StackTable, Table, TableInfo
from tracekit.model.trace import RunInfo
from tracekit.parsers.in_memory import InMemorySource
from tracekit.parsers.pack.format import FORMAT, MANIFEST, VERSION, require_writable

Json: TypeAlias = dict[str, Any]
Array: TypeAlias = npt.NDArray[Any]

_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_TRIAL_VALUE_COUNT = 1 << 16


def write_pack(source: InMemorySource, version: str) -> bytes:
    """Return the pack of a recording without hiding or redacting anything; ``version`` is tracekit's."""
    members = MemberWriter()
    encoder = TableEncoder(members)
    runs = [_describe_run(source, run, encoder) for run in source.runs]
    manifest: Json = {
        "format": f"{FORMAT}/{VERSION}",
        "tracekit": version,
        "source": source.origin,
        "has_toc": source.has_toc,
        "redacted": any(issue.code == "redacted" for issue in source.issues()),
        "runs": runs,
        **encoder.shared,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps(manifest, ensure_ascii=False, indent=1)
        for name, data in {MANIFEST: text.encode("utf-8", "replace"), **members.data}.items():
            # No time, and the same system and rights everywhere: equal tables give equal bytes.
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    require_writable(manifest, len(out.getvalue()))
    return out.getvalue()


def _describe_run(source: InMemorySource, run: RunInfo, encoder: TableEncoder) -> Json:
    number = run.info.run
    info = {name: value for name, value in asdict(run.info).items() if name not in ("name", "kind", "run")}
    return {
        "run": number,
        "info": info,
        "pids": sorted(run.pids),
        "process_names": sorted(run.process_names),
        "issues": [asdict(issue) for issue in source.issues_by_run.get(number, ())],
        "contents": [_describe_table_info(table) for table in run.tables],
        "unreadable": [
            {"schema": schema, **asdict(reason)}
            for (table_run, schema), reason in source.unreadable.items()
            if table_run == number
        ],
        "tables": [
            encoder.table(table)
            for (table_run, _), tables in source.contents.items()
            if table_run == number
            for table in tables
        ],
    }


def _describe_table_info(table: TableInfo) -> Json:
    return {
        "schema": table.schema,
        "index": table.index,
        "attributes": dict(table.attributes),
        "row_count": table.row_count,
        "location": table.location,
    }


class MemberWriter:
    """Collects the members of a pack, in the order in which they were added; equal ones are stored once."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}

    def array(self, values: Array) -> Json:
        """Add an array; return the reference to it.

        Its bytes are stored plane by plane, the lowest ones first, and as differences where that is smaller:
        times and ids then compress to a fraction.
        """
        values = values.astype(np.uint8) if values.dtype == np.bool_ else values
        differences = _compute_differences(values) if values.dtype.kind in "iu" else None
        delta = differences is not None and _measure_trial_size(differences) < _measure_trial_size(values)
        reference: Json = {"type": str(values.dtype), "count": len(values)}
        if delta:
            reference["delta"] = True
        return {"member": self._add_member(_split_planes(differences if delta else values)), **reference}

    def json(self, value: Any) -> Json:
        """Add a value as JSON; return the reference to it."""
        # A lone surrogate cannot be encoded. No parser returns one; it becomes a question mark.
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        return {"member": self._add_member(data), "bytes": len(data)}

    def _add_member(self, data: bytes) -> str:
        digest = hashlib.sha256(data).digest()
        name = self._names.setdefault(digest, f"data/{len(self._names)}")
        self.data.setdefault(name, data)
        return name


def _compute_differences(values: Array) -> Array:
    """Return the difference of each value from the one before it, modulo its width."""
    words = values.view(f"u{values.dtype.itemsize}")
    return np.diff(words, prepend=words.dtype.type(0)).view(values.dtype)


def _measure_trial_size(values: Array) -> int:
    """Return the compressed size of the first values, to compare two ways of storing them."""
    return len(zlib.compress(_split_planes(values[:_TRIAL_VALUE_COUNT]), 1))


def _split_planes(values: Array | None) -> bytes:
    """Return all lowest bytes of the values, then all second bytes, and so on."""
    assert values is not None
    data = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return data.view(np.uint8).reshape(len(values), values.dtype.itemsize).T.tobytes()


class TableEncoder:
    """Describes tables; their threads, processes and stacks are listed once each and shared."""

    def __init__(self, members: MemberWriter) -> None:
        self._members = members
        self.shared: dict[str, list[Json]] = {"threads": [], "processes": [], "stacks": []}
        self._shared_numbers: dict[str, int] = {}

    def table(self, table: Table) -> Json:
        """Return the manifest's description of a table."""
        return {
            "schema": table.schema,
            "attributes": dict(table.attributes),
            "rows": len(table),
            "cores": [{"core": core, "type": kind} for core, kind in table.core_types.items()],
            "threads": self._add_shared("threads", self._describe_frame(table.threads, THREADS)),
            "processes": self._add_shared("processes", self._describe_frame(table.processes, PROCESSES)),
            "stacks": self._add_shared("stacks", self._describe_stacks(table.stacks)),
            "columns": [self._describe_column(table, column) for column in table.columns],
        }

    def _add_shared(self, kind: str, description: Json) -> int:
        """Return the description's number in the list ``kind``, to which a new one is added."""
        entries = self.shared[kind]
        number = self._shared_numbers.setdefault(f"{kind} {json.dumps(description)}", len(entries))
        if number == len(entries):
            entries.append(description)
        return number

    def _describe_stacks(self, stacks: StackTable) -> Json:
        return {
            "offsets": self._members.array(stacks.offsets),
            "frame_ids": self._members.array(stacks.frame_ids),
            "frames": self._describe_frame(stacks.frames, FRAMES),
            "binaries": self._describe_frame(stacks.binaries, BINARIES),
        }

    def _describe_frame(self, frame: pd.DataFrame, columns: Columns) -> Json:
        description: Json = {}
        for name, dtype in columns.required.items():
            if dtype == "category":
                categories = pd.Categorical(frame[name])
                description[name] = self._add_words(categories.codes, categories.categories)
            elif dtype == "str":
                description[name] = self._add_words(*pd.factorize(frame[name]))
            else:
                description[name] = {"values": self._members.array(frame[name].to_numpy())}
        return description

    def _add_words(self, codes: Array, words: pd.Index[Any]) -> Json:
        return {
            "codes": self._members.array(np.asarray(codes, np.int32)),
            "words": self._members.json(words.tolist()),
        }

    def _describe_column(self, table: Table, column: Column) -> Json:
        return {
            "mnemonic": column.mnemonic,
            "title": column.title,
            "type_name": column.engineering_type,
            "kind": column.kind,
            **self._add_cells(table.rows[column.mnemonic], column),
        }

    def _add_cells(self, cells: pd.Series[Any], column: Column) -> Json:
        dtype = str(cells.dtype)
        if dtype == "category":
            return self._add_words(cells.cat.codes.to_numpy(), cells.cat.categories)
        if dtype == "object":
            codes, distinct = _find_distinct(cells.tolist())
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


def _find_distinct(cells: list[Any]) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """Return each cell's number among the distinct values, -1 for null, and these values."""
    # Equal cells are mostly one object: hashing each object once, by its id, spares hashing every cell.
    numbers, ids = pd.factorize(np.fromiter(map(id, cells), np.int64, len(cells)))
    # Assigned from back to front, so that the first cell with each object wins.
    first_cells = np.zeros(len(ids), np.int64)
    first_cells[numbers[::-1]] = np.arange(len(cells))[::-1]
    codes: dict[Any, int] = {}
    objects = [cells[position] for position in first_cells.tolist()]
    code_of_object = [
        -1 if value is None or value is pd.NA else codes.setdefault(value, len(codes)) for value in objects
    ]
    return np.array(code_of_object, np.int32)[numbers], list(codes)
