"""Operations that a plan has off the Neural Engine, and plans that the calls do not follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypedDict

from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, ModelCalls, Place
from tracekit.analysis.findings.finding import Confidence, Finding, Support
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.model.vocabulary import Basis, Engine

if TYPE_CHECKING:
    from tracekit.analysis.model_join.joined_model import JoinedModel, JoinLimit


class LeavingOperation(TypedDict):
    """An operation off the Neural Engine with its first reason; ``followed`` is the name that it follows."""

    name: str
    kind: str
    engine: Engine | None
    reason: str
    origin: str
    rule: str
    followed: str
    source: str


class PlanNumbers(TypedDict):
    """The plan of a model against its calls: pieces per call on the Neural Engine, and what limits them.

    Of ``calls``, ``matched`` have the pieces that were ``anticipated``, ``absent`` ran without the engine.
    """

    is_named: bool
    plan: str
    chip: str
    build: str
    limits: tuple[JoinLimit, ...]
    operations: int
    leaving: int
    calls: int
    matched: int
    absent: int
    anticipated: int
    pieces: int | None


class OperatorNumbers(PlanNumbers):
    """The operations off the engine, the first of them ``listed``; ``lost_per_call_ns`` is the median.

    ``typical_ns`` is the length of the typical call.
    """

    listed: tuple[LeavingOperation, ...]
    is_observed: bool
    lost_per_call_ns: int | None
    typical_ns: int


class PlanDifference(PlanNumbers):
    """The calls have something else: ``observed`` is the engine of those without the Neural Engine."""

    observed: Engine | None


OPERATORS_LEFT = Kind[OperatorNumbers]("operators-left", Need.PLAN)
PLAN_NOT_FOLLOWED = Kind[PlanDifference]("plan-not-followed", Need.PLAN)

_MOST_LISTED = 12
_MUCH_LOST = 10
"""A choice, as for calls that are cut: gaps of 1/10 of the calls' time deserve a warning."""
_WEAKENING = frozenset(
    {
        "other-chip",
        "other-build",
        "other-units",
        "target-unknown",
        "name-differs",
        "matched-by-count",
        "plan-differs",
    }
)


def find_operators_left(calls: Calls) -> Iterator[Finding[OperatorNumbers]]:
    """Yield a finding per model with operations off the Neural Engine, unless its calls ran without it."""
    for model, joined in _iter_planned(calls):
        leaving = joined.list_leaving()
        if leaving and not (joined.absent and not joined.matched and joined.anticipated_pieces):
            yield _make_operators_left(calls, model, joined, leaving)


def find_plan_not_followed(calls: Calls) -> Iterator[Finding[PlanDifference]]:
    """Yield a finding per model whose calls have no piece on the engine, or another number than the plan."""
    for model, joined in _iter_planned(calls):
        if joined.pieces is None or joined.matched or joined.anticipated_pieces == joined.pieces:
            continue
        if joined.absent or joined.pieces:
            yield _make_plan_not_followed(calls, model, joined)


def list_explained(calls: Calls) -> frozenset[tuple[str, int]]:
    """Return the models and processes whose pieces ``operators-left`` explains by what separates them."""
    return frozenset(
        (model.model, model.pid)
        for model, joined in _iter_planned(calls)
        if joined.list_leaving() and joined.matched and _is_observed(joined)
    )


def _iter_planned(calls: Calls) -> Iterator[tuple[ModelCalls, JoinedModel]]:
    """Yield the models with a plan that states engines, and the calls of each."""
    for joined in calls.analysis.joined_models:
        for model in calls.models:
            is_same = model.model == joined.model and model.pid == joined.pid
            if is_same and any(segment.anticipated is not None for segment in joined.segments):
                yield model, joined


def _is_observed(joined: JoinedModel) -> bool:
    """Return whether the calls show that what leaves the engine does: each in a gap, or with its engine."""
    first = next((n for n, segment in enumerate(joined.segments) if segment.anticipated is Engine.ANE), None)
    last = max(
        (n for n, segment in enumerate(joined.segments) if segment.anticipated is Engine.ANE), default=-1
    )
    return joined.matched + joined.absent > 0 and all(
        segment.observed is not None or (first is not None and first < number < last)
        for number, segment in enumerate(joined.segments)
        if segment.anticipated not in (None, Engine.ANE)
    )


