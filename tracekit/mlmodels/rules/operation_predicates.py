"""Conditions on an operation, ``graph.operations[position]``.

A ``parameter`` is named as in MIL (``strides``); Core AI's operands have no names and are counted: ``#2``,
with a ``label`` for people. An empty one stands for all operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from tracekit.mlmodels.program import Operation, ValueType
from tracekit.mlmodels.rules.graph import Graph, describe_type


def match_output(
    graph: Graph,
    position: int,
    *,
    dtypes: Sequence[str] = (),
    no_dtypes: Sequence[str] = (),
    rank: int | None = None,
    rank_above: int | None = None,
) -> str | None:
    """Match an output by its data type (one of ``dtypes``, none of ``no_dtypes``) and its rank."""
    for value in graph.operations[position].outputs:
        if _fits_type(value.type, dtypes, no_dtypes, rank, rank_above):
            assert value.type is not None
            return f"gives {describe_type(value.type)}"
    return None


def match_input(
    graph: Graph,
    position: int,
    *,
    parameter: str = "",
    dtypes: Sequence[str] = (),
    rank: int | None = None,
    is_constant: bool | None = None,
) -> str | None:
    """Match an operand by its data type, its rank, and whether it is the same in each call."""
    for name in graph.iter_inputs(graph.operations[position], parameter):
        value_type = graph.find_type(name)
        has_type = bool(dtypes) or rank is not None
        if has_type and not _fits_type(value_type, dtypes, (), rank, None):
            continue
        if is_constant is not None and graph.is_constant(name) != is_constant:
            continue
        when = {True: "constant ", False: "run-time ", None: ""}[is_constant]
        described = describe_type(value_type) if value_type is not None else "value"
        return f"takes {when}{described}{_name_role(parameter)}"
    return None


def match_number(
    graph: Graph,
    position: int,
    *,
    parameter: str,
    label: str = "",
    above: float = -math.inf,
    below: float = math.inf,
    one_of: Sequence[float] = (),
    none_of: Sequence[float] = (),
    index: int | None = None,
) -> str | None:
    """Match a parameter that the file gives as numbers, by any of them, or by the one at ``index``."""
    numbers = graph.find_numbers(position, parameter)
    candidates = numbers if index is None else numbers[index:][:1]
    for number in candidates:
        if above < number < below and (not one_of or number in one_of) and number not in none_of:
            return _describe_numbers(label or parameter, numbers)
    return None


def match_text(graph: Graph, position: int, *, parameter: str, one_of: Sequence[str]) -> str | None:
    """Match a parameter that the file gives as a text."""
    text = graph.find_constant(graph.operations[position], parameter)
    return f"{parameter} is {text}" if isinstance(text, str) and text in one_of else None


def match_prime_factors(
    graph: Graph, position: int, *, parameter: str, label: str = "", none_but: Sequence[int]
) -> str | None:
    """Match numbers of which any has a prime factor other than ``none_but``."""
    numbers = graph.find_numbers(position, parameter)
    for number in filter(math.isfinite, numbers):
        remaining = int(number)
        for factor in none_but:
            while remaining > 1 and remaining % factor == 0:
                remaining //= factor
        if remaining > 1:
            return _describe_numbers(label or parameter, numbers)
    return None


def match_unequal(
    graph: Graph, position: int, *, parameter: str, label: str = "", above: float
) -> str | None:
    """Match numbers that differ from each other and are all above a number."""
    numbers = graph.find_numbers(position, parameter)
    is_match = len(set(numbers)) > 1 and min(numbers) > above
    return _describe_numbers(label or parameter, numbers) if is_match else None


def match_dimension(
    graph: Graph,
    position: int,
    *,
    above: int = -1,
    below: int | None = None,
    axes: str = "any",
    parameter: str | None = None,
) -> str | None:
    """Match a dimension of an output, or of a ``parameter``.

    ``axes``: ``any``, ``first``, ``spatial`` (all behind the second of four or more, else the last), and of
    four dimensions ``image`` (the last two), ``height`` or ``width``.
    """
    for value_type in _iter_types(graph, graph.operations[position], parameter):
        for size in select_sizes(value_type.shape or (), axes):
            if size is not None and size > above and (below is None or size < below):
                return f"{_name_value(parameter)} {describe_type(value_type)}"
    return None


def match_square(graph: Graph, position: int, *, parameter: str, is_square: bool) -> str | None:
    """Match the value of a parameter, of four dimensions, whose last two are equal, or are not."""
    for value_type in _iter_types(graph, graph.operations[position], parameter):
        sizes = (value_type.shape or ())[2:]
        if len(sizes) == 2 and (sizes[0] == sizes[1]) == is_square:
            return ""
    return None


def match_inner_dimension(graph: Graph, position: int, *, above: int) -> str | None:
    """Match a product of matrices by the length of the sums that it is made of."""
    operation = graph.operations[position]
    axis = -2 if graph.find_constant(operation, "transpose_x") is True else -1
    first_parameter = "x" if any(key == "x" for key, _ in operation.inputs) else "#0"
    for value_type in _iter_types(graph, operation, first_parameter):
        shape = value_type.shape or ()
        size = shape[axis] if len(shape) >= -axis else None
        if size is not None and size > above:
            return f"sums of {size:,} products"
    return None


def match_padded_dilation(graph: Graph, position: int, *, above: int) -> str | None:
    """Match a convolution by the width of its input when that is laid out twice as wide, plus two."""
    for value_type in _iter_types(graph, graph.operations[position], "x"):
        width = (value_type.shape or (None,))[-1]
        if width is not None and width * 2 + 2 > above:
            return f"width {width:,} becomes {width * 2 + 2:,}"
    return None


def match_constant_value(graph: Graph, position: int, *, parameter: str = "", below: float) -> str | None:
    """Match a constant operand of which any value is below a number, -inf among them."""
    for name in graph.iter_inputs(graph.operations[position], parameter):
        lowest = graph.find_lowest(name)
        if lowest is not None and lowest < below:
            return f"takes a constant of {lowest:g}"
    return None


def match_feeds(
    graph: Graph, position: int, *, chain: Sequence[Sequence[str]], is_absent: bool = False
) -> str | None:
    """Match an operation whose result passes through kinds of operations, one set of kinds for each step."""
    positions = _follow(chain, position, graph, graph.iter_users)
    return _report_chain(graph, positions, is_absent, "feeds")


def match_fed_by(
    graph: Graph, position: int, *, chain: Sequence[Sequence[str]], is_absent: bool = False
) -> str | None:
    """Match an operation whose operands come through kinds of operations, one set of kinds for each step.

    A set with the empty text may be passed over.
    """
    positions = _follow(chain, position, graph, graph.iter_producers)
    return _report_chain(graph, positions, is_absent, "fed by")


def match_fed_by_any(graph: Graph, position: int, *, kinds: Sequence[str], steps: int) -> str | None:
    """Match an operation that some kind of operation reaches through at most ``steps`` others."""
    positions, wanted = [position], frozenset(kinds)
    for _ in range(steps):
        producers = (p for start in positions for p in islice(graph.iter_producers(start), _MOST_BRANCHES))
        positions = list(dict.fromkeys(producers))[:_MOST_BRANCHES]
        for producer in positions:
            if graph.kinds[producer] in wanted:
                return f"fed by {graph.kinds[producer]}"
    return None


def match_table_size(
    graph: Graph, position: int, *, parameter: str, above: int, vector_above: int
) -> str | None:
    """Match a table of vectors (its last two dimensions) by entries times length, or by the length."""
    for value_type in _iter_types(graph, graph.operations[position], parameter):
        entries, length = (*(value_type.shape or ())[-2:], None, None)[:2]
        if entries and length and length > 1 and (entries * length > above or length > vector_above):
            return f"a table of {entries} × {length}"
    return None


def match_squared_input(graph: Graph, position: int) -> str | None:
    """Match an operation that squares: both of its operands are one value, or the second is a constant 2."""
    names = [name for _, name in graph.operations[position].inputs]
    is_product = graph.kinds[position] in ("mul", "multiply") and len(names) >= 2 and names[0] == names[1]
    is_power = graph.kinds[position] == "pow" and list(graph.find_numbers(position, "y")) == [2.0]
    return "" if is_product or is_power or graph.kinds[position] == "square" else None


def match_inside(graph: Graph, position: int) -> str | None:
    """Match any operation but a cast of an input of the function, or to one of its outputs."""
    if graph.kinds[position] != "cast":
        return ""
    operation = graph.operations[position]
    gives_result = any(value.name in graph.function.outputs for value in operation.outputs)
    takes_input = all(graph.find_producer(name) < 0 for _, name in operation.inputs[:1])
    return None if gives_result or takes_input else ""


def _follow(
    chain: Sequence[Sequence[str]], start: int, graph: Graph, step: Callable[[int], Iterator[int]]
) -> list[int]:
    """Return the positions at the end of a chain of steps; of many branches, the first are followed."""
    positions = [start]
    for kinds in chain:
        reached = (p for position in positions for p in islice(step(position), _MOST_BRANCHES))
        fitting = [position for position in reached if graph.kinds[position] in kinds]
        positions = list(dict.fromkeys((positions if "" in kinds else []) + fitting))[:_MOST_BRANCHES]
    return [position for position in positions if position != start]


_MOST_BRANCHES = 64
"""A value that a hostile file gives to all operations must not be followed to each of them from each."""


def _report_chain(graph: Graph, positions: Sequence[int], is_absent: bool, relation: str) -> str | None:
    if bool(positions) == is_absent:
        return None
    return "" if is_absent else f"{relation} {graph.kinds[positions[0]]}"


def select_sizes(shape: Sequence[int | None], axes: str) -> Sequence[int | None]:
    """Return the sizes of some axes of a shape; ``match_dimension`` has their names."""
    image = shape[2:] if len(shape) == 4 else ()
    selected = {
        "any": shape,
        "first": shape[:1],
        "spatial": shape[2:] if len(shape) >= 4 else shape[-1:],
        "image": image,
        "height": image[:1],
        "width": image[1:],
    }
    return selected[axes]


def _fits_type(
    value_type: ValueType | None,
    dtypes: Sequence[str],
    no_dtypes: Sequence[str],
    rank: int | None,
    rank_above: int | None,
) -> bool:
    if value_type is None:
        return False
    if (dtypes or no_dtypes) and not value_type.dtype:
        return False
    if (dtypes and value_type.dtype not in dtypes) or value_type.dtype in no_dtypes:
        return False
    if rank is None and rank_above is None:
        return True
    if value_type.shape is None:
        return False
    count = len(value_type.shape)
    return (rank is None or count == rank) and (rank_above is None or count > rank_above)


def _iter_types(graph: Graph, operation: Operation, parameter: str | None) -> Iterator[ValueType]:
    types: Iterable[ValueType | None]
    if parameter is None:
        types = [value.type for value in operation.outputs]
    else:
        names = graph.iter_inputs(operation, parameter)
        in_place = operation.constant_types.get(parameter)
        types = (in_place, *map(graph.find_type, names))
    return (value_type for value_type in types if value_type is not None)


def _describe_numbers(parameter: str, numbers: Sequence[float]) -> str:
    name = "" if parameter.startswith("#") else f"{parameter} is "
    return name + " × ".join(f"{number:g}" for number in numbers[:5])


def _name_role(parameter: str) -> str:
    return f" as {parameter}" if parameter and not parameter.startswith("#") else ""


def _name_value(parameter: str | None) -> str:
    if parameter is None:
        return "gives"
    return f"{parameter} is" if parameter and not parameter.startswith("#") else "takes"
