"""Attribution: what each window has of each engine and phase, on the host, in hardware, and in waiting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.classification.labels import Labels
from tracekit.analysis.measured import Measured, is_work, rows_by
from tracekit.analysis.membership import OUTSIDE, Membership
from tracekit.analysis.spans import Spans, union
from tracekit.analysis.waiting import AWAITED, Waiting
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.engines import ENGINE_CODE, ENGINES, PHASE_CODE, PHASES, Basis, Engine, Phase
from tracekit.model import ATTRIBUTION, IntArray, Trace, categorical

BASES: tuple[Basis, ...] = tuple(Basis)


@dataclass(frozen=True)
class Share:
    """One row of an attribution: what one engine has in one phase of one window; None is "not known"."""

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
        return self.phase is not None and self.phase.is_inference


def shares_by_window(attribution: pd.DataFrame) -> dict[int, list[Share]]:
    """Return the rows of a ``model.ATTRIBUTION`` frame by window_id, in their order."""
    found: dict[int, list[Share]] = {}
    for row in attribution.astype(object).to_dict("records"):
        sampled, busy, waiting = (
            None if pd.isna(row[name]) else int(row[name]) for name in ("sampled_ns", "busy_ns", "waiting_ns")
        )
        share = Share(
            Engine(row["engine"]),
            None if pd.isna(row["phase"]) else Phase(row["phase"]),
            int(row["samples"]),
            int(row["weight"]),
            sampled,
            busy,
            waiting,
            None if pd.isna(row["waiting_basis"]) else Basis(row["waiting_basis"]),
        )
        found.setdefault(int(row["window_id"]), []).append(share)
    return found


@dataclass(frozen=True)
class Amounts:
    """Nanoseconds per window: of one engine, in one phase; the last entry is the time outside of all."""

    engine: Engine
    phase: Phase | None
    per_window: IntArray


def attribute(
    trace: Trace,
    labels: Labels,
    members: Membership,
    windows: pd.DataFrame,
    measured: Measured,
    waiting: Waiting,
) -> pd.DataFrame:
    """Return one row per window × engine × phase that has samples or time (``model.ATTRIBUTION``).

    ``window_id`` -1 holds what lies in no window. For windows that do not overlap, the rows add up to the
    whole recording, exactly: samples, weight, busy and waiting time.
    """
    rows = _sample_totals(trace, labels, members)
    busy = _table(windows, _busy(windows, measured), "busy_ns", measured.engines)
    waits = _table(windows, _waits(windows, waiting, measured), "waiting_ns", frozenset())
    keys = ["window_id", "engine", "phase"]
    joined = rows.merge(busy, how="outer", on=keys).merge(waits, how="outer", on=keys)
    joined = joined.sort_values(keys, kind="stable", ignore_index=True)
    weight = joined["weight"].fillna(0).to_numpy(np.int64)
    no_time = np.full(len(joined), trace.weight_unit != "ns")
    basis = _waiting_basis(joined, waiting, measured)
    return ATTRIBUTION.check(
        pd.DataFrame(
            {
                "window_id": joined["window_id"].to_numpy(np.int64),
                "engine": categorical(joined["engine"].to_numpy(np.int64), ENGINES),
                "phase": categorical(joined["phase"].to_numpy(np.int64), PHASES),
                "samples": joined["samples"].fillna(0).to_numpy(np.int64),
                "sampled_ns": pd.arrays.IntegerArray(weight.copy(), no_time),
                "busy_ns": joined["busy_ns"].astype("Int64"),
                "waiting_ns": joined["waiting_ns"].astype("Int64"),
                "weight": weight,
                "waiting_basis": categorical(basis, BASES),
            }
        ),
        "attribution",
    )


def _sample_totals(trace: Trace, labels: Labels, members: Membership) -> pd.DataFrame:
    sample, window = members.with_outside(len(trace.samples))
    width = len(PHASES) + 1
    engine, phase = labels.engine[sample].astype(np.int64), labels.phase[sample].astype(np.int64)
    key = (window + 1) * (len(ENGINES) * width) + engine * width + phase + 1
    distinct, at = np.unique(key, return_inverse=True)
    weight = np.zeros(len(distinct), np.int64)
    np.add.at(weight, at, trace.weights[sample])
    rest_of, phase_of = np.divmod(distinct, width)
    window_of, engine_of = np.divmod(rest_of, len(ENGINES))
    return pd.DataFrame(
        {
            "window_id": window_of - 1,
            "engine": engine_of,
            "phase": phase_of - 1,
            "samples": np.bincount(at, minlength=len(distinct)).astype(np.int64),
            "weight": weight,
        }
    )


def scopes_of(windows: pd.DataFrame) -> Iterator[tuple[IntArray, tuple[int, str]]]:
    """Yield windows that count the same work: their rows, and their pid and model."""
    for (pid, model), at in rows_by(windows, "pid", "model"):
        yield at, (int(pid), str(model))


def _busy(windows: pd.DataFrame, measured: Measured) -> Iterator[Amounts]:
    """Yield the measured time per engine and phase; requests that Core ML reports are waiting, not work."""
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    for key in measured.keys:
        if not is_work(key):
            continue
        amounts = np.zeros(len(windows) + 1, np.int64)
        counted = []
        for at, who in scopes_of(windows):
            spans = measured.spans(measured.scope(*who), key)
            amounts[at] = spans.within(starts[at], ends[at])
            counted.append(spans & Spans.of(starts[at], ends[at]))
        amounts[-1] = measured.everything(key).total_ns - (measured.everything(key) & union(counted)).total_ns
        yield Amounts(*key, amounts)
    executing = {engine for engine, phase in measured.keys if phase is Phase.EXECUTE}
    for engine in sorted(measured.engines - executing):
        if engine.serves_inference:
            yield Amounts(engine, Phase.EXECUTE, np.zeros(len(windows) + 1, np.int64))


def _waits(windows: pd.DataFrame, waiting: Waiting, measured: Measured) -> Iterator[Amounts]:
    """Yield the waiting time per engine."""
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    for engine in AWAITED:
        if engine not in waiting.basis and not measured.requests(engine):
            continue
        amounts = np.zeros(len(windows) + 1, np.int64)
        counted = []
        for at, spans in waits_of(windows, engine, waiting, measured):
            amounts[at] = spans.within(starts[at], ends[at])
            counted.append(spans & Spans.of(starts[at], ends[at]))
        every = waiting.spans(engine, -1, -1, True)
        if measured.requests(engine):
            every = measured.everything((engine, Phase.WAIT))
        amounts[-1] = every.total_ns - (every & union(counted)).total_ns
        yield Amounts(engine, Phase.WAIT, amounts)


def waits_of(
    windows: pd.DataFrame, engine: Engine, waiting: Waiting, measured: Measured
) -> Iterator[tuple[IntArray, Spans]]:
    """Yield windows that count the same waiting for an engine: their rows, and when it was.

    It is the calling thread's, and the workers' where no other call at the time may have them.
    """
    owned = windows.assign(is_call=~windows["source"].isin(GIVEN_SOURCES))
    names = ("thread_id", "pid", "model", "alone", "is_call")
    for (thread, pid, model, alone, call), at in rows_by(owned, *names):
        if call and thread < 0 and not alone and not measured.requests(engine):
            continue  # which of several calls waited, nothing tells
        if measured.requests(engine):
            yield at, measured.spans(measured.scope(int(pid), str(model)), (engine, Phase.WAIT))
        else:
            yield at, waiting.spans(engine, int(thread), int(pid), bool(alone))


def _table(
    windows: pd.DataFrame, amounts: Iterator[Amounts], name: str, measured: frozenset[Engine]
) -> pd.DataFrame:
    """Return amounts as rows; a zero is kept where it is a finding: of execution on a measured engine."""
    ids = np.append(windows["window_id"].to_numpy(np.int64), OUTSIDE)
    pieces = []
    for one in amounts:
        finding = one.engine in measured and one.phase is Phase.EXECUTE
        at = np.flatnonzero((one.per_window > 0) | finding)
        pieces.append(
            pd.DataFrame(
                {
                    "window_id": ids[at],
                    "engine": np.full(len(at), ENGINE_CODE[one.engine], np.int64),
                    "phase": np.full(len(at), PHASE_CODE[one.phase], np.int64),
                    name: pd.array(one.per_window[at], dtype="Int64"),
                }
            )
        )
    empty = pd.DataFrame(
        {"window_id": [], "engine": [], "phase": [], name: pd.array([], dtype="Int64")}
    ).astype({"window_id": "int64", "engine": "int64", "phase": "int64"})
    return pd.concat(pieces, ignore_index=True) if pieces else empty


def _waiting_basis(rows: pd.DataFrame, waiting: Waiting, measured: Measured) -> IntArray:
    codes = np.full(len(ENGINES), -1, np.int64)
    for engine in AWAITED:
        basis = Basis.MEASURED if measured.requests(engine) else waiting.basis.get(engine)
        if basis is not None:
            codes[ENGINE_CODE[engine]] = BASES.index(basis)
    known = rows["waiting_ns"].notna().to_numpy(bool)
    found: IntArray = np.where(known, codes[rows["engine"].to_numpy(np.int64)], -1)
    return found
