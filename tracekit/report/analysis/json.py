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
from tracekit.analysis.engines.attribution import SharesByWindow
from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.totals import EngineTotals, engine_totals
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Summary
from tracekit.analysis.windows.window import numbered_windows
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINES, ML_ENGINES
from tracekit.report import wording
from tracekit.text import escape_json, format_thread

SCHEMA = "tracekit-analysis/1"


def to_json(analysis: Analysis) -> str:
    """Return the document as indented JSON text with a final newline."""
    return escape_json(json.dumps(to_dict(analysis), ensure_ascii=False, indent=2)) + "\n"


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return the document as plain data."""
    trace = analysis.trace
    return {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "input": {"name": trace.info.name, "kind": trace.info.kind, "run": trace.info.run},
        "recording": _recording(trace),
        "selection": {
            name: None if by is None else str(by) for name, by in asdict(analysis.selection).items()
        },
        "samples": _samples(trace),
        "engines": _engines(analysis.engine_totals, bool(trace.samples_source)),
        "evidence": [_evidence(row) for row in analysis.evidence],
        "windows": _windows(analysis),
        "summary": _summary(analysis.summary),
        "issues": [asdict(issue) for issue in wording.issues(analysis.diagnostics)],
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    document = wording.evidence_document(evidence)
    return {**document, "note": f"{document['shows']}; {document['remark']}"}


def _summary(summary: Summary) -> dict[str, Any]:
    numbers = {name: value for name, value in vars(summary).items() if name != "headline"}
    models = {name: asdict(durations) for name, durations in summary.models.items()}
    return {**numbers, "models": models, "sentence": wording.headline(summary.headline)}


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


def _engines(totals: Sequence[EngineTotals], is_sampled: bool) -> dict[str, Any]:
    """Return engine → numbers; null where nothing measured, sampled or inferred them."""

    def sampled(amount: int | None) -> int | None:
        return amount if is_sampled else None

    return {
        str(engine.engine): {
            "samples": sampled(engine.samples),
            "sampled_ns": sampled(engine.sampled_ns),
            "busy_ns": engine.busy_ns,
            "waiting_ns": engine.waiting_ns,
            "waiting_basis": engine.waiting_basis and str(engine.waiting_basis),
            "weight": sampled(engine.weight),
            "phases": {
                str(share.phase): {
                    "samples": sampled(share.samples),
                    "sampled_ns": sampled(share.sampled_ns),
                    "busy_ns": share.busy_ns,
                }
                for share in engine.phases
                if share.phase is not None
            },
        }
        for engine in totals
    }


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
        window_shares = shares.get(number, [])
        listed = [e for e in ENGINES if e in ML_ENGINES or any(share.engine is e for share in window_shares)]
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
                "engines": _engines(
                    engine_totals(window_shares, listed, unit, measured), bool(analysis.trace.samples_source)
                ),
                "times": {
                    name: None if pd.isna(value) else value
                    for name, value in times[number].items()
                    if name != "window_id"
                },
                "segments": segments.get(number, []),
                "counters": events.get(number, {}),
                "metrics": metrics.get(number, {}),
                "verdict": verdict.verdict,
                "sentence": wording.verdict_sentence(verdict),
                "why": wording.verdict_why(verdict),
            }
        )
    return documents


def _segments(segments: pd.DataFrame) -> dict[int, list[dict[str, Any]]]:
    """Return the hand-offs by window."""
    names = ("engine", "start_ns", "end_ns", "busy_ns", "basis")
    by_window: dict[int, list[dict[str, Any]]] = {}
    columns = (segments[name].tolist() for name in names)
    for window, *values in zip(segments["window_id"].tolist(), *columns, strict=True):
        by_window.setdefault(window, []).append(dict(zip(names, values, strict=True)))
    return by_window


def _events(analysis: Analysis) -> dict[int, dict[str, Any]]:
    """Return window → engine → its counters' sums, and the ratios that they give."""
    by_window: dict[int, dict[str, Any]] = {}
    for row in analysis.events.to_dict("records"):
        engines = by_window.setdefault(int(row["window_id"]), {})
        engines.setdefault(str(row["engine"]), {"events": {}})["events"][str(row["event"])] = row["value"]
    for engines in by_window.values():
        for counted in engines.values():
            counted["ratios"] = ratios(counted["events"])
    return by_window


def _metrics(analysis: Analysis) -> dict[int, dict[str, float]]:
    by_window: dict[int, dict[str, float]] = {}
    for row in analysis.metrics.to_dict("records"):
        by_window.setdefault(int(row["window_id"]), {})[str(row["name"])] = row["value"]
    return by_window


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
    return f"{format_thread(thread['name'], thread['tid'])} in {thread['process']} ({thread['pid']})"
