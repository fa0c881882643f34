"""The history of an app as plain data for a page: series over builds, their changes, and what is left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tracekit.fleet.dataset import Dataset
from tracekit.fleet.history.accepted import Accepted, read_accepted
from tracekit.fleet.history.build_series import METRICS, UNKNOWN_SHARE, USED, History, SeriesKey, read_history
from tracekit.fleet.history.level_segments import split_into_segments
from tracekit.fleet.history.open_changes import identify_change
from tracekit.fleet.history.series_changes import Changes, SeriesChange, find_changes
from tracekit.fleet.schema import ENGINES
from tracekit.frozen import frozen
from tracekit.report.fleet.changes import (
    accepting_command,
    change_text,
    evidence_text,
    name_model,
    power_of_series,
    power_text,
    settling_command,
)
from tracekit.statistics.distributions import t_quantile
from tracekit.text import format_percent, plural, printable

_SHOWN_METRICS = tuple(metric for metric in METRICS if metric != "mean")
_P50 = "p50"
_MS = 1e6
_DIGITS = 5
_ENGINE_NAMES = {"ANE": "Neural Engine"}
_BASES = ("measured", "sampled", "inferred", "")
"""The better known first: an engine of a build is shown by the best basis that the build has."""

Row = tuple[str, str, str, str, str, str]
"""Device, its model, the model, source and basis of lengths, and the metric that is drawn as dots."""


@frozen(eq=False)
class HistoryData:
    """A history with its changes, and the number of recordings."""

    history: History
    changes: Changes
    recordings: int
    days: Mapping[tuple[str, str], str]
    """The day of the first recording of each app and build, where it is known."""
    chips: Mapping[str, str]
    """The chip of each device, where it is known."""
    accepted: frozenset[Accepted]
    """The changes that people accepted as the new level."""
    results: str
    """The folder of the dataset."""


def read_history_data(dataset: Dataset) -> HistoryData:
    """Return what the page of a dataset needs; a million calls take less than a second."""
    history = read_history(dataset, _SHOWN_METRICS)
    recordings = dataset.open_table("recordings").to_table(
        columns=["app", "build", "recorded", "device", "chip"]
    )
    days, chips = _list_days(recordings), _list_chips(recordings)
    accepted = read_accepted(dataset.path)
    return HistoryData(
        history, find_changes(history), recordings.num_rows, days, chips, accepted, str(dataset.path)
    )


def _list_chips(recordings: pa.Table) -> dict[str, str]:
    pairs = recordings.select(["device", "chip"]).drop_null().group_by(["device", "chip"]).aggregate([])
    return {row["device"]: row["chip"] for row in pairs.to_pylist() if row["chip"]}


def _list_days(recordings: pa.Table) -> dict[tuple[str, str], str]:
    dated = recordings.select(["app", "build", "recorded"]).drop_null()
    first_days = dated.group_by(["app", "build"]).aggregate([("recorded", "min")]).to_pylist()
    return {(row["app"], row["build"]): row["recorded_min"].date().isoformat() for row in first_days}


def history_view(data: HistoryData, app: str) -> dict[str, Any]:
    """Return the view of an app, of the first one if there is none of this name."""
    history = data.history
    apps = sorted(history.builds)
    app = app if app in history.builds else apps[0] if apps else ""
    rows = _group_rows(history, app)
    numbers = {row: number for number, row in enumerate(rows)}
    changed = frozenset(change.series for change in data.changes.changes)
    return {
        "apps": [printable(name) for name in apps],
        "app": printable(app),
        "builds": [printable(build) for build in history.builds.get(app, ())],
        "days": [data.days.get((app, build), "") for build in history.builds.get(app, ())],
        "order": history.orders.get(app, ""),
        "summary": _describe_history(data),
        "rows": [_build_row(data, row, series, changed) for row, series in rows.items()],
        "changes": _list_changes(data, app, numbers),
    }


def _describe_history(data: HistoryData) -> str:
    left_out = data.history.left_out
    parts = [
        (left_out.not_analyzed, "could not be analyzed"),
        (left_out.without_build, "without a build"),
        (left_out.hot, "on a hot device"),
    ]
    left_out_text = ", ".join(f"{count:,} {words_}" for count, words_ in parts if count)
    unplaced = len(left_out.builds_without_time)
    missing = f" {plural(unplaced, 'build')} without a date have no place." if unplaced else ""
    return (
        plural(data.recordings, "recording")
        + (f"; left out: {left_out_text}." if left_out_text else ".")
        + missing
    )


def _find_row(key: SeriesKey) -> Row:
    main = key.metric if key.is_of_requests else _P50
    return (key.device, key.device_model, key.model, key.source, key.basis, main)


def _group_rows(history: History, app: str) -> dict[Row, list[int]]:
    """Return the rows of the page with their series: lengths of one source, and the engines of the model."""
    keys = [(series, key) for series, key in enumerate(history.keys) if key.app == app]
    shares: dict[tuple[str, str, str], list[int]] = {}
    for series, key in keys:
        if not key.is_length:
            shares.setdefault((key.device, key.device_model, key.model), []).append(series)
    rows: dict[Row, list[int]] = {}
    for series, key in keys:
        if key.is_length:
            rows.setdefault(_find_row(key), []).append(series)
    for place, series_of_model in shares.items():
        matching = [row for row in rows if row[:3] == place] or [(*place, "", "", _P50)]
        for row in matching:
            rows[row] = rows.get(row, []) + series_of_model
    return dict(sorted(rows.items(), key=lambda item: (item[0][2], item[0][0], item[0])))


def _build_row(data: HistoryData, row: Row, series: Sequence[int], changed: frozenset[int]) -> dict[str, Any]:
    device, device_model, model, source, basis, metric = row
    by_metric: dict[str, list[int]] = {}
    for number in series:
        by_metric.setdefault(data.history.keys[number].metric, []).append(number)
    main = by_metric.get(metric, [])
    return {
        "model": name_model(model, is_of_requests=metric != _P50),
        "device": printable(device),
        "deviceModel": printable(device_model),
        "chip": printable(data.chips.get(device, "")),
        "source": printable(source),
        "basis": printable(basis),
        "metric": metric,
        "power": power_text(power_of_series(data.history, data.changes, main[0])) if main else "no lengths",
        "main": {**_list_lengths(data.history, main), "level": _list_levels(data.history, main, changed)},
        "p90": _list_lengths(data.history, by_metric.get("p90", [])),
        "engines": {
            engine: _list_shares(data.history, by_metric.get(f"{engine} {USED}", [])) for engine in ENGINES
        },
    }


def _list_lengths(history: History, series: Sequence[int]) -> dict[str, list[Any]]:
    """Return the points of a series of lengths: builds, ms, the 95 % interval over runs, runs, systems."""
    if not series:
        return {}
    points = history.points_of(series[0])
    means, spreads = points["low"].to_numpy(np.float64), points["spread"].to_numpy(np.float64)
    runs = points["runs"].to_numpy(np.int64)
    half = _compute_t_values(runs) * spreads / np.sqrt(runs)
    return {
        "build": points["build"].tolist(),
        "ms": _round_values(np.exp(means) / _MS),
        "low": _round_values(np.exp(means - half) / _MS),
        "high": _round_values(np.exp(means + half) / _MS),
        "runs": runs.tolist(),
        "system": [printable(system) for system in points["system"]],
    }


def _list_levels(history: History, series: Sequence[int], changed: frozenset[int]) -> list[float | None]:
    """Return the level in ms at each point of a series that changed, fitted to all of them; else nothing."""
    if not changed.intersection(series[:1]):
        return []
    values = history.points_of(series[0])["low"].to_numpy(np.float64)
    parts = split_into_segments(values)
    levels = np.repeat([part.level for part in parts], [part.last - part.first for part in parts])
    return _round_values(np.exp(levels) / _MS)


def _compute_t_values(runs: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return Student's t of 95 % for each number of runs; NaN for one."""
    known = {int(count): t_quantile(0.975, float(count - 1)) for count in np.unique(runs) if count > 1}
    return np.array([known.get(count, math.nan) for count in runs.tolist()])


