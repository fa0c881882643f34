"""An engine that several models or processes want at once: the Neural Engine, and the GPU while it draws."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import group_codes, group_positions
from tracekit.analysis.engines.interval_sets import EMPTY, IntervalSet
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import (
    compute_share,
    compute_typical_length,
    hold_length,
    measure_extra_length,
    sum_extra_length,
)
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import GPU_INTERVALS
from tracekit.model.vocabulary import Basis, Engine, Phase


class SharingNumbers(TypedDict):
    """The ``shared`` calls of a model, in which an engine worked for others as well."""

    engine: Engine
    is_named: bool
    calls: int
    shared: int
    shared_share: tuple[float, float]
    others_ns: int
    users: tuple[tuple[str, bool], ...]
    more_users: int
    are_processes_known: bool
    with_ns: int
    without_ns: int | None
    extra_ns: int | None


ENGINE_CONTENTION = Kind[SharingNumbers]("engine-contention", Need.NEURAL_ENGINE)
GPU_SHARED_WITH_RENDERING = Kind[SharingNumbers]("gpu-shared-with-rendering", Need.GPU)
MODELS_SERIALIZED = Kind[SharingNumbers]("models-serialized", Need.NEURAL_ENGINE)

_OF_A_CALL = 0.05
"""The engine's work for others is part of a call's story from this share of the call on: a choice."""
_OF_ALL_CALLS = 0.1
"""The GPU draws in nearly every call of an app with a screen: less than this share is usual."""
_MOST_NAMES = 3
_MOST_PARTNERS = 8
_IN_TURN = 0.1
"""Two models take turns on an engine if less than this share of their work there is at the same time."""
_CLIENT = re.compile(r"\(\s*(.+?) \((\d+)\)\s*\)")
"""A label of the GPU's table: ``GPU Execution      ( WindowServer (181) )  0x…``."""
_EXECUTION = (Engine.ANE, Phase.EXECUTE)


def find_ane_contention(calls: Calls) -> Iterator[Finding[SharingNumbers]]:
    """Yield a finding per model in whose calls the Neural Engine worked for other processes."""
    others_ns = calls.analysis.times["foreign_ns"].to_numpy(np.int64)
    if not calls.is_timed or not others_ns.any():
        return
    is_shared = calls.serves(Engine.ANE) & (others_ns > 0) & (others_ns >= _OF_A_CALL * calls.lengths)
    users = _list_ane_users(calls)
    for model in calls.iter_models(is_shared):
        rows = model.rows[calls.serves(Engine.ANE)[model.rows]]
        sharing = _measure_sharing(calls, rows[is_shared[rows]], rows[~is_shared[rows]], others_ns)
        yield _make_finding(ENGINE_CONTENTION, Engine.ANE, calls, model, sharing, users)


def find_gpu_sharing(calls: Calls) -> Iterator[Finding[SharingNumbers]]:
    """Yield a finding per model in whose calls the GPU drew, or worked for other processes."""
    on_gpu = calls.serves(Engine.GPU) if calls.is_timed else np.zeros(len(calls.starts), bool)
    frame = calls.trace.intervals
    if not on_gpu.any() or GPU_INTERVALS not in frame["source"].cat.categories:
        return
    frame = frame[((frame["source"] == GPU_INTERVALS) & (frame["pid"] >= 0)).to_numpy(bool)]
    pids: dict[int, list[_User]] = {}
    for model in calls.iter_models(on_gpu):
        if model.pid not in pids:
            pids[model.pid] = _list_gpu_users(calls, frame, model.pid)
        users = pids[model.pid]
        rows = model.rows[on_gpu[model.rows]]
        others_ns = np.zeros(len(calls.starts), np.int64)
        others_ns[rows] = _merge_spans(users).within(calls.starts[rows], calls.ends[rows])
        is_shared = others_ns[rows] >= np.maximum(_OF_ALL_CALLS * calls.lengths[rows], 1)
        sharing = _measure_sharing(calls, rows[is_shared], rows[~is_shared], others_ns)
        is_much = compute_share(others_ns[rows], calls.lengths[rows]) >= _OF_ALL_CALLS
        if len(sharing.rows) and (is_much or sharing.extra_ns):
            yield _make_finding(GPU_SHARED_WITH_RENDERING, Engine.GPU, calls, model, sharing, users)


