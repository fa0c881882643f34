"""Latency within one model: single long calls, drift along the run, and two groups of lengths.

Only calls that a table reports are compared, and only those alike: without the first call, without compiling,
loading or a failed request, and on the engine that served most of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.coincidences import Change, list_changes
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.group_parts import PartDifference, find_different_parts
from tracekit.analysis.findings.instruments import record
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import hold_length
from tracekit.analysis.findings.series import (
    FEWEST,
    FloatArray,
    mark_longer_group,
    mark_outliers,
    measure_trend,
)
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.schemas import THERMAL_STATE
from tracekit.model.vocabulary import Basis


class OutlierNumbers(TypedDict):
    """The ``long`` calls of a series; ``listed`` has number, start, length and what changed in each.

    ``long_share`` is the interval of their share of all calls.
    """

    calls: int
    long: int
    long_share: tuple[float, float]
    longest_ns: int
    usual_ns: int
    listed: tuple[tuple[int, int, int, tuple[Change, ...]], ...]
    overlapping: int
    others_overlapping: int
    is_named: bool


class DriftNumbers(TypedDict):
    """The lengths at the begin and at the end of a series, and the changes of heat in its time."""

    calls: int
    first_ns: int
    last_ns: int
    is_slower: bool
    is_by_function: bool
    is_heat_recorded: bool
    heat: tuple[Change, ...]
    is_named: bool


class GroupNumbers(TypedDict):
    """Two groups of lengths, what they differ by, and the call since which there is one of them only.

    ``parts`` are the parts of a call's time that differ by more than chance.
    """

    short: int
    long: int
    short_ns: int
    long_ns: int
    labels: tuple[str, str] | None
    threads: tuple[str, str] | None
    step: int | None
    step_ns: int | None
    is_longer_since: bool
    parts: tuple[PartDifference, ...]
    coinciding: tuple[Change, ...]
    is_named: bool


LATENCY_OUTLIERS = Kind[OutlierNumbers]("latency-outliers", Need.MANY_CALLS)
LATENCY_DRIFT = Kind[DriftNumbers]("latency-drift", Need.MANY_CALLS)
TWO_POPULATIONS = Kind[GroupNumbers]("two-populations", Need.MANY_CALLS)

_CALLS_PER_LABEL = 10
_SMALLEST_EXCESS_NS = 500_000
_SMALL_LOSS = 0.05
_STEEP = np.log(1.2)
_LISTED = 3
_PURE = 0.95
"""So many calls of a group share what the groups differ by."""


@frozen
class _Series:
    """Calls of one model that are alike but for their length, in order of time.

    ``logs`` are the logarithms of the lengths; ``residuals`` without the median of the call's function.
    """

    model: ModelCalls
    rows: IntArray
    lengths: IntArray
    logs: FloatArray
    residuals: FloatArray
    source: str


def find_latency(calls: Calls) -> Iterator[Finding[Any]]:
    """Yield single long calls, drift, and two groups of lengths of each model with enough calls."""
    if not calls.is_timed or len(calls.starts) < FEWEST:
        return
    for series in _iter_series(calls):
        groups = _find_two_groups(calls, series)
        if groups is not None:
            yield groups
            continue
        yield from _find_long_calls(calls, series)
        yield from _find_drift(calls, series)


def list_unlike(calls: Calls) -> list[ModelCalls]:
    """Return the models with too few calls that are alike: what their lengths do is not seen."""
    compared = {int(series.model.rows[0]) for series in _iter_series(calls)}
    return [model for model in calls.models if int(model.rows[0]) not in compared]


def _iter_series(calls: Calls) -> Iterator[_Series]:
    windows = calls.analysis.window_rows
    is_alike = (windows["basis"] == Basis.MEASURED).to_numpy(bool) & ~calls.first & (calls.lengths > 0)
    is_alike &= (calls.analysis.times["preparing_ns"] <= 0).to_numpy(bool)
    is_alike &= calls.analysis.requests.failed == 0
    rows = np.flatnonzero(is_alike & (calls.model_of >= 0))
    enough = np.bincount(calls.model_of[rows], minlength=len(calls.models)) >= FEWEST
    rows = rows[enough[calls.model_of[rows]]]
    for number in np.flatnonzero(enough).tolist():
        series = _make_series(calls, calls.models[number], rows[calls.model_of[rows] == number])
        if len(series.rows) >= FEWEST:
            yield series


def _make_series(calls: Calls, model: ModelCalls, rows: IntArray) -> _Series:
    """Return the calls on the engine that served most of them; those of unknown engine may be on it."""
    served = calls.served[rows]
    engines, counts = np.unique(served[served > 0], return_counts=True)
    if len(engines) > 1:
        rows = rows[(served == engines[counts.argmax()]) | (served == 0)]
    logs = np.log(calls.lengths[rows])
    labels = pd.factorize(calls.analysis.window_rows["label"].iloc[rows])[0]
    centers = np.full(len(rows), np.median(logs))
    numbers = np.bincount(labels)
    if 1 < len(numbers) <= len(rows) // _CALLS_PER_LABEL:
        for label in range(len(numbers)):
            is_label = labels == label
            centers[is_label] = np.median(logs[is_label])
        frequent = numbers[labels] >= _CALLS_PER_LABEL
        rows, logs, centers = rows[frequent], logs[frequent], centers[frequent]
    source = str(calls.analysis.window_rows["source"].iloc[int(model.rows[0])])
    return _Series(model, rows, calls.lengths[rows], logs, logs - centers, source)


def _find_long_calls(calls: Calls, series: _Series) -> Iterator[Finding[OutlierNumbers]]:
    from tracekit.statistics.share_intervals import estimate_share_of_rows

    usual = series.lengths / np.exp(series.residuals - np.median(series.residuals))
    excess = series.lengths - usual
    is_long = mark_outliers(series.residuals) & (excess >= _SMALLEST_EXCESS_NS)
    count = int(is_long.sum())
    if not count:
        return
    rows = series.rows[is_long]
    longest = np.argsort(-excess[is_long], kind="stable")
    lost_ns = int(excess[is_long].sum())
    alone = calls.analysis.window_rows["alone"].to_numpy(bool)
    listed = rows[longest[:_LISTED]]
    position = np.searchsorted(series.model.rows, listed)
    yield Finding(
        kind=LATENCY_OUTLIERS,
        severity="warning" if lost_ns > _SMALL_LOSS * int(series.lengths.sum()) else "info",
        confidence="certain",
        basis=Basis.MEASURED,
        **calls.describe(rows, series.model),
        start_ns=int(calls.starts[listed[0]]),
        end_ns=int(calls.ends[listed[0]]),
        lost_ns=lost_ns,
        numbers=OutlierNumbers(
            calls=len(series.rows),
            long=count,
            long_share=estimate_share_of_rows(series.rows, rows),
            longest_ns=int(calls.lengths[listed[0]]),
            usual_ns=int(usual[is_long][longest[0]]),
            listed=tuple(
                (int(number), int(calls.starts[row]), int(calls.lengths[row]), _list_coincidences(calls, row))
                for number, row in zip(position.tolist(), listed.tolist(), strict=True)
            ),
            overlapping=int((~alone[rows]).sum()),
            others_overlapping=int((~alone[series.rows[~is_long]]).sum()),
            is_named=series.model.is_named,
        ),
        support=(Support("table", series.source, "", len(series.rows)),),
        actions=(
            calls.show_call(int(listed[0])),
            hold_length(series.model, "p99", int(1.1 * np.percentile(series.lengths, 90))),
        ),
    )


def _list_coincidences(calls: Calls, row: int) -> tuple[Change, ...]:
    return list_changes(calls.events, int(calls.starts[row]), int(calls.ends[row]))


def _find_drift(calls: Calls, series: _Series) -> Iterator[Finding[DriftNumbers]]:
    """Yield a trend: blocks of calls grow longer, or shorter, one after the other."""
    change = measure_trend(series.residuals)
    if not change:
        return
    tenth = len(series.rows) // 10
    # As if all calls were of one function: another mix of functions at the end is no drift.
    alike = np.rint(np.exp(series.residuals + np.median(series.logs))).astype(np.int64)
    first_ns, last_ns = calls.median(alike[:tenth]), calls.median(alike[-tenth:])
    growth = np.exp(series.residuals - np.median(series.residuals[:tenth]))
    lost_ns = int((series.lengths - series.lengths / growth).sum())
    is_slower = change > 0
    begin, end = int(calls.starts[series.rows[0]]), int(calls.ends[series.rows[-1]])
    is_heat_recorded = any(table.schema == THERMAL_STATE for table in calls.trace.tables)
    instruments = () if is_heat_recorded else ("Thermal State",)
    yield Finding(
        kind=LATENCY_DRIFT,
        severity="warning" if change >= _STEEP else "info",
        confidence="likely",
        basis=Basis.MEASURED,
        **calls.locate(series.rows, series.model),
        lost_ns=max(lost_ns, 0) if is_slower else None,
        numbers=DriftNumbers(
            calls=len(series.rows),
            first_ns=first_ns,
            last_ns=last_ns,
            is_slower=is_slower,
            is_by_function=bool(np.ptp(series.logs - series.residuals) > 1e-9),
            is_heat_recorded=is_heat_recorded,
            heat=tuple(
                change for change in list_changes(calls.events, begin, end) if change.kind == "thermal"
            ),
            is_named=series.model.is_named,
        ),
        support=(Support("table", series.source, "", len(series.rows)),),
        actions=(record(calls, "drift", instruments=instruments, time_limit_ns=60 * 10**9),),
    )


def _find_two_groups(calls: Calls, series: _Series) -> Finding[GroupNumbers] | None:
    """Return the finding of two groups of lengths, clearly apart; None where there is one group."""
    is_long = mark_longer_group(series.logs)
    if is_long is None:
        return None
    short, long = series.rows[~is_long], series.rows[is_long]
    alone = calls.analysis.window_rows["alone"].to_numpy(bool)
    if alone[short].mean() >= _PURE and alone[long].mean() <= 1 - _PURE:
        return None  # other calls at the same time explain it, which is a finding of its own kind
    switches = np.flatnonzero(np.diff(is_long))
    is_step = len(switches) == 1
    sums = calls.analysis.budget.sums
    step = series.rows[int(switches[0]) + 1] if is_step else None
    return Finding(
        kind=TWO_POPULATIONS,
        severity="info",
        confidence="likely",
        basis=Basis.MEASURED,
        **calls.locate(long, series.model),
        numbers=GroupNumbers(
            short=len(short),
            long=len(long),
            short_ns=calls.median(calls.lengths[short]),
            long_ns=calls.median(calls.lengths[long]),
            labels=_find_distinct_names(calls.labels, short, long),
            threads=_find_distinct_names(_read_thread_names(calls), short, long),
            step=None if step is None else int(np.searchsorted(series.model.rows, step)),
            step_ns=None if step is None else int(calls.starts[step]),
            is_longer_since=bool(is_long[-1]),
            parts=find_different_parts(is_long, sums.parts, sums.by_part[series.rows]),
            coinciding=()
            if step is None
            else list_changes(
                calls.events, int(calls.starts[series.rows[int(switches[0])]]), int(calls.ends[step])
            ),
            is_named=series.model.is_named,
        ),
        support=(Support("table", series.source, "", len(series.rows)),),
        actions=(calls.show_call(int(long[(calls.lengths[long]).argsort(kind="stable")[len(long) // 2]])),),
    )


def _read_thread_names(calls: Calls) -> npt.NDArray[np.object_]:
    names = np.append(calls.trace.threads["name"].to_numpy(object), "")
    named: npt.NDArray[np.object_] = names[calls.thread_ids]
    return named


def _find_distinct_names(
    names: npt.NDArray[np.object_], short: IntArray, long: IntArray
) -> tuple[str, str] | None:
    """Return the name of nearly all short and of nearly all long calls, where the two are different."""
    most = []
    for rows in (short, long):
        distinct, counts = np.unique(names[rows].astype(str), return_counts=True)
        if counts.max() < _PURE * len(rows):
            return None
        most.append(str(distinct[counts.argmax()]))
    return (most[0], most[1]) if most[0] != most[1] and all(most) else None
