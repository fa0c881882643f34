"""Requirements on plans as data: a number of a function, or the engine of some of its operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tracekit.checks.requirements import Kind, Operator
from tracekit.model.vocabulary import Engine

PlanQuantity: TypeAlias = Literal[
    "regions", "segments", "transitions", "ops", "ops without engine", "cost", "failures"
]
Side: TypeAlias = Literal["", "on", "off"]


@dataclass(frozen=True)
class PlanMetric:
    """A number of a function of a plan; ``engine`` is None where it is about none.

    ``side`` is "on" or "off" the engine. ``is_share`` is of operations that are a share and not a count.
    """

    quantity: PlanQuantity
    engine: Engine | None = None
    side: Side = ""
    is_share: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return "share" if self.is_share else "count"

    @property
    def name(self) -> str:
        """The metric as an expression names it."""
        if self.engine is None:
            return self.quantity
        words = (self.quantity, self.side, self.engine) if self.side else (self.engine, self.quantity)
        return " ".join(words)


@dataclass(frozen=True)
class PlanCondition:
    """A metric, a comparison and a limit, which each function must meet whose name is ``scope``."""

    metric: PlanMetric
    operator: Operator
    value: float
    scope: str = ""


@dataclass(frozen=True)
class RequiredPlacement:
    """Operations on an engine: those of a name, of a kind, or all. Required, all; forbidden, any of them."""

    selection: Literal["op", "kind", "all"]
    pattern: str
    engine: Engine
    scope: str = ""


@dataclass(frozen=True)
class PlanRequirement:
    """One requirement as it was written; ``forbids`` inverts a condition."""

    text: str
    forbids: bool
    rule: PlanCondition | RequiredPlacement
