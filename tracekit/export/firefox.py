"""The Firefox Profiler's processed format, for profiler.firefox.com and profiler-cli.

Version 60 is the first whose tables are shared among threads; every later profiler upgrades it on opening.
Fields: src/types/profile.ts, src/profile-logic/processed-profile-versioning.ts and
docs-developer/CHANGELOG-formats.md in github.com/firefox-devtools/profiler.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from typing import IO, Any

import numpy as np
import numpy.typing as npt

import tracekit
from tracekit.analysis.classification.sample_labels import per_sample
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.export.export_view import ExportView, clean, require_times
from tracekit.export.firefox_tables import SharedTables
from tracekit.export.spans import Span, build_interval_spans, build_signpost_spans, build_window_spans
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import ENGINES, PHASES, Engine

VERSION = 60
_COLOURS = {
    Engine.ANE: "green",
    Engine.GPU: "orange",
    Engine.CPU: "blue",
    Engine.RUNTIME: "purple",
    Engine.GRAPHICS: "yellow",
    Engine.OTHER: "grey",  # the color of the default category, which must be unique
    Engine.UNKNOWN: "brown",
}
CATEGORIES = [
    {"name": str(engine), "color": _COLOURS[engine], "subcategories": ["Other", *map(str, PHASES)]}
    for engine in ENGINES
]
_OTHER = ENGINES.index(Engine.OTHER)
_KINDS = {
    "InferenceWindow": ("Call", ("verdict", "model", "source", "basis", "why", "engines")),
    "EngineInterval": ("Engine", ("phase", "label", "model", "channel", "source", "basis", "pid")),
    "Signpost": ("Signpost", ("track", "kind", "pid", "tid")),
    "TrackValue": ("Value", ("value", "unit")),
}
_INTERVAL, _INSTANT = 1, 0
_RECORDING = "recording"
_BLOCK_SAMPLES = 1 << 16
"""Samples that are formatted at a time, to bound memory."""


def write_firefox(analysis: Analysis, out: IO[bytes]) -> None:
    """Write threads with their samples; engines are categories, phases subcategories.

    Windows, signposts, measured intervals and values of tracks are markers: on the thread that they name,
    else on separate threads of a process "Recording".
    """
    require_times(analysis.trace, "the Firefox Profiler")
    for piece in _FirefoxProfile(ExportView(analysis)).iter_pieces():
        out.write(piece.encode())


class _FirefoxProfile:
    def __init__(self, view: ExportView) -> None:
        self._view = view
        self._tables = SharedTables(view)
        self._markers: dict[int, list[tuple[str, Span]]] = {}

    def iter_pieces(self) -> Iterator[str]:
        """Yield the profile. Tables shared by threads come first, so they are completed before any thread."""
        view = self._view
        stacks = self._number_sample_stacks()
        elsewhere: dict[str, list[tuple[str, Span]]] = {}
        for span in build_window_spans(view):
            self._place_marker("InferenceWindow", _join_engine_amounts(span), elsewhere, view.calls.heading)
        for track, spans in build_interval_spans(view).items():
            for span in spans:
                self._place_marker("EngineInterval", span, elsewhere, f"{track}, measured")
        for track, spans in build_signpost_spans(view).items():
            for span in spans:
                marker = replace(span, details={**span.details, "track": track})
                self._place_marker("Signpost", marker, elsewhere, "Signposts")
        # Markers of a track without a thread need one: each track becomes a thread of the process
        # "Recording".
        for name, spans in self._collect_track_values().items():
            elsewhere.setdefault(name, []).extend(("TrackValue", span) for span in spans)
        threads = self._list_threads()
        if not threads and not elsewhere:  # the profiler requires a thread
            elsewhere["no samples"] = []
        threads += [
            _Thread(name, "Recording", _RECORDING, f"recording {number}", self._build_marker_table(markers))
            for number, (name, markers) in enumerate(elsewhere.items())
        ]
        head = {
            "meta": self._build_meta(),
            "libs": self._tables.build_libraries(),
            "pages": [],
            "shared": self._tables.build_shared_tables(),
        }
        yield _format_json(head)[:-1] + ',"threads":['
        for number, thread in enumerate(threads):
            yield ("," if number else "") + _format_json(thread.head)[:-1] + ',"samples":{'
            yield from self._iter_sample_members(thread.rows, stacks)
            yield "}," + _format_json({"markers": thread.markers})[1:]
        yield "]}\n"

    def _place_marker(
        self, kind: str, span: Span, elsewhere: dict[str, list[tuple[str, Span]]], track: str
    ) -> None:
        markers = (
            self._markers.setdefault(span.thread, []) if span.thread >= 0 else elsewhere.setdefault(track, [])
        )
        markers.append((kind, span))

    def _number_sample_stacks(self) -> npt.NDArray[np.int32]:
        """Return each sample's row of the stack table."""
        columns = self._view.sample_columns()
        samples, number = self._view.combine_equal_samples(("stack", "engine", "phase"))
        stacks, engines, phases = (columns[name][samples] for name in ("stack", "engine", "phase"))
        deciding = per_sample(self._view.analysis.labels.classification.deciding, stacks.astype(np.int32), -1)
        rows = zip(stacks.tolist(), engines.tolist(), phases.tolist(), deciding.tolist(), strict=True)
        nodes = np.array([self._tables.add_stack(*row) for row in rows], np.int32)
        spread: npt.NDArray[np.int32] = nodes[number]
        return spread

    # Threads ------------------------------------------------------------------------------------------------

    def _list_threads(self) -> list[_Thread]:
        """Return the threads that have samples or markers, each with both."""
        view, rows = self._view, self._view.trace.threads
        threads = []
        for thread in [*range(len(rows)), -1]:
            samples, markers = view.find_thread_samples(thread), self._markers.get(thread, [])
            if not len(samples) and not markers:
                continue
            pid = str(rows["pid"].iloc[thread]) if thread >= 0 and rows["pid"].iloc[thread] >= 0 else "none"
            tid = int(rows["tid"].iloc[thread]) if thread >= 0 else -1
            table = self._build_marker_table(markers)
            threads.append(_Thread(view.threads[thread], view.processes[thread], pid, tid, table, samples))
        return threads

    def _iter_sample_members(self, rows: IntArray, stacks: npt.NDArray[np.int32]) -> Iterator[str]:
        """Yield the members of a thread's table of samples, in blocks."""
        trace = self._view.trace
        is_time = trace.weight_unit == "ns"

        def iter_column(name: str, values: Callable[[IntArray], list[Any]]) -> Iterator[str]:
            yield f'"{name}":['
            for begin in range(0, len(rows), _BLOCK_SAMPLES):
                numbers = values(rows[begin : begin + _BLOCK_SAMPLES])
                yield ("," if begin else "") + _format_json(numbers)[1:-1]
            yield "],"

        yield from iter_column("stack", lambda block: stacks[block].tolist())
        yield from iter_column("time", lambda block: _to_milliseconds(self._view.times[block]))
        yield from iter_column(
            "weight",
            lambda block: (
                _to_milliseconds(trace.weights[block]) if is_time else trace.weights[block].tolist()
            ),
        )
        weight_type = "tracing-ms" if is_time else "samples"
        yield _format_json({"weightType": weight_type, "length": len(rows)})[1:-1]

    # Markers ------------------------------------------------------------------------------------------------

    def _build_marker_table(self, markers: Sequence[tuple[str, Span]]) -> dict[str, Any]:
        markers = sorted(markers, key=lambda marker: (marker[1].start_ns, -marker[1].end_ns))
        has_duration = [span.end_ns > span.start_ns for _, span in markers]
        categories = [
            ENGINES.index(Engine(span.category)) if span.category else _OTHER for _, span in markers
        ]
        return {
            "name": [self._tables.add_string(span.name) for _, span in markers],
            "startTime": _to_milliseconds(np.array([span.start_ns for _, span in markers], np.int64)),
            "endTime": [
                span.end_ns / 1e6 if long else None
                for (_, span), long in zip(markers, has_duration, strict=True)
            ],
            "phase": [_INTERVAL if long else _INSTANT for long in has_duration],
            "category": categories,
            "data": [{"type": kind, **span.details} for kind, span in markers],
            "length": len(markers),
        }

    def _collect_track_values(self) -> dict[str, list[Span]]:
        """Return each track of the recording as spans of constant value."""
        spans_by_track: dict[str, list[Span]] = {}
        rows = self._view.trace.tracks
        for (name, unit), values in rows.groupby(["name", "unit"], observed=True, dropna=False):
            starts = values["time_ns"].tolist()
            spans = [
                Span(start, end, clean(str(name)), "", -1, {"value": f"{value:g}", "unit": clean(str(unit))})
                # A value is valid until the next one; the last has no end and becomes an instant.
                for start, end, value in zip(
                    starts, [*starts[1:], starts[-1]], values["value"].tolist(), strict=True
                )
                if not np.isnan(value)
            ]
            spans_by_track.setdefault(clean(str(name)), []).extend(spans)
        return spans_by_track

    # Meta ---------------------------------------------------------------------------------------------------

    def _build_meta(self) -> dict[str, Any]:
        info = self._view.trace.info
        return {
            "interval": sampling_period_ns(self._view.trace) / 1e6,
            "startTime": _parse_start_ms(info.start),
            "processType": 0,
            "product": clean(info.process or info.name),
            "stackwalk": 1,
            "version": 0,
            "preprocessedProfileVersion": VERSION,
            "importedFrom": f"tracekit {tracekit.__version__}, {clean(info.name)}",
            "platform": "Macintosh",
            "oscpu": clean(info.os) if info.os else "",
            "device": clean(info.device or info.model) if info.device or info.model else "",
            "symbolicated": True,
            "symbolicationNotSupported": True,
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "keepProfileThreadOrder": True,
            "categories": CATEGORIES,
            "markerSchema": [
                _build_marker_schema(kind, label, fields) for kind, (label, fields) in _KINDS.items()
            ],
        }


