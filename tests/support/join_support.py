"""Literal plans, and calls that are held against them. Times are in ms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidence_support import Interval, ane, gpu, prediction, with_evidence
from trace_support import BNNS, CALL, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.model_join.joined_model import JoinedModel
from tracekit.mlmodels.plans import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.program import Function, MLModel, Operation, Value, ValueType
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine

ENGINES = {"A": Engine.ANE, "C": Engine.CPU, "G": Engine.GPU, "?": None}
BUILD = "25F71"
KINDS = ("conv", "relu", "add", "mul", "gelu")
CUT = [(2.0, 6.0, "Net_main__Op0_AneInference"), (14.0, 18.0, "Net_main__Op2_AneInference")]
Piece = tuple[float, float, str]
FIRST, SECOND, THIRD = (f"Net_main__Op{number}_AneInference" for number in (0, 2, 4))


def plan_of(letters: str, messages: dict[int, str] | None = None, **options: Any) -> Plan:
    """Return a plan of a chain of operations, an engine per letter: ``AACA``; ``messages`` by position."""
    operations = tuple(
        PlannedOperation(
            KINDS[number % len(KINDS)],
            f"op_{number}",
            ENGINES[letter],
            messages=(PlanMessage(messages[number], "ane"),) if number in (messages or {}) else (),
            inputs=(f"op_{number - 1}",),
            outputs=(f"op_{number}",),
        )
        for number, letter in enumerate(letters)
    )
    function = PlannedFunction(options.pop("function", "main"), operations)
    options.setdefault("os_build", BUILD)
    return Plan(Path("net.mil"), "analytics.mil", "Core ML", (function,), **options)


def model_of(
    kinds: Sequence[str], name: str = "Net.mlmodelc", sources: dict[int, str] | None = None
) -> MLModel:
    """Return a model of a chain of operations of these kinds."""
    operations = tuple(
        Operation(
            kind,
            f"op_{number}",
            (("x", f"op_{number - 1}"),),
            (Value(f"op_{number}", ValueType("fp16", (1, 8))),),
            source=(sources or {}).get(number, ""),
        )
        for number, kind in enumerate(kinds)
    )
    return MLModel(Path(name), "ML Program", "compiled", functions=(Function("main", (), (), operations),))


def calls_of(
    pieces: Sequence[Piece],
    on_cpu: Sequence[float] = (),
    on_gpu: Sequence[tuple[float, float]] = (),
    calls: int = 4,
    further: Sequence[Interval] = (),
    **options: Any,
) -> Analysis:
    """Return calls of 20 ms, one every 30 ms, with these pieces and samples of the CPU in ms of the call."""
    rows: list[Interval] = list(further)
    samples: list[Sample] = []
    for start in (30.0 * number for number in range(calls)):
        rows += [prediction(start, start + 20)]
        rows += [ane(start + begin, start + end, label) for begin, end, label in pieces]
        rows += [gpu(start + begin, start + end) for begin, end in on_gpu]
        samples += [
            (start + tick, "a", BNNS if tick in on_cpu else CALL) for tick in map(float, range(1, 20))
        ]
    return analyze(on_system(with_evidence(trace_of(samples), rows)), **options)


def on_system(trace: Trace, build: str = BUILD) -> Trace:
    """Return the trace as one of a Mac with this build of the system."""
    return replace(trace, info=replace(trace.info, platform="macOS", os=f"26.5 ({build})"))


def join(analysis: Analysis) -> JoinedModel:
    (joined,) = analysis.joined_models
    return joined


def judged(joined: JoinedModel) -> list[tuple[str, str, str]]:
    """Return anticipated and observed engine of each segment, and their agreement."""
    return [
        (str(segment.anticipated), str(segment.observed), str(segment.agreement))
        for segment in joined.segments
    ]
