"""The conditions that rules are made of: small functions with parameters.

A condition in a file of rules names one in ``test``; its other keys are the parameters. Each function returns
what matched, in words (``kernel_sizes is 15 × 15``), or None. What the file does not state matches nothing.

A ``parameter`` is named as in MIL (``strides``); Core AI's operands have no names, and are counted: ``#2``. An
empty one stands for all operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from tracekit.mlmodels.program import Feature, MLModel, Operation, ValueType
from tracekit.mlmodels.rules.graph import Graph, list_numbers
from tracekit.text import format_size

# Operations: graph.operations[position] ----------------------------------------------------------------------


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
            return _describe_numbers(parameter, numbers)
    return None


def match_text(graph: Graph, position: int, *, parameter: str, one_of: Sequence[str]) -> str | None:
    """Match a parameter that the file gives as a text."""
    text = graph.find_constant(graph.operations[position], parameter)
    return f"{parameter} is {text}" if isinstance(text, str) and text in one_of else None


def match_prime_factors(
    graph: Graph, position: int, *, parameter: str, none_but: Sequence[int]
) -> str | None:
    """Match numbers of which any has a prime factor other than ``none_but``."""
    numbers = graph.find_numbers(position, parameter)
    for number in numbers:
        remaining = int(number)
        for factor in none_but:
            while remaining > 1 and remaining % factor == 0:
                remaining //= factor
        if remaining > 1:
            return _describe_numbers(parameter, numbers)
    return None


def match_unequal(graph: Graph, position: int, *, parameter: str, above: float) -> str | None:
    """Match numbers that differ from each other and are all above a number."""
    numbers = graph.find_numbers(position, parameter)
    is_match = len(set(numbers)) > 1 and min(numbers) > above
    return _describe_numbers(parameter, numbers) if is_match else None


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
    """Match a dilated convolution by the width that its input has when it is laid out twice as wide, plus two."""
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
    positions = _follow(chain, [position], graph, graph.iter_users)
    return _report_chain(graph, positions, is_absent, "feeds")


def match_fed_by(
    graph: Graph, position: int, *, chain: Sequence[Sequence[str]], is_absent: bool = False
) -> str | None:
    """Match an operation whose operands come through kinds of operations, one set of kinds for each step.

    A set with the empty text may be passed over.
    """
    positions = _follow(chain, [position], graph, graph.iter_producers)
    return _report_chain(graph, positions, is_absent, "fed by")


def match_fed_by_any(graph: Graph, position: int, *, kinds: Sequence[str], steps: int) -> str | None:
    """Match an operation that some kind of operation reaches through at most ``steps`` others."""
    positions, wanted = [position], frozenset(kinds)
    for _ in range(steps):
        producers = (p for start in positions for p in graph.iter_producers(start))
        positions = list(dict.fromkeys(producers))[:_MOST_BRANCHES]
        for producer in positions:
            if graph.kinds[producer] in wanted:
                return f"fed by {graph.kinds[producer]}"
    return None


def match_table_size(
    graph: Graph, position: int, *, parameter: str, above: int, vector_above: int
) -> str | None:
    """Match a table of vectors by its entries times their length, or by their length: the last two dimensions."""
    for value_type in _iter_types(graph, graph.operations[position], parameter):
        entries, length = ((value_type.shape or ())[-2:] + (None, None))[:2]
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
    chain: Sequence[Sequence[str]],
    starts: Sequence[int],
    graph: Graph,
    step: Callable[[int], Iterator[int]],
) -> list[int]:
    """Return the positions at the end of a chain of steps that starts at given positions."""
    positions = list(starts)
    for kinds in chain:
        reached = [
            position for start in positions for position in step(start) if graph.kinds[position] in kinds
        ]
        positions = (positions if "" in kinds else []) + reached
        positions = list(dict.fromkeys(positions))[:_MOST_BRANCHES]
    return [position for position in positions if position not in starts]


_MOST_BRANCHES = 64


def _report_chain(graph: Graph, positions: Sequence[int], is_absent: bool, relation: str) -> str | None:
    if bool(positions) == is_absent:
        return None
    return "" if is_absent else f"{relation} {graph.kinds[positions[0]]}"


# Inputs, outputs and states of a model ----------------------------------------------------------------------


def match_flexible(feature: Feature, role: str, *, kind: str) -> str | None:
    """Match an input by its flexibility: ``range`` or ``enumerated``."""
    words = {"range": "has a range of shapes", "enumerated": "has a list of shapes"}
    return words[kind] if feature.flexible == kind and role == "input" else None


def match_long_last_axis(feature: Feature, role: str, *, above: int) -> str | None:
    """Match an input by the size of its last axis."""
    size = (feature.type.shape or (None,))[-1]
    is_match = role == "input" and feature.type.container != "image" and size is not None and size > above
    return f"is {describe_type(feature.type)}" if is_match else None


def match_last_axis(feature: Feature, role: str, *, one_of: Sequence[int], values_above: int) -> str | None:
    """Match an input or output by the size of its last axis, if it has more than ``values_above`` values."""
    is_match = _is_large_tensor(feature, role, values_above) and (feature.type.shape or (0,))[-1] in one_of
    return f"is {describe_type(feature.type)}" if is_match else None


def _is_large_tensor(feature: Feature, role: str, values_above: int) -> bool:
    shape = feature.type.shape or ()
    count = math.prod(size or 1 for size in shape)
    return role != "state" and feature.type.container != "image" and len(shape) > 1 and count > values_above


def match_unaligned_last_axis(
    feature: Feature, role: str, *, bytes_multiple: int, values_above: int
) -> str | None:
    """Match an input or output of some size whose last axis is longer than 1 and no multiple of some bytes."""
    width = _WIDTHS.get(feature.type.dtype)
    size = (feature.type.shape or (None,))[-1]
    if not _is_large_tensor(feature, role, values_above) or not width or size is None:
        return None
    if size <= 1 or size * width % bytes_multiple == 0:
        return None
    padded = -(-size * width // bytes_multiple) * bytes_multiple / width
    return f"is {describe_type(feature.type)}; its last axis is padded to {padded:g}"


_WIDTHS = {"fp16": 2, "fp32": 4, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4}


def match_state_width(feature: Feature, role: str, *, multiple: int) -> str | None:
    """Match a state whose last axis is no multiple of a number."""
    size = (feature.type.shape or (None,))[-1]
    is_match = role == "state" and size is not None and size % multiple != 0
    return f"is {describe_type(feature.type)}" if is_match else None


# Functions --------------------------------------------------------------------------------------------------


def match_count(
    graph: Graph,
    leaving: Sequence[int],
    *,
    kinds: Sequence[str],
    at_least: int,
    rank: int | None = None,
    beside: Sequence[str] = (),
) -> str | None:
    """Match a function with a number of operations of some kinds (and rank), ``beside`` some of others."""
    if beside and not set(beside) & set(graph.kinds):
        return None
    wanted = frozenset(kinds)
    positions = [position for position, kind in enumerate(graph.kinds) if kind in wanted]
    counted = [p for p in positions if rank is None or match_output(graph, p, rank=rank) is not None]
    if len(counted) < at_least:
        return None
    of_rank = f" of rank {rank}" if rank is not None else ""
    return f"{len(counted):,} operations{of_rank}: {graph.kinds[counted[0]]}"


def match_alternations(graph: Graph, leaving: Sequence[int], *, at_least: int) -> str | None:
    """Match a function whose order of operations changes often between those that leave and those that stay."""
    leaving_positions = frozenset(leaving)
    alternations, was_leaving = 0, None
    for position, operation in enumerate(graph.operations):
        if operation.is_constant or operation.is_part or graph.kinds[position].startswith("constexpr_"):
            continue
        is_leaving = position in leaving_positions
        alternations += was_leaving is not None and is_leaving != was_leaving
        was_leaving = is_leaving
    return f"{alternations:,} changes" if alternations >= at_least else None


# Models -----------------------------------------------------------------------------------------------------


def match_weight_bytes(model: MLModel, *, above: int) -> str | None:
    """Match a model by the size of its weights, or of its file where that holds them."""
    size_bytes = model.weight_file_bytes or model.size_bytes
    return f"weights of {format_size(size_bytes)}" if size_bytes > above else None


def match_kind(model: MLModel, *, one_of: Sequence[str]) -> str | None:
    """Match a model without operations by its kind."""
    return f"is a {model.form}" if model.form in one_of else None


# Words ------------------------------------------------------------------------------------------------------


def describe_outputs(graph: Graph, position: int) -> str:
    """Return the type of what an operation gives, or nothing where the file does not state it."""
    types = (value.type for value in graph.operations[position].outputs)
    stated = next((value_type for value_type in types if value_type is not None), None)
    return f"gives {describe_type(stated)}" if stated is not None else ""


def describe_type(value_type: ValueType) -> str:
    """Return ``fp16 [1, 64]``; ``?`` is an open dimension."""
    if value_type.shape is None:
        return f"{value_type.dtype} of any shape".strip()
    sizes = ", ".join("?" if size is None else str(size) for size in value_type.shape)
    return f"{value_type.dtype} [{sizes}]".strip()


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
    if parameter is None:
        types = (value.type for value in operation.outputs)
    else:
        types = (graph.find_type(name) for name in graph.iter_inputs(operation, parameter))
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


PREDICATES: Mapping[str, Mapping[str, Callable[..., str | None]]] = {
    "operation": {
        "output": match_output,
        "input": match_input,
        "number": match_number,
        "text": match_text,
        "prime-factors": match_prime_factors,
        "unequal": match_unequal,
        "dimension": match_dimension,
        "square": match_square,
        "inner-dimension": match_inner_dimension,
        "padded-dilation": match_padded_dilation,
        "constant-value": match_constant_value,
        "feeds": match_feeds,
        "fed-by": match_fed_by,
        "fed-by-any": match_fed_by_any,
        "table-size": match_table_size,
        "squared-input": match_squared_input,
        "inside": match_inside,
    },
    "feature": {
        "flexible": match_flexible,
        "long-last-axis": match_long_last_axis,
        "last-axis": match_last_axis,
        "unaligned-last-axis": match_unaligned_last_axis,
        "state-width": match_state_width,
    },
    "function": {"count": match_count, "alternations": match_alternations},
    "model": {"weight-bytes": match_weight_bytes, "kind": match_kind},
    "setting": {},
}
"""The conditions by what they are about, and by the name that files of rules have for them."""
