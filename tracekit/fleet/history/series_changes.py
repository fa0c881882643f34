"""The changes of all series of a dataset, found as the builds came, one after the other.

At each build of an app, the shift that the models of a device have in common is taken out, every series is
judged by ``levels`` or ``bands``, and the false-discovery rate is held over all series that have that build.
A series goes on from a change with its new values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from tracekit.fleet.history.bands import Bands
from tracekit.fleet.history.build_series import UNKNOWN_SHARE, USED, History
from tracekit.fleet.history.levels import (
    TWO_OF_TWO,
    Booleans,
    ChangeEvidence,
    Floats,
    Integers,
    Levels,
    compute_row_medians,
)
from tracekit.frozen import frozen
from tracekit.statistics.distributions import t_quantile

MIN_LENGTH_CHANGE, MIN_SHARE_CHANGE = 0.02, 0.05
"""The smallest changes of interest: of lengths as a fraction, of shares of calls as points."""
DISCOVERY_RATE = 0.05
_PER_SCORE = 4.0
"""False alarms per alarm that the scores alone predict, of the calibration: levels are estimated."""
_MIN_MODELS = 3
"""The fewest models on a device of which a shift is common."""
_NORMAL = NormalDist()


@frozen
class SeriesChange:
    """A change of a series: builds are numbers in the order of its app's builds.

    ``last_before`` is the last build of the old level, ``first`` the first of the new one, ``found_at`` the
    one at which the change was found, ``later`` how many builds of the series that is after ``first``.
    Levels are pairs of low and high: logarithms of lengths in ns, or shares. ``shift`` is the common shift
    of the device at ``found_at`` that was taken out, of ``models`` models, 0 of too few; ``tested`` is how
    many series were judged together. ``withheld`` marks a change of an engine at a build where the share of
    calls with an unknown engine changed as well.
    """

    series: int
    last_before: int
    first: int
    found_at: int
    later: int
    before: tuple[float, float]
    after: tuple[float, float]
    interval: tuple[float, float]
    spread: float
    reference: int
    score: float
    shift: float
    models: int
    tested: int
    withheld: bool = False
    holds: bool = True
    """Whether the builds since then still show it: a difference of interest, beyond chance."""

    @property
    def difference(self) -> float:
        """The change of level: 0 where the bands overlap."""
        if self.after[0] > self.before[1]:
            return self.after[0] - self.before[1]
        return min(self.after[1] - self.before[0], 0.0)


@frozen
class DeviceShift:
    """A shift that the models of a device have in common, from build ``first`` on; in logarithms."""

    app: str
    device: str
    device_model: str
    metric: str
    first: int
    found_at: int
    shift: float
    models: int


@frozen
class SeriesState:
    """The present level of a series, to judge the next build and to state its power.

    ``spread`` is NaN where there are too few builds for a level.
    """

    level: tuple[float, float]
    spread: float
    count: int


@frozen
class Changes:
    """The changes of a history, in the order of their builds, and the state of each series at the end."""

    changes: tuple[SeriesChange, ...]
    shifts: tuple[DeviceShift, ...]
    states: tuple[SeriesState, ...]


def find_changes(
    history: History, smallest_length: float = MIN_LENGTH_CHANGE, smallest_share: float = MIN_SHARE_CHANGE
) -> Changes:
    """Return every change of a history, as each build would have shown it."""
    changes: list[SeriesChange] = []
    shifts: list[DeviceShift] = []
    states: list[SeriesState] = [SeriesState((math.nan, math.nan), math.nan, 0)] * len(history.keys)
    for app in history.builds:
        search = _Search(history, app, smallest_length, smallest_share)
        search.run()
        changes += search.changes
        shifts += search.shifts
        for series, state in search.iter_states():
            states[series] = state
    return Changes(tuple(changes), tuple(shifts), tuple(states))


def is_alarm(evidence: ChangeEvidence, smallest: float) -> Booleans:
    """Return whether the evidence of each series is enough by itself, and the change is of interest."""
    return np.asarray((evidence.score >= TWO_OF_TWO) & (np.abs(evidence.change) >= smallest), bool)


def find_discovery_limit(scores: Floats, rate: float = DISCOVERY_RATE) -> float:
    """Return the least score that is a discovery among those of one build (Benjamini and Hochberg 1995)."""
    ordered = np.sort(scores[np.isfinite(scores)])[::-1]
    limit = math.inf
    for rank, score in enumerate(ordered.tolist(), start=1):
        if score < TWO_OF_TWO:
            break
        if _PER_SCORE * 2 * (1 - _NORMAL.cdf(score)) ** 2 <= rate * rank / len(ordered):
            limit = score
    return limit


class _Search:
    """The walk over the builds of one app."""

    def __init__(self, history: History, app: str, smallest_length: float, smallest_share: float) -> None:
        self.history, self.app = history, app
        self._smallest = (smallest_length, smallest_share)
        keys = history.keys
        of_app = [series for series, key in enumerate(keys) if key.app == app]
        self._lengths = [series for series in of_app if keys[series].is_length]
        self._shares = [series for series in of_app if not keys[series].is_length]
        self._values, _ = self._build_matrices(self._lengths)
        self._low, self._high = self._build_matrices(self._shares)
        self._adjusted = self._values.copy()
        self._devices = _Devices(history, self._lengths)
        self._levels, self._bands = Levels(len(self._lengths)), Bands(len(self._shares))
        self._shift_levels = Levels(len(self._devices.groups))
        self._shift_history: list[Floats] = []
        self.changes: list[SeriesChange] = []
        self.shifts: list[DeviceShift] = []

    def _build_matrices(self, series: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the low and the high ends as series × builds, NaN where a build has no value."""
        low = np.full((len(series), len(self.history.builds[self.app])), np.nan)
        high = low.copy()
        rows = np.full(len(self.history.keys), -1)
        rows[list(series)] = np.arange(len(series))
        points = self.history.points
        row = rows[points["series"].to_numpy(np.int64)]
        build = points["build"].to_numpy(np.int64)[row >= 0]
        low[row[row >= 0], build] = points["low"].to_numpy(np.float64)[row >= 0]
        high[row[row >= 0], build] = points["high"].to_numpy(np.float64)[row >= 0]
        return low, high

    def run(self) -> None:
        """Judge every build in turn."""
        for build in range(len(self.history.builds[self.app])):
            self._judge_build(build)
        self.changes = [self._update_level(change) for change in self.changes]

    def _judge_build(self, build: int) -> None:
        self._levels.update()
        self._bands.update()
        shift, models = self._devices.shift(self._values[:, build] - self._levels.level)
        self._judge_shifts(build, shift, models)
        common = np.nan_to_num(shift)[self._devices.group]
        values = self._values[:, build] - common
        self._adjusted[:, build] = values
        low, high = self._low[:, build], self._high[:, build]
        lengths, shares = self._levels.weigh(values), self._bands.weigh(low, high)
        limit = find_discovery_limit(np.concatenate([lengths.score, shares.score]))
        tested = int(np.isfinite(lengths.score).sum() + np.isfinite(shares.score).sum())
        is_length = is_alarm(lengths, self._smallest[0]) & (lengths.score >= limit)
        is_share = is_alarm(shares, self._smallest[1]) & (shares.score >= limit)
        for row in np.flatnonzero(is_length):
            group = int(self._devices.group[row])
            level, spread = float(self._levels.level[row]), float(self._levels.spread[row])
            place = _FoundAt(build, int(lengths.length[row]), tested, float(common[row]), int(models[group]))
            count, score = int(self._levels.count[row]), float(lengths.score[row])
            series = self._lengths[row]
            self.changes.append(self._make_change(series, place, (level, level), spread, count, score))
        unknown = self._find_unknown_changes(np.flatnonzero(is_share))
        for row in np.flatnonzero(is_share):
            level2, spread = self._bands.level[row], float(self._bands.spread[row].max())
            key = self.history.keys[self._shares[row]]
            withheld = key.metric.endswith(USED) and (key.device, key.device_model, key.model) in unknown
            place = _FoundAt(build, int(shares.length[row]), tested, 0.0, 0, withheld)
            band, count = (float(level2[0]), float(level2[1])), int(self._bands.count[row])
            score = float(shares.score[row])
            self.changes.append(self._make_change(self._shares[row], place, band, spread, count, score))
        self._levels.add_values(values, np.where(is_length, lengths.length, 0))
        self._bands.add_values(low, high, np.where(is_share, shares.length, 0))

    def _find_unknown_changes(self, rows: Integers) -> set[tuple[str, str, str]]:
        """Return the devices and models of which the share of unknown calls changed."""
        keys = [self.history.keys[self._shares[row]] for row in rows.tolist()]
        unknown = [key for key in keys if key.metric.endswith(UNKNOWN_SHARE)]
        return {(key.device, key.device_model, key.model) for key in unknown}

    def _judge_shifts(self, build: int, shift: Floats, models: Integers) -> None:
        levels = self._shift_levels
        levels.update()
        evidence = levels.weigh(shift)
        hits = is_alarm(evidence, self._smallest[0]) & (
            evidence.score >= find_discovery_limit(evidence.score)
        )
        self._shift_history.append(shift)
        for group in np.flatnonzero(hits).tolist():
            past = np.array([shifts[group] for shifts in self._shift_history])
            present = np.flatnonzero(np.isfinite(past))
            first_build = int(present[max(0, len(present) - int(evidence.length[group]))])
            key = self.history.keys[self._lengths[self._devices.groups[group][0]]]
            size, count = float(evidence.change[group]), int(models[group])
            self.shifts.append(
                DeviceShift(
                    self.app, key.device, key.device_model, key.metric, first_build, build, size, count
                )
            )
        levels.add_values(shift, np.where(hits, evidence.length, 0))

    def _make_change(
        self,
        series: int,
        place: _FoundAt,
        old_level: tuple[float, float],
        spread: float,
        count: int,
        score: float,
    ) -> SeriesChange:
        builds = self._list_builds(series)
        position = int(np.searchsorted(builds, place.build))
        first_position = max(position - place.length + 1, 1)
        return SeriesChange(
            series,
            int(builds[first_position - 1]),
            int(builds[first_position]),
            place.build,
            position - first_position,
            old_level,
            old_level,
            (math.nan, math.nan),
            spread,
            count,
            score,
            place.shift,
            place.models,
            place.tested,
            place.withheld,
        )

    def _list_builds(self, series: int) -> Integers:
        return self.history.points_of(series)["build"].to_numpy(np.int64)

    def _update_level(self, change: SeriesChange) -> SeriesChange:
        """Return a change with the level of all builds until the next change of its series, or the last."""
        later = [other.first for other in self.changes if other.series == change.series]
        end = min((first_build for first_build in later if first_build > change.first), default=None)
        low, high = self._find_row(change.series)
        low, high = low[change.first : end], high[change.first : end]
        present = np.isfinite(low)
        new_level = (float(np.median(low[present])), float(np.median(high[present])))
        if self.history.keys[change.series].is_length:
            new_level = (float(np.mean(low[present])),) * 2
        is_length = self.history.keys[change.series].is_length
        return _set_levels(change, new_level, int(present.sum()), self._smallest[0 if is_length else 1])

    def _find_row(self, series: int) -> tuple[Floats, Floats]:
        if series in self._length_rows:
            values = self._adjusted[self._length_rows[series]]
            return values, values
        row = self._share_rows[series]
        return self._low[row], self._high[row]

    @property
    def _length_rows(self) -> dict[int, int]:
        return {series: row for row, series in enumerate(self._lengths)}

    @property
    def _share_rows(self) -> dict[int, int]:
        return {series: row for row, series in enumerate(self._shares)}

    def iter_states(self) -> Iterator[tuple[int, SeriesState]]:
        """Yield the state of each series after the last build."""
        self._levels.update()
        self._bands.update()
        for row, series in enumerate(self._lengths):
            level, spread = float(self._levels.level[row]), float(self._levels.spread[row])
            yield series, SeriesState((level, level), spread, int(self._levels.count[row]))
        for row, series in enumerate(self._shares):
            low, high = self._bands.level[row].tolist()
            yield (
                series,
                SeriesState((low, high), float(self._bands.spread[row].max()), int(self._bands.count[row])),
            )


