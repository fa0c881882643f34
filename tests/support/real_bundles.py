"""Real ``.trace`` bundles, opened once, and their tables as plain cells."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
from documents_support import SHARED

from tracekit.detect import open_source
from tracekit.model.tables import Column, Table
from tracekit.model.trace import RunInfo
from tracekit.parsers.source import Source

BUNDLES = SHARED / "traces" / "bundles"
UNIPROF = "shadi-gamal__uniprof/test-simple.trace.zip"
FINDER = "robtaylor__apple-profiler/finder.trace.zip"
SIGNPOST = "robtaylor__apple-profiler/signpost.trace.zip"
WEBKIT = "mstyura__webkit-profiler-data/00-one-video.tar.gz"
UNFINISHED = "OSzhou__XCTraceParser/yuan_whole_class.trace.tar.gz"
RUNS = [(UNIPROF, 1), (FINDER, 1), (SIGNPOST, 1), (WEBKIT, 1), (WEBKIT, 2), (UNFINISHED, 1)]
ROWS = {
    (UNIPROF, 1): (40, 8730),
    (FINDER, 1): (19, 5917),
    (SIGNPOST, 1): (9, 30653),
    (WEBKIT, 1): (36, 47503),
    (WEBKIT, 2): (36, 12183),
    (UNFINISHED, 1): (13, 197908),
}
"""Tables, and rows of all of them together."""

ALL_ONES = 2**64 - 1
PLAIN_NUMBERS = ("uint64", "address", "vnode", "kdebug-arg")
"""Types for which exports show 2^64-1 as a number: see ``test_all_ones_are_a_number``."""
TEXTS = ("NarrativeText", "PrototypeString", "ThermalState", "ApplicationPeriod")
"""Types of composite cells that are stored as numbers of strings."""


@cache
def opened(bundle: str) -> Source:
    return open_source(BUNDLES / bundle)


@cache
def tables(bundle: str, schema: str, run: int = 1) -> tuple[Table, ...]:
    return tuple(opened(bundle).tables(schema, run))


def table(bundle: str, schema: str, run: int = 1) -> Table:
    (only,) = tables(bundle, schema, run)
    return only


def run_of(bundle: str, run: int) -> RunInfo:
    return next(info for info in opened(bundle).toc() if info.info.run == run)


def exported(file: str, schema: str) -> Table:
    (only,) = open_source(BUNDLES / file).tables(schema)
    return only


def cells(table: Table, column: Column) -> list[Any]:
    """Return a column with its references resolved; None for null."""
    values = table.rows[column.mnemonic]
    if column.kind in ("thread", "process"):
        frame = table.threads if column.kind == "thread" else table.processes
        entities = [*frame.itertuples(index=False, name=None), None]
        return [entities[row] for row in values]
    if column.kind == "stack":
        stacks = frames_of(table)
        return [stacks[row] if row >= 0 else None for row in values]
    return [None if value is pd.NA or value != value else value for value in values.astype(object)]


def frames_of(table: Table) -> list[list[tuple[Any, ...]]]:
    """Return each stack's frames, leaf first: (address, symbol, binary, file, line, inlined)."""
    binaries = [*table.stacks.binaries.itertuples(index=False, name=None), None]
    frames = [
        (address, symbol, binaries[binary_id], *source)
        for symbol, binary_id, address, *source in table.stacks.frames.itertuples(index=False)
    ]
    return [[frames[number] for number in table.stacks.stack(row)] for row in range(len(table.stacks))]
