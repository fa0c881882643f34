"""The call tree of unique stacks: each function of each path once, root first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.analysis.classification.frame_names import SYSTEM_FOLDER
from tracekit.analysis.engines.joined import Joined
from tracekit.model.tables import StackTable

ROOT = -1
SYSTEM, CUT_OFF = 1, 2
"""Flags of nodes: a function of a system library; the rest of what pruning cut off below the parent."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CallTree:
    """Nodes, each after its parent.

    ``parent`` is -1 for a root; ``function`` is a row of ``symbols`` and ``binaries``, -1 for a node that
    stands for cut-off ones; ``leaf`` is the node of each stack's innermost frame, -1 for an empty stack.
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
    """A whole tree whose first ``page`` nodes are those of ``prune``, including the nodes for cut-off ones.

    The nodes that were cut off follow depth by depth; ``levels`` are the first of each depth and their end.
    """

    nodes: CallTree
    page: int
    levels: tuple[int, ...]


def build_tree(stacks: StackTable, joined: Joined | None = None) -> CallTree:
    """Return the call tree of all stacks; frames of one function at several addresses are one node.

    Joined stacks follow those of the table, each with a node that marks the join.
    """
    function, symbols, binaries = functions_of(stacks)
    offsets, frame_ids = stacks.offsets, stacks.frame_ids
    if joined is not None and len(joined):
        marks = np.array([worker_mark(label) for label in joined.labels], object)
        function = np.append(function, len(symbols) + np.arange(len(marks)))
        symbols = np.append(symbols, marks)
        binaries = np.append(binaries, np.full(len(marks), -1, np.int64))
        offsets = np.append(offsets, offsets[-1] + joined.offsets[1:])
        frame_ids = np.append(frame_ids, joined.frame_ids)
    return grow_tree(offsets, frame_ids, function, symbols, binaries)


def grow_tree(
    offsets: Ints,
    frame_ids: npt.NDArray[np.integer[Any]],
    function: Ints,
    symbols: npt.NDArray[np.object_],
    binaries: Ints,
) -> CallTree:
    """Return the call tree of stacks in CSR form, leaf first; ``function`` is the function of each frame."""
    counts = np.diff(offsets)
    # All stacks descend together, one frame per round from the root: those at the same node that call the
    # same function share the next node. ``reached`` is the node of each stack so far.
    #
    #     stacks  main→a→b   main→a   main→c      round 0: main (0)   round 1: a (1), c (2)   round 2: b (3)
    reached = np.full(len(counts), ROOT, np.int64)
    parents, functions = [], []
    node_count = 0
    for depth in range(int(counts.max(initial=0))):
        deep_enough = np.flatnonzero(counts > depth)
        # Frames are stored leaf first, so the root is the last of a stack.
        row = function[frame_ids[offsets[deep_enough + 1] - 1 - depth]]
        # A pair (node, function) is one number; ``unique`` numbers the pairs of a round in order of their
        # parents, which ``_levels`` relies on.
        key = (reached[deep_enough] + 1) * len(symbols) + row
        distinct, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        parents.append(reached[deep_enough][first])
        functions.append(row[first])
        reached[deep_enough] = node_count + inverse
        node_count += len(distinct)
    empty = np.zeros(0, np.int64)
    return CallTree(
        np.concatenate([empty, *parents]), np.concatenate([empty, *functions]), reached, symbols, binaries
    )


def worker_mark(label: str) -> str:
    """Return the name of the frame below which a worker's stack is joined to its caller's."""
    return f"(worker of {label}, joined: inferred)"


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
    """Return each node's weight including all nodes below it; ``weights`` are those of the stacks.

    ``tree`` must be a whole one.
    """
    filled = tree.leaf >= 0
    # At first each node has the weight of the stacks that end there (its own).
    total = np.bincount(tree.leaf[filled], weights[filled], len(tree)).astype(np.float64)
    # From the deepest level up, each level hands its finished totals to its parents.
    for start, end in reversed(_levels(tree)):
        parents = tree.parent[start:end]
        inside = parents >= 0
        total += np.bincount(parents[inside], total[start:end][inside], len(tree))
    return total


def prune(tree: CallTree, weights: npt.NDArray[np.float64], most: int) -> CallTree:
    """Return the ``most`` heaviest nodes; below a node that lost descendants, one node of function -1 stands
    for all of them. ``tree`` must be a whole one.
    """
    # With most = 3:
    #   main 9 ─ a 6 ─ b 5          main 9 ─ a 6 ─ b 5
    #              └ c 1      →                └ (-1) 1
    #          └ d 3 ─ e 3                └ (-1) 3
    if len(tree) <= most:
        return tree
    # A node weighs at least as much as any below it, and at equal weight the parent comes first: the heaviest
    # nodes therefore form a tree, and every cut-off node has a remaining ancestor (or is below ROOT).
    remains = _heaviest(tree, weights, most)
    number = np.cumsum(remains) - 1  # of a remaining node, its number in the new tree
    # The nearest remaining node at or above each node; the extra entry is the parent of roots, ROOT.
    nearest = np.full(len(tree) + 1, ROOT, np.int64)
    for start, end in _levels(tree):
        level = slice(start, end)
        nearest[level] = np.where(remains[level], number[level], nearest[tree.parent[level]])
    filled = tree.leaf >= 0
    cut = filled & ~np.append(remains, True)[tree.leaf]
    rest_parents = np.unique(nearest[tree.leaf[cut]])
    leaf = np.where(filled, nearest[tree.leaf], ROOT)
    # The nodes for cut-off ones follow the remaining ones, one per parent that lost descendants.
    leaf[cut] = most + np.searchsorted(rest_parents, nearest[tree.leaf[cut]])
    old_parent = tree.parent[remains]
    parent = np.where(old_parent >= 0, number[old_parent], ROOT)
    return CallTree(
        np.concatenate([parent, rest_parents]),
        np.concatenate([tree.function[remains], np.full(len(rest_parents), ROOT, np.int64)]),
        leaf,
        tree.symbols,
        tree.binaries,
    )


def behind_pruned(tree: CallTree, weights: npt.NDArray[np.float64], most: int) -> WholeTree:
    """Return the nodes of ``prune``, followed by those that it cut off, to which ``leaf`` points."""
    page = prune(tree, weights, most)
    if page is tree:
        return WholeTree(tree, len(tree), (len(tree),))
    remains = _heaviest(tree, weights, most)
    # Old node → new node: remaining ones in ``page``, the others behind it; the extra entry is for parent -1.
    number = np.append(np.where(remains, np.cumsum(remains) - 1, len(page) + np.cumsum(~remains) - 1), ROOT)
    cut = [int((~remains[start:end]).sum()) for start, end in _levels(tree)]
    nodes = CallTree(
        np.concatenate([page.parent, number[tree.parent[~remains]]]),
        np.concatenate([page.function, tree.function[~remains]]),
        number[tree.leaf],
        tree.symbols,
        tree.binaries,
    )
    return WholeTree(nodes, len(page), tuple((len(page) + np.cumsum([0, *cut])).tolist()))


def _heaviest(tree: CallTree, weights: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.bool_]:
    """Mark the ``most`` heaviest nodes; of equal ones the first, which is nearer to the root."""
    order = np.lexsort((np.arange(len(tree)), -totals(tree, weights)))
    marked = np.zeros(len(tree), np.bool_)
    marked[order[:most]] = True
    return marked


def _levels(tree: CallTree) -> list[tuple[int, int]]:
    """Return the range of nodes of each depth: a whole tree is numbered depth by depth, sorted by parent."""
    # Parents ascend, so the nodes of the next depth end where parents reach the end of this one.
    levels = [(0, int(np.searchsorted(tree.parent, 0)))]
    while levels[-1][1] > levels[-1][0]:
        end = levels[-1][1]
        levels.append((end, int(np.searchsorted(tree.parent, end))))
    return levels[:-1]


def are_system(paths: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Mark the binaries of the operating system, by the folders where Apple's systems keep them."""
    return np.array([bool(SYSTEM_FOLDER.match(str(path))) for path in paths], bool)


def node_flags(tree: CallTree, paths: npt.NDArray[np.object_]) -> Ints:
    """Return the flags of each node; ``paths`` are those of the binaries."""
    system = np.append(are_system(paths), False)[np.append(tree.binaries, -1)]
    flags: Ints = np.where(tree.function < 0, CUT_OFF, np.where(system[tree.function], SYSTEM, 0))
    return flags
