"""A plan as data: ``tracekit plan --format json``. The schema is docs/tracekit-plan-report-1.schema.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import tracekit
from tracekit.mlmodels.plans import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_segments import list_segments
from tracekit.mlmodels.plans.plan_summary import count_operations
from tracekit.text import escape_json

SCHEMA = "tracekit-plan-report/1"


def to_json(plan: Plan) -> str:
    """Return the document: counts, and every operation, segment and region."""
    document = {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "form": plan.form,
        "runtime": plan.runtime,
        "chip": plan.chip or None,
        "os_build": plan.os_build or None,
        "compute_units": plan.compute_units or None,
        "model": plan.model or None,
        "model_sha256": plan.model_sha256 or None,
        "counts": asdict(count_operations(plan.functions)),
        "ane_regions": plan.ane_regions,
        "functions": [_build_function(function) for function in plan.functions],
        "messages": _list_messages(plan.messages),
        "limits": list(plan.limits),
    }
    return escape_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _build_function(function: PlannedFunction) -> dict[str, Any]:
    return {
        "name": function.name or None,
        "overheads_ms": dict(function.overheads_ms),
        "operations": [_build_operation(operation) for operation in function.operations],
        "segments": [
            {
                "anticipated_engine": segment.engine,
                "first": segment.first,
                "end": segment.end,
                "cost_share": segment.cost_share,
            }
            for segment in list_segments(function)
        ],
        "regions": [
            {"name": region.name, "anticipated_engine": region.engine, "operations": region.operations}
            for region in function.regions
        ],
    }


def _build_operation(operation: PlannedOperation) -> dict[str, Any]:
    return {
        "kind": operation.kind or None,
        "name": operation.name or None,
        "is_constant": operation.is_constant,
        "anticipated_engine": operation.engine,
        "device": operation.device or None,
        "supported_engines": None if operation.supported is None else sorted(operation.supported),
        "cost_share": operation.cost_share,
        "estimated_ms": dict(operation.estimated_ms),
        "messages": _list_messages(operation.messages),
        "inputs": list(operation.inputs),
        "outputs": list(operation.outputs),
        "source": operation.source or None,
    }


def _list_messages(messages: tuple[PlanMessage, ...]) -> list[dict[str, Any]]:
    return [
        {"text": message.text, "device": message.device or None, "count": message.count}
        for message in messages
    ]
