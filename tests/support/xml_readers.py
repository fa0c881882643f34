"""The outcome of each reader of exports for some bytes, in a form that can be compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any
from unittest import mock

import numpy as np

from tracekit.errors import InputError
from tracekit.parsers.xml.accelerator import READER_VARIABLE
from tracekit.parsers.xml.documents import Documents
from tracekit.parsers.xml.node_table import build_table
from tracekit.parsers.xml.reader import Parsed
from tracekit.parsers.xml.value_store import QueryResult, ValueForm, ValueStore

READERS = ("lxml", "compiled")


def pieces(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """Cut bytes into pieces of these sizes, over and over."""
    start = 0
    for size in cycle(sizes):
        if start >= len(data):
            return
        yield data[start : start + size]
        start += size


def outcome(
    data: bytes,
    reader: str,
    sizes: Sequence[int] = (1 << 18,),
    *,
    tables: bool = False,
    rewind: Callable[[int], Iterator[bytes]] | None = None,
) -> Any:
    """Return the documents of a file, or the error and the tables that were complete before it."""
    with mock.patch.dict(os.environ, {READER_VARIABLE: reader}):
        documents = Documents("x.xml")
        try:
            return [
                described(document, tables=tables) for document in documents.read(pieces(data, sizes), rewind)
            ]
        except InputError as error:
            whole = described(documents.get_whole_tables(), tables=tables)
            return type(error).__name__, str(error), whole


def described(parsed: Parsed, *, tables: bool) -> Any:
    """Return a document in plain values: its tables, the value store, and with ``tables`` the built tables."""
    if not isinstance(parsed, QueryResult):
        return "trace-toc", parsed.runs
    nodes = [(node.schema, node.run, node.index, node.cells.tolist()) for node in parsed.nodes]
    return (
        nodes,
        plain_store(parsed.store),
        [plain_table(parsed, index) for index in range(len(nodes)) if tables],
    )


def plain_store(store: ValueStore) -> dict[str, list[Any]]:
    """Return the store's columns, with texts in the place of their rows in ``strings``, which may differ."""
    strings = np.array([*store.strings, None], object)
    is_text = store.form == ValueForm.TEXT
    values = store.value.astype(object)
    values[is_text] = strings[store.value[is_text].astype(np.int64)]
    names = {"name", "path", "uuid", "arch", "fmt"}
    columns = {
        "tag": np.array(store.tags, object)[store.tag],
        "form": store.form,
        "value": values,
        "children": [
            store.list_child_slots(slot) for slot in np.flatnonzero(store.form == ValueForm.CHILDREN)
        ],
    }
    values[store.form == ValueForm.CHILDREN] = 0
    for prefix, group in (("fmt", store.fmts), ("frame", store.frames), ("binary", store.binaries)):
        for name in group.__dataclass_fields__:
            column = getattr(group, name)
            columns[f"{prefix} {name}"] = strings[column] if name in names else column
    return {name: column if isinstance(column, list) else column.tolist() for name, column in columns.items()}


def plain_table(parsed: QueryResult, index: int) -> Any:
    try:
        table = build_table("x.xml", parsed.nodes[index], parsed.store, {})
    except InputError as error:
        return str(error)
    frames = [table.rows, table.threads, table.processes, table.stacks.frames, table.stacks.binaries]
    return (
        table.columns,
        [frame.astype(object).where(frame.notna(), None).to_numpy().tolist() for frame in frames],
        [frame.dtypes.astype(str).tolist() for frame in frames],
        table.stacks.offsets.tolist(),
        table.stacks.frame_ids.tolist(),
        table.core_types,
    )
