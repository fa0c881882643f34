"""A table with every kind of cell, packs of it, and packs with changed members."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tracekit.detect import open_source
from tracekit.model.columns import BINARIES, FRAMES, PROCESSES, THREADS
from tracekit.model.tables import Column, StackTable, Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.parsers.in_memory import InMemorySource
from tracekit.parsers.pack.format import MANIFEST
from tracekit.parsers.pack.pack_writer import write_pack

NESTED = (("narrative-text", "é \x00"), ("uint64", 2**64 - 1), ("label", (("string", None), ("uuid", ()))))
TABLE = Table(
    "time-profile",
    (
        Column("time", "Time", "sample-time", "int"),
        Column("id", "Id", "uint64", "int"),
        Column("both", "Both", "any", "int"),
        Column("share", "Share", "percent", "float"),
        Column("word", "Word", "string", "text"),
        Column("label", "Label", "formatted-label", "parts"),
        Column("list", "List", "pmc-events", "ints"),
        Column("thread", "Thread", "thread", "thread"),
        Column("process", "Process", "process", "process"),
        Column("stack", "Stack", "backtrace", "stack"),
    ),
    pd.DataFrame(
        {
            "time": pd.array([5, None, -3], dtype="Int64"),
            "id": pd.array([2**64 - 1, 0, None], dtype="UInt64"),
            "both": pd.Series([-1, pd.NA, 2**64 - 1], dtype=object),
            "share": np.array([0.5, np.nan, -1e300]),
            "word": pd.Categorical.from_codes([1, -1, 0], categories=pd.Index(["", "a/ü"], dtype="str")),
            "label": pd.Series([NESTED, None, ()], dtype=object),
            "list": pd.Series([(1, 2**64 - 1), None, ()], dtype=object),
            "thread": np.array([1, -1, 0], np.int32),
            "process": np.array([0, -1, 0], np.int32),
            "stack": np.array([1, -1, 0], np.int32),
        }
    ),
    pd.DataFrame([(31, "Main", 7, "App"), (-1, "", -1, "")], columns=list(THREADS.required)).astype(
        dict(THREADS.required)
    ),
    pd.DataFrame([(7, "App")], columns=list(PROCESSES.required)).astype(dict(PROCESSES.required)),
    StackTable(
        np.array([0, 2, 2], np.int64),
        np.array([1, 0], np.int32),
        pd.DataFrame(
            [("main", 0, 2**64 - 1, "m.c", 3, False), ("0x5", -1, 5, "", -1, True)],
            columns=list(FRAMES.required),
        ).astype(dict(FRAMES.required)),
        pd.DataFrame([("App", "/A", "U", "arm64", 2**63)], columns=list(BINARIES.required)).astype(
            dict(BINARIES.required)
        ),
    ),
    attributes={"target-pid": "SINGLE", "a": ""},
    core_types={9: "P", 0: "E"},
)
INFO = TraceInfo("X.trace", "trace-bundle", device="Mac", duration_ns=9, pid=7, process="App")
LOST = Issue("warning", "recording-issue", "3 events were lost", 3)


def in_memory(*tables: Table, **more: Any) -> InMemorySource:
    listed = tuple(TableInfo(t.schema, 1, number, t.attributes, len(t)) for number, t in enumerate(tables, 1))
    runs = (RunInfo(INFO, (*listed, TableInfo("unknown", 1, 9, row_count=None)), frozenset([7, 1])),)
    by_place: dict[tuple[int, str], tuple[Table, ...]] = {}
    for table in tables:
        by_place[1, table.schema] = (*by_place.get((1, table.schema), ()), table)
    fields: dict[str, Any] = {"contents": by_place, "issues_by_run": {1: (LOST,)}, **more}
    return InMemorySource("X.trace", "trace-bundle", True, runs, **fields)


def packed(folder: Path, source: InMemorySource, name: str = "X.tracekit.zip") -> str:
    (folder / name).write_bytes(write_pack(source, "0.1"))
    return str(folder / name)


def changed(path: str, *, manifest: Callable[[Any], Any] | None = None, **members: bytes | None) -> str:
    """Write a pack anew with another manifest or other members (None: without it); return its path."""
    with zipfile.ZipFile(path) as archive:
        content: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    content.update({name.replace("_", "/"): data for name, data in members.items()})
    if manifest is not None:
        document = json.loads(content[MANIFEST] or b"")
        content[MANIFEST] = json.dumps(manifest(document) or document).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            if data is not None:
                archive.writestr(name, data)
    Path(path).write_bytes(out.getvalue())
    return path


def assert_equal(actual: Table, expected: Table) -> None:
    assert (actual.schema, actual.run, actual.columns) == (expected.schema, expected.run, expected.columns)
    assert list(actual.attributes.items()) == list(expected.attributes.items())
    assert dict(actual.core_types) == dict(expected.core_types)
    pd.testing.assert_frame_equal(actual.rows, expected.rows)
    pd.testing.assert_frame_equal(actual.threads, expected.threads)
    pd.testing.assert_frame_equal(actual.processes, expected.processes)
    pd.testing.assert_frame_equal(actual.stacks.frames, expected.stacks.frames)
    pd.testing.assert_frame_equal(actual.stacks.binaries, expected.stacks.binaries)
    for name in ("offsets", "frame_ids"):
        np.testing.assert_array_equal(
            getattr(actual.stacks, name), getattr(expected.stacks, name), strict=True
        )


def read_all(path: str) -> list[Table]:
    source = open_source(path)
    return [t for run in source.toc() for t in _tables(source, run)]


def _tables(source: Any, run: RunInfo) -> list[Table]:
    schemas = dict.fromkeys(table.schema for table in run.tables)
    return [table for schema in schemas for table in source.tables(schema, run.info.run)]
