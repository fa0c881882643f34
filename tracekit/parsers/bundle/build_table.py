"""A store's rows and its run's intern pool → a ``Table``, equal to that of the export of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.tables import Column, CoreType, StackTable, Table
from tracekit.parsers.bundle.decode import ColumnDecoder, DecodedColumn, make_integers
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.interned import InternPool
from tracekit.parsers.bundle.stored_backtraces import BacktraceColumn, read_stacks
from tracekit.parsers.bundle.stored_rows import IndexedStore, RawColumn, SchemaColumn
from tracekit.parsers.bundle.symbolication import Symbolicator
from tracekit.parsers.bundle.types import Encoding, find_encoding, may_be_all_ones
from tracekit.parsers.combine import find_rows, make_unused_mnemonic

_STACK_ENCODINGS = (Encoding.BACKTRACE, Encoding.TAGGED, Encoding.KPERF)


@frozen
class RunContext:
    """The parts that the tables of one run share.

    ``report_type`` is called with each type that no export has confirmed, and whether its encoding is
    known from elsewhere; ``report_symbolicator`` with each table's symbolicator, once its stacks are read.
    """

    run: int
    pool: InternPool
    entities: Entities
    decoder: ColumnDecoder
    new_symbolicator: Callable[[], Symbolicator]
    tag_of: Callable[[str], str]
    report_type: Callable[[str, bool], None]
    report_symbolicator: Callable[[Symbolicator], None]
    core_types: Mapping[int, CoreType]


def build_table(store: IndexedStore, context: RunContext, attributes: Mapping[str, str]) -> Table:
    """Return the store's rows by time, as the export orders them. Raises ``DamagedFileError``."""
    raw = [
        _without_sentinels(column, values) for column, values in zip(store.columns, store.read(), strict=True)
    ]
    raw = _sort_by_time(store, raw)
    encodings = [find_encoding(column.type_id, context.tag_of(column.type_id))[0] for column in store.columns]
    # Entities and stacks first, over all columns together: two columns of one table that refer to the same
    # thread share its row.
    threads, thread_refs, thread_rows = context.entities.threads(
        _collect_refs(raw, encodings, Encoding.THREAD)
    )
    processes, process_refs, process_rows = context.entities.processes(
        _collect_refs(raw, encodings, Encoding.PROCESS)
    )
    for column, values, encoding in zip(store.columns, raw, encodings, strict=True):
        if encoding is Encoding.TAGGED and not values.missing.all():
            context.report_type(column.type_id, True)
    stacks, stack_ids = _build_stacks(raw, encodings, context)
    columns: list[Column] = []
    data: dict[str, Any] = {}
    for position, (column, encoding) in enumerate(zip(store.columns, encodings, strict=True)):
        values = raw.pop(0)  # frees each raw column once it is decoded
        mnemonic = make_unused_mnemonic(column.mnemonic or f"column-{position + 1}", data)
        tag = context.tag_of(column.type_id)
        if encoding is Encoding.THREAD:
            decoded = DecodedColumn("thread", _map_rows(values, thread_refs, thread_rows))
        elif encoding is Encoding.PROCESS:
            decoded = DecodedColumn("process", _map_rows(values, process_refs, process_rows))
        elif encoding in _STACK_ENCODINGS:
            decoded = DecodedColumn("stack", stack_ids[position])
        else:
            decoded = _decode_column(column, values, tag, context)
        columns.append(Column(mnemonic, column.title, decoded.tag or tag, decoded.kind))
        data[mnemonic] = decoded.data
    rows = pd.DataFrame(data, index=pd.RangeIndex(store.row_count))
    return Table(
        store.schema,
        tuple(columns),
        rows,
        threads,
        processes,
        stacks,
        context.run,
        attributes,
        context.core_types,
    )


def _decode_column(column: SchemaColumn, values: RawColumn, tag: str, context: RunContext) -> DecodedColumn:
    """Decode a column of values, and report a type that no export has confirmed."""
    encoding, confirmed = find_encoding(column.type_id, tag)
    if confirmed or values.missing.all():
        return context.decoder.read(values, encoding, tag)
    decoded = context.decoder.read_unconfirmed(values, encoding, tag)
    is_known = decoded is not None and encoding is not Encoding.UNKNOWN
    context.report_type(column.type_id, is_known)
    return decoded or DecodedColumn("int", make_integers(values))


def _without_sentinels(column: SchemaColumn, values: RawColumn) -> RawColumn:
    """Return the column with nothing missing if 2^64-1 is a value of its type."""
    if values.raw.dtype.itemsize == 8 and may_be_all_ones(column.type_id):
        return RawColumn(values.raw, np.zeros(len(values.raw), bool))
    return values


def _sort_by_time(store: IndexedStore, raw: list[RawColumn]) -> list[RawColumn]:
    """Return the rows sorted by time.

    They are stored in order of arrival: an interval arrives when it ends, and an export lists it by its
    start.
    """
    # A stable sort: rows of one nanosecond keep their order of arrival, as in exports.
    time = next((position for position, column in enumerate(store.columns) if _is_time(column)), None)
    if time is None or (raw[time].raw[1:] >= raw[time].raw[:-1]).all():
        return raw
    order = np.argsort(raw[time].raw, kind="stable")
    return [RawColumn(column.raw[order], column.missing[order]) for column in raw]


def _is_time(column: SchemaColumn) -> bool:
    return column.topology_field == "XRTraceRelativeTimestampFieldID"


def _collect_refs(raw: list[RawColumn], encodings: list[Encoding], encoding: Encoding) -> IntArray:
    """Return the distinct numbers in all columns of this encoding."""
    pieces = [_get_present(column) for column, of in zip(raw, encodings, strict=True) if of is encoding]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *pieces]))


def _get_present(column: RawColumn) -> IntArray:
    return column.raw[~column.missing].astype(np.int64)


def _map_rows(column: RawColumn, refs: IntArray, rows: Any) -> Any:
    """Map numbers to entity rows; -1 for null."""
    return find_rows(refs, rows, column.raw.astype(np.int64), ~column.missing)


def _build_stacks(
    raw: list[RawColumn], encodings: list[Encoding], context: RunContext
) -> tuple[StackTable, dict[int, Any]]:
    """Return the stacks of all columns with stacks, and the stack ids of each such column by its position."""
    positions = [position for position, encoding in enumerate(encodings) if encoding in _STACK_ENCODINGS]
    refs = {position: np.unique(_get_present(raw[position])) for position in positions}
    if not any(len(column_refs) for column_refs in refs.values()):
        return StackTable.empty(), {p: np.full(len(raw[p].raw), -1, np.int32) for p in positions}
    symbolicator = context.new_symbolicator()
    columns = [BacktraceColumn(encodings[position], refs[position]) for position in positions]
    stacks, ids = read_stacks(columns, context.pool.lists, context.entities, symbolicator)
    context.report_symbolicator(symbolicator)
    return stacks, {p: _map_rows(raw[p], refs[p], ids_of) for p, ids_of in zip(positions, ids, strict=True)}
