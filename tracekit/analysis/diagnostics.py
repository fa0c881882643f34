"""Diagnostics: conditions that limit how far an analysis can be trusted, as codes and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.codes import is_among, is_engine, is_phase
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.missing_symbols import find_binaries_without_symbols, without_symbols
from tracekit.analysis.ownership.owners import Owner
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.frozen import frozen
from tracekit.model.issue_codes import IssueCode
from tracekit.model.schemas import CORE_AI, CORE_ML, MPS_INTERVALS
from tracekit.model.trace import Severity, Trace
from tracekit.model.vocabulary import SERVING, Engine, Phase

_MAX_BINARIES = 3
_SIMULATED_PATHS = r"/CoreSimulator/Devices/|\.simruntime/"
"""Paths of binaries that only a simulator loads: apps, and libraries of its system (published recordings).

A simulator's processes are processes of the Mac. A recording of all of them, which is the way around a hang
of ``xctrace record --device``, states the Mac as its device, and these paths are all that shows it.
"""


@frozen
class Diagnostic:
    """One condition: its severity and code, how many rows, samples or windows it is about, and its numbers.

    The keys of ``numbers`` belong to the code; ``report.wording.diagnostics`` has a sentence for each.
    ``windows`` are the numbers of the windows that it limits, in order; None where it limits all of them, or
    something else (``model.issue_codes``).
    """

    severity: Severity
    code: IssueCode
    count: int = 1
    numbers: Mapping[str, Any] = field(default_factory=dict)
    windows: tuple[int, ...] | None = None


def diagnose(
    trace: Trace,
    labels: SampleLabels,
    members: Membership,
    windows: pd.DataFrame,
    measured: Measured,
    requests: LoggedRequests,
) -> list[Diagnostic]:
    """Return the diagnostics of one analysis, beyond the issues of reading its recording."""
    return [
        *_report_ambiguous_samples(members),
        *_report_ane_ownership(measured),
        *_report_mps_without_ane(trace, measured),
        *_report_gpu_rows_without_process(measured),
        *_report_contested_intervals(windows, measured),
        *_report_zero_length_predictions(trace),
        *_report_dispatch_without_interval(labels, members, windows, measured, requests),
        *_report_unsymbolicated_stacks(trace, labels),
        *_report_binaries_without_symbols(trace),
        *_report_simulator(trace),
    ]


def list_simulated_processes(trace: Trace) -> tuple[str, ...]:
    """Return the names of the processes with a sample of a binary that only a simulator loads, in order."""
    stacks = trace.stacks
    is_simulated = (
        stacks.binaries["path"].astype("str").str.contains(_SIMULATED_PATHS, regex=True).to_numpy(bool)
    )
    if not is_simulated.any():
        return ()
    of_frame = np.append(is_simulated, False)[stacks.frames["binary_id"].to_numpy()]
    stack_of_place = np.repeat(np.arange(len(stacks)), np.diff(stacks.offsets))
    of_stack = np.bincount(stack_of_place[of_frame[stacks.frame_ids]], minlength=len(stacks) + 1) > 0
    threads = np.unique(trace.samples["thread_id"].to_numpy()[of_stack[trace.samples["stack_id"].to_numpy()]])
    names = trace.threads["process"].iloc[threads[threads >= 0]]
    return tuple(dict.fromkeys(names.astype("str")))


def _report_simulator(trace: Trace) -> list[Diagnostic]:
    """Return that the recording, or some of its processes, ran in a simulator."""
    processes = list_simulated_processes(trace)
    if not trace.info.platform.endswith("Simulator") and not processes:
        return []
    return [Diagnostic("info", "in-simulator", max(len(processes), 1), {"processes": processes})]


def with_windows(diagnostics: Iterable[Diagnostic], windows: pd.DataFrame) -> list[Diagnostic]:
    """Return the diagnostics of the choice of windows with the numbers of those that they limit."""
    return [replace(diagnostic, windows=_select_windows(diagnostic, windows)) for diagnostic in diagnostics]


def _select_windows(diagnostic: Diagnostic, windows: pd.DataFrame) -> tuple[int, ...] | None:
    if diagnostic.code == "windows-from-stacks-too":
        limited = is_among(windows["source"], "stacks")
    elif diagnostic.code == "window-outside":
        numbers = diagnostic.numbers
        starts_after = windows["start_ns"] >= numbers["end_ns"]
        limited = (starts_after | (windows["end_ns"] <= numbers["start_ns"])).to_numpy(bool)
    else:
        return None
    return tuple(np.flatnonzero(limited).tolist()) or None


def diagnose_requests(requests: LoggedRequests, windows: int) -> list[Diagnostic]:
    """Return what the log says about requests to the Neural Engine that deserves attention."""
    found = []
    if requests.failures:
        target = [process for process in requests.processes if process.is_target]
        statuses = sorted({status for process in target for status, _ in process.statuses})
        numbers = {
            "requests": requests.requests,
            "statuses": statuses,
            "failed_windows": requests.failed_windows,
            "windows": windows,
        }
        failed = tuple(np.flatnonzero(requests.failed).tolist()) or None
        found.append(Diagnostic("error", "ane-requests-failed", requests.failures, numbers, failed))
    if requests.not_loaded:
        count = sum(refusal.count for refusal in requests.not_loaded)
        found.append(
            Diagnostic("warning", "ane-program-not-loaded", count, {"refusals": requests.not_loaded})
        )
    if requests.refused:
        count = len(requests.refused)
        found.append(Diagnostic("warning", "operators-not-on-ane", count, {"refusals": requests.refused}))
    other_processes = [process for process in requests.processes if not process.is_target]
    if other_processes:
        count = sum(process.requests for process in other_processes)
        found.append(
            Diagnostic("info", "ane-requests-of-others", count, {"processes": tuple(other_processes)})
        )
    return found


def report_calls_without_thread(windows: pd.DataFrame) -> list[Diagnostic]:
    """Return the calls that a selection of a thread leaves out because their thread is not known."""
    count = int(((windows["thread_id"] < 0) & ~is_among(windows["source"], *GIVEN_SOURCES)).sum())
    return [Diagnostic("warning", "windows-of-unknown-thread", count)] if count else []


def _report_ambiguous_samples(members: Membership) -> list[Diagnostic]:
    count = len(members.ambiguous)
    return [Diagnostic("info", "worker-samples-shared", count)] if count else []


def _report_ane_ownership(measured: Measured) -> list[Diagnostic]:
    """Return what of the Neural Engine's table is another process's work, or may be."""
    count = measured.ane_rows
    if not count:
        return []
    owner = measured.owner
    # Rows that name another process leave nothing uncertain.
    other_process = int(owner.other_process.sum()) - owner.elsewhere
    numbers = {"intervals": count, "busy_ns": measured.other_process.total_ns, "runtimes": owner.runtimes}
    if owner.unattributed:
        return [Diagnostic("warning", "ane-work-unclaimed", other_process, numbers)]
    diagnostics = [
        Diagnostic("warning", "ane-work-of-others", other_process, numbers),
        Diagnostic("warning", "ane-labels-unmatched", owner.unmatched, numbers),
        Diagnostic("info", "ane-process-unknown", owner.unchecked),
    ]
    return [diagnostic for diagnostic in diagnostics if diagnostic.count]


def _report_contested_intervals(windows: pd.DataFrame, measured: Measured) -> list[Diagnostic]:
    """Return what of the engines' work has no owner that the recording shows."""
    diagnostics = []
    if shared := measured.models_of_others:
        numbers = {"models": tuple(shared)}
        diagnostics.append(Diagnostic("warning", "model-name-shared", sum(shared.values()), numbers))
    rows = np.flatnonzero(measured.assignment.is_owner(Owner.CONTESTED))
    if not len(rows):
        return diagnostics
    amounts = [measured.contested_ns((engine, Phase.EXECUTE)) for engine in SERVING]
    limited = np.flatnonzero(np.max(amounts, axis=0)[: len(windows)])
    amount = {"busy_ns": measured.contested.total_ns, "calls": len(limited)}
    windows_limited = tuple(limited.tolist()) or None
    return [
        *diagnostics,
        Diagnostic("warning", "intervals-contested", len(rows), amount, windows_limited),
    ]


