"""``CallPaths``: the paths of call trees as columns, and their stacks.

    path      0      1    2    3
    frame     main   a    b    a
    caller   -1      0    1    0         path 2 is main a b, its stack (leaf first) b a main

A caller precedes its callees. So a path costs the same at any depth, and each distinct stack is written out
once, after everything is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import BoolArray, IntArray
from tracekit.parsers.limits import Limits, require_at_most

Rows: TypeAlias = npt.NDArray[np.int32]


class CallPaths:
    """Paths with a frame and a caller each. Raises ``LimitError`` for more than ``limits`` allow."""

    def __init__(self, name: str, limits: Limits) -> None:
        self._name, self._limits = name, limits
        self._frames = array("i")
        self._callers = array("i")
        self._depths = array("i")

    def __len__(self) -> int:
        """Return the number of paths."""
        return len(self._frames)

    def add(self, frame: int, caller: int) -> int:
        """Return a new path; a caller of -1 means none."""
        path = len(self._frames)
        if path >= self._limits.call_paths:
            require_at_most(self._name, path + 1, self._limits.call_paths, "frames in its call trees")
        self._frames.append(frame)
        self._callers.append(caller)
        self._depths.append(self._depths[caller] + 1 if caller >= 0 else 0)
        return path

    def add_stack(self, frames: Sequence[int]) -> int:
        """Return the path of frames, root first; -1 for none."""
        path = -1
        for frame in frames:
            path = self.add(frame, path)
        return path

    def copy_used_frames(self, first_path: int, paths: Rows) -> tuple[Rows, BoolArray]:
        """Return a copy of the frames of the paths from ``first_path``, and a mask of the used ones.

        Used are the paths given and their callers.
        """
        callers = np.frombuffer(self._callers, np.intc)[first_path:] - first_path
        are_used = np.zeros(len(callers), bool)
        pending_paths = np.unique(paths) - first_path
        while len(pending_paths := pending_paths[pending_paths >= 0]):
            pending_paths = pending_paths[~are_used[pending_paths]]
            are_used[pending_paths] = True
            pending_paths = np.unique(callers[pending_paths])
        # A view would prevent the column from growing.
        return np.frombuffer(self._frames, np.intc)[first_path:].copy(), are_used

    def replace_frames(self, first_path: int, frames: Rows) -> None:
        """Replace the frames of the paths from ``first_path``."""
        self._frames[first_path:] = array("i", frames.tobytes())

    def build_stacks(self, leaves: Rows, callers: Rows) -> tuple[IntArray, Rows, Rows]:
        """Return offsets and frames of the different stacks, and the stack of each leaf below its callers.

        Stacks are leaf first, in the order of their first occurrence. A leaf of -1 has stack -1.
        """
        frames = np.frombuffer(self._frames, np.intc)
        caller_paths = self._find_first_equals()[callers] if len(frames) else np.full(len(callers), -1)
        caller_paths = np.where(callers >= 0, caller_paths, -1)
        keys = (caller_paths + 1) * (1 << 31) + leaves
        has_stack = leaves >= 0
        _, first_rows, inverse = np.unique(keys[has_stack], return_index=True, return_inverse=True)
        order = np.argsort(first_rows)
        rows = np.full(len(leaves), -1, np.int32)
        rows[has_stack] = np.argsort(order)[inverse]
        leaf, path = leaves[has_stack][first_rows[order]], caller_paths[has_stack][first_rows[order]]
        depths = np.frombuffer(self._depths, np.intc)
        lengths = np.ones(len(leaf), np.int64)
        lengths[path >= 0] += depths[path[path >= 0]] + 1
        total = int(lengths.sum())
        require_at_most(self._name, total, self._limits.stack_frames, "frames in its different stacks")
        offsets = np.append(0, np.cumsum(lengths))
        frame_ids = np.empty(total, np.int32)
        positions = offsets[:-1].copy()
        frame_ids[positions] = leaf
        above_all = np.frombuffer(self._callers, np.intc)
        while len(path):
            is_inside = path >= 0
            path, positions = path[is_inside], positions[is_inside] + 1
            frame_ids[positions] = frames[path]
            path = above_all[path]
        return offsets, frame_ids, rows

    def _find_first_equals(self) -> IntArray:
        """Return, for each path, the first one that has the same frames.

        Callers come first, by depth: two paths are equal if their frames and the first equals of their
        callers are.
        """
        frames = np.frombuffer(self._frames, np.intc).astype(np.int64)
        callers, depths = (np.frombuffer(column, np.intc) for column in (self._callers, self._depths))
        order = np.argsort(depths, kind="stable")
        ends = np.searchsorted(depths[order], np.arange(depths.max(initial=-1) + 2), "left")
        equals = np.empty(len(frames), np.int64)
        for begin, end in pairwise(ends.tolist()):
            level = order[begin:end]
            caller_keys = equals[callers[level]] + 1 if begin else 0
            keys = caller_keys * (1 << 31) + frames[level]
            _, first_rows, inverse = np.unique(keys, return_index=True, return_inverse=True)
            equals[level] = level[first_rows][inverse]
        return equals
