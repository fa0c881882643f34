"""Operations that a plan has off the Neural Engine, and plans that the calls do not follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypedDict

from tracekit.analysis.findings.action import Action, Arguments
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

    Of ``calls``, ``matched_calls`` have the pieces that were ``anticipated``; ``absent_calls`` ran without
    the engine.
    """

    is_named: bool
    plan: str
    chip: str
    build: str
    limits: tuple[JoinLimit, ...]
    operations: int
    leaving: int
    calls: int
    matched_calls: int
    absent_calls: int
    anticipated: int
    pieces: int | None


class OperatorNumbers(PlanNumbers):
    """The operations off the engine, the first of them in ``first_operations``.

    ``lost_per_call_ns`` is the median, ``typical_ns`` the length of the typical call.
    """

    first_operations: tuple[LeavingOperation, ...]
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
        "other-runtime",
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
    for model, joint in _iter_planned(calls):
        leaving = joint.list_leaving()
        if leaving and not (joint.is_elsewhere and joint.anticipated_pieces):
            yield _make_operators_left(calls, model, joint, leaving)


def find_plan_not_followed(calls: Calls) -> Iterator[Finding[PlanDifference]]:
    """Yield a finding per model whose calls have no piece on the engine, or another number than the plan."""
    for model, joint in _iter_planned(calls):
        has_others = bool(joint.pieces) and joint.pieces != joint.anticipated_pieces
        if (joint.is_elsewhere and joint.anticipated_pieces) or (has_others and not joint.matched_calls):
            yield _make_plan_not_followed(calls, model, joint)


def list_explained(calls: Calls) -> frozenset[tuple[str, int]]:
    """Return the models and processes whose pieces ``operators-left`` explains by what separates them."""
    return frozenset(
        (model.model, model.pid)
        for model, joint in _iter_planned(calls)
        if joint.list_leaving() and joint.matched_calls and _is_observed(joint)
    )


def list_operation_actions(calls: Calls, model: ModelCalls) -> tuple[Action, ...]:
    """Return the step that shows why operations leave the engine: with what is not given of file and plan."""
    files = next(
        (
            (joint.model_file, joint.plan_file)
            for joint in calls.analysis.joined_models
            if (joint.model, joint.pid) == (model.model, model.pid)
        ),
        ("", ""),
    )
    arguments = Arguments(model_file=files[0], plan_file=files[1])
    return () if all(files) else (Action("model-operations", arguments),)


def _iter_planned(calls: Calls) -> Iterator[tuple[ModelCalls, JoinedModel]]:
    """Yield the models with a plan that states engines, and the calls of each."""
    for joint in calls.analysis.joined_models:
        for model in calls.models:
            is_same = model.model == joint.model and model.pid == joint.pid
            if is_same and any(segment.anticipated is not None for segment in joint.segments):
                yield model, joint


def _is_observed(joint: JoinedModel) -> bool:
    """Return whether the calls show that what leaves the engine does: each in a gap, or with its engine."""
    first_piece = next(
        (n for n, segment in enumerate(joint.segments) if segment.anticipated is Engine.ANE), None
    )
    last_piece = max(
        (n for n, segment in enumerate(joint.segments) if segment.anticipated is Engine.ANE),
        default=-1,
    )
    return all(
        segment.observed is not None
        or (first_piece is not None and joint.matched_calls > 0 and first_piece < number < last_piece)
        for number, segment in enumerate(joint.segments)
        if segment.anticipated not in (None, Engine.ANE)
    )


def _count(joint: JoinedModel, model: ModelCalls, leaving: Sequence[int]) -> PlanNumbers:
    return {
        "is_named": model.is_named,
        "plan": joint.plan_file,
        "chip": joint.plan_chip,
        "build": joint.plan_build,
        "limits": joint.limits,
        "operations": len(joint.operations),
        "leaving": len(leaving),
        "calls": joint.calls,
        "matched_calls": joint.matched_calls,
        "absent_calls": joint.absent_calls,
        "anticipated": joint.anticipated_pieces,
        "pieces": joint.pieces,
    }


def _make_operators_left(
    calls: Calls, model: ModelCalls, joint: JoinedModel, leaving: Sequence[int]
) -> Finding[OperatorNumbers]:
    is_observed = _is_observed(joint)
    numbers: OperatorNumbers = {
        **_count(joint, model, leaving),
        "first_operations": tuple(_describe_leaving(joint, position) for position in leaving[:_MOST_LISTED]),
        "is_observed": is_observed,
        "lost_per_call_ns": joint.lost_ns,
        "typical_ns": joint.length_ns,
    }
    # A plan without the engine is as intended where the app requests none.
    is_wanted = calls.analysis.compute_units not in ("cpuOnly", "cpuAndGPU")
    is_whole = is_wanted and is_observed and not joint.anticipated_pieces
    rows = joint.matched_calls * joint.anticipated_pieces
    table = Support("table", calls.analysis.measured.reported.get(Engine.ANE, ""), "", rows)
    is_costly = joint.lost_ns is not None and _MUCH_LOST * joint.lost_ns >= joint.length_ns
    return Finding(
        kind=OPERATORS_LEFT,
        severity="warning" if is_costly or is_whole else "info",
        confidence=_find_confidence(joint, is_observed=is_observed),
        basis=Basis.MEASURED if joint.matched_calls else Basis.GIVEN,
        **_locate(calls, model, joint),
        lost_ns=joint.lost_total_ns or None,
        numbers=numbers,
        support=(table,) if rows else (),
        actions=(
            Action("fix-operations", {"rules": _list_rules(joint, leaving)}),
            Action(
                "check-segments",
                {"model": model.model, "is_named": "matched-by-count" not in joint.limits},
            ),
        ),
    )


def _locate(calls: Calls, model: ModelCalls, joint: JoinedModel) -> Place:
    """Return the calls that were told apart, else all of the model."""
    ranges = joint.windows.ranges
    if not ranges:
        return calls.locate(model.rows, model)
    return Place(
        model=model.name,
        pid=model.pid,
        windows=joint.windows,
        start_ns=int(calls.starts[ranges[0][0]]),
        end_ns=int(calls.ends[ranges[-1][1]]),
    )


def _find_confidence(joint: JoinedModel, *, is_observed: bool) -> Confidence:
    if not is_observed:
        return "possible"
    return "certain" if _WEAKENING.isdisjoint(joint.limits) else "likely"


def _describe_leaving(joint: JoinedModel, position: int) -> LeavingOperation:
    operation = joint.operations[position]
    reason = operation.reasons[0] if operation.reasons else None
    followed = None if reason is None or reason.followed is None else joint.operations[reason.followed]
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


def _list_rules(joint: JoinedModel, leaving: Sequence[int]) -> tuple[str, ...]:
    rules = (reason.rule for position in leaving for reason in joint.operations[position].reasons)
    return tuple(dict.fromkeys(filter(None, rules)))


def _make_plan_not_followed(calls: Calls, model: ModelCalls, joint: JoinedModel) -> Finding[PlanDifference]:
    observed = {segment.observed for segment in joint.segments} if joint.is_elsewhere else {None}
    is_gone = joint.is_elsewhere and joint.anticipated_pieces > 0
    numbers: PlanDifference = {
        **_count(joint, model, joint.list_leaving()),
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
