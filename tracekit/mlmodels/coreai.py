"""Core AI assets (``.aimodel``): MLIR bytecode with Apple's dialect ``aicode`` → ``MLModel``.

The encoding of that dialect is not published. What is read here was found by writing assets with coreai-core
1.0.0b3, Apple's package for Linux, one for each data type, and is held by tests to its own summaries: tensor
types, source lines, and the names of functions, inputs and outputs. The rest of an asset is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from tracekit.mlmodels.mlir_bytecode import Argument, Cursor, Entry, Module, ModuleOperation
from tracekit.mlmodels.program import (
    BLOB,
    CONSTANT_VALUES,
    Constant,
    Feature,
    Function,
    MLModel,
    Operation,
    Value,
    ValueType,
)

_GRAPH = re.compile(r"aicode\.dataflow\.graph_v\d+")
_NO_OPERATION = re.compile(r"aicode\.(?:dataflow\.(?:graph|output|yield)_v\d+|serialization\.\w+)")
_OUTPUT = re.compile(r"aicode\.dataflow\.output_v\d+")
_KIND = re.compile(r"aicode\.(?:primitive\.|dataflow\.)?(.+?)(?:_v\d+)?")

_TENSOR_TYPE = 2
_SCALAR_TYPES = {
    4: "bool", 5: "fp64", 6: "fp32", 7: "fp16", 8: "bf16", 9: "fp8e5m2", 10: "fp8e4m3fn", 11: "complex128",
    12: "complex64", 17: "int64", 18: "int32", 19: "int16", 20: "int8", 21: "int4", 22: "int2", 23: "uint64",
    24: "uint32", 25: "uint16", 26: "uint8", 27: "uint4", 28: "uint2", 46: "fp4e2m1fn", 47: "fp8e8m0fnu",
}  # fmt: skip
_OPEN_DIMENSION = -(1 << 63)

_CONSTANT = "aicode.primitive.constant_v"
_NUMBERS = {
    "bool": "?", "fp32": "<f4", "fp16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2", "int8": "i1",
    "uint64": "<u8", "uint32": "<u4", "uint16": "<u2", "uint8": "u1",
}  # fmt: skip

_STRING, _ARRAY, _VALUES, _RESOURCE, _NAMED, _FILE, _FILE_LINE, _LOCATION = 1, 5, 6, 7, 9, 30, 31, 40
"""Attributes of the dialect: their first integer."""


def read_module(data: memoryview, path: Path) -> MLModel:
    """Read the bytecode of a program. Raises ``DamagedModelError``."""
    module = Module(data)
    operations = list(module.read_operations())
    reader = _Reader(module, path.name)
    graphs: list[_Graph] = []
    starts = [index for index, operation in enumerate(operations) if _GRAPH.fullmatch(operation.name)]
    for start, end in pairwise([*starts, len(operations)]):
        graphs.append(reader.read_graph(operations[start], operations[start + 1 : end]))
    main = next((graph for graph in graphs if graph.function.name == "main"), graphs[0] if graphs else None)
    return MLModel(
        path=path,
        form="Core AI program",
        version="version unknown",
        inputs=main.inputs if main else (),
        outputs=main.outputs if main else (),
        weight_folder=path.parent,
        functions=tuple(graph.function for graph in graphs),
    )


def add_asset_metadata(model: MLModel, metadata: object) -> MLModel:
    """Return an asset's model with the version that its ``metadata.json`` states."""
    version = metadata.get("assetVersion") if isinstance(metadata, dict) else None
    return replace(model, version=f"asset {version}") if isinstance(version, str) else model


@dataclass(frozen=True, slots=True)
class _Graph:
    function: Function
    inputs: tuple[Feature, ...]
    outputs: tuple[Feature, ...]