def _count(joined: JoinedModel, model: ModelCalls, leaving: Sequence[int]) -> PlanNumbers:
    return {
        "is_named": model.is_named,
        "plan": joined.plan_file,
        "chip": joined.plan_chip,
        "build": joined.plan_build,
        "limits": joined.limits,
        "operations": len(joined.operations),
        "leaving": len(leaving),
        "calls": joined.calls,
        "matched": joined.matched,
        "absent": joined.absent,
        "anticipated": joined.anticipated_pieces,
        "pieces": joined.pieces,
    }


def _make_operators_left(
    calls: Calls, model: ModelCalls, joined: JoinedModel, leaving: Sequence[int]
) -> Finding[OperatorNumbers]:
    is_observed = _is_observed(joined)
    numbers: OperatorNumbers = {
        **_count(joined, model, leaving),
        "listed": tuple(_describe_leaving(joined, position) for position in leaving[:_MOST_LISTED]),
        "is_observed": is_observed,
        "lost_per_call_ns": joined.lost_ns,
        "typical_ns": joined.length_ns,
    }
    rows = joined.matched * joined.anticipated_pieces
    table = Support("table", calls.analysis.measured.reported.get(Engine.ANE, ""), "", rows)
    is_costly = joined.lost_ns is not None and _MUCH_LOST * joined.lost_ns >= joined.length_ns
    return Finding(
        kind=OPERATORS_LEFT,
        severity="warning" if is_costly or not joined.anticipated_pieces else "info",
        confidence=_find_confidence(joined, is_observed=is_observed),
        basis=Basis.MEASURED if joined.matched else Basis.GIVEN,
        **_locate(calls, model, joined),
        lost_ns=joined.lost_total_ns or None,
        numbers=numbers,
        support=(table,) if rows else (),
        actions=(
            Action("fix-operations", {"rules": _list_rules(joined, leaving)}),
            Action(
                "check-segments", {"model": model.model, "is_named": "matched-by-count" not in joined.limits}
            ),
        ),
    )


def _locate(calls: Calls, model: ModelCalls, joined: JoinedModel) -> Place:
    """Return the calls that were told apart, else all of the model."""
    ranges = joined.windows.ranges
    if not ranges:
        return calls.locate(model.rows, model)
    return Place(
        model=model.name,
        pid=model.pid,
        windows=joined.windows,
        start_ns=int(calls.starts[ranges[0][0]]),
        end_ns=int(calls.ends[ranges[-1][1]]),
    )


def _find_confidence(joined: JoinedModel, *, is_observed: bool) -> Confidence:
    if not is_observed:
        return "possible"
    return "certain" if _WEAKENING.isdisjoint(joined.limits) else "likely"


def _describe_leaving(joined: JoinedModel, position: int) -> LeavingOperation:
    operation = joined.operations[position]
    reason = operation.reasons[0] if operation.reasons else None
    followed = None if reason is None or reason.followed is None else joined.operations[reason.followed]
    return {
        "name": operation.name,
        "kind": operation.kind,
        "engine": operation.anticipated,
        "reason": reason.text if reason else "",
        "origin": reason.origin if reason else "",
        "rule": reason.rule if reason else "",
        "followed": (followed.name or followed.kind) if followed else "",
        "source": operation.source,
    }


def _list_rules(joined: JoinedModel, leaving: Sequence[int]) -> tuple[str, ...]:
    rules = (reason.rule for position in leaving for reason in joined.operations[position].reasons)
    return tuple(dict.fromkeys(filter(None, rules)))


def _make_plan_not_followed(calls: Calls, model: ModelCalls, joined: JoinedModel) -> Finding[PlanDifference]:
    observed = {segment.observed for segment in joined.segments} if joined.absent else {None}
    is_gone = bool(joined.absent) and joined.anticipated_pieces > 0
    numbers: PlanDifference = {
        **_count(joined, model, joined.list_leaving()),
        "observed": observed.pop() if len(observed) == 1 else None,
    }
    return Finding(
        kind=PLAN_NOT_FOLLOWED,
        severity="warning" if is_gone else "info",
        confidence="certain",
        basis=Basis.MEASURED,
        **calls.locate(model.rows, model),
        numbers=numbers,
        support=(Support("table", calls.analysis.measured.reported.get(Engine.ANE, "")),),
        actions=(Action("plan-again"), Action("compute-units", {"model": model.name})),
    )
