"""Literal rows of tables beside the samples, in the columns of the model. Times are in ms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from trace_support import MS

from tracekit import Analysis
from tracekit.analysis import Window
from tracekit.model.columns import INTERVALS, METRICS, SIGNPOSTS, THREAD_STATES, Columns
from tracekit.model.tables import TableInfo
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis, Engine, Phase
from tracekit.parsers.tables.interval_labels import find_core_ai_kind, find_core_ml_kind, parse_ane_label

APP, OTHER_APP = 7, 88


@dataclass(frozen=True)
class Interval:
    """One row of ``model.INTERVALS``; see the factories below for the usual ones."""

    start: float
    end: float
    engine: Engine
    phase: Phase | None
    label: str
    source: str
    model: str = ""
    channel: str = ""
    pid: int = -1
    depth: int = 0
    segment: str = ""
    copy: str = ""


def ane(
    start: float,
    end: float,
    label: str = "Net_main__Op0_AneInference",
    depth: int = 0,
    internal: bool = False,
    pid: int = -1,
) -> Interval:
    source = "ane-hw-intervals-internal" if internal else "ane-hw-intervals"
    content, channel = parse_ane_label(label), "Apple Neural Engine"
    return Interval(
        start,
        end,
        Engine.ANE,
        content.phase,
        label,
        source,
        content.model,
        channel,
        pid,
        depth,
        content.segment,
    )


def gpu(start: float, end: float, pid: int = APP, depth: int = 0) -> Interval:
    source, label = "metal-gpu-intervals", "MPSGraph kernel"
    return Interval(start, end, Engine.GPU, Phase.EXECUTE, label, source, "", "Compute", pid, depth)


def drawing(start: float, end: float, pid: int = APP) -> Interval:
    source = "metal-gpu-intervals"
    return Interval(start, end, Engine.GRAPHICS, None, "Render", source, "", "Fragment", pid)


def mps(start: float, end: float, pid: int = -1) -> Interval:
    label = "MPSGraph:0x1 (CommandBuffer: 0x2)"
    return Interval(start, end, Engine.GPU, Phase.EXECUTE, label, "mps-hw-intervals", pid=pid)


def core_ml(
    start: float, end: float, event: str, model: str = "Net", pid: int = APP, depth: int = 0
) -> Interval:
    engine, phase = find_core_ml_kind(event) or (Engine.RUNTIME, None)
    return Interval(start, end, engine, phase, "", "coreml-os-signpost", model, event, pid, depth)


def prediction(start: float, end: float, model: str = "Net", pid: int = APP, depth: int = 0) -> Interval:
    return core_ml(start, end, "Prediction", model, pid, depth)


def core_ai(
    start: float,
    end: float,
    category: str = "Inference",
    model: str = "Scene",
    function: str = "main",
    pid: int = APP,
    depth: int = 0,
) -> Interval:
    engine, phase = find_core_ai_kind(category) or (Engine.RUNTIME, None)
    return Interval(start, end, engine, phase, function, "ODIEProfile", model, category, pid, depth)


def foundation(start: float, end: float, turn: str, model: str) -> Interval:
    source = "ModelInferenceTable"
    return Interval(start, end, Engine.RUNTIME, None, turn, source, model, "Inference", APP)


@dataclass(frozen=True)
class Signpost:
    """One row of ``model.SIGNPOSTS``; ``name`` is subsystem/category/name."""

    start: float
    end: float
    name: str
    tid: int = 1
    pid: int = APP
    kind: str = "interval"
    message: str = "what a user said"


@dataclass(frozen=True)
class State:
    """One row of ``model.THREAD_STATES``."""

    start: float
    end: float
    state: str
    tid: int = 1
    pid: int = APP


@dataclass(frozen=True)
class Metric:
    """One row of ``model.METRICS``."""

    start: float
    end: float
    name: str
    value: float
    tid: int = 1
    pid: int = APP


def with_evidence(
    trace: Trace,
    intervals: Sequence[Interval] = (),
    signposts: Sequence[Signpost] = (),
    states: Sequence[State] = (),
    metrics: Sequence[Metric] = (),
) -> Trace:
    """Add rows to a trace, and list the tables that they come from."""
    sources = pd.Series([row.source for row in intervals], dtype="str").value_counts()
    tables = tuple(TableInfo(str(name), row_count=int(count)) for name, count in sources.items())
    return replace(
        trace,
        intervals=_intervals(intervals),
        signposts=_signposts(signposts),
        thread_states=_states(states),
        metrics=_metrics(metrics),
        tables=(*trace.tables, *tables),
    )


def _intervals(rows: Sequence[Interval]) -> pd.DataFrame:
    return _frame(
        INTERVALS,
        {
            **_edges(rows),
            "engine": [str(row.engine) for row in rows],
            "phase": [None if row.phase is None else str(row.phase) for row in rows],
            **{
                name: [getattr(row, name) for row in rows]
                for name in ("label", "model", "copy", "segment", "channel")
            },
            **{name: [getattr(row, name) for row in rows] for name in ("pid", "source", "depth")},
            "command_buffer": [-1] * len(rows),
        },
    )


def _signposts(rows: Sequence[Signpost]) -> pd.DataFrame:
    parts = [row.name.split("/") for row in rows]
    return _frame(
        SIGNPOSTS,
        {
            **_edges(rows),
            "kind": [row.kind for row in rows],
            "name": [name for _, _, name in parts],
            "subsystem": [subsystem for subsystem, _, _ in parts],
            "category": [category for _, category, _ in parts],
            "identifier": [1] * len(rows),
            "pid": [row.pid for row in rows],
            "tid": [row.tid for row in rows],
            "message": [row.message for row in rows],
            "source": ["os-signpost-interval"] * len(rows),
        },
    )


def _states(rows: Sequence[State]) -> pd.DataFrame:
    named = {name: [getattr(row, name) for row in rows] for name in ("state", "tid", "pid")}
    return _frame(THREAD_STATES, {**_edges(rows), **named, "core": [-1] * len(rows)})


def _metrics(rows: Sequence[Metric]) -> pd.DataFrame:
    named = {name: [getattr(row, name) for row in rows] for name in ("name", "value", "tid", "pid")}
    return _frame(METRICS, {**_edges(rows), **named})


def _edges(rows: Sequence[Interval | Signpost | State | Metric]) -> dict[str, list[int]]:
    return {
        "start_ns": [round(row.start * MS) for row in rows],
        "end_ns": [round(row.end * MS) for row in rows],
    }


def _frame(columns: Columns, values: dict[str, list]) -> pd.DataFrame:  # type: ignore[type-arg]
    series = {}
    for name, dtype in columns.required.items():
        plain = "str" if dtype == "category" else dtype
        series[name] = pd.Series(values[name], dtype=plain).astype(dtype)
    return columns.check(pd.DataFrame(series), "literal")


def manual(start: float, end: float) -> Window:
    return Window(round(start * MS), round(end * MS), f"{start}-{end}", "manual", Basis.GIVEN)


def shares(analysis: Analysis, what: str, window: int = 0) -> dict[str, float | None]:
    """``ANE execute`` → an amount in ms, of one window; a row without the amount is None."""
    rows = analysis.attribution_rows[analysis.attribution_rows["window_id"] == window]
    return {
        " ".join([str(row["engine"])] + ([] if pd.isna(row["phase"]) else [str(row["phase"])])): (
            None if pd.isna(row[what]) else int(row[what]) / MS
        )
        for row in rows.to_dict("records")
    }


def known(analysis: Analysis, what: str, window: int = 0) -> dict[str, float]:
    """As ``shares``, without what is not known."""
    return {key: amount for key, amount in shares(analysis, what, window).items() if amount is not None}


def times(analysis: Analysis, window: int = 0) -> dict[str, float | str]:
    """A row of ``timeline.TIMES`` in ms, without what is not known."""
    row = analysis.times.iloc[window].drop("window_id").to_dict()
    return {
        name: value if isinstance(value, str) else float(np.int64(value)) / MS
        for name, value in row.items()
        if not pd.isna(value)
    }


def segments(analysis: Analysis, window: int = 0) -> list[tuple[str, float, str]]:
    """(engine, busy in ms, or the host's time for it, basis) of one window, in order."""
    rows = analysis.segments[analysis.segments["window_id"] == window].to_dict("records")
    return [(str(row["engine"]), (row["busy_ns"] + row["host_ns"]) / MS, str(row["basis"])) for row in rows]


def edges(analysis: Analysis) -> list[tuple[float, float]]:
    """Start and end of the windows in ms."""
    return [(row["start_ns"] / MS, row["end_ns"] / MS) for row in analysis.window_rows.to_dict("records")]


def codes(analysis: Analysis) -> dict[str, int]:
    """Issue code → count."""
    return {issue.code: issue.count for issue in analysis.issues}
