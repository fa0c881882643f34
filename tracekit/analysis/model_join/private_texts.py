"""A joined model without private texts: names of files, the plan's own words, lines of programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tracekit.analysis.model_join.joined_model import JoinedModel, JoinedOperation


def rewrite_texts(model: JoinedModel, rewrite: Callable[[str], str]) -> JoinedModel:
    """Return a joined model with the texts of its files rewritten; those of the recording are already."""
    return replace(
        model,
        model_file=rewrite(model.model_file),
        plan_file=rewrite(model.plan_file),
        operations=tuple(_rewrite_operation(operation, rewrite) for operation in model.operations),
        segments=tuple(replace(segment, name=rewrite(segment.name)) for segment in model.segments),
    )


def _rewrite_operation(operation: JoinedOperation, rewrite: Callable[[str], str]) -> JoinedOperation:
    return replace(
        operation,
        name=rewrite(operation.name),
        reasons=tuple(replace(reason, text=rewrite(reason.text)) for reason in operation.reasons),
        source=rewrite(operation.source),
    )
