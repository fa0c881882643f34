"""Membership: the samples of each window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.errors import UsageError
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace

UNASSIGNED = -1
"""The ``window_id`` of what lies in no window."""
_MOST_PAIRS = 20_000_000
_MOST_PAIRS_PER_SAMPLE = 4
"""The larger bound holds for overlapping windows; each pair takes 60 bytes while it is counted."""


@dataclass(frozen=True)
class Membership:
    """The samples that count in each window: parallel arrays, one entry per (sample, window) pair.

    ``ambiguous`` counts ML samples that no single one of several overlapping calls can claim.
    """

    sample: IntArray
    window: IntArray
    ambiguous: int = 0

    def with_outside(self, count: int) -> tuple[IntArray, IntArray]:
        """Return (sample, window) pairs, those of the ``count`` samples that no window counts at the end."""
        # Overlapping windows may count a sample several times, so the complement is taken over samples, not
        # pairs.
        outside = np.ones(count, bool)
        outside[self.sample] = False
        unassigned = np.flatnonzero(outside)
        nowhere = np.full(len(unassigned), UNASSIGNED, np.int64)
        return np.concatenate([self.sample, unassigned]), np.concatenate([self.window, nowhere])


NO_WINDOWS = Membership(np.zeros(0, np.int64), np.zeros(0, np.int64))


def assign_samples(trace: Trace, labels: SampleLabels, windows: pd.DataFrame) -> Membership:
    """Return the samples of each window.

    A window that the user gave, or that spans the run, counts every sample in its time. A call counts its own
    thread's samples and the process's ML work on other threads, unless that work lies in several calls of
    different threads at once: then it could belong to any of them, and counts in none. Of a window from
    stacks, such work is that of the runtime's workers; other sources may not name the calling thread, and
    count all ML work. Raises ``UsageError`` for windows that overlap beyond any use.
    """
    sample, window = _pairs(trace.samples["time_ns"].to_numpy(), windows)
    # A call's own thread counts without condition; other threads' ML work joins a call unless two claim it.
    owners = windows["thread_id"].to_numpy()
    if (owners < 0).all() and windows["source"].isin(GIVEN_SOURCES).all():
        return Membership(sample, window)
    owner = owners[window]
    thread = trace.samples["thread_id"].to_numpy()[sample]
    source = windows["source"].astype("str")
    calls = ~source.isin(GIVEN_SOURCES).to_numpy(bool)
    if not calls.any():
        keep = np.flatnonzero((owner < 0) | (thread == owner))
        return Membership(sample[keep], window[keep])
    # From here on, arrays are per (sample, window) pair; ``[window]`` and ``[sample]`` spread what is known
    # per window or per sample over the pairs.
    is_call = calls[window]
    from_stacks = (source == "stacks").to_numpy(bool)[window]
    pid = windows["pid"].to_numpy()[window]
    same_process = (pid < 0) | (pid == labels.pid[sample])

    is_own_thread = np.where(is_call, (thread == owner) & same_process, (owner < 0) | (thread == owner))
    called = np.zeros(len(trace.samples), bool)
    called[sample[is_own_thread & is_call]] = True
    # A thread inside its own call works for that call, so its samples join no other one.
    at_work = labels.is_worker | ((labels.is_ml | labels.in_call) & ~called)
    joined = (
        is_call
        & ~is_own_thread
        & same_process
        & np.where(from_stacks, labels.is_worker[sample], at_work[sample])
    )

    pairs = np.flatnonzero(joined)
    # Two windows of one thread are one claimant. A window without a thread claims for itself: its number goes
    # below -1, where no thread's number is.
    claimant = np.where(owner[pairs] < 0, -2 - window[pairs], owner[pairs])
    ambiguous = _claimed_by_several(sample[pairs], claimant, len(trace.samples))
    keep = is_own_thread | (joined & ~ambiguous[sample])
    return Membership(sample[keep], window[keep], int(ambiguous.sum()))


def _pairs(times: IntArray, windows: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Return every (sample, window) such that the sample lies in the window's time."""
    # Samples are sorted by time, so each window's samples are one range. The ranges one after another,
    # without a loop over the windows (starts 4 9, counts 2 3 → samples 4 5 9 10 11):
    #   repeat(starts − counts before)   4 4 7 7 7
    #   + arange                         0 1 2 3 4
    starts = np.searchsorted(times, windows["start_ns"].to_numpy())
    counts = np.searchsorted(times, windows["end_ns"].to_numpy()) - starts
    total = int(counts.sum())
    if total > max(_MOST_PAIRS, _MOST_PAIRS_PER_SAMPLE * len(times)):
        raise UsageError(
            f"{len(windows)} windows overlap so much that they count {total:,} samples between them."
            " Give fewer windows, or choose with --process and --thread."
        )
    window = np.repeat(windows["window_id"].to_numpy(np.int64), counts)
    sample = np.repeat(starts - np.cumsum(counts) + counts, counts)
    sample += np.arange(total)
    return sample, window


def _claimed_by_several(sample: IntArray, claimant: IntArray, count: int) -> BoolArray:
    """Mark the samples that have two claimants or more."""
    if not len(sample):
        return np.zeros(count, bool)
    # Several claimants are different numbers, so the smallest differs from the largest; no set per sample.
    low = np.full(count, np.iinfo(np.int64).max)
    high = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(low, sample, claimant)
    np.maximum.at(high, sample, claimant)
    return low < high
