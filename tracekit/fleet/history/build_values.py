"""The metrics of one build on each device, from the rows of a dataset, as ``tracekit check`` names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import pandas as pd
import pyarrow.dataset as pds

from tracekit.checks.call_notes import join_notes
from tracekit.checks.check import judge_condition, must_stay_low
from tracekit.checks.requirements import OF_REQUESTS, Condition, Metric, Requirement
from tracekit.checks.results import CheckResult, MetricValue
from tracekit.checks.run_values import RunNoise, combine_runs
from tracekit.comparison.metrics import OF_REPORTED
from tracekit.comparison.observations import is_named
from tracekit.errors import UsageError
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.history.recorded_calls import CALL_COLUMNS, measure_calls
from tracekit.fleet.history.recorded_requests import (
    REPORTED_COLUMNS,
    REQUEST_COLUMNS,
    measure_reported,
    measure_requests,
)
from tracekit.frozen import frozen
from tracekit.model.schemas import MODEL_INFERENCE, SIGNPOST_EVENTS

_PLACE = ["app", "device", "device_model"]
_Measure: TypeAlias = Callable[[pd.DataFrame, Metric, float], MetricValue]


@frozen
class DeviceResult:
    """The outcome of a requirement on one device."""

    app: str
    device: str
    device_model: str
    result: CheckResult


@frozen
class _BuildRows:
    """The rows of a dataset that have a number: ``measure`` takes those of one recording.

    ``places`` is the table with the devices that have such rows.
    """

    noun: str
    preposition: str
    table: str
    places: str
    columns: tuple[str, ...]
    measure: _Measure
    source: str = ""


_CALLS = _BuildRows("call", "of", "calls", "models", CALL_COLUMNS, measure_calls)
_REQUESTS = _BuildRows(
    "request", "to", "requests", "requests", REQUEST_COLUMNS, measure_requests, SIGNPOST_EVENTS
)
_REPORTED = replace(_REQUESTS, columns=REPORTED_COLUMNS, measure=measure_reported, source=MODEL_INFERENCE)
_ROWS_BY_QUANTITY: Mapping[str, _BuildRows] = {
    **dict.fromkeys(("length", "used share", "calls"), _CALLS),
    **dict.fromkeys(OF_REQUESTS, _REQUESTS),
    **dict.fromkeys(OF_REPORTED, _REPORTED),
}


def require_supported(requirement: Requirement) -> Condition:
    """Return the condition of a requirement. Raises ``UsageError`` where the dataset does not hold it."""
    rule = requirement.rule
    if isinstance(rule, Condition) and rule.metric.quantity in _ROWS_BY_QUANTITY:
        return rule
    raise UsageError(
        f"'{requirement.text}' cannot be checked in a dataset of results: it takes lengths (p50, mean, max,"
        " first, …), 'ANE used share' and the like, calls, numbers of requests to language models (tokens per"
        " second, …), 'no regressions' and 'no changes'. tracekit check reads the recordings themselves."
    )


def evaluate_devices(
    dataset: Dataset, builds: Mapping[str, str], requirement: Requirement, confidence: float
) -> list[DeviceResult]:
    """Return the outcome on each device that has recordings of its app's build."""
    rule = require_supported(requirement)
    kind = _ROWS_BY_QUANTITY[rule.metric.quantity]
    rows = _read_build_rows(dataset, kind, builds)
    of_device = {tuple(map(str, place)): of_place for place, of_place in rows.groupby(_PLACE, observed=True)}
    results = []
    for place in _find_devices(dataset, kind, set(builds), rule.scope):
        value = _evaluate_build(kind, of_device.get(place, rows[:0]), requirement, rule, confidence)
        results.append(DeviceResult(*place, judge_condition(requirement, rule, value)))
    if not results:
        value = MetricValue(rule.metric.kind, missing=f"no device has {kind.noun}s{_name_scope(kind, rule)}")
        results.append(DeviceResult("", "", "", judge_condition(requirement, rule, value)))
    return results


