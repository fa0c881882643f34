"""Shares of a function's estimated cost, where a plan states estimates in milliseconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tracekit.mlmodels.plans.plan import PlannedOperation
from tracekit.mlmodels.program import is_layout_kind


def add_cost_shares(operations: Sequence[PlannedOperation]) -> tuple[PlannedOperation, ...]:
    """Return the operations with their shares of the sum of estimates, each for the anticipated device.

    An operation without an estimate for its device has no share, and no part in the sum; nor has a move at
    the border of the program, which is no operation of the model.
    """
    estimates = [
        None if is_layout_kind(operation.kind) else read_cost(operation.estimated_ms.get(operation.device))
        for operation in operations
    ]
    total = math.fsum(estimate for estimate in estimates if estimate is not None)
    if not 0 < total < math.inf:
        return tuple(operations)
    return tuple(
        operation if estimate is None else replace(operation, cost_share=estimate / total)
        for operation, estimate in zip(operations, estimates, strict=True)
    )


def read_cost(value: object) -> float | None:
    """Return a cost that a file states as a number, or None for anything that is no cost."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e15 else None
