"""Perfetto's own trace format (.pftrace), for ui.perfetto.dev and trace_processor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tracekit.analysis.result import Analysis
from tracekit.export.export_view import ExportView, clean
from tracekit.export.spans import (
    Span,
    engine_runs,
    interval_spans,
    lanes,
    signpost_spans,
    window_spans,
)

_SEQUENCE = 1
_LARGEST_ID = 2**31 - 1
_FIRST_MADE_UP_ID = 2_000_000_000
_CHUNK = 20_000


def write_perfetto(analysis: Analysis, out: IO[bytes]) -> None:
    """Write samples, windows, measured intervals, signposts and counters.

    Samples are perf samples, whose timebase counts the weights; and, on a track of their thread, slices of
    one engine and phase each, because Perfetto's flame graph counts samples and has no engines.
    """
    trace = pb.Trace()
    for packet in _Writer(ExportView(analysis)).packets():
        trace.packet.append(packet)  # protobuf appends a copy
        if len(trace.packet) == _CHUNK:
            out.write(trace.SerializeToString(deterministic=True))
            trace.Clear()
    out.write(trace.SerializeToString(deterministic=True))


class _Writer:
    def __init__(self, view: ExportView) -> None:
        self._view = view
        self._tracks = 0
        rows = view.trace.threads
        self._pids = _ids(rows["pid"].tolist())
        self._tids = _ids(rows["tid"].tolist())

    def packets(self) -> Iterator[Any]:
        """Yield the trace's packets; each must be used before the next, because samples share one packet."""
        yield self._beginning()
        windows, runs = window_spans(self._view), engine_runs(self._view)
        yield from self._group("Inference windows", {"": windows}, rank=0)
        yield from self._group("Engines, measured", interval_spans(self._view), rank=1)
        yield from self._threads(runs)
        yield from self._group("Signposts", signpost_spans(self._view), rank=2)
        yield from self._counters()
        yield from self._samples()

    def _beginning(self) -> Any:
        """Return the first packet, with every name, frame and stack of the samples."""
        packet = self._packet()
        packet.sequence_flags = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.trusted_packet_sequence_id = _SEQUENCE
        timebase = packet.trace_packet_defaults.perf_sample_defaults.timebase
        timebase.name = f"weight_{self._view.trace.weight_unit}"
        timebase.counter = pb.PerfEvents.SW_CPU_CLOCK
        self._intern(packet.interned_data)
        return packet

    def _intern(self, data: Any) -> None:
        stacks = self._view.trace.stacks
        names: dict[str, int] = {}
        files: dict[str, int] = {}
        # Interning ids must not be 0. Mapping 1 is "no binary", so the mapping of binary b is b + 2, and
        # binary_id -1 finds 1.
        data.mappings.add(iid=1)  # of frames without a binary
        for iid, binary in enumerate(stacks.binaries.to_dict("records")):
            data.mapping_paths.add(iid=iid + 1, str=clean(binary["path"] or binary["name"]).encode())
            data.build_ids.add(iid=iid + 1, str=clean(binary["uuid"]).encode() if binary["uuid"] else b"")
            load = binary["load_address"]
            data.mappings.add(
                iid=iid + 2, build_id=iid + 1, start=load, end=2**64 - 1, path_string_ids=[iid + 1]
            )
        # The appended 0 is the load address for binary_id -1: such frames keep their absolute address.
        loads = np.append(stacks.binaries["load_address"].to_numpy(np.uint64), np.uint64(0)).tolist()
        for iid, row in enumerate(self._view.rows):
            frame = data.frames.add(
                iid=iid + 1,
                function_name_id=names.setdefault(self._view.symbols[iid], len(names) + 1),
                mapping_id=row.binary_id + 2,
                rel_pc=max(row.address - loads[row.binary_id], 0),
            )
            if row.source_file:
                frame.source_path_iid = files.setdefault(clean(row.source_file), len(files) + 1)
                frame.line_number = max(row.source_line, 0)
        for interned, texts in ((data.function_names, names), (data.source_paths, files)):
            for text, iid in texts.items():
                interned.add(iid=iid, str=text.encode())
        for stack in np.unique(self._view.groups.stack).tolist():
            if stack >= 0:
                ids = [frame + 1 for frame in self._view.stack_frames(stack)]
                data.callstacks.add(iid=stack + 1, frame_ids=ids)

    # Tracks -------------------------------------------------------------------------------------------------

    def _packet(self) -> Any:
        return pb.TracePacket(trusted_packet_sequence_id=_SEQUENCE)

    def _track(self, name: str, parent: int = 0, rank: int = 0) -> tuple[int, Any]:
        """Return a new track's number, and the packet that describes it."""
        self._tracks += 1
        packet = self._packet()
        described = packet.track_descriptor
        described.uuid = self._tracks
        if name:
            described.name = name
        if parent:
            described.parent_uuid = parent
        described.sibling_order_rank = rank
        return self._tracks, packet

    def _group(self, name: str, tracks: dict[str, list[Span]], rank: int) -> Iterator[Any]:
        """Yield a group of tracks with their spans; nothing where there are none."""
        if not any(tracks.values()):
            return
        parent, packet = self._track(name, rank=rank)
        packet.track_descriptor.child_ordering = pb.TrackDescriptor.EXPLICIT
        yield packet
        for position, (track, spans) in enumerate(tracks.items()):
            yield from self._lanes(track or name, spans, parent, position)

    def _lanes(self, name: str, spans: Iterable[Span], parent: int, rank: int = 0) -> Iterator[Any]:
        for lane in lanes(spans):
            track, packet = self._track(name, parent, rank)
            yield packet
            yield from self._slices(track, lane)

    def _slices(self, track: int, spans: Iterable[Span]) -> Iterator[Any]:
        """Yield one lane's spans: begins and ends nest, in order of time."""
        # Spans of a lane nest or are disjoint (``lanes``), so the open ones form a stack of ends:
        #   ┌──────── a ────────┐
        #      ┌─ b ─┐  ┌─ c ─┐         begin a, begin b, end b, begin c, end c, end a
        ends: list[int] = []
        for span in spans:
            start = max(span.start_ns, 0)
            while ends and ends[-1] <= start:
                yield self._end(track, ends.pop())
            packet = self._packet()
            packet.timestamp = start
            event = packet.track_event
            event.track_uuid, event.name = track, span.name
            if span.category:
                event.categories.append(span.category)
            for name, value in span.details.items():
                note = event.debug_annotations.add(name=name)
                if isinstance(value, str):
                    note.string_value = value
                else:
                    note.int_value = value
            if span.end_ns > start:
                event.type = pb.TrackEvent.TYPE_SLICE_BEGIN
                ends.append(span.end_ns)
            else:
                event.type = pb.TrackEvent.TYPE_INSTANT
            yield packet
        for end in reversed(ends):
            yield self._end(track, end)

    def _end(self, track: int, end_ns: int) -> Any:
        packet = self._packet()
        packet.timestamp = end_ns
        packet.track_event.track_uuid = track
        packet.track_event.type = pb.TrackEvent.TYPE_SLICE_END
        return packet

    # Threads and samples ------------------------------------------------------------------------------------

    def _threads(self, runs: list[Span]) -> Iterator[Any]:
        by_thread: dict[int, list[Span]] = {}
        for span in runs:
            by_thread.setdefault(span.thread, []).append(span)
        # A process per distinct pid; in reverse order, so that the first of its threads is the one that
        # stays.
        for pid, thread in {self._pids[thread]: thread for thread in sorted(by_thread, reverse=True)}.items():
            _, packet = self._track("")
            packet.track_descriptor.process.pid = pid
            packet.track_descriptor.process.process_name = self._view.processes[thread]
            yield packet
        for thread, spans in sorted(by_thread.items()):
            number, packet = self._track("")
            packet.track_descriptor.thread.pid = self._pids[thread]
            packet.track_descriptor.thread.tid = self._tids[thread]
            packet.track_descriptor.thread.thread_name = self._view.threads[thread]
            yield packet
            yield from self._lanes("engine (host samples)", spans, number)

    def _samples(self) -> Iterator[Any]:
        """Yield one perf sample each; the timebase of each core counts the weights."""
        samples, weights = self._view.trace.samples, self._view.trace.weights
        # The timebase counts up per core, so weights are summed core by core: cumulative over all samples in
        # order of cores, less the sum before the first sample of the core.
        cores = np.maximum(samples["core"].to_numpy(np.int64), 0)
        order = np.argsort(cores, kind="stable")
        counts = np.cumsum(weights[order])
        first = np.searchsorted(cores[order], cores[order])
        counted = np.empty_like(counts)
        #   cores (sorted)   0  0  0  1  1       first     0  0  0  3  3
        #   weights          5  5  2  4  4       counts    5 10 12 16 20       counted   5 10 12  4  8
        counted[order] = counts - np.append(0, counts)[first]
        columns = (
            np.maximum(samples["time_ns"].to_numpy(np.int64), 0),
            cores,
            samples["thread_id"].to_numpy(np.int64),
            samples["stack_id"].to_numpy(np.int64) + 1,
            counted,
        )
        packet = self._packet()  # shared by all samples: a new packet for each takes three times as long
        packet.sequence_flags = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        sample = packet.perf_sample
        for time, core, thread, stack, count in zip(*(column.tolist() for column in columns), strict=True):
            packet.timestamp = time
            sample.cpu, sample.pid, sample.tid = core, self._pids[thread], self._tids[thread]
            sample.timebase_count = count
            if stack:
                sample.callstack_iid = stack
            else:
                sample.ClearField("callstack_iid")
            yield packet

    def _counters(self) -> Iterator[Any]:
        """Yield a counter track per track; unknown values are left out, so that the last one stays."""
        rows = self._view.trace.tracks.dropna(subset=["value"])
        for (name, unit), values in rows.groupby(["name", "unit"], observed=True):
            track, packet = self._track(clean(str(name)), rank=3)
            packet.track_descriptor.counter.unit_name = clean(str(unit)) if unit else ""
            yield packet
            for time, value in zip(values["time_ns"].tolist(), values["value"].tolist(), strict=True):
                packet = self._packet()
                packet.timestamp = max(time, 0)
                packet.track_event.track_uuid = track
                packet.track_event.type = pb.TrackEvent.TYPE_COUNTER
                packet.track_event.double_counter_value = value
                yield packet


def _ids(numbers: list[int]) -> list[int]:
    """Return ids that Perfetto accepts, and one more for none: 0 is its idle task."""
    made_up = {number: _FIRST_MADE_UP_ID + index for index, number in enumerate(dict.fromkeys(numbers))}
    return [number if 0 < number < _FIRST_MADE_UP_ID else made_up[number] for number in numbers] + [
        _LARGEST_ID
    ]
