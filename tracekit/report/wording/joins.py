"""What limits the join of a model, its plan and the calls, as English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tracekit.text import plural, printable

if TYPE_CHECKING:
    from tracekit.analysis.model_join.joined_model import JoinedModel, JoinLimit

PLAN_LIMITS: Mapping[JoinLimit, str] = {
    "other-chip": "The plan is for another chip ({target}) than the recording's.",
    "other-build": "The plan is of another build of the system ({target}) than the recording's.",
    "other-units": "The plan is for other compute units than those that the app requests.",
    "plan-differs": "Some operations of the plan and of the model's file have no counterpart in the other.",
    "name-differs": "The model's file has another name than the recording's only model.",
}
"""Reasons why a plan may not be that of the calls. ``target`` is its chip and build."""
_LIMITS: Mapping[JoinLimit, str] = {
    **PLAN_LIMITS,
    "no-plan": "Without a plan, no engine is anticipated for an operation: give one with --plan.",
    "no-anticipated-engines": "The plan states no engine for any operation.",
    "function-unknown": (
        "The file has several functions, and the recording does not show which of them the calls run."
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
                f"{model.matched:,} calls have the pieces of the plan, {model.absent:,} ran without the"
                " Neural Engine: the table is of the more frequent ones."
            )
        elif limit == "not-on-engine":
            yield f"{plural(model.absent, 'call')} ran without the Neural Engine."
        else:
            yield _LIMITS[limit].format(target=printable(model.plan_target))
