"""``tracekit-analysis/1``: the analysis as JSON. The schema is docs/tracekit-analysis-1.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import tracekit
from tracekit.analysis.availability import Evidence
from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.energy import Power
from tracekit.analysis.engines.submissions import ModelSubmissions
from tracekit.analysis.engines.totals import EngineTotals
from tracekit.analysis.result import Analysis
from tracekit.analysis.selection import Selection
from tracekit.columns.run import build_budget_rows
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis
from tracekit.report import wording
from tracekit.report.analysis.json_findings import findings_document
from tracekit.report.analysis.json_threads import threads_document
from tracekit.report.analysis.json_windows import window_texts
from tracekit.report.json_layout import Layout
from tracekit.report.viewmodel.limits import build_issue_documents
from tracekit.text import escape_json

if TYPE_CHECKING:
    from tracekit.analysis.engine_holders import EngineHolders
    from tracekit.analysis.model_join.joined_model import JoinedModel

SCHEMA = "tracekit-analysis/1"


def to_json(analysis: Analysis) -> str:
    """Return the document as indented JSON text with a final newline."""
    return b"".join(json_pieces(analysis)).decode()


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return the document as plain data."""
    document: dict[str, Any] = json.loads(to_json(analysis))
    return document


def json_pieces(analysis: Analysis) -> Iterator[bytes]:
    """Yield ``to_json`` as UTF-8 in pieces: a run may have more windows than fit in memory as text."""
    layout = Layout(is_indented=True)
    head, foot = (escape_json(json.dumps(part, ensure_ascii=False, indent=2)) for part in _ends(analysis))
    # The windows stand between two objects that are one: without the brace that closes the first, and the
    # one that opens the second.
    yield (head.removesuffix("\n}") + layout.separator(0) + layout.member("windows", "[")).encode()
    unseparated = len(",")  # before the first window
    for text in window_texts(analysis, layout, 2, prefix=layout.separator(1)):
        yield text[unseparated:]
        unseparated = 0
    closing = f"{layout.separator(0).removeprefix(',')}]" if len(analysis.window_rows) else "]"
    yield f"{closing},{foot.removeprefix('{')}\n".encode()


def line_pieces(analysis: Analysis) -> Iterator[bytes]:
    """Return the windows of the document, each as JSON on a line of its own, in pieces of some lines."""
    return window_texts(analysis, Layout(is_indented=False), 0, suffix="\n")


