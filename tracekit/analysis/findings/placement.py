"""A model that leaves an engine, comes back to it, alternates, or differs by function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.analysis.findings.calls import FEWEST_SAMPLED, Calls, ModelCalls
from tracekit.analysis.findings.coincidences import changes_between
from tracekit.analysis.findings.finding import Action, Confidence, Finding, Support, WindowRanges
from tracekit.analysis.findings.lengths import extra_length, typical_length
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Basis, Engine

PLACEMENT_KINDS = (
    "fell-back",
    "came-back",
    "moved-to-engine",
    "alternates",
    "differs-by-function",
    "differs-by-copy",
)
_ACCELERATORS = (Engine.ANE, Engine.GPU)
_MOST_FUNCTIONS = 6


@dataclass(frozen=True)
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


def placement_changes(calls: Calls) -> Iterator[Finding]:
    """Yield a finding per model that did not run on the same engine in all its calls.

    Windows that the user gave may be of several models, and of several calls each.
    """
    if not calls.is_timed:
        return
    for model in _candidates(calls):
        placement = _placement(calls, model)
        if placement is not None:
            yield _finding(calls, placement)


def _candidates(calls: Calls) -> Iterator[ModelCalls]:
    """Yield the models whose calls were served by different engines; there may be 100,000 models."""
    firsts = np.array([model.rows[0] for model in calls.models], np.int64)
    is_other = np.zeros(len(calls.starts), bool)
    in_calls = np.flatnonzero(calls.model_of >= 0)
    is_other[in_calls] = calls.served[in_calls] != calls.served[firsts[calls.model_of[in_calls]]]
    yield from calls.models_with(is_other)


def _placement(calls: Calls, model: ModelCalls) -> _Placement | None:
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


def _finding(calls: Calls, placement: _Placement) -> Finding:
    model, rows, is_served = placement.calls, placement.rows, placement.is_served
    away = rows[~is_served]
    kind = _kind(calls, placement)
    is_late = kind == "moved-to-engine"
    edge = int(placement.edges[0])
    first_away = int(rows[0] if is_late else away[0])
    arrived, left, returned = (
        int(np.searchsorted(model.rows, rows[position]))
        for position in (edge, edge - 1, int(placement.edges[min(1, len(placement.edges) - 1)]))
    )
    elsewhere = {
        "fell-back": len(model.rows) - left - 1,
        "came-back": returned - left - 1,
        "moved-to-engine": arrived,
    }
    numbers: dict[str, Any] = {
        "engine": placement.engine,
        "calls": len(model.rows),
        "served": int(is_served.sum()),
        "away": len(away),
        "changes": len(placement.edges),
        "without": elsewhere.get(kind, len(model.rows) - len(rows) + len(away)),
        "first_away": 0 if is_late else left + 1,
        "returned": returned if kind == "came-back" else None,
        "arrived": arrived if is_late else None,
        **_elsewhere(calls, away),
        **_lengths(calls, rows[is_served], away),
        "functions": _functions(calls, placement)[:_MOST_FUNCTIONS] if model.is_named else (),
        "copies": _copies(calls, placement)[:_MOST_FUNCTIONS],
        "coinciding": changes_between(
            calls.events, int(calls.starts[rows[edge - 1]]), int(calls.ends[rows[edge]])
        ),
    }
    is_loss = numbers["is_slower"] and kind != "moved-to-engine"
    return Finding(
        kind,
        "info" if is_late or numbers["is_faster"] else "warning",
        placement.confidence,
        Basis.MEASURED if calls.is_measured(placement.engine) else Basis.SAMPLED,
        model.name,
        model.pid,
        WindowRanges.of(away),
        int(calls.starts[first_away]),
        int(calls.ends[away[-1]]),
        len(away) * (numbers["after_ns"] - numbers["before_ns"]) if is_loss else None,
        {**numbers, "is_named": model.is_named},
        _support(calls, placement, away),
        (
            Action("compute-units", {"model": model.name}),
            # Nothing has to be fixed where calls are faster without the engine.
            *(() if numbers["is_faster"] else (_hold(placement.engine, model),)),
        ),
    )


def _hold(engine: Engine, model: ModelCalls) -> Action:
    return Action("check-engine", {"engine": engine, "model": model.model})


def _kind(calls: Calls, placement: _Placement) -> str:
    if _copies(calls, placement):
        return "differs-by-copy"
    if placement.calls.is_named and len(_functions(calls, placement)) > 1:
        return "differs-by-function"
    if not placement.is_served[0]:
        return "moved-to-engine" if len(placement.edges) == 1 else "alternates"
    return {1: "fell-back", 2: "came-back"}.get(len(placement.edges), "alternates")


def _functions(calls: Calls, placement: _Placement) -> tuple[tuple[str, bool, int], ...]:
    """Return the model's functions, whether the engine served them, and their calls; if one is served by both
    this and other engines, or there is one only, the function does not explain the difference: nothing.
    """
    return _explained(calls.labels[placement.rows], placement)


def _copies(calls: Calls, placement: _Placement) -> tuple[tuple[str, bool, int], ...]:
    """Return the loaded copies of the model likewise, those of the lowest numbers first."""
    copies = calls.analysis.window_rows["copy"].to_numpy(object)[placement.rows]
    if not all(copies):
        return ()
    return tuple(sorted(_explained(copies, placement), key=lambda copy: (len(copy[0]), copy[0])))


def _explained(names: npt.NDArray[np.object_], placement: _Placement) -> tuple[tuple[str, bool, int], ...]:
    counts = Counter(zip(names.tolist(), placement.is_served.tolist(), strict=True))
    if len({name for name, _ in counts}) < max(2, len(counts)):
        return ()
    return tuple((str(name), served, count) for (name, served), count in counts.most_common())


def _elsewhere(calls: Calls, away: IntArray) -> dict[str, Any]:
    """Return the engine that served most of the calls that the engine did not, and its work in these."""
    names = calls.analysis.verdicts.names
    verdict, count = Counter(names[row] for row in away.tolist()).most_common(1)[0]
    numbers: dict[str, Any] = {
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
            numbers |= {"engine_work_ns": busy, "work_basis": Basis.MEASURED}
        elif sampled and verdict == Engine.CPU:
            numbers |= {"engine_work_ns": sampled, "work_basis": Basis.SAMPLED}
        elif verdict == Engine.GPU:  # samples show the host, which encodes for the GPU
            numbers |= {"host_work_ns": sampled}
    return numbers


def _lengths(calls: Calls, with_engine: IntArray, without: IntArray) -> dict[str, Any]:
    """Return the median length of the calls with and without the engine, and whether these differ clearly."""
    return {
        "before_ns": typical_length(calls, with_engine),
        "after_ns": typical_length(calls, without),
        "is_slower": extra_length(calls, without, with_engine) > 0,
        "is_faster": extra_length(calls, with_engine, without) > 0,
    }


def _support(calls: Calls, placement: _Placement, away: IntArray) -> tuple[Support, ...]:
    """Return the table or the frames that show both places."""
    engine = placement.engine
    table = calls.analysis.measured.reported.get(engine, "")
    support = [Support("table", table, "", int(placement.is_served.sum()))] if table else []
    for window in (int(placement.rows[placement.is_served][0]), int(away[0])):
        for _, frame, samples in calls.analysis.verdicts.frames_of(window):
            support.append(Support("frame", frame.binary, frame.symbol, samples))
    return tuple(support)
