"""What limits the join of a model, its plan and the calls, as English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tracekit.text import clip, plural, printable

if TYPE_CHECKING:
    from tracekit.analysis.model_join.joined_model import JoinedModel, JoinLimit

_NAME_WIDTH = 60
PLAN_LIMITS: Mapping[JoinLimit, str] = {
    "other-runtime": "The plan is of Core ML, and Core AI ran the calls: they are not compared.",
    "other-chip": "The plan is for another chip ({chip}) than the recording's.",
    "other-build": "The plan is of another build of the system ({build}) than the recording's.",
    "other-units": "The plan is for other compute units than those that the app requests.",
    "plan-differs": "Some operations of the plan and of the model's file have no counterpart in the other.",
    "name-differs": "The model's file has another name than the recording's only model.",
}
"""Reasons why a plan may not be that of the calls. ``chip`` and ``build`` are the plan's."""
_LIMITS: Mapping[JoinLimit, str] = {
    **PLAN_LIMITS,
    "target-unknown": (
        "Plan and recording do not both state a chip or a build of the system: that the plan is for this"
        " device and system is not checked."
    ),
    "no-plan": "Without a plan, no engine is anticipated for an operation: give one with --plan.",
    "no-anticipated-engines": "The plan states no engine for any operation.",
    "function-unknown": (
        "The file has several functions, and the recording does not show which of them the calls run."
    ),
    "other-function": (
        "The pieces of some calls name another function of the model than the plan's: they are not compared."
    ),
    "regions-only": "The plan names regions, not the operations in them.",
    "not-single-calls": "The calls are not known to be one inference each, so their pieces are not compared.",
    "engine-not-measured": (
        "The recording has no rows of the Neural Engine's table, so no call shows its pieces there."
    ),
    "owner-unknown": "No call has a known number of pieces: the Neural Engine's rows may be another owner's.",
    "order-differs": (
        "In some calls, the numbers of the pieces do not rise with time; they are not compared with the plan."
    ),
    "matched-by-count": "The pieces have no names: they were matched by their number and order.",
    "calls-overlap": "Calls that overlap another one count for no gap.",
}


def describe_join(model: JoinedModel) -> str:
    """Return what was held against what, and how many calls show it."""
    name = f"{clip(printable(model.model), _NAME_WIDTH)}: " if model.model else ""
    files = " and ".join(
        f"{word} {clip(printable(file), _NAME_WIDTH)}"
        for word, file in (("model", model.model_file), ("plan", model.plan_file))
        if file
    )
    words = " ".join(filter(None, (model.plan_chip, model.plan_build)))
    target = f" for {printable(words)}" if words else ""
    operations = f"{plural(len(model.operations), 'operation')}, " if model.operations else ""
    leaving = ""
    if model.plan_file and model.operations:
        leaving = f"{len(model.list_leaving()):,} anticipated off the Neural Engine; "
    if not model.plan_file:
        return f"{name}{files}. {plural(len(model.operations), 'operation')}; no plan was given."
    count = model.matched_calls or (model.absent_calls if model.is_elsewhere else 0)
    number = f"{count:,}" if count else "none"
    calls = f"{number} of {plural(model.calls, 'call')}"
    return f"{name}{files}{target}. {operations}{leaving}held against {calls}."


def describe_reason(model: JoinedModel, position: int) -> str:
    """Return the first reason of an operation with its origin; that none is stated, where that is so."""
    operation = model.operations[position]
    if not operation.reasons:
        is_possible = ", which lists the Neural Engine as possible" if operation.is_supported else ""
        return f"no reason in the plan{is_possible}"
    reason = operation.reasons[0]
    if reason.followed is not None:
        root = model.operations[reason.followed]
        return f"follows {root.name or root.kind}"
    if reason.origin == "plan":
        return f'the plan: "{reason.text}"'
    return f"rule {reason.rule}: {reason.text}"


def describe_limits(model: JoinedModel) -> Iterator[str]:
    """Yield a sentence for each limit of a join."""
    for limit in model.limits:
        if limit == "pieces-differ":
            yield (
                f"The plan has {plural(model.anticipated_pieces, 'segment')} on the Neural Engine; calls with"
                " another number of pieces are not told apart into segments."
            )
        elif limit == "calls-differ":
            yield (
                f"Some calls have the pieces of the plan, and {plural(model.absent_calls, 'call')} ran"
                " without the Neural Engine: the table is of the more frequent ones."
            )
        elif limit == "not-on-engine":
            yield f"{plural(model.absent_calls, 'call')} ran without the Neural Engine."
        else:
            yield _LIMITS[limit].format(chip=printable(model.plan_chip), build=printable(model.plan_build))
