"""Joined stacks: a runtime worker's stack below the prediction call that it served.

A call's own thread shows the call's stack up to its prediction frame. The work that membership assigns to the
call from other threads hangs below that frame, after a frame that marks the join::

    caller    main ─ viewDidLoad ─ prediction ─ wait
    worker    start_wqthread ─ execute ─ kernel
    joined    main ─ viewDidLoad ─ prediction ─ (mark) ─ start_wqthread ─ execute ─ kernel

Work that could belong to several calls is in no call, and stays as it was sampled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import BASES, convert_categories, group_codes, is_among
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis

_MAX_FRAMES = 8_000_000
"""The most frames of all joined stacks: deep stacks of many callers must not fill the memory."""
_NONE = -1


@frozen
class Joined:
    """The call that each sample served, and the joined stacks of those that served another thread's call.

    ``call`` is a row of the windows, ``basis`` the code of how it is known; both are -1 where no call is.
    ``stack`` is the sample's stack, or ``len(Trace.stacks)`` and the number of its joined stack.

    Joined stacks are in CSR form, leaf first. Their ``frame_ids`` are rows of ``StackTable.frames``; the
    frame that marks the join has their number and the position in ``labels`` of the call's model. ``worker``
    is the stack that was sampled. ``left_out`` counts samples whose joined stacks would be too many.
    """

    call: IntArray
    basis: npt.NDArray[np.int8]
    stack: IntArray
    worker: IntArray
    offsets: IntArray
    frame_ids: npt.NDArray[np.int32]
    labels: tuple[str, ...]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.worker)


def join_stacks(trace: Trace, labels: SampleLabels, members: Membership, windows: pd.DataFrame) -> Joined:
    """Return the served calls and the joined stacks of a run.

    Of calls of one thread around a sample, it is the one that began last.
    """
    stack = trace.samples["stack_id"].to_numpy(np.int64)
    thread = trace.samples["thread_id"].to_numpy(np.int64)
    is_call = ~is_among(windows["source"], *GIVEN_SOURCES)
    call = members.find_highest(np.where(is_call, np.arange(len(windows)), _NONE), len(stack))
    owner = np.append(windows["thread_id"].to_numpy(np.int64), _NONE)[call]
    is_own = (call >= 0) & (thread == owner)
    # Samples inside a prediction of their own thread are not worker samples.
    is_joined = (owner >= 0) & ~is_own & ~labels.in_call & (stack >= 0)
    basis = np.append(convert_categories(windows["basis"], BASES), _NONE)[call]
    basis = np.where((call >= 0) & ~is_own, BASES.index(Basis.INFERRED), basis).astype(np.int8)
    nothing = np.zeros(0, np.int64)
    if not is_joined.any():
        return Joined(call, basis, stack, nothing, nothing[:1], np.zeros(0, np.int32), ())
    callers = _Callers(trace, labels, windows, np.where(is_own, call, _NONE))
    return _build_joined(trace, windows, call, basis, is_joined, callers)


def _build_joined(
    trace: Trace,
    windows: pd.DataFrame,
    call: IntArray,
    basis: npt.NDArray[np.int8],
    is_joined: BoolArray,
    callers: _Callers,
) -> Joined:
    stack = trace.samples["stack_id"].to_numpy(np.int64)
    names = windows["model"].astype("str").where(windows["model"] != "", windows["label"].astype("str"))
    label, distinct = pd.factorize(names.to_numpy(object))
    rows = np.flatnonzero(is_joined)
    # A joined stack is a worker's stack, the end of the caller's, and the call's model, as one number each.
    caller_node = callers.of_call[call[rows]]
    way, ways = pd.factorize((caller_node + 1) * len(distinct) + label[call[rows]])
    key, number = np.unique(stack[rows] * len(ways) + way, return_inverse=True)
    worker, way_of = np.divmod(key, len(ways))
    node, label_of = np.divmod(ways[way_of], len(distinct))
    node -= 1
    depth = np.append(callers.depth, 0)[node]
    offsets = trace.stacks.offsets
    sizes = (offsets[worker + 1] - offsets[worker]) + 1 + depth
    # The heaviest joined stacks that fit; samples of the others keep their own.
    weight = np.bincount(number, trace.weights[rows], len(key))
    order = np.argsort(-weight, kind="stable")
    fits = np.zeros(len(key), bool)
    fits[order[np.cumsum(sizes[order]) <= _MAX_FRAMES]] = True
    new_number = np.where(fits, len(trace.stacks) + np.cumsum(fits) - 1, _NONE)[number]
    stack = stack.copy()
    stack[rows] = np.where(new_number >= 0, new_number, stack[rows])
    worker, node, label_of, sizes = worker[fits], node[fits], label_of[fits], sizes[fits]
    frame_ids = np.empty(int(sizes.sum()), np.int32)
    ends = np.cumsum(sizes)
    depth = np.append(callers.depth, 0)[node]
    start = ends - sizes
    marks = ends - depth - 1
    frame_ids[marks] = len(trace.stacks.frames) + label_of
    _copy(trace.stacks, frame_ids, start, offsets[worker], marks - start)
    caller = np.append(callers.stack, 0)[node]
    _copy(trace.stacks, frame_ids, marks + 1, offsets[caller + 1] - depth, depth)
    return Joined(
        call,
        basis,
        stack,
        worker,
        np.append(0, ends),
        frame_ids,
        tuple(map(str, distinct)),
        int((new_number < 0).sum()),
    )


def _copy(
    stacks: StackTable, into: npt.NDArray[np.int32], places: IntArray, sources: IntArray, sizes: IntArray
) -> None:
    """Copy runs of the table's frames to places of an array."""
    steps = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    into[np.repeat(places, sizes) + steps] = stacks.frame_ids[np.repeat(sources, sizes) + steps]


