"""Both readers of exports on the same bytes: what each makes of them, in a form that can be compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any
from unittest import mock

import numpy as np

from tracekit.errors import InputError
from tracekit.parsers.xml.documents import Documents
from tracekit.parsers.xml.halves import Halves
from tracekit.parsers.xml.reader import Parsed
from tracekit.parsers.xml.scanner import READER_VARIABLE
from tracekit.parsers.xml.store import Form, QueryResult, ValueStore
from tracekit.parsers.xml.table import build_table

READERS = ("lxml", "compiled")


def pieces(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """Cut bytes into pieces of these sizes, over and over."""
    at = 0
    for size in cycle(sizes):
        if at >= len(data):
            return
        yield data[at : at + size]
        at += size


def outcome(
    data: bytes,
    reader: str,
    sizes: Sequence[int] = (1 << 18,),
    *,
    tables: bool = False,
    halves: Halves | None = None,
) -> Any:
    """What a reader makes of a file: its documents, or the error and what came whole before it."""
    with mock.patch.dict(os.environ, {READER_VARIABLE: reader}):
        documents = Documents("x.xml")
        blocks = pieces(data, sizes)
        try:
            read = documents.read_halves(halves, blocks) if halves else documents.read(blocks)
            return [described(one, tables=tables) for one in read]
        except InputError as error:
            whole = described(documents.whole_tables(), tables=tables)
            return type(error).__name__, str(error), whole


def described(parsed: Parsed, *, tables: bool) -> Any:
    if not isinstance(parsed, QueryResult):
        return parsed.tag, len(parsed)
    nodes = [(node.schema, node.run, node.index, node.cells.tolist()) for node in parsed.nodes]
    return nodes, plain_store(parsed.store), [plain_table(parsed, at) for at in range(len(nodes)) if tables]


def plain_store(store: ValueStore) -> dict[str, list[Any]]:
    """The store's columns with words in the place of numbers of words, which may differ."""
    strings = np.array([*store.strings, None], object)
    is_text = store.form == Form.TEXT
    values = store.value.astype(object)
    values[is_text] = strings[store.value[is_text].astype(np.int64)]
    names = {"name", "path", "uuid", "arch", "fmt"}
    columns = {
        "tag": np.array(store.tags, object)[store.tag],
        "form": store.form,
        "value": values,
        "children": [store.child_slots(slot) for slot in np.flatnonzero(store.form == Form.CHILDREN)],
    }
    values[store.form == Form.CHILDREN] = 0
    for prefix, group in (("fmt", store.fmts), ("frame", store.frames), ("binary", store.binaries)):
        for name in group.__dataclass_fields__:
            column = getattr(group, name)
            columns[f"{prefix} {name}"] = strings[column] if name in names else column
    return {name: column if isinstance(column, list) else column.tolist() for name, column in columns.items()}


def plain_table(parsed: QueryResult, at: int) -> Any:
    try:
        table = build_table("x.xml", parsed.nodes[at], parsed.store, {})
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
