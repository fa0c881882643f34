"""What a reader of an analysis must know about it: counts of what cannot be told or does not fit."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.attribution import scopes_of
from tracekit.analysis.engines.codes import is_engine, is_phase
from tracekit.analysis.engines.measured import Measured
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.schemas import CORE_ML, MPS_INTERVALS
from tracekit.model.trace import Issue, Trace
from tracekit.model.vocabulary import ENGINE_CODE, Engine, Phase
from tracekit.text import plural


def doubts_of(
    trace: Trace, labels: SampleLabels, members: Membership, windows: pd.DataFrame, measured: Measured
) -> list[Issue]:
    """Return the issues of one analysis, beyond those of reading its recording."""
    return [
        *_ambiguous(members),
        *_ownership(measured),
        *_mps_without_ane(trace, measured),
        *_gpu_of_nobody(measured),
        *_shared_hardware(windows, measured),
        *_without_length(trace),
        *_disagreement(labels, members, windows, measured),
        *_unsymbolicated(trace, labels),
    ]


def unknown_threads(count: int) -> list[Issue]:
    """Say how many windows a selected thread may have called, and are not listed."""
    text = f"{plural(count, 'window')} of which nothing tells the thread left out"
    return [Issue("warning", "windows-of-unknown-thread", text, count)] if count else []


def _ambiguous(members: Membership) -> list[Issue]:
    if not members.ambiguous:
        return []
    text = (
        f"{members.ambiguous} samples of ML work on other threads lie in several overlapping windows;"
        " nothing tells whose they are, so they count in none"
    )
    return [Issue("info", "worker-samples-shared", text, members.ambiguous)]


def _ownership(measured: Measured) -> list[Issue]:
    """Say what of the Neural Engine's table is another process's work, or may be."""
    count = measured.ane_rows
    if not count:
        return []
    foreign = int(measured.owner.foreign.sum())
    busy = f"{measured.foreign.total_ns / 1e6:,.1f} ms of inference"
    if measured.owner.unclaimed:
        text = (
            f"the Neural Engine has {plural(count, 'interval')} ({busy}), and nothing says of which process:"
            " no stack of the target shows it, and no table names the target's models. They count in no"
            " window; --windows ane counts them"
        )
        return [Issue("warning", "ane-work-unclaimed", text, count)]
    if foreign:
        text = (
            f"{foreign} of {count} Neural Engine intervals ({busy}) have labels that fit none of the target's"
            " Core ML models: they are another process's"
            " work, or did not go through Core ML, and count in no window"
        )
        return [Issue("warning", "ane-work-of-others", text, foreign)]
    if measured.owner.unmatched:
        text = (
            "no label of a Neural Engine interval fits a model that Core ML reported, so the two tables name"
            " models differently: all intervals count, whichever process they are of"
        )
        return [Issue("warning", "ane-labels-unmatched", text, count)]
    if not measured.owner.named_by_core_ml:
        text = (
            "the Neural Engine's table is system-wide and names no process, and no table names the target's"
            " models: intervals of other processes would count as well"
        )
        return [Issue("info", "ane-process-unknown", text, count)]
    return []


def _shared_hardware(windows: pd.DataFrame, measured: Measured) -> list[Issue]:
    """Say where several calls at once count the same intervals."""
    calls = windows[~windows["source"].isin(GIVEN_SOURCES)]
    shared = int((~calls["alone"]).sum())
    if not shared or not measured.engines:
        return []
    text = (
        f"{shared} windows overlap: an interval counts in each of them, unless its label names the model of"
        " one of them"
    )
    return [Issue("warning", "windows-overlap", text, shared)]


def _mps_without_ane(trace: Trace, measured: Measured) -> list[Issue]:
    """MPSGraph may hand a program to the Neural Engine, whose table then has the very same interval."""
    intervals = trace.intervals
    rows = int(((intervals["source"] == MPS_INTERVALS) & (intervals["engine"] == Engine.GPU)).sum())
    if not rows or Engine.ANE in measured.engines:
        return []
    text = (
        f"{plural(rows, 'row')} of {MPS_INTERVALS} count for the GPU; MPSGraph may have handed some to the"
        " Neural Engine, whose own table would show it and has no rows here"
    )
    return [Issue("warning", "mps-engine-unknown", text, rows)]


def _gpu_of_nobody(measured: Measured) -> list[Issue]:
    rows = measured.gpu_rows_of_nobody
    if not rows:
        return []
    text = f"{plural(rows, 'row')} of metal-gpu-intervals name no process and count for the target"
    return [Issue("warning", "gpu-process-unknown", text, rows)]


def _without_length(trace: Trace) -> list[Issue]:
    """Say it where Core ML's predictions make no window."""
    rows = trace.intervals[(trace.intervals["source"] == CORE_ML).to_numpy(bool)]
    calls = rows[(rows["channel"] == "Prediction").to_numpy(bool)]
    count = int((calls["end_ns"] <= calls["start_ns"]).sum())
    text = f"{plural(count, 'prediction')} of {CORE_ML} have no length and make no window"
    return [Issue("warning", "predictions-without-length", text, count)] if count else []


def _disagreement(
    labels: SampleLabels, members: Membership, windows: pd.DataFrame, measured: Measured
) -> list[Issue]:
    """Say it when stacks hand work to the ANE in windows where its table has nothing."""
    if Engine.ANE not in measured.engines or not len(windows):
        return []
    calls = is_phase(labels.phase, Phase.DISPATCH, Phase.WAIT, Phase.EXECUTE)
    on_ane = is_engine(labels.engine, Engine.ANE) & calls
    called = np.unique(members.window[on_ane[members.sample]])
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    busy = np.zeros(len(windows), np.int64)
    for at, who in scopes_of(windows):
        spans = measured.spans(measured.scope(*who), (Engine.ANE, Phase.EXECUTE))
        busy[at] = spans.within(starts[at], ends[at])
    count = int((busy[called] == 0).sum())
    if not count:
        return []
    text = (
        f"in {count} of {len(called)} windows stacks hand work to the Neural Engine, and its table has no"
        " interval there: the request may have failed or been dropped, or the tables' clocks disagree"
    )
    return [Issue("warning", "ane-dispatch-without-interval", text, count)]


def _unsymbolicated(trace: Trace, labels: SampleLabels) -> list[Issue]:
    unknown = int((labels.engine == ENGINE_CODE[Engine.UNKNOWN]).sum())
    with_stack = int((trace.samples["stack_id"] >= 0).sum())
    bare = unknown - (len(trace.samples) - with_stack)
    if bare <= 0 or not with_stack or any(issue.code == "no-symbols" for issue in trace.issues):
        return []
    text = f"no symbols on {bare} of {with_stack} sampled stacks; what they did is unknown"
    return [Issue("warning", "unsymbolicated-stacks", text, bare)]
