"""Counts of a model's operations, by kind and data type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tracekit.mlmodels.program import MLModel, Operation


@dataclass(frozen=True, slots=True)
class KindCount:
    """A kind of operations: how many there are, and how many of them give each data type."""

    kind: str
    count: int
    dtypes: tuple[tuple[str, int], ...]


def count_kinds(operations: Iterable[Operation]) -> list[KindCount]:
    """Count operations by kind, the most frequent first; the data type is that of the first output."""
    counts: dict[str, Counter[str]] = {}
    for operation in operations:
        value_type = operation.outputs[0].type if operation.outputs else None
        dtype = value_type.dtype if value_type else ""
        counts.setdefault(operation.kind, Counter())[dtype] += 1
    kinds = [
        KindCount(kind, dtypes.total(), tuple(sorted(dtypes.items(), key=lambda item: (-item[1], item[0]))))
        for kind, dtypes in counts.items()
    ]
    return sorted(kinds, key=lambda kind: (-kind.count, kind.kind))


def list_systems(model: MLModel) -> str:
    """Return the first systems that run a model of this version, or an empty text where that is not known.

    Specifications: the table of versions in mlmodel/format/Model.proto of https://github.com/apple/coremltools.
    """
    words = model.version.removesuffix(", compiled").split()
    if model.form == "Core AI program":
        return "iOS 27, macOS 27"
    if len(words) == 2 and words[0] == "specification" and words[1].isdigit():
        return _SYSTEMS.get(int(words[1]), "")
    return ""


_SYSTEMS = {
    1: "iOS 11, macOS 10.13",
    2: "iOS 11.2, macOS 10.13.2",
    3: "iOS 12, macOS 10.14",
    4: "iOS 13, macOS 10.15",
    5: "iOS 14, macOS 11",
    6: "iOS 15, macOS 12",
    7: "iOS 16, macOS 13",
    8: "iOS 17, macOS 14",
    9: "iOS 18, macOS 15",
    10: "iOS 26, macOS 26",
}


def describe_disagreement(model: MLModel) -> str:
    """Return a sentence where a compiled model's metadata counts other operations than are read, or nothing.

    The compiler writes a kind as ``SliceByIndex``, or ``Ios16.conv`` with its set of operations.
    """
    counted = Counter(_simplify(operation.kind) for f in model.functions for operation in f.computing())
    stated: Counter[str] = Counter()
    for kind, count in model.stated_counts.items():
        stated[_simplify(kind)] += count
    different = [kind for kind in stated.keys() | counted.keys() if stated[kind] != counted[kind]]
    if not stated or not different:
        return ""
    kind = min(different)
    totals = f"Its metadata counts {stated.total():,} operations, {counted.total():,} were read"
    return f"{totals}; they differ in {kind} ({stated[kind]:,} and {counted[kind]:,})."


def _simplify(kind: str) -> str:
    return re.sub(r"^ios\d+\.", "", kind.lower()).replace("_", "")
