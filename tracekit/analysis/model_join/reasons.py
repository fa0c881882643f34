"""Why an operation is not on the Neural Engine: the plan's own message, then rules, then what it follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracekit.analysis.model_join.joined_model import OperationReason
from tracekit.mlmodels.plans import PlannedOperation
from tracekit.mlmodels.plans.devices import find_engine
from tracekit.mlmodels.rules import match_message
from tracekit.model.vocabulary import Engine

Reasons = tuple[OperationReason, ...]


def explain_operations(operations: Sequence[PlannedOperation], rules: Mapping[int, Reasons]) -> list[Reasons]:
    """Return the reasons of each operation; none for one on the Neural Engine.

    ``rules`` are the reasons of rules by position. An operation without a reason of its own follows an
    earlier one off the engine whose result it takes, with nothing but operations off the engine between.
    """
    reasons: list[Reasons] = []
    makers: dict[str, int] = {}
    for position, operation in enumerate(operations):
        if operation.engine in (None, Engine.ANE):
            makers.clear()
            reasons.append(rules.get(position, ()) if operation.engine is None else ())
            continue
        reasons.append(
            _combine(list_messages(operation), rules.get(position, ())) or _follow(operation, makers, reasons)
        )
        for name in (operation.name, *operation.outputs):
            makers[name] = position
    return reasons


def list_messages(operation: PlannedOperation) -> Reasons:
    """Return the plan's messages about the Neural Engine, or about no device by name, word for word."""
    return tuple(
        OperationReason(message.text, "plan", match_message(message.text) or "")
        for message in operation.messages
        if not message.device or find_engine(message.device) is Engine.ANE
    )


def _combine(messages: Reasons, rules: Reasons) -> Reasons:
    """Return the messages, then the rules that no message is the reason of."""
    stated_rules = {reason.rule for reason in messages}
    return (*messages, *(reason for reason in rules if reason.rule not in stated_rules))


def _follow(operation: PlannedOperation, makers: Mapping[str, int], reasons: Sequence[Reasons]) -> Reasons:
    """Return the earliest operation with a reason of its own that this one comes from, directly or not."""
    sources = [makers[name] for name in operation.inputs if name in makers and reasons[makers[name]]]
    if not sources:
        return ()
    roots = [_find_root(position, reasons) for position in sources]
    return (OperationReason("", "follows", followed=min(roots)),)


def _find_root(position: int, reasons: Sequence[Reasons]) -> int:
    followed = reasons[position][0].followed
    return position if followed is None else followed
