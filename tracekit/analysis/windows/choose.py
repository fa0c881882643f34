"""The choice of an analysis' windows: from the requested source, or from the best that the recording has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.diagnostics import Diagnostic
from tracekit.analysis.engines.codes import INFERENCE, group_rows, is_among, is_engine, is_phase
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.windows.bracketing import find_bracketing_windows
from tracekit.analysis.windows.engine_threads import find_engine_threads
from tracekit.analysis.windows.matching import find_threads
from tracekit.analysis.windows.stack_windows import Inferred, build_windows_from_stacks, find_bursts
from tracekit.analysis.windows.table_windows import (
    build_ane_windows,
    build_core_ai_windows,
    build_core_ml_windows,
    build_foundation_model_windows,
    build_known_signpost_windows,
    build_runtime_windows,
    build_signpost_windows,
)
from tracekit.analysis.windows.window import Window, get_edges, whole_run
from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_AI
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase

WindowSource: TypeAlias = Literal["auto", "coreml", "coreai", "foundation-models", "ane", "stacks", "run"]
WINDOW_SOURCES: tuple[WindowSource, ...] = get_args(WindowSource)

_Finder: TypeAlias = Callable[[Trace, frozenset[int]], list[Window]]
_FROM_TABLES: dict[str, tuple[_Finder, str]] = {
    "coreml": (build_core_ml_windows, "row of a prediction in coreml-os-signpost"),
    "coreai": (build_core_ai_windows, "row of an inference in ODIEProfile"),
    "foundation-models": (build_foundation_model_windows, "row in ModelInferenceTable"),
    "ane": (build_ane_windows, "interval of an inference in ane-hw-intervals"),
}
_CORE_AI_ENTRY = "InferenceFunction."
"""The prediction frame of Core AI begins with it; windows from stacks are labelled by that frame."""
_AUTO: tuple[tuple[str, _Finder | None], ...] = (
    ("runtimes", build_runtime_windows),
    ("foundation-models", build_foundation_model_windows),
    ("known signposts", build_known_signpost_windows),
    ("signposts", None),  # those that bracket the predictions on stacks
    ("ane", build_ane_windows),
)
"""The sources of "auto", in the order in which they are tried."""


@frozen
class WindowSelection:
    """The windows of an analysis, and the diagnostics about their choice."""

    windows: list[Window]
    diagnostics: tuple[Diagnostic, ...]
    runs: Inferred | None = None
    """The calls on stacks of several threads: some of them have no window."""


def choose_windows(
    trace: Trace,
    labels: SampleLabels,
    requested: WindowSource | Sequence[Window],
    signposts: Sequence[str],
    pids: frozenset[int],
    ane_is_target: bool = True,
) -> WindowSelection:
    """Return the windows to which samples and intervals are attributed.

    "auto" takes Core ML's predictions and Core AI's inferences, else Foundation Models' requests, else
    signposts that are known to hold, or that on the stacks hold, one prediction each, else ANE intervals,
    each with the calls on stacks that none of them touches; else the calls on stacks; else the whole run.
    ``signposts`` are patterns that select signpost intervals instead. ``pids`` are the processes of the
    analysis; ``ane_is_target`` is False where their stacks show that the Neural Engine's work is another
    process's. Raises ``UsageError`` when the recording lacks the chosen source, and for windows that end
    before they start.
    """
    if not trace.has_durations:
        if requested != "auto" or signposts:
            reason = "is of breakpoints, which stretch all times" if trace.has_timeline else "has no times"
            raise UsageError(f"{trace.info.name} {reason}, so no call in it has a beginning or an end.")
        return WindowSelection([], ())
    if not isinstance(requested, str):
        backwards = next((window for window in requested if window.end_ns < window.start_ns), None)
        if backwards:
            raise UsageError(f"The window '{backwards.label}' ends before it starts.")
        return WindowSelection(list(requested), tuple(_report_outside_recording(trace, requested)))
    if requested not in WINDOW_SOURCES:
        raise UsageError(
            f"'{requested}' is not a source of windows. Choose one of {', '.join(WINDOW_SOURCES)}."
        )
    if signposts:
        return WindowSelection(_with_threads(trace, labels, build_signpost_windows(trace, signposts)), ())
    if requested == "run":
        return WindowSelection([whole_run(trace)], ())
    inferred = build_windows_from_stacks(trace, labels)
    if requested in _FROM_TABLES:
        return _build_from_table(trace, labels, requested, inferred, pids)
    # From exact to inferred: the runtimes' own rows bound each call, Foundation Models' rows each request,
    # ANE intervals only the engine's part of a call. Stacks come last, because they cannot separate
    # back-to-back calls.
    if requested == "auto":
        for source, find in _AUTO:
            if source == "ane" and not ane_is_target:
                continue
            windows = find_bracketing_windows(trace, labels, pids) if find is None else find(trace, pids)
            if windows:
                return _with_calls(trace, labels, source, windows, inferred)
    at_work = bool(labels.is_ml.any()) or _has_measured_work(trace)
    diagnostics = tuple(_report_stack_windows(inferred, at_work))
    return WindowSelection(inferred.windows(), diagnostics, _select_concurrent_runs(inferred))


def _has_measured_work(trace: Trace) -> bool:
    """Return whether a table reports inference on an engine, of any process."""
    rows = trace.intervals
    work = is_among(rows["engine"], Engine.GPU, Engine.CPU) & is_among(rows["phase"], Phase.EXECUTE)
    return bool(work.any())


def _build_from_table(
    trace: Trace, labels: SampleLabels, source: str, inferred: Inferred, pids: frozenset[int]
) -> WindowSelection:
    find, row_name = _FROM_TABLES[source]
    windows = find(trace, pids)
    if not windows:
        raise UsageError(
            f"{trace.info.name} has no {row_name}, so --windows {source} finds nothing. tracekit analyze"
            " lists the tables of the recording; without --windows it chooses the best source."
        )
    windows = bind_threads(trace, labels, windows, inferred)
    untouched_calls = _select_untouched(windows, inferred)
    diagnostics = _report_ane_windows(trace, labels, windows) if source == "ane" else []
    if untouched_calls:
        diagnostics.append(Diagnostic("warning", "calls-outside-windows", len(untouched_calls)))
    return WindowSelection(windows, tuple(diagnostics), _select_concurrent_runs(inferred))


def _with_threads(trace: Trace, labels: SampleLabels, windows: list[Window]) -> list[Window]:
    return bind_threads(trace, labels, windows, build_windows_from_stacks(trace, labels))


def _with_calls(
    trace: Trace, labels: SampleLabels, source: str, windows: list[Window], inferred: Inferred
) -> WindowSelection:
    """Return measured windows, and the calls on stacks that none of them touches, so that no call is lost."""
    windows = bind_threads(trace, labels, windows, inferred)
    untouched_calls = _select_untouched(windows, inferred)
    diagnostics = (
        [Diagnostic("info", "windows-from-stacks-too", len(untouched_calls))] if untouched_calls else []
    )
    if source == "signposts":
        diagnostics.append(
            Diagnostic("info", "windows-from-signposts", len(windows), {"name": windows[0].label})
        )
    if source == "ane":
        diagnostics += _report_ane_windows(trace, labels, [*windows, *untouched_calls])
    return WindowSelection(
        [*windows, *untouched_calls], tuple(diagnostics), _select_concurrent_runs(inferred)
    )


def _select_concurrent_runs(runs: Inferred) -> Inferred | None:
    """Return the calls on stacks of several threads, which work on other threads may be of."""
    calls = runs.select(runs.thread_id >= 0)
    return calls if len(np.unique(calls.thread_id)) > 1 else None


def _select_untouched(windows: Sequence[Window], calls: Inferred) -> list[Window]:
    """Return the calls that overlap no window that may be of their process and thread."""
    # Windows are united by owner, once for all calls; -1 is an unknown process or thread. A call without a
    # thread may be of any, so each process has the union of its windows, too.
    windows = [window for window in windows if window.pid >= 0 or window.source not in ANE_TABLES]
    window_starts, window_ends = get_edges(windows)
    owned = pd.DataFrame(
        {"pid": [window.pid for window in windows], "thread": [window.thread_id for window in windows]}
    )
    groups = chain(
        group_rows(owned, "pid", "thread"), (((pid, None), rows) for (pid,), rows in group_rows(owned, "pid"))
    )
    unions = {owner: IntervalSet.of(window_starts[rows], window_ends[rows]) for owner, rows in groups}
    is_touched = np.zeros(len(calls), bool)
    starts, ends = calls.starts_ns, calls.ends_ns
    owners = pd.DataFrame({"pid": calls.pid, "thread": calls.thread_id})
    for (pid, thread), rows in group_rows(owners, "pid", "thread"):
        threads = (None,) if thread < 0 else (-1, int(thread))
        for owner in product({-1, int(pid)}, threads):
            if owner in unions:
                is_touched[rows] |= unions[owner].touches(starts[rows], ends[rows])
    return calls.select(~is_touched).windows()


def _report_ane_windows(trace: Trace, labels: SampleLabels, windows: list[Window]) -> list[Diagnostic]:
    """Return diagnostics about the work that windows from ANE intervals leave out."""
    covered = IntervalSet.of(*get_edges(windows))
    times = trace.samples["time_ns"].to_numpy(np.int64)
    elsewhere = is_phase(labels.phase, *INFERENCE) & is_engine(labels.engine, Engine.CPU, Engine.GPU)
    # A moment is a window of one nanosecond: covered or not.
    outside_count = int((elsewhere & (covered.within(times, times + 1) == 0)).sum())
    diagnostics = [Diagnostic("info", "windows-from-ane")]
    if outside_count:
        diagnostics.append(Diagnostic("warning", "inference-outside-windows", outside_count))
    return diagnostics


def bind_threads(
    trace: Trace, labels: SampleLabels, windows: Sequence[Window], calls: Inferred
) -> list[Window]:
    """Assign a thread to windows without one: the thread whose prediction frames they lie around.

    ``calls`` are windows from stacks. Where nothing decides, the window stays without a thread. Where Core AI
    and Core ML are at work at once, each one's windows are those of its own calls.
    """
    if windows and windows[0].source in ANE_TABLES:
        # The table names no process: the thread's is the call's.
        threads, is_of_any = find_engine_threads(trace, labels, windows, calls)
        pids = np.append(trace.threads["pid"].to_numpy(np.int64), -1)[threads]
        return [
            window.of_process(pid) if pid >= 0 or is_any else window
            for window, pid, is_any in zip(
                _on_threads(windows, threads), pids.tolist(), is_of_any.tolist(), strict=True
            )
        ]
    bursts = find_bursts(trace, labels)
    is_core_ai = np.array([window.source == CORE_AI for window in windows], bool)
    threads = np.full(len(windows), -1, np.int64)
    is_mixed = bool(is_core_ai.any()) and not is_core_ai.all()
    for of_core_ai in (True, False) if is_mixed else (bool(is_core_ai.any()),):
        rows = np.flatnonzero(is_core_ai == of_core_ai)
        of_runtime, runs = (
            part.select(_is_core_ai(part) == of_core_ai) if is_mixed else part for part in (bursts, calls)
        )
        runtime_windows = [windows[row] for row in rows.tolist()]
        threads[rows] = find_threads(trace, labels, runtime_windows, of_runtime, runs)
    return _on_threads(windows, threads)


def _on_threads(windows: Sequence[Window], threads: IntArray) -> list[Window]:
    return [
        window.on_thread(thread) if window.thread_id < 0 <= thread else window
        for window, thread in zip(windows, threads.tolist(), strict=True)
    ]


def _is_core_ai(calls: Inferred) -> BoolArray:
    """Mark the calls whose prediction frame is Core AI's."""
    mask: BoolArray = np.array([*(_CORE_AI_ENTRY in name for name in calls.names), False], bool)[calls.name]
    return mask


