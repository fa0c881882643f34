"""The samples of a view: each one, or their sums by bin of time, lane, call-tree node, engine and phase.

A page with a server gets only the sums of the whole run, and fetches tiles and the sums of a selection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.call_tree import CallTree
from tracekit.analysis.engines.codes import sums
from tracekit.analysis.result import Analysis
from tracekit.model.combinations import blocks
from tracekit.model.vocabulary import ENGINES, PHASES
from tracekit.report.viewmodel.binned import Floats, Ints, SampleBins, ViewSamples
from tracekit.report.viewmodel.payload import Arrays
from tracekit.report.viewmodel.tree import WholeTree, behind_pruned, prune

MOST_EXACT = 120_000
"""The most samples that a page lists one by one: such a page weighs a megabyte."""
_MOST_ROWS = 160_000
_MOST_NODES_FULL = 100_000
_DETAILS = (
    *((4_096, 6_000), (2_048, 6_000), (1_024, 6_000), (512, 6_000), (512, 3_000), (512, 1_500)),
    *((256, 1_500), (256, 750), (256, 375), (128, 375), (128, 190), (64, 190)),
)
"""Bins of time and nodes of the call tree, from the finest picture to one that fits any recording."""
_MOST_CUT_WINDOWS = 2_000
"""The most windows whose edges cut bins, so that the sums of a window contain its own samples only."""


@dataclass(frozen=True)
class Calls:
    """The distinct combinations of stack, engine and phase that samples have, sorted by engine.

    ``of_samples`` is the combination of each sample of the trace. Stack -1 and phase -1 are none. ``joined``
    is the joined stack, ``stack`` where there is none.
    """

    of_samples: Ints
    stack: Ints
    engine: Ints
    phase: Ints
    joined: Ints

    def __len__(self) -> int:
        return len(self.stack)


@dataclass(frozen=True)
class NodeSums:
    """Sums by call-tree node, engine and phase; parallel arrays. Node -1 stands for "no stack"."""

    node: Ints
    engine: Ints
    phase: Ints
    weight: Floats
    number: Ints
    joined: Ints


def view_samples(
    analysis: Analysis, lane_of_thread: Ints, duration_ns: int, full: bool
) -> tuple[ViewSamples, CallTree]:
    """Return the samples and the call tree that they point into.

    ``lane_of_thread`` has one entry per row of ``Trace.threads``, and one more for samples without a thread.
    With ``full`` every sample has a row, however many there are, and the tree has far more nodes.
    """
    whole = analysis.call_tree
    per_stack = _weight_of_stacks(analysis)
    if full or not has_many_samples(analysis):
        tree = prune(whole, per_stack, _MOST_NODES_FULL if full else _DETAILS[0][1])
        return _each_sample(analysis, lane_of_thread, tree), tree
    # Sum up ever more coarsely until few enough rows remain; the coarsest detail is used whatever its size.
    # The pruned tree is made anew only where the number of nodes changes: neighbouring details often differ
    # in their bins alone.
    bins_of_samples, tree_size = SampleBins(analysis, lane_of_thread), 0
    for bins, nodes in _DETAILS:
        width = max(duration_ns, 1) / bins
        if nodes != tree_size:
            tree_size = nodes
            tree = prune(whole, per_stack, tree_size)
        most = _MOST_ROWS if (bins, nodes) != _DETAILS[-1] else None
        samples = bins_of_samples.summed(tree, width, _edges(analysis.window_rows, bins, width), most)
        if samples is not None:
            return samples, tree
    raise AssertionError


def _each_sample(analysis: Analysis, lane_of_thread: Ints, tree: CallTree) -> ViewSamples:
    trace, labels = analysis.trace, analysis.labels
    order = np.argsort(trace.samples["time_ns"].to_numpy(), kind="stable")
    return ViewSamples(
        0.0,
        np.zeros(0),
        trace.samples["time_ns"].to_numpy(np.float64)[order],
        lane_of_thread[trace.samples["thread_id"].to_numpy(np.int64)[order]],
        # The appended -1 is the node of samples without a stack, whose stack is -1.
        np.append(tree.leaf, -1)[trace.samples["stack_id"].to_numpy(np.int64)[order]],
        trace.weights.astype(np.float64)[order],
        trace.sample_counts[order],
        labels.engine.astype(np.int64)[order],
        labels.phase.astype(np.int64)[order],
        np.append(tree.leaf, -1)[analysis.joined.stack[order]],
    )


def has_many_samples(analysis: Analysis) -> bool:
    """Return True if a page cannot list every sample; rows without times are few, and have no bins."""
    return analysis.trace.has_timeline and len(analysis.trace.samples) > MOST_EXACT


def page_tree(analysis: Analysis) -> CallTree:
    """Return the call tree of a page with a server."""
    return prune(analysis.call_tree, _weight_of_stacks(analysis), _MOST_NODES_FULL)


def server_tree(analysis: Analysis) -> WholeTree:
    """Return the nodes of ``page_tree``, followed by those that it lacks."""
    return behind_pruned(analysis.call_tree, _weight_of_stacks(analysis), _MOST_NODES_FULL)


def _weight_of_stacks(analysis: Analysis) -> Floats:
    """Return the weight of each stack, then that of each joined one, which is in its worker's as well."""
    joined, count = analysis.joined, len(analysis.trace.stacks)
    weight: Floats = np.zeros(1 + count + len(joined))
    for block in blocks(len(joined.stack)):
        weight += np.bincount(joined.stack[block] + 1, analysis.trace.weights[block], len(weight))
    weight[1:] += np.bincount(joined.worker, weight[1 + count :], len(weight) - 1)
    return weight[1:]


