"""The sentences of checks of plans."""

from __future__ import annotations

from tracekit.checks.plans.requirements import Placement, PlanCondition, PlanRequirement
from tracekit.checks.results import MetricValue, Outcome, PlanPart
from tracekit.mlmodels.plans import PlannedOperation
from tracekit.report.checks.values import describe_range
from tracekit.text import clip, plural

_MOST_OPERATIONS = 5
_MOST_CHARACTERS = 300


def describe_plan_value(requirement: PlanRequirement, outcome: Outcome, actual: MetricValue) -> str:
    """Return a number of a plan; of one that does not pass, the operations that explain it."""
    part = actual.plan or PlanPart("")
    text = _describe_number(requirement.rule, actual, part)
    if part.is_partial:
        text += "; the plan lists some operations only"
    if actual.note:
        text += f"; {actual.note}"
    if outcome == "passed" or not part.operations:
        return text
    return f"{text}: {_list_operations(part.operations)}"


def _describe_number(rule: PlanCondition | Placement, actual: MetricValue, part: PlanPart) -> str:
    whole = plural(part.count, "operation") + (f" of {part.function}" if part.function else "")
    if isinstance(rule, PlanCondition):
        facts = f"{actual.basis}, {whole}" if part.count else actual.basis
        return f"{rule.metric.name} is {describe_range(actual)} ({facts})"
    count = f"at least {actual.low:g}" if part.is_partial else describe_range(actual)
    return f"{count} of {whole} {actual.basis} on {rule.engine}"


def _list_operations(operations: tuple[PlannedOperation, ...]) -> str:
    names = ", ".join(map(_describe_operation, operations[:_MOST_OPERATIONS]))
    left_out = len(operations) - _MOST_OPERATIONS
    more = f" and {left_out:,} more" if left_out > 0 else ""
    return f"{names}{more}{_quote_message(operations)}"


def _describe_operation(operation: PlannedOperation) -> str:
    """Return ``gather_12 (gather, CPU)``: its name, or its first output where it has none."""
    name = operation.name or next(iter(operation.outputs), "")
    engine = operation.engine or (f"'{operation.device}'" if operation.device else "no engine stated")
    facts = ", ".join(filter(None, (operation.kind if name else "", engine, operation.source)))
    return f"{name or operation.kind} ({facts})"


def _quote_message(operations: tuple[PlannedOperation, ...]) -> str:
    """Return the first message that the plan has about one of the operations, word for word."""
    for operation in operations:
        for message in operation.messages:
            name = operation.name or next(iter(operation.outputs), operation.kind)
            device = f" on {message.device}" if message.device else ""
            return f"; the plan's message about {name}{device}: '{clip(message.text, _MOST_CHARACTERS)}'"
    return ""
