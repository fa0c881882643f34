"""Literal rows of a dataset's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from tracekit.fleet.dataset import Dataset, create_dataset
from tracekit.fleet.schema import build_arrow_schema


def write_dataset(folder: Path, **tables: Sequence[Mapping[str, object]]) -> Dataset:
    """Write a dataset with these rows by table; recordings need a ``recording`` and get the rest that is required."""
    defaults = {"run": 1, "state": "analyzed", "path": "", "name": ""}
    tables["recordings"] = [
        {**defaults, "content": row["recording"], **row} for row in tables.get("recordings", [])
    ]
    dataset = create_dataset(folder)
    dataset.append({name: arrow_rows(name, rows) for name, rows in tables.items()})
    return dataset


def arrow_rows(table: str, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=build_arrow_schema(table))
