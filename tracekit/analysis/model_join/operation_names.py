"""A model's operations against those of its plan: kinds and names in one spelling, and their counterparts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracekit.mlmodels.plans import PlannedOperation
from tracekit.mlmodels.program import Operation

_OPSET = re.compile(r"\A(?:ios|macos|coreml)\d+\.", re.IGNORECASE)
_VERSION = re.compile(r"_v\d+\Z")
_LAYOUT_NAME = re.compile(r"_4D454D5F4F5054\Z")
"""Core ML's compiler appends ``MEM_OPT`` in hexadecimal digits to the values of layouts that it adds."""


def spell_kind(kind: str) -> str:
    """Return a kind without opset, dialect, type parameter and version: ``conv`` for ``ios17.conv``."""
    kind = _OPSET.sub("", kind.partition("<")[0])
    return _VERSION.sub("", kind.rpartition(".")[2]).lower()


def list_names(name: str, outputs: Iterable[str]) -> list[str]:
    """Return the names by which an operation is found: its own, and those of its results."""
    return [text for text in (name, *(_LAYOUT_NAME.sub("", output) for output in outputs)) if text]


@dataclass(frozen=True)
class Fit:
    """How many operations of a plan have a counterpart of the same kind in the model file."""

    plan_count: int
    file_count: int
    common_count: int

    @property
    def is_same(self) -> bool:
        """True where each operation of either has its counterpart."""
        return self.common_count == self.plan_count == self.file_count

    @property
    def is_other_model(self) -> bool:
        """True where fewer than half have one: a compiler adds and folds some operations, not most."""
        return 2 * self.common_count < max(self.plan_count, self.file_count)


def compare_kinds(file_operations: Iterable[Operation], planned: Iterable[PlannedOperation]) -> Fit:
    """Count the operations of the model and of the plan that share their kind."""
    of_model = Counter(spell_kind(operation.kind) for operation in file_operations)
    of_plan = Counter(spell_kind(operation.kind) for operation in planned)
    return Fit(of_plan.total(), of_model.total(), (of_model & of_plan).total())


def index_by_name(operations: Iterable[Operation]) -> Mapping[tuple[str, str], int]:
    """Return the position of each operation by its kind and each of its names; the first of equal ones."""
    positions: dict[tuple[str, str], int] = {}
    for position, operation in enumerate(operations):
        names = list_names(operation.name, (value.name for value in operation.outputs))
        for name in names:
            positions.setdefault((spell_kind(operation.kind), name), position)
    return positions
