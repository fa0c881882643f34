"""Hardware counters per window and engine, and the ratios that engineers read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_keys, group_rows, sum_by_code
from tracekit.analysis.engines.membership import NO_WINDOWS, UNASSIGNED, Membership
from tracekit.model.columns import Column, Columns, make_categorical
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINES

EVENT_COUNTS = Columns(
    {
        "window_id": Column("int64", "-1: outside"),
        "engine": "category",
        "event": "category",
        "value": "int64",
    },
)
"""Counter sums of the samples of a window, by the engine that their stacks show."""

METRIC_SUMS = Columns({"window_id": "int64", "name": "category", "value": "float64"})
"""Metrics of guided counting modes: sums over a window's thread, rows at its edges by their share of time."""

_CYCLES = ("FIXED_CYCLES", "CORE_ACTIVE_CYCLE", "CPU_CLK_UNHALTED.THREAD", "Cycles", "cycle")
_INSTRUCTIONS = ("FIXED_INSTRUCTIONS", "INST_ALL", "INST_RETIRED.ANY", "Instructions", "instruction")
_BRANCHES = ("INST_BRANCH", "BR_INST_RETIRED.ALL_BRANCHES")
_MISPREDICTED = ("BRANCH_MISPRED_NONSPEC", "BR_MISP_RETIRED.ALL_BRANCHES")


def count_events(trace: Trace, labels: SampleLabels, members: Membership) -> pd.DataFrame:
    """Return the counters' sums (``EVENT_COUNTS``), one row per window × engine × event with samples."""
    names = [str(name) for name in trace.counters.columns]
    counters = [trace.counters[name].to_numpy(np.int64) for name in names]
    engine = labels.engine.astype(np.int64)
    outside_samples = members.find_outside(len(trace.samples)) if names else np.zeros(0, np.int64)
    engines, row = group_keys(engine[outside_samples])
    totals = [sum_by_code(row, values[outside_samples], len(engines)) for values in counters]
    tally = (members if names else NO_WINDOWS).tally(engine, *counters)
    window_of = np.repeat(np.append(np.full(len(engines), UNASSIGNED), tally.window), len(names))
    engine_of = np.repeat(np.append(engines, tally.code), len(names))
    rows = [np.append(*columns) for columns in zip(totals, tally.sums, strict=True)]
    flat = np.stack(rows, axis=1).reshape(-1) if rows else np.zeros(0, np.int64)
    return EVENT_COUNTS.check(
        pd.DataFrame(
            {
                "window_id": window_of.astype(np.int64),
                "engine": make_categorical(engine_of, [str(engine) for engine in ENGINES]),
                "event": make_categorical(
                    np.tile(np.arange(len(names)), len(engines) + len(tally.window)), names
                ),
                "value": flat,
            }
        ),
        "event counts",
    )


def sum_metrics(trace: Trace, windows: pd.DataFrame) -> pd.DataFrame:
    """Return the metrics' sums per window (``METRIC_SUMS``): of its thread, else of its process."""
    frame = trace.metrics
    names = sorted(frame["name"].astype("str").unique())
    pieces = []
    tids = np.append(trace.threads["tid"].to_numpy(np.int64), -1)
    owners = windows.assign(tid=tids[windows["thread_id"].to_numpy()])
    for (tid, pid), window_ids in group_rows(owners, "tid", "pid") if names else ():
        owned = windows.iloc[window_ids]
        rows = frame[(frame["tid"] == tid).to_numpy(bool)] if tid >= 0 else frame
        rows = rows[(rows["pid"] == pid).to_numpy(bool)] if tid < 0 <= pid else rows
        for code, name in enumerate(names):
            metric = rows[(rows["name"] == name).to_numpy(bool)]
            total = np.zeros(len(owned))
            for _, of_thread in metric.groupby("tid", sort=True):
                total += _sum_until(of_thread, owned["end_ns"]) - _sum_until(of_thread, owned["start_ns"])
            positions = np.flatnonzero(total > 0)
            pieces.append((window_ids[positions], np.full(len(positions), code), total[positions]))
    window = np.concatenate([piece[0] for piece in pieces] or [np.zeros(0, np.int64)])
    name_code = np.concatenate([piece[1] for piece in pieces] or [np.zeros(0, np.int64)])
    value = np.concatenate([piece[2] for piece in pieces] or [np.zeros(0)])
    order = np.lexsort((name_code, window))
    return METRIC_SUMS.check(
        pd.DataFrame(
            {
                "window_id": window[order],
                "name": make_categorical(name_code[order], names),
                "value": value[order],
            }
        ),
        "metric sums",
    )


def _sum_until(rows: pd.DataFrame, until: pd.Series[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the sum of one thread's metric up to each time; a row counts by its part that has passed."""
    ordered = rows.sort_values("start_ns", kind="stable")
    edges = ordered[["start_ns", "end_ns"]].to_numpy(np.int64).reshape(-1)
    running_sum = np.cumsum(ordered["value"].to_numpy(np.float64))
    sum_by_code = np.stack([np.append(0.0, running_sum[:-1]), running_sum], axis=1).reshape(-1)
    shares: np.ndarray[tuple[int], np.dtype[np.float64]] = np.interp(
        until.to_numpy(np.int64), np.maximum.accumulate(edges), sum_by_code, left=0.0
    )
    return shares


def ratios(events: Mapping[str, int]) -> dict[str, float]:
    """Return instructions per cycle and the like, as far as the events were recorded."""
    quotients = {}
    for name, numerators, denominators in (
        ("instructions per cycle", _INSTRUCTIONS, _CYCLES),
        ("branches mispredicted", _MISPREDICTED, _BRANCHES),
    ):
        over = next((events[event] for event in numerators if event in events), None)
        under = next((events[event] for event in denominators if event in events), None)
        if over is not None and under:
            quotients[name] = over / under
    return quotients
