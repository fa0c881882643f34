"""The changes that are still open: not accepted as the new level, and still there at the newest build."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tracekit.fleet.history.accepted import Accepted
from tracekit.fleet.history.build_series import UNKNOWN_SHARE, History
from tracekit.fleet.history.series_changes import MIN_LENGTH_CHANGE, MIN_SHARE_CHANGE, Changes, SeriesChange
from tracekit.frozen import frozen

_BETTER_WHEN_HIGH = "ANE used share"


@frozen
class OpenChange:
    """The latest open change of a series, and whether it is for the worse."""

    change: SeriesChange
    is_worse: bool


def identify_change(history: History, change: SeriesChange) -> Accepted:
    """Return a change by its place, as it is accepted."""
    key = history.keys[change.series]
    build = history.build_name(change.series, change.first)
    return Accepted(key.app, key.device, key.device_model, key.model, key.metric, build)


def find_open_changes(history: History, changes: Changes, accepted: Collection[Accepted]) -> list[OpenChange]:
    """Return the open change of each series that has one, in the order of the series.

    A change that was withheld, or that later builds do not show, is none. A later change back to the level
    that people had accepted closes the one before it.
    """
    by_series: dict[int, list[SeriesChange]] = {}
    for change in changes.changes:
        if change.holds and not change.withheld:
            by_series.setdefault(change.series, []).append(change)
    found = (_find_open_change(history, of_series, accepted) for _, of_series in sorted(by_series.items()))
    return [entry for entry in found if entry is not None]


def _find_open_change(
    history: History, changes: Iterable[SeriesChange], accepted: Collection[Accepted]
) -> OpenChange | None:
    level: tuple[float, float] | None = None
    latest: SeriesChange | None = None
    for change in sorted(changes, key=lambda change: change.first):
        if identify_change(history, change) in accepted:
            level, latest = change.after, None
            continue
        level = change.before if level is None else level
        latest = change if _is_apart(history, change, level) else None
    return None if latest is None else OpenChange(latest, _is_worse(history, latest))


def _is_apart(history: History, change: SeriesChange, level: tuple[float, float]) -> bool:
    """Return whether the level after a change differs from another one by more than is of interest."""
    smallest = MIN_LENGTH_CHANGE if history.keys[change.series].is_length else MIN_SHARE_CHANGE
    return change.after[0] - level[1] >= smallest or level[0] - change.after[1] >= smallest


def _is_worse(history: History, change: SeriesChange) -> bool:
    """Return whether calls take longer, the Neural Engine serves fewer, or more have an unknown engine.

    More calls on the CPU are worse as well; which of the other engines is better is not decided here.
    """
    key = history.keys[change.series]
    if key.is_length or key.metric.endswith(UNKNOWN_SHARE):
        return change.difference > 0
    if key.metric == _BETTER_WHEN_HIGH:
        return change.difference < 0
    return key.metric.startswith("CPU") and change.difference > 0