class _Callers:
    """The stack of each call's thread up to its prediction frame, as nodes of a tree of function paths.

    ``of_call`` is the node of each window, -1 for none. ``stack`` is a stack that passes through a node and
    ``depth`` the number of its frames down to it, from the root.
    """

    def __init__(self, trace: Trace, labels: SampleLabels, windows: pd.DataFrame, own_call: IntArray) -> None:
        boundary, owner = labels.classification.boundary, windows["thread_id"].to_numpy(np.int64)
        stack, thread = (trace.samples[name].to_numpy(np.int64) for name in ("stack_id", "thread_id"))
        rows = np.flatnonzero(labels.in_call)
        caller_stacks, number = np.unique(stack[rows], return_inverse=True)
        depths = (
            trace.stacks.offsets[caller_stacks + 1]
            - trace.stacks.offsets[caller_stacks]
            - boundary[caller_stacks]
        )
        node = self._build_tree(trace.stacks, caller_stacks, depths)[number]
        is_own = own_call[rows] >= 0
        self.of_call = self._find_shared_nodes(own_call[rows[is_own]], node[is_own], len(windows))
        # A call whose thread was not sampled inside the prediction has the caller that the others of the same
        # thread and label share; else that of all predictions of the thread.
        group, known_calls = (
            group_codes(windows["thread_id"], windows["label"]),
            np.flatnonzero(self.of_call >= 0),
        )
        shared = self._find_shared_nodes(group[known_calls], self.of_call[known_calls], len(windows))[group]
        of_thread = self._find_shared_nodes(thread[rows] + 1, node, len(trace.threads) + 1)[owner + 1]
        of_thread[owner < 0] = _NONE
        for fallback in (shared, of_thread):
            self.of_call = np.where(self.of_call >= 0, self.of_call, fallback)

    def _build_tree(self, stacks: StackTable, stack_ids: IntArray, depths: IntArray) -> IntArray:
        """Build the tree, all stacks a frame from the root per round, and return the node of each."""
        names = len(stacks.symbol_names)
        pairs = (stacks.frames["binary_id"].to_numpy(np.int64) + 1) * names + stacks.symbol_codes
        function = pd.factorize(pairs)[0]
        node_of_stack = np.full(len(stack_ids), _NONE, np.int64)
        parents, of_stack, at_depth, count = [], [], [], 0
        for depth in range(int(depths.max(initial=0))):
            deep = np.flatnonzero(depths > depth)
            frames = function[stacks.frame_ids[stacks.offsets[stack_ids[deep] + 1] - 1 - depth]]
            keys = (node_of_stack[deep] + 1) * (int(function.max()) + 1) + frames
            _, first_position, inverse = np.unique(keys, return_index=True, return_inverse=True)
            parents.append(node_of_stack[deep][first_position])
            of_stack.append(stack_ids[deep][first_position])
            at_depth.append(np.full(len(first_position), depth + 1))
            node_of_stack[deep] = count + inverse
            count += len(first_position)
        empty = np.zeros(0, np.int64)
        self._parent, self.stack, self.depth = (
            np.concatenate([empty, *part]) for part in (parents, of_stack, at_depth)
        )
        return node_of_stack

    def _find_shared_nodes(self, group: IntArray, node: IntArray, count: int) -> IntArray:
        """Return the deepest node at or above all nodes of each group, -1 for none."""
        # Round by round, the deepest nodes of every group of several move to their parents, where they meet.
        width, depths = len(self.depth) + 1, np.append(self.depth, 0)
        keys = np.unique(group * width + node + 1)
        while True:
            of_group, nodes = keys // width, keys % width - 1
            several = np.bincount(of_group, minlength=count)[of_group] > 1
            if not several.any():
                break
            deepest = np.zeros(count, np.int64)
            np.maximum.at(deepest, of_group, depths[nodes])
            moves = several & (depths[nodes] == deepest[of_group])
            nodes = np.where(moves, np.append(self._parent, _NONE)[nodes], nodes)
            keys = np.unique(of_group * width + nodes + 1)
        shared = np.full(count, _NONE, np.int64)
        shared[of_group] = nodes
        return shared
