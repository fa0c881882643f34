"""Operations off the Neural Engine, and plans that calls do not follow, as English."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.operators import (
    OPERATORS_LEFT,
    PLAN_NOT_FOLLOWED,
    LeavingOperation,
    OperatorNumbers,
    PlanDifference,
    PlanNumbers,
)
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import engine_name, format_name_inside
from tracekit.text import clip, format_duration, format_percent, join_words, plural, printable

_NAME_WIDTH = 40
_REASON_WIDTH = 160
_MOST_NAMES = 3
_MOST_REASONS = 3


def _write_operators_left(finding: Finding[OperatorNumbers]) -> Sentences:
    numbers = finding.numbers
    operations = numbers["first_operations"]
    reasons = _list_reasons(operations)
    cost = [_write_time(numbers), *reasons[:_MOST_REASONS], *_list_warnings(numbers)]
    more = [*reasons[_MOST_REASONS:], _write_comparison(numbers)]
    return Sentences(_write_title(finding), " ".join(filter(None, cost)), " ".join(filter(None, more)))


def _write_title(finding: Finding[OperatorNumbers]) -> str:
    numbers = finding.numbers
    model = format_name_inside(finding.model, numbers["is_named"])
    prefix = "" if numbers["is_observed"] else "By its plan, "
    operations = plural(numbers["operations"], "operation")
    if numbers["leaving"] == numbers["operations"]:
        by_plan = prefix or "As its plan has it, "
        if numbers["operations"] == 1:
            return f"{by_plan}the only operation of {model} is not on the Neural Engine."
        return f"{by_plan}none of the {operations} of {model} is on the Neural Engine."
    names = _join_names(numbers)
    verb = "leaves" if numbers["leaving"] == 1 else "leave"
    cut = _write_cut(numbers)
    return (
        f"{prefix}{numbers['leaving']:,} of {operations} of {model} {verb} the Neural Engine{cut}: {names}."
    )


def _write_cut(numbers: OperatorNumbers) -> str:
    """Return the clause about pieces, where the operations separate some and the calls have them."""
    if numbers["anticipated"] < 2 or not numbers["matched_calls"]:
        return ""
    calls = (
        "each call"
        if numbers["matched_calls"] == numbers["calls"]
        else (f"{numbers['matched_calls']:,} of {plural(numbers['calls'], 'call')}")
    )
    verb = "cuts" if numbers["leaving"] == 1 else "cut"
    return f" and {verb} {calls} into {plural(numbers['anticipated'], 'piece')} there"


def _join_names(numbers: OperatorNumbers) -> str:
    names = [_name_operation(entry) for entry in numbers["first_operations"][:_MOST_NAMES]]
    more = numbers["leaving"] - len(names)
    return join_words([*names, f"{more:,} more"] if more else names)


def _name_operation(operation: LeavingOperation) -> str:
    """Return ``gather_12``, or the kind where it has no name."""
    return clip(printable(operation["name"] or operation["kind"]), _NAME_WIDTH)


def _write_time(numbers: OperatorNumbers) -> str:
    lost = numbers["lost_per_call_ns"]
    if lost is None:
        return ""
    share = format_percent(lost / numbers["typical_ns"]) if numbers["typical_ns"] else ""
    basis = f"measured, median, {share} of the typical call" if share else "measured, median"
    return f"Per call, {format_duration(lost)} pass between the pieces without the engine ({basis})."


def _list_reasons(operations: Sequence[LeavingOperation]) -> list[str]:
    """Return a sentence per operation with a reason, and one for those that follow it."""
    followers: dict[str, list[str]] = {}
    for operation in operations:
        if operation["followed"]:
            followers.setdefault(operation["followed"], []).append(_name_operation(operation))
    return [
        _write_reason(operation, followers.get(operation["name"] or operation["kind"], []))
        for operation in operations
        if operation["reason"]
    ]


def _write_reason(operation: LeavingOperation, followers: Sequence[str]) -> str:
    place = f" ({clip(printable(operation['source']), _NAME_WIDTH)})" if operation["source"] else ""
    text = clip(printable(operation["reason"]).rstrip("."), _REASON_WIDTH)
    if operation["origin"] == "plan":
        rule = f" (rule {operation['rule']})" if operation["rule"] else ""
        reason = f'the plan: "{text}"{rule}'
    else:
        reason = f"rule {operation['rule']}: {text}; the plan gives no reason"
    verb = "follows" if len(followers) == 1 else "follow"
    follow = f"; {join_words(followers[:_MOST_NAMES])} {verb} it" if followers else ""
    return f"{_name_operation(operation)}{place}: {reason}{follow}."


def _list_warnings(numbers: PlanNumbers) -> Iterator[str]:
    """Yield the sentences about a plan of another target or model, which a reader must not miss."""
    from tracekit.report.wording.joins import PLAN_LIMITS

    for limit in numbers["limits"]:
        if limit in PLAN_LIMITS:
            chip, build = printable(numbers["chip"]), printable(numbers["build"])
            yield PLAN_LIMITS[limit].format(chip=chip, build=build)


def _write_comparison(numbers: PlanNumbers) -> str:
    if not numbers["matched_calls"]:
        return "The calls do not show these segments."
    return (
        f"Anticipated by {clip(printable(numbers['plan']), _NAME_WIDTH)}; observed in"
        f" {numbers['matched_calls']:,} of {plural(numbers['calls'], 'call')}."
    )


def _write_plan_not_followed(finding: Finding[PlanDifference]) -> Sentences:
    numbers = finding.numbers
    model = format_name_inside(finding.model, numbers["is_named"])
    anticipated = numbers["anticipated"]
    on_engine = numbers["operations"] - numbers["leaving"]
    plan = f"The plan of {model} anticipates"
    if numbers["pieces"] == 0 and anticipated:
        what = (
            f"{on_engine:,} of {plural(numbers['operations'], 'operation')}"
            if on_engine > 0
            else plural(anticipated, "region")
        )
        engine = numbers["observed"]
        where = f"ran on {engine_name(engine)}" if engine else "ran without it"
        title = (
            f"{plan} {what} on the Neural Engine, but {numbers['absent_calls']:,} of"
            f" {plural(numbers['calls'], 'call')} {where}."
        )
        cause = (
            "Other compute units than the plan's, a failed compilation for the Neural Engine, or another chip"
            " or system may be the cause."
        )
        return Sentences(title, " ".join([cause, *_list_warnings(numbers)]))
    pieces = plural(numbers["pieces"] or 0, "piece")
    per_call = f"{plural(anticipated, 'piece')} per call on the Neural Engine"
    title = f"{plan} {per_call}, but calls usually have {pieces}."
    cause = (
        "So it is not known which piece is which segment: the runtime may have joined or divided segments."
    )
    return Sentences(title, " ".join([cause, *_list_warnings(numbers)]))


SENTENCES = dict(
    (
        pair_sentences(OPERATORS_LEFT, _write_operators_left),
        pair_sentences(PLAN_NOT_FOLLOWED, _write_plan_not_followed),
    )
)