def _ends(analysis: Analysis) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parts of the document before and after the windows."""
    trace = analysis.trace
    head = {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "input": {"name": trace.info.name, "kind": trace.info.kind, "run": trace.info.run},
        "recording": _recording(trace),
        "selection": _selection(analysis.selection),
        "samples": _samples(analysis),
        "engines": _engines(analysis.engine_totals, bool(trace.samples_source)),
        "threads": threads_document(analysis.thread_work),
        "evidence": [_evidence(row) for row in analysis.evidence],
        "log": _log(analysis),
        "power": _power(analysis.power),
        "engine_holders": _holders(analysis.engine_holders),
    }
    foot = {
        "findings": findings_document(analysis),
        "budgets": build_budget_rows(analysis),
        "submissions": [_model_submissions(model) for model in analysis.submission_summary],
        "models": _models(analysis.joined_models),
        "requests": _requests(analysis),
        "reported_requests": _reported_requests(analysis.trace),
        "summary": _summary(analysis),
        "issues": build_issue_documents(analysis),
    }
    return head, foot


def _selection(selection: Selection) -> dict[str, Any]:
    filters = {"process": selection.process, "thread": selection.thread}
    return {
        **{name: None if by is None else str(by) for name, by in filters.items()},
        "windows": selection.windows,
        "signposts": list(selection.signposts),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    document = wording.build_evidence_document(evidence)
    return {**document, "note": f"{document['shows']}; {document['remark']}"}


def _summary(analysis: Analysis) -> dict[str, Any]:
    summary = analysis.summary
    models = {name: asdict(durations) for name, durations in summary.models.items()}
    return {**vars(summary), "models": models, "sentence": wording.headline(analysis.answer)}


def _models(models: tuple[JoinedModel, ...]) -> list[dict[str, Any]]:
    if not models:
        return []
    from tracekit.report.analysis.json_joins import joins_document

    return joins_document(models)


def _requests(analysis: Analysis) -> list[dict[str, Any]]:
    if analysis.generations is None:
        return []
    from tracekit.report.analysis.json_requests import build_requests_document

    return build_requests_document(analysis)


def _reported_requests(trace: Trace) -> list[dict[str, Any]]:
    if not len(trace.model_requests):
        return []
    from tracekit.report.analysis.json_requests import convert_rows

    return convert_rows(trace.frame("model_requests"))


def _model_submissions(model: ModelSubmissions) -> dict[str, Any]:
    return {
        **asdict(model),
        "model": model.model or None,
        "submissions": {str(number): inferences for number, inferences in model.submissions},
        "segments": {str(number): inferences for number, inferences in model.segments},
    }


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
        "has_timeline": trace.has_timeline,
        "pid": info.pid,
        "thermal": _thermal(trace),
        "cores": {str(core): kind for core, kind in sorted(trace.core_types.items())},
    }


def _samples(analysis: Analysis) -> dict[str, Any]:
    trace = analysis.trace
    weight = int(trace.weights.sum())
    stack_ids = trace.samples["stack_id"]
    used = np.unique(trace.stacks.frame_ids)
    return {
        "source": trace.samples_source,
        "count": trace.count_samples(),
        "weight_ns": weight if trace.weight_unit == "ns" else None,
        "weight": weight,
        "weight_unit": trace.weight_unit,
        "null_stacks": trace.count_samples((stack_ids < 0).to_numpy(bool)),
        "unique_stacks": int(stack_ids[stack_ids >= 0].nunique()),
        "unsymbolicated_frames": sum(not has_symbol(symbol) for symbol in trace.stacks.symbols[used]),
        "binaries_without_symbols": [
            {name: value or None if isinstance(value, str) else value for name, value in vars(binary).items()}
            for binary in analysis.binaries_without_symbols
        ],
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


def _log(analysis: Analysis) -> dict[str, Any] | None:
    """Return what the log shows about the Neural Engine; null where it shows nothing."""
    requests = analysis.requests
    if not len(analysis.trace.engine_log):
        return None
    return {
        "processes": [
            {
                "pid": process.pid if process.pid >= 0 else None,
                "process": process.process or None,
                "target": process.is_target,
                "requests": process.requests,
                "failed": process.failed,
                "statuses": {f"0x{status:x}": count for status, count in process.statuses if status >= 0},
            }
            for process in requests.processes
        ],
        "unsupported_operators": [
            {
                "operator": refusal.operator or None,
                "reason": refusal.reason or None,
                "count": refusal.count,
            }
            for refusal in requests.refused
        ],
        "programs_not_loaded": [
            {"reason": refusal.reason, "count": refusal.count} for refusal in requests.not_loaded
        ],
        "programs_loaded": requests.loaded,
    }


def _holders(found: EngineHolders | None) -> dict[str, Any] | None:
    """Return who held memory on the Neural Engine; null where nothing sampled that."""
    return None if found is None else asdict(found)


def _power(power: Power | None) -> dict[str, Any] | None:
    """Return the power of each rail and the energy of calls; null where nothing measured power."""
    if power is None:
        return None
    return {
        "tool": power.tool,
        "chip": power.chip or None,
        "build": power.build or None,
        "interval_ns": power.interval_ns or None,
        "accuracy_ns": power.accuracy_ns,
        "rails": [
            {
                "rail": rail.rail,
                "state": rail.state,
                "meaning": wording.describe_rail_state(rail),
                "samples": rail.samples,
                "mean_mw": rail.mean_mw,
                "max_mw": rail.max_mw,
                "energy_mj": rail.energy_mj,
                "added_up": rail.is_sum,
            }
            for rail in power.rails
        ],
        "calls": [
            {
                **asdict(entry),
                "model": entry.model or None,
                "pid": entry.pid if entry.pid >= 0 else None,
                "missing": wording.missing_energy(entry, power) or None,
                "basis": str(Basis.INFERRED),
            }
            for entry in power.calls
        ],
    }


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
