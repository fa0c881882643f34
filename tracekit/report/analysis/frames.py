"""An analysis as frames for people: one row per window, engine, table or limit, with ``<NA>`` for missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.result import Analysis
from tracekit.model.columns import with_missing
from tracekit.model.vocabulary import SERVING, Engine, Phase
from tracekit.report import wording
from tracekit.report.analysis.json_findings import findings_document

_TIMES = ("busy_ns", "overlap_ns", "idle_ns", "preparing_ns")

_FINDING_TEXTS = ("kind", "severity", "confidence", "basis", "model", "title", "cost", "detail", "known_by")


def windows_frame(analysis: Analysis) -> pd.DataFrame:
    """Return one row per window: its edges, its verdict, and the times of each engine (docs/python.md)."""
    rows = analysis.window_rows
    thread_ids = rows["thread_id"].to_numpy(np.int64)
    names = np.array([*analysis.trace.threads["name"].tolist(), None], object)  # -1 is the last: no thread
    times = analysis.times
    columns = {
        "window_id": rows["window_id"],
        "call": analysis.call_column,
        "start_ns": rows["start_ns"],
        "end_ns": rows["end_ns"],
        "length_ns": rows["end_ns"] - rows["start_ns"],
        "label": rows["label"],
        "model": _texts(rows["model"].where(rows["model"] != "", None)),
        "copy": _texts(rows["copy"].where(rows["copy"] != "", None)),
        "thread": _texts(pd.Series(names[thread_ids], dtype=object)),
        "thread_id": rows["thread_id"],
        "pid": rows["pid"],
        "source": rows["source"],
        "basis": rows["basis"],
        "first": rows["first"],
        "verdict": _texts(pd.Series(analysis.verdicts.names, dtype=object)),
        "why": _texts(wording.verdict_whys(analysis.verdicts.block()).to_pandas()),
        **_engine_times(analysis),
        **{name: times[name].astype("Int64") for name in _TIMES},
        "preparing_basis": times["preparing_basis"],
        "other_process_ns": _other_process(analysis, times["foreign_ns"]),
        "ANE_submissions": analysis.submissions["submissions"],
        "ANE_segments": analysis.submissions["segments"],
    }
    frame = pd.DataFrame({name: _indexed(values) for name, values in columns.items()})
    return with_missing(frame, ("thread_id", "pid"))


def _other_process(analysis: Analysis, amounts_ns: pd.Series[int]) -> pd.Series[int]:
    """Return the Neural Engine's time for other processes, ``<NA>`` where no table measured the engine."""
    is_measured = Engine.ANE in analysis.measured.engines
    return amounts_ns.astype("Int64").where(pd.Series(is_measured, index=amounts_ns.index))


def _indexed(values: pd.Series[int]) -> pd.Series[int]:
    return values.reset_index(drop=True)


def _texts(values: pd.Series[str]) -> pd.Series[str]:
    return values.astype("str")


def _engine_times(analysis: Analysis) -> dict[str, pd.Series[int]]:
    """Return the numbers of inference per engine: ``ANE_busy_ns``, … with ``<NA>`` where not measured."""
    windows = pd.Index(analysis.window_rows["window_id"])
    preparing = [str(phase) for phase in Phase if not phase.is_inference]
    rows = analysis.attribution_rows
    rows = rows[(rows["window_id"] >= 0) & ~rows["phase"].isin(preparing)]
    columns = {}
    for engine in (*SERVING, Engine.RUNTIME):
        engine_rows = rows[(rows["engine"] == engine).to_numpy(bool)]
        if engine is not Engine.RUNTIME:  # no hardware of its own
            is_measured = engine in analysis.measured.engines
            columns[f"{engine}_busy_ns"] = _summed(engine_rows, "busy_ns", windows, is_measured)
        is_sampled = bool(analysis.trace.samples_source)  # without samples, no sample is no zero
        is_time = is_sampled and analysis.trace.weight_unit == "ns"
        columns[f"{engine}_waiting_ns"] = _summed(engine_rows, "waiting_ns", windows, False)
        columns[f"{engine}_sampled_ns"] = _summed(engine_rows, "sampled_ns", windows, is_time)
        columns[f"{engine}_samples"] = _summed(engine_rows, "samples", windows, is_sampled)
    return columns


def _summed(rows: pd.DataFrame, name: str, windows: pd.Index[int], is_zero_known: bool) -> pd.Series[int]:
    """Return the sum of a column per window; without a row it is 0 where that is known, else ``<NA>``."""
    sums: pd.Series[int] = rows.groupby("window_id")[name].sum(min_count=1).astype("Int64").reindex(windows)
    return sums.fillna(0) if is_zero_known else sums


def engines_frame(analysis: Analysis) -> pd.DataFrame:
    """Return one row per engine over the whole run; ``busy_ns`` is ``<NA>`` where no table measured it."""
    names = ("samples", "sampled_ns", "weight", "busy_ns", "waiting_ns")
    totals = analysis.engine_totals
    numbers = {name: pd.array([getattr(row, name) for row in totals], dtype="Int64") for name in names}
    if not analysis.trace.samples_source:
        numbers |= {name: pd.array([None] * len(totals), dtype="Int64") for name in names[:3]}
    bases = [row.waiting_basis and str(row.waiting_basis) for row in totals]
    return pd.DataFrame(
        {
            "engine": pd.Series([str(row.engine) for row in totals], dtype="str"),
            **numbers,
            "waiting_basis": pd.Series(bases, dtype="str"),
            "measured": [row.measured for row in totals],
        }
    )


def attribution_frame(analysis: Analysis) -> pd.DataFrame:
    """Return one row per window × engine × phase; ``window_id`` is ``<NA>`` outside of every window."""
    return with_missing(analysis.attribution_rows, ("window_id",))


def evidence_frame(analysis: Analysis) -> pd.DataFrame:
    """Return one row per table that can show engine activity: state, rows, what it shows, its use here."""
    rows = [wording.evidence_document(row) for row in analysis.evidence]
    return _frame(rows, ("source", "state", "rows", "scope", "shows", "remark"), "rows")


def issues_frame(analysis: Analysis) -> pd.DataFrame:
    """Return one row per limit of the recording and of the analysis."""
    rows = [asdict(issue) for issue in wording.issues(analysis.diagnostics)]
    return _frame(rows, ("severity", "code", "message", "count"), "count")


def findings_frame(analysis: Analysis) -> pd.DataFrame:
    """Return one row per finding in its order: what costs most comes first."""
    rows = findings_document(analysis)
    texts = {name: [row[name] for row in rows] for name in _FINDING_TEXTS}
    commands = [next((step["command"] for step in row["next"] if step["command"]), None) for row in rows]
    times = {name: [row[name] for row in rows] for name in ("pid", "start_ns", "end_ns", "lost_ns")}
    return pd.DataFrame(
        {
            **{name: pd.Series(values, dtype="str") for name, values in texts.items()},
            "next": pd.Series(commands, dtype="str"),
            "windows": pd.array([row["windows"]["count"] for row in rows], dtype="Int64"),
            **{name: pd.array(values, dtype="Int64") for name, values in times.items()},
        }
    )


def _frame(rows: Sequence[dict[str, Any]], columns: Sequence[str], number: str) -> pd.DataFrame:
    """Return a frame of text columns and one of counts, whose types do not depend on its rows."""
    dtypes = {name: "Int64" if name == number else "str" for name in columns}
    return pd.DataFrame(rows, columns=list(columns)).astype(dtypes)
