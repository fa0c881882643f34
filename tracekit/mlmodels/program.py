"""The data of a model: functions of operations on typed values, whatever the file's format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.mlmodels.compiled_asset import CompiledAsset

Constant = bool | int | float | str | tuple["Constant", ...]
"""A value that the file gives in place; longer ones than ``CONSTANT_VALUES`` are left out."""

CONSTANT_VALUES = 64
"""The most values of a constant that is kept: strides, axes, paddings; weights are longer."""


BLOB = "blob"
"""The attribute of a constant whose values are elsewhere: the name of the file, and the offset in it, which
is that of a description in a file of weights, or that of the values, followed by their size in bytes."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a value: ``dtype`` in the format's spelling (``fp16``, ``int32``), and its dimensions.

    A dimension is None where the model leaves it open; ``shape`` is None where the rank is open.
    ``container`` is ``tensor``, or what holds the tensor: ``list``, ``state``, ``image``, ….
    """

    dtype: str
    shape: tuple[int | None, ...] | None
    container: str = "tensor"


@dataclass(frozen=True, slots=True)
class Value:
    """A named value, with its type where the format states one."""

    name: str
    type: ValueType | None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, in the order of the file.

    ``inputs`` are pairs of a parameter (empty where the format has none) and the name of a value.
    ``depth`` is 0 in the body of a function, and one more within each operation that holds operations.
    ``is_part`` is True for those that spell out what an operation around them is made of, such as the
    division and the sum within a softmax: they do not count as operations.
    ``source`` is the line of the program that the model was made from, as ``model.py:290``, or empty.
    ``constant_types`` are the types of the parameters that are given in place, whether or not their values
    are among the ``attributes``.
    """

    kind: str
    name: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[Value, ...]
    attributes: Mapping[str, Constant] = field(default_factory=dict)
    depth: int = 0
    source: str = ""
    is_part: bool = False
    constant_types: Mapping[str, ValueType] = field(default_factory=dict, compare=False)

    @property
    def is_constant(self) -> bool:
        """True for an operation that only holds a value."""
        return is_constant_kind(self.kind)


MAX_OPERATIONS = 1_000_000
"""The most operations of a function; the largest models known have some tens of thousands."""

_CONSTANT_KINDS = frozenset({"const", "constant", "loadConstant", "loadConstantND"})


def is_constant_kind(kind: str) -> bool:
    """Return True for a kind of operation that only holds a value, also with its set (``ios18.const``)."""
    return kind.rpartition(".")[2] in _CONSTANT_KINDS


_LAYOUT_KINDS = frozenset({"tensor_buffer_to_tensor", "tensor_to_tensor_buffer"})


def is_layout_kind(kind: str) -> bool:
    """Return True for a move that Core ML's compiler puts at a program's border to lay out a buffer.

    No model has such an operation. The kind may have its set and a parameter (``ios17.….<ios17>``).
    """
    return kind.partition("<")[0].rpartition(".")[2] in _LAYOUT_KINDS


@dataclass(frozen=True, slots=True)
class Feature:
    """An input, an output or a state of a model or a function.

    ``flexible`` is empty for a fixed shape, else ``range`` or ``enumerated``.
    """

    name: str
    type: ValueType
    flexible: str = ""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a model; a neural network has one, named ``main``. ``opset`` is ``CoreML7`` or alike.

    ``attributes`` are what a text states of the whole function, such as the costs in an ``analytics.mil``.
    """

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[str, ...]
    operations: tuple[Operation, ...]
    opset: str = ""
    attributes: Mapping[str, Constant] = field(default_factory=dict)

    def computing(self) -> Iterator[Operation]:
        """Iterate over the operations that compute: neither constants nor parts of other operations."""
        return (
            operation for operation in self.operations if not operation.is_constant and not operation.is_part
        )


@dataclass(frozen=True, slots=True)
class MLModel:
    """A model as its file describes it.

    ``form`` names what it is: ``ML Program``, ``neural network``, ``pipeline``, ``Core AI program``, or the
    kind of a model without operators (``treeEnsembleClassifier``). ``stated_counts`` are the counts of
    operators that the file's own metadata states, by kind. ``compiled_asset`` is what the folder of a
    compiled Core AI model shows. ``limits`` are sentences about what the file does not show.
    ``weight_folder`` is the folder that names of files of weights are relative to.
    """

    path: Path
    form: str
    version: str
    inputs: tuple[Feature, ...] = ()
    outputs: tuple[Feature, ...] = ()
    states: tuple[Feature, ...] = ()
    functions: tuple[Function, ...] = ()
    stages: tuple[tuple[str, MLModel], ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    stated_counts: Mapping[str, int] = field(default_factory=dict)
    size_bytes: int = 0
    weight_file_bytes: int = 0
    weight_folder: Path | None = None
    is_compiled: bool = False
    compiled_asset: CompiledAsset | None = None
    limits: tuple[str, ...] = ()

    def iter_functions(self) -> Iterator[Function]:
        """Iterate over the functions of this model and of the stages of a pipeline."""
        yield from self.functions
        for _, stage in self.stages:
            yield from stage.iter_functions()
