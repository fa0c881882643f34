"""Threads and processes of an export: elements with children and a ``fmt`` → distinct records.

    <thread id="4" fmt="Main Thread 0x1f (App, pid: 7)"><tid id="5">31</tid><process id="6" …/></thread>

A recording of all processes defines each of its threads, so definitions are read as columns: all children of
one tag at a time. Only their names are separate texts.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.model.columns import PROCESSES, THREADS, IntArray
from tracekit.parsers.combine import Rows, find_distinct_records
from tracekit.parsers.xml.value_store import DamagedCellError, ValueForm, ValueStore

_MAX_NUMBER = np.uint64(2**63 - 1)


def read_processes(store: ValueStore, slots: IntArray) -> tuple[pd.DataFrame, Rows]:
    """Return the distinct processes, and the row of each slot among them."""
    return find_distinct_records(_read_process_records(store, slots), PROCESSES)


def read_threads(store: ValueStore, slots: IntArray) -> tuple[pd.DataFrame, Rows]:
    """Return the distinct threads, and the row of each slot among them."""
    tids = _read_numbers(store, slots, "tid").tolist()
    names = map(_cut_thread_name, store.get_fmts(slots), tids)
    # Threads refer to few processes, each of which is read once.
    process_slots, process_rows = np.unique(
        _find_first_children(store, slots, "process"), return_inverse=True
    )
    processes = _read_process_records(store, process_slots)
    owners = [processes[row] for row in process_rows.tolist()]
    records = [(tid, name, *owner) for tid, name, owner in zip(tids, names, owners, strict=True)]
    return find_distinct_records(records, THREADS)


def _read_process_records(store: ValueStore, slots: IntArray) -> list[tuple[int, str]]:
    """Return pid and name of each; the pid is a child, the name is only in ``fmt``. Slot 0 has neither."""
    pids = _read_numbers(store, slots, "pid").tolist()
    return [(pid, _cut_process_name(fmt, pid)) for pid, fmt in zip(pids, store.get_fmts(slots), strict=True)]


def _find_first_children(store: ValueStore, slots: IntArray, tag: str) -> IntArray:
    """Return the first child of that tag of each of ``slots``, 0 without one."""
    owner, child = store.find_children(slots)
    is_tagged = (child > 0) & (store.tag[child] == store.get_tag_code(tag))
    owners, first_rows = np.unique(owner[is_tagged], return_index=True)
    children = np.zeros(len(slots), np.int64)
    children[owners] = child[is_tagged][first_rows]
    return children


def _read_numbers(store: ValueStore, slots: IntArray, tag: str) -> IntArray:
    """Return the number in each slot's child of that tag, -1 without one.

    Raises ``DamagedCellError`` for the first that holds text.
    """
    children = _find_first_children(store, slots, tag)
    values = store.value[children]
    is_damaged = (children > 0) & ((store.form[children] != ValueForm.INT) | (values > _MAX_NUMBER))
    if is_damaged.any():
        damaged_row = int(is_damaged.argmax())
        text = store.get_text(int(children[damaged_row]))
        raise DamagedCellError(int(slots[damaged_row]), f"the {tag} '{text[:40]}' is not a number")
    return np.where(children > 0, values.view(np.int64), -1)


def _cut_process_name(fmt: str, pid: int) -> str:
    """Cut the name out of ``Finder (751)``."""
    return fmt.removesuffix(f"({pid})").rstrip() if pid >= 0 else fmt


def _cut_thread_name(fmt: str, tid: int) -> str:
    """Cut the name out of ``Main Thread  0xd43ff (a.out, pid: 1512)`` or ``Main Thread (0x9db2dc) (…)``."""
    # From the right, for a name may have such a number, too: "pool (0x12) of (x) (0x9d) (App, pid: 8)".
    for mark in (f" (0x{tid:x}) ", f" 0x{tid:x} ", f"0x{tid:x} ("):
        name, separator, _ = fmt.rpartition(mark)
        if separator:
            return name.strip()
    return fmt.strip()
