"""Part of a recording: the samples of one process, or of one thread and of the workers that served it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.assignment import assign_samples
from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.ownership import find_target_pids
from tracekit.analysis.windows.stack_windows import build_windows_from_stacks
from tracekit.analysis.windows.window import GIVEN_SOURCES, Window, build_window_frame
from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.model.trace import Trace
from tracekit.text import format_thread

Mask = npt.NDArray[np.bool_]


@frozen
class Selection:
    """The selected process and thread, each by name or number, and the source of the windows.

    None is everything; ``windows`` is "given" for windows of the user's own. ``signposts`` are patterns.
    """

    process: str | int | None = None
    thread: str | int | None = None
    windows: str = "auto"
    signposts: tuple[str, ...] = ()


def select_process(trace: Trace, selection: Selection) -> Trace:
    """Return ``trace`` with the selected process's samples. Raises ``UsageError`` when there are none."""
    if selection.process is None:
        return trace
    of_process = _mark_matches(trace.threads, "pid", "process", selection.process)
    if not of_process.any():
        raise UsageError(_describe_missing_process(trace, selection.process))
    return _select_process(
        _keep(trace, _mark_samples_of_threads(trace, of_process)), _find_pids(trace, selection.process)
    )


def select_thread(
    trace: Trace, selection: Selection, labels: SampleLabels, windows: pd.DataFrame, members: Membership
) -> tuple[Trace, SampleLabels, pd.DataFrame, Membership]:
    """Return the selected thread's samples with their labels, its windows, and their membership.

    All are given for the whole process, so that what a call shares with others is the same with and without a
    selection. The samples include those of the runtime's workers that belong to the thread's calls: Core ML
    runs a call's operations on a queue of its own. Windows whose thread is not known are left out, unless
    they are the user's own. Raises ``UsageError`` when nothing is selected, and lists the threads.
    """
    if selection.thread is None:
        return trace, labels, windows, members
    present = np.isin(np.arange(len(trace.threads)), trace.samples["thread_id"].to_numpy())
    is_selected = _mark_matches(trace.threads, "tid", "name", selection.thread)
    if not (is_selected & present).any():
        raise UsageError(_describe_missing_thread(trace, selection.thread, present))
    given = is_among(windows["source"], *GIVEN_SOURCES)
    called = np.append(is_selected, False)[windows["thread_id"].to_numpy()]
    is_kept = _mark_samples_of_threads(trace, is_selected) | _mark_worker_samples(trace, is_selected, labels)
    is_kept |= members.mark(np.flatnonzero(called), len(is_kept))
    rows = windows[given | called].reset_index(drop=True)
    return (
        _keep(trace, is_kept),
        _select_labels(labels, is_kept),
        rows.assign(window_id=np.arange(len(rows), dtype=np.int64)),
        members.select(is_kept, given | called),
    )


def _select_labels(labels: SampleLabels, is_kept: Mask) -> SampleLabels:
    """Return the labels of the marked samples."""
    names = ("engine", "phase", "in_call", "is_worker", "is_ml", "boundary_rule", "pid")
    return replace(labels, **{name: getattr(labels, name)[is_kept] for name in names})


def select_pids(trace: Trace, selection: Selection) -> frozenset[int]:
    """Return the processes that an analysis is about: the selected ones, else the recording's target."""
    return find_target_pids(trace) if selection.process is None else _find_pids(trace, selection.process)


def select_windows(trace: Trace, selection: Selection, windows: Sequence[Window]) -> list[Window]:
    """Return the windows of the selected process, and those whose process is not known."""
    if selection.process is None:
        return list(windows)
    pids = _find_pids(trace, selection.process)
    return [window for window in windows if window.pid < 0 or window.pid in pids]


def _find_pids(trace: Trace, process: str | int) -> frozenset[int]:
    of_process = _mark_matches(trace.threads, "pid", "process", process)
    return frozenset(int(pid) for pid in trace.threads["pid"][of_process])


def _select_process(trace: Trace, pids: frozenset[int]) -> Trace:
    """Drop the rows of other processes; rows that name none stay, and all intervals (see ``Measured``)."""

    def of_process(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[frame["pid"].isin([*pids, -1]).to_numpy(bool)].reset_index(drop=True)

    return replace(
        trace,
        signposts=of_process(trace.signposts),
        thread_states=of_process(trace.thread_states),
        metrics=of_process(trace.metrics),
        model_requests=of_process(trace.model_requests),
    )


def _mark_samples_of_threads(trace: Trace, is_selected: Mask) -> Mask:
    """Mark the samples of the chosen rows of ``trace.threads``."""
    mask: Mask = np.append(is_selected, False)[trace.samples["thread_id"].to_numpy()]
    return mask


def _mark_worker_samples(trace: Trace, is_selected: Mask, labels: SampleLabels) -> Mask:
    """Mark the samples, on whatever thread, that belong to calls of the chosen threads."""
    if not trace.has_timeline:  # which call a worker serves follows from times
        return np.zeros(len(trace.samples), bool)
    windows = build_window_frame(build_windows_from_stacks(trace, labels).windows())
    members = assign_samples(trace, labels, windows)
    of_calls = np.append(is_selected, False)[windows["thread_id"].to_numpy()]
    return members.mark(np.flatnonzero(of_calls), len(trace.samples))


def _keep(trace: Trace, is_kept: Mask) -> Trace:
    rows = np.flatnonzero(is_kept)
    samples = trace.samples.iloc[rows].reset_index(drop=True)
    counters = trace.counters.iloc[rows].reset_index(drop=True)
    return replace(trace, samples=samples, counters=counters)


def _mark_matches(threads: pd.DataFrame, number: str, name: str, selected: str | int) -> Mask:
    text = str(selected)
    matching: Mask = (threads[name] == text).to_numpy(bool)
    try:
        value = int(text, 16 if text.startswith("0x") else 10)
    except ValueError:
        return matching
    if -(2**63) <= value < 2**63:
        matching = matching | (threads[number] == value).to_numpy(bool)
    return matching


def _describe_missing_process(trace: Trace, process: str | int) -> str:
    processes = trace.threads[["process", "pid"]].drop_duplicates().head(12)
    process_list = ", ".join(f"{row['process']} ({row['pid']})" for row in processes.to_dict("records"))
    return f"{trace.info.name} has no samples of a process '{process}'; it has {process_list or 'none'}."


def _describe_missing_thread(trace: Trace, thread: str | int, present: Mask) -> str:
    threads = trace.threads[present][["name", "tid"]].drop_duplicates().head(12)
    thread_list = ", ".join(format_thread(row["name"], row["tid"]) for row in threads.to_dict("records"))
    return f"{trace.info.name} has no samples of a thread '{thread}' there; it has {thread_list or 'none'}."