@frozen
class _FoundAt:
    """Where a change was found, and what was judged with it."""

    build: int
    length: int
    tested: int
    shift: float
    models: int
    withheld: bool = False


def _set_levels(
    change: SeriesChange, new_level: tuple[float, float], count: int, smallest: float
) -> SeriesChange:
    """Return a change with its later level, and the 95 % interval of its difference."""
    change = replace(change, after=new_level)
    difference = change.difference
    error = change.spread * math.sqrt(1 / max(change.reference, 1) + 1 / max(count, 1))
    half = t_quantile(0.975, float(max(change.reference - 1, 1))) * error
    return replace(
        change,
        interval=(difference - half, difference + half),
        holds=abs(difference) >= smallest and abs(difference) > half,
    )


class _Devices:
    """The series of lengths of different models by device, metric, source and basis: they may shift alike."""

    def __init__(self, history: History, lengths: Sequence[int]) -> None:
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, series in enumerate(lengths):
            key = history.keys[series]
            place = (key.device, key.device_model, key.metric, key.source, key.basis)
            groups.setdefault(place, []).append(row)
        self.groups = list(groups.values())
        self.group = np.zeros(len(lengths), np.int64)
        widest = max((len(rows) for rows in self.groups), default=0)
        self._rows = np.full((len(self.groups), widest), -1)
        for number, rows in enumerate(self.groups):
            self.group[rows] = number
            self._rows[number, : len(rows)] = rows

    def shift(self, distances: Floats) -> tuple[Floats, Integers]:
        """Return the median distance of each group's series from their levels, and their number.

        NaN, and 0, where fewer than three have a value and a level.
        """
        if not len(self.groups):
            return np.zeros(0), np.zeros(0, np.int64)
        values = np.append(distances, np.nan)[self._rows]
        count = np.isfinite(values).sum(axis=1)
        enough = count >= _MIN_MODELS
        shift = np.full(len(self.groups), np.nan)
        if enough.any():
            shift[enough] = compute_row_medians(values[enough])
        return shift, np.where(enough, count, 0)