class _Reader:
    """Turns the operations of one module into functions; types, locations and names are decoded once each."""

    def __init__(self, module: Module, file_name: str) -> None:
        self._module = module
        self._file_name = file_name
        self._types = [self._read_type(entry, 0) for entry in module.types]
        self._sources: dict[int, str] = {}
        self._arguments: dict[int, list[Argument]] = {}
        for argument in module.arguments:
            self._arguments.setdefault(argument.scope, []).append(argument)

    def read_graph(self, graph: ModuleOperation, body: list[ModuleOperation]) -> _Graph:
        """Return a graph as a function with its features."""
        scope = body[0].scope if body else -1
        name, input_names, output_names = self._read_names(graph)
        arguments = [item for item in self._arguments.get(scope, ()) if item.depth == graph.depth + 1]
        inputs = tuple(
            Feature(_pick(input_names, i, _name_value(scope, item.value, scope, {})), self._type(item.type))
            for i, item in enumerate(arguments)
        )
        names = {item.value: feature.name for item, feature in zip(arguments, inputs, strict=True)}
        types = {(op.scope, op.result + i): t for op in body for i, t in enumerate(op.result_types)}
        types |= {(item.scope, item.value): item.type for item in arguments}
        ends = [op for op in body if op.scope == scope and _OUTPUT.fullmatch(op.name)]
        outputs = tuple(
            Feature(
                _pick(output_names, i, _name_value(scope, operand, scope, names)),
                self._type(types.get((scope, operand), -1)),
            )
            for i, operand in enumerate(ends[-1].operands if ends else ())
        )
        function = Function(
            name,
            tuple(Value(feature.name, feature.type) for feature in inputs),
            tuple(output.name for output in outputs),
            tuple(self._read_operations(body, graph.depth + 1, scope, names)),
        )
        return _Graph(function, inputs, outputs)

    def _read_operations(
        self, body: list[ModuleOperation], depth: int, scope: int, names: dict[int, str]
    ) -> Iterator[Operation]:
        """Yield the operations of a graph; those within anything but control flow are its parts."""
        whole, is_control_flow = depth, False  # the deepest level whose operations are no parts
        for operation in body:
            whole = min(whole, operation.depth)
            if operation.depth == whole + 1 and is_control_flow:
                whole = operation.depth
            is_part = operation.depth > whole
            if not is_part:
                is_control_flow = operation.name.startswith("aicode.dataflow.")
            if _NO_OPERATION.fullmatch(operation.name):
                continue
            results = tuple(
                Value(_name_value(operation.scope, operation.result + i, scope, {}), self._type(number))
                for i, number in enumerate(operation.result_types)
            )
            yield Operation(
                _name_kind(operation.name),
                results[0].name if results else "",
                tuple(
                    ("", _name_value(operation.scope, number, scope, names)) for number in operation.operands
                ),
                results,
                self._read_constant(operation, results),
                operation.depth - depth,
                self._find_source(operation.location, 0),
                is_part,
            )

    def _read_constant(self, operation: ModuleOperation, results: tuple[Value, ...]) -> dict[str, Constant]:
        """Return the values of a constant if they are short, or their place in the file."""
        properties = self._module.properties
        if not operation.name.startswith(_CONSTANT) or not 0 <= operation.properties < len(properties):
            return {}
        code, attribute = self._open_attribute(Cursor(properties[operation.properties]).integer())
        value_type = results[0].type if results else None
        if attribute is None or value_type is None or value_type.shape is None:
            return {}
        if code == _RESOURCE:
            number = attribute.integer()
            resources = self._module.resources
            return {BLOB: (self._file_name, *resources[number])} if number < len(resources) else {}
        if code != _VALUES:
            return {}
        is_repeated = attribute.byte() == 1
        data = attribute.view(attribute.count())
        count = math.prod(size or 0 for size in value_type.shape)
        spelling = _NUMBERS.get(value_type.dtype)
        if spelling is None or not 0 < count <= CONSTANT_VALUES:
            return {}
        width = np.dtype(spelling).itemsize
        items = np.frombuffer(data[: len(data) // width * width], spelling)
        numbers: list[Constant] = items.tolist() * (count if is_repeated else 1)
        if len(numbers) != count:
            return {}
        return {"val": tuple(numbers) if value_type.shape else numbers[0]}

    # Types --------------------------------------------------------------------------------------------------

    def _type(self, number: int) -> ValueType:
        return self._types[number] if 0 <= number < len(self._types) else ValueType("", None)

    def _read_type(self, entry: Entry, depth: int) -> ValueType:
        if not entry.is_encoded:
            return ValueType(bytes(entry.data).decode("utf-8", "replace").rstrip("\0"), None)
        cursor = Cursor(entry.data)
        code = cursor.integer()
        if code != _TENSOR_TYPE or depth:
            return ValueType(_SCALAR_TYPES.get(code, f"type {code}"), ())
        sizes = [cursor.signed() for _ in range(cursor.count())]
        element = cursor.integer()
        types = self._module.types
        dtype = self._read_type(types[element], depth + 1).dtype if element < len(types) else ""
        return ValueType(dtype, tuple(None if size == _OPEN_DIMENSION else size for size in sizes))

    # Attributes ---------------------------------------------------------------------------------------------

    def _read_names(self, graph: ModuleOperation) -> tuple[str, list[str], list[str]]:
        """Return the names of a graph, of its inputs and of its outputs, from its properties.

        They are a list of attributes: arrays of the names of arguments, of which the first is that of inputs
        and the last that of outputs, and one string, the name of the graph.
        """
        properties = self._module.properties
        if not 0 <= graph.properties < len(properties):
            return "", [], []
        cursor = Cursor(properties[graph.properties])
        name = ""
        arrays: list[list[str]] = []
        while not cursor.is_at_end:
            code, attribute = self._open_attribute(cursor.integer())
            if attribute is None:
                continue
            if code == _STRING and not name:
                name = self._module.string(attribute.integer())
            elif code == _ARRAY:
                arrays.append([self._find_name(item, 0) for item in attribute.integers(attribute.count())])
        return name, arrays[0] if arrays else [], arrays[-1] if arrays else []

    def _find_name(self, number: int, depth: int) -> str:
        """Return the first string within an array of named attributes."""
        code, attribute = self._open_attribute(number)
        if attribute is None or depth > 4:
            return ""
        if code == _STRING:
            return self._module.string(attribute.integer())
        if code == _NAMED:
            attribute.integer()  # the key
        elif code != _ARRAY:
            return ""
        items = attribute.integers(attribute.count())
        return next((name for item in items if (name := self._find_name(item, depth + 1))), "")

    def _find_source(self, location: int, depth: int) -> str:
        """Return the file and line of a location, or an empty text."""
        if location in self._sources:
            return self._sources[location]
        code, attribute = self._open_attribute(location)
        source = ""
        if attribute is not None and depth < 4:
            if code == _LOCATION:
                source = self._find_source(attribute.integer(), depth + 1)
            elif code == _FILE_LINE:
                file, line = attribute.integer(), attribute.integer()
                file_code, file_attribute = self._open_attribute(file)
                if file_attribute is not None and file_code == _FILE and line:
                    source = f"{self._module.string(file_attribute.integer())}:{line}"
        self._sources[location] = source
        return source

    def _open_attribute(self, number: int) -> tuple[int, Cursor | None]:
        attributes = self._module.attributes
        if not 0 <= number < len(attributes) or not attributes[number].is_encoded:
            return -1, None
        cursor = Cursor(attributes[number].data)
        return cursor.integer(), cursor


def _name_kind(name: str) -> str:
    """Return ``conv2d`` for ``aicode.primitive.conv2d_v1``; other dialects keep their names."""
    match = _KIND.fullmatch(name)
    return match[1] if match else name


def _name_value(scope: int, value: int, function_scope: int, names: Mapping[int, str]) -> str:
    """Return the name of a value: an input's, else ``%3`` in the function and ``%2.3`` in an inner scope."""
    if scope != function_scope:
        return f"%{scope}.{value}"
    return names.get(value, f"%{value}")


def _pick(names: list[str], index: int, otherwise: str) -> str:
    return (names[index] if index < len(names) else "") or otherwise
