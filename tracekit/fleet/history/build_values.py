"""The metrics of one build on each device, from the calls of a dataset, as ``tracekit check`` names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.dataset as pds

from tracekit.checks.check import judge_condition, must_stay_low
from tracekit.checks.intervals import estimate_interval, parse_statistic
from tracekit.checks.requirements import Condition, Metric, Requirement
from tracekit.checks.results import CheckResult, MetricValue
from tracekit.checks.run_values import RunNoise, combine_runs
from tracekit.errors import UsageError
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.schema import NO, YES
from tracekit.frozen import frozen
from tracekit.statistics.call_statistics import count_required_values, estimate
from tracekit.statistics.share_intervals import estimate_share_interval
from tracekit.text import plural

_PLACE = ["app", "device", "device_model"]
_EXTREMES = {"max": np.max, "min": np.min}


@frozen
class DeviceResult:
    """The outcome of a requirement on one device."""

    app: str
    device: str
    device_model: str
    result: CheckResult


def require_supported(requirement: Requirement) -> Condition:
    """Return the condition of a requirement. Raises ``UsageError`` where the dataset does not hold it."""
    rule = requirement.rule
    if isinstance(rule, Condition) and rule.metric.quantity in ("length", "used share", "calls"):
        return rule
    raise UsageError(
        f"'{requirement.text}' cannot be checked in a dataset of results: it takes lengths (p50, mean, max,"
        " first, …), 'ANE used share' and the like, calls, 'no regressions' and 'no changes'. tracekit check"
        " reads the recordings themselves."
    )


def evaluate_devices(
    dataset: Dataset, builds: Mapping[str, str], requirement: Requirement, confidence: float
) -> list[DeviceResult]:
    """Return the outcome on each device that has recordings of its app's build."""
    rule = require_supported(requirement)
    calls = _read_calls(dataset, set(builds.values()))
    calls = calls[calls["app"].map(builds).eq(calls["build"]).to_numpy(bool)]
    of_device = {tuple(map(str, place)): rows for place, rows in calls.groupby(_PLACE, observed=True)}
    results = []
    for place in _find_devices(dataset, set(builds), rule.scope):
        value = _evaluate_build(of_device.get(place, calls[:0]), requirement, rule, confidence)
        results.append(DeviceResult(*place, judge_condition(requirement, rule, value)))
    if not results:
        value = MetricValue(rule.metric.kind, missing=f"no device has calls of '{rule.scope}'")
        results.append(DeviceResult("", "", "", judge_condition(requirement, rule, value)))
    return results


def _find_devices(dataset: Dataset, apps: set[str], scope: str) -> list[tuple[str, str, str]]:
    """Return the devices that have, or had at any build, calls of a model; "" is any model."""
    frame = _fill_missing_texts(
        dataset.open_table("models").to_table(columns=[*_PLACE, "model", "label"]).to_pandas()
    )
    frame = frame[frame["app"].isin(apps).to_numpy(bool)]
    if scope:
        frame = frame[_is_in_scope(frame, scope)]
    places = frame[_PLACE].drop_duplicates().itertuples(index=False)
    return sorted((str(app), str(device), str(model)) for app, device, model in places)


def _is_in_scope(frame: pd.DataFrame, scope: str) -> npt.NDArray[np.bool_]:
    of_label = frame["model"].eq("") & frame["label"].eq(scope)
    return np.asarray(frame["model"].eq(scope) | of_label, bool)


def _read_calls(dataset: Dataset, builds: set[str]) -> pd.DataFrame:
    columns = [*_PLACE, "build", "recording", "model", "label", "length_ns", "first", "cut"]
    columns += ["ane_used", "gpu_used", "cpu_used", "basis"]
    condition = pds.field("build").isin(sorted(builds))
    return _fill_missing_texts(
        dataset.open_table("calls").to_table(columns=columns, filter=condition).to_pandas()
    )


def _fill_missing_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose categories are texts, empty where they are missing."""
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].astype("str").where(frame[name].notna(), "")
    return frame


def _evaluate_build(
    calls: pd.DataFrame, requirement: Requirement, rule: Condition, confidence: float
) -> MetricValue:
    """Return the number of all runs of a build on a device."""
    metric = rule.metric
    if rule.scope:
        calls = calls[_is_in_scope(calls, rule.scope)]
    if metric.part:
        is_first = calls["first"].to_numpy(bool)
        calls = calls[is_first if metric.part == "first" else ~is_first]
    if calls.empty:
        what = " ".join(filter(None, (metric.part, "call")))
        of_model = f" of '{rule.scope}'" if rule.scope else ""
        return MetricValue(metric.kind, missing=f"the build has no {what}{of_model} on this device")
    values = list(_iter_recording_values(calls, metric, confidence))
    missing = next((value.missing for value in values if value.missing), "")
    if missing:
        return MetricValue(metric.kind, missing=missing, windows=len(calls))
    low_is_good = must_stay_low(requirement, rule)
    if all(value.interval is not None for value in values) and len(values) > 1:
        return combine_runs(values, rule, confidence, RunNoise(), low_is_good)
    ends = [(value.low or 0.0, value.high or 0.0) for value in values]
    worst = max(ends, key=lambda end: end[1]) if low_is_good else min(ends, key=lambda end: end[0])
    value = values[ends.index(worst)]
    note = f"the worst of {len(values)} runs" if len(values) > 1 else value.note
    return MetricValue(
        metric.kind, *worst, value.basis, len(calls), note=note, interval=value.interval,
        confidence=value.confidence, runs=len(values),
    )  # fmt: skip


def _iter_recording_values(calls: pd.DataFrame, metric: Metric, confidence: float) -> Iterator[MetricValue]:
    for _, run in calls.groupby("recording", sort=True):
        if metric.quantity == "calls":
            yield MetricValue("count", len(run), len(run), windows=len(run))
        elif metric.quantity == "length":
            yield _evaluate_length(run, metric, confidence)
        else:
            yield _evaluate_share(run, metric, confidence)


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
