"""``join_models``: each model of a recording that has a file or a plan, with what its calls show of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tracekit.analysis.chips import identify_chip
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.model_join.given_files import (
    GivenModel,
    GivenPlan,
    read_given_models,
    read_given_plans,
)
from tracekit.analysis.model_join.joined_model import JoinedModel, JoinedOperation, JoinedSegment, JoinLimit
from tracekit.analysis.model_join.joined_program import JoinedProgram, build_program
from tracekit.analysis.model_join.observed_segments import observe_segments
from tracekit.analysis.model_join.operation_names import list_names, spell_kind
from tracekit.analysis.model_join.pairing import ModelFiles, pair_files
from tracekit.analysis.model_join.reasons import Reasons, explain_operations
from tracekit.analysis.model_join.rule_reasons import find_rule_reasons
from tracekit.analysis.run import AnalyzedRun
from tracekit.mlmodels.plans import Plan
from tracekit.mlmodels.rules.rule_target import CHIPS
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import CORE_AI
from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import COMPUTE_UNITS, Engine

_BUILD = re.compile(r"\((\d{2}[A-Z]\d{1,5}[a-z]?)\)")


def join_models(
    run: AnalyzedRun, models: Iterable[GivenModel], plans: Iterable[GivenPlan]
) -> tuple[JoinedModel, ...]:
    """Join model files and plans with the calls of their models, one result per model and process.

    Raises ``InputError`` for a file that cannot be read and for a plan of another model, ``UsageError`` for a
    file that is no model's for certain.
    """
    given_models, given_plans = read_given_models(models), read_given_plans(plans)
    calls = Calls(run)
    names = [group.model for group in calls.models]
    return tuple(
        _join_model(calls, group, files)
        for files in pair_files(given_models, given_plans, names)
        for group in calls.models
        if group.model == files.name
    )


def _join_model(calls: Calls, group: ModelCalls, files: ModelFiles) -> JoinedModel:
    plan = files.plan.content if files.plan else None
    functions = _name_functions(calls, group.rows)
    program = build_program(files, Counter(filter(None, functions)))
    rows = [
        row
        for row, name in zip(group.rows.tolist(), functions, strict=True)
        if name in ("", program.function)
    ]
    of_core_ai = bool(_mark_core_ai(calls, group.rows).all())
    is_of_other = plan is not None and plan.runtime == "Core ML" and of_core_ai
    is_known = bool(program.segments) and "function-unknown" not in program.limits and not is_of_other
    observation = observe_segments(
        calls,
        np.array(rows, np.int64) if is_known else group.rows,
        program.segments,
        program.function if is_known else None,
    )
    limits = [*program.limits, *_compare_names(group, files)]
    limits += ["other-runtime"] if is_of_other else []
    limits += _compare_target(plan, calls.trace.info, calls.analysis.compute_units) if plan else []
    reasons = explain_operations(program.planned, _find_rules(program, files, calls.trace.info))
    return JoinedModel(
        model=group.model,
        model_file=files.model.name if files.model else "",
        plan_file=files.plan.name if files.plan else "",
        plan_form=plan.form if plan else "",
        function=program.function,
        calls=len(rows) if is_known else len(group.rows),
        typical_call=observation.typical_call,
        length_ns=int(calls.lengths[observation.typical_call]),
        operations=tuple(_list_operations(program, observation.segments, reasons)),
        segments=observation.segments,
        lost_ns=observation.lost_ns,
        limits=tuple(dict.fromkeys([*limits, *observation.limits])),
        pid=group.pid,
        plan_chip=plan.chip if plan else "",
        plan_build=plan.os_build if plan else "",
        pieces=observation.pieces,
        matched_calls=observation.matched_calls,
        absent_calls=observation.absent_calls,
        lost_total_ns=observation.lost_total_ns,
        windows=observation.windows,
    )


def _name_functions(calls: Calls, rows: IntArray) -> list[str]:
    """Return the function that each call runs, where the recording names it, as Core AI's table does."""
    of_core_ai = _mark_core_ai(calls, rows)
    models = calls.analysis.window_rows["model"].to_numpy(object)[rows]
    entries = zip(of_core_ai.tolist(), calls.labels[rows].tolist(), models.tolist(), strict=True)
    # Such a window is called ``Scene::main``.
    return [
        label.removeprefix(f"{model}::") if is_named and label != model else ""
        for is_named, label, model in entries
    ]


def _mark_core_ai(calls: Calls, rows: IntArray) -> BoolArray:
    """Mark the calls that Core AI's table reports, and Core ML's does not."""
    mask: BoolArray = (calls.analysis.window_rows["source"] == CORE_AI).to_numpy(bool)[rows]
    return mask


def _find_rules(program: JoinedProgram, files: ModelFiles, info: TraceInfo) -> Mapping[int, Reasons]:
    """Return the reasons of rules by position in ``planned``."""
    if program.file_function is None or files.model is None:
        return {}
    by_position = find_rule_reasons(program.file_function, files.model.content.form, info)
    return {
        position: by_position[counterpart]
        for position, counterpart in enumerate(program.counterparts)
        if counterpart is not None and counterpart in by_position
    }


def _compare_names(group: ModelCalls, files: ModelFiles) -> Iterator[JoinLimit]:
    if group.model and not files.is_named(group.model):
        yield "name-differs"


def _compare_target(plan: Plan, info: TraceInfo, compute_units: str) -> list[JoinLimit]:
    """Return limits for a plan of another chip, build or setting, where plan and recording state it."""
    limits: list[JoinLimit] = []
    build = _BUILD.search(info.os)
    is_build_known = build is not None and bool(plan.os_build)
    if build and is_build_known and build[1] != plan.os_build:
        limits.append("other-build")
    families = {chip.family for chip in CHIPS if plan.chip.lower() in chip.architectures}
    chip = identify_chip(info.model)
    is_chip_known = bool(families and chip)
    if is_chip_known and chip.split()[0] not in families:
        limits.append("other-chip")
    if not is_build_known and not is_chip_known:
        limits.append("target-unknown")
    units = [spelling for spelling in COMPUTE_UNITS if spelling.lower() == plan.compute_units.lower()]
    if units and compute_units and units != [compute_units]:
        limits.append("other-units")
    return limits


def _list_operations(
    program: JoinedProgram, segments: tuple[JoinedSegment, ...], reasons: list[Reasons]
) -> Iterator[JoinedOperation]:
    operations = tuple(program.file_function.computing()) if program.file_function else ()
    counterparts = program.counterparts or (None,) * len(program.planned)
    segment_of = np.repeat(np.arange(len(segments)), [segment.end - segment.first for segment in segments])
    for position, operation in enumerate(program.planned):
        counterpart = counterparts[position]
        yield JoinedOperation(
            spell_kind(operation.kind),
            next(iter(list_names(operation.name, operation.outputs)), ""),
            operation.engine,
            int(segment_of[position]),
            reasons[position],
            operation.source or (operations[counterpart].source if counterpart is not None else ""),
            None if operation.supported is None else Engine.ANE in operation.supported,
        )
