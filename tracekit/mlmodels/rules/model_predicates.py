"""Conditions on an input, an output or a state, on a function, and on a model as a whole.

``leaving`` are the positions of the operations that other rules have leave the Neural Engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracekit.mlmodels.program import Feature, MLModel
from tracekit.mlmodels.rules.graph import Graph, describe_type
from tracekit.mlmodels.rules.operation_predicates import match_output
from tracekit.text import format_size


def match_flexible(feature: Feature, role: str, *, kind: str) -> str | None:
    """Match an input by its flexibility: ``range`` or ``enumerated``."""
    words = {"range": "has a range of shapes", "enumerated": "has a list of shapes"}
    return words[kind] if feature.flexible == kind and role == "input" else None


def match_long_last_axis(feature: Feature, role: str, *, above: int) -> str | None:
    """Match an input by the size of its last axis."""
    size = (feature.type.shape or (None,))[-1]
    is_match = role == "input" and feature.type.container != "image" and size is not None and size > above
    return f"is {describe_type(feature.type)}" if is_match else None


def match_last_axis(feature: Feature, role: str, *, one_of: Sequence[int], values_above: int) -> str | None:
    """Match an input or output by the size of its last axis, if it has more than ``values_above`` values."""
    is_match = _is_large_tensor(feature, role, values_above) and (feature.type.shape or (0,))[-1] in one_of
    return f"is {describe_type(feature.type)}" if is_match else None


def _is_large_tensor(feature: Feature, role: str, values_above: int) -> bool:
    shape = feature.type.shape or ()
    count = math.prod(size or 1 for size in shape)
    return role != "state" and feature.type.container != "image" and len(shape) > 1 and count > values_above


def match_unaligned_last_axis(
    feature: Feature, role: str, *, bytes_multiple: int, values_above: int
) -> str | None:
    """Match an input or output of some size whose last axis, longer than 1, is no multiple of some bytes."""
    width = _WIDTHS.get(feature.type.dtype)
    size = (feature.type.shape or (None,))[-1]
    if not _is_large_tensor(feature, role, values_above) or not width or size is None:
        return None
    if size <= 1 or size * width % bytes_multiple == 0:
        return None
    padded = -(-size * width // bytes_multiple) * bytes_multiple / width
    return f"is {describe_type(feature.type)}; its last axis is padded to {padded:g}"


_WIDTHS = {"fp16": 2, "fp32": 4, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4}


def match_state_width(feature: Feature, role: str, *, multiple: int) -> str | None:
    """Match a state whose last axis is no multiple of a number."""
    size = (feature.type.shape or (None,))[-1]
    is_match = role == "state" and size is not None and size % multiple != 0
    return f"is {describe_type(feature.type)}" if is_match else None


# Functions --------------------------------------------------------------------------------------------------


def match_count(
    graph: Graph,
    _leaving: Sequence[int],
    *,
    kinds: Sequence[str],
    at_least: int,
    rank: int | None = None,
    beside: Sequence[str] = (),
) -> str | None:
    """Match a function with a number of operations of some kinds (and rank), ``beside`` some of others."""
    if beside and not set(beside) & set(graph.kinds):
        return None
    wanted = frozenset(kinds)
    positions = [position for position, kind in enumerate(graph.kinds) if kind in wanted]
    counted = [p for p in positions if rank is None or match_output(graph, p, rank=rank) is not None]
    if len(counted) < at_least:
        return None
    of_rank = f" of rank {rank}" if rank is not None else ""
    return f"{len(counted):,} operations{of_rank}: {graph.kinds[counted[0]]}"


def match_alternations(graph: Graph, leaving: Sequence[int], *, at_least: int) -> str | None:
    """Match a function by its changes between operations that leave and that stay, in order."""
    leaving_positions = frozenset(leaving)
    alternations, was_leaving = 0, None
    for position in filter(graph.is_computed, range(len(graph.operations))):
        is_leaving = position in leaving_positions
        alternations += was_leaving is not None and is_leaving != was_leaving
        was_leaving = is_leaving
    return f"{alternations:,} changes" if alternations >= at_least else None


# Models -----------------------------------------------------------------------------------------------------


def match_weight_bytes(model: MLModel, *, above: int) -> str | None:
    """Match a model by the size of its weights, or of its file where that holds them."""
    size_bytes = model.weight_file_bytes or model.size_bytes
    return f"weights of {format_size(size_bytes)}" if size_bytes > above else None


def match_kind(model: MLModel, *, one_of: Sequence[str]) -> str | None:
    """Match a model without operations by its kind."""
    return f"is a {model.form}" if model.form in one_of else None
