"""Rows of a table as a lane of the timeline: the marks of a range, as many as the picture has room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.errors import UsageError
from tracekit_dashboard.tables.stored import Ints, StoredTable
from tracekit_dashboard.tables.table_columns import OPEN_NS

MAX_PIXELS = 4_000
MAX_MEMBERS = 200
_MAX_SINGLE_MARKS = 2_000
_MAX_LINES = 4
_MAX_PACKED_ROWS = 200_000
_STYLES = 4
_MAX_NAME_LETTERS = 120
_LABELS = """state thread-state hang-type thermal-state period channel-name name signpost-name event label
event-label syscall message interval-type transition description event-type mode category process thread"""
_UNLABELLED = frozenset({"stack", "ints"})


@dataclass(frozen=True)
class LaneChoice:
    """The rows of a lane: all, or those of one ``member`` (a code) of the column ``group``.

    ``value`` is the column whose numbers are drawn; None draws the rows themselves.
    """

    value: int | None = None
    group: int | None = None
    member: int | None = None


@dataclass(frozen=True)
class LaneRows:
    """A lane's rows by their start, with ``reach``, the latest end so far, which a search can use.

    ``line`` is 0 to 3 for rows that overlap; ``values`` are the numbers of a lane of values.
    """

    start: Ints
    end: Ints
    reach: Ints
    row: npt.NDArray[np.uint32]
    line: npt.NDArray[np.uint8]
    values: npt.NDArray[np.float64] | None
    is_crowded: bool

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return sum(
            array.nbytes
            for array in (self.start, self.end, self.reach, self.row, self.line, self.values)
            if array is not None
        )


def find_lane_rows(table: StoredTable, choice: LaneChoice) -> LaneRows:
    """Return the rows of a lane in order of time; raises ``UsageError`` for a table without times."""
    if not table.has_time:
        raise UsageError("The rows of this table have no time: they cannot be drawn.")
    mask = table.start < np.iinfo(np.int64).max
    if choice.group is not None:
        mask &= table.read_codes(choice.group) == (-1 if choice.member is None else choice.member)
    values = None
    if choice.value is not None:
        numbers, present = table.read_numbers(choice.value)
        mask &= present
        if numbers.dtype.kind == "f":
            mask &= np.isfinite(numbers)
    rows = np.flatnonzero(mask).astype(np.uint32)
    start = table.start[rows]
    if (np.diff(start) < 0).any():
        order = np.argsort(start, kind="stable")
        rows, start = rows[order], start[order]
    if choice.value is not None:
        values = numbers[rows].astype(np.float64)
    end = np.maximum(table.end[rows], start)
    reach = np.maximum.accumulate(end) if len(end) else end
    overlaps = choice.value is None and bool((start[1:] < reach[:-1]).any())
    is_packed = overlaps and len(rows) <= _MAX_PACKED_ROWS
    line = _assign_lines(start, end) if is_packed else np.zeros(len(rows), np.uint8)
    return LaneRows(start, end, reach, rows, line, values, overlaps and not is_packed)


def _assign_lines(start: Ints, end: Ints) -> npt.NDArray[np.uint8]:
    """Return a line for each row, so that rows of a line do not overlap; the last line takes the rest."""
    free = [-(2**63)] * _MAX_LINES
    lines = bytearray(len(start))
    for position, (begin, finish) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        line = next((line for line in range(_MAX_LINES) if free[line] <= begin), _MAX_LINES - 1)
        free[line] = max(free[line], finish)
        lines[position] = line
    return np.frombuffer(bytes(lines), np.uint8)


def next_row(lane: LaneRows, row: int | None, time_ns: int, direction: int) -> dict[str, Any]:
    """Return the row of a lane after (1) or before (-1) another one or a time; the row None for none."""
    places = np.flatnonzero(lane.row == (-1 if row is None else row))
    if len(places):
        place = int(places[0]) + direction
    else:
        place = int(np.searchsorted(lane.start, time_ns, "left")) - (0 if direction > 0 else 1)
    if not 0 <= place < len(lane.row):
        return {"row": None}
    end = int(lane.end[place])
    return {
        "row": int(lane.row[place]),
        "start": int(lane.start[place]),
        "end": None if end >= OPEN_NS else end,
    }


def build_lane_document(
    table: StoredTable, choice: LaneChoice, lane: LaneRows, from_ns: int, to_ns: int, pixels: int
) -> dict[str, Any]:
    """Return what a picture of [from_ns, to_ns) shows: marks, or the values of each pixel, as plain data."""
    document: dict[str, Any] = {
        "name": _build_lane_name(table, choice),
        "rows": len(lane.row),
        "lines": int(lane.line.max(initial=0)) + 1,
        "crowded": lane.is_crowded,
        "timed": table.is_timed,
    }
    if choice.value is not None:
        return document | _build_values(table, choice.value, lane, from_ns, to_ns, pixels)
    begin = int(np.searchsorted(lane.reach, from_ns, "left"))
    stop = int(np.searchsorted(lane.start, to_ns, "left"))
    positions, counts = _merge_rows(lane, begin, stop, from_ns, (to_ns - from_ns) / pixels)
    label = find_label_column(table, choice)
    codes = (
        _find_label_codes(table, label)[lane.row[positions]]
        if label is not None
        else np.full(len(positions), -1)
    )
    distinct, local = np.unique(codes, return_inverse=True)
    return document | {
        "start": lane.start[positions].tolist(),
        "end": [None if end >= OPEN_NS else end for end in lane.end[positions].tolist()],
        "line": lane.line[positions].tolist(),
        "count": counts.tolist(),
        "row": lane.row[positions].tolist(),
        "label": local.reshape(-1).tolist(),
        "labels": [_describe_label(table, label, code) for code in distinct.tolist()],
    }


def _merge_rows(lane: LaneRows, begin: int, end: int, from_ns: int, pixel_ns: float) -> tuple[Ints, Ints]:
    """Return the positions of the rows to draw, and the number of rows that each stands for.

    Rows that begin in one pixel of one line are one mark: that of the longest.
    """
    positions = np.arange(begin, end)
    if len(positions) <= _MAX_SINGLE_MARKS:
        return positions, np.ones(len(positions), np.int64)
    lines = lane.line[begin:end]
    if not lines.any():
        return _merge_line(lane, positions, from_ns, pixel_ns)
    merged = [
        _merge_line(lane, positions[lines == line], from_ns, pixel_ns) for line in np.unique(lines).tolist()
    ]
    merged_positions = np.concatenate([kept for kept, _ in merged])
    counts = np.concatenate([count for _, count in merged])
    by_start = np.argsort(lane.start[merged_positions], kind="stable")
    return merged_positions[by_start], counts[by_start]


def _merge_line(lane: LaneRows, positions: Ints, from_ns: int, pixel_ns: float) -> tuple[Ints, Ints]:
    start = lane.start[positions]
    length = lane.end[positions] - start
    # Rows are in order of their start, so that those of a pixel follow each other. -1: before the picture.
    pixel = np.maximum(((start - from_ns) / pixel_ns).astype(np.int64), -1)
    begin = np.flatnonzero(np.append(True, np.diff(pixel) > 0))
    counts = np.diff(np.append(begin, len(pixel)))
    longest = np.flatnonzero(length == np.repeat(np.maximum.reduceat(length, begin), counts))
    return positions[longest[np.searchsorted(longest, begin)]], counts


def find_label_column(table: StoredTable, choice: LaneChoice) -> int | None:
    """Return the column whose texts name the rows: by its name, else the first one of texts."""
    names = {
        column_info.name: column
        for column, column_info in enumerate(table.columns)
        if table.is_text(column) and column_info.kind not in _UNLABELLED and column != choice.group
    }
    known = next((names[name] for name in _LABELS.split() if name in names), None)
    return known if known is not None else next(iter(names.values()), None)


def _find_label_codes(table: StoredTable, column: int) -> Ints:
    return table.read_codes(column)


def _describe_label(table: StoredTable, column: int | None, code: int) -> list[Any]:
    """Return the text of a code, and the style in which its rows are drawn."""
    if column is None or code < 0:
        return ["", 0]
    text = table.read_array(column).dictionary[code].as_py()
    return [text[:_MAX_NAME_LETTERS], int(code) % _STYLES]


def _build_lane_name(table: StoredTable, choice: LaneChoice) -> list[str]:
    """Return the names of a lane: schema, member, column of values."""
    names = [table.schema[:_MAX_NAME_LETTERS]]
    if choice.group is not None:
        group = table.read_array(choice.group).dictionary
        is_known = choice.member is not None and choice.member >= 0
        names.append(group[choice.member].as_py()[:_MAX_NAME_LETTERS] if is_known else "none")
    if choice.value is not None:
        names.append(table.columns[choice.value].title[:_MAX_NAME_LETTERS])
    return names


def _build_values(
    table: StoredTable, column: int, lane: LaneRows, from_ns: int, to_ns: int, pixels: int
) -> dict[str, Any]:
    """Return the values of a range, or the lowest, highest and last value of each pixel."""
    assert lane.values is not None
    column_info = table.columns[column]
    # One value before the range holds at its begin.
    start = max(0, int(np.searchsorted(lane.start, from_ns, "left")) - 1)
    end = int(np.searchsorted(lane.start, to_ns, "left"))
    time, value, row = lane.start[start:end], lane.values[start:end], lane.row[start:end]
    document: dict[str, Any] = {
        "low": float(lane.values.min()) if len(lane.values) else 0,
        "high": float(lane.values.max()) if len(lane.values) else 0,
        "shape": column_info.shape,
        "unit": column_info.unit,
    }
    if len(time) > _MAX_SINGLE_MARKS:
        pixel = np.maximum(((time - from_ns) / ((to_ns - from_ns) / pixels)).astype(np.int64), -1)
        begin = np.flatnonzero(np.append(True, np.diff(pixel) > 0))
        final = np.append(begin[1:], len(pixel)) - 1
        document |= {
            "least": np.minimum.reduceat(value, begin).tolist(),
            "most": np.maximum.reduceat(value, begin).tolist(),
            "count": np.diff(np.append(begin, len(pixel))).tolist(),
        }
        time, value, row = time[begin], value[final], row[begin]
    return document | {"time": time.tolist(), "value": value.tolist(), "row": row.tolist()}


def list_members(table: StoredTable, group: int) -> dict[str, Any]:
    """Return the distinct texts of a column with their codes and numbers of rows, most frequent first."""
    if not table.is_text(group) or table.columns[group].kind == "stack":
        raise UsageError("Lanes are made per thread, per process or per text.")
    codes = table.read_codes(group)[table.start < np.iinfo(np.int64).max]
    counts = np.bincount(codes + 1)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    dictionary = table.read_array(group).dictionary
    return {
        "members": [
            [
                code - 1,
                dictionary[code - 1].as_py()[:_MAX_NAME_LETTERS] if code else "none",
                int(counts[code]),
            ]
            for code in order[:MAX_MEMBERS].tolist()
        ],
        "count": len(order),
    }
