"""Counts of a plan: operations on and off the Neural Engine, and the reasons that it states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from tracekit.mlmodels.plans.devices import find_engine
from tracekit.mlmodels.plans.plan import Plan, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.segments import list_segments
from tracekit.model.vocabulary import Engine


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """Counts of operations that compute, over all functions.

    ``off_ane`` are those with another engine; those with none stated are ``unstated`` and in neither of the
    others. ``places`` are runs of neighbours off the Neural Engine, ``segments`` runs on one engine, and
    ``transitions`` the changes between two engines that are both stated.
    """

    operations: int = 0
    on_ane: int = 0
    off_ane: int = 0
    unstated: int = 0
    places: int = 0
    segments: int = 0
    transitions: int = 0

    def __add__(self, other: PlanCounts) -> PlanCounts:
        return PlanCounts(
            self.operations + other.operations,
            self.on_ane + other.on_ane,
            self.off_ane + other.off_ane,
            self.unstated + other.unstated,
            self.places + other.places,
            self.segments + other.segments,
            self.transitions + other.transitions,
        )


@dataclass(frozen=True, slots=True)
class PlanReason:
    """A message about the Neural Engine, word for word, with the operations that are not on it and have it.

    ``text`` is empty for operations off the Neural Engine without a message; those are ``is_supported`` where
    the plan lists the Neural Engine among the engines that support them.
    """

    text: str
    operations: tuple[PlannedOperation, ...]
    count: int
    is_supported: bool = False


def count_operations(functions: Iterable[PlannedFunction]) -> PlanCounts:
    """Count the operations of functions that compute."""
    return sum((_count_function(function) for function in functions), PlanCounts())


def _count_function(function: PlannedFunction) -> PlanCounts:
    engines = [operation.engine for operation in function.computing()]
    segments = list_segments(function)
    on_ane, unstated = engines.count(Engine.ANE), engines.count(None)
    return PlanCounts(
        operations=len(engines),
        on_ane=on_ane,
        off_ane=len(engines) - on_ane - unstated,
        unstated=unstated,
        places=sum(is_off for is_off, _ in groupby(engines, key=_is_off)),
        segments=len(segments),
        transitions=sum(
            before.engine is not None and after.engine is not None for before, after in pairwise(segments)
        ),
    )


def _is_off(engine: Engine | None) -> bool:
    return engine not in (None, Engine.ANE)


def list_reasons(plan: Plan) -> list[PlanReason]:
    """Return the reasons, those with the most operations first.

    Messages of operations on the Neural Engine are left out, and so are those about other devices.
    """
    by_text: dict[tuple[str, bool], list[tuple[PlannedOperation, int]]] = {}
    for function in plan.functions:
        for operation in function.computing():
            for text, is_supported, count in _iter_reasons(operation):
                by_text.setdefault((text, is_supported), []).append((operation, count))
    reasons = [
        PlanReason(text, tuple(item for item, _ in entries), sum(count for _, count in entries), is_supported)
        for (text, is_supported), entries in by_text.items()
    ]
    return sorted(reasons, key=lambda reason: -len(reason.operations))


def _iter_reasons(operation: PlannedOperation) -> Iterator[tuple[str, bool, int]]:
    if operation.engine is Engine.ANE:
        return
    about_ane = [message for message in operation.messages if is_about_ane(message.device)]
    yield from ((message.text, False, message.count) for message in about_ane)
    if not about_ane and operation.engine is not None:
        yield "", Engine.ANE in (operation.supported or ()), 1


def is_about_ane(device: str) -> bool:
    """Return True for the device of a message about the Neural Engine: named as such, or not named."""
    return not device or find_engine(device) is Engine.ANE


def list_unknown_devices(plan: Plan) -> dict[str, int]:
    """Return the words for devices that stand for no engine, with the number of operations that have them."""
    counts: dict[str, int] = {}
    for function in plan.functions:
        for operation in function.computing():
            if operation.device and operation.engine is None and find_engine(operation.device) is None:
                counts[operation.device] = counts.get(operation.device, 0) + 1
    return counts
