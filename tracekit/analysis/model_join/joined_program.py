"""The operations that are joined: those of the plan, with what the file has of them, or the file's alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tracekit.analysis.model_join.joined_model import Agreement, JoinedSegment, JoinLimit
from tracekit.analysis.model_join.operation_names import (
    compare_kinds,
    index_by_name,
    list_names,
    spell_kind,
)
from tracekit.analysis.model_join.pairing import ModelFiles
from tracekit.errors import InputError
from tracekit.mlmodels.plans import PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_segments import list_segments
from tracekit.mlmodels.program import Function, Operation


@dataclass(frozen=True)
class JoinedProgram:
    """A function of a plan and of a model's file; ``planned`` has no engines where there is no plan.

    ``function`` is "" where no function is known. ``file_function`` is the file's function, None without a
    file, or where the file has none of that name. ``counterparts`` are the positions of ``planned`` in what
    it computes, None for an operation that it has not.
    """

    function: str
    planned: tuple[PlannedOperation, ...] = ()
    segments: tuple[JoinedSegment, ...] = ()
    limits: tuple[JoinLimit, ...] = ()
    file_function: Function | None = None
    counterparts: tuple[int | None, ...] = ()


def build_program(files: ModelFiles, labels: Mapping[str, int]) -> JoinedProgram:
    """Return the program that calls run; ``labels`` counts the functions that the recording names for them.

    Raises ``InputError`` for a plan of another model than the file's.
    """
    file_functions = list(files.model.content.iter_functions()) if files.model else []
    if files.plan is None:
        return _build_without_plan(file_functions, labels)
    planned = list(files.plan.content.functions)
    if not planned:
        return JoinedProgram("", limits=("no-anticipated-engines",))
    number = find_function([function.name for function in planned], labels)
    if number is None:
        first_function = next((function for function in planned if function.name == "main"), planned[0])
        program = _build_planned(files, first_function, file_functions)
        return replace(program, limits=("function-unknown", *program.limits))
    return _build_planned(files, planned[number], file_functions)


def find_function(names: Sequence[str], labels: Mapping[str, int]) -> int | None:
    """Return the position of the function that most calls run; without labels, that of the only one."""
    if not labels:
        return 0 if len(names) == 1 else None
    called = [number for number, name in enumerate(names) if name in labels]
    return max(called, key=lambda number: labels[names[number]], default=None)


def _build_without_plan(file_functions: Sequence[Function], labels: Mapping[str, int]) -> JoinedProgram:
    number = find_function([function.name for function in file_functions], labels)
    if number is None:
        return JoinedProgram("", limits=("no-plan", "function-unknown") if file_functions else ("no-plan",))
    function = file_functions[number]
    planned = tuple(_plan_nothing(operation) for operation in function.computing())
    segment = JoinedSegment(0, len(planned), None, None, Agreement.UNKNOWN)
    counterparts = tuple(range(len(planned)))
    return JoinedProgram(function.name, planned, (segment,), ("no-plan",), function, counterparts)


def _plan_nothing(operation: Operation) -> PlannedOperation:
    """Return an operation of a model without a plan: no engine is anticipated for it."""
    return PlannedOperation(
        operation.kind,
        operation.name,
        outputs=tuple(value.name for value in operation.outputs),
        source=operation.source,
    )


def _build_planned(
    files: ModelFiles, function: PlannedFunction, file_functions: Sequence[Function]
) -> JoinedProgram:
    if not function.operations:
        return JoinedProgram(function.name, (), tuple(_list_regions(function)), ("regions-only",))
    planned = tuple(function.computing())
    limits: list[JoinLimit] = []
    if all(operation.engine is None for operation in planned):
        limits.append("no-anticipated-engines")
    segments = tuple(
        JoinedSegment(segment.first, segment.end, segment.engine, None, Agreement.UNKNOWN)
        for segment in list_segments(PlannedFunction(function.name, planned))
    )
    counterpart = next((entry for entry in file_functions if entry.name == function.name), None)
    counterpart = counterpart or (file_functions[0] if len(file_functions) == 1 else None)
    program = JoinedProgram(function.name, planned, segments, tuple(limits))
    return program if counterpart is None else _add_listed(program, files, counterpart)


def _list_regions(function: PlannedFunction) -> Iterator[JoinedSegment]:
    position = 0
    for region in function.regions:
        end = position + (region.operations or 0)
        yield JoinedSegment(position, end, region.engine, None, Agreement.UNKNOWN, name=region.name)
        position = end


def _add_listed(program: JoinedProgram, files: ModelFiles, function: Function) -> JoinedProgram:
    """Return a planned program with the file's function; raise ``InputError`` for that of another model."""
    operations = tuple(function.computing())
    fit = compare_kinds(operations, program.planned)
    if fit.is_other_model and files.model and files.plan:
        raise InputError(
            str(files.plan.content.path),
            f"is a plan of another model than {files.model.name}: of the plan's {fit.plan_count:,} operations"
            f" and the model's {fit.file_count:,}, {fit.common_count:,} have the same kinds.",
            "Give the plan of this model, or the plan alone.",
        )
    positions = index_by_name(operations)
    return replace(
        program,
        limits=program.limits if fit.is_same else (*program.limits, "plan-differs"),
        file_function=function,
        counterparts=tuple(_find_counterpart(operation, positions) for operation in program.planned),
    )


def _find_counterpart(operation: PlannedOperation, positions: Mapping[tuple[str, str], int]) -> int | None:
    kind = spell_kind(operation.kind)
    names = list_names(operation.name, operation.outputs)
    return next((positions[kind, name] for name in names if (kind, name) in positions), None)
