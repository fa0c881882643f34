"""Tables from literal rows: through an export document, as the reader meets them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pandas as pd
from documents_support import one_table, source_of, write

from tracekit.model.tables import Table
from tracekit.model.trace import Issue

MS = 1_000_000

Reader = Callable[[str], Iterator[Table]]


def rows_of(schema: str, columns: Mapping[str, str], *rows: tuple[Any, ...]) -> str:
    """Return an export of one table; ``columns`` is mnemonic → engineering type, None in a row is null.

    A process is (pid, name), a thread (tid, name, pid, process name), a composite cell a list of pieces.
    """
    kinds = list(columns.values())
    documents = ("".join(cell(kind, value) for kind, value in zip(kinds, row, strict=True)) for row in rows)
    return one_table(schema, list(columns.items()), *documents)


def cell(kind: str, value: Any) -> str:
    if value is None:
        return "<sentinel/>"
    if kind == "process":
        return f'<process fmt="{value[1]} ({value[0]})"><pid>{value[0]}</pid></process>'
    if kind == "thread":
        tid, name, pid, process = value
        return (
            f'<thread fmt="{name} (0x{tid:x}) ({process}, pid: {pid})"><tid>{tid}</tid>'
            f"{cell('process', (pid, process))}</thread>"
        )
    if isinstance(value, list):
        return f"<{kind}>" + "".join(piece(part) for part in value) + f"</{kind}>"
    return f"<{kind}>{escape(str(value))}</{kind}>"


def piece(value: str | int) -> str:
    tag = "narrative-text" if isinstance(value, str) else "uint64-hex-lowercase"
    return f"<{tag}>{escape(str(value))}</{tag}>"


def tables_of(*documents: str, **attributes: str) -> Reader:
    """Return a reader of the documents' tables with these ``attributes`` (``target_pid`` is target-pid)."""
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            write(Path(folder), text.replace("table[1]", f"table[{number}]"), f"{number}.xml")
            for number, text in enumerate(documents, start=1)
        ]
        source = source_of(*paths)
        schemas = {info.schema for run in source.toc() for info in run.tables}
        tables = {schema: list(source.tables(schema)) for schema in schemas}

    def read(schema: str) -> Iterator[Table]:
        for table in tables.get(schema, []):
            yield replace(table, attributes=named)

    return read


def records(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """Return rows as tuples of plain values; missing is None."""
    picked = frame[list(names)].astype(object)
    return [
        tuple(None if pd.isna(value) else value for value in row)
        for row in picked.itertuples(index=False, name=None)
    ]


def issue_counts(issues: tuple[Issue, ...]) -> list[tuple[str, int]]:
    """Return issues as (code, count)."""
    return [(issue.code, issue.count) for issue in issues]