def _find_devices(
    dataset: Dataset, kind: _BuildRows, apps: set[str], scope: str
) -> list[tuple[str, str, str]]:
    """Return the devices that have, or had at any build, rows of a model; "" is any model."""
    label = ["label"] if kind.places == "models" else []
    frame = _read_rows(dataset, kind.places, [*_PLACE, "model", *label], _select_source(kind))
    frame = _select_scope(frame[frame["app"].isin(apps).to_numpy(bool)], scope)
    places = frame[_PLACE].drop_duplicates().itertuples(index=False)
    return sorted((str(app), str(device), str(model)) for app, device, model in places)


def _select_scope(frame: pd.DataFrame, scope: str) -> pd.DataFrame:
    """Return the rows of the models whose name is ``scope``, in which ``*`` stands for anything."""
    if not scope:
        return frame
    names = [name for name in frame["model"].unique().tolist() if is_named(name, scope)]
    return frame[frame["model"].isin(names).to_numpy(bool)]


def _read_build_rows(dataset: Dataset, kind: _BuildRows, builds: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of the build of each app."""
    columns = [*_PLACE, "build", "recording", "model", *kind.columns]
    condition = pds.field("build").isin(sorted(set(builds.values()))) & _select_source(kind)
    rows = _read_rows(dataset, kind.table, columns, condition)
    return rows[rows["app"].map(builds).eq(rows["build"]).to_numpy(bool)]


def _select_source(kind: _BuildRows) -> pds.Expression:
    return pds.field("source") == kind.source if kind.source else pds.scalar(True)


def _read_rows(
    dataset: Dataset, table: str, columns: Sequence[str], condition: pds.Expression
) -> pd.DataFrame:
    """Return columns of a table: missing texts are empty, and a model without a name has its label."""
    frame: pd.DataFrame = dataset.open_table(table).to_table(columns=columns, filter=condition).to_pandas()
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].astype("str").where(frame[name].notna(), "")
    if "label" in columns:
        frame["model"] = frame["model"].where(frame["model"].ne(""), frame["label"])
    return frame


def _evaluate_build(
    kind: _BuildRows, rows: pd.DataFrame, requirement: Requirement, rule: Condition, confidence: float
) -> MetricValue:
    """Return the number of all runs of a build on a device."""
    metric = rule.metric
    rows = _select_scope(rows, rule.scope)
    if kind is _CALLS and metric.part:
        is_first = rows["first"].to_numpy(bool)
        rows = rows[is_first if metric.part == "first" else ~is_first]
    if rows.empty:
        part = metric.part if kind is _CALLS else ""
        noun = " ".join(filter(None, (part, kind.noun)))
        missing = f"the build has no {noun}{_name_scope(kind, rule)} on this device"
        return MetricValue(metric.kind, missing=missing)
    values = [kind.measure(run, metric, confidence) for _, run in rows.groupby("recording", sort=True)]
    missing = next((value.missing for value in values if value.missing), "")
    if missing:
        return MetricValue(metric.kind, missing=missing, windows=len(rows))
    return _combine_recordings(values, requirement, rule, confidence)


def _name_scope(kind: _BuildRows, rule: Condition) -> str:
    return f" {kind.preposition} '{rule.scope}'" if rule.scope else ""


def _combine_recordings(
    values: Sequence[MetricValue], requirement: Requirement, rule: Condition, confidence: float
) -> MetricValue:
    """Return the mean of the recordings' numbers where each has an interval, else the worst of them."""
    if len(values) == 1:
        return values[0]
    low_is_good = must_stay_low(requirement, rule)
    if all(value.interval is not None for value in values):
        return combine_runs(values, rule, confidence, RunNoise(), low_is_good)
    choose = max if low_is_good else min
    low, high = (choose(getattr(value, end) or 0.0 for value in values) for end in ("low", "high"))
    notes = dict.fromkeys(value.note for value in values if value.note)
    return replace(
        values[0],
        low=low,
        high=high,
        basis=" and ".join(sorted({value.basis for value in values if value.basis})),
        windows=sum(value.windows for value in values),
        note=join_notes(f"the worst of {len(values)} runs", *notes),
        runs=len(values),
    )
