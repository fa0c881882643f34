"""Attribution: samples, busy time and waiting time of each engine and phase in each window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.codes import (
    BASES,
    INFERENCE,
    decode_work,
    encode_work,
    group_keys,
    group_rows,
    is_among,
    sum_by_code,
)
from tracekit.analysis.engines.interval_sets import IntervalSet, merge_sets
from tracekit.analysis.engines.measured_rows import MeasuredRows, is_work
from tracekit.analysis.engines.membership import UNASSIGNED, Membership
from tracekit.analysis.engines.waiting import AWAITED, Waiting
from tracekit.analysis.ownership.call_spans import Spans
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.frozen import frozen
from tracekit.model.columns import ATTRIBUTION, IntArray, make_categorical
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASE_CODE, PHASES, Basis, Engine, Phase

Codes: TypeAlias = npt.NDArray[np.integer[Any]]


class Share(NamedTuple):
    """One row of an attribution: one engine in one phase of one window; None is "not known"."""

    engine: Engine
    phase: Phase | None
    samples: int
    weight: int
    sampled_ns: int | None
    busy_ns: int | None
    waiting_ns: int | None
    waiting_basis: Basis | None = None

    @property
    def is_inference(self) -> bool:
        """True for work that counts towards a verdict."""
        return self.phase in INFERENCE


class SharesByWindow(Mapping[int, list[Share]]):
    """The rows of a ``model.ATTRIBUTION`` frame by window_id, in their order.

    They stay columns until a window is looked at: a run may have a hundred thousand windows.
    """

    def __init__(self, attribution: pd.DataFrame) -> None:
        words = {"engine": Engine, "phase": Phase, "waiting_basis": Basis}
        self._columns = [
            _list_words(attribution[name].array, words[name])
            if name in words
            else _list_numbers(attribution[name].array)
            for name in Share._fields
        ]
        # Rows are sorted by window, so each window is a slice between two neighbouring edges.
        windows, firsts = np.unique(attribution["window_id"].to_numpy(np.int64), return_index=True)
        edges = [*firsts.tolist(), len(attribution)]
        self._rows = dict(zip(windows.tolist(), pairwise(edges), strict=True))

    def __getitem__(self, window: int) -> list[Share]:
        start, stop = self._rows[window]
        rows = zip(*[column[start:stop] for column in self._columns], strict=True)
        return list(map(Share._make, rows))

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _list_words(column: Any, word: Callable[[str], Any]) -> list[Any]:
    """Return a category column as words; None where it is missing."""
    words = np.array([*map(word, column.categories), None], object)
    values: list[Any] = words[column.codes].tolist()
    return values


def _list_numbers(column: Any) -> list[int | None]:
    """Return a column of integers; None where it is missing."""
    numbers: list[int | None] = column.to_numpy(object, na_value=None).tolist()
    return numbers


@frozen
class Amounts:
    """Nanoseconds per window: of one engine, in one phase; the last entry is the time outside of all."""

    engine: Engine
    phase: Phase | None
    per_window: IntArray


def attribute(
    trace: Trace,
    labels: SampleLabels,
    members: Membership,
    windows: pd.DataFrame,
    measured: Measured,
    waiting: Waiting,
) -> pd.DataFrame:
    """Return one row per window × engine × phase that has samples or time (``model.ATTRIBUTION``).

    ``window_id`` -1 holds what lies in no window. For windows that do not overlap, the rows add up to the
    whole recording, exactly: samples, weight, busy and waiting time.
    """
    # Three sparse tables with the same kind of key: samples, busy time, waiting time. Their keys are united,
    # and each column is scattered to its rows of the union:
    #   keys      3 5 8        samples 3 8 → 4 _ 7      busy 5 → _ 20 _      (_ is missing, not zero)
    sample_keys, samples, own_weight = _sample_totals(trace, labels, members)
    busy_keys, busy = _collect_amounts(windows, _iter_busy(windows, measured), measured.engines)
    waiting_keys, waits = _collect_amounts(windows, _iter_waits(windows, waiting, measured), frozenset())
    keys, _ = group_keys(np.concatenate([sample_keys, busy_keys, waiting_keys]))
    window, engine, phase = _decode_keys(keys)
    weight = _place_amounts(keys, sample_keys, own_weight).to_numpy(np.int64, na_value=0)
    busy_ns, waiting_ns = _place_amounts(keys, busy_keys, busy), _place_amounts(keys, waiting_keys, waits)
    basis = np.where(waiting_ns.isna(), -1, _list_waiting_bases(waiting, measured)[engine])
    return ATTRIBUTION.check(
        pd.DataFrame(
            {
                "window_id": window,
                "engine": make_categorical(engine, ENGINES),
                "phase": make_categorical(phase, PHASES),
                "samples": _place_amounts(keys, sample_keys, samples).to_numpy(np.int64, na_value=0),
                "sampled_ns": pd.arrays.IntegerArray(
                    weight.copy(), np.full(len(keys), trace.weight_unit != "ns")
                ),
                "busy_ns": busy_ns,
                "waiting_ns": waiting_ns,
                "weight": weight,
                "waiting_basis": make_categorical(basis, BASES),
            }
        ),
        "attribution",
    )


def _encode_keys(window: IntArray, engine: Codes | int, phase: Codes | int) -> IntArray:
    """Return one number for each row of an attribution, in the rows' order; window -1 and phase -1 are 0.

    It has the digits (window, engine, phase): sorting keys sorts rows, and equal keys are one row.
    """
    keys: IntArray = encode_work((window + 1) * len(ENGINES) + engine, phase)
    return keys


def _decode_keys(keys: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    window_and_engine, phase = decode_work(keys)
    window, engine = np.divmod(window_and_engine, len(ENGINES))
    return window - 1, engine, phase


def _place_amounts(keys: IntArray, some_keys: IntArray, amounts: IntArray) -> pd.arrays.IntegerArray:
    """Return amounts of some of the keys for all of them, missing for the others."""
    values, missing = np.zeros(len(keys), np.int64), np.ones(len(keys), bool)
    positions = np.searchsorted(keys, some_keys)
    values[positions], missing[positions] = amounts, False
    return pd.arrays.IntegerArray(values, missing)


def _sample_totals(
    trace: Trace, labels: SampleLabels, members: Membership
) -> tuple[IntArray, IntArray, IntArray]:
    """Return keys, and the samples and the weight of each."""
    nowhere = np.full(len(trace.samples), UNASSIGNED, np.int64)
    code = _encode_keys(nowhere, labels.engine, labels.phase)
    outside_samples = members.find_outside(len(trace.samples))
    keys, row = group_keys(code[outside_samples])
    weight = sum_by_code(row, trace.weights[outside_samples], len(keys))
    tally = members.tally(code, trace.weights)
    return (
        np.append(keys, _encode_keys(tally.window, *_decode_keys(tally.code)[1:])),
        np.append(sum_by_code(row, trace.sample_counts[outside_samples], len(keys)), tally.count),
        np.append(weight, tally.sums[0]),
    )


def _iter_busy(windows: pd.DataFrame, measured: Measured) -> Iterator[Amounts]:
    """Yield the measured time per engine and phase; requests that Core ML reports are waiting, not work."""
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    for key in measured.keys:
        if not is_work(key):
            continue
        amounts = np.zeros(len(windows) + 1, np.int64)
        pieces = []
        for rows, spans in measured.of_windows(key, np.arange(len(windows))):
            amounts[rows] = spans.within(starts[rows], ends[rows])
            pieces.append(spans & IntervalSet.of(starts[rows], ends[rows]))
        # Ranges that overlap count the same work each; outside of all windows lies what no window counted, so
        # it is the total less the union of the counted pieces, not less the sum of the amounts.
        amounts[-1] = (
            measured.everything(key).total_ns - (measured.everything(key) & merge_sets(pieces)).total_ns
        )
        yield Amounts(*key, amounts)
    # A table with rows, none of them an execution, measured that the engine executed nothing: a zero for each
    # window.
    executing = {engine for engine, phase in measured.keys if phase is Phase.EXECUTE}
    for engine in sorted(measured.engines - executing):
        if engine.serves_inference:
            yield Amounts(engine, Phase.EXECUTE, np.zeros(len(windows) + 1, np.int64))


def _iter_waits(windows: pd.DataFrame, waiting: Waiting, measured: Measured) -> Iterator[Amounts]:
    """Yield the waiting time per engine."""
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    for engine in AWAITED:
        if engine not in waiting.basis and not measured.requests(engine):
            continue
        amounts = np.zeros(len(windows) + 1, np.int64)
        pieces = []
        for rows, spans in iter_waits(windows, np.arange(len(windows)), engine, waiting, measured):
            amounts[rows] = spans.within(starts[rows], ends[rows])
            pieces.append(spans & IntervalSet.of(starts[rows], ends[rows]))
        every = waiting.spans(engine, -1, -1, True)
        if measured.requests(engine):
            every = measured.everything((engine, Phase.WAIT))
        amounts[-1] = every.total_ns - (every & merge_sets(pieces)).total_ns
        yield Amounts(engine, Phase.WAIT, amounts)


def iter_waits(
    windows: pd.DataFrame, rows: IntArray, engine: Engine, waiting: Waiting, measured: MeasuredRows
) -> Iterator[tuple[IntArray, Spans]]:
    """Yield those of some rows of windows that count the same waiting for an engine, and when it was.

    It is the calling thread's, and the workers' where no other call overlaps in time.
    """
    if measured.requests(engine):
        yield from measured.of_windows((engine, Phase.WAIT), rows)
        return
    selected = windows.iloc[rows]
    owned = selected.assign(is_call=~is_among(selected["source"], *GIVEN_SOURCES))
    names = ("thread_id", "pid", "alone", "is_call")
    for (thread, pid, is_alone, call), members in group_rows(owned, *names):
        if call and thread < 0 and not is_alone:
            continue  # any of the overlapping calls may have waited
        yield rows[members], waiting.spans(engine, int(thread), int(pid), bool(is_alone))


def _collect_amounts(
    windows: pd.DataFrame, amounts: Iterator[Amounts], measured: frozenset[Engine]
) -> tuple[IntArray, IntArray]:
    """Return amounts by key; a zero is kept where it is a finding: of execution on a measured engine."""
    ids = np.append(windows["window_id"].to_numpy(np.int64), UNASSIGNED)
    keys, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for amount in amounts:
        finding = amount.engine in measured and amount.phase is Phase.EXECUTE
        positions = np.flatnonzero((amount.per_window > 0) | finding)
        keys.append(_encode_keys(ids[positions], ENGINE_CODE[amount.engine], PHASE_CODE[amount.phase]))
        values.append(amount.per_window[positions])
    return np.concatenate(keys), np.concatenate(values)


def _list_waiting_bases(waiting: Waiting, measured: Measured) -> IntArray:
    """Return the code of the basis of each engine's waiting, -1 for none."""
    codes = np.full(len(ENGINES), -1, np.int64)
    for engine in AWAITED:
        basis = Basis.MEASURED if measured.requests(engine) else waiting.basis.get(engine)
        if basis is not None:
            codes[ENGINE_CODE[engine]] = BASES.index(basis)
    return codes
