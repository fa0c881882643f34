"""A model that leaves an engine, comes back to it, alternates, or differs by function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import FEWEST_SAMPLED, Calls, ModelCalls
from tracekit.analysis.findings.coincidences import Change, list_changes
from tracekit.analysis.findings.finding import Confidence, Finding, Support, WindowRanges
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import compute_typical_length, measure_extra_length, sum_extra_length
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Basis, Engine


class _Elsewhere(TypedDict):
    """The engine that served most of the calls without the best engine, and its work in each of these."""

    verdict: str
    verdict_calls: int
    engine_work_ns: int | None
    work_basis: Basis | None
    host_work_ns: int | None


class _Lengths(TypedDict):
    """The median length of the calls with and without the engine, and whether these differ clearly."""

    before_ns: int
    after_ns: int
    is_slower: bool
    is_faster: bool


class PlacementNumbers(_Elsewhere, _Lengths):
    """A model's calls with and without its best engine; calls are counted from 0.

    ``served_share`` is the interval of the share of calls that the engine serves, where these alternate.
    """

    engine: Engine
    calls: int
    served: int
    served_share: tuple[float, float] | None
    away: int
    changes: int
    without: int
    first_away: int
    returned: int | None
    arrived: int | None
    functions: tuple[tuple[str, bool, int], ...]
    copies: tuple[tuple[str, bool, int], ...]
    coinciding: tuple[Change, ...]
    is_named: bool


FELL_BACK = Kind[PlacementNumbers]("fell-back", Need.ENGINES)
CAME_BACK = Kind[PlacementNumbers]("came-back", Need.ENGINES)
MOVED_TO_ENGINE = Kind[PlacementNumbers]("moved-to-engine", Need.ENGINES)
ALTERNATES = Kind[PlacementNumbers]("alternates", Need.ENGINES)
DIFFERS_BY_FUNCTION = Kind[PlacementNumbers]("differs-by-function", Need.ENGINES)
DIFFERS_BY_COPY = Kind[PlacementNumbers]("differs-by-copy", Need.ENGINES)
PLACEMENT_KINDS = (FELL_BACK, CAME_BACK, MOVED_TO_ENGINE, ALTERNATES, DIFFERS_BY_FUNCTION, DIFFERS_BY_COPY)

_ACCELERATORS = (Engine.ANE, Engine.GPU)
_MOST_FUNCTIONS = 6


@frozen
class _Placement:
    """The calls of one model whose engines are known: which of them an engine served, and its stretches.

    ``edges`` are the positions in ``rows`` at which ``is_served`` changes.
    """

    calls: ModelCalls
    engine: Engine
    rows: IntArray
    is_served: BoolArray
    edges: IntArray
    confidence: Confidence


def find_placement_changes(calls: Calls) -> Iterator[Finding[PlacementNumbers]]:
    """Yield a finding per model that did not run on the same engine in all its calls.

    Windows that the user gave may be of several models, and of several calls each.
    """
    if not calls.is_timed:
        return
    for model in _iter_candidates(calls):
        placement = _locate_model(calls, model)
        if placement is not None:
            yield _make_finding(calls, placement)


def _iter_candidates(calls: Calls) -> Iterator[ModelCalls]:
    """Yield the models whose calls were served by different engines; there may be 100,000 models."""
    firsts = np.array([model.rows[0] for model in calls.models], np.int64)
    is_other = np.zeros(len(calls.starts), bool)
    in_calls = np.flatnonzero(calls.model_of >= 0)
    is_other[in_calls] = calls.served[in_calls] != calls.served[firsts[calls.model_of[in_calls]]]
    yield from calls.iter_models(is_other)


def _locate_model(calls: Calls, model: ModelCalls) -> _Placement | None:
    """Return where a model ran, for the best engine that served it; None if that served all known calls."""
    for engine in _ACCELERATORS:
        if not calls.serves(engine)[model.rows].any():
            continue
        is_served = calls.serves(engine)
        is_measured = calls.is_measured(engine)
        is_absent = calls.served > 0 if is_measured else calls.is_elsewhere(engine)
        is_absent &= ~calls.is_contested(engine)
        rows = model.rows[(is_served | is_absent)[model.rows]]
        edges = np.flatnonzero(np.diff(is_served[rows])) + 1
        if not len(edges):
            return None
        # A short call may pass between two samples: a single call without one shows nothing.
        stretches = np.diff(np.concatenate([[0], edges, [len(rows)]]))
        if not is_measured and stretches.min() < FEWEST_SAMPLED:
            return None
        confidence: Confidence = "certain" if is_measured else "likely"
        if not model.model and calls.analysis.window_rows["source"].iloc[int(rows[0])] == "stacks":
            confidence = "possible"  # stacks name no model: the calls may be of two
        return _Placement(model, engine, rows, is_served[rows], edges, confidence)
    return None


def _make_finding(calls: Calls, placement: _Placement) -> Finding[PlacementNumbers]:
    from tracekit.statistics.share_intervals import estimate_share_of_rows

    model, rows, is_served = placement.calls, placement.rows, placement.is_served
    away = rows[~is_served]
    kind = _choose_kind(calls, placement)
    is_late = kind is MOVED_TO_ENGINE
    edge = int(placement.edges[0])
    first_away = int(rows[0] if is_late else away[0])
    arrived, left, returned = (
        int(np.searchsorted(model.rows, rows[position]))
        for position in (edge, edge - 1, int(placement.edges[min(1, len(placement.edges) - 1)]))
    )
    elsewhere = {
        FELL_BACK: len(model.rows) - left - 1,
        CAME_BACK: returned - left - 1,
        MOVED_TO_ENGINE: arrived,
    }
    numbers: PlacementNumbers = {
        "engine": placement.engine,
        "calls": len(model.rows),
        "served": int(is_served.sum()),
        "served_share": estimate_share_of_rows(rows, rows[is_served]) if kind is ALTERNATES else None,
        "away": len(away),
        "changes": len(placement.edges),
        "without": elsewhere.get(kind, len(model.rows) - len(rows) + len(away)),
        "first_away": 0 if is_late else left + 1,
        "returned": returned if kind is CAME_BACK else None,
        "arrived": arrived if is_late else None,
        **_measure_elsewhere(calls, away),
        **_compare_lengths(calls, rows[is_served], away),
        "functions": _list_functions(calls, placement)[:_MOST_FUNCTIONS] if model.is_named else (),
        "copies": _list_copies(calls, placement)[:_MOST_FUNCTIONS],
        "coinciding": list_changes(
            calls.events, int(calls.starts[rows[edge - 1]]), int(calls.ends[rows[edge]])
        ),
        "is_named": model.is_named,
    }
    return Finding(
        kind=kind,
        severity="info" if is_late or numbers["is_faster"] else "warning",
        confidence=placement.confidence,
        basis=Basis.MEASURED if calls.is_measured(placement.engine) else Basis.SAMPLED,
        model=model.name,
        pid=model.pid,
        windows=WindowRanges.of(away),
        start_ns=int(calls.starts[first_away]),
        end_ns=int(calls.ends[away[-1]]),
        lost_ns=(None if is_late else sum_extra_length(calls, away, rows[is_served])) or None,
        numbers=numbers,
        support=_collect_support(calls, placement, away),
        actions=(
            Action("compute-units", {"model": model.name}),
            # Nothing has to be fixed where calls are faster without the engine.
            *(() if numbers["is_faster"] else (_hold_engine(placement.engine, model),)),
        ),
    )


def _hold_engine(engine: Engine, model: ModelCalls) -> Action:
    return Action("check-engine", {"engine": engine, "model": model.model})


def _choose_kind(calls: Calls, placement: _Placement) -> Kind[PlacementNumbers]:
    if _list_copies(calls, placement):
        return DIFFERS_BY_COPY
    if placement.calls.is_named and len(_list_functions(calls, placement)) > 1:
        return DIFFERS_BY_FUNCTION
    if not placement.is_served[0]:
        return MOVED_TO_ENGINE if len(placement.edges) == 1 else ALTERNATES
    return {1: FELL_BACK, 2: CAME_BACK}.get(len(placement.edges), ALTERNATES)


def _list_functions(calls: Calls, placement: _Placement) -> tuple[tuple[str, bool, int], ...]:
    """Return the model's functions, whether the engine served them, and their calls; if one is served by both
    this and other engines, or there is one only, the function does not explain the difference: nothing.
    """
    return _explain_by_name(calls.labels[placement.rows], placement)


def _list_copies(calls: Calls, placement: _Placement) -> tuple[tuple[str, bool, int], ...]:
    """Return the loaded copies of the model likewise, those of the lowest numbers first."""
    copies = calls.analysis.window_rows["copy"].to_numpy(object)[placement.rows]
    if not all(copies):
        return ()
    return tuple(sorted(_explain_by_name(copies, placement), key=lambda copy: (len(copy[0]), copy[0])))


def _explain_by_name(
    names: npt.NDArray[np.object_], placement: _Placement
) -> tuple[tuple[str, bool, int], ...]:
    counts = Counter(zip(names.tolist(), placement.is_served.tolist(), strict=True))
    if len({name for name, _ in counts}) < max(2, len(counts)):
        return ()
    return tuple((str(name), served, count) for (name, served), count in counts.most_common())


def _measure_elsewhere(calls: Calls, away: IntArray) -> _Elsewhere:
    """Return the engine that served most of the calls that the engine did not, and its work in these."""
    names = calls.analysis.verdicts.names
    verdict, count = Counter(names[row] for row in away.tolist()).most_common(1)[0]
    numbers: _Elsewhere = {
        "verdict": verdict,
        "verdict_calls": count,
        "engine_work_ns": None,
        "work_basis": None,
        "host_work_ns": None,
    }
    if verdict in (Engine.GPU, Engine.CPU):
        work = calls.work[Engine(verdict)]
        rows = [row for row in away.tolist() if names[row] == verdict]
        busy, sampled = calls.median(work.busy_ns[rows]), calls.median(work.sampled_ns[rows])
        if busy:
            numbers["engine_work_ns"], numbers["work_basis"] = busy, Basis.MEASURED
        elif sampled and verdict == Engine.CPU:
            numbers["engine_work_ns"], numbers["work_basis"] = sampled, Basis.SAMPLED
        elif verdict == Engine.GPU:  # samples show the host, which encodes for the GPU
            numbers["host_work_ns"] = sampled
    return numbers


def _compare_lengths(calls: Calls, with_engine: IntArray, without: IntArray) -> _Lengths:
    """Return the median length of the calls with and without the engine, and whether these differ clearly."""
    return {
        "before_ns": compute_typical_length(calls, with_engine),
        "after_ns": compute_typical_length(calls, without),
        "is_slower": measure_extra_length(calls, without, with_engine) > 0,
        "is_faster": measure_extra_length(calls, with_engine, without) > 0,
    }


def _collect_support(calls: Calls, placement: _Placement, away: IntArray) -> tuple[Support, ...]:
    """Return the table or the frames that show both places."""
    engine = placement.engine
    table = calls.analysis.measured.reported.get(engine, "")
    support = [Support("table", table, "", int(placement.is_served.sum()))] if table else []
    for window in (int(placement.rows[placement.is_served][0]), int(away[0])):
        for _, frame, samples in calls.analysis.verdicts.frames_of(window):
            support.append(Support("frame", frame.binary, frame.symbol, samples))
    return tuple(support)
