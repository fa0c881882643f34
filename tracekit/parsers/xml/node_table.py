"""A node's matrix of slots and the document's value store → a ``Table`` of typed columns."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import IntArray
from tracekit.model.tables import Column, ColumnKind, CoreType, StackTable, Table
from tracekit.parsers.combine import make_unused_mnemonic
from tracekit.parsers.compiled import list_distinct
from tracekit.parsers.engineering_types import KIND_OF_TYPE, STACK_TYPES
from tracekit.parsers.xml.backtraces import build_stacks
from tracekit.parsers.xml.composite import CompositeCells
from tracekit.parsers.xml.value_store import DamagedCellError, Rows, TableNode, ValueForm, ValueStore
from tracekit.parsers.xml.xml_entities import read_processes, read_threads

_LIST = re.compile(r"-?\d+( -?\d+)*\Z", re.ASCII)
_CORE = re.compile(r"\(([EP]) Core\)\Z")
_FLOAT = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?\Z", re.ASCII)


def build_table(name: str, node: TableNode, store: ValueStore, attributes: dict[str, str]) -> Table:
    """Return ``node`` as a ``Table``; raise ``InputError`` (of ``name``) for an unknown backtrace shape."""
    return _TableBuilder(name, node, store).build(attributes)


class _TableBuilder:
    """Turns the columns of one node into values; threads, processes and stacks are shared by its columns."""

    def __init__(self, name: str, node: TableNode, store: ValueStore) -> None:
        self._name = name
        self._node = node
        self._store = store
        self._definitions = node.schema.columns
        self._kinds: list[ColumnKind] = []
        self._used: list[IntArray] = []

    def build(self, attributes: dict[str, str]) -> Table:
        try:
            return self._build_table(attributes)
        except DamagedCellError as error:
            rows = np.flatnonzero((self._node.cells == error.slot).any(axis=1))
            place = f"row {int(rows[0]) + 1} of " if len(rows) else ""
            raise InputError(
                self._name,
                f"{place}'{self._node.schema.name}': {error}.",
                "The file is damaged, or of an Xcode that tracekit does not support. Export the table again.",
            ) from error

    def _build_table(self, attributes: dict[str, str]) -> Table:
        self._used = list_distinct(self._node.cells, len(self._store.tag))
        self._kinds = [self._find_kind(index) for index in range(len(self._definitions))]
        store = self._store
        stacks, stack_ids = self._build_stacks()
        processes, process_ids = read_processes(store, self._list_slots("process"))
        threads, thread_ids = read_threads(store, self._list_slots("thread"))
        entity_ids = {"thread": thread_ids, "process": process_ids, "stack": stack_ids}
        columns: list[Column] = []
        data: dict[str, Any] = {}
        for index, (definition, kind) in enumerate(zip(self._definitions, self._kinds, strict=True)):
            slots = np.ascontiguousarray(self._node.cells[:, index])
            mnemonic = make_unused_mnemonic(definition.mnemonic or f"column-{index + 1}", data)
            columns.append(Column(mnemonic, definition.title, self._find_element_type(index), kind))
            if kind in entity_ids:
                data[mnemonic] = _map_slots(slots, self._list_slots(kind), entity_ids[kind])
            else:
                data[mnemonic] = _take_values(store, slots, self._used[index], kind)
        rows = pd.DataFrame(data, index=pd.RangeIndex(len(self._node.cells)), copy=False)
        return Table(
            self._node.schema.name,
            tuple(columns),
            rows,
            threads,
            processes,
            stacks,
            self._node.run,
            attributes,
            self._read_core_types(),
        )

    def _read_core_types(self) -> dict[int, CoreType]:
        """Return the type of each core, which only ``fmt`` has, as in ``CPU 2 (P Core)``."""
        indexes = [n for n, column in enumerate(self._definitions) if column.engineering_type == "core"]
        store = self._store
        slots = np.unique(np.concatenate([self._used[n] for n in indexes])).tolist() if indexes else []
        matches = {store.get_number(slot): _CORE.search(store.get_fmt(slot)) for slot in slots}
        return {core: "E" if match[1] == "E" else "P" for core, match in matches.items() if match}

    def _find_kind(self, index: int) -> ColumnKind:
        """Return the kind of one column; raise ``DamagedCellError`` for elements of another type in it."""
        engineering_type = self._definitions[index].engineering_type
        slots = self._used[index]
        codes = np.flatnonzero(np.bincount(self._store.tag[slots]))
        tags = {self._store.tags[code] for code in codes}
        # Null cells are <sentinel/> and have been left out of ``used``.
        if tags - {engineering_type} and engineering_type != "any":
            declared = self._store.get_tag_code(engineering_type)
            mismatch = int(slots[self._store.tag[slots] != declared][0])
            raise DamagedCellError(
                mismatch,
                f"column '{self._definitions[index].mnemonic}' is of type '{engineering_type}' and holds a"
                f" <{self._store.tags[self._store.tag[mismatch]]}>",
            )
        return find_column_kind(self._store, engineering_type, tags, slots)

    def _list_slots(self, kind: str) -> IntArray:
        """Return the distinct non-null slots of every column of that kind, ascending."""
        used = [slots for slots, k in zip(self._used, self._kinds, strict=True) if k == kind]
        if len(used) == 1:
            return used[0]
        return np.unique(np.concatenate(used)) if used else np.zeros(0, np.int64)

    def _build_stacks(self) -> tuple[StackTable, Any]:
        slots = self._list_slots("stack")
        if not len(slots):
            return StackTable.empty(), np.zeros(0, np.int32)
        return build_stacks(self._store, slots)

    def _find_element_type(self, index: int) -> str:
        """Return the engineering type; for ``any``, the common type of all cells, if they have one."""
        definition = self._definitions[index]
        if definition.engineering_type != "any":
            return definition.engineering_type
        tags = np.unique(self._store.tag[self._used[index]])
        return self._store.tags[tags[0]] if len(tags) == 1 else "any"


def find_column_kind(store: ValueStore, engineering_type: str, tags: set[str], slots: IntArray) -> ColumnKind:
    """Return a column's kind from its declared type, the tags in it, and the forms of its distinct slots.

    The cells overrule the declared type where it cannot hold them, so that nothing is lost.
    """
    if tags & STACK_TYPES:
        return "stack"
    if tags in ({"thread"}, {"process"}):
        return "thread" if "thread" in tags else "process"
    declared = KIND_OF_TYPE.get(engineering_type)
    if not len(slots):
        return declared or "text"
    forms = store.form[slots]
    if (forms == ValueForm.CHILDREN).any():
        return "parts"
    if declared in ("text", "parts"):
        return declared
    texts = [store.strings[int(row)] for row in np.unique(store.value[slots[forms == ValueForm.TEXT]])]
    if declared == "float" and all(_FLOAT.match(text) for text in texts):
        return "float"
    return declared if declared == "int" and not texts else _guess_kind(texts, declared, forms)


def _guess_kind(texts: list[str], declared: ColumnKind | None, forms: Any) -> ColumnKind:
    """Return the kind of a column of an undeclared type; ``texts`` are its distinct non-integers."""
    is_list = declared == "ints" or any(" " in text for text in texts)
    if is_list and all(_LIST.match(text) for text in texts):
        return "ints"
    if not texts and (forms != ValueForm.NONE).any():
        return "int"
    # In a column of an unknown type, one value that is not a number makes all values text, which loses
    # nothing.
    fractions = declared is None and any("." in text for text in texts)
    if fractions and (forms != ValueForm.NONE).all() and all(_FLOAT.match(text) for text in texts):
        return "float"
    return "text"


def _take_values(store: ValueStore, slots: Rows, used: IntArray, kind: ColumnKind) -> Any:
    """Return the values of a column; ``used`` are its distinct slots except null."""
    if kind == "int":
        return _take_integers(store, slots)
    # Each distinct slot is decoded once; `inverse` maps every row to the position of its slot in `unique`.
    unique = np.concatenate([[0], used])
    inverse = _map_slots(slots, unique, np.arange(len(unique), dtype=np.int32))
    if kind == "float":
        values = [
            float(store.get_text(slot)) if slot and store.get_text(slot) else np.nan
            for slot in unique.tolist()
        ]
        return np.array(values, np.float64)[inverse]
    if kind == "text":
        texts = [store.get_text(slot) if slot else None for slot in unique.tolist()]
        categories = list(dict.fromkeys(text for text in texts if text is not None))
        code = {text: row for row, text in enumerate(categories)}
        codes = np.array([code.get(text, -1) if text is not None else -1 for text in texts], np.int32)
        return pd.Categorical.from_codes(codes[inverse], categories=pd.Index(categories, dtype="str"))
    decode = partial(_parse_numbers, store) if kind == "ints" else CompositeCells(store).decode
    values_of = np.empty(len(unique), dtype=object)
    values_of[:] = [decode(slot) if slot else None for slot in unique.tolist()]
    return pd.Series(values_of[inverse], dtype=object)


def _map_slots(slots: Rows, distinct: IntArray, rows: Rows) -> Rows:
    """Return the row of each of ``slots`` by the rows of the ``distinct`` ones, ascending; -1 for null."""
    # A map is quicker than a search, and small: slots of threads and words are numbered early in a document.
    row_of = np.full(int(distinct[-1]) + 1 if len(distinct) else 1, -1, np.int32)
    row_of[distinct] = rows
    return row_of[slots]


def _take_integers(store: ValueStore, slots: Rows) -> Any:
    forms = store.form[slots]
    missing = (forms != ValueForm.INT) & (forms != ValueForm.NEGATIVE)
    empty = slots[missing & (slots > 0)]
    if len(empty):
        first_slot = int(empty.min())
        raise DamagedCellError(first_slot, f"a <{store.tags[store.tag[first_slot]]}> holds no number")
    values = store.value[slots]
    negative = (forms == ValueForm.NEGATIVE).any()
    beyond = bool((values > np.uint64(2**63 - 1)).any()) and bool(
        ((forms == ValueForm.INT) & (values > np.uint64(2**63 - 1))).any()
    )
    # `values` are 64 bits, and the form marks the negative ones. Without numbers beyond 2^63-1 these bits are
    # int64, without negative ones uint64; no numpy integer has both.
    if negative and beyond:
        exact = [
            pd.NA if gap else store.get_number(slot)
            for slot, gap in zip(slots.tolist(), missing, strict=True)
        ]
        return pd.Series(exact, dtype=object)
    return pd.arrays.IntegerArray(values if beyond else values.view(np.int64), missing)


def _parse_numbers(store: ValueStore, slot: int) -> tuple[int, ...]:
    words = store.get_text(slot).split()
    return tuple(int(word) for word in words) if all(_LIST.match(word) for word in words) else ()
