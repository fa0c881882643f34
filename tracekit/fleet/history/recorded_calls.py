"""The metrics of the calls of one recording, from the rows of a dataset, as ``tracekit check`` names them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.checks.intervals import estimate_interval, parse_statistic
from tracekit.checks.requirements import Metric
from tracekit.checks.results import MetricValue
from tracekit.fleet.schema import NO, YES
from tracekit.statistics.call_statistics import count_required_values, estimate
from tracekit.statistics.share_intervals import estimate_share_interval
from tracekit.text import plural

CALL_COLUMNS = ("label", "length_ns", "first", "cut", "ane_used", "gpu_used", "cpu_used", "basis")
_EXTREMES = {"max": np.max, "min": np.min}


def measure_calls(run: pd.DataFrame, metric: Metric, confidence: float) -> MetricValue:
    """Return a number of the calls of one recording."""
    if metric.quantity == "calls":
        return MetricValue("count", len(run), len(run), windows=len(run))
    if metric.quantity == "length":
        return _evaluate_length(run, metric, confidence)
    return _evaluate_share(run, metric, confidence)


def _evaluate_length(run: pd.DataFrame, metric: Metric, confidence: float) -> MetricValue:
    lengths = run["length_ns"].to_numpy(np.float64, na_value=np.nan)
    whole = lengths[~run["cut"].to_numpy(bool)]
    basis = " and ".join(sorted(set(run["basis"])))
    if not len(whole) or np.isnan(whole).any():
        return MetricValue("time", missing="a recording has calls whose length it does not show")
    if metric.statistic in _EXTREMES:
        value = float(_EXTREMES[metric.statistic](whole))
        return MetricValue("time", value, value, basis, len(whole))
    statistic = parse_statistic(metric.statistic)
    if len(whole) < count_required_values(statistic):
        return MetricValue(
            "time", missing=f"a recording with {plural(len(whole), 'call')} has too few for {metric.name}"
        )
    value = float(whole.mean()) if statistic == "mean" else float(estimate(whole, float(statistic)))
    interval = estimate_interval(whole, statistic, confidence) if confidence else None
    return MetricValue(
        "time", value, value, basis, len(whole), interval=interval, confidence=confidence,
        calls=(whole, whole),
    )  # fmt: skip


def _evaluate_share(run: pd.DataFrame, metric: Metric, confidence: float) -> MetricValue:
    used = run[f"{metric.engine.lower()}_used"]
    certain_use = np.asarray(used.eq(YES), np.float64)
    possible_use = np.asarray(used.ne(NO), np.float64)
    unknown = int(possible_use.sum() - certain_use.sum())
    if unknown == len(run):
        return MetricValue(
            "share", missing=f"a recording does not show if the {metric.engine} served its calls"
        )
    note = f"of {unknown} calls the engine is not determined" if unknown else ""
    ends = (
        estimate_share_interval(certain_use, confidence or 0.95),
        estimate_share_interval(possible_use, confidence or 0.95),
    )
    return MetricValue(
        "share", float(certain_use.mean()), float(possible_use.mean()), "", len(run), note=note,
        interval=(ends[0][0], ends[1][1]) if confidence else None, confidence=confidence,
    )  # fmt: skip
