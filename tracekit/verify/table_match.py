"""Two readings of one recording, table by table and cell by cell: the native reader against the exports.

The result has schemas, columns, types and counts, and no recorded content: it can be sent to others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.model.tables import Column, Table
from tracekit.model.trace import RunInfo
from tracekit.parsers.source import Source

Status: TypeAlias = Literal["equal", "other order", "different", "missing", "unreadable"]
"""``missing``: one side has no such table; ``unreadable``: the native reader refused it."""

_STACK_ASPECTS = ("depth", "addresses", "symbols", "binaries")
_NATIVE_ONLY = "named only natively"
"""Rows where the export has a bare address and the bundle a name: counted, but not as a difference."""

_BARE = re.compile(r"0x[0-9a-f]+\Z")


@frozen
class ColumnMatch:
    """One column of both readings. ``different`` counts cells, for stacks by aspect as well."""

    mnemonic: str
    engineering_type: str
    kinds: tuple[str, str]
    different: int
    aspects: dict[str, int] = field(default_factory=dict)


@frozen
class TableMatch:
    """One table of both readings; rows are None where a side has no such table."""

    run: int
    schema: str
    status: Status
    native_rows: int | None
    export_rows: int | None
    columns: tuple[ColumnMatch, ...] = ()
    note: str = ""

    @property
    def different_cells(self) -> int:
        """Number of cells that differ in the rows that both sides have."""
        return sum(column.different for column in self.columns)


def verify(native: Source, exported: Source, schemas: Collection[str] = ()) -> list[TableMatch]:
    """Compare every table of the exports with the native reading of it, or those of some schemas.

    Tables belong together by run, schema and attributes; where the exports have no table of contents, by
    schema and number of rows.
    """
    natives = {run.info.run: run for run in native.toc()}
    matches: list[TableMatch] = []
    for run in exported.toc():
        native_run = natives.get(run.info.run)
        for schema in dict.fromkeys(table.schema for table in run.tables):
            if schemas and schema not in schemas:
                continue
            matches += _verify_schema(native, exported, run, native_run, schema)
    return matches


def _verify_schema(
    native: Source, exported: Source, run: RunInfo, native_run: RunInfo | None, schema: str
) -> Iterator[TableMatch]:
    number = run.info.run
    exported_tables = list(exported.tables(schema, number))
    if not exported_tables:
        return
    native_tables = [table for table in native_run.tables if table.schema == schema] if native_run else []
    if any(table.row_count is None for table in native_tables):
        note = "the native reader cannot read it"
        for table in exported_tables:
            yield TableMatch(number, schema, "unreadable", None, len(table), note=note)
        return
    try:
        candidates = list(native.tables(schema, number))
    except InputError as error:
        # The problem names a file of the bundle's fixed layout and no content.
        for table in exported_tables:
            yield TableMatch(number, schema, "unreadable", None, len(table), note=error.problem)
        return
    for table in exported_tables:
        partner = _find_partner(table, candidates)
        if partner is None:
            yield TableMatch(number, schema, "missing", None, len(table))
        else:
            # Each native table is the partner of one exported table only: two exports of one table are not
            # both "equal".
            candidates = [candidate for candidate in candidates if candidate is not partner]
            yield _verify_table(partner, table)


def _find_partner(exported: Table, candidates: list[Table]) -> Table | None:
    same_attributes = [
        candidate for candidate in candidates if dict(candidate.attributes) == dict(exported.attributes)
    ]
    if same_attributes:
        return same_attributes[0]
    if exported.attributes:
        return None
    same_rows = [candidate for candidate in candidates if len(candidate) == len(exported)]
    return next(iter(same_rows or candidates), None)


def _verify_table(native: Table, exported: Table) -> TableMatch:
    run, schema, sizes = native.run, native.schema, (len(native), len(exported))
    if [c.mnemonic for c in native.columns] != [c.mnemonic for c in exported.columns]:
        return TableMatch(run, schema, "different", *sizes, note="the columns differ")
    common_rows = min(sizes)
    columns = tuple(
        _verify_column(native, native_column, exported, exported_column, common_rows)
        for native_column, exported_column in zip(native.columns, exported.columns, strict=True)
    )
    status: Status = "equal"
    if sizes[0] != sizes[1] or any(column.different for column in columns):
        # Rows of equal time have no order of their own, so the multiset of rows decides before a difference
        # is reported.
        status = "other order" if sizes[0] == sizes[1] and _has_same_rows(native, exported) else "different"
    return TableMatch(run, schema, status, *sizes, columns)


def _verify_column(
    native: Table, native_column: Column, exported: Table, exported_column: Column, rows: int
) -> ColumnMatch:
    kinds = (native_column.kind, exported_column.kind)
    if native_column.kind == exported_column.kind == "stack":
        # One row may differ in several aspects and counts once: the largest aspect is the least number of
        # different rows.
        aspects = _count_stack_differences(native, native_column, exported, exported_column, rows)
        different = max(aspects[name] for name in _STACK_ASPECTS)
        return ColumnMatch(
            native_column.mnemonic, exported_column.engineering_type, kinds, different, aspects
        )
    native_cells, exported_cells = (
        _read_cells(native, native_column)[:rows],
        _read_cells(exported, exported_column)[:rows],
    )
    if native_column.kind == exported_column.kind == "float":
        # Exports print fractions in decimal, so what is read back may differ in the last bits.
        is_equal = np.isclose(
            native_cells.astype(float), exported_cells.astype(float), rtol=1e-9, atol=0, equal_nan=True
        )
    else:
        is_equal = np.array(
            [a == b for a, b in zip(native_cells.tolist(), exported_cells.tolist(), strict=True)], bool
        )
    return ColumnMatch(
        native_column.mnemonic, exported_column.engineering_type, kinds, int((~is_equal).sum())
    )


def _read_cells(table: Table, column: Column) -> npt.NDArray[Any]:
    """Return a column as plain values that can be compared between readings; None for null."""
    rows = table.rows[column.mnemonic]
    if column.kind in ("thread", "process"):
        frame = table.threads if column.kind == "thread" else table.processes
        entities = np.empty(len(frame) + 1, dtype=object)
        entities[:-1] = list(frame.itertuples(index=False, name=None))
        return np.asarray(entities[rows.to_numpy()])
    if column.kind == "stack":
        entities = np.empty(len(table.stacks) + 1, dtype=object)
        entities[:-1] = [tuple(_read_frames(table)[stack].tolist()) for stack in _iter_stacks(table)]
        return np.asarray(entities[rows.to_numpy()])
    cells = rows.astype(object).to_numpy().copy()
    if column.kind != "float":
        cells[rows.isna().to_numpy()] = None
    return cells


def _iter_stacks(table: Table) -> Iterator[npt.NDArray[np.int32]]:
    return (table.stacks.stack(stack_id) for stack_id in range(len(table.stacks)))


def _read_frames(table: Table) -> npt.NDArray[Any]:
    """Return each frame as (address, symbol, binary's UUID)."""
    stacks = table.stacks
    uuids = np.append(stacks.binaries["uuid"].to_numpy(object), "")[stacks.frames["binary_id"].to_numpy()]
    frames = np.empty(len(stacks.frames), dtype=object)
    # By value, because both readings number their frames and binaries in orders of their own.
    frames[:] = list(
        zip(stacks.frames["address"].tolist(), stacks.symbols.tolist(), uuids.tolist(), strict=True)
    )
    return frames


def _count_stack_differences(
    native: Table, native_column: Column, exported: Table, exported_column: Column, rows: int
) -> dict[str, int]:
    """Count the rows whose stacks differ, by aspect; each pair of stacks is compared once."""
    frames = _read_frames(native), _read_frames(exported)
    # A recording has far fewer distinct pairs of stacks than rows: each pair is compared once and counted.
    pairs = Counter(
        zip(
            native.rows[native_column.mnemonic].to_numpy()[:rows].tolist(),
            exported.rows[exported_column.mnemonic].to_numpy()[:rows].tolist(),
            strict=True,
        )
    )
    counts = dict.fromkeys((*_STACK_ASPECTS, _NATIVE_ONLY), 0)
    for (native_id, exported_id), times in pairs.items():
        native_stack = frames[0][native.stacks.stack(native_id)].tolist() if native_id >= 0 else []
        exported_stack = frames[1][exported.stacks.stack(exported_id)].tolist() if exported_id >= 0 else []
        frame_pairs = list(zip(native_stack, exported_stack, strict=False))
        # Symbols that only the native reader resolved do not count as differences.
        named_pairs = [(a, b) for a, b in frame_pairs if b[2] or not _BARE.match(b[1]) or not a[2]]
        counts["depth"] += times * (
            len(native_stack) != len(exported_stack) or (native_id < 0) != (exported_id < 0)
        )
        counts["addresses"] += times * any(a[0] != b[0] for a, b in frame_pairs)
        counts["symbols"] += times * any(a[1] != b[1] for a, b in named_pairs)
        counts["binaries"] += times * any(a[2] != b[2] for a, b in named_pairs)
        counts[_NATIVE_ONLY] += times * (len(named_pairs) < len(frame_pairs))
    return counts


def _has_same_rows(native: Table, exported: Table) -> bool:
    """Return True when both have the same rows: an export may order rows of equal times differently."""
    sides = [
        Counter(zip(*(_read_cells(table, column).tolist() for column in table.columns), strict=True))
        for table in (native, exported)
    ]
    return sides[0] == sides[1]
