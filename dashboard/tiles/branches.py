"""The branches of the call tree that a selection needs and the page does not have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dashboard.tiles.columns import Array, Bools, Ints, Samples
from tracekit.report.viewmodel.tree import CUT_OFF, ROOT

MOST_NODES = 50_000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Branches:
    """Nodes behind the page's, parents before children, and for each call where it ends.

    ``function`` is as in the columns; what is left out ends below its last node in one with the flag 2.
    """

    parent: Ints
    function: Ints
    flags: Ints
    node: Ints


def branches_of(samples: Samples, weight: Floats, number: Ints) -> Branches:
    """Return the heaviest of the nodes that calls of so much weight and so many samples need."""
    leaf = samples["call_node"].astype(np.int64)
    page = samples.page_nodes
    behind = np.flatnonzero((leaf >= page) & (number > 0))
    node = np.where(leaf < page, leaf, ROOT)
    if not len(behind):
        none = np.zeros(0, np.int64)
        return Branches(none, none, none, node)
    parent = samples["tree_parent"][page:].astype(np.int64) - page  # negative: the page's
    places = leaf[behind] - page
    levels = [(start - page, end - page) for start, end in pairwise(samples.levels)]
    kept = _heaviest(_totals(parent, levels, places, weight[behind]), MOST_NODES)
    last = _last_kept(parent, levels, kept, page)
    is_left = ~kept[places]
    node[behind] = last[places]
    ends, which = _ends(samples, node[behind[is_left]], page + int(kept.sum()))
    node[behind[is_left]] = which
    chosen = np.flatnonzero(kept)
    of_less = int(samples["tree_function"][page - 1])  # the last of the page's is such a node
    less = np.full(len(ends), of_less, np.int64)
    return Branches(
        np.concatenate([_numbers(parent[chosen], last, page), ends]),
        np.concatenate([samples["tree_function"][page:][chosen], less]),
        np.concatenate([samples["tree_flags"][page:][chosen], np.full(len(ends), CUT_OFF)]),
        node,
    )


def _totals(parent: Ints, levels: list[tuple[int, int]], leaf: Ints, weight: Floats) -> Floats:
    total = np.bincount(leaf, weight, len(parent)).astype(np.float64)
    for (top, middle), (_, end) in reversed(list(pairwise(levels))):
        there = middle + np.flatnonzero(total[middle:end])
        there = there[parent[there] >= 0]
        total[top:middle] += np.bincount(parent[there] - top, total[there], middle - top)
    return total


def _heaviest(total: Floats, most: int) -> Bools:
    """A node weighs at least as much as any below it, and comes first: what is kept is connected."""
    kept: Bools = total > 0
    if int(kept.sum()) <= most:
        return kept
    least = np.partition(total, len(total) - most)[len(total) - most]
    kept = total > least
    kept[np.flatnonzero(total == least)[: most - int(kept.sum())]] = True
    return kept


def _last_kept(parent: Ints, levels: list[tuple[int, int]], kept: Bools, page: int) -> Ints:
    """Return the last node on the way to each that there is, as the answer numbers them; -1 is none."""
    last: Ints = page + np.cumsum(kept) - 1
    for start, end in levels:
        left = start + np.flatnonzero(~kept[start:end])
        last[left] = _numbers(parent[left], last, page)
    return last


def _numbers(node: Ints, last: Ints, page: int) -> Ints:
    """Return the answer's numbers of the page's nodes, which are negative here, and of others."""
    numbers: Ints = np.where(node < 0, node + page, last[np.maximum(node, 0)])
    return numbers


def _ends(samples: Samples, last: Ints, first: int) -> tuple[Ints, Array]:
    """Return the last nodes below which more must be said to be, and where samples that end there go.

    The page has such a node below each of its own where something was cut off; ``first`` is the next number.
    """
    page = samples.page_nodes
    own = np.full(page + 1, ROOT, np.int64)
    cut = np.flatnonzero(samples["tree_flags"][:page] == CUT_OFF)
    own[samples["tree_parent"][cut]] = cut
    ends = np.unique(last[last >= page])
    return ends, np.where(last < page, own[np.minimum(last, page)], first + np.searchsorted(ends, last))