def _report_mps_without_ane(trace: Trace, measured: Measured) -> list[Diagnostic]:
    """Return MPSGraph's rows where the Neural Engine's table is empty.

    MPSGraph may hand a program to the Neural Engine, whose table then has the very same interval.
    """
    is_mps = is_among(trace.intervals["source"], MPS_INTERVALS)
    count = int((is_mps & is_among(trace.intervals["engine"], Engine.GPU)).sum())
    if not count or Engine.ANE in measured.engines:
        return []
    return [Diagnostic("warning", "mps-engine-unknown", count)]


def _report_gpu_rows_without_process(measured: Measured) -> list[Diagnostic]:
    count = measured.gpu_rows_without_process
    return [Diagnostic("warning", "gpu-process-unknown", count)] if count else []


def _report_zero_length_predictions(trace: Trace) -> list[Diagnostic]:
    """Return Core ML's predictions and Core AI's inferences without a length, which make no window."""
    rows = trace.intervals[(trace.intervals["end_ns"] <= trace.intervals["start_ns"]).to_numpy(bool)]
    diagnostics = []
    for table, channel in ((CORE_ML, "Prediction"), (CORE_AI, "Inference")):
        is_call = is_among(rows["source"], table) & is_among(rows["channel"], channel)
        is_call &= rows["phase"].isna().to_numpy(bool)
        count = int(is_call.sum())
        if count:
            diagnostics.append(Diagnostic("warning", "predictions-without-length", count, {"table": table}))
    return diagnostics


