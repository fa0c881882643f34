"""A dataset as series: one value per build, of each metric of a model on a device.

The value of a run is the logarithm of a length, of calls or of requests to a language model, or the share of
calls that an engine served as a band: from the calls that it certainly served to those that it may have
served. The value of a build is the winsorised mean of its runs. A build without a recording that has the
metric is absent; nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.comparison.cautions import THERMAL
from tracekit.comparison.metrics import FIRST_TOKEN
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.history.build_order import order_builds
from tracekit.fleet.schema import ANALYZED, ENGINES, METRICKIT
from tracekit.frozen import frozen

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

LENGTHS = ("p50", "p90", "mean")
TOKEN_TIME = "time per token"  # noqa: S105 - of a language model
REQUEST_LENGTHS = (FIRST_TOKEN, TOKEN_TIME)
"""Of requests to language models. The time per token is the inverse of tokens per second in decode."""
USED, UNKNOWN_SHARE = "used share", "unknown share"
METRICS = (
    *LENGTHS,
    *REQUEST_LENGTHS,
    *(f"{engine} {share}" for engine in ENGINES for share in (USED, UNKNOWN_SHARE)),
)
"""The metrics of a series, as ``tracekit check`` names them where it has them."""
_HOT = THERMAL[2:]
"""Thermal states in which a device is slowed down: such a recording is about the device, not the build."""
_IDENTITY = ["app", "device", "device_model", "model", "metric", "source", "basis"]
_WINSORISED = 0.2
_MIN_RUNS_TO_WINSORISE = 3


@frozen
class SeriesKey:
    """The identity of a series. Values of other sources or bases make a series of their own."""

    app: str
    device: str
    device_model: str
    model: str
    metric: str
    source: str
    basis: str

    @property
    def is_length(self) -> bool:
        """Whether its values are logarithms of lengths in ns, not shares."""
        return self.metric in LENGTHS or self.is_of_requests

    @property
    def is_of_requests(self) -> bool:
        """Whether its values are those of requests to language models, not of calls."""
        return self.metric in REQUEST_LENGTHS


@frozen
class LeftOut:
    """Recordings that are in no series, by reason."""

    not_analyzed: int = 0
    without_build: int = 0
    hot: int = 0
    builds_without_time: tuple[str, ...] = ()


@frozen(eq=False)
class History:
    """All series of a dataset.

    ``points`` has a row per series and build, in that order: ``series`` (row of ``keys``), ``build`` (its
    number in the order of the app's ``builds``), ``low`` and ``high`` (equal unless some calls have an
    unknown engine), ``runs``, ``spread`` (the standard deviation between the build's runs, NaN for one) and
    ``system``. ``orders`` has "version" or "time" per app.
    """

    keys: tuple[SeriesKey, ...]
    points: pd.DataFrame
    builds: Mapping[str, tuple[str, ...]]
    orders: Mapping[str, str]
    left_out: LeftOut

    def points_of(self, series: int) -> pd.DataFrame:
        """Return the points of one series."""
        column = self.points["series"].to_numpy()
        start, end = np.searchsorted(column, [series, series + 1])
        return self.points.iloc[start:end]

    def cut_at(self, build: str) -> History:
        """Return the history of the apps that have a build, as it was when that was the newest one."""
        builds = {
            app: names[: names.index(build) + 1] for app, names in self.builds.items() if build in names
        }
        lengths = np.array([len(builds.get(key.app, ())) for key in self.keys], np.int64)
        series = self.points["series"].to_numpy(np.int64)
        points = self.points[self.points["build"].to_numpy(np.int64) < lengths[series]]
        return History(self.keys, points, builds, self.orders, self.left_out)

    def build_name(self, series: int, build: int) -> str:
        """Return the label of a build of a series."""
        return self.builds[self.keys[series].app][build]


def read_history(dataset: Dataset, metrics: Sequence[str] = METRICS) -> History:
    """Return the series of a dataset; ``metrics`` limits them."""
    recordings = _read_frame(
        dataset, "recordings", ["recording", "app", "build", "recorded", "state", "thermal", "kind"]
    )
    recordings = recordings[recordings["kind"].ne(METRICKIT).to_numpy(bool)]
    analyzed = recordings["state"].eq(ANALYZED).to_numpy(bool)
    hot = analyzed & recordings["thermal"].isin(_HOT).to_numpy(bool)
    has_build = recordings["build"].ne("").to_numpy(bool)
    places, orders, builds, unplaced = _place_builds(recordings[analyzed & has_build])
    left_out = LeftOut(
        int((~analyzed).sum()), int((analyzed & ~has_build).sum()), int((hot & has_build).sum()), unplaced
    )
    values = pd.concat(
        [
            *_build_length_values(dataset, metrics),
            *_build_request_values(dataset, metrics),
            *_build_share_values(dataset, metrics),
        ],
        ignore_index=True,
    )
    used = set(recordings["recording"][analyzed & has_build & ~hot])
    values = values[values["recording"].isin(used).to_numpy(bool)]
    numbers = _number_builds(values, places)
    values = values.assign(place=numbers)[numbers >= 0]
    keys, points = _build_points(values)
    return History(keys, points, builds, orders, left_out)


def _number_builds(values: pd.DataFrame, places: Mapping[tuple[str, str], int]) -> Integers:
    """Return the number of each row's build, -1 for one without a place."""
    app_codes, apps = pd.factorize(values["app"])
    build_codes, builds = pd.factorize(values["build"])
    table = np.array(
        [[places.get((str(app), str(build)), -1) for build in builds] for app in apps], np.int64
    ).reshape(len(apps), len(builds))
    return np.asarray(table[app_codes, build_codes], np.int64)


def _read_frame(dataset: Dataset, table: str, columns: list[str]) -> pd.DataFrame:
    """Return columns of a table; texts that are missing are empty."""
    frame: pd.DataFrame = dataset.open_table(table).to_table(columns=columns).to_pandas()
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = frame[name].astype("str").where(frame[name].notna(), "")
    return frame


def _place_builds(
    recordings: pd.DataFrame,
) -> tuple[dict[tuple[str, str], int], dict[str, str], dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the number of each app's builds, the orders' names, the builds, and those without a place."""
    first_recorded = recordings.groupby(["app", "build"], sort=True)["recorded"].min()
    by_app: dict[str, dict[str, int | None]] = {}
    for app, build, time in first_recorded.reset_index().itertuples(index=False):
        by_app.setdefault(str(app), {})[str(build)] = None if pd.isna(time) else int(time.value)
    places: dict[tuple[str, str], int] = {}
    orders, builds, unplaced = {}, {}, []
    for app, times in by_app.items():
        ordered, orders[app], missing = order_builds(times)
        builds[app] = tuple(ordered)
        unplaced += missing
        places.update({(app, build): number for number, build in enumerate(ordered)})
    return places, orders, builds, tuple(unplaced)


_PLACE = ["recording", "app", "device", "device_model", "system", "build", "model", "label"]


def _name_models(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose ``model`` is the label where calls name no model."""
    frame["model"] = frame["model"].where(frame["model"].ne(""), frame["label"])
    return frame.drop(columns="label")


def _build_length_values(dataset: Dataset, metrics: Sequence[str]) -> list[pd.DataFrame]:
    names = [name for name in LENGTHS if name in metrics]
    columns = [f"{name}_ns" for name in names]
    frame = _name_models(_read_frame(dataset, "models", [*_PLACE, "source", "basis", "calls", *columns]))
    parts = []
    for name, column in zip(names, columns, strict=True):
        lengths = frame[column].to_numpy(np.float64)
        part = frame[lengths > 0].drop(columns=columns)
        logs = np.log(lengths[lengths > 0])
        parts.append(part.assign(metric=name, low=logs, high=logs, weight=part["calls"]))
    return parts


def _build_request_values(dataset: Dataset, metrics: Sequence[str]) -> list[pd.DataFrame]:
    """Return the median time to first token of each recording, and its decode time over its tokens.

    Of an even number of requests, the median is the lower of the middle two, as in an analysis.
    """
    place = [name for name in (*_PLACE, "source", "basis") if name != "label"]
    columns = ["first_token_ns", "decode_tokens", "decode_ns"]
    frame = _read_frame(dataset, "requests", [*place, *columns]).astype(dict.fromkeys(columns, "float64"))
    has_decode = (frame["decode_tokens"] > 0) & (frame["decode_ns"] > 0)
    first_tokens = frame[frame["first_token_ns"] > 0].groupby(place, sort=True)
    decodes = frame[has_decode].groupby(place, sort=True)
    lengths = {
        FIRST_TOKEN: (first_tokens["first_token_ns"].quantile(0.5, "lower"), first_tokens.size()),
        TOKEN_TIME: (decodes["decode_ns"].sum() / decodes["decode_tokens"].sum(), decodes.size()),
    }
    return [
        pd.DataFrame({"low": np.log(values), "high": np.log(values), "weight": counts})
        .reset_index()
        .assign(metric=name)
        for name, (values, counts) in lengths.items()
        if name in metrics
    ]


def _build_share_values(dataset: Dataset, metrics: Sequence[str]) -> list[pd.DataFrame]:
    counts = ["calls", "served", "unknown"]
    frame = _name_models(_read_frame(dataset, "engines", [*_PLACE, "engine", "basis", *counts]))
    frame = frame[frame["calls"].to_numpy(np.int64) > 0].assign(source="")
    calls, served_counts, unknown = (frame[name].to_numpy(np.float64) for name in counts)
    prefix = frame["engine"] + " "
    plain = frame.drop(columns=["engine", *counts]).assign(weight=calls)
    used = plain.assign(
        metric=prefix + USED, low=served_counts / calls, high=(served_counts + unknown) / calls
    )
    missing = unknown / calls
    unknowns = plain.assign(metric=prefix + UNKNOWN_SHARE, low=missing, high=missing, basis="")
    parts = [_add_undetermined(used, unknown == calls), unknowns]
    return [part[part["metric"].isin(metrics).to_numpy(bool)] for part in parts]


def _add_undetermined(used: pd.DataFrame, undetermined: npt.NDArray[np.bool_]) -> pd.DataFrame:
    """Return the bands, with a recording that shows nothing in the series of every basis of its model.

    It has no basis itself. A model of which no recording shows anything has one series, without a basis.
    """
    identity = [name for name in _IDENTITY if name != "basis"]
    bases = used[~undetermined][[*identity, "basis"]].drop_duplicates()
    undetermined_values = used[undetermined].drop(columns="basis").merge(bases, how="left", on=identity)
    undetermined_values["basis"] = undetermined_values["basis"].fillna("")
    return pd.concat([used[~undetermined], undetermined_values], ignore_index=True)


def _build_points(values: pd.DataFrame) -> tuple[tuple[SeriesKey, ...], pd.DataFrame]:
    """Return the series and their points from the values of runs."""
    groups = values.groupby(_IDENTITY, sort=True, observed=True)
    values = values.assign(series=groups.ngroup().to_numpy(np.int64))
    series_rows = values.drop_duplicates("series").sort_values("series")
    keys = tuple(SeriesKey(*row) for row in series_rows[_IDENTITY].itertuples(index=False))
    runs = _run_values(values)
    series, build = (runs[name].to_numpy(np.int64) for name in ("series", "place"))
    begins = (np.diff(series, prepend=-1) != 0) | (np.diff(build, prepend=-1) != 0)
    group = np.cumsum(begins) - 1
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    low, spread = summarize_builds(runs["low"].to_numpy(np.float64), group)
    high, _ = summarize_builds(runs["high"].to_numpy(np.float64), group)
    columns: dict[str, Any] = {
        "series": series[starts],
        "build": build[starts],
        "low": low,
        "high": high,
        "runs": np.diff(np.append(starts, len(group))),
        "spread": spread,
        "system": _join_systems(runs["system"], group),
    }
    return keys, pd.DataFrame(columns)


def _run_values(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row per series, build and recording: copies and processes by their calls, ordered."""
    names = ["series", "place", "recording"]
    values = values.sort_values(names, ignore_index=True)
    starts = np.flatnonzero(~values.duplicated(names).to_numpy(bool))
    weights = np.maximum(values["weight"].to_numpy(np.float64), 1)
    total = np.add.reduceat(weights, starts) if len(starts) else weights
    runs = values.iloc[starts].copy()
    for name in ("low", "high"):
        weighted = values[name].to_numpy(np.float64) * weights
        runs[name] = (np.add.reduceat(weighted, starts) if len(starts) else weighted) / total
    return runs


def summarize_builds(values: Floats, group: Integers) -> tuple[Floats, Floats]:
    """Return the winsorised mean and the standard deviation of each group; equal groups are neighbours.

    From three values on, the highest and the lowest fifth, at least one of each, count as the next one.
    """
    if not len(values):
        return values, values
    ordered = values[np.lexsort((values, group))]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    count = np.diff(np.append(starts, len(group)))
    cut = np.where(count < _MIN_RUNS_TO_WINSORISE, 0, np.maximum(1, (count * _WINSORISED).astype(np.int64)))
    low, high = ordered[starts + cut], ordered[starts + count - 1 - cut]
    winsorised = np.clip(ordered, low[group], high[group])
    mean = np.add.reduceat(winsorised, starts) / count
    plain = np.add.reduceat(ordered, starts) / count
    squares = np.add.reduceat((ordered - plain[group]) ** 2, starts)
    spread = np.sqrt(squares / np.maximum(count - 1, 1))
    return mean, np.where(count > 1, spread, np.nan)


def _join_systems(systems: pd.Series[str], group: Integers) -> list[str]:
    """Return the systems of each group, separated by commas."""
    codes, distinct = pd.factorize(systems, sort=True)
    names = distinct.tolist()
    pairs = np.unique(group * max(len(names), 1) + codes)
    texts: list[str] = [""] * (int(group.max()) + 1 if len(group) else 0)
    for number, code in zip(*(part.tolist() for part in np.divmod(pairs, max(len(names), 1))), strict=True):
        name = names[code]
        texts[number] = f"{texts[number]}, {name}" if texts[number] else name
    return texts
