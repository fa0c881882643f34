"""Questions as text → probes: ``max_pool:kernel=2+8+13`` is three of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from tracekit.errors import UsageError
from tracekit.probes.probed_operators import OPERATORS, Operator
from tracekit.text import clip, printable

DTYPES = ("fp16", "fp32")
DEFAULT_SHAPE = (128, 64, 64)
CONTROL = "control"
KERNEL_OF_SANDWICH = 3

MAX_PROBES = 200
MAX_SIZE = 4096
"""Of a dimension of a probe's shape."""
_MAX_ELEMENTS = 1 << 23
_SLOW_KERNELS = range(14, 17)


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe: an operation with its parameters between convolutions; a control has no operation.

    ``shape`` is channels, height and width of what the first convolution takes. ``dtype`` is that of the
    operation: fp32 stands between two casts, all else is fp16.
    """

    name: str
    operator: str
    shape: tuple[int, ...] = DEFAULT_SHAPE
    dtype: str = "fp16"
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_control(self) -> bool:
        """True for the convolutions alone."""
        return self.operator == CONTROL

    @property
    def control(self) -> str:
        """The name of the probe's control: that of its shape."""
        return name_control(self.shape)


def name_control(shape: Sequence[int]) -> str:
    """Return the name of the control of a shape."""
    return f"{CONTROL}_{_spell_shape(shape)}"


def count_flops(shape: Sequence[int]) -> int:
    """Return the floating-point operations of one convolution of a sandwich: a product and a sum are two."""
    channels, height, width = shape
    return 2 * channels * channels * KERNEL_OF_SANDWICH**2 * height * width


def compute_area_ratio(probe: Probe) -> float:
    """Return how many times as many pixels an operation gives as it takes: 0.25 for a stride of 2."""
    scale = probe.parameters.get("scale", 1) / probe.parameters.get("stride", 1)
    return scale * scale


def list_probes(questions: Sequence[str]) -> tuple[Probe, ...]:
    """Return the probes of some questions, each once, with a control per shape, the controls first.

    A question is ``operator`` or ``operator:key=value+value,key=value``; all combinations are asked.
    Raises ``UsageError``.
    """
    probes = {probe.name: probe for question in questions for probe in _iter_probes(question)}
    if not probes:
        raise UsageError(f"A probe needs a question, such as max_pool:kernel=2+13. {_OPERATORS}")
    controls = dict.fromkeys(probe.shape for probe in probes.values())
    if len(probes) + len(controls) > MAX_PROBES:
        raise UsageError(
            f"These questions need {len(probes):,} probes; at most {MAX_PROBES} are made at once."
        )
    return (*(Probe(name_control(shape), CONTROL, shape) for shape in controls), *probes.values())


_OPERATORS = f"Operations: {', '.join(OPERATORS)}. Keys: dtype, shape, and the parameters of an operation."


def _iter_probes(question: str) -> Iterator[Probe]:
    name, _, rest = question.partition(":")
    operator = OPERATORS.get(name)
    if operator is None:
        raise UsageError(f"'{_quote(name)}' is no operation that a probe can ask about. {_OPERATORS}")
    values: dict[str, list[str]] = {}
    for part in filter(None, rest.split(",")):
        key, equals, text = part.partition("=")
        if not equals or not text:
            raise UsageError(f"'{_quote(part)}' in '{_quote(question)}' is not key=value or key=value+value.")
        values[key] = text.split("+")
    shapes = [_parse_shape(text) for text in values.pop("shape", [])] or [DEFAULT_SHAPE]
    dtypes = values.pop("dtype", ["fp16"])
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise UsageError(f"'{_quote(dtype)}' is no data type of a probe: {', '.join(DTYPES)}.")
    numbers = _parse_parameters(operator, values)
    for shape, dtype, combination in product(shapes, dtypes, product(*numbers.values())):
        parameters = dict(zip(numbers, combination, strict=True))
        _check(operator, parameters, shape)
        yield Probe(_name(operator, parameters, shape, dtype), operator.name, shape, dtype, parameters)


def _parse_parameters(operator: Operator, values: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    for key in values:
        if key not in operator.parameters:
            keys = ", ".join([*operator.parameters, "dtype", "shape"])
            raise UsageError(f"'{_quote(key)}' is no key of {operator.name}, which has {keys}.")
    numbers = {}
    for key, parameter in operator.parameters.items():
        numbers[key] = [_parse_number(text) for text in values.get(key, [str(parameter.default)])]
        for number in numbers[key]:
            if not 1 <= number <= parameter.most:
                raise UsageError(f"{key}={number} of {operator.name} is not between 1 and {parameter.most}.")
    return numbers


def _check(operator: Operator, parameters: Mapping[str, int], shape: Sequence[int]) -> None:
    """Refuse what no device could compute in reasonable time, or what fits into no input."""
    kernel = parameters.get("kernel", 1)
    if operator.name == "conv" and kernel in _SLOW_KERNELS:
        raise UsageError(
            f"A convolution of {kernel} × {kernel} is not asked: of 16 × 16, compiling took minutes and 12 GB"
            " on an M4 (the study 751K). Ask for 13 or 17."
        )
    reach = (kernel - 1) * parameters.get("dilation", 1) + 1
    if reach > 2 * min(shape[1:]):
        raise UsageError(
            f"{operator.name} reaches over {reach} pixels, more than twice an input of {shape[1:]}."
        )
    if prod(shape) * parameters.get("scale", 1) ** 2 > _MAX_ELEMENTS:
        raise UsageError(f"{operator.name} of this shape has more than {_MAX_ELEMENTS:,} elements.")


def _parse_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise UsageError(f"'{_quote(text)}' is no number of a probe.")
    return int(text)


def _parse_shape(text: str) -> tuple[int, ...]:
    shape = tuple(_parse_number(part) for part in text.split("x"))
    if len(shape) != 3 or not all(1 <= size <= MAX_SIZE for size in shape):
        raise UsageError(
            f"'{_quote(text)}' is no shape: channels, height and width up to 4096, as 128x64x64."
        )
    if prod(shape) > _MAX_ELEMENTS or shape[0] > 1024:
        raise UsageError(
            f"The shape {_quote(text)} is too large: 1,024 channels and {_MAX_ELEMENTS:,} elements at most."
        )
    return shape


def _name(operator: Operator, parameters: Mapping[str, int], shape: Sequence[int], dtype: str) -> str:
    """Return a name that is a file's and a model's: what differs from the defaults, and the shape."""
    parts = [operator.name]
    parts += [f"{key}{value}" for key, value in parameters.items()]
    parts += [dtype, _spell_shape(shape)]
    return "_".join(parts)


def _spell_shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _quote(text: str) -> str:
    return printable(clip(text, 40))
