"""Two plans as data: ``tracekit plan NEW --against BASE --format json``.

The schema is docs/tracekit-plan-differences-1.schema.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import tracekit
from tracekit.mlmodels.plans import Plan, PlannedOperation
from tracekit.mlmodels.plans.differences import (
    FunctionDifferences,
    OperationPair,
    PlanDifferences,
    total_engines,
)
from tracekit.text import escape_json

SCHEMA = "tracekit-plan-differences/1"


def to_json(differences: PlanDifferences) -> str:
    """Return the document as text with a final newline."""
    return escape_json(json.dumps(to_dict(differences), indent=1, ensure_ascii=False)) + "\n"


def to_dict(differences: PlanDifferences) -> dict[str, Any]:
    """Return every pair of operations, and those without a counterpart."""
    return {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "base": _build_plan(differences.base),
        "new": _build_plan(differences.new),
        "are_different_models": bool(differences.smaller) and differences.are_different_models,
        "functions": [_build_function(function) for function in differences.functions],
        "functions_only_base": list(differences.only_base),
        "functions_only_new": list(differences.only_new),
    }


def _build_plan(plan: Plan) -> dict[str, Any]:
    return {
        "file": str(plan.path),
        "form": plan.form,
        "runtime": plan.runtime,
        "chip": plan.chip or None,
        "os_build": plan.os_build or None,
        "compute_units": plan.compute_units or None,
        "model": plan.model or None,
        "ane_regions": plan.ane_regions,
        "engines": [
            {
                "anticipated_engine": total.engine,
                "operations": total.operations,
                "segments": total.segments,
                "cost_share": total.cost_share,
            }
            for total in total_engines(plan)
        ],
        "limits": list(plan.limits),
    }


def _build_function(function: FunctionDifferences) -> dict[str, Any]:
    return {
        "base": function.base.name,
        "new": function.new.name,
        "matched_by": function.evidence,
        "matched": [_build_pair(pair) for pair in function.pairs],
        "only_base": _list_operations(function.only_base),
        "only_new": _list_operations(function.only_new),
        "ambiguous_base": _list_operations(function.ambiguous_base),
        "ambiguous_new": _list_operations(function.ambiguous_new),
    }


def _build_pair(pair: OperationPair) -> dict[str, Any]:
    return {
        "base": _build_operation(pair.base),
        "new": _build_operation(pair.new),
        "moved": None if pair.is_unstated else pair.has_moved,
    }


def _list_operations(operations: Sequence[PlannedOperation]) -> list[dict[str, Any]]:
    return [_build_operation(operation) for operation in operations]


def _build_operation(operation: PlannedOperation) -> dict[str, Any]:
    return {
        "kind": operation.kind or None,
        "name": operation.name or None,
        "anticipated_engine": operation.engine,
        "cost_share": operation.cost_share,
        "messages": [message.text for message in operation.messages],
        "source": operation.source or None,
    }
