"""The samples of a view: each one, or their sums by bin of time, lane and stack.

A report contains them; the dashboard's page gets them as a block of their own, after its first picture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.call_tree import CallTree
from tracekit.analysis.result import Analysis
from tracekit.model.columns import IntArray
from tracekit.model.combinations import iter_row_blocks
from tracekit.report.viewmodel.binned import Floats, Ints, SampleBins, SampleRows
from tracekit.report.viewmodel.payload import Arrays
from tracekit.report.viewmodel.stacks import LabelledStacks, StackKinds
from tracekit.report.viewmodel.tree import prune

MOST_EXACT = 120_000
"""The most samples that a report lists one by one: such a page weighs a megabyte."""
MOST_EXACT_WITH_SERVER = 20_000_000
"""The most that the dashboard's page lists; each takes some 14 bytes of the browser's memory."""
_MOST_ROWS = 160_000
_MOST_NODES_FULL, _MOST_NODES_WITH_SERVER = 100_000, 1_000_000
_DETAILS = (
    *((4_096, 6_000), (2_048, 6_000), (1_024, 6_000), (512, 6_000), (512, 3_000), (512, 1_500)),
    *((256, 1_500), (256, 750), (256, 375), (128, 375), (128, 190), (64, 190)),
)
"""Bins of time and nodes of the call tree, from the finest picture to one that fits any recording."""
_MOST_CUT_WINDOWS = 2_000
"""The most windows whose edges cut bins, so that the sums of a window contain its own samples only."""
_MOST_STEP_NS = 1 << 32


def build_view_samples(
    analysis: Analysis, lane_of_thread: Ints, duration_ns: int, full: bool = False, with_server: bool = False
) -> tuple[SampleRows, LabelledStacks, CallTree]:
    """Return the samples, the stacks that they point into, and the call tree of these.

    ``lane_of_thread`` has one entry per row of ``Trace.threads``, and one more for samples without a thread.
    With ``full`` every sample has a row, however many there are, and the tree has far more nodes; so it is
    with a server, up to ``MOST_EXACT_WITH_SERVER``.
    """
    kinds = StackKinds.of(analysis)
    per_stack = _sum_weight_by_stack(analysis)
    most_exact = MOST_EXACT_WITH_SERVER if with_server else MOST_EXACT
    if full or not analysis.trace.has_timeline or len(analysis.trace.samples) <= most_exact:
        most_nodes = _MOST_NODES_FULL if full else _DETAILS[0][1]
        tree = prune(analysis.call_tree, per_stack, _MOST_NODES_WITH_SERVER if with_server else most_nodes)
        stacks = LabelledStacks.of(analysis, kinds, tree)
        return _list_each_sample(analysis, lane_of_thread, stacks.of_kinds[kinds.of_samples]), stacks, tree
    # Sum up ever more coarsely until few enough rows remain; the coarsest detail is used whatever its size.
    # The pruned tree is rebuilt only where the number of nodes changes: neighbouring details often differ
    # in their bins alone.
    bins_of_samples, tree_size = SampleBins(analysis, lane_of_thread, kinds.of_samples), 0
    for bins, nodes in _DETAILS:
        width = max(duration_ns, 1) / bins
        if nodes != tree_size:
            tree_size = nodes
            tree = prune(analysis.call_tree, per_stack, tree_size)
            stacks = LabelledStacks.of(analysis, kinds, tree)
        max_rows = _MOST_ROWS if (bins, nodes) != _DETAILS[-1] else None
        rows = bins_of_samples.summed(
            stacks.of_kinds, width, _choose_edges(analysis.window_rows, bins, width), max_rows
        )
        if rows is not None:
            return rows, stacks, tree
    raise AssertionError


def _list_each_sample(analysis: Analysis, lane_of_thread: Ints, stack: IntArray) -> SampleRows:
    trace = analysis.trace
    lane = lane_of_thread[trace.samples["thread_id"].to_numpy(np.int64)]
    time = trace.samples["time_ns"].to_numpy(np.int64)
    # Two stable sorts instead of one by two keys: the recording is in time order already, which makes the
    # first cheap, and NumPy sorts narrow numbers by their digits.
    order = np.argsort(time, kind="stable")
    order = order[np.argsort(lane.astype(np.min_scalar_type(int(lane.max(initial=0))))[order], kind="stable")]
    return SampleRows(
        0.0, np.zeros(0), lane[order], time[order], stack[order], trace.weights[order],
        trace.sample_counts[order],
    )  # fmt: skip


def _sum_weight_by_stack(analysis: Analysis) -> Floats:
    """Return the weight of each stack, then that of each joined one, which is in its worker's as well."""
    joined_stacks, count = analysis.joined, len(analysis.trace.stacks)
    weight: Floats = np.zeros(1 + count + len(joined_stacks))
    for block in iter_row_blocks(len(joined_stacks.stack)):
        weight += np.bincount(joined_stacks.stack[block] + 1, analysis.trace.weights[block], len(weight))
    weight[1:] += np.bincount(joined_stacks.worker, weight[1 + count :], len(weight) - 1)
    return weight[1:]