def find_models_in_turn(calls: Calls) -> Iterator[Finding[SharingNumbers]]:
    """Yield a finding per model whose calls wait while the Neural Engine works for another one of the app."""
    if not calls.is_timed or not calls.is_measured(Engine.ANE):
        return
    alone = calls.analysis.window_rows["alone"].to_numpy(bool)
    is_candidate = calls.serves(Engine.ANE) & ~calls.first
    overlapped = is_candidate & ~alone
    partners = [model for model in calls.iter_models(overlapped) if model.model][:_MOST_PARTNERS]
    if len(partners) < 2 or not (is_candidate & alone).any():
        return
    engine = calls.analysis.measured.everything(_EXECUTION)
    busy_ns = calls.sum_work((Engine.ANE,), (Phase.EXECUTE,)).busy_ns
    for model in partners:
        rows = model.rows[overlapped[model.rows]]
        quiet = model.rows[(is_candidate & alone)[model.rows]]
        extra_ns = measure_extra_length(calls, rows, quiet)
        # What the engine worked in a call beyond the call's own work is the time in which the call waited.
        others_ns = np.zeros(len(calls.starts), np.int64)
        others_ns[rows] = engine.within(calls.starts[rows], calls.ends[rows]) - busy_ns[rows]
        if not extra_ns or 2 * calls.median(others_ns[rows]) < extra_ns:
            continue
        users = _list_partners(calls, model, rows, [other for other in partners if other is not model])
        if users:
            sharing = _Sharing(rows, quiet, others_ns, extra_ns)
            yield _make_finding(MODELS_SERIALIZED, Engine.ANE, calls, model, sharing, users)


@frozen
class _User:
    """A process or a model that used an engine, and when."""

    name: str
    pid: int
    spans: IntervalSet
    is_own: bool = False


@frozen
class _Sharing:
    """Calls in which an engine also worked for others, and calls of the same model without."""

    rows: IntArray
    without: IntArray
    others_ns: IntArray
    extra_ns: int


def _measure_sharing(calls: Calls, rows: IntArray, without: IntArray, others_ns: IntArray) -> _Sharing:
    return _Sharing(rows, without, others_ns, measure_extra_length(calls, rows, without))


def _make_finding(
    kind: Kind[SharingNumbers],
    engine: Engine,
    calls: Calls,
    model: ModelCalls,
    sharing: _Sharing,
    users: Sequence[_User],
) -> Finding[SharingNumbers]:
    from tracekit.statistics.share_intervals import estimate_share_of_rows

    rows = sharing.rows
    starts, ends = calls.starts[rows], calls.ends[rows]
    amounts = [(int(user.spans.within(starts, ends).sum()), user) for user in users]
    named = sorted((entry for entry in amounts if entry[0]), key=lambda entry: (-entry[0], entry[1].name))
    without_ns = compute_typical_length(calls, sharing.without) if len(sharing.without) else None
    numbers: SharingNumbers = {
        "engine": engine,
        "is_named": model.is_named,
        "calls": len(model.rows),
        "shared": len(rows),
        "shared_share": estimate_share_of_rows(model.rows, rows),
        "others_ns": calls.median(sharing.others_ns[rows]),
        "users": tuple((user.name, user.is_own) for _, user in named[:_MOST_NAMES]),
        "more_users": max(len(named) - _MOST_NAMES, 0),
        "are_processes_known": all(user.pid >= 0 for _, user in named),
        "with_ns": compute_typical_length(calls, rows),
        "without_ns": without_ns,
        "extra_ns": sharing.extra_ns or None,
    }
    table = calls.analysis.measured.reported.get(engine, GPU_INTERVALS)
    touched = sum(int(user.spans.count(starts, ends).sum()) for _, user in named)
    return Finding(
        kind=kind,
        severity="warning" if sharing.extra_ns else "info",
        confidence="certain" if numbers["are_processes_known"] and not sharing.extra_ns else "likely",
        basis=Basis.MEASURED,
        **calls.locate(rows, model),
        lost_ns=sum_extra_length(calls, rows, sharing.without) or None,
        numbers=numbers,
        support=(Support("table", table, "work for others in these calls", touched),),
        actions=(
            Action("timeline"),
            *([hold_length(model, "p90", without_ns)] if sharing.extra_ns and without_ns is not None else []),
        ),
    )


