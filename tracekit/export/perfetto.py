"""Perfetto's own trace format (.pftrace), for ui.perfetto.dev and trace_processor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import IO, Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tracekit.analysis.result import Analysis
from tracekit.export.export_view import ExportView, clean, require_times
from tracekit.export.lanes import arrange_in_lanes
from tracekit.export.perfetto_columns import encode_runs, iter_sample_packets
from tracekit.export.runs import EngineRuns, iter_engine_runs
from tracekit.export.spans import Span, build_interval_spans, build_signpost_spans, build_window_spans

_SEQUENCE = 1
_LARGEST_ID = 2**31 - 1
_FIRST_SYNTHETIC_ID = 2_000_000_000
_PACKETS_PER_PIECE = 20_000


def write_perfetto(analysis: Analysis, out: IO[bytes]) -> None:
    """Write samples, calls, measured intervals, signposts and counters.

    Samples are perf samples, whose timebase counts the weights; and, on a track of their thread, slices of
    one engine and phase each, because Perfetto's flame graph counts samples and has no engines.
    """
    require_times(analysis.trace, "Perfetto")
    for piece in _PerfettoWriter(ExportView(analysis)).iter_pieces():
        out.write(piece)


def _serialize_packets(packets: Iterable[Any]) -> Iterator[bytes]:
    """Yield packets as pieces of a trace."""
    trace = pb.Trace()
    for packet in packets:
        trace.packet.append(packet)  # protobuf appends a copy
        if len(trace.packet) == _PACKETS_PER_PIECE:
            yield trace.SerializeToString(deterministic=True)
            trace.Clear()
    yield trace.SerializeToString(deterministic=True)


class _PerfettoWriter:
    def __init__(self, view: ExportView) -> None:
        self._view = view
        self._tracks = 0
        rows = view.trace.threads
        self._pids = _make_valid_ids(rows["pid"].tolist())
        self._tids = _make_valid_ids(rows["tid"].tolist())

    def iter_pieces(self) -> Iterator[bytes]:
        """Yield the trace: rare records as packets, runs and samples as encoded columns."""
        yield from _serialize_packets(self._iter_leading_packets())
        yield from self._iter_threads()
        yield from _serialize_packets(self._iter_trailing_packets())
        yield from iter_sample_packets(self._view, self._pids, self._tids)

    def _iter_leading_packets(self) -> Iterator[Any]:
        yield self._build_first_packet()
        yield from self._iter_track_group(
            self._view.calls.heading, {"": build_window_spans(self._view)}, rank=0
        )
        yield from self._iter_track_group("Engines, measured", build_interval_spans(self._view), rank=1)

    def _iter_trailing_packets(self) -> Iterator[Any]:
        yield from self._iter_track_group("Signposts", build_signpost_spans(self._view), rank=2)
        yield from self._iter_counters()

    def _build_first_packet(self) -> Any:
        """Return the first packet, with every name, frame and stack of the samples."""
        packet = self._make_packet()
        packet.sequence_flags = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.trusted_packet_sequence_id = _SEQUENCE
        timebase = packet.trace_packet_defaults.perf_sample_defaults.timebase
        timebase.name = f"weight_{self._view.trace.weight_unit}"
        timebase.counter = pb.PerfEvents.SW_CPU_CLOCK
        self._add_interned_data(packet.interned_data)
        return packet

    def _add_interned_data(self, data: Any) -> None:
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
        for stack in np.unique(self._view.sample_columns()["stack"]).tolist():
            if stack >= 0:
                ids = [frame + 1 for frame in self._view.list_stack_frames(stack)]
                data.callstacks.add(iid=stack + 1, frame_ids=ids)

    # Tracks -------------------------------------------------------------------------------------------------

    def _make_packet(self) -> Any:
        return pb.TracePacket(trusted_packet_sequence_id=_SEQUENCE)

    def _describe_track(self, name: str, parent: int = 0, rank: int = 0) -> tuple[int, Any]:
        """Return a new track's number, and the packet that describes it."""
        self._tracks += 1
        packet = self._make_packet()
        described = packet.track_descriptor
        described.uuid = self._tracks
        if name:
            described.name = name
        if parent:
            described.parent_uuid = parent
        described.sibling_order_rank = rank
        return self._tracks, packet

    def _iter_track_group(self, name: str, tracks: dict[str, list[Span]], rank: int) -> Iterator[Any]:
        """Yield a group of tracks with their spans; nothing without tracks."""
        if not any(tracks.values()):
            return
        parent, packet = self._describe_track(name, rank=rank)
        packet.track_descriptor.child_ordering = pb.TrackDescriptor.EXPLICIT
        yield packet
        for position, (track, spans) in enumerate(tracks.items()):
            yield from self._iter_lane_packets(track or name, spans, parent, position)

    def _iter_lane_packets(
        self, name: str, spans: Iterable[Span], parent: int, rank: int = 0
    ) -> Iterator[Any]:
        for lane in arrange_in_lanes(spans):
            track, packet = self._describe_track(name, parent, rank)
            yield packet
            yield from self._iter_slices(track, lane)

    def _iter_slices(self, track: int, spans: Iterable[Span]) -> Iterator[Any]:
        """Yield one lane's spans: begins and ends nest, in order of time."""
        # Spans of a lane nest or are disjoint (``arrange_in_lanes``), so the open ones form a stack of ends:
        #   ┌──────── a ────────┐
        #      ┌─ b ─┐  ┌─ c ─┐         begin a, begin b, end b, begin c, end c, end a
        ends: list[int] = []
        for span in spans:
            start = max(span.start_ns, 0)
            while ends and ends[-1] <= start:
                yield self._end_slice(track, ends.pop())
            packet = self._make_packet()
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
            yield self._end_slice(track, end)

    def _end_slice(self, track: int, end_ns: int) -> Any:
        packet = self._make_packet()
        packet.timestamp = end_ns
        packet.track_event.track_uuid = track
        packet.track_event.type = pb.TrackEvent.TYPE_SLICE_END
        return packet

    # Threads ------------------------------------------------------------------------------------------------

    def _iter_threads(self) -> Iterator[bytes]:
        threads = np.unique(self._view.sample_columns()["thread"]).tolist()
        # A process per distinct pid; in reverse order, so that the first of its threads is the one that
        # stays.
        processes = {self._pids[thread]: thread for thread in reversed(threads)}
        yield from _serialize_packets(
            self._describe_process(pid, thread) for pid, thread in processes.items()
        )
        previous_thread, track = None, 0
        for runs in iter_engine_runs(self._view):
            edges = [0, *(np.flatnonzero(np.diff(runs.thread)) + 1).tolist(), len(runs.thread)]
            for begin, end in pairwise(edges):
                thread = int(runs.thread[begin])
                if thread != previous_thread:
                    parent, packet = self._describe_thread(thread)
                    # Runs of a thread do not overlap: one lane holds them all.
                    track, lane = self._describe_track("engine (host samples)", parent)
                    yield from _serialize_packets([packet, lane])
                    previous_thread = thread
                yield encode_runs(self._view, EngineRuns(*(column[begin:end] for column in runs)), track)

    def _describe_process(self, pid: int, thread: int) -> Any:
        _, packet = self._describe_track("")
        packet.track_descriptor.process.pid = pid
        packet.track_descriptor.process.process_name = self._view.processes[thread]
        return packet

    def _describe_thread(self, thread: int) -> tuple[int, Any]:
        number, packet = self._describe_track("")
        packet.track_descriptor.thread.pid = self._pids[thread]
        packet.track_descriptor.thread.tid = self._tids[thread]
        packet.track_descriptor.thread.thread_name = self._view.threads[thread]
        return number, packet

    def _iter_counters(self) -> Iterator[Any]:
        """Yield a counter track per track; unknown values are omitted, so the previous value continues."""
        rows = self._view.trace.tracks.dropna(subset=["value"])
        for (name, unit), values in rows.groupby(["name", "unit"], observed=True):
            track, packet = self._describe_track(clean(str(name)), rank=3)
            packet.track_descriptor.counter.unit_name = clean(str(unit)) if unit else ""
            yield packet
            for time, value in zip(values["time_ns"].tolist(), values["value"].tolist(), strict=True):
                packet = self._make_packet()
                packet.timestamp = max(time, 0)
                packet.track_event.track_uuid = track
                packet.track_event.type = pb.TrackEvent.TYPE_COUNTER
                packet.track_event.double_counter_value = value
                yield packet


def _make_valid_ids(numbers: list[int]) -> list[int]:
    """Return ids that Perfetto accepts (0 is its idle task), and one more for unknown ids."""
    made_up = {number: _FIRST_SYNTHETIC_ID + index for index, number in enumerate(dict.fromkeys(numbers))}
    return [number if 0 < number < _FIRST_SYNTHETIC_ID else made_up[number] for number in numbers] + [
        _LARGEST_ID
    ]
