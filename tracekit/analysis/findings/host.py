"""Host threads that call models: their samples between calls, user interface threads, the app's frames."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tracekit.analysis.classification.frame_names import SYSTEM_FOLDER, normalize_binary
from tracekit.analysis.engines.ranges import list_positions, sum_per_range
from tracekit.analysis.findings.calls import Calls
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.tables import StackTable

_MAIN_THREAD = "Main Thread"
"""Instruments names it so in every table; other threads have their own name or the process's."""
_INTERFACE = {"AppKit", "HIToolbox", "SwiftUI", "SwiftUICore", "UIKit", "UIKitCore", "WatchKit"}


@frozen
class Between:
    """The time between a call and the next one, of one model and on one thread: one entry per pair.

    ``before`` and ``after`` are windows. The thread's samples between them are
    ``samples[first:last]``.
    """

    before: IntArray
    after: IntArray
    samples: IntArray
    first: IntArray
    last: IntArray

    def list_samples(self) -> tuple[IntArray, IntArray]:
        """Return the samples of all pairs, and the pair of each."""
        positions = list_positions(self.first, self.last)
        return self.samples[positions], np.repeat(np.arange(len(self.first)), self.last - self.first)


def read_between_calls(calls: Calls) -> Between:
    """Return the samples of calling threads between consecutive calls.

    Both calls are consecutive of their thread and of their model, so that what lies between them is of no
    other model's call.
    """
    rank = np.zeros(len(calls.starts), np.int64)
    for model in calls.models:
        if len(model.rows) > 1:
            rank[model.rows] = np.arange(len(model.rows))
    rows = np.flatnonzero((calls.thread_ids >= 0) & (calls.model_of >= 0))
    rows = rows[np.argsort(calls.thread_ids[rows], kind="stable")]
    before, after = rows[:-1], rows[1:]
    fits = (calls.thread_ids[before] == calls.thread_ids[after]) & (
        calls.model_of[before] == calls.model_of[after]
    )
    fits &= (rank[after] == rank[before] + 1) & (calls.starts[after] >= calls.ends[before])
    before, after = before[fits], after[fits]
    # Thread and sample as one number, so that a thread's samples in a range are found by two searches.
    is_caller = np.zeros(len(calls.trace.threads) + 1, bool)  # the last entry is for samples without a thread
    is_caller[calls.thread_ids[after]] = True
    threads = calls.trace.samples["thread_id"].to_numpy(np.int64)
    samples = np.flatnonzero(is_caller[threads])
    width = len(threads) + 1
    keys = threads[samples] * width + samples
    keys.sort()
    times = calls.trace.samples["time_ns"].to_numpy(np.int64)
    first, last = (
        np.searchsorted(keys, calls.thread_ids[after] * width + np.searchsorted(times, edge))
        for edge in (calls.ends[before], calls.starts[after])
    )
    return Between(before, after, keys % width, first, last)


def list_interface_threads(calls: Calls) -> IntArray:
    """Return the main threads that show frames of a user interface."""
    names = calls.trace.threads["name"].astype(object).str.startswith(_MAIN_THREAD)
    mains = np.flatnonzero(names.to_numpy(bool))
    if not len(mains):
        return mains
    stacks = calls.trace.stacks
    is_interface = np.array(
        [normalize_binary(str(name)) in _INTERFACE for name in stacks.binaries["name"]], bool
    )
    shows = mark_stacks_with(stacks, np.append(is_interface, False)[stacks.frames["binary_id"].to_numpy()])
    samples = calls.trace.samples
    threads, stack_ids = samples["thread_id"].to_numpy(), samples["stack_id"].to_numpy()
    return np.intersect1d(mains, threads[np.append(shows, False)[stack_ids]])


def mark_stacks_with(stacks: StackTable, is_marked: BoolArray) -> BoolArray:
    """Mark the stacks that have a marked frame."""
    marked: BoolArray = (
        sum_per_range(is_marked[stacks.frame_ids].astype(np.int64), stacks.offsets[:-1], stacks.offsets[1:])
        > 0
    )
    return marked


def find_innermost(stacks: StackTable, stack_ids: IntArray, is_marked: BoolArray) -> IntArray:
    """Return the innermost marked frame of each of these stacks; -1 where none is marked."""
    marked = np.flatnonzero(is_marked[stacks.frame_ids])
    position = np.searchsorted(marked, stacks.offsets[stack_ids])
    nearest = np.append(marked, np.iinfo(np.int64).max)[position]
    inside = nearest < stacks.offsets[stack_ids + 1]
    frames: IntArray = np.where(inside, stacks.frame_ids[np.where(inside, nearest, 0)], -1).astype(np.int64)
    return frames


def mark_frames_of_app(stacks: StackTable, process_names: Sequence[str]) -> BoolArray:
    """Mark the frames of the app's own code: binaries outside of the system's folders.

    A binary without a path is the app's if it has the name of a process.
    """
    names = set(process_names)
    is_own = [
        not SYSTEM_FOLDER.match(path) if path else name in names
        for name, path in zip(
            stacks.binaries["name"].astype(object), stacks.binaries["path"].astype("str"), strict=True
        )
    ]
    marked: BoolArray = np.append(np.array(is_own, bool), False)[stacks.frames["binary_id"].to_numpy()]
    return marked


def match_frames(stacks: StackTable, pattern: re.Pattern[str]) -> BoolArray:
    """Mark the frames whose symbol has a match of a pattern; each symbol is tested once."""
    matches = [pattern.search(str(symbol)[:_LONGEST]) is not None for symbol in stacks.symbol_names]
    marked: BoolArray = np.array(matches, bool)[stacks.symbol_codes]
    return marked


_LONGEST = 1024
"""Characters of a symbol that are searched: templates of C++ have any number."""
