"""The windows of ``tracekit-analysis/1`` as plain data, one by one and without a template."""

from __future__ import annotations

from typing import Any

import pandas as pd
from verdict_support import verdicts_of

from tracekit import Analysis
from tracekit.analysis.engines.attribution import SharesByWindow
from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.submissions import SEPARATOR
from tracekit.analysis.engines.totals import EngineTotals, sum_by_engine
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINES, ML_ENGINES
from tracekit.report.wording.budget import explain_differences
from tracekit.text import format_thread


def plain_windows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the documents of all windows."""
    trace, shares = analysis.trace, SharesByWindow(analysis.attribution_rows)
    documents = []
    for row, times, verdict in zip(
        analysis.window_rows.to_dict("records"),
        analysis.times.astype(object).to_dict("records"),
        verdicts_of(analysis),
        strict=True,
    ):
        number = row["window_id"]
        of_window = shares.get(number, [])
        listed = [e for e in ENGINES if e in ML_ENGINES or any(share.engine is e for share in of_window)]
        totals = sum_by_engine(of_window, listed, trace.weight_unit, analysis.measured.engines)
        documents.append(
            {
                "id": number,
                "call": _none(analysis.call_column.astype(object).iloc[len(documents)]),
                "label": row["label"],
                "model": row["model"] or None,
                "copy": row["copy"] or None,
                "first": row["first"],
                "start_ns": row["start_ns"],
                "end_ns": row["end_ns"],
                "thread": _thread(trace, row["thread_id"]),
                "source": row["source"],
                "basis": row["basis"],
                "verdict": verdict.verdict,
                "typical_id": _find_typical(analysis, number),
                "difference_ns": _find_difference(analysis, number),
                "difference": explain_differences(analysis, number, number + 1)[0],
                "sentence": verdict.sentence,
                "why": verdict.why,
                "times": {name: _none(value) for name, value in times.items() if name != "window_id"},
                "engines": {str(engine.engine): _engine(engine, trace) for engine in totals},
                "budget": _list_budget(analysis, number),
                "segments": [
                    {
                        name: segment[name]
                        for name in ("engine", "start_ns", "end_ns", "busy_ns", "host_ns", "basis")
                    }
                    for segment in _rows(analysis.segments, number)
                ],
                "submissions": _submissions(_rows(analysis.submissions, number)[0]),
                "counters": _counters(analysis.events, number),
                "metrics": {row["name"]: row["value"] for row in _rows(analysis.metrics, number)},
                "requests": _requests(analysis, number),
            }
        )
    return documents


def _find_typical(analysis: Analysis, row: int) -> int | None:
    typical = int(analysis.differences.typical[row])
    return None if typical < 0 else typical


def _find_difference(analysis: Analysis, row: int) -> int | None:
    typical = _find_typical(analysis, row)
    lengths = analysis.window_rows["end_ns"] - analysis.window_rows["start_ns"]
    return None if typical is None else int(lengths.iloc[row] - lengths.iloc[typical])


def _list_budget(analysis: Analysis, row: int) -> list[dict[str, Any]]:
    sums = analysis.budget.sums
    return [
        {
            "part": str(kind.part),
            "duration_ns": int(sums.duration_ns[row, column]),
            "basis": kind.basis and str(kind.basis),
            "overlap_ns": int(sums.overlap_ns[row, column]),
        }
        for column, kind in enumerate(sums.kinds)
        if sums.duration_ns[row, column] or sums.overlap_ns[row, column]
    ]


def _submissions(row: dict[str, Any]) -> dict[str, Any] | None:
    if pd.isna(row["submissions"]):
        return None
    return {
        "count": row["submissions"],
        "segments": _none(row["segments"]),
        **{name: row[name] for name in ("covered_ns", "longest_ns", "gaps_ns", "longest_gap_ns")},
        "names": [name for name in row["names"].split(SEPARATOR) if name],
    }


def _engine(engine: EngineTotals, trace: Trace) -> dict[str, Any]:
    is_sampled = bool(trace.samples_source)
    return {
        "samples": engine.samples if is_sampled else None,
        "sampled_ns": engine.sampled_ns if is_sampled else None,
        "busy_ns": engine.busy_ns,
        "waiting_ns": engine.waiting_ns,
        "waiting_basis": engine.waiting_basis and str(engine.waiting_basis),
        "weight": engine.weight if is_sampled else None,
        "phases": {
            str(share.phase): {
                "samples": share.samples if is_sampled else None,
                "sampled_ns": share.sampled_ns if is_sampled else None,
                "busy_ns": share.busy_ns,
            }
            for share in engine.phases
            if share.phase is not None
        },
    }


def _rows(frame: pd.DataFrame, window: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        frame[frame["window_id"] == window].drop(columns="window_id").to_dict("records")
    )
    return rows


def _counters(events: pd.DataFrame, window: int) -> dict[str, Any]:
    sums: dict[str, dict[str, int]] = {}
    for row in _rows(events, window):
        sums.setdefault(row["engine"], {})[row["event"]] = row["value"]
    return {engine: {"events": counted, "ratios": ratios(counted)} for engine, counted in sums.items()}


def _thread(trace: Trace, thread_id: int) -> str | None:
    if thread_id < 0:
        return None
    row = trace.threads.iloc[thread_id]
    return f"{format_thread(row['name'], row['tid'])} in {row['process']} ({row['pid']})"


def _none(value: Any) -> Any:
    return None if pd.isna(value) else value


def _requests(analysis: Analysis, number: int) -> dict[str, Any] | None:
    requests = analysis.requests
    if not requests.requests:
        return None
    statuses = [status for status in requests.window_statuses.get(number, ()) if status >= 0]
    return {
        "served": int(requests.served[number]),
        "failed": int(requests.failed[number]),
        "statuses": statuses,
    }
