"""The call tree of unique stacks: each function of each path once, root first."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracekit.model.tables import StackTable

ROOT = -1
SYSTEM, CUT_OFF = 1, 2
"""Flags of nodes: in a system library; what was cut off below its parent."""
_SYSTEM = re.compile(
    r"(?:.*/Symbols|.*/RuntimeRoot|.*/Cryptexes/OS)?/(?:System|usr/lib|usr/libexec|Library/Apple)/"
)
"""Where the system's libraries lie; below another folder in device support and in simulators."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CallTree:
    """Nodes with their parents before them.

    ``parent`` is -1 for a root; ``function`` is a row of ``symbols`` and ``binaries``, -1 for what was cut
    off; ``leaf`` is the node of each stack's leaf, -1 for an empty stack.
    """

    parent: Ints
    function: Ints
    leaf: Ints
    symbols: npt.NDArray[np.object_]
    binaries: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True)
class WholeTree:
    """A whole tree whose first ``page`` nodes are those of ``prune``, with what stands for the others.

    These follow depth by depth; the first of each depth and their end are ``levels``.
    """

    nodes: CallTree
    page: int
    levels: tuple[int, ...]


def build_tree(stacks: StackTable) -> CallTree:
    """Return the call tree of all stacks; frames of one function at several addresses are one node."""
    function, symbols, binaries = functions_of(stacks)
    counts = np.diff(stacks.offsets)
    at = np.full(len(stacks), ROOT, np.int64)  # the node that each stack has reached
    parents, functions = [], []
    made = 0
    for depth in range(int(counts.max(initial=0))):
        going = np.flatnonzero(counts > depth)
        row = function[stacks.frame_ids[stacks.offsets[going + 1] - 1 - depth]]
        key = (at[going] + 1) * len(symbols) + row
        distinct, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        parents.append(at[going][first])
        functions.append(row[first])
        at[going] = made + inverse
        made += len(distinct)
    none = np.zeros(0, np.int64)
    return CallTree(
        np.concatenate([none, *parents]), np.concatenate([none, *functions]), at, symbols, binaries
    )


def functions_of(stacks: StackTable) -> tuple[Ints, npt.NDArray[np.object_], Ints]:
    """Return each frame's function, and the functions' symbols and rows of ``stacks.binaries``."""
    named = stacks.frames[["symbol", "binary_id"]]
    groups = named.groupby(["symbol", "binary_id"], sort=False).ngroup()
    rows: Ints = np.asarray(groups, np.int64)
    distinct = named.drop_duplicates()
    symbols: npt.NDArray[np.object_] = distinct["symbol"].to_numpy(object)
    binaries: Ints = distinct["binary_id"].to_numpy(np.int64)
    return rows, symbols, binaries


def totals(tree: CallTree, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return each node's weight with all below it, in a whole tree; ``weights`` are those of the stacks."""
    there = tree.leaf >= 0
    total = np.bincount(tree.leaf[there], weights[there], len(tree)).astype(np.float64)
    for start, end in reversed(_levels(tree)):
        own = tree.parent[start:end]
        inside = own >= 0
        total += np.bincount(own[inside], total[start:end][inside], len(tree))
    return total


def prune(tree: CallTree, weights: npt.NDArray[np.float64], most: int) -> CallTree:
    """Return the ``most`` heaviest nodes; what was cut off hangs below the last node kept, as function -1.

    A node weighs at least as much as any below it, so what is kept is connected. ``tree`` is a whole one.
    """
    if len(tree) <= most:
        return tree
    kept = _heaviest(tree, weights, most)
    number = np.cumsum(kept) - 1
    last = np.full(len(tree) + 1, ROOT, np.int64)  # the last kept node on the way to each; -1 at the end
    for start, end in _levels(tree):
        own = np.arange(start, end)
        last[start:end] = np.where(kept[start:end], number[own], last[tree.parent[start:end]])
    there = tree.leaf >= 0
    cut = there & ~np.append(kept, True)[tree.leaf]
    ends = np.unique(last[tree.leaf[cut]])
    leaf = np.where(there, last[tree.leaf], ROOT)
    leaf[cut] = most + np.searchsorted(ends, last[tree.leaf[cut]])
    old_parent = tree.parent[kept]
    parent = np.where(old_parent >= 0, number[old_parent], ROOT)
    return CallTree(
        np.concatenate([parent, ends]),
        np.concatenate([tree.function[kept], np.full(len(ends), ROOT, np.int64)]),
        leaf,
        tree.symbols,
        tree.binaries,
    )


def behind_pruned(tree: CallTree, weights: npt.NDArray[np.float64], most: int) -> WholeTree:
    """Return the nodes of ``prune`` and behind them those that it cut off, which ``leaf`` points to."""
    page = prune(tree, weights, most)
    if page is tree:
        return WholeTree(tree, len(tree), (len(tree),))
    kept = _heaviest(tree, weights, most)
    number = np.append(np.where(kept, np.cumsum(kept) - 1, len(page) + np.cumsum(~kept) - 1), ROOT)
    cut = [int((~kept[start:end]).sum()) for start, end in _levels(tree)]
    nodes = CallTree(
        np.concatenate([page.parent, number[tree.parent[~kept]]]),
        np.concatenate([page.function, tree.function[~kept]]),
        number[tree.leaf],
        tree.symbols,
        tree.binaries,
    )
    return WholeTree(nodes, len(page), tuple((len(page) + np.cumsum([0, *cut])).tolist()))


def _heaviest(tree: CallTree, weights: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.bool_]:
    order = np.lexsort((np.arange(len(tree)), -totals(tree, weights)))
    kept = np.zeros(len(tree), np.bool_)
    kept[order[:most]] = True
    return kept


def _levels(tree: CallTree) -> list[tuple[int, int]]:
    """Return the rows of each depth: a whole tree's nodes are numbered depth by depth, parents in order."""
    levels = [(0, int(np.searchsorted(tree.parent, 0)))]
    while levels[-1][1] > levels[-1][0]:
        end = levels[-1][1]
        levels.append((end, int(np.searchsorted(tree.parent, end))))
    return levels[:-1]


def are_system(paths: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Return which binaries came with the system, by where macOS and its kin keep them."""
    return np.array([bool(_SYSTEM.match(str(path))) for path in paths], bool)


def node_flags(tree: CallTree, paths: npt.NDArray[np.object_]) -> Ints:
    """Return the flags of each node; ``paths`` are those of the binaries."""
    system = np.append(are_system(paths), False)[np.append(tree.binaries, -1)]
    flags: Ints = np.where(tree.function < 0, CUT_OFF, np.where(system[tree.function], SYSTEM, 0))
    return flags
