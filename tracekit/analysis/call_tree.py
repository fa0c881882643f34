"""The call tree of unique stacks: each function of each path once, root first."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.joined import Joined
from tracekit.frozen import frozen
from tracekit.model.tables import StackTable

ROOT = -1
Ints = npt.NDArray[np.int64]


@frozen
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


def build_tree(stacks: StackTable, joined_stacks: Joined | None = None) -> CallTree:
    """Return the call tree of all stacks; frames of one function at several addresses are one node.

    Joined stacks follow those of the table, each with a node that marks the join.
    """
    function, symbols, binaries = find_functions(stacks)
    offsets, frame_ids = stacks.offsets, stacks.frame_ids
    if joined_stacks is not None and len(joined_stacks):
        marks = np.array([make_worker_mark(label) for label in joined_stacks.labels], object)
        function = np.append(function, len(symbols) + np.arange(len(marks)))
        symbols = np.append(symbols, marks)
        binaries = np.append(binaries, np.full(len(marks), -1, np.int64))
        offsets = np.append(offsets, offsets[-1] + joined_stacks.offsets[1:])
        frame_ids = np.append(frame_ids, joined_stacks.frame_ids)
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
    # same function share the next node. ``node_of_stack`` is the node of each stack so far.
    #
    #     stacks  main→a→b   main→a   main→c      round 0: main (0)   round 1: a (1), c (2)   round 2: b (3)
    node_of_stack = np.full(len(counts), ROOT, np.int64)
    parents, functions = [], []
    node_count = 0
    for depth in range(int(counts.max(initial=0))):
        deep_enough = np.flatnonzero(counts > depth)
        # Frames are stored leaf first, so the root is the last of a stack.
        row = function[frame_ids[offsets[deep_enough + 1] - 1 - depth]]
        # A pair (node, function) is one number; the pairs of a round are numbered in order of their parents:
        # a tree's levels are found by that.
        pair, distinct = pd.factorize((node_of_stack[deep_enough] + 1) * len(symbols) + row)
        order = np.argsort(distinct)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        parents.append(distinct[order] // len(symbols) - 1)
        functions.append(distinct[order] % len(symbols))
        node_of_stack[deep_enough] = node_count + number[pair]
        node_count += len(distinct)
    empty = np.zeros(0, np.int64)
    return CallTree(
        np.concatenate([empty, *parents]),
        np.concatenate([empty, *functions]),
        node_of_stack,
        symbols,
        binaries,
    )


def make_worker_mark(label: str) -> str:
    """Return the name of the frame below which a worker's stack is joined to its caller's."""
    return f"(worker of {label}, joined: inferred)"


def find_functions(stacks: StackTable) -> tuple[Ints, npt.NDArray[np.object_], Ints]:
    """Return each frame's function, and the functions' symbols and rows of ``stacks.binaries``."""
    # Symbol and binary as one number; -1 (no binary) becomes digit 0.
    width = len(stacks.binaries) + 1
    pairs = stacks.symbol_codes.astype(np.int64) * width + stacks.frames["binary_id"].to_numpy(np.int64) + 1
    rows, distinct = pd.factorize(pairs)
    return rows.astype(np.int64), stacks.symbol_names[distinct // width], distinct % width - 1
