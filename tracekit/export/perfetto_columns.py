"""The most frequent packets of a Perfetto trace: samples and runs, encoded in blocks.

Fields of a message are written in the order of their numbers, as protobuf's own serializer does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tracekit.export.export_view import ExportView
from tracekit.export.runs import EngineRuns
from tracekit.export.wire import (
    BYTES,
    VARINT,
    ByteRows,
    encode_message,
    encode_tag,
    encode_varint,
    encode_varints,
    join_columns,
    select_rows,
    take_texts,
)
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import ENGINES, PHASES

_BLOCK_SAMPLES = 1 << 16
SEQUENCE = 1


def _find_field_number(kind: Any, field: str) -> int:
    number: int = kind.DESCRIPTOR.fields_by_name[field].number
    return number


def _encode_integers(kind: Any, field: str, values: npt.NDArray[np.integer[Any]]) -> ByteRows:
    """Return a field of integers, one per row."""
    return encode_varints(values, encode_tag(_find_field_number(kind, field), VARINT))


def _encode_integer(kind: Any, field: str, value: int) -> bytes:
    return encode_tag(_find_field_number(kind, field), VARINT) + encode_varint(value)


def _encode_text(kind: Any, field: str, text: str) -> bytes:
    data = text.encode()
    return encode_tag(_find_field_number(kind, field), BYTES) + encode_varint(len(data)) + data


def _repeat_bytes(data: bytes, count: int) -> ByteRows:
    """Return the same bytes for every row."""
    return take_texts([data], np.zeros(count, np.int64))


def _encode_packets(times_ns: IntArray, fields: Sequence[ByteRows], constant: bytes = b"") -> ByteRows:
    """Return packets with a time and the sequence, followed by constant and other fields."""
    head = _encode_integer(pb.TracePacket, "trusted_packet_sequence_id", SEQUENCE) + constant
    return encode_message(
        _find_field_number(pb.Trace, "packet"),
        [
            _encode_integers(pb.TracePacket, "timestamp", times_ns),
            _repeat_bytes(head, len(times_ns)),
            *fields,
        ],
    )


def iter_sample_packets(view: ExportView, pids: Sequence[int], tids: Sequence[int]) -> Iterator[bytes]:
    """Yield a perf sample for each sample; the timebase of each core counts the weights.

    ``pids`` and ``tids`` belong to the threads; the last entries stand for an unknown thread.
    """
    samples, weights = view.trace.samples, view.trace.weights
    columns = view.sample_columns()
    cores = samples["core"].to_numpy()
    sums = np.zeros(int(cores.max(initial=0)) + 1, np.int64)
    flags = _encode_integer(pb.TracePacket, "sequence_flags", pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
    pid_of, tid_of = np.array(pids, np.int64), np.array(tids, np.int64)
    for begin in range(0, len(samples), _BLOCK_SAMPLES):
        block = slice(begin, begin + _BLOCK_SAMPLES)
        core = np.maximum(cores[block], 0).astype(np.int64)
        thread, stack = columns["thread"][block], columns["stack"][block].astype(np.int64)
        fields = [
            _encode_integers(pb.PerfSample, "cpu", core),
            _encode_integers(pb.PerfSample, "pid", pid_of[thread]),
            _encode_integers(pb.PerfSample, "tid", tid_of[thread]),
            select_rows(stack >= 0, _encode_integers(pb.PerfSample, "callstack_iid", stack + 1)),
            _encode_integers(
                pb.PerfSample, "timebase_count", _accumulate_weights(core, weights[block], sums)
            ),
        ]
        perf_samples = encode_message(_find_field_number(pb.TracePacket, "perf_sample"), fields)
        times = np.maximum(view.times[block], 0)
        yield _encode_packets(times, [perf_samples], flags).data.tobytes()


def _accumulate_weights(cores: IntArray, weights: IntArray, sums: IntArray) -> IntArray:
    """Return running sums of weights per core, continuing from ``sums``, which is updated."""
    #   cores (sorted)   0  0  0  1  1      weights  5  5  2  4  4      counts  5 10 12 16 20
    #   before the core  0  0  0 12 12                                  counted 5 10 12  4  8
    order = np.argsort(cores, kind="stable")
    counts = np.cumsum(weights[order])
    first_positions = np.flatnonzero(np.diff(cores[order], prepend=-1))
    last_positions = np.append(first_positions[1:], len(order)) - 1
    earlier_sums = np.append(0, counts)[first_positions]
    distinct = cores[order][first_positions]
    running_sums = np.empty_like(counts)
    running_sums[order] = counts + np.repeat(
        sums[distinct] - earlier_sums, last_positions - first_positions + 1
    )
    sums[distinct] += counts[last_positions] - earlier_sums
    return running_sums


def encode_runs(view: ExportView, runs: EngineRuns, track: int) -> bytes:
    """Return slices of runs of one thread: begins and ends in order of time."""
    # Of runs with equal starts only the first can have a length; its end stands behind the others:
    #   start  5  5  5  9        begin 5, instant 5, instant 5, end, begin 9, end
    count = len(runs.thread)
    starts = np.maximum(runs.start_ns, 0)
    is_slice = runs.end_ns > starts
    is_first = np.append(True, np.diff(runs.start_ns) != 0)
    first_run_rows = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    closes = np.append(is_first[1:], True) & is_slice[first_run_rows]
    kinds = [_encode_integer(pb.TrackEvent, "type", kind) for kind in _KINDS]
    uuid = _encode_integer(pb.TrackEvent, "track_uuid", track)
    begins = encode_message(
        _find_field_number(pb.TracePacket, "track_event"),
        [
            _annotate_number("samples", runs.samples),
            _annotate_number(f"weight_{view.trace.weight_unit}", runs.weight),
            _annotate_windows(view, runs.window),
            take_texts([kind + uuid for kind in kinds], np.where(is_slice, 0, 1)),
            take_texts(_NAMES, runs.engine * (len(PHASES) + 1) + runs.phase + 1),
        ],
    )
    ends = encode_message(
        _find_field_number(pb.TracePacket, "track_event"),
        [_repeat_bytes(_encode_integer(pb.TrackEvent, "type", pb.TrackEvent.TYPE_SLICE_END) + uuid, count)],
    )
    packets = [
        _encode_packets(starts, [begins]),
        select_rows(closes, _encode_packets(np.where(closes, runs.end_ns[first_run_rows], 0), [ends])),
    ]
    return join_columns(packets).data.tobytes()


_KINDS = (pb.TrackEvent.TYPE_SLICE_BEGIN, pb.TrackEvent.TYPE_INSTANT)
_NAMES = [
    _encode_text(pb.TrackEvent, "categories", engine)
    + _encode_text(pb.TrackEvent, "name", " ".join([engine, *([phase] if phase else [])]))
    for engine in map(str, ENGINES)
    for phase in ("", *map(str, PHASES))
]
"""Category and name of a run, by engine and phase."""


def _annotate_number(name: str, values: IntArray) -> ByteRows:
    """Return an annotation with a number for each run's slice."""
    fields = [
        _encode_integers(pb.DebugAnnotation, "int_value", values),
        _repeat_bytes(_encode_text(pb.DebugAnnotation, "name", name), len(values)),
    ]
    return encode_message(_find_field_number(pb.TrackEvent, "debug_annotations"), fields)


def _annotate_windows(view: ExportView, window: IntArray) -> ByteRows:
    distinct, codes = np.unique(window, return_inverse=True)
    texts = []
    for number in distinct.tolist():
        content = _encode_text(pb.DebugAnnotation, "string_value", view.windows[number])
        content += _encode_text(pb.DebugAnnotation, "name", "window")
        head = encode_tag(_find_field_number(pb.TrackEvent, "debug_annotations"), BYTES) + encode_varint(
            len(content)
        )
        texts.append(head + content if number >= 0 else b"")
    return take_texts(texts, codes)
