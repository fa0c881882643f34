"""The conditions that rules are made of: small checked predicates with parameters.

Each is a frozen dataclass: its name is the condition's ``test`` in the files of rules, its fields are the
parameters there. Calling it with an operation returns what matched in words (``kernel_sizes is 15 × 15``), or
None. What the file does not state matches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tracekit.mlmodels.program import Operation, ValueType
from tracekit.mlmodels.rules.graph import Graph, list_numbers


class Predicate(Protocol):
    """A condition on an operation, which is ``graph.operations[position]``."""

    def __call__(self, graph: Graph, position: int) -> str | None:
        """Return what matched, or None."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output with one of ``dtypes``, or with any but those of ``no_dtypes``, or of a rank.

    ``is_result`` asks whether it is an output of the function. Strings and numbers without dimensions that
    hold a setting are values, too.
    """

    dtypes: tuple[str, ...] = ()
    no_dtypes: tuple[str, ...] = ()
    rank: int | None = None
    rank_above: int | None = None
    is_result: bool | None = None

    def __call__(self, graph: Graph, position: int) -> str | None:
        for value in graph.operations[position].outputs:
            if value.type is None or not value.type.dtype:
                if self.dtypes or self.no_dtypes:
                    continue
            elif (self.dtypes and value.type.dtype not in self.dtypes) or value.type.dtype in self.no_dtypes:
                continue
            if self.is_result is not None and (value.name in graph.function.outputs) != self.is_result:
                continue
            if self._fits_rank(value.type):
                return f"gives {describe_type(value.type)}"
        return None

    def _fits_rank(self, value_type: ValueType | None) -> bool:
        if self.rank is None and self.rank_above is None:
            return True
        if value_type is None or value_type.shape is None:
            return False
        rank = len(value_type.shape)
        return (self.rank is None or rank == self.rank) and (
            self.rank_above is None or rank > self.rank_above
        )


@dataclass(frozen=True, slots=True)
class Input:
    """A value of a parameter (by name, ``#1`` by position, empty for any): its dtype, whether it is constant."""

    parameter: str = ""
    dtypes: tuple[str, ...] = ()
    is_constant: bool | None = None
    rank: int | None = None

    def __call__(self, graph: Graph, position: int) -> str | None:
        for name in graph.iter_inputs(graph.operations[position], self.parameter):
            value_type = graph.find_type(name)
            if self.dtypes and (value_type is None or value_type.dtype not in self.dtypes):
                continue
            if self.is_constant is not None and graph.is_constant(name) != self.is_constant:
                continue
            if self.rank is not None and (
                value_type is None or value_type.shape is None or len(value_type.shape) != self.rank
            ):
                continue
            kept = {True: "constant ", False: "run-time ", None: ""}[self.is_constant]
            of = describe_type(value_type) if value_type is not None else "a value"
            return f"{_name_parameter(self.parameter)}is {kept}{of}"
        return None


@dataclass(frozen=True, slots=True)
class Number:
    """A number, or any (``which = "all"``: each) of several, that a parameter has in the file.

    ``default`` is what an absent parameter means; without one, absent matches nothing.
    """

    parameter: str
    above: float | None = None
    below: float | None = None
    one_of: tuple[float, ...] = ()
    none_of: tuple[float, ...] = ()
    index: int | None = None
    which: str = "any"
    default: float | None = None

    def __call__(self, graph: Graph, position: int) -> str | None:
        constant = graph.find_constant(graph.operations[position], self.parameter)
        numbers = list_numbers(constant)
        if not numbers and self.default is not None and constant is None:
            numbers = [self.default]
        if self.index is not None:
            numbers = numbers[self.index :][:1]
        fits = [self._fits(number) for number in numbers]
        if not fits or not (any(fits) if self.which == "any" else all(fits)):
            return None
        return f"{_name_parameter(self.parameter)}is {' × '.join(f'{number:g}' for number in numbers[:5])}"

    def _fits(self, number: float) -> bool:
        return (
            (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
            and (not self.one_of or number in self.one_of)
            and number not in self.none_of
        )


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension above a number: of an output, or of the value of ``parameter``.

    ``axes`` is ``any``, ``last``, ``first``, or ``spatial``: those behind the second of four or five, else the
    last.
    """

    above: int
    axes: str = "any"
    parameter: str | None = None

    def __call__(self, graph: Graph, position: int) -> str | None:
        operation = graph.operations[position]
        for value_type in _iter_types(graph, operation, self.parameter):
            for size in select_sizes(value_type.shape or (), self.axes):
                if size is not None and size > self.above:
                    return f"{_name_parameter(self.parameter) or 'gives '}{describe_type(value_type)}"
        return None


def select_sizes(shape: Sequence[int | None], axes: str) -> Sequence[int | None]:
    """Return the sizes of ``any``, the ``last``, the ``first`` or the ``spatial`` axes of a shape."""
    if axes == "last":
        return shape[-1:]
    if axes == "first":
        return shape[:1]
    if axes == "spatial":
        return shape[2:] if len(shape) >= 4 else shape[-1:]
    return shape


def _iter_types(graph: Graph, operation: Operation, parameter: str | None) -> list[ValueType]:
    if parameter is None:
        types = [value.type for value in operation.outputs]
    else:
        types = [graph.find_type(name) for name in graph.iter_inputs(operation, parameter)]
    return [value_type for value_type in types if value_type is not None]


def _name_parameter(parameter: str | None) -> str:
    return f"{parameter} " if parameter and not parameter.startswith("#") else ""


def describe_type(value_type: ValueType) -> str:
    """Return ``fp16 [1, 64]``; ``?`` is an open dimension."""
    if value_type.shape is None:
        return f"{value_type.dtype} of any shape".strip()
    sizes = ", ".join("?" if size is None else str(size) for size in value_type.shape)
    return f"{value_type.dtype} [{sizes}]".strip()


@dataclass(frozen=True, slots=True)
class NotInterfaceCast:
    """Any operation but a cast of an input of the function, or to one of its outputs."""

    def __call__(self, graph: Graph, position: int) -> str | None:
        if graph.kinds[position] != "cast":
            return ""
        operation = graph.operations[position]
        gives_result = any(value.name in graph.function.outputs for value in operation.outputs)
        takes_input = all(graph.find_producer(name) < 0 for _, name in operation.inputs[:1])
        return None if gives_result or takes_input else ""


PREDICATES: dict[str, type[Predicate]] = {
    "not-interface-cast": NotInterfaceCast,
    "output": Output,
    "input": Input,
    "number": Number,
    "dimension": Dimension,
}
"""The conditions by the name that files of rules have for them."""