def calls_of(analysis: Analysis) -> Calls:
    """Return the calls of all samples."""
    # One integer per sample holds all three: (engine × stacks + stack + 1) × phases + phase + 1. The stack is
    # the joined one, which tells the worker's.
    joined, phases = analysis.joined, len(PHASES) + 1
    stacks = len(analysis.trace.stacks) + len(joined) + 1
    key = analysis.labels.engine.astype(np.int64) * stacks
    key += joined.stack + 1
    key = key * phases + analysis.labels.phase + 1
    distinct = np.sort(pd.unique(key))
    of_samples = pd.Index(distinct).get_indexer(pd.Index(key)).astype(np.int64)
    stack = distinct // phases % stacks - 1
    workers = np.append(np.arange(len(analysis.trace.stacks)), [*joined.worker, -1])
    return Calls(of_samples, workers[stack], distinct // phases // stacks, distinct % phases - 1, stack)


def node_sums(calls: Calls, node: Ints, joined: Ints, weight: Floats, number: Ints) -> NodeSums:
    """Return the sums of the calls that have samples; the other arguments have an entry per call.

    Where no stack is joined, ``joined`` is ``node`` itself.
    """
    rows = np.flatnonzero(number)
    # Node, engine and phase as one number; -1 (no stack, no phase) becomes digit 0.
    key = ((node + 1) * (len(ENGINES) + 1) + calls.engine) * (len(PHASES) + 1) + calls.phase + 1
    if joined is not node:
        places = pd.factorize(joined)[0]
        key = key * (int(places.max(initial=0)) + 1) + places
    _, first, inverse = np.unique(key[rows], return_index=True, return_inverse=True)
    representative = rows[first]
    return NodeSums(
        node[representative],
        calls.engine[representative],
        calls.phase[representative],
        np.bincount(inverse, weight[rows], len(first)).astype(np.float64),
        np.bincount(inverse, number[rows], len(first)).astype(np.int64),
        joined[representative],
    )


def run_sums(analysis: Analysis, tree: CallTree) -> NodeSums:
    """Return the sums of the whole run."""
    calls = calls_of(analysis)
    weight: Floats = np.bincount(
        calls.of_samples, analysis.trace.weights.astype(np.float64), len(calls)
    ).astype(np.float64)
    number = sums(calls.of_samples, analysis.trace.sample_counts, len(calls))
    leaf = np.append(tree.leaf, -1)
    return node_sums(calls, leaf[calls.stack], leaf[calls.joined], weight, number)


def _edges(windows: pd.DataFrame, bins: int, width: float) -> Floats:
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


def sums_document(arrays: Arrays, rows: NodeSums | ViewSamples) -> dict[str, Any]:
    """Return the header's fields of samples or their sums, and add their arrays to ``arrays``."""
    # 0 where the joined node is the node: most rows of most recordings, which compress to nothing.
    is_joined = rows.joined != rows.node
    places = np.where(is_joined, rows.joined + 1, 0) % (1 << 32)  # dropped ones, -1, are above all others
    joined = {"joined": arrays.add(places, "u4")} if is_joined.any() else {}
    return {
        **joined,
        "count": len(rows.node),
        "node": arrays.add(rows.node, "i4"),
        "weight": arrays.add(rows.weight, _smallest_type(rows.weight)),
        "number": arrays.add(rows.number, "u4"),
        # Engine and phase share a byte. Phase -1 (none) becomes the number after the last phase.
        "kind": arrays.add(rows.engine << 4 | rows.phase % (len(PHASES) + 1), "u1"),
    }


def _smallest_type(values: Floats) -> str:
    """Return the smallest type that stores these values exactly."""
    # Weights in nanoseconds are whole and mostly below 2^32: four bytes instead of eight for each sample of
    # the page.
    whole = bool(len(values)) and values.max() < 1 << 32 and bool((values == np.floor(values)).all())
    return "u4" if whole and values.min() >= 0 else "f8"
