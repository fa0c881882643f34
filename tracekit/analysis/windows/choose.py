"""Which windows an analysis uses: the best source that the recording has, or the one that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.diagnostics import Diagnostic
from tracekit.analysis.engines.codes import INFERENCE, is_engine, is_phase
from tracekit.analysis.engines.spans import Spans
from tracekit.analysis.windows.stacks import Inferred, windows_from_stacks
from tracekit.analysis.windows.tables import (
    ane_windows,
    core_ml_windows,
    foundation_model_windows,
    signpost_windows,
)
from tracekit.analysis.windows.window import Window, sampling_period_ns, whole_run
from tracekit.errors import UsageError
from tracekit.model.columns import IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase

WindowSource: TypeAlias = Literal["auto", "coreml", "foundation-models", "ane", "stacks", "run"]
WINDOW_SOURCES: tuple[WindowSource, ...] = get_args(WindowSource)

_FROM_TABLES: dict[str, tuple[Callable[[Trace, frozenset[int]], list[Window]], str]] = {
    "coreml": (core_ml_windows, "row of a prediction in coreml-os-signpost"),
    "foundation-models": (foundation_model_windows, "row in ModelInferenceTable"),
    "ane": (ane_windows, "interval of an inference in ane-hw-intervals"),
}


@dataclass(frozen=True)
class Choice:
    """The windows of an analysis, and what limits them."""

    windows: list[Window]
    diagnostics: tuple[Diagnostic, ...]


def choose_windows(
    trace: Trace,
    labels: SampleLabels,
    wanted: WindowSource | Sequence[Window],
    signposts: Sequence[str],
    pids: frozenset[int],
    ane_is_target: bool = True,
) -> Choice:
    """Return the windows to attribute to.

    "auto" takes Core ML's predictions, else Foundation Models' requests, else ANE intervals, each with the
    calls on stacks that none of them covers; else stacks; else the whole run. ``signposts`` are patterns that
    choose signpost intervals instead. ``pids`` are the processes that the analysis is about;
    ``ane_is_target`` is False where their stacks show that the Neural Engine's work is another process's.
    Raises ``UsageError`` when the recording lacks the chosen source, and for windows that end before they
    start.
    """
    if not isinstance(wanted, str):
        backwards = next((one for one in wanted if one.end_ns < one.start_ns), None)
        if backwards:
            raise UsageError(f"The window '{backwards.label}' ends before it starts.")
        return Choice(list(wanted), tuple(_outside_recording(trace, wanted)))
    if wanted not in WINDOW_SOURCES:
        raise UsageError(f"'{wanted}' is no source of windows. Choose one of {', '.join(WINDOW_SOURCES)}.")
    if signposts:
        return Choice(_with_threads(trace, labels, signpost_windows(trace, signposts)), ())
    if wanted == "run":
        return Choice([whole_run(trace)], ())
    inferred = windows_from_stacks(trace, labels)
    if wanted in _FROM_TABLES:
        return _asked_for(trace, labels, wanted, inferred, pids)
    if wanted == "auto":
        for source, (find, _) in _FROM_TABLES.items():
            if source == "ane" and not ane_is_target:
                continue
            windows = find(trace, pids)
            if windows:
                return _fused(trace, labels, source, windows, inferred)
    at_work = bool(labels.is_ml.any()) or _measured_work(trace)
    whole = [whole_run(trace)] if at_work and not inferred.windows else []
    return Choice(inferred.windows or whole, tuple(_stack_diagnostics(inferred, at_work)))


def _measured_work(trace: Trace) -> bool:
    """True where a table reports inference on an engine, whoever called for it."""
    rows = trace.intervals
    work = rows["engine"].isin([Engine.GPU, Engine.CPU]) & (rows["phase"] == Phase.EXECUTE)
    return bool(work.any())


def _asked_for(
    trace: Trace, labels: SampleLabels, wanted: str, inferred: Inferred, pids: frozenset[int]
) -> Choice:
    find, what = _FROM_TABLES[wanted]
    windows = find(trace, pids)
    if not windows:
        raise UsageError(
            f"{trace.info.name} has no {what}, so --windows {wanted} finds nothing. See the evidence that"
            " tracekit analyze lists, or leave --windows out."
        )
    windows = bind_threads(trace, windows, inferred.windows)
    left = _untouched(windows, inferred.windows)
    diagnostics = _ane_diagnostics(trace, labels, windows) if wanted == "ane" else []
    if left:
        diagnostics.append(Diagnostic("warning", "calls-outside-windows", len(left)))
    return Choice(windows, tuple(diagnostics))


def _with_threads(trace: Trace, labels: SampleLabels, windows: list[Window]) -> list[Window]:
    return bind_threads(trace, windows, windows_from_stacks(trace, labels).windows)


def _fused(
    trace: Trace, labels: SampleLabels, source: str, windows: list[Window], inferred: Inferred
) -> Choice:
    """Return measured windows, and the calls on stacks that none of them touches: no call is lost."""
    windows = bind_threads(trace, windows, inferred.windows)
    left = _untouched(windows, inferred.windows)
    diagnostics = [Diagnostic("info", "windows-from-stacks-too", len(left))] if left else []
    if source == "ane":
        diagnostics += _ane_diagnostics(trace, labels, [*windows, *left])
    return Choice([*windows, *left], tuple(diagnostics))


def _untouched(windows: Sequence[Window], calls: Sequence[Window]) -> list[Window]:
    """Return the calls in whose time no window lies that may be of their process and thread."""
    touched = np.zeros(len(calls), bool)
    owners = np.array([(call.pid, call.thread_id) for call in calls], np.int64).reshape(-1, 2)
    starts, ends = _edges(calls)
    for pid, thread in np.unique(owners, axis=0).tolist():
        own = np.flatnonzero((owners == (pid, thread)).all(axis=1))
        held = Spans.of(*_edges([one for one in windows if _may_be(one, pid, thread)]))
        touched[own] = held.touches(starts[own], ends[own])
    return [call for call, told in zip(calls, touched.tolist(), strict=True) if not told]


def _may_be(window: Window, pid: int, thread: int) -> bool:
    """True unless the window is known to be of another process or thread; -1 is not known."""
    return (window.pid < 0 or window.pid == pid) and (
        window.thread_id < 0 or thread in (-1, window.thread_id)
    )


def _ane_diagnostics(trace: Trace, labels: SampleLabels, windows: list[Window]) -> list[Diagnostic]:
    """Return what windows from ANE intervals leave out."""
    covered = Spans.of(*_edges(windows))
    times = trace.samples["time_ns"].to_numpy(np.int64)
    elsewhere = is_phase(labels.phase, *INFERENCE) & is_engine(labels.engine, Engine.CPU, Engine.GPU)
    outside = int((elsewhere & (covered.within(times, times + 1) == 0)).sum())
    diagnostics = [Diagnostic("info", "windows-from-ane")]
    if outside:
        diagnostics.append(Diagnostic("warning", "inference-outside-windows", outside))
    return diagnostics


def bind_threads(trace: Trace, windows: Sequence[Window], calls: Sequence[Window]) -> list[Window]:
    """Give windows of no known thread the thread whose prediction calls they lie in, where it is only one.

    ``calls`` are windows from stacks. The thread must cover half of the window, and a sampling period more
    than any other thread of the process.
    """
    starts, ends = _edges(windows)
    pids = np.array([window.pid for window in windows], np.int64)
    best, second = np.zeros(len(windows), np.int64), np.zeros(len(windows), np.int64)
    owner = np.full(len(windows), -1, np.int64)
    for thread in sorted({call.thread_id for call in calls} - {-1}):
        own = [call for call in calls if call.thread_id == thread]
        covered = Spans.of(*_edges(own)).within(starts, ends)
        covered[(pids >= 0) & (pids != own[0].pid)] = 0
        better = covered > best
        second = np.where(better, best, np.maximum(second, covered))
        owner = np.where(better, thread, owner)
        best = np.where(better, covered, best)
    clear = (2 * best >= ends - starts) & (best - second > sampling_period_ns(trace)) | (
        (2 * best >= ends - starts) & (second == 0) & (best > 0)
    )
    return [
        replace(window, thread_id=thread) if window.thread_id < 0 and sure else window
        for window, thread, sure in zip(windows, owner.tolist(), clear.tolist(), strict=True)
    ]


def _edges(windows: Sequence[Window]) -> tuple[IntArray, IntArray]:
    return (
        np.array([window.start_ns for window in windows], np.int64),
        np.array([window.end_ns for window in windows], np.int64),
    )


def _stack_diagnostics(inferred: Inferred, at_work: bool) -> list[Diagnostic]:
    """Return what limits windows that are inferred from stacks."""
    diagnostics = []
    if inferred.bridged:
        numbers = {"longest_ns": inferred.longest_ns}
        diagnostics.append(Diagnostic("info", "holes-bridged", inferred.bridged, numbers))
    if inferred.windows:
        diagnostics.append(Diagnostic("info", "windows-inferred"))
    elif at_work:
        diagnostics.append(Diagnostic("info", "no-prediction-calls"))
    return diagnostics


def _outside_recording(trace: Trace, windows: Sequence[Window]) -> list[Diagnostic]:
    """Return the user's windows that lie where nothing was recorded."""
    run = whole_run(trace)
    tables = [frame for frame in (trace.intervals, trace.signposts) if len(frame)]
    start_ns = min([run.start_ns, *(int(frame["start_ns"].min()) for frame in tables)])
    end_ns = max([run.end_ns, *(int(frame["end_ns"].max()) for frame in tables)])
    outside = [window for window in windows if window.start_ns >= end_ns or window.end_ns <= start_ns]
    if not outside:
        return []
    numbers = {"windows": len(windows), "start_ns": start_ns, "end_ns": end_ns, "label": outside[0].label}
    return [Diagnostic("warning", "window-outside", len(outside), numbers)]
