"""``BudgetPart``: what a moment of a call is counted as, in order of precedence."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from tracekit.model.vocabulary import Basis, Engine


class BudgetPart(StrEnum):
    """A part of a call's length.

    The order is the precedence: where several happen at once, the first of them has the moment, and the
    others keep it as their overlap. An engine's work comes before host work, which comes before waiting of
    any kind; what only the absence of rows and samples shows comes last.
    """

    ANE = "ANE"
    GPU = "GPU"
    CPU = "CPU"
    LOAD = "load"
    CONTESTED = "contested"
    COPY = "copy"
    RUNTIME = "runtime"
    APP = "app"
    UNNAMED = "unnamed"
    RUNNING = "running"
    OTHER_PROCESS = "other_process"
    OTHER_CALL = "other_call"
    RUNNABLE = "runnable"
    WAITING = "waiting"
    BLOCKED = "blocked"
    HAND_OVER = "hand_over"
    OTHER_THREADS = "other_threads"
    IDLE = "idle"
    UNKNOWN = "unknown"


BUDGET_PARTS: tuple[BudgetPart, ...] = tuple(BudgetPart)

EXECUTING: Mapping[Engine, BudgetPart] = MappingProxyType(
    {Engine.ANE: BudgetPart.ANE, Engine.GPU: BudgetPart.GPU, Engine.CPU: BudgetPart.CPU}
)
"""The part in which an engine works for the call."""


class BudgetKind(NamedTuple):
    """A part with the basis of its time; None for what the recording does not show."""

    part: BudgetPart
    basis: Basis | None


_BASES: Mapping[BudgetPart, tuple[Basis | None, ...]] = MappingProxyType(
    {
        **dict.fromkeys(BudgetPart, (Basis.MEASURED,)),
        **dict.fromkeys(
            (
                BudgetPart.COPY,
                BudgetPart.RUNTIME,
                BudgetPart.APP,
                BudgetPart.UNNAMED,
                BudgetPart.OTHER_THREADS,
            ),
            (Basis.SAMPLED,),
        ),
        **dict.fromkeys(
            (BudgetPart.CPU, BudgetPart.LOAD, BudgetPart.BLOCKED), (Basis.MEASURED, Basis.SAMPLED)
        ),
        **dict.fromkeys((BudgetPart.HAND_OVER, BudgetPart.IDLE), (Basis.INFERRED,)),
        BudgetPart.WAITING: (Basis.MEASURED, Basis.SAMPLED, Basis.INFERRED),
        BudgetPart.UNKNOWN: (None,),
    }
)
BUDGET_KINDS: tuple[BudgetKind, ...] = tuple(
    BudgetKind(part, basis) for part in BUDGET_PARTS for basis in _BASES[part]
)
KIND_CODE: Mapping[BudgetKind, int] = MappingProxyType({kind: code for code, kind in enumerate(BUDGET_KINDS)})