def _list_ane_users(calls: Calls) -> list[_User]:
    """Return the processes and models of others that the Neural Engine's rows name."""
    rows = calls.analysis.measured.other_process_rows
    process = _name_processes(rows["pid"], _read_process_names(calls))
    return _group_users(rows, np.where(process != "", process, rows["model"].astype(object).to_numpy(object)))


def _list_gpu_users(calls: Calls, frame: pd.DataFrame, pid: int) -> list[_User]:
    """Return the users of the GPU beside the models of one process.

    Its own work without an ML mark is drawing only where other work has the mark.
    """
    is_own = (frame["pid"] == pid).to_numpy(bool)
    is_drawing = (frame["engine"] == Engine.GRAPHICS).to_numpy(bool)
    is_other: BoolArray = ~is_own if pid >= 0 else np.zeros(len(frame), bool)
    counts = is_other | (is_own & is_drawing & calls.is_measured(Engine.GPU))
    rows = frame[counts]
    names = _read_process_names(calls)
    clients = rows.drop_duplicates("pid")
    for user_pid, label in zip(
        clients["pid"].tolist(), clients["label"].astype(object).tolist(), strict=True
    ):
        client = _CLIENT.search(label)
        names.setdefault(user_pid, client[1] if client else "")
    users = _group_users(rows, _name_processes(rows["pid"], names))
    return [_User(user.name, user.pid, user.spans, user.pid == pid) for user in users]


def _name_processes(pids: pd.Series[int], names: Mapping[int, str]) -> npt.NDArray[np.object_]:
    """Return the name of each row's process, "" where none is known."""
    code, distinct = pd.factorize(pids)
    return np.array([*(names.get(int(pid), "") for pid in distinct), ""], object)[code]


def _group_users(rows: pd.DataFrame, names: npt.NDArray[np.object_]) -> list[_User]:
    pids, starts, ends = (rows[name].to_numpy(np.int64) for name in ("pid", "start_ns", "end_ns"))
    group = group_codes(names, pids)
    users = [
        _User(str(names[of_user[0]]), int(pids[of_user[0]]), IntervalSet.of(starts[of_user], ends[of_user]))
        for of_user in group_positions(group, int(group.max(initial=-1)) + 1)
    ]
    return sorted(users, key=lambda user: (user.name, user.pid))


def _merge_spans(users: Sequence[_User]) -> IntervalSet:
    if not users:
        return EMPTY
    return IntervalSet.of(
        np.concatenate([user.spans.starts for user in users]),
        np.concatenate([user.spans.ends for user in users]),
    )


def _read_process_names(calls: Calls) -> dict[int, str]:
    threads = calls.trace.threads
    return dict(zip(threads["pid"].tolist(), threads["process"].tolist(), strict=True))


def _list_partners(
    calls: Calls, model: ModelCalls, rows: IntArray, partners: Sequence[ModelCalls]
) -> list[_User]:
    """Return the models whose work on the Neural Engine lies in these calls, but beside their own work."""
    measured = calls.analysis.measured
    starts, ends = calls.starts[rows], calls.ends[rows]
    names = measured.owner.models
    if model.model not in names:
        return []
    own = measured.spans(measured.scope(model.pid, model.model), _EXECUTION)
    users = []
    for partner in partners:
        if partner.model not in names or partner.model == model.model:
            continue
        spans = measured.spans(measured.scope(partner.pid, partner.model), _EXECUTION)
        amount_ns = int(spans.within(starts, ends).sum())
        if amount_ns and (spans & own).within(starts, ends).sum() <= _IN_TURN * amount_ns:
            users.append(_User(partner.model, partner.pid, spans, True))
    return users
