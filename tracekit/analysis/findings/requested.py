"""Calls that ran on another engine than the compute units that the app requests allow or suggest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypedDict

import numpy as np

from tracekit.analysis.findings.action import Action, ActionKind
from tracekit.analysis.findings.calls import FEWEST_SAMPLED, Calls, ModelCalls
from tracekit.analysis.findings.finding import Confidence, Finding, Support
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.operators import list_operation_actions
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING, Basis, Engine


class RequestedNumbers(TypedDict):
    """The calls that an excluded engine served, or the requested one did not; ``verdict`` served them."""

    is_named: bool
    setting: str
    engine: Engine
    is_excluded: bool
    calls: int
    concerned: int
    verdict: str


NOT_ON_REQUESTED_ENGINE = Kind[RequestedNumbers]("not-on-requested-engine", Need.SETTING)

_ALLOWED: Mapping[str, tuple[Engine, ...]] = {
    "all": (Engine.ANE, Engine.GPU, Engine.CPU),
    "cpuAndGPU": (Engine.GPU, Engine.CPU),
    "cpuAndNeuralEngine": (Engine.ANE, Engine.CPU),
    "cpuOnly": (Engine.CPU,),
}
"""The engines of each setting; an app that requests one beside the CPU expects it to be used."""


def find_not_on_requested_engine(calls: Calls) -> Iterator[Finding[RequestedNumbers]]:
    """Yield the models whose calls the requested engine never served, or an excluded engine did."""
    setting = calls.analysis.compute_units
    if not setting or not calls.is_timed:
        return
    allowed = _ALLOWED[setting]
    for engine in SERVING:
        if engine not in allowed:
            yield from _find_on_excluded_engine(calls, engine)
    if len(allowed) > 1:
        yield from _find_never_on_engine(calls, allowed[0])


def _find_on_excluded_engine(calls: Calls, engine: Engine) -> Iterator[Finding[RequestedNumbers]]:
    """Yield the models that an excluded engine served."""
    # Of calls at the same time, an interval without a model's name counts in each.
    is_alone = calls.analysis.window_rows["alone"].to_numpy(bool)
    is_served = calls.serves(engine) & is_alone
    for model in calls.iter_models(is_served):
        rows = model.rows[is_served[model.rows]]
        is_seen = calls.work[engine].samples[rows].any()
        confidence: Confidence = "certain" if is_seen or not _is_owner_doubtful(calls, engine) else "possible"
        yield _make_finding(calls, model, engine, rows, confidence, is_excluded=True)


def _is_owner_doubtful(calls: Calls, engine: Engine) -> bool:
    """Return whether the engine's rows may be another process's: the tables that show them name none."""
    owner = calls.analysis.measured.owner
    return engine is Engine.ANE and bool(owner.unchecked or owner.unmatched)


def _find_never_on_engine(calls: Calls, engine: Engine) -> Iterator[Finding[RequestedNumbers]]:
    """Yield the models that the requested engine never served, although it is known what did."""
    measured = calls.analysis.measured
    is_measured = calls.is_measured(engine) and not measured.owner.unattributed
    is_absent = calls.served > 0 if is_measured else calls.is_elsewhere(engine)
    is_absent = is_absent & ~calls.is_contested(engine)
    for model in _iter_without(calls, calls.serves(engine)):
        rows = model.rows[is_absent[model.rows]]
        if len(rows) >= (1 if is_measured else FEWEST_SAMPLED):
            yield _make_finding(
                calls, model, engine, rows, "certain" if is_measured else "likely", is_excluded=False
            )


def _iter_without(calls: Calls, is_served: BoolArray) -> Iterator[ModelCalls]:
    """Yield the models without a marked call, of those whose engine is known in any."""
    positions, count = calls.model_of, len(calls.models)
    served, known = (
        np.bincount(positions[marked & (positions >= 0)], minlength=count)
        for marked in (is_served, calls.served > 0)
    )
    for position in np.flatnonzero((served == 0) & (known > 0)).tolist():
        yield calls.models[position]


def _make_finding(
    calls: Calls,
    model: ModelCalls,
    engine: Engine,
    rows: IntArray,
    confidence: Confidence,
    *,
    is_excluded: bool,
) -> Finding[RequestedNumbers]:
    setting = calls.analysis.compute_units
    elsewhere = Counter(calls.analysis.verdicts.names[row] for row in rows.tolist()).most_common(1)[0][0]
    table = calls.analysis.measured.reported.get(engine, "")
    frames = [
        Support("frame", frame.binary, frame.symbol)
        for shown, frame, _ in calls.analysis.verdicts.frames_of(int(rows[0]))
        if shown is engine or not is_excluded
    ]
    measured = table and (calls.work[engine].busy_ns[rows].any() or not is_excluded)
    check: ActionKind = "check-no-engine" if is_excluded else "check-engine"
    # With "all", Core ML may well choose the GPU: nothing is wrong then.
    is_choice = setting == "all" and elsewhere == Engine.GPU
    return Finding(
        kind=NOT_ON_REQUESTED_ENGINE,
        severity="info" if is_choice else "warning",
        confidence=confidence,
        basis=Basis.MEASURED if measured else Basis.SAMPLED,
        **calls.locate(rows, model),
        numbers=RequestedNumbers(
            is_named=model.is_named,
            setting=setting,
            engine=engine,
            is_excluded=is_excluded,
            calls=len(model.rows),
            concerned=len(rows),
            verdict=elsewhere,
        ),
        support=((Support("table", table),) if measured else ()) + tuple(frames),
        actions=(
            Action("compute-units", {"model": model.name}),
            *(list_operation_actions(calls, model) if engine is Engine.ANE and not is_excluded else ()),
            Action(check, {"engine": engine, "model": model.model}),
        ),
    )
