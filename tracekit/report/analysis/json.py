"""``tracekit-analysis/1``: the analysis as JSON. The schema is docs/tracekit-analysis-1.schema.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

import tracekit
from tracekit.analysis.availability import Evidence
from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.engines.attribution import Share, SharesByWindow
from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.membership import OUTSIDE
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import numbered_windows
from tracekit.model.trace import Trace, WeightUnit
from tracekit.model.vocabulary import ENGINES, ML_ENGINES, Engine

SCHEMA = "tracekit-analysis/1"


def to_json(analysis: Analysis) -> str:
    """Return the document as indented JSON text with a final newline."""
    return json.dumps(to_dict(analysis), ensure_ascii=False, indent=2) + "\n"


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return the document as plain data."""
    trace = analysis.trace
    totals = SharesByWindow(analysis.totals).get(OUTSIDE, [])
    return {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "input": {"name": trace.info.name, "kind": trace.info.kind, "run": trace.info.run},
        "recording": _recording(trace),
        "selection": {
            name: None if by is None else str(by) for name, by in asdict(analysis.selection).items()
        },
        "samples": _samples(trace),
        "engines": _engines(totals, ENGINES, trace.weight_unit, analysis.measured.engines),
        "evidence": [_evidence(one) for one in analysis.evidence],
        "windows": _windows(analysis),
        "summary": asdict(analysis.summary),
        "issues": [asdict(issue) for issue in analysis.issues],
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    return {**asdict(one), "note": f"{one.shows}; {one.remark}"}


def _recording(trace: Trace) -> dict[str, Any]:
    info = trace.info
    texts = {
        "device": info.device or info.model,
        "model": info.model,
        "platform": info.platform,
        "os": info.os,
        "template": info.template,
        "instruments": info.instruments,
        "start": info.start,
        "end_reason": info.end_reason,
        "process": info.process,
    }
    return {
        **{name: text or None for name, text in texts.items()},
        "duration_ns": info.duration_ns,
        "pid": info.pid,
        "thermal": _thermal(trace),
        "cores": {str(core): kind for core, kind in sorted(trace.core_types.items())},
    }


def _samples(trace: Trace) -> dict[str, Any]:
    weight = int(trace.weights.sum())
    stack_ids = trace.samples["stack_id"]
    used = np.unique(trace.stacks.frame_ids)
    return {
        "source": trace.samples_source,
        "count": len(trace.samples),
        "weight_ns": weight if trace.weight_unit == "ns" else None,
        "weight": weight,
        "weight_unit": trace.weight_unit,
        "null_stacks": int((stack_ids < 0).sum()),
        "unique_stacks": int(stack_ids[stack_ids >= 0].nunique()),
        "unsymbolicated_frames": sum(not has_symbol(symbol) for symbol in trace.stacks.symbols[used]),
    }


def _engines(
    shares: Sequence[Share], engines: Sequence[Engine], unit: WeightUnit, measured: frozenset[Engine]
) -> dict[str, Any]:
    """Return engine → numbers; null where nothing measured or inferred them.

    ``busy_ns`` is work for inferences: compile and load stand in their phases.
    """
    no_time = 0 if unit == "ns" else None
    document: dict[str, Any] = {}
    for engine in engines:
        own = [share for share in shares if share.engine is engine]
        busy = [share.busy_ns for share in own if share.busy_ns is not None and _is_serving(share)]
        waiting = [share.waiting_ns for share in own if share.waiting_ns is not None]
        bases = [str(share.waiting_basis) for share in own if share.waiting_basis is not None]
        document[str(engine)] = {
            "samples": sum(share.samples for share in own),
            "sampled_ns": _sum_or_null([share.sampled_ns for share in own], no_time),
            "busy_ns": sum(busy) if busy or engine in measured else None,
            "waiting_ns": sum(waiting) if waiting else None,
            "waiting_basis": bases[0] if bases else None,
            "weight": sum(share.weight for share in own),
            "phases": {
                str(share.phase): {
                    "samples": share.samples,
                    "sampled_ns": share.sampled_ns,
                    "busy_ns": share.busy_ns,
                }
                for share in own
                if share.phase is not None
            },
        }
    return document


def _is_serving(share: Share) -> bool:
    return share.phase is None or share.is_inference


def _sum_or_null(amounts: Sequence[int | None], of_nothing: int | None) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    if not amounts:
        return of_nothing
    return sum(known) if len(known) == len(amounts) else None


def _windows(analysis: Analysis) -> list[dict[str, Any]]:
    shares = SharesByWindow(analysis.attribution_rows)
    segments = _segments(analysis.segments)
    events, metrics = _events(analysis), _metrics(analysis)
    times = analysis.times.astype(object).to_dict("records")
    firsts = analysis.window_rows["first"].tolist()
    documents = []
    unit, measured = analysis.trace.weight_unit, analysis.measured.engines
    for (number, window), verdict in zip(
        numbered_windows(analysis.window_rows), analysis.verdicts, strict=True
    ):
        own = shares.get(number, [])
        listed = [e for e in ENGINES if e in ML_ENGINES or any(share.engine is e for share in own)]
        documents.append(
            {
                "id": number,
                "start_ns": window.start_ns,
                "end_ns": window.end_ns,
                "label": window.label,
                "model": window.model or None,
                "first": firsts[number],
                "thread": thread_label(analysis.trace, window.thread_id),
                "source": window.source,
                "basis": str(window.basis),
                "engines": _engines(own, listed, unit, measured),
                "times": {
                    name: None if pd.isna(value) else value
                    for name, value in times[number].items()
                    if name != "window_id"
                },
                "segments": segments.get(number, []),
                "counters": events.get(number, {}),
                "metrics": metrics.get(number, {}),
                "verdict": verdict.verdict,
                "sentence": verdict.short,
                "why": verdict.why,
            }
        )
    return documents


def _segments(segments: pd.DataFrame) -> dict[int, list[dict[str, Any]]]:
    """Return the hand-offs by window."""
    names = ("engine", "start_ns", "end_ns", "busy_ns", "basis")
    found: dict[int, list[dict[str, Any]]] = {}
    columns = (segments[name].tolist() for name in names)
    for window, *values in zip(segments["window_id"].tolist(), *columns, strict=True):
        found.setdefault(window, []).append(dict(zip(names, values, strict=True)))
    return found


def _events(analysis: Analysis) -> dict[int, dict[str, Any]]:
    """Return window → engine → its counters' sums, and the ratios that they give."""
    found: dict[int, dict[str, Any]] = {}
    for row in analysis.events.to_dict("records"):
        engines = found.setdefault(int(row["window_id"]), {})
        engines.setdefault(str(row["engine"]), {"events": {}})["events"][str(row["event"])] = row["value"]
    for engines in found.values():
        for counted in engines.values():
            counted["ratios"] = ratios(counted["events"])
    return found


def _metrics(analysis: Analysis) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for row in analysis.metrics.to_dict("records"):
        found.setdefault(int(row["window_id"]), {})[str(row["name"])] = row["value"]
    return found


def _thermal(trace: Trace) -> list[dict[str, Any]]:
    """Return when the device's thermal state changed."""
    rows = trace.tracks[trace.tracks["name"].astype("str").str.startswith("Thermal state")]
    return [
        {
            "time_ns": row["time_ns"],
            "track": str(row["name"]),
            "level": None if pd.isna(row["value"]) else int(row["value"]),
        }
        for row in rows.to_dict("records")
    ]


def thread_label(trace: Trace, thread_id: int) -> str | None:
    """Return ``Main Thread (0x1f3) in SampleApp (412)``; None for all threads."""
    if thread_id < 0:
        return None
    thread = trace.threads.iloc[thread_id]
    return f"{thread['name']} (0x{thread['tid']:x}) in {thread['process']} ({thread['pid']})"
