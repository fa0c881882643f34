"""Segments of a plan: runs of operations on one engine, in the order of the plan."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from tracekit.mlmodels.plans.plan import PlannedFunction
from tracekit.model.vocabulary import Engine


@dataclass(frozen=True, slots=True)
class PlannedSegment:
    """The operations ``first`` to ``end`` (exclusive), counted among those that compute, on one engine.

    ``engine`` is None where the plan states none for them. ``cost_share`` is the sum of the operations'
    shares; None unless each has one.
    """

    engine: Engine | None
    first: int
    end: int
    cost_share: float | None = None


def list_segments(function: PlannedFunction) -> list[PlannedSegment]:
    """Return the runs of neighbouring operations with the same anticipated engine."""
    segments: list[PlannedSegment] = []
    position = 0
    for engine, group in groupby(function.computing(), key=lambda operation: operation.engine):
        operations = tuple(group)
        shares = [operation.cost_share for operation in operations]
        known = [share for share in shares if share is not None]
        cost = sum(known) if len(known) == len(shares) else None
        segments.append(PlannedSegment(engine, position, position + len(operations), cost))
        position += len(operations)
    return segments