@frozen
class _Thread:
    """One thread of the profile; ``rows`` are its samples in order of time."""

    name: str
    process: str
    pid: str
    tid: int | str
    markers: dict[str, Any]
    rows: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def head(self) -> dict[str, Any]:
        """The members of the thread before its samples."""
        return {
            "processType": "default",
            "processName": self.process,
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": 0,
            "unregisterTime": None,
            "pausedRanges": [],
            "showMarkersInTimeline": True,
            "name": self.name,
            "isMainThread": self.name.startswith("Main Thread"),
            "pid": self.pid,
            "tid": self.tid,
        }


def _format_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _build_marker_schema(kind: str, label: str, fields: Sequence[str]) -> dict[str, Any]:
    return {
        "name": kind,
        "tooltipLabel": f"{label}: {{marker.name}}",
        "tableLabel": f"{{marker.data.{fields[0]}}}",
        "chartLabel": "{marker.name}",
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "fields": [{"key": key, "label": key.title(), "format": "string"} for key in fields],
    }


def _join_engine_amounts(span: Span) -> Span:
    """Return the span with the amounts of all engines joined in one text."""
    plain_details = {key: value for key, value in span.details.items() if " " not in key}
    amounts = "; ".join(f"{key} {value}" for key, value in span.details.items() if " " in key)
    return replace(span, details={**plain_details, "engines": amounts})


def _to_milliseconds(times_ns: IntArray) -> list[float]:
    milliseconds: list[float] = (times_ns / 1e6).tolist()
    return milliseconds


def _parse_start_ms(start: str) -> int:
    try:
        start_time = datetime.fromisoformat(start)
    except ValueError:
        return 0
    since = (start_time if start_time.tzinfo else start_time.replace(tzinfo=UTC)) - datetime(
        1970, 1, 1, tzinfo=UTC
    )
    return since // timedelta(milliseconds=1)
