"""ML Programs in a Core ML specification: functions of typed operations, with their short constants."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from tracekit.mlmodels.coreml_names import DTYPES
from tracekit.mlmodels.program import BLOB, CONSTANT_VALUES, Constant, Function, Operation, Value, ValueType
from tracekit.mlmodels.protobuf_wire import DamagedModelError, Message

_MAX_DEPTH = 64
"""Blocks within blocks, and types within types."""


def read_functions(program: Message) -> Iterator[Function]:
    """Yield the functions of a program in the order of the file. Raises ``DamagedModelError``."""
    for name, function in program.entries(2):
        opset = function.text(2)
        blocks = dict(function.entries(3))
        # Apple's tools write one block, that of the function's own set of operators.
        block = blocks.get(opset) or next(iter(blocks.values()), None)
        inputs = tuple(map(_read_value, function.messages(1)))
        if block is None:
            yield Function(name, inputs, (), (), opset)
        else:
            yield Function(name, inputs, tuple(block.texts(2)), tuple(_read_block(block, 0)), opset)


def _read_block(block: Message, depth: int) -> Iterator[Operation]:
    if depth > _MAX_DEPTH:
        raise DamagedModelError(f"has operations {depth} deep")
    for operation in block.messages(3):
        attributes = {name: _read_constant(value, 0) for name, value in operation.entries(5)}
        if operation.text(1) == "const" and attributes.get("val") is None:
            attributes[BLOB] = _find_blob(operation)
        constants = {name: value for name, value in attributes.items() if value is not None}
        inputs, given, types = _read_inputs(operation)
        yield Operation(
            operation.text(1),
            str(constants.pop("name", "")),
            inputs,
            tuple(map(_read_value, operation.messages(3))),
            given | constants,
            depth,
            constant_types=types,
        )
        for nested in operation.messages(4):
            yield from _read_block(nested, depth + 1)


def _find_blob(constant: Message) -> Constant | None:
    """Return the file and the offset of a constant whose values are in another file."""
    for name, value in constant.entries(5):
        if name == "val" and 5 in value:
            stored = value.message(5)
            return (stored.text(1), stored.integer(2))
    return None


def _read_inputs(
    operation: Message,
) -> tuple[tuple[tuple[str, str], ...], dict[str, Constant], dict[str, ValueType]]:
    """Return pairs of a parameter and a value's name, and parameters that are given in place, with types."""
    bindings: list[tuple[str, str]] = []
    given: dict[str, Constant] = {}
    types: dict[str, ValueType] = {}
    for parameter, argument in operation.entries(2):
        for binding in argument.messages(1):
            if 1 in binding:
                bindings.append((parameter, binding.text(1)))
                continue
            value = binding.message(2)
            if (constant := _read_constant(value, 0)) is not None:
                given[parameter] = constant
            if (value_type := _read_type(value.message(2), 0)) is not None:
                types[parameter] = value_type
    return tuple(bindings), given, types


# Types ------------------------------------------------------------------------------------------------------


def _read_value(named: Message) -> Value:
    return Value(named.text(1), _read_type(named.message(2), 0))


def _read_type(declared: Message, depth: int) -> ValueType | None:
    if depth > _MAX_DEPTH:
        raise DamagedModelError(f"has types {depth} deep")
    if 1 in declared:
        return _read_tensor_type(declared.message(1))
    for number, container in ((2, "list"), (3, "tuple"), (4, "dictionary"), (5, "state")):
        if number in declared:
            inner = _read_type(declared.message(number).message(1), depth + 1)
            return ValueType(inner.dtype if inner else "", inner.shape if inner else None, container)
    return None


def _read_tensor_type(tensor: Message) -> ValueType:
    dtype = DTYPES.get(tensor.integer(1), f"type {tensor.integer(1)}")
    dimensions: list[int | None] = []
    for dimension in tensor.messages(3):
        if 2 in dimension and dimension.message(2).integer(1):
            return ValueType(dtype, None)  # any number of dimensions
        dimensions.append(dimension.message(1).integer(1) if 1 in dimension else None)
    return ValueType(dtype, tuple(dimensions))


# Constants --------------------------------------------------------------------------------------------------


def _read_constant(value: Message, depth: int) -> Constant | None:
    """Return a value that stands in the file and is short, else None."""
    immediate = value.message(3)
    if 1 in immediate:
        declared = _read_type(value.message(2), depth)
        return _read_tensor(immediate.message(1), declared)
    if 3 in immediate and depth < _MAX_DEPTH:
        items = [_read_constant(item, depth + 1) for item in immediate.message(3).messages(1)]
        return tuple(item for item in items[:CONSTANT_VALUES] if item is not None)
    return None


def _read_tensor(tensor: Message, declared: ValueType | None) -> Constant | None:
    dtype = declared.dtype if declared else ""
    values: Sequence[Constant]
    if 4 in tensor:
        values = tensor.message(4).texts(1)[:CONSTANT_VALUES]
    elif 1 in tensor:
        values = tensor.message(1).floats(1, CONSTANT_VALUES)
    elif 7 in tensor:
        values = _read_packed(tensor.message(7).view(1), dtype)
    elif 6 in tensor:
        data = tensor.message(6).view(1)
        values = _unpack(data, "d")
    else:
        number = next((number for number in (2, 3, 5) if number in tensor), 0)
        values = tensor.message(number).integers(1, CONSTANT_VALUES) if number else ()
        if number == 3:
            values = [bool(item) for item in values]
    if declared is not None and declared.shape == ():
        return values[0] if len(values) == 1 else None
    return tuple(values)


_PACKED = {
    "fp16": "e",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
}


def _read_packed(data: memoryview, dtype: str) -> list[Constant]:
    code = _PACKED.get(dtype)
    return [] if code is None else _unpack(data, code)


def _unpack(data: memoryview, code: str) -> list[Constant]:
    """Return the first little-endian numbers of a code of ``struct``."""
    count = min(len(data) // struct.calcsize(f"<{code}"), CONSTANT_VALUES)
    return list(struct.unpack_from(f"<{count}{code}", data))
