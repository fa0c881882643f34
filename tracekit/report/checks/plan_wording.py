"""The sentences of checks of plans."""

from __future__ import annotations

from tracekit.checks.plans.plan_requirements import PlanCondition, PlanRequirement, RequiredPlacement
from tracekit.checks.results import MetricValue, Outcome, PlanPart
from tracekit.mlmodels.plans import PlannedOperation
from tracekit.mlmodels.plans.devices import find_engine
from tracekit.model.vocabulary import Engine
from tracekit.report.checks.values import describe_range
from tracekit.report.document.blocks import make_sentence
from tracekit.report.plans.words import name_operation
from tracekit.text import clip, join_words, plural

_MOST_OPERATIONS = 5
_MOST_QUOTES = 3
_MOST_CHARACTERS = 300


def describe_plan_value(requirement: PlanRequirement, outcome: Outcome, actual: MetricValue) -> str:
    """Return a number of a plan; of one that does not pass, the operations that explain it."""
    part = actual.plan or PlanPart("")
    text = actual.missing or _describe_number(requirement.rule, actual, part)
    if part.unlisted is None:
        text += "; the plan lists some operations only"
    elif part.unlisted:
        text += f"; the plan has no entry for {plural(part.unlisted, 'more operation')}"
    if actual.note:
        text += f"; {actual.note}"
    if outcome == "passed":
        return text
    if part.operations:
        text += f": {_list_operations(part.operations, requirement.rule)}"
    # Limits of a plan that decide nothing here are those of other numbers.
    if part.limits and (outcome == "not measurable" or not part.count):
        text = " ".join((make_sentence(text), *part.limits))
    return text


def _describe_number(rule: PlanCondition | RequiredPlacement, actual: MetricValue, part: PlanPart) -> str:
    whole = plural(part.count, "operation") + (f" of {part.function}" if part.function else "")
    if isinstance(rule, PlanCondition):
        facts = f"{actual.basis}, {whole}" if part.count else actual.basis
        return f"{rule.metric.name} is {describe_range(actual)} ({facts})"
    if not part.count:
        return f"{rule.engine} regions is {describe_range(actual)} ({actual.basis})"
    count = f"at least {actual.low:g}" if part.unlisted != 0 else describe_range(actual)
    return f"{count} of {whole} {'is' if part.count == 1 else 'are'} {actual.basis} on {rule.engine}"


def _list_operations(
    operations: tuple[PlannedOperation, ...], rule: PlanCondition | RequiredPlacement
) -> str:
    names = ", ".join(map(_describe_operation, operations[:_MOST_OPERATIONS]))
    left_out = len(operations) - _MOST_OPERATIONS
    more = f" and {left_out:,} more" if left_out > 0 else ""
    engine = rule.engine if isinstance(rule, RequiredPlacement) else rule.metric.engine
    return f"{names}{more}{_quote_messages(operations, engine)}"


def _describe_operation(operation: PlannedOperation) -> str:
    """Return ``gather gather_12 (CPU, model.py:290)``."""
    engine = operation.engine or (f"'{operation.device}'" if operation.device else "no engine stated")
    return (
        f"{name_operation(operation) or 'not named'} ({', '.join(filter(None, (engine, operation.source)))})"
    )


def _quote_messages(operations: tuple[PlannedOperation, ...], engine: Engine | None) -> str:
    """Return what the plan states about the operations, word for word: about ``engine``, if there is one."""
    quotes: dict[str, str] = {}
    for operation in operations:
        for message in operation.messages:
            if engine is None or not message.device or find_engine(message.device) is engine:
                quotes.setdefault(message.text, name_operation(operation) or "an operation")
    texts = [
        f"about {name} '{clip(text, _MOST_CHARACTERS)}'" for text, name in list(quotes.items())[:_MOST_QUOTES]
    ]
    return f"; the plan states {join_words(texts)}" if texts else ""
