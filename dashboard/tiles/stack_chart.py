"""The stacks of one lane in order of time: ``tracekit-stacks/1``, a block for a picture of some columns."""

from __future__ import annotations

import numpy as np

from dashboard.tiles.branches import branches_of, recorded_nodes
from dashboard.tiles.sample_columns import Ints, SampleColumns
from dashboard.tiles.sums import branches_document, calls_in
from tracekit.report.viewmodel.payload import Arrays
from tracekit.report.viewmodel.samples import NodeSums, sums_document

FORMAT = "tracekit-stacks/1"
MOST_COLUMNS = 4_000
_PER_COLUMN = 2
"""Up to so many samples per column, all are sent; beyond, one of each column."""


def stacks_block(samples: SampleColumns, lane: int, start_ns: int, end_ns: int, columns: int) -> bytes:
    """Return the samples of [start, end) in order of time, with what the page's tree lacks of their stacks.

    Where there are too many for the columns, each column has one: the one in the middle of those of the
    engine that has most. ``in_range`` counts all.
    """
    rows, in_range = _rows(samples, lane, start_ns, end_ns, columns)
    time = samples.time.at(rows)
    order = np.lexsort((rows, time))
    rows, time = rows[order], time[order]
    length = samples.weight[rows].astype(np.float64)
    if samples.length_ns:
        length[:] = samples.length_ns
    call = samples["call"][rows].astype(np.intp)
    calls = calls_in(samples)
    number = np.bincount(call, minlength=len(calls))
    leaves = np.append(samples.call_node, samples.call_joined_node)
    branches = branches_of(
        recorded_nodes(samples), leaves, np.tile(number.astype(np.float64), 2), np.tile(number, 2)
    )
    node, joined = (part[call] for part in np.split(branches.node, 2))
    arrays = Arrays()
    sums = NodeSums(node, calls.engine[call], calls.phase[call], length, np.ones(len(rows), np.int64), joined)
    header = {
        "format": FORMAT,
        "in_range": in_range,
        "samples": {
            **sums_document(arrays, sums),
            "time": arrays.add(time.astype(np.float64), "f8", rising=True),
        },
        **branches_document(samples, branches, arrays),
    }
    return arrays.block(header)


def _rows(samples: SampleColumns, lane: int, start_ns: int, end_ns: int, columns: int) -> tuple[Ints, int]:
    """Return the rows to send, and the number of samples in the range."""
    groups = samples.groups_of_lanes[lane]
    ranges = [samples.rows(group, start_ns, end_ns) for group in groups]
    in_range = sum(end - first for first, end in ranges)
    if in_range > _PER_COLUMN * columns:
        edges = np.linspace(start_ns, end_ns, columns + 1).astype(np.int64)
        before = np.array(
            [group.first + samples.time.count_before(group.first, group.end, edges) for group in groups]
        )
        count = np.diff(before, axis=1)
        group, column = count.argmax(axis=0), np.arange(columns)
        shown = count[group, column] > 0
        middle = before[group, column] + count[group, column] // 2
        return middle[shown], in_range
    parts = [np.zeros(0, np.int64)]
    for group, (first, end) in zip(groups, ranges, strict=True):
        # One that began before the range may reach into it.
        earlier, _ = samples.rows(group, start_ns - group.longest_ns, start_ns)
        reaching = np.arange(max(earlier, first - columns), first)
        lengths = samples.lengths(slice(int(reaching[0]), first)) if len(reaching) else reaching
        reaching = reaching[samples.time.at(reaching) + lengths > start_ns]
        parts += [reaching, np.arange(first, end)]
    return np.concatenate(parts), in_range
