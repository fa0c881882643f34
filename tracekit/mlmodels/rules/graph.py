"""A function as a graph: which operation makes each value, which use it, and the constants among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from tracekit.mlmodels.program import BLOB, Constant, Function, Operation, ValueType, is_layout_kind
from tracekit.mlmodels.weights import read_lowest

_OPSET_PREFIX = re.compile(r"^ios\d+\.", re.IGNORECASE)
_PASSES_CONSTANT = frozenset({"cast", "reshape", "transpose", "expand_dims", "squeeze", "identity"})
"""Kinds that make a constant of a constant; ``constexpr_…`` do, too."""


def simplify_kind(kind: str) -> str:
    """Return ``conv`` for ``ios17.conv``, as plans and compiled models spell it."""
    return _OPSET_PREFIX.sub("", kind)


class Graph:
    """The operations of a function by the values that they make and use; positions are those in the file."""

    def __init__(self, function: Function, weight_folder: Path | None = None) -> None:
        self._weight_folder = weight_folder
        self.function = function
        self.operations = function.operations
        self.kinds = [simplify_kind(operation.kind) for operation in self.operations]
        self._types = {value.name: value.type for value in function.inputs}
        self._producers: dict[str, int] = {}
        for position, operation in enumerate(self.operations):
            if operation.is_part:
                continue
            for value in operation.outputs:
                self._producers[value.name] = position
                self._types[value.name] = value.type
        self._constants: dict[str, bool] = {}
        self._lowest: dict[tuple[Constant, ...], float | None] = {}

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        users: dict[str, list[int]] = {}
        for position, operation in enumerate(self.operations):
            if not operation.is_part:
                for _, name in operation.inputs:
                    users.setdefault(name, []).append(position)
        return users

    def is_computed(self, position: int) -> bool:
        """Return whether an operation computes during a call: not when loading, and not only at an end."""
        operation, kind = self.operations[position], self.kinds[position]
        is_aside = kind.startswith("constexpr_") or is_layout_kind(kind)
        return not (is_aside or operation.is_constant or operation.is_part)

    def find_type(self, name: str) -> ValueType | None:
        """Return the type of a value, where the file states it."""
        return self._types.get(name)

    def find_producer(self, name: str) -> int:
        """Return the position of the operation that makes a value; -1 for an input of the function."""
        return self._producers.get(name, -1)

    def iter_users(self, position: int) -> Iterator[int]:
        """Iterate over the positions of the operations that use what an operation makes."""
        for value in self.operations[position].outputs:
            yield from self._users.get(value.name, ())

    def iter_producers(self, position: int) -> Iterator[int]:
        """Iterate over the positions of the operations that make what an operation uses."""
        producers = (self.find_producer(name) for _, name in self.operations[position].inputs)
        return (producer for producer in producers if producer >= 0)

    def iter_inputs(self, operation: Operation, parameter: str) -> Iterator[str]:
        """Iterate over the values of a parameter: by name, as ``#1`` by position, or all for an empty one."""
        if parameter.startswith("#"):
            index = int(parameter[1:])
            yield from (name for _, name in operation.inputs[index : index + 1])
        else:
            yield from (name for key, name in operation.inputs if parameter in ("", key))

    def find_constant(self, operation: Operation, parameter: str) -> Constant | None:
        """Return the value that a parameter has in the file: in place, or by the name of a constant."""
        if parameter in operation.attributes:
            return operation.attributes[parameter]
        for name in self.iter_inputs(operation, parameter):
            position = self.find_producer(name)
            if position >= 0 and self.operations[position].is_constant:
                return self.operations[position].attributes.get("val")
        return None

    def find_numbers(self, position: int, parameter: str) -> Sequence[float]:
        """Return the numbers that a parameter has in the file; none where it has no numbers there."""
        return list_numbers(self.find_constant(self.operations[position], parameter))

    def find_lowest(self, name: str) -> float | None:
        """Return the lowest value of a constant; None for what is none, or cannot be read."""
        position = self.find_producer(name)
        if position < 0 or not self.operations[position].is_constant:
            return None
        constant = self.operations[position]
        value_type = constant.outputs[0].type if constant.outputs else None
        stored = constant.attributes.get(BLOB)
        if isinstance(stored, tuple) and value_type is not None and self._weight_folder is not None:
            if stored not in self._lowest and len(self._lowest) < _MOST_BLOBS:
                self._lowest[stored] = read_lowest(self._weight_folder, stored, value_type.dtype)
            return self._lowest.get(stored)
        return min(list_numbers(constant.attributes.get("val")), default=None)

    def name_operation(self, position: int) -> str:
        """Return the name of an operation, or of what it makes where it has none."""
        operation = self.operations[position]
        return operation.name or (operation.outputs[0].name if operation.outputs else "")

    def is_constant(self, name: str) -> bool:
        """Return whether a value is the same in each call: a constant, or made of constants alone."""
        if name not in self._constants:
            self._constants[name] = self._derive_constant(name)
        return self._constants[name]

    def _derive_constant(self, name: str) -> bool:
        steps = 0
        while steps < _MOST_STEPS:
            position = self.find_producer(name)
            if position < 0:
                return False
            operation, kind = self.operations[position], self.kinds[position]
            if operation.is_constant or kind.startswith("constexpr_"):
                return True
            if kind not in _PASSES_CONSTANT or not operation.inputs:
                return False
            name = operation.inputs[0][1]
            steps += 1
        return False


_MOST_BLOBS = 32
"""The most constants whose values are read from a file of weights; a mask is shared by the layers."""
_MOST_STEPS = 16
"""Steps from a value to the constant that it is made of; a file may have a circle."""


def list_numbers(constant: Constant | None) -> Sequence[float]:
    """Return the numbers of a constant in one line; none for a text, or where there is no constant."""
    if isinstance(constant, tuple):
        return [number for item in constant for number in list_numbers(item)]
    return [constant] if isinstance(constant, int | float) else []


def describe_type(value_type: ValueType) -> str:
    """Return ``fp16 [1, 64]``; ``?`` is an open dimension."""
    if value_type.shape is None:
        return f"{value_type.dtype} of any shape".strip()
    sizes = ", ".join("?" if size is None else str(size) for size in value_type.shape)
    return f"{value_type.dtype} [{sizes}]".strip()


def describe_outputs(graph: Graph, position: int) -> str:
    """Return the type of what an operation gives, or nothing where the file does not state it."""
    types = (value.type for value in graph.operations[position].outputs)
    stated = next((value_type for value_type in types if value_type is not None), None)
    return f"gives {describe_type(stated)}" if stated is not None else ""
