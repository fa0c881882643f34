"""Branches of the call tree that a selection needs in addition to the page's tree.

The page has the first ``page_nodes`` nodes of the tree. The others follow by depth, so that ``levels`` cut
them into runs and totals can be added up level by level, without recursion::

    node      0 … page-1 │ page …                                  ┐ the columns
    depth     (any)      │ d │ d d d │ d+1 d+1 … │ d+2 …            ┘
    here      negative   │ 0 … as node - page"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dashboard.tiles.sample_columns import Array, Bools, Ints, SampleColumns
from tracekit.analysis.call_tree import ROOT
from tracekit.report.viewmodel.tree import CUT_OFF

MOST_NODES = 50_000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Branches:
    """Nodes after the page's, parents before children, and the last node of each call.

    ``function`` is as in the columns. A stack that is cut off ends in a node with the flag 2 below the last
    node that is sent.
    """

    parent: Ints
    function: Ints
    flags: Ints
    node: Ints


@dataclass(frozen=True)
class NodeColumns:
    """A call tree of which the reader has the first ``page`` nodes; the others follow by depth.

    ``less`` is the function of cut-off nodes.
    """

    parent: Array
    function: Array
    flags: Array
    page: int
    levels: tuple[int, ...]
    less: int


def recorded_nodes(samples: SampleColumns) -> NodeColumns:
    """Return the recording's call tree; the reader has the page's nodes."""
    parent, function, flags = (samples[f"tree_{name}"] for name in ("parent", "function", "flags"))
    page = samples.page_nodes
    less = (
        int(function[page - 1]) if page else ROOT
    )  # where nodes are cut off, the page's last stands for some
    return NodeColumns(parent, function, flags, page, samples.levels, less)


def branches_of(tree: NodeColumns, leaf: Ints, weight: Floats, number: Ints) -> Branches:
    """Return the heaviest of the nodes that calls with these leaves, weights and numbers of samples need."""
    page = tree.page
    behind = np.flatnonzero((leaf >= page) & (number > 0))
    node = np.where(leaf < page, leaf, ROOT)
    if not len(behind):
        none = np.zeros(0, np.int64)
        return Branches(none, none, none, node)
    parent = tree.parent[page:].astype(np.int64) - page  # negative: a node of the page
    # From here on nodes are numbered from the first one that the page lacks; those of the page are negative.
    places = leaf[behind] - page
    levels = [(start - page, end - page) for start, end in pairwise(tree.levels)]
    sent = _heaviest(_totals(parent, levels, places, weight[behind]), MOST_NODES)
    last = _last_kept(parent, levels, sent, page)
    is_cut = ~sent[places]
    node[behind] = last[places]
    ends, which = _ends(tree, node[behind[is_cut]], page + int(sent.sum()))
    node[behind[is_cut]] = which
    # The response has the chosen nodes in their order, then one cut-off node below each that lost
    # descendants.
    chosen = np.flatnonzero(sent)
    less = np.full(len(ends), tree.less, np.int64)
    return Branches(
        np.concatenate([_numbers(parent[chosen], last, page), ends]),
        np.concatenate([tree.function[page:][chosen], less]),
        np.concatenate([tree.flags[page:][chosen], np.full(len(ends), CUT_OFF)]),
        node,
    )


def _totals(parent: Ints, levels: list[tuple[int, int]], leaf: Ints, weight: Floats) -> Floats:
    # From the deepest level up: when a level is added to its parents, its own totals are complete.
    total = np.bincount(leaf, weight, len(parent)).astype(np.float64)
    for (top, middle), (_, end) in reversed(list(pairwise(levels))):
        weighted = middle + np.flatnonzero(total[middle:end])
        weighted = weighted[parent[weighted] >= 0]
        total[top:middle] += np.bincount(parent[weighted] - top, total[weighted], middle - top)
    return total


def _heaviest(total: Floats, most: int) -> Bools:
    """Return the heaviest nodes.

    A node weighs at least as much as each descendant and precedes them, so the result is connected.
    """
    sent: Bools = total > 0
    if int(sent.sum()) <= most:
        return sent
    # The weight of the last node that fits; of nodes of exactly that weight, the first ones fill the rest.
    least = np.partition(total, len(total) - most)[len(total) - most]
    sent = total > least
    sent[np.flatnonzero(total == least)[: most - int(sent.sum())]] = True
    return sent


def _last_kept(parent: Ints, levels: list[tuple[int, int]], sent: Bools, page: int) -> Ints:
    """Return the last sent node on the path to each node, as the response numbers it; -1 for none."""
    last: Ints = page + np.cumsum(sent) - 1
    # Level by level from the top: a node that is not sent takes the number of its parent, which is final by
    # then.
    for start, end in levels:
        left = start + np.flatnonzero(~sent[start:end])
        last[left] = _numbers(parent[left], last, page)
    return last


def _numbers(node: Ints, last: Ints, page: int) -> Ints:
    """Return the response's numbers of nodes; the page's nodes are negative here."""
    numbers: Ints = np.where(node < 0, node + page, last[np.maximum(node, 0)])
    return numbers


def _ends(tree: NodeColumns, last: Ints, first: int) -> tuple[Ints, Array]:
    """Return the nodes that need a cut-off node below them, and the cut-off node of each of ``last``.

    The page has its own cut-off nodes; the others are numbered from ``first``. ``ROOT`` needs one only where
    there is no page.
    """
    page = tree.page
    cut_off_child = np.full(page + 1, ROOT, np.int64)
    cut = np.flatnonzero(tree.flags[:page] == CUT_OFF)
    cut_off_child[tree.parent[cut]] = cut
    is_new = (last >= page) | (page == 0)
    ends = np.unique(last[is_new])
    return ends, np.where(is_new, first + np.searchsorted(ends, last), cut_off_child[np.minimum(last, page)])
