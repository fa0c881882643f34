"""Core ML specifications, ``.mlmodel`` and the one in a ``.mlpackage``: protocol buffers → ``MLModel``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracekit.mlmodels.coreml_names import (
    ARRAY_DTYPES,
    COLOR_SPACES,
    FEATURE_KINDS,
    LAYER_PARAMETERS,
    LAYERS,
    MODEL_KINDS,
)
from tracekit.mlmodels.ml_program import read_functions
from tracekit.mlmodels.program import (
    CONSTANT_VALUES,
    Constant,
    Feature,
    Function,
    MLModel,
    Operation,
    Value,
    ValueType,
)
from tracekit.mlmodels.protobuf_wire import DamagedModelError, Message

_MAX_STAGES_WITHIN = 8
"""Pipelines within pipelines; Apple's tools make none at all."""

_PIPELINES = ("pipeline", "pipelineClassifier", "pipelineRegressor")
_NETWORKS = ("neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor")


def read_specification(data: memoryview, path: Path, depth: int = 0) -> MLModel:
    """Read a specification; ``path`` names it. Raises ``DamagedModelError``."""
    model = Message(data)
    number = next((number for number in model.numbers if number in MODEL_KINDS), 0)
    if not number or 1 not in model:
        raise DamagedModelError("is no Core ML specification: it has no version, or no model")
    kind = MODEL_KINDS[number]
    description = model.message(2)
    functions: tuple[Function, ...] = ()
    stages: tuple[tuple[str, MLModel], ...] = ()
    if kind == "mlProgram":
        functions = tuple(read_functions(model.message(number)))
    elif kind in _NETWORKS:
        functions = (_read_network(model.message(number), description),)
    elif kind in _PIPELINES:
        if depth >= _MAX_STAGES_WITHIN:
            raise DamagedModelError(f"has pipelines {depth} deep")
        pipeline = model.message(number) if kind == "pipeline" else model.message(number).message(1)
        stages = tuple(_read_stages(pipeline, path, depth))
    return MLModel(
        path=path,
        form=_FORMS.get(kind, kind),
        version=f"specification {model.integer(1)}",
        inputs=tuple(map(_read_feature, description.messages(1))),
        outputs=tuple(map(_read_feature, description.messages(10))),
        states=tuple(map(_read_feature, description.messages(13))),
        functions=functions,
        stages=stages,
        metadata=_read_metadata(description.message(100)),
    )


_FORMS = {
    "mlProgram": "ML Program",
    **dict.fromkeys(_NETWORKS, "neural network"),
    **dict.fromkeys(_PIPELINES, "pipeline"),
}


def _read_stages(pipeline: Message, path: Path, depth: int) -> Iterator[tuple[str, MLModel]]:
    names = pipeline.texts(2)
    for index, view in enumerate(pipeline.views(1)):
        name = names[index] if index < len(names) else f"stage {index + 1}"
        yield name, read_specification(view, path, depth + 1)


def _read_metadata(metadata: Message) -> dict[str, str]:
    fixed = {"description": 1, "version": 2, "author": 3, "license": 4}
    texts = {name: metadata.text(number) for name, number in fixed.items()}
    texts |= {entry.text(1): entry.text(2) for entry in metadata.messages(100)}
    return {name: text for name, text in texts.items() if text}


# Features ---------------------------------------------------------------------------------------------------


def _read_feature(feature: Message) -> Feature:
    declared = feature.message(3)
    kind_number = next((number for number in declared.numbers if number in FEATURE_KINDS), 0)
    kind = FEATURE_KINDS.get(kind_number, "unknown")
    parameters = declared.message(kind_number) if kind_number else declared
    is_optional = bool(declared.integer(1000))
    name = feature.text(1)
    if kind == "state":
        return Feature(name, _read_array(parameters.message(1), "state"), "", is_optional)
    if kind == "array":
        return Feature(name, _read_array(parameters, "array"), _read_flexibility(parameters), is_optional)
    if kind == "image":
        shape = (parameters.signed(2), parameters.signed(1))
        dtype = COLOR_SPACES.get(parameters.integer(3), "image")
        return Feature(name, ValueType(dtype, shape, "image"), _read_flexibility(parameters), is_optional)
    return Feature(name, ValueType(kind, (), kind), "", is_optional)


def _read_array(array: Message, container: str) -> ValueType:
    dtype = ARRAY_DTYPES.get(array.integer(2), "unknown")
    return ValueType(dtype, tuple(array.integers(1, CONSTANT_VALUES)), container)


def _read_flexibility(parameters: Message) -> str:
    """Arrays and images have the same two numbers for sizes that are listed and for ranges."""
    return "enumerated" if 21 in parameters else "range" if 31 in parameters else ""


# Neural networks --------------------------------------------------------------------------------------------


def _read_network(network: Message, description: Message) -> Function:
    outputs = tuple(feature.text(1) for feature in description.messages(10))
    inputs = tuple(
        Value(feature.name, feature.type) for feature in map(_read_feature, description.messages(1))
    )
    mapping = "ND" if network.integer(5) else "rank 5"
    return Function("main", inputs, outputs, tuple(_read_layers(network, 0)), mapping)


def _read_layers(network: Message, depth: int) -> Iterator[Operation]:
    for layer in network.messages(1):
        number = next((number for number in layer.numbers if number in LAYERS), 0)
        unknown = next((number for number in layer.numbers if number >= _FIRST_LAYER), 0)
        kind = LAYERS[number] if number else f"layer {unknown}"
        parameters = layer.message(number) if number else Message(memoryview(b""))
        types = [_read_tensor(tensor) for tensor in layer.messages(5)]
        outputs = layer.texts(3)
        yield Operation(
            kind,
            layer.text(1),
            tuple(("", name) for name in layer.texts(2)),
            tuple(Value(name, types[i] if i < len(types) else None) for i, name in enumerate(outputs)),
            _read_parameters(kind, parameters),
            depth,
        )
        if kind in _NESTED and depth < _MAX_DEPTH:
            for field in _NESTED[kind]:
                yield from _read_layers(parameters.message(field), depth + 1)


_FIRST_LAYER = 100
_MAX_DEPTH = 32
_NESTED = {"branch": (1, 2), "loop": (3, 4)}
"""The networks within a layer: ``ifBranch`` and ``elseBranch``, ``conditionNetwork`` and ``bodyNetwork``."""


def _read_tensor(tensor: Message) -> ValueType:
    return ValueType("", tuple(tensor.integers(2, CONSTANT_VALUES)))


def _read_parameters(kind: str, parameters: Message) -> dict[str, Constant]:
    if kind == "custom":
        return {"className": parameters.text(10)}
    if kind == "upsample" and 7 in parameters:
        return {"fractionalScalingFactor": tuple(parameters.floats(7, 2))}
    read: dict[str, Constant] = {}
    for name, number in LAYER_PARAMETERS.get(kind, {}).items():
        values = parameters.integers(number, CONSTANT_VALUES)
        if values:
            read[name] = values[0] if len(values) == 1 else tuple(values)
    return read
