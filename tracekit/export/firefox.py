"""The Firefox Profiler's processed format, for profiler.firefox.com and profiler-cli.

Version 60 is the first whose tables are shared among threads; every later profiler upgrades it on opening.
Fields: src/types/profile.ts, src/profile-logic/processed-profile-versioning.ts and
docs-developer/CHANGELOG-formats.md in github.com/firefox-devtools/profiler.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import IO, Any

import numpy as np
import numpy.typing as npt

import tracekit
from tracekit.analysis.classification.sample_labels import per_sample
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.export.export_view import ExportView, clean
from tracekit.export.firefox_tables import Tables
from tracekit.export.spans import Span, interval_spans, signpost_spans, window_spans
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
    "InferenceWindow": ("Inference window", ("verdict", "model", "source", "basis", "why", "engines")),
    "EngineInterval": ("Engine", ("phase", "label", "model", "channel", "source", "basis", "pid")),
    "Signpost": ("Signpost", ("track", "kind", "pid", "tid")),
    "TrackValue": ("Value", ("value", "unit")),
}
_INTERVAL, _INSTANT = 1, 0
_RECORDING = "recording"


def write_firefox(analysis: Analysis, out: IO[bytes]) -> None:
    """Write threads with their samples; engines are categories, phases subcategories.

    Windows, signposts, measured intervals and values of tracks are markers: on the thread that they name,
    else on separate threads of a process "Recording".
    """
    profile = _Profile(ExportView(analysis)).build()
    out.write(json.dumps(profile, separators=(",", ":"), allow_nan=False).encode() + b"\n")


class _Profile:
    def __init__(self, view: ExportView) -> None:
        self._view = view
        self._tables = Tables(view)
        self._markers: dict[int, list[tuple[str, Span]]] = {}

    def build(self) -> dict[str, Any]:
        view = self._view
        stacks = self._stacks_of_samples()
        elsewhere: dict[str, list[tuple[str, Span]]] = {}
        for span in window_spans(view):
            self._place("InferenceWindow", _engines_in_one_field(span), elsewhere, "Inference windows")
        for track, spans in interval_spans(view).items():
            for span in spans:
                self._place("EngineInterval", span, elsewhere, f"{track}, measured")
        for track, spans in signpost_spans(view).items():
            for span in spans:
                marker = replace(span, details={**span.details, "track": track})
                self._place("Signpost", marker, elsewhere, "Signposts")
        # Markers of a track without a thread need one: each track becomes a thread of the process
        # "Recording".
        for name, spans in self._values().items():
            elsewhere.setdefault(name, []).extend(("TrackValue", span) for span in spans)
        threads_with_samples = self._threads(stacks)
        if not threads_with_samples and not elsewhere:  # the profiler requires a thread
            elsewhere["no samples"] = []
        threads = threads_with_samples + [
            self._thread(name, "Recording", _RECORDING, f"recording {number}", self._marker_table(markers))
            for number, (name, markers) in enumerate(elsewhere.items())
        ]
        return {
            "meta": self._meta(),
            "libs": self._tables.libs(),
            "pages": [],
            "shared": self._tables.shared(),
            "threads": threads,
        }

    def _place(self, kind: str, span: Span, elsewhere: dict[str, list[tuple[str, Span]]], track: str) -> None:
        markers = (
            self._markers.setdefault(span.thread, []) if span.thread >= 0 else elsewhere.setdefault(track, [])
        )
        markers.append((kind, span))

    def _stacks_of_samples(self) -> npt.NDArray[np.int64]:
        """Return each sample's row of the stack table."""
        columns = self._view.columns()
        keys = np.stack([columns[name] for name in ("stack", "engine", "phase")])
        # One stack per distinct (stack, engine, phase), spread to the samples by ``inverse``.
        distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
        deciding = per_sample(
            self._view.analysis.labels.classification.deciding, distinct[0].astype(np.int32), -1
        )
        nodes = [
            self._tables.add_stack(stack, engine, phase, at_frame)
            for stack, engine, phase, at_frame in zip(*distinct.tolist(), deciding.tolist(), strict=True)
        ]
        spread: npt.NDArray[np.int64] = np.array(nodes, np.int64)[inverse.reshape(-1)]
        return spread

    # Threads ------------------------------------------------------------------------------------------------

    def _threads(self, stacks: IntArray) -> list[dict[str, Any]]:
        """Return the threads that have samples or markers, each with both."""
        view, rows = self._view, self._view.trace.threads
        of = view.trace.samples["thread_id"].to_numpy(np.int64)
        order = np.lexsort((view.trace.samples["time_ns"].to_numpy(np.int64), of))
        # Samples sorted by thread, -1 (no thread) first: thread t is order[starts[t + 1]:starts[t + 2]].
        starts = np.searchsorted(of[order], np.arange(-1, len(rows) + 1))
        threads = []
        for thread in [*range(len(rows)), -1]:
            thread_samples = order[starts[thread + 1] : starts[thread + 2]]
            markers = self._markers.get(thread, [])
            if not len(thread_samples) and not markers:
                continue
            pid = str(rows["pid"].iloc[thread]) if thread >= 0 and rows["pid"].iloc[thread] >= 0 else "none"
            tid = int(rows["tid"].iloc[thread]) if thread >= 0 else -1
            made = self._thread(
                view.threads[thread], view.processes[thread], pid, tid, self._marker_table(markers)
            )
            threads.append({**made, "samples": self._samples(thread_samples, stacks[thread_samples])})
        return threads

    def _thread(
        self, name: str, process: str, pid: str, tid: int | str, markers: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "processType": "default",
            "processName": process,
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": 0,
            "unregisterTime": None,
            "pausedRanges": [],
            "showMarkersInTimeline": True,
            "name": name,
            "isMainThread": name.startswith("Main Thread"),
            "pid": pid,
            "tid": tid,
            "samples": self._samples(np.zeros(0, np.int64), np.zeros(0, np.int64)),
            "markers": markers,
        }

    def _samples(self, rows: IntArray, stacks: IntArray) -> dict[str, Any]:
        trace = self._view.trace
        weights = trace.weights[rows]
        is_time = trace.weight_unit == "ns"
        return {
            "stack": stacks.tolist(),
            "time": _ms(trace.samples["time_ns"].to_numpy(np.int64)[rows]),
            "weight": _ms(weights) if is_time else weights.tolist(),
            "weightType": "tracing-ms" if is_time else "samples",
            "length": len(rows),
        }

    # Markers ------------------------------------------------------------------------------------------------

    def _marker_table(self, markers: Sequence[tuple[str, Span]]) -> dict[str, Any]:
        markers = sorted(markers, key=lambda marker: (marker[1].start_ns, -marker[1].end_ns))
        lasts = [span.end_ns > span.start_ns for _, span in markers]
        categories = [
            ENGINES.index(Engine(span.category)) if span.category else _OTHER for _, span in markers
        ]
        return {
            "name": [self._tables.string(span.name) for _, span in markers],
            "startTime": _ms(np.array([span.start_ns for _, span in markers], np.int64)),
            "endTime": [
                span.end_ns / 1e6 if long else None for (_, span), long in zip(markers, lasts, strict=True)
            ],
            "phase": [_INTERVAL if long else _INSTANT for long in lasts],
            "category": categories,
            "data": [{"type": kind, **span.details} for kind, span in markers],
            "length": len(markers),
        }

    def _values(self) -> dict[str, list[Span]]:
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

    def _meta(self) -> dict[str, Any]:
        info = self._view.trace.info
        return {
            "interval": sampling_period_ns(self._view.trace) / 1e6,
            "startTime": _start_ms(info.start),
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
            "markerSchema": [_schema(kind, label, fields) for kind, (label, fields) in _KINDS.items()],
        }


def _schema(kind: str, label: str, fields: Sequence[str]) -> dict[str, Any]:
    return {
        "name": kind,
        "tooltipLabel": f"{label}: {{marker.name}}",
        "tableLabel": f"{{marker.data.{fields[0]}}}",
        "chartLabel": "{marker.name}",
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "fields": [{"key": key, "label": key.title(), "format": "string"} for key in fields],
    }


def _engines_in_one_field(span: Span) -> Span:
    """Return the span with the amounts of each engine, one key per engine before, in one text."""
    plain_details = {key: value for key, value in span.details.items() if " " not in key}
    amounts = "; ".join(f"{key} {value}" for key, value in span.details.items() if " " in key)
    return replace(span, details={**plain_details, "engines": amounts})


def _ms(times_ns: IntArray) -> list[float]:
    milliseconds: list[float] = (times_ns / 1e6).tolist()
    return milliseconds


def _start_ms(start: str) -> int:
    try:
        begun = datetime.fromisoformat(start)
    except ValueError:
        return 0
    since = (begun if begun.tzinfo else begun.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(milliseconds=1)
