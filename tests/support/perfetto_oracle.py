"""The packets of runs and samples made by protobuf, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.export.export_view import ExportView
from tracekit.model.vocabulary import ENGINES, PHASES


@dataclass(frozen=True)
class Run:
    """One run of samples."""

    key: tuple[int, int, int, int]
    start_ns: int
    end_ns: int
    samples: int
    weight: int


def plain_runs(view: ExportView) -> list[Run]:
    """Return the runs by thread and start; of equal starts the longest first."""
    trace = view.trace
    rows = zip(
        *(view.sample_columns()[name].tolist() for name in ("thread", "engine", "phase", "window")),
        trace.samples["time_ns"].tolist(),
        trace.weights.tolist(),
        strict=True,
    )
    runs: list[Run] = []
    for *key, time_ns, weight in sorted(rows, key=lambda row: (row[0], row[4])):
        end_ns = time_ns + (weight if trace.weight_unit == "ns" else 0)
        run = runs[-1] if runs else None
        if run and run.key == tuple(key) and time_ns - run.end_ns <= 2 * sampling_period_ns(trace):
            runs[-1] = replace(run, end_ns=end_ns, samples=run.samples + 1, weight=run.weight + weight)
        else:
            runs.append(Run(tuple(key), time_ns, end_ns, 1, weight))  # type: ignore[arg-type]
    cut = [
        replace(run, end_ns=min(run.end_ns, after.start_ns)) if after and after.key[0] == run.key[0] else run
        for run, after in zip(runs, [*runs[1:], None], strict=False)
    ]
    return sorted(cut, key=lambda run: (run.key[0], run.start_ns, -run.end_ns))


def plain_run_packets(view: ExportView, runs: Sequence[Run], track: int) -> bytes:
    """Return the slices of one thread's runs."""
    trace, ends = pb.Trace(), []
    for run in runs:
        start = max(run.start_ns, 0)
        while ends and ends[-1] <= start:
            _end(trace, track, ends.pop())
        packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=start)
        event = packet.track_event
        event.track_uuid = track
        _, engine, phase, window = run.key
        event.name = " ".join([ENGINES[engine], *([PHASES[phase]] if phase >= 0 else [])])
        event.categories.append(ENGINES[engine])
        event.debug_annotations.add(name="samples", int_value=run.samples)
        event.debug_annotations.add(name=f"weight_{view.trace.weight_unit}", int_value=run.weight)
        if window >= 0:
            event.debug_annotations.add(name="window", string_value=view.windows[window])
        event.type = pb.TrackEvent.TYPE_INSTANT
        if run.end_ns > start:
            event.type = pb.TrackEvent.TYPE_SLICE_BEGIN
            ends.append(run.end_ns)
    for end in reversed(ends):
        _end(trace, track, end)
    data: bytes = trace.SerializeToString(deterministic=True)
    return data


def _end(trace: Any, track: int, end_ns: int) -> None:
    packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=end_ns)
    packet.track_event.track_uuid = track
    packet.track_event.type = pb.TrackEvent.TYPE_SLICE_END


def plain_sample_packets(view: ExportView, pids: Sequence[int], tids: Sequence[int]) -> bytes:
    """Return a perf sample for each sample."""
    trace, samples = pb.Trace(), view.trace.samples
    counted = dict.fromkeys(np.maximum(samples["core"], 0).tolist(), 0)
    names = ("time_ns", "core", "thread_id", "stack_id")
    columns = zip(*(samples[name].tolist() for name in names), view.trace.weights.tolist(), strict=True)
    for time_ns, core, thread, stack, weight in columns:
        counted[max(core, 0)] += weight
        packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=max(time_ns, 0))
        packet.sequence_flags = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        sample = packet.perf_sample
        sample.cpu, sample.pid, sample.tid = max(core, 0), pids[thread], tids[thread]
        sample.timebase_count = counted[max(core, 0)]
        if stack >= 0:
            sample.callstack_iid = stack + 1
    data: bytes = trace.SerializeToString(deterministic=True)
    return data
