"""A store's rows and its run's uniquers → a ``Table``, equal to what the export of the same rows gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracekit.model.columns import IntArray
from tracekit.model.tables import Column, CoreType, StackTable, Table
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.frames import FrameTable
from tracekit.parsers.bundle.stacks import Request, read_stacks
from tracekit.parsers.bundle.store import RawColumn, Store, StoreColumn
from tracekit.parsers.bundle.types import Form, form_of, may_be_all_ones
from tracekit.parsers.bundle.uniquing import Uniquing
from tracekit.parsers.bundle.values import ValueReader, Values, integers
from tracekit.parsers.records import take_rows, unused_mnemonic

_STACK_FORMS = (Form.BACKTRACE, Form.TAGGED, Form.KPERF)


@dataclass(frozen=True)
class RunContext:
    """What the tables of one run share. ``doubt`` is told of each type that no export has confirmed, and
    whether its layout is known all the same."""

    run: int
    uniquing: Uniquing
    entities: Entities
    reader: ValueReader
    new_frames: Callable[[], FrameTable]
    tag_of: Callable[[str], str]
    doubt: Callable[[str, bool], None]
    frames_done: Callable[[FrameTable], None]
    core_types: Mapping[int, CoreType]


def build_table(store: Store, context: RunContext, attributes: Mapping[str, str]) -> Table:
    """Return the store's rows by time, as the export orders them. Raises ``DamagedFileError``."""
    raw = [_present(column, values) for column, values in zip(store.columns, store.read(), strict=True)]
    raw = _by_time(store, raw)
    forms = [form_of(column.type_id, context.tag_of(column.type_id))[0] for column in store.columns]
    thread_refs = _refs(raw, forms, (Form.THREAD,))
    process_refs = _refs(raw, forms, (Form.PROCESS,))
    threads, thread_known, thread_rows = context.entities.threads(thread_refs)
    processes, process_known, process_rows = context.entities.processes(process_refs)
    for column, values, form in zip(store.columns, raw, forms, strict=True):
        if form is Form.TAGGED and not values.missing.all():
            context.doubt(column.type_id, True)
    stacks, stack_ids = _stacks(raw, forms, context)
    columns: list[Column] = []
    data: dict[str, Any] = {}
    for at, (column, form) in enumerate(zip(store.columns, forms, strict=True)):
        values = raw.pop(0)  # what is decoded need not be kept
        mnemonic = unused_mnemonic(column.mnemonic or f"column-{at + 1}", data)
        tag = context.tag_of(column.type_id)
        if form is Form.THREAD:
            decoded = Values("thread", _rows_of(values, thread_known, thread_rows))
        elif form is Form.PROCESS:
            decoded = Values("process", _rows_of(values, process_known, process_rows))
        elif form in _STACK_FORMS:
            decoded = Values("stack", stack_ids[at])
        else:
            decoded = _values(column, values, tag, context)
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


def _values(column: StoreColumn, values: RawColumn, tag: str, context: RunContext) -> Values:
    """Decode a column of values, and note what no export has confirmed."""
    form, confirmed = form_of(column.type_id, tag)
    if confirmed or values.missing.all():
        return context.reader.read(values, form, tag)
    decoded = context.reader.read_unconfirmed(values, form, tag)
    known = decoded is not None and form is not Form.UNKNOWN
    context.doubt(column.type_id, known)
    return decoded or Values("int", integers(values))


def _present(column: StoreColumn, values: RawColumn) -> RawColumn:
    if values.raw.dtype.itemsize == 8 and may_be_all_ones(column.type_id):
        return RawColumn(values.raw, np.zeros(len(values.raw), bool))
    return values


def _by_time(store: Store, raw: list[RawColumn]) -> list[RawColumn]:
    """Rows are stored as they came; an interval comes when it ends, and an export lists it by its start."""
    time = next((at for at, column in enumerate(store.columns) if _is_time(column)), None)
    if time is None or (raw[time].raw[1:] >= raw[time].raw[:-1]).all():
        return raw
    order = np.argsort(raw[time].raw, kind="stable")
    return [RawColumn(column.raw[order], column.missing[order]) for column in raw]


def _is_time(column: StoreColumn) -> bool:
    return column.topology_field == "XRTraceRelativeTimestampFieldID"


def _refs(raw: list[RawColumn], forms: list[Form], wanted: tuple[Form, ...]) -> IntArray:
    """Return the distinct numbers in all columns of these forms."""
    held = [c.raw[~c.missing].astype(np.int64) for c, form in zip(raw, forms, strict=True) if form in wanted]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *held]))


def _rows_of(column: RawColumn, known: IntArray, rows: Any) -> Any:
    """Map numbers to entity rows; -1 for null."""
    return take_rows(known, rows, column.raw.astype(np.int64), ~column.missing)


def _stacks(
    raw: list[RawColumn], forms: list[Form], context: RunContext
) -> tuple[StackTable, dict[int, Any]]:
    """Return the stacks of all columns that hold some, and each such column's stack ids."""
    at = [position for position, form in enumerate(forms) if form in _STACK_FORMS]
    known = {
        position: np.unique(raw[position].raw[~raw[position].missing].astype(np.int64)) for position in at
    }
    if not any(len(refs) for refs in known.values()):
        return StackTable.empty(), {p: np.full(len(raw[p].raw), -1, np.int32) for p in at}
    frames = context.new_frames()
    requests = [Request(forms[position], known[position]) for position in at]
    stacks, rows = read_stacks(requests, context.uniquing.lists, context.entities, frames)
    context.frames_done(frames)
    return stacks, {p: _rows_of(raw[p], known[p], ids) for p, ids in zip(at, rows, strict=True)}
