"""A function as a graph: which operation makes each value, which use it, and the constants among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from tracekit.mlmodels.program import Constant, Function, Operation, ValueType

_OPSET_PREFIX = re.compile(r"^ios\d+\.", re.IGNORECASE)
_PASSES_CONSTANT = frozenset({"cast", "reshape", "transpose", "expand_dims", "squeeze", "identity"})
"""Kinds that make a constant of a constant; ``constexpr_…`` do, too."""


def simplify_kind(kind: str) -> str:
    """Return ``conv`` for ``ios17.conv``, as plans and compiled models spell it."""
    return _OPSET_PREFIX.sub("", kind)


class Graph:
    """The operations of a function by the values that they make and use; positions are those in the file."""

    def __init__(self, function: Function) -> None:
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

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        users: dict[str, list[int]] = {}
        for position, operation in enumerate(self.operations):
            if not operation.is_part:
                for _, name in operation.inputs:
                    users.setdefault(name, []).append(position)
        return users

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

    def iter_inputs(self, operation: Operation, parameter: str) -> Iterator[str]:
        """Iterate over the values of a parameter: by name, by position as ``#1``, or all for an empty name."""
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


_MOST_STEPS = 16
"""Steps from a value to the constant that it is made of; a file may have a circle."""


def list_numbers(constant: Constant | None) -> Sequence[float]:
    """Return the numbers of a constant in one line; none for a text, or where there is no constant."""
    if isinstance(constant, tuple):
        return [number for item in constant for number in list_numbers(item)]
    return [constant] if isinstance(constant, int | float) else []
