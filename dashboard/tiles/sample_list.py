"""The list of samples, and whole stacks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dashboard.errors import NotFound
from dashboard.tiles.sample_columns import Bools, Ints, SampleColumns
from dashboard.tiles.sample_selection import SampleSelection
from tracekit.analysis.call_tree import ROOT
from tracekit.errors import UsageError
from tracekit.model.vocabulary import ENGINES, PHASES

MOST_ROWS = 1_000
_MOST_FRAMES = 400
_CURSOR = re.compile(r"(-?[0-9]{1,18})_([0-9]{1,18})")
_PIECE_ROWS = 1 << 16
_FAR_NS = 1 << 62


def listed(samples: SampleColumns, selection: SampleSelection, after: str, count: int) -> dict[str, Any]:
    """Return the next ``count`` samples by time; ``after`` is the last response's ``next``, or empty."""
    candidates = _rows_after(samples, selection, _cursor(after), count + 1)
    rows = candidates[:count]
    more = len(candidates) > count
    return {
        "rows": [
            _row(samples, row, time)
            for row, time in zip(rows.tolist(), samples.time.at(rows).tolist(), strict=True)
        ],
        "next": f"{samples.time.at(rows[-1:])[0]}_{rows[-1]}" if more else None,
        "selected": selection.count(samples),
        "total": samples.total,
    }


def _cursor(after: str) -> tuple[int, int] | None:
    if not after:
        return None
    match = _CURSOR.fullmatch(after)
    if match is None:
        raise UsageError("after is not the next of a response.")
    return int(match[1]), int(match[2])


def _rows_after(
    samples: SampleColumns, selection: SampleSelection, after: tuple[int, int] | None, count: int
) -> Ints:
    """Return the first ``count`` rows by time, then by row."""
    per_group = []
    for group, first, end in selection.ranges(samples):
        start = first
        # The cursor is (time, row). In each group, rows before that time are skipped, and of those at that
        # time the ones up to the row: groups are sorted by time, and rows of equal time are in order of their
        # numbers.
        if after is not None:
            same, later = samples.rows(group, after[0], after[0] + 1)
            start = max(first, same, min(later, after[1] + 1))
        per_group.append(_first_rows(selection, start, end, count))
    # Any of the first ``count`` rows is among the first ``count`` of its group, so no group needs to give
    # more.
    rows: Ints = np.concatenate([np.zeros(0, np.int64), *per_group])
    return rows[np.lexsort((rows, samples.time.at(rows)))][:count]


def _first_rows(selection: SampleSelection, start: int, end: int, count: int) -> Ints:
    if selection.mask is None:
        return np.arange(start, min(end, start + count))
    pieces, total = [np.zeros(0, np.int64)], 0
    for position in range(start, end, _PIECE_ROWS):
        pieces.append(position + np.flatnonzero(selection.mask[position : min(end, position + _PIECE_ROWS)]))
        total += len(pieces[-1])
        if total >= count:
            break
    return np.concatenate(pieces)[:count]


def _row(samples: SampleColumns, row: int, time_ns: int) -> dict[str, Any]:
    call = int(samples["call"][row])
    stack = int(samples["call_stack"][call])
    group = samples.group_of(row)
    rule = int(samples["stack_rule"][stack]) if stack >= 0 else -1
    node = int(samples["stack_node"][stack]) if stack >= 0 else ROOT
    symbol, binary = samples.function_of(node) if node >= 0 else (None, None)
    return {
        "time_ns": time_ns,
        "lane": group.lane,
        "engine": str(ENGINES[group.engine]),
        "phase": _phase(int(samples["call_phase"][call])),
        "weight": int(samples.weight[row]),
        "stack": stack,
        "leaf": symbol,
        "binary": binary,
        "rule": samples.rules[rule].id if rule >= 0 else "",
    }


def nearest(
    samples: SampleColumns, lane: int, time_ns: int, within_ns: int, mask: Bools | None
) -> dict[str, Any] | None:
    """Return the sample of a lane that covers a time, or that is within a distance of it; None for none."""
    best, least = -1, within_ns + 1
    for group in samples.groups_of_lanes[lane]:
        # The last samples before the time may cover it; later ones begin after it.
        before = samples.rows(group, -_FAR_NS, time_ns + 1)
        after = samples.rows(group, time_ns + 1, time_ns + within_ns + 1)
        for rows in (_last(before, mask), _first(after, mask)):
            for row in rows:
                start = int(samples.time.at(np.array([row]))[0])
                end = start + int(samples.lengths(slice(row, row + 1))[0])
                distance = 0 if start <= time_ns < end else max(start - time_ns, time_ns - end + 1)
                if distance < least:
                    best, least = row, distance
    if best < 0:
        return None
    document = _row(samples, best, int(samples.time.at(np.array([best]))[0]))
    stack = document["stack"]
    return {**document, "number": 1, "stack": stack_document(samples, stack) if stack >= 0 else None}


def _last(rows: tuple[int, int], mask: Bools | None) -> list[int]:
    """Return the last selected row of a range; it is searched in pieces from its end."""
    first, end = rows
    while first < end:
        start = max(first, end - _PIECE_ROWS)
        selected = np.flatnonzero(mask[start:end]) if mask is not None else np.array([end - start - 1])
        if len(selected):
            return [start + int(selected[-1])]
        end = start
    return []


def _first(rows: tuple[int, int], mask: Bools | None) -> list[int]:
    return _first_rows(SampleSelection(0, 0, None, mask), *rows, 1).tolist() if rows[0] < rows[1] else []


def stack_document(samples: SampleColumns, stack: int) -> dict[str, Any]:
    """Return a stack, leaf first, with its rule; of a deep one the part around the deciding frame."""
    if not 0 <= stack < len(samples["stack_rule"]):
        raise NotFound("There is no such stack in this recording.")
    nodes = _path(samples, int(samples["stack_node"][stack]))
    deciding, rule = int(samples["stack_deciding"][stack]), int(samples["stack_rule"][stack])
    # The deciding frame in the middle, but never less than a full part where the stack has one.
    above = max(0, min(deciding - _MOST_FRAMES // 2, len(nodes) - _MOST_FRAMES))
    frames = [samples.function_of(node) for node in nodes[above : above + _MOST_FRAMES]]
    return {
        "frames": frames,
        "above": above,
        "below": len(nodes) - above - len(frames),
        "deciding": deciding - above if deciding >= 0 else -1,
        "rule": samples.rules[rule].id if rule >= 0 else "",
        "why": samples.rules[rule].means if rule >= 0 else "",
        "engine": str(ENGINES[int(samples["stack_engine"][stack])]),
        "phase": _phase(int(samples["stack_phase"][stack])),
    }


def _path(samples: SampleColumns, leaf: int) -> list[int]:
    """Return the nodes of the call tree from a leaf to its root."""
    nodes = []
    while leaf >= 0:
        nodes.append(leaf)
        leaf = int(samples["tree_parent"][leaf])
    return nodes


def _phase(code: int) -> str | None:
    return None if code < 0 else str(PHASES[code])
