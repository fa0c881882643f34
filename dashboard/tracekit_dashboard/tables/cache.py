"""Opened tables of a library, and the rows that queries select: bounded caches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracekit_dashboard.tables.bounded_cache import BoundedCache
from tracekit_dashboard.tables.row_lanes import LaneChoice, LaneRows, find_lane_rows
from tracekit_dashboard.tables.row_selection import RowQuery, Rows, find_in_range, find_matching
from tracekit_dashboard.tables.stored import Bools, StoredTable, open_table, read_revision

_MOST_OPEN = 24
_ROW_BYTES = 256 << 20
_OVERHEAD_BYTES = 1_000


@dataclass(frozen=True)
class SelectedRows:
    """The rows of a query in its order; ``matching`` counts all matching rows of the run."""

    rows: Rows
    matching: int


class TableCache:
    """Tables that are mapped, and orders and selections of their rows; safe to use from several threads."""

    def __init__(self) -> None:
        self._open: BoundedCache[StoredTable] = BoundedCache(_MOST_OPEN, lambda _table: 1)
        self._rows: BoundedCache[Rows | Bools | None] = BoundedCache(
            _ROW_BYTES, lambda rows: _OVERHEAD_BYTES + (0 if rows is None else rows.nbytes)
        )
        self._lanes: BoundedCache[LaneRows] = BoundedCache(_ROW_BYTES, lambda lane: lane.nbytes)

    def find_table(self, folder: Path) -> StoredTable:
        """Return the table of a folder; raises ``NotFound`` if it is damaged."""
        key = f"{folder}\0{read_revision(folder)}"
        try:
            return self._open.get(key, lambda: open_table(folder))
        finally:
            # Files that were removed occupy the disk as long as they are mapped.
            self._open.drop(lambda other: str(other).startswith(f"{folder}\0") and other != key)

    def find_mask(self, table: StoredTable, query: RowQuery) -> Bools | None:
        """Return the rows that match a query's text and conditions; None for all."""
        return self._find_cached(  # type: ignore[return-value]
            table, ("mask", query.text, query.where), lambda: find_matching(table, query)
        )

    def select_rows(self, table: StoredTable, query: RowQuery) -> SelectedRows:
        """Return the rows of a query in its order."""
        mask = self.find_mask(table, query)
        matching = table.rows if mask is None else int(np.count_nonzero(mask))
        rows = self._find_cached(table, query, lambda: self._order_rows(table, query, mask))
        assert rows is not None
        return SelectedRows(rows.view(np.uint32), matching)

    def find_lane(self, table: StoredTable, choice: LaneChoice) -> LaneRows:
        """Return the rows of a lane in order of time."""
        key = (str(table.folder), table.revision, choice)
        return self._lanes.get(key, lambda: find_lane_rows(table, choice))

    def _order_rows(self, table: StoredTable, query: RowQuery, mask: Bools | None) -> Rows:
        if query.from_ns is not None and query.to_ns is not None:
            in_range = find_in_range(table, query.from_ns, query.to_ns)
            mask = in_range if mask is None else mask & in_range
        if query.sort is None:
            if mask is None:
                return np.arange(table.rows, dtype=np.uint32)
            return np.flatnonzero(mask).astype(np.uint32)
        column, descending = query.sort
        order = self._find_cached(table, ("order", query.sort), lambda: table.order(column, descending))
        assert order is not None
        rows = order.view(np.uint32)
        return rows if mask is None else rows[mask[rows]]

    def _find_cached(
        self, table: StoredTable, key: Hashable, make: Callable[[], Rows | Bools | None]
    ) -> Rows | Bools | None:
        return self._rows.get((str(table.folder), table.revision, key), make)
