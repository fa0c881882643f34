"""Every cell of every real table equals an independent reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documents_support import NO_EXPORTS, SHARED
from oracle import Oracle

from tracekit.detect import open_source
from tracekit.model.tables import Column, Table

pytestmark = pytest.mark.integration

FILES = sorted(path for path in (SHARED / "traces").rglob("*.xml") if path.name not in NO_EXPORTS)
SAMPLES = sorted((Path(__file__).resolve().parents[2] / "sample_traces").glob("*/*.xml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_exports(path: Path) -> None:
    compare(path, open_source(path))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_sample_exports(path: Path) -> None:
    compare(path, open_source(path))


def compare(path: Path, source: Any) -> None:
    decoded: dict[tuple[str, int], list[list[object]]] = {}
    for run in source.toc():
        for schema in {table.schema for table in run.tables if table.row_count is not None}:
            for table in source.tables(schema, run.info.run):
                columns = [plain(table, column) for column in table.columns]
                decoded.setdefault((schema, run.info.run), []).extend(
                    list(row) for row in zip(*columns, strict=True)
                )
    expected: dict[tuple[str, int], list[list[object]]] = {}
    for (schema, number, _), rows in Oracle(path).tables.items():
        expected.setdefault((schema, number), []).extend(rows)
    assert decoded.keys() == expected.keys()
    for key, rows in decoded.items():
        assert rows == expected[key], key


def plain(table: Table, column: Column) -> list[object]:
    """A column as the oracle writes it."""
    cells = table.rows[column.mnemonic].tolist()
    if column.kind == "thread":
        return [None if row < 0 else ("tid", int(table.threads["tid"][row])) for row in cells]
    if column.kind == "process":
        return [None if row < 0 else ("pid", int(table.processes["pid"][row])) for row in cells]
    if column.kind == "stack":
        return [None if row < 0 else ("stack", stack(table, row)) for row in cells]
    if column.kind == "parts":
        return [None if cell is None else parts(cell, column.engineering_type) for cell in cells]
    if column.kind == "ints":
        return [None if cell is None else " ".join(map(str, cell)) for cell in cells]
    return [None if cell is None or cell is pd.NA or cell != cell else str(cell) for cell in cells]


def stack(table: Table, row: int) -> list[tuple[str, int, str]]:
    frames, stacks = table.stacks.frames, table.stacks
    ids = stacks.stack(row).tolist()
    return [(stacks.symbols[f], int(frames["address"].iloc[f]), stacks.binary_names[f]) for f in ids]


def parts(cell: Any, engineering_type: str) -> object:
    if len(cell) == 1 and cell[0][0] == engineering_type and isinstance(cell[0][1], str):
        return cell[0][1]  # a composite type whose cell was plain text
    return "" if cell == () else ("parts", [(tag, part(tag, value)) for tag, value in cell])


def part(tag: str, value: Any) -> object:
    if isinstance(value, tuple):
        return parts(value, "")
    return None if value is None else str(value)