def _choose_edges(windows: pd.DataFrame, bins: int, width: float) -> Floats:
    # Bins, cut where windows begin and end:
    #   bins      |        |        |        |
    #   window         [───────────)
    #   edges     |    |   |       ||        |     no piece lies half inside a window
    edges = np.arange(bins + 1) * width
    if len(windows) <= _MOST_CUT_WINDOWS:
        edges = np.concatenate(
            [edges, windows["start_ns"].to_numpy(float), windows["end_ns"].to_numpy(float)]
        )
    distinct: Floats = np.unique(edges)
    return distinct


def build_samples_document(arrays: Arrays, rows: SampleRows, lanes: int) -> dict[str, Any]:
    """Return the header's fields of the samples of ``lanes`` lanes, and add their columns to ``arrays``."""
    return {
        "count": len(rows.time),
        "of_lane": arrays.add(np.bincount(rows.lane, minlength=lanes), "u4"),
        **(_encode_times(arrays, rows) if rows.bin_ns == 0 else _encode_edges(arrays, rows)),
        "stack": arrays.add(rows.stack, _choose_type(rows.stack)),
        "weight": _add_column(arrays, rows.weight),
        "number": _add_column(arrays, rows.number),
    }


def compute_samples_digest(rows: SampleRows) -> str:
    """Return a text by which a page recognises the samples of its own analysis."""
    digest = hashlib.sha256()
    for column in (rows.lane, rows.time, rows.stack, rows.weight, rows.number):
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()[:32]


def _encode_times(arrays: Arrays, rows: SampleRows) -> dict[str, Any]:
    """Return the times as steps from row to row, and those of rows that no step of 32 bits leads to."""
    time = rows.time.astype(np.int64)
    step = np.diff(time, prepend=0)
    # Times ascend within a lane, and begin anew with the next. A thread may sleep for longer than 4 s.
    jumps = np.flatnonzero((step < 0) | (step >= _MOST_STEP_NS))
    step[jumps] = 0
    return {
        "step": arrays.add(step, "u4"),
        "jump_row": arrays.add(jumps, "u4"),
        "jump_time": arrays.add(time[jumps], "f8"),
    }


def _encode_edges(arrays: Arrays, rows: SampleRows) -> dict[str, Any]:
    """Return the edges between pieces of time, and at which of them each row begins."""
    edge = np.searchsorted(rows.edges, rows.time)
    return {"edges": arrays.add(rows.edges, "f8"), "edge": arrays.add(edge, _choose_type(edge))}


def _choose_type(numbers: Ints) -> str:
    return "u2" if numbers.max(initial=0) < 1 << 16 else "u4"


def _add_column(arrays: Arrays, values: Ints | Floats) -> str | float:
    """Add a column, or return the number that all rows have."""
    values_of_ends: Sequence[float] = [] if not len(values) else [float(values.min()), float(values.max())]
    if len(set(values_of_ends)) <= 1:
        return values_of_ends[0] if values_of_ends else 1
    return arrays.add(values, _find_smallest_type(values))


def _find_smallest_type(values: Ints | Floats) -> str:
    """Return the smallest type that stores these values exactly."""
    # Weights in nanoseconds are whole and mostly below 2^32: four bytes instead of eight for each sample of
    # the page.
    is_whole = values.dtype.kind != "f" or bool((values == np.floor(values)).all())
    return "u4" if is_whole and values.min() >= 0 and values.max() < 1 << 32 else "f8"
