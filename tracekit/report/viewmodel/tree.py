"""The heaviest part of a call tree, and what is known of each node."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.analysis.call_tree import ROOT, CallTree, Ints
from tracekit.analysis.classification.frame_names import SYSTEM_FOLDER

SYSTEM, CUT_OFF = 1, 2
"""Flags of nodes: a function of a system library; the rest of what pruning cut off below the parent."""


def sum_totals(tree: CallTree, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return each node's weight including all nodes below it; ``weights`` are those of the stacks.

    ``tree`` must be a whole one.
    """
    filled = tree.leaf >= 0
    # At first each node has the weight of the stacks that end there (its own).
    total = np.bincount(tree.leaf[filled], weights[filled], len(tree)).astype(np.float64)
    # From the deepest level up, each level hands its finished totals to its parents.
    for start, end in reversed(_list_levels(tree)):
        parents = tree.parent[start:end]
        has_parent = parents >= 0
        total += np.bincount(parents[has_parent], total[start:end][has_parent], len(tree))
    return total


def prune(tree: CallTree, weights: npt.NDArray[np.float64], max_nodes: int) -> CallTree:
    """Return the ``max_nodes`` heaviest nodes; below a node that lost descendants, one node of function -1
    stands for all of them. ``tree`` must be a whole one.
    """
    # With max_nodes = 3:
    #   main 9 ─ a 6 ─ b 5          main 9 ─ a 6 ─ b 5
    #              └ c 1      →                └ (-1) 1
    #          └ d 3 ─ e 3                └ (-1) 3
    return tree if len(tree) <= max_nodes else _prune_tree(tree, _mark_heaviest(tree, weights, max_nodes))


def _prune_tree(tree: CallTree, remains: npt.NDArray[np.bool_]) -> CallTree:
    # A node weighs at least as much as any below it, and at equal weight the parent comes first: the heaviest
    # nodes, which remain, form a tree, and every cut-off node has a remaining ancestor (or is below ROOT).
    number = np.cumsum(remains) - 1  # of a remaining node, its number in the new tree
    # The nearest remaining node at or above each node; the extra entry is the parent of roots, ROOT.
    nearest = np.full(len(tree) + 1, ROOT, np.int64)
    for start, end in _list_levels(tree):
        level = slice(start, end)
        nearest[level] = np.where(remains[level], number[level], nearest[tree.parent[level]])
    filled = tree.leaf >= 0
    cut = filled & ~np.append(remains, True)[tree.leaf]
    rest_parents = np.unique(nearest[tree.leaf[cut]])
    leaf = np.where(filled, nearest[tree.leaf], ROOT)
    # The nodes for cut-off ones follow the remaining ones, one per parent that lost descendants.
    leaf[cut] = np.count_nonzero(remains) + np.searchsorted(rest_parents, nearest[tree.leaf[cut]])
    old_parent = tree.parent[remains]
    parent = np.where(old_parent >= 0, number[old_parent], ROOT)
    return CallTree(
        np.concatenate([parent, rest_parents]),
        np.concatenate([tree.function[remains], np.full(len(rest_parents), ROOT, np.int64)]),
        leaf,
        tree.symbols,
        tree.binaries,
    )


def _mark_heaviest(tree: CallTree, weights: npt.NDArray[np.float64], max_nodes: int) -> npt.NDArray[np.bool_]:
    """Mark the ``max_nodes`` heaviest nodes; of equal ones the first, which is nearer to the root."""
    total = sum_totals(tree, weights)
    threshold = np.partition(total, len(total) - max_nodes)[len(total) - max_nodes]  # the least marked total
    mask: npt.NDArray[np.bool_] = total > threshold
    mask[np.flatnonzero(total == threshold)[: max_nodes - np.count_nonzero(mask)]] = True
    return mask


def _list_levels(tree: CallTree) -> list[tuple[int, int]]:
    """Return the range of nodes of each depth: a whole tree is numbered depth by depth, sorted by parent."""
    # Parents ascend, so the nodes of the next depth end where parents reach the end of this one.
    levels = [(0, int(np.searchsorted(tree.parent, 0)))]
    while levels[-1][1] > levels[-1][0]:
        end = levels[-1][1]
        levels.append((end, int(np.searchsorted(tree.parent, end))))
    return levels[:-1]


def mark_system_binaries(paths: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Mark the binaries of the operating system, by the folders where Apple's systems keep them."""
    return np.array([bool(SYSTEM_FOLDER.match(str(path))) for path in paths], bool)


def compute_node_flags(tree: CallTree, paths: npt.NDArray[np.object_]) -> Ints:
    """Return the flags of each node; ``paths`` are those of the binaries."""
    system = np.append(mark_system_binaries(paths), False)[np.append(tree.binaries, -1)]
    flags: Ints = np.where(tree.function < 0, CUT_OFF, np.where(system[tree.function], SYSTEM, 0))
    return flags
