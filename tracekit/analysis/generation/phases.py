"""Phases of requests, prefill and decode, and the time of their steps."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import group_codes, group_positions, is_among
from tracekit.analysis.engines.interval_sets import EMPTY, IntervalSet, merge_by_group
from tracekit.analysis.engines.ranges import list_positions
from tracekit.analysis.generation.marked_requests import find_latest
from tracekit.analysis.generation.metadata import UNKNOWN
from tracekit.analysis.generation.role_spans import RoleSpans
from tracekit.analysis.run import AnalyzedRun
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray


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
    calls = _collect_calls(analysis)
    sampling, cache = inner
    steps = [
        _measure(pid, edges, _merge_by_process(spans.pid, spans.start_ns, spans.end_ns), calls)
        for spans in (sampling, cache)
    ]
    gaps = np.where(np.isin(pid, list(calls)), ends - starts - _measure(pid, edges, calls), UNKNOWN)
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


def _collect_calls(analysis: AnalyzedRun) -> Mapping[int, IntervalSet]:
    """Return when each process was in a call; a range that the user gave is none."""
    windows = analysis.window_rows[analysis.measured.is_call]
    return _merge_by_process(*(windows[name].to_numpy(np.int64) for name in ("pid", "start_ns", "end_ns")))


def _merge_by_process(pid: IntArray, starts: IntArray, ends: IntArray) -> Mapping[int, IntervalSet]:
    """Return the time that spans of each process cover."""
    codes = group_codes(pid)
    groups = group_positions(codes, int(codes.max(initial=-1)) + 1)
    return {int(pid[rows[0]]): IntervalSet.of(starts[rows], ends[rows]) for rows in groups}


def _measure(
    pid: IntArray,
    edges: tuple[IntArray, IntArray],
    spans: Mapping[int, IntervalSet],
    without: Mapping[int, IntervalSet] = MappingProxyType({}),
) -> IntArray:
    """Return how much of each range spans of its process cover, and ``without`` do not."""
    covered = np.zeros(len(pid), np.int64)
    codes = group_codes(pid)
    for rows in group_positions(codes, int(codes.max(initial=-1)) + 1):
        process = int(pid[rows[0]])
        times = spans.get(process, EMPTY) - without.get(process, EMPTY)
        covered[rows] = times.within(edges[0][rows], edges[1][rows])
    return covered


def _measure_sampled(
    analysis: AnalyzedRun,
    pid: IntArray,
    edges: tuple[IntArray, IntArray],
    spans: RoleSpans,
    calls: Mapping[int, IntervalSet],
) -> IntArray:
    """Return for how long, in each range and in no call, the threads of spans were sampled inside of them."""
    trace = analysis.trace
    if trace.weight_unit != "ns" or not len(spans) or not len(trace.samples):
        return np.zeros(len(pid), np.int64)
    tids, pids = (np.append(trace.threads[name].to_numpy(np.int64), -1) for name in ("tid", "pid"))
    sample_times = trace.samples["time_ns"].to_numpy(np.int64)
    # Most samples are in no span of any thread: samples are in order of time, so the others are ranges.
    in_spans = IntervalSet.of(spans.start_ns, spans.end_ns)
    rows = list_positions(*(np.searchsorted(sample_times, edge) for edge in (in_spans.starts, in_spans.ends)))
    thread = trace.samples["thread_id"].to_numpy()
    is_on_cpu = ~is_among(trace.samples["state"].iloc[rows], "Blocked", "Waiting")
    rows = rows[is_on_cpu & np.isin(tids, pd.unique(spans.tid))[thread[rows]]]
    times = sample_times[rows]
    codes = group_codes(np.concatenate([spans.tid, tids[thread[rows]]]))
    group, starts, ends = merge_by_group(codes[: len(spans)], spans.start_ns, spans.end_ns)
    latest = find_latest(group, starts, codes[len(spans) :], times)
    is_inside = (latest >= 0) & (times < np.append(ends, 0)[latest])
    rows, times = rows[is_inside], times[is_inside]
    sampled = _merge_by_process(pids[thread[rows]], times, times + trace.weights[rows])
    return _measure(pid, edges, sampled, calls)
