"""Phases of requests, prefill and decode: their steps, and their budgets by the parts of any call's."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from tracekit.analysis.budget.budget import Budget, BudgetSums
from tracekit.analysis.budget.run_layers import Evidence
from tracekit.analysis.engines.assignment import assign_samples
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.codes import group_codes, group_positions, is_among
from tracekit.analysis.engines.interval_sets import EMPTY, IntervalSet
from tracekit.analysis.engines.ownership import ane_may_be_target
from tracekit.analysis.generation.role_spans import UNKNOWN, RoleSpans
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.analysis.run import AnalyzedRun
from tracekit.analysis.selection import select_pids
from tracekit.analysis.windows.window import Window, build_window_frame
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import SERVING, Basis

_IN_PHASE = "csv"
"""The source of ranges whose work counts whatever call it is of."""


class GenerationPhase(StrEnum):
    """A phase of a request."""

    PREFILL = "prefill"
    DECODE = "decode"


PHASES_OF_REQUEST: tuple[GenerationPhase, ...] = tuple(GenerationPhase)


@frozen(eq=False)
class Phases:
    """The phases of some requests whose edges are known: parallel arrays.

    ``gap_ns`` is the time in no call, ``UNKNOWN`` where the process has none; ``sampling_ns`` and
    ``cache_ns`` are the time in such steps and in no call, ``sampling_cpu_ns`` that part of the steps of
    sampling in which their threads were sampled on the CPU.
    """

    request: IntArray
    phase: IntArray
    pid: IntArray
    start_ns: IntArray
    end_ns: IntArray
    gap_ns: IntArray
    sampling_ns: IntArray
    cache_ns: IntArray
    sampling_cpu_ns: IntArray

    @property
    def length_ns(self) -> IntArray:
        """The length of each phase."""
        return self.end_ns - self.start_ns


def build_phases(
    analysis: AnalyzedRun,
    request: IntArray,
    phase: IntArray,
    pid: IntArray,
    edges: tuple[IntArray, IntArray],
    inner: tuple[RoleSpans, RoleSpans],
) -> Phases:
    """Return the phases, and the time of their steps.

    ``inner`` are the spans of sampling and of the cache.
    """
    starts, ends = edges
    calls = _collect_spans(analysis)
    sampling, cache = inner
    steps = [
        _measure(pid, edges, spans.pid, spans.start_ns, spans.end_ns, calls) for spans in (sampling, cache)
    ]
    has_calls = np.isin(pid, calls[0])
    gaps = np.where(has_calls, ends - starts - _measure(pid, edges, *calls), UNKNOWN)
    return Phases(
        request,
        phase,
        pid,
        starts,
        ends,
        gaps,
        steps[0],
        steps[1],
        _measure_sampled(analysis, pid, edges, sampling, calls),
    )


def _collect_spans(analysis: AnalyzedRun) -> tuple[IntArray, IntArray, IntArray]:
    """Return process, start and end of each call; a range that the user gave is none."""
    windows = analysis.window_rows[analysis.measured.is_call]
    pid, starts, ends = (windows[name].to_numpy(np.int64) for name in ("pid", "start_ns", "end_ns"))
    return pid, starts, ends


def _measure(
    pid: IntArray,
    edges: tuple[IntArray, IntArray],
    of_span: IntArray,
    starts: IntArray,
    ends: IntArray,
    without: tuple[IntArray, IntArray, IntArray] | None = None,
) -> IntArray:
    """Return how much of each range spans of its process cover, and ``without`` do not."""
    covered = np.zeros(len(pid), np.int64)
    codes = group_codes(pid)
    for rows in group_positions(codes, int(codes.max(initial=-1)) + 1):
        own = of_span == pid[rows[0]]
        times = IntervalSet.of(starts[own], ends[own])
        if without is not None:
            other = without[0] == pid[rows[0]]
            times -= IntervalSet.of(without[1][other], without[2][other]) if other.any() else EMPTY
        covered[rows] = times.within(edges[0][rows], edges[1][rows])
    return covered


def sum_budgets(analysis: AnalyzedRun, phases: Phases) -> BudgetSums:
    """Return the parts of each phase: all work of its process in its time, as of a range of the user."""
    columns = zip(phases.start_ns.tolist(), phases.end_ns.tolist(), phases.pid.tolist(), strict=True)
    rows = build_window_frame(
        [
            Window(start, end, str(number), _IN_PHASE, Basis.MEASURED, -1, of_process)
            for number, (start, end, of_process) in enumerate(columns)
        ]
    )
    trace, labels = analysis.trace, analysis.labels
    members = assign_samples(trace, labels, rows)
    nothing = np.zeros(len(rows), np.int64)
    measured = Measured(
        trace,
        select_pids(trace, analysis.selection),
        rows,
        Submitters(trace, labels, members),
        nothing,
        ane_may_be_target(labels),
        analysis.measured,
    )
    unseen = dict.fromkeys(SERVING, nothing > 0)
    waiting = analysis.budget.evidence.waiting
    evidence = Evidence(trace, labels, members, rows, measured, waiting, analysis.selection, unseen)
    sums = Budget(evidence).sums
    row_of_range = np.argsort(rows["label"].astype("int64").to_numpy(), kind="stable")
    return BudgetSums(sums.kinds, sums.duration_ns[row_of_range], sums.overlap_ns[row_of_range])


def _measure_sampled(
    analysis: AnalyzedRun,
    pid: IntArray,
    edges: tuple[IntArray, IntArray],
    spans: RoleSpans,
    calls: tuple[IntArray, IntArray, IntArray],
) -> IntArray:
    """Return for how long, in each range and in no call, the threads of spans were sampled inside of them."""
    trace = analysis.trace
    if trace.weight_unit != "ns" or not len(spans) or not len(trace.samples):
        return np.zeros(len(pid), np.int64)
    is_on_cpu = ~is_among(trace.samples["state"], "Blocked", "Waiting")
    times = trace.samples["time_ns"].to_numpy(np.int64)
    tids = np.append(trace.threads["tid"].to_numpy(np.int64), -1)[trace.samples["thread_id"].to_numpy()]
    is_inside = np.zeros(len(times), bool)
    for tid in np.unique(spans.tid).tolist():
        of_thread = spans.tid == tid
        rows = np.flatnonzero((tids == tid) & is_on_cpu)
        covered = IntervalSet.of(spans.start_ns[of_thread], spans.end_ns[of_thread])
        is_inside[rows] = covered.touches(times[rows], times[rows] + 1)
    rows = np.flatnonzero(is_inside)
    processes = np.append(trace.threads["pid"].to_numpy(np.int64), -1)[
        trace.samples["thread_id"].to_numpy()[rows]
    ]
    return _measure(pid, edges, processes, times[rows], times[rows] + trace.weights[rows], calls)
