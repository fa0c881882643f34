"""``tracekit-analysis/1``: the analysis as JSON. The schema is docs/tracekit-analysis-1.schema.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

import tracekit
from tracekit.analysis.attribution import OUTSIDE, Share, shares_by_window
from tracekit.analysis.classification.frames import has_symbol
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import numbered_windows
from tracekit.engines import ENGINES, ML_ENGINES, Engine
from tracekit.model import Trace, WeightUnit

SCHEMA = "tracekit-analysis/1"


def to_json(analysis: Analysis) -> str:
    """Return the document as indented JSON text with a final newline."""
    return json.dumps(to_dict(analysis), ensure_ascii=False, indent=2) + "\n"


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return the document as plain data."""
    trace = analysis.trace
    totals = shares_by_window(analysis.totals).get(OUTSIDE, [])
    return {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "input": {"name": trace.info.name, "kind": trace.info.kind, "run": trace.info.run},
        "recording": _recording(trace),
        "selection": {
            name: None if by is None else str(by) for name, by in asdict(analysis.selection).items()
        },
        "samples": _samples(trace),
        "engines": _engines(totals, ENGINES, trace.weight_unit),
        "evidence": [_evidence(one) for one in analysis.evidence],
        "windows": _windows(analysis),
        "summary": asdict(analysis.summary),
        "issues": [asdict(issue) for issue in analysis.issues],
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    note = f"{one.shows}; {one.remark}"
    return {"source": one.source, "state": one.state, "rows": one.rows, "scope": one.scope, "note": note}


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


def _engines(shares: Sequence[Share], engines: Sequence[Engine], unit: WeightUnit) -> dict[str, Any]:
    """Return engine → numbers; null where nothing measured or inferred them."""
    no_time = 0 if unit == "ns" else None
    document: dict[str, Any] = {}
    for engine in engines:
        own = [share for share in shares if share.engine is engine]
        document[str(engine)] = {
            "samples": sum(share.samples for share in own),
            "sampled_ns": _sum_or_null([share.sampled_ns for share in own], no_time),
            "busy_ns": _sum_or_null([share.busy_ns for share in own], None),
            "waiting_ns": _sum_or_null([share.waiting_ns for share in own], None),
            "weight": sum(share.weight for share in own),
            "phases": {
                str(share.phase): {"samples": share.samples, "sampled_ns": share.sampled_ns}
                for share in own
                if share.phase is not None
            },
        }
    return document


def _sum_or_null(amounts: Sequence[int | None], of_nothing: int | None) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    if not amounts:
        return of_nothing
    return sum(known) if len(known) == len(amounts) else None


def _windows(analysis: Analysis) -> list[dict[str, Any]]:
    shares = shares_by_window(analysis.attribution)
    documents = []
    unit = analysis.trace.weight_unit
    for (number, window), verdict in zip(numbered_windows(analysis.windows), analysis.verdicts, strict=True):
        own = shares.get(number, [])
        listed = [e for e in ENGINES if e in ML_ENGINES or any(share.engine is e for share in own)]
        documents.append(
            {
                "id": number,
                "start_ns": window.start_ns,
                "end_ns": window.end_ns,
                "label": window.label,
                "thread": thread_label(analysis.trace, window.thread_id),
                "source": window.source,
                "basis": str(window.basis),
                "engines": _engines(own, listed, unit),
                "verdict": verdict.verdict,
                "why": verdict.why,
            }
        )
    return documents


def thread_label(trace: Trace, thread_id: int) -> str | None:
    """Return ``Main Thread (0x1f3) in SampleApp (412)``; None for all threads."""
    if thread_id < 0:
        return None
    thread = trace.threads.iloc[thread_id]
    return f"{thread['name']} (0x{thread['tid']:x}) in {thread['process']} ({thread['pid']})"
