"""The packets of a Perfetto trace that a recording has by the million: samples and runs, in blocks.

Fields of a message are written in the order of their numbers, as protobuf's own serializer does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tracekit.export.export_view import ExportView
from tracekit.export.runs import Runs
from tracekit.export.wire import BYTES, VARINT, Rows, encoded, joined, message, picked, tag, varint, where
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import ENGINES, PHASES

_BLOCK = 1 << 16
SEQUENCE = 1


def _number(kind: Any, field: str) -> int:
    number: int = kind.DESCRIPTOR.fields_by_name[field].number
    return number


def _integers(kind: Any, field: str, values: npt.NDArray[np.integer[Any]]) -> Rows:
    """Return a field of integers, one per row."""
    return encoded(values, tag(_number(kind, field), VARINT))


def _integer(kind: Any, field: str, value: int) -> bytes:
    return tag(_number(kind, field), VARINT) + varint(value)


def _text(kind: Any, field: str, text: str) -> bytes:
    data = text.encode()
    return tag(_number(kind, field), BYTES) + varint(len(data)) + data


def _same(data: bytes, count: int) -> Rows:
    """Return the same bytes for every row."""
    return picked([data], np.zeros(count, np.int64))


def _packets(times_ns: IntArray, fields: Sequence[Rows], constant: bytes = b"") -> Rows:
    """Return packets with a time, the sequence, and constant and other fields behind it."""
    head = _integer(pb.TracePacket, "trusted_packet_sequence_id", SEQUENCE) + constant
    return message(
        _number(pb.Trace, "packet"),
        [_integers(pb.TracePacket, "timestamp", times_ns), _same(head, len(times_ns)), *fields],
    )


def sample_packets(view: ExportView, pids: Sequence[int], tids: Sequence[int]) -> Iterator[bytes]:
    """Yield a perf sample for each sample; the timebase of each core counts the weights.

    ``pids`` and ``tids`` are those of the threads, and of none at the end.
    """
    samples, weights = view.trace.samples, view.trace.weights
    columns = view.columns()
    cores = samples["core"].to_numpy()
    sums = np.zeros(int(cores.max(initial=0)) + 1, np.int64)
    flags = _integer(pb.TracePacket, "sequence_flags", pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
    pid_of, tid_of = np.array(pids, np.int64), np.array(tids, np.int64)
    for begin in range(0, len(samples), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        core = np.maximum(cores[block], 0).astype(np.int64)
        thread, stack = columns["thread"][block], columns["stack"][block].astype(np.int64)
        fields = [
            _integers(pb.PerfSample, "cpu", core),
            _integers(pb.PerfSample, "pid", pid_of[thread]),
            _integers(pb.PerfSample, "tid", tid_of[thread]),
            where(stack >= 0, _integers(pb.PerfSample, "callstack_iid", stack + 1)),
            _integers(pb.PerfSample, "timebase_count", _counted(core, weights[block], sums)),
        ]
        perf_samples = message(_number(pb.TracePacket, "perf_sample"), fields)
        times = np.maximum(view.times[block], 0)
        yield _packets(times, [perf_samples], flags).data.tobytes()


def _counted(cores: IntArray, weights: IntArray, sums: IntArray) -> IntArray:
    """Return the weight of each sample and of all before it on its core, and add the weights to ``sums``."""
    #   cores (sorted)   0  0  0  1  1      weights  5  5  2  4  4      counts  5 10 12 16 20
    #   before the core  0  0  0 12 12                                  counted 5 10 12  4  8
    order = np.argsort(cores, kind="stable")
    counts = np.cumsum(weights[order])
    first = np.flatnonzero(np.diff(cores[order], prepend=-1))
    last = np.append(first[1:], len(order)) - 1
    before = np.append(0, counts)[first]
    distinct = cores[order][first]
    counted = np.empty_like(counts)
    counted[order] = counts + np.repeat(sums[distinct] - before, last - first + 1)
    sums[distinct] += counts[last] - before
    return counted


def run_packets(view: ExportView, runs: Runs, track: int) -> bytes:
    """Return slices of runs of one thread: begins and ends in order of time."""
    # Of runs with equal starts only the first can have a length; its end stands behind the others:
    #   start  5  5  5  9        begin 5, instant 5, instant 5, end, begin 9, end
    count = len(runs.thread)
    starts = np.maximum(runs.start_ns, 0)
    is_slice = runs.end_ns > starts
    is_first = np.append(True, np.diff(runs.start_ns) != 0)
    first = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    closes = np.append(is_first[1:], True) & is_slice[first]
    kinds = [_integer(pb.TrackEvent, "type", kind) for kind in _KINDS]
    uuid = _integer(pb.TrackEvent, "track_uuid", track)
    begins = message(
        _number(pb.TracePacket, "track_event"),
        [
            _annotations("samples", runs.samples),
            _annotations(f"weight_{view.trace.weight_unit}", runs.weight),
            _window_annotations(view, runs.window),
            picked([kind + uuid for kind in kinds], np.where(is_slice, 0, 1)),
            picked(_NAMES, runs.engine * (len(PHASES) + 1) + runs.phase + 1),
        ],
    )
    ends = message(
        _number(pb.TracePacket, "track_event"),
        [_same(_integer(pb.TrackEvent, "type", pb.TrackEvent.TYPE_SLICE_END) + uuid, count)],
    )
    packets = [
        _packets(starts, [begins]),
        where(closes, _packets(np.where(closes, runs.end_ns[first], 0), [ends])),
    ]
    return joined(packets).data.tobytes()


_KINDS = (pb.TrackEvent.TYPE_SLICE_BEGIN, pb.TrackEvent.TYPE_INSTANT)
_NAMES = [
    _text(pb.TrackEvent, "categories", engine)
    + _text(pb.TrackEvent, "name", " ".join([engine, *([phase] if phase else [])]))
    for engine in map(str, ENGINES)
    for phase in ("", *map(str, PHASES))
]
"""Category and name of a run, by engine and phase."""


def _annotations(name: str, values: IntArray) -> Rows:
    """Return a number of each run that Perfetto shows with the slice."""
    fields = [
        _integers(pb.DebugAnnotation, "int_value", values),
        _same(_text(pb.DebugAnnotation, "name", name), len(values)),
    ]
    return message(_number(pb.TrackEvent, "debug_annotations"), fields)


def _window_annotations(view: ExportView, window: IntArray) -> Rows:
    distinct, codes = np.unique(window, return_inverse=True)
    texts = []
    for number in distinct.tolist():
        content = _text(pb.DebugAnnotation, "string_value", view.windows[number])
        content += _text(pb.DebugAnnotation, "name", "window")
        head = tag(_number(pb.TrackEvent, "debug_annotations"), BYTES) + varint(len(content))
        texts.append(head + content if number >= 0 else b"")
    return picked(texts, codes)
