"""Joined models as JSON: what was anticipated beside what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tracekit.analysis.model_join.joined_model import JoinedModel, JoinedOperation, JoinedSegment
from tracekit.report.wording.joins import describe_limits


def joins_document(models: Sequence[JoinedModel]) -> list[dict[str, Any]]:
    """Return the models whose file or plan was given."""
    return [_join_document(model) for model in models]


def _join_document(model: JoinedModel) -> dict[str, Any]:
    return {
        "model": model.model or None,
        "pid": model.pid if model.pid >= 0 else None,
        "model_file": model.model_file or None,
        "plan_file": model.plan_file or None,
        "plan_form": model.plan_form or None,
        "plan_chip": model.plan_chip or None,
        "plan_build": model.plan_build or None,
        "function": model.function or None,
        "calls": model.calls,
        "matched_calls": model.matched_calls,
        "calls_without_engine": model.absent_calls,
        "anticipated_pieces": model.anticipated_pieces,
        "observed_pieces": model.pieces,
        "typical_window": model.typical_call,
        "length_ns": model.length_ns,
        "lost_ns": model.lost_ns,
        "limits": [
            {"code": code, "message": message}
            for code, message in zip(model.limits, describe_limits(model), strict=True)
        ],
        "segments": [_segment_document(segment) for segment in model.segments],
        "operations": [_operation_document(operation) for operation in model.operations],
    }


def _segment_document(segment: JoinedSegment) -> dict[str, Any]:
    return {
        "first": segment.first,
        "end": segment.end,
        "region": segment.name or None,
        "anticipated": segment.anticipated,
        "observed": segment.observed,
        "agreement": segment.agreement,
        "basis": segment.basis,
        "calls": segment.calls,
        "agreeing_calls": segment.agreeing,
        **{
            name: getattr(segment, name)
            for name in ("start_ns", "end_ns", "work_ns", "hand_over_ns", "gap_ns")
        },
    }


def _operation_document(operation: JoinedOperation) -> dict[str, Any]:
    return {
        "kind": operation.kind,
        "name": operation.name or None,
        "anticipated": operation.anticipated,
        "engine_listed": operation.is_supported,
        "segment": operation.segment,
        "source": operation.source or None,
        "reasons": [{**asdict(reason), "rule": reason.rule or None} for reason in operation.reasons],
    }