def _report_stack_windows(inferred: Inferred, at_work: bool) -> list[Diagnostic]:
    """Return diagnostics about windows that are inferred from stacks."""
    diagnostics = []
    if inferred.bridged:
        numbers = {"longest_ns": inferred.longest_ns}
        diagnostics.append(Diagnostic("info", "holes-bridged", inferred.bridged, numbers))
    if len(inferred):
        diagnostics.append(Diagnostic("info", "windows-inferred"))
    elif at_work:
        diagnostics.append(Diagnostic("info", "no-prediction-calls"))
    return diagnostics


def _report_outside_recording(trace: Trace, windows: Sequence[Window]) -> list[Diagnostic]:
    """Return a diagnostic where user-supplied windows lie outside the recorded time."""
    run = whole_run(trace)
    tables = [frame for frame in (trace.intervals, trace.signposts) if len(frame)]
    start_ns = min([run.start_ns, *(int(frame["start_ns"].min()) for frame in tables)])
    end_ns = max([run.end_ns, *(int(frame["end_ns"].max()) for frame in tables)])
    outside_windows = [window for window in windows if window.start_ns >= end_ns or window.end_ns <= start_ns]
    if not outside_windows:
        return []
    numbers = {
        "windows": len(windows),
        "start_ns": start_ns,
        "end_ns": end_ns,
        "label": outside_windows[0].label,
    }
    return [Diagnostic("warning", "window-outside", len(outside_windows), numbers)]
