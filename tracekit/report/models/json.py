"""A model as data: ``tracekit model --format json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from tracekit.mlmodels import Feature, Function, MLModel, Operation, Value, ValueType
from tracekit.mlmodels.counts import count_kinds, list_systems
from tracekit.mlmodels.program import Constant
from tracekit.text import escape_json

SCHEMA = "tracekit-model/1"


def to_json(model: MLModel) -> str:
    """Return the document: all operations one by one, constants with their values where they are short."""
    document = {"schema": SCHEMA, **_build_model(model)}
    return escape_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _build_model(model: MLModel) -> dict[str, Any]:
    kinds = count_kinds(operation for f in model.iter_functions() for operation in f.computing())
    return {
        "form": model.form,
        "version": model.version,
        "first_systems": list_systems(model) or None,
        "is_compiled": model.is_compiled,
        "size_bytes": model.size_bytes,
        "weight_file_bytes": model.weight_file_bytes,
        "metadata": dict(model.metadata),
        "inputs": _list_features(model.inputs),
        "outputs": _list_features(model.outputs),
        "states": _list_features(model.states),
        "operation_counts": [
            {"kind": kind.kind, "count": kind.count, "dtypes": dict(kind.dtypes)} for kind in kinds
        ],
        "stated_counts": dict(model.stated_counts),
        "functions": [_build_function(function) for function in model.functions],
        "stages": [{"name": name, **_build_model(stage)} for name, stage in model.stages],
        "compiled_asset": asdict(model.compiled_asset) if model.compiled_asset else None,
        "limits": list(model.limits),
    }


def _list_features(features: Sequence[Feature]) -> list[dict[str, Any]]:
    return [
        {
            "name": feature.name,
            **_build_type(feature.type),
            "flexible": feature.flexible or None,
            "is_optional": feature.is_optional,
        }
        for feature in features
    ]


def _build_type(value_type: ValueType | None) -> dict[str, Any]:
    if value_type is None:
        return {"dtype": None, "shape": None, "container": None}
    shape = None if value_type.shape is None else list(value_type.shape)
    return {"dtype": value_type.dtype or None, "shape": shape, "container": value_type.container}


def _build_function(function: Function) -> dict[str, Any]:
    return {
        "name": function.name,
        "opset": function.opset or None,
        "inputs": [_build_value(value) for value in function.inputs],
        "outputs": list(function.outputs),
        "operations": [_build_operation(operation) for operation in function.operations],
    }


def _build_constant(value: Constant) -> Any:
    """Return a constant; JSON has no infinity, which masks hold, so such numbers are texts: ``-inf``."""
    if isinstance(value, tuple):
        return [_build_constant(item) for item in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _build_value(value: Value) -> dict[str, Any]:
    return {"name": value.name, **_build_type(value.type)}


def _build_operation(operation: Operation) -> dict[str, Any]:
    return {
        "kind": operation.kind,
        "name": operation.name,
        "depth": operation.depth,
        "is_part": operation.is_part,
        "inputs": [{"parameter": parameter or None, "value": value} for parameter, value in operation.inputs],
        "outputs": [_build_value(value) for value in operation.outputs],
        "attributes": {name: _build_constant(value) for name, value in operation.attributes.items()},
        "source": operation.source or None,
    }
