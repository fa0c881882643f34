"""``join_models``: each model of a recording that has a file or a plan, with what its calls show of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.chips import identify_chip
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.model_join.given_files import (
    GivenModel,
    GivenPlan,
    read_given_models,
    read_given_plans,
)
from tracekit.analysis.model_join.joined_model import (
    Agreement,
    JoinedModel,
    JoinedOperation,
    JoinedSegment,
    JoinLimit,
)
from tracekit.analysis.model_join.observed_segments import Observation, observe_segments
from tracekit.analysis.model_join.operation_names import (
    LAYOUT_KINDS,
    compare_kinds,
    index_by_name,
    list_names,
    spell_kind,
)
from tracekit.analysis.model_join.pairing import ModelFiles, pair_files
from tracekit.analysis.model_join.reasons import explain_operations
from tracekit.analysis.run import AnalyzedRun
from tracekit.errors import InputError
from tracekit.mlmodels.plans import Plan, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.segments import list_segments
from tracekit.mlmodels.program import Function, Operation
from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import COMPUTE_UNITS, Engine

_BUILD = re.compile(r"\((\d{2}[A-Z]\d{1,5}[a-z]?)\)")
_CHIP_FAMILIES = {"H13": "M1", "H14": "M2", "H15": "M3", "H16": "M4", "H17": "M5"}
"""The compiler's words for chips, without the letter for their size, as Core ML's caches have them."""


def join_models(
    run: AnalyzedRun, models: Iterable[GivenModel], plans: Iterable[GivenPlan]
) -> tuple[JoinedModel, ...]:
    """Join model files and plans with the calls of their models, one result per model and process.

    Raises ``InputError`` for a file that cannot be read and for a plan of another model, ``UsageError`` for a
    file that is no model's for certain.
    """
    given_models, given_plans = read_given_models(models), read_given_plans(plans)
    calls = Calls(run)
    names = [_get_key(group) for group in calls.models]
    return tuple(
        _join_model(calls, group, files)
        for files in pair_files(given_models, given_plans, names)
        for group in calls.models
        if _get_key(group) == files.name
    )


def _get_key(group: ModelCalls) -> str:
    return group.model or group.name


@dataclass(frozen=True)
class _Program:
    """The operations that are joined: those of the plan, else those of the model, or only regions."""

    function: str
    operations: tuple[PlannedOperation, ...]
    listed: tuple[Operation, ...]
    segments: tuple[JoinedSegment, ...]
    limits: tuple[JoinLimit, ...]


def _join_model(calls: Calls, group: ModelCalls, files: ModelFiles) -> JoinedModel:
    program = _choose_program(files, set(calls.labels[group.rows].tolist()))
    plan = files.plan.content if files.plan else None
    limits: list[JoinLimit] = [*program.limits]
    if group.model and not files.is_named(group.model):
        limits.append("name-differs")
    limits += _compare_target(plan, calls.trace.info, calls.analysis.compute_units) if plan else []
    observation = observe_segments(
        calls, group.rows, program.segments, is_known="function-unknown" not in limits
    )
    limits += observation.limits
    return JoinedModel(
        model=group.model,
        model_file=files.model.name if files.model else "",
        plan_file=files.plan.name if files.plan else "",
        plan_form=plan.form if plan else "",
        function=program.function,
        calls=len(group.rows),
        typical_call=observation.typical_call,
        length_ns=int(calls.lengths[observation.typical_call]),
        operations=tuple(_join_operations(program, observation)),
        segments=observation.segments,
        lost_ns=observation.lost_ns,
        limits=tuple(dict.fromkeys(limits)),
        pid=group.pid,
        plan_target=" ".join(filter(None, (plan.chip, plan.os_build))) if plan else "",
        pieces=observation.pieces,
        matched=observation.matched,
        absent=observation.absent,
        lost_total_ns=observation.lost_total_ns,
    )


# The program ------------------------------------------------------------------------------------------------


def _choose_program(files: ModelFiles, labels: set[str]) -> _Program:
    plan = files.plan.content if files.plan else None
    listed = list(files.model.content.iter_functions()) if files.model else []
    functions: Sequence[PlannedFunction | Function] = plan.functions if plan else listed
    if not functions:
        return _Program("", (), (), (), ("no-anticipated-engines" if plan else "no-plan",))
    chosen, is_certain = _choose_function(functions, labels)
    limits: list[JoinLimit] = [] if is_certain else ["function-unknown"]
    of_model = next((function for function in listed if function.name == chosen.name), None)
    of_model = of_model or (listed[0] if len(listed) == 1 else None)
    operations_of_model = tuple(of_model.computing()) if of_model else ()
    if isinstance(chosen, Function):
        planned = tuple(_plan_nothing(operation) for operation in chosen.computing())
        segment = JoinedSegment(0, len(planned), None, None, Agreement.UNKNOWN)
        return _Program(chosen.name, planned, operations_of_model, (segment,), (*limits, "no-plan"))
    if not chosen.operations:
        segments = tuple(_list_regions(chosen))
        return _Program(chosen.name, (), operations_of_model, segments, (*limits, "regions-only"))
    planned = tuple(
        operation for operation in chosen.computing() if spell_kind(operation.kind) not in LAYOUT_KINDS
    )
    if operations_of_model:
        limits += _compare_operations(files, operations_of_model, planned)
    if all(operation.engine is None for operation in planned):
        limits.append("no-anticipated-engines")
    segments = tuple(
        JoinedSegment(segment.first, segment.end, segment.engine, None, Agreement.UNKNOWN)
        for segment in list_segments(PlannedFunction(chosen.name, planned))
    )
    return _Program(chosen.name, planned, operations_of_model, segments, tuple(limits))


def _choose_function(
    functions: Sequence[PlannedFunction | Function], labels: set[str]
) -> tuple[PlannedFunction | Function, bool]:
    """Return the function that the calls run, and whether it is certain: the only one, or their label."""
    if len(functions) == 1:
        return functions[0], True
    by_label = [function for function in functions if function.name in labels]
    if len(labels) == 1 and len(by_label) == 1:
        return by_label[0], True
    return next((function for function in functions if function.name == "main"), functions[0]), False


def _plan_nothing(operation: Operation) -> PlannedOperation:
    """Return an operation of a model without a plan: no engine is anticipated for it."""
    return PlannedOperation(operation.kind, operation.name, source=operation.source)


def _list_regions(function: PlannedFunction) -> Iterator[JoinedSegment]:
    position = 0
    for region in function.regions:
        end = position + (region.operations or 0)
        yield JoinedSegment(position, end, region.engine, None, Agreement.UNKNOWN, name=region.name)
        position = end


def _compare_operations(
    files: ModelFiles, listed: Sequence[Operation], planned: Sequence[PlannedOperation]
) -> list[JoinLimit]:
    """Return a limit for a plan that differs in part; raise ``InputError`` for one of another model."""
    fit = compare_kinds(listed, planned)
    if fit.is_other_model and files.model and files.plan:
        raise InputError(
            str(files.plan.content.path),
            f"is a plan of another model than {files.model.name}: of the plan's {fit.planned:,} operations"
            f" and the model's {fit.listed:,}, {fit.alike:,} have the same kinds.",
            "Give the plan of this model, or the plan alone.",
        )
    return [] if fit.is_same else ["plan-differs"]


def _compare_target(plan: Plan, info: TraceInfo, compute_units: str) -> list[JoinLimit]:
    """Return limits for a plan of another chip, build or setting, where plan and recording state it."""
    limits: list[JoinLimit] = []
    build = _BUILD.search(info.os)
    if build and plan.os_build and build[1] != plan.os_build:
        limits.append("other-build")
    family = _CHIP_FAMILIES.get(plan.chip.upper()[:3], "")
    chip = identify_chip(info.model)
    if family and chip and chip.split()[0] != family:
        limits.append("other-chip")
    units = [spelling for spelling in COMPUTE_UNITS if spelling.lower() == plan.compute_units.lower()]
    if units and compute_units and units != [compute_units]:
        limits.append("other-units")
    return limits


# Operations -------------------------------------------------------------------------------------------------


def _join_operations(program: _Program, observation: Observation) -> Iterator[JoinedOperation]:
    positions = index_by_name(program.listed)
    counterparts = [_find_counterpart(operation, positions) for operation in program.operations]
    reasons = explain_operations(program.operations, {})
    segment_of = np.repeat(
        np.arange(len(observation.segments)),
        [segment.end - segment.first for segment in observation.segments],
    ).tolist()
    for position, operation in enumerate(program.operations):
        counterpart = counterparts[position]
        source = program.listed[counterpart].source if counterpart is not None else ""
        yield JoinedOperation(
            spell_kind(operation.kind),
            _name_operation(operation),
            operation.engine,
            segment_of[position],
            reasons[position],
            operation.source or source,
            None if operation.supported is None else Engine.ANE in operation.supported,
        )


def _find_counterpart(operation: PlannedOperation, positions: Mapping[tuple[str, str], int]) -> int | None:
    kind = spell_kind(operation.kind)
    names = list_names(operation.name, operation.outputs)
    return next((positions[kind, name] for name in names if (kind, name) in positions), None)


def _name_operation(operation: PlannedOperation) -> str:
    names = list_names(operation.name, operation.outputs)
    return names[0] if names else ""