def _round_values(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None for value in values.tolist()]


def _list_shares(history: History, series: Sequence[int]) -> dict[str, list[Any]]:
    """Return the band of an engine at each build: the certain and the possible share of calls."""
    ordered = sorted(series, key=lambda number: _BASES.index(_describe_basis(history, number)))
    points = pd.concat([history.points_of(number) for number in ordered]) if ordered else None
    if points is None:
        return {}
    points = points.drop_duplicates("build").sort_values("build")
    return {
        "build": points["build"].tolist(),
        "low": _round_values(points["low"].to_numpy(np.float64)),
        "high": _round_values(points["high"].to_numpy(np.float64)),
        "runs": points["runs"].tolist(),
    }


def _describe_basis(history: History, series: int) -> str:
    basis = history.keys[series].basis
    return basis if basis in _BASES else ""


def _list_changes(data: HistoryData, app: str, numbers: Mapping[Row, int]) -> list[dict[str, Any]]:
    """Return the changes that later builds still show, once for each row that has the series.

    A change of an engine is withheld where the share of calls with an unknown engine changed as well.
    """
    found = []
    for number, change in enumerate(data.changes.changes):
        key = data.history.keys[change.series]
        if key.app == app and change.holds and not change.withheld:
            found += [
                _describe_change(data, number, change, numbers[row]) for row in _iter_rows(key, numbers)
            ]
    return found


def _iter_rows(key: SeriesKey, numbers: Mapping[Row, int]) -> Iterator[Row]:
    if key.is_length:
        yield _find_row(key)
        return
    place = (key.device, key.device_model, key.model)
    yield from (row for row in numbers if row[:3] == place)


def _describe_change(data: HistoryData, number: int, change: SeriesChange, row: int) -> dict[str, Any]:
    key = data.history.keys[change.series]
    return {
        "id": number,
        "row": row,
        "metric": key.metric,
        "isLength": key.is_length,
        "lastBefore": change.last_before,
        "first": change.first,
        "sign": 1 if change.difference > 0 else -1,
        "accepted": identify_change(data.history, change) in data.accepted,
        "label": printable(_label(key, change)),
        "sentence": change_text(data.history, change),
        "certainty": evidence_text(data.history, change),
        "command": settling_command(data.history, change),
        "acceptCommand": accepting_command(data.history, change, data.results),
    }


def _label(key: SeriesKey, change: SeriesChange) -> str:
    """Return a change in a few words: ``p50 +7.5 %``, ``CPU 0 % → 58 %``."""
    if key.is_length:
        return f"{key.metric} {100 * math.expm1(change.difference):+.1f} %"
    engine, _, share = key.metric.partition(" ")
    unknown = " unknown" if share == UNKNOWN_SHARE else ""
    shares = f"{_format_band(change.before)} → {_format_band(change.after)}"
    return f"{_ENGINE_NAMES.get(engine, engine)}{unknown} {shares}"


def _format_band(band: tuple[float, float]) -> str:
    low, high = (format_percent(max(0.0, min(end, 1.0))) for end in band)
    return low if low == high else f"{low} to {high}"