def _report_dispatch_without_interval(
    labels: SampleLabels,
    members: Membership,
    windows: pd.DataFrame,
    measured: Measured,
    requests: LoggedRequests,
) -> list[Diagnostic]:
    """Return the calls that submit work to the ANE without a matching hardware interval.

    Those whose requests failed by the log are explained.
    """
    if Engine.ANE not in measured.engines or not len(windows):
        return []
    is_submission = is_phase(labels.phase, Phase.DISPATCH, Phase.WAIT, Phase.EXECUTE)
    on_ane = is_engine(labels.engine, Engine.ANE) & is_submission
    # Windows in which a stack submits to the engine, against the measured time in each: both should agree,
    # and where the table has nothing, either the request failed or the clocks of the two tables differ.
    submitting = np.flatnonzero(members.count(on_ane))
    submitting = submitting[requests.failed[submitting] == 0]
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    busy = measured.contested_ns((Engine.ANE, Phase.EXECUTE))
    for rows, spans in measured.of_windows((Engine.ANE, Phase.EXECUTE), np.arange(len(windows))):
        busy[rows] += spans.within(starts[rows], ends[rows])
    rows = submitting[busy[submitting] == 0]
    if not len(rows):
        return []
    numbers, idle = {"submitting": len(submitting)}, tuple(rows.tolist())
    return [Diagnostic("warning", "ane-dispatch-without-interval", len(rows), numbers, idle)]


def _report_unsymbolicated_stacks(trace: Trace, labels: SampleLabels) -> list[Diagnostic]:
    with_stack = trace.count_samples((trace.samples["stack_id"] >= 0).to_numpy(bool))
    # UNKNOWN covers samples without a stack as well, which reading has reported already.
    count = trace.count_samples(without_symbols(trace, labels.engine))
    if count <= 0 or not with_stack or any(issue.code == "no-symbols" for issue in trace.issues):
        return []
    return [Diagnostic("warning", "unsymbolicated-stacks", count, {"stacks": with_stack})]


def _report_binaries_without_symbols(trace: Trace) -> list[Diagnostic]:
    # Code of no binary is left out: no file has its symbols.
    missing = [binary for binary in find_binaries_without_symbols(trace) if binary.name]
    if not missing:
        return []
    binaries = tuple((binary.name, binary.uuid, binary.samples) for binary in missing[:_MAX_BINARIES])
    return [Diagnostic("info", "binaries-without-symbols", len(missing), {"binaries": binaries})]
