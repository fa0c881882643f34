"""The data of a plan: for each operation the engine that a runtime anticipated, and its messages.

A plan is what a compiler or runtime *anticipated* for one chip, system and setting. What a recording shows is
*observed*; the two words are never exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from tracekit.mlmodels.program import is_layout_kind
from tracekit.model.vocabulary import Engine

Runtime: TypeAlias = Literal["Core ML", "Core AI"]
MAX_PLANNED_OPERATIONS = 200_000
"""The most operations of a plan; the largest models known have some tens of thousands."""


@dataclass(frozen=True, slots=True)
class PlanMessage:
    """A sentence of the runtime, word for word: why ``device`` (in the plan's own spelling) is not used.

    ``count`` is how often the file has it, where equal ones are kept once.
    """

    text: str
    device: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class PlannedOperation:
    """One operation of a plan, in the order of the plan.

    ``kind`` and ``name`` are in the plan's spelling (``ios17.conv``); ``name`` is empty where it has none.
    ``engine`` is the anticipated one: None where the plan states none, which is never "not on the engine".
    ``device`` is the plan's own word for it (``bnns``, ``mps_graph``). ``supported`` are the engines that
    the plan lists as possible; None where it lists none. ``cost_share`` is the share of the model's estimated
    cost, 0 to 1. ``estimated_ms`` are estimates by device. ``inputs`` and ``outputs`` are names of values.
    ``source`` is the line of the program that the model was made from, as ``model.py:290``, or empty.
    """

    kind: str
    name: str = ""
    engine: Engine | None = None
    device: str = ""
    supported: frozenset[Engine] | None = None
    cost_share: float | None = None
    estimated_ms: Mapping[str, float] = field(default_factory=dict)
    messages: tuple[PlanMessage, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    source: str = ""
    is_constant: bool = False


@dataclass(frozen=True, slots=True)
class PlannedRegion:
    """A part of a function that is compiled for one engine, where a plan names parts and not operations."""

    name: str
    engine: Engine
    operations: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedFunction:
    """A function of a plan: its operations, or only its regions.

    ``unlisted`` is the number of further operations that compute and have no entry in the file; None where it
    lists some only, such as those that it has messages about, and does not show how many there are.
    ``overheads_ms`` are the plan's estimates for what segments cost beside their operations, in its own
    words: ``Launch_ane_ms``, ``Src_ane_Dest_bnns_ms``.
    """

    name: str
    operations: tuple[PlannedOperation, ...] = ()
    regions: tuple[PlannedRegion, ...] = ()
    unlisted: int | None = 0
    overheads_ms: Mapping[str, float] = field(default_factory=dict)

    def computing(self) -> Iterator[PlannedOperation]:
        """Iterate over the model's operations that compute.

        A constant is on no engine, and a move at the border of the program is no operation of the model.
        """
        return (
            operation
            for operation in self.operations
            if not operation.is_constant and not is_layout_kind(operation.kind)
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as its file states it.

    ``form`` names the kind of file (``analytics.mil``). ``chip`` is the compiler's word for the target
    (``H16G``, ``h17c``), ``os_build`` the build of the system, ``compute_units`` the setting that was asked
    for, ``model`` the name or hash of the model, ``model_sha256`` the hash of its ``model.mil`` (or
    ``coremldata.bin``); each is empty where the file does not state it. ``messages`` are those about the
    whole plan. ``ane_regions`` is the number of regions for the Neural Engine where a plan of regions shows
    it, 0 included; None where it does not. ``limits`` are sentences about what the file does not show.
    """

    path: Path
    form: str
    runtime: Runtime
    functions: tuple[PlannedFunction, ...] = ()
    chip: str = ""
    os_build: str = ""
    compute_units: str = ""
    model: str = ""
    model_sha256: str = ""
    messages: tuple[PlanMessage, ...] = ()
    ane_regions: int | None = None
    limits: tuple[str, ...] = ()
