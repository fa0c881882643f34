"""JSON of tools on top of ``MLComputePlan``: coremltools, CoreMLProfiler, coreml-cli, ane-costplan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracekit.mlmodels.plans.devices import find_engine, find_engines
from tracekit.mlmodels.plans.plan import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_costs import read_cost
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.plans.values import iter_objects, read_object, read_text, read_texts
from tracekit.mlmodels.program import is_constant_kind
from tracekit.mlmodels.protobuf_wire import DamagedModelError

COREMLTOOLS, PROFILER, CLI, COSTPLAN = (
    "coremltools JSON",
    "CoreMLProfiler JSON",
    "coreml-cli JSON",
    "ane-costplan JSON",
)
_MAX_DEPTH = 64

# coremltools ------------------------------------------------------------------------------------------------


def recognises_coremltools(file: PlanFile) -> bool:
    """Return True for the form of coremltools 9.0, ``remote_device.ComputePlan.to_dict``."""
    entry = next(_iter_first(read_object(file.document).get("infos")), {})
    return "path" in entry and "deviceUsage" in entry


def read_coremltools(file: PlanFile) -> Plan:
    """Read infos, each with the path of an operation or layer. Kinds of operations are not in this form."""
    functions: dict[str, list[PlannedOperation]] = {}
    for info in iter_objects(read_object(file.document).get("infos")):
        usage = read_object(info.get("deviceUsage"))
        function, name = _find_names(info.get("path"))
        device = next(iter(read_object(usage.get("preferred"))), "")
        supported = usage.get("supported")
        words = [next(iter(entry), "") for entry in iter_objects(supported)]
        functions.setdefault(function, []).append(
            PlannedOperation(
                kind="",
                name=name,
                engine=find_engine(device),
                device=device,
                supported=find_engines(words) if isinstance(supported, list) else None,
                cost_share=read_cost(info.get("estimatedCost")),
                outputs=(name,) if name else (),
            )
        )
    limits = (
        "The form names operations by their first output, without kinds; the order is that of the file.",
    )
    return _build_plan(file, COREMLTOOLS, functions, limits=limits)


def _find_names(path: object) -> tuple[str, str]:
    """Return the names of the function and of the operation or layer that a path leads to."""
    function = name = ""
    for component in iter_objects(read_object(path).get("components")):
        for kind, content in component.items():
            data = read_object(read_object(content).get("data"))
            if kind == "programFunction":
                function = read_text(data.get("name"))
            else:
                name = read_text(data.get("outputName")) or read_text(data.get("name")) or name
    return function, name


# CoreMLProfiler ---------------------------------------------------------------------------------------------


def recognises_profiler(file: PlanFile) -> bool:
    """Return True for CoreMLProfiler's ``compute_plan.json``, and for its table of operations."""
    document = file.document
    entry = next(_iter_first(document), {})
    if not entry:
        blocks = (read_object(content).get("block") for content in read_object(document).values())
        entry = next(
            (item for block in blocks for item in _iter_first(read_object(block).get("operations"))), {}
        )
    return "operatorName" in entry and "preferred_device" in entry


def read_profiler(file: PlanFile) -> Plan:
    """Read operations; times of this form are shares of a measured median, not measured, and are left out."""
    document = file.document
    functions = {}
    if isinstance(document, list):
        functions["main"] = list(_iter_profiler(document, 0))
    else:
        for name, content in document.items():
            block = read_object(read_object(content).get("block"))
            functions[name] = list(_iter_profiler(block.get("operations"), 0))
    return _build_plan(file, PROFILER, functions)


def _iter_profiler(entries: object, depth: int) -> Iterator[PlannedOperation]:
    if depth > _MAX_DEPTH:
        raise DamagedModelError(f"has operations {depth} deep")
    for entry in iter_objects(entries):
        device = read_text(entry.get("preferred_device"))
        supported = entry.get("supported_devices")
        message = read_text(entry.get("ane_msg"))
        bindings = (read_texts(item.get("bindings")) for item in iter_objects(entry.get("inputs")))
        kind = read_text(entry.get("operatorName"))
        yield PlannedOperation(
            kind=kind,
            name=read_text(entry.get("operator_id")),
            engine=find_engine(device),
            device=device,
            supported=find_engines(supported.split(",")) if isinstance(supported, str) else None,
            cost_share=read_cost(entry.get("cost")),
            messages=(PlanMessage(message, "ane"),) if message else (),
            inputs=tuple(name for names in bindings for name in names),
            outputs=tuple(read_text(item.get("name")) for item in iter_objects(entry.get("outputs"))),
            is_constant=is_constant_kind(kind),
        )
        for block in iter_objects(entry.get("blocks")):
            yield from _iter_profiler(block.get("operations"), depth + 1)


# coreml-cli -------------------------------------------------------------------------------------------------


def recognises_cli(file: PlanFile) -> bool:
    """Return True for ``coreml-cli --json`` of FluidInference/mobius."""
    document = read_object(file.document)
    entry = next(_iter_first(document.get("models")), {})
    return "hardware" in document and ("results" in entry or "fallback" in entry)


def read_cli(file: PlanFile) -> Plan:
    """Read the operations of one model with one setting. Raises ``DamagedModelError`` for any other file."""
    document = read_object(file.document)
    results = [
        (read_text(model.get("model_name")), result)
        for model in iter_objects(document.get("models"))
        for result in iter_objects(model.get("results"))
    ]
    planned = [(model, result) for model, result in results if isinstance(result.get("operations"), list)]
    if not planned:
        raise DamagedModelError("holds no operations; write it with --ops --json, not with --fallback")
    if len(planned) > 1:
        raise DamagedModelError(
            f"holds {len(planned)} plans; write one model with one setting: --units … --ops --json"
        )
    model, result = planned[0]
    operations = [_read_cli_operation(entry) for entry in iter_objects(result["operations"])]
    return _build_plan(
        file,
        CLI,
        {"main": operations},
        chip=read_text(read_object(document.get("hardware")).get("chip")),
        compute_units=read_text(result.get("compute_units")),
        model=model,
    )


def _read_cli_operation(entry: dict[str, Any]) -> PlannedOperation:
    kind, device = read_text(entry.get("type")), read_text(entry.get("device"))
    detailed = read_object(entry.get("detailed"))
    percent = read_cost(entry.get("cost_percent"))
    supported = detailed.get("supported_backends")
    estimates = read_object(detailed.get("estimated_runtime_ms")).items()
    messages = read_object(detailed.get("validation_messages")).items()
    name = read_text(entry.get("name"))
    return PlannedOperation(
        kind=kind,
        name=name,
        engine=find_engine(device),
        device=device,
        supported=find_engines(read_texts(supported)) if isinstance(supported, list) else None,
        cost_share=None if percent is None else percent / 100,
        estimated_ms={word: cost for word, value in estimates if (cost := read_cost(value)) is not None},
        messages=tuple(PlanMessage(text, word) for word, text in messages if isinstance(text, str)),
        outputs=(name,) if name != kind else (),
        is_constant=is_constant_kind(kind),
    )


# ane-costplan -----------------------------------------------------------------------------------------------


def recognises_costplan(file: PlanFile) -> bool:
    """Return True for ``ane-costplan -j`` of shipstuff/anemll-profile."""
    document = read_object(file.document)
    return document.keys() >= {"total_cost", "with_device", "no_device", "operations"}


def read_costplan(file: PlanFile) -> Plan:
    """Read the costs, in the order of the program; the file has the highest first, and no device."""
    document = read_object(file.document)
    entries = sorted(iter_objects(document.get("operations")), key=_read_index)
    operations = [
        PlannedOperation(kind=read_text(entry.get("type")), cost_share=read_cost(entry.get("cost")))
        for entry in entries
    ]
    limits = ("ane-costplan writes costs alone: it states no device for any operation.",)
    return _build_plan(
        file,
        COSTPLAN,
        {"main": operations},
        compute_units="cpuAndNeuralEngine",
        model=read_text(document.get("model")),
        limits=limits,
    )


def _read_index(entry: dict[str, Any]) -> int:
    index = entry.get("index")
    return index if isinstance(index, int) else 0


# All --------------------------------------------------------------------------------------------------------


def _build_plan(
    file: PlanFile,
    form: str,
    functions: dict[str, list[PlannedOperation]],
    *,
    chip: str = "",
    compute_units: str = "",
    model: str = "",
    limits: tuple[str, ...] = (),
) -> Plan:
    return Plan(
        file.path,
        form,
        "Core ML",
        tuple(PlannedFunction(name, tuple(operations)) for name, operations in functions.items()),
        chip=chip,
        compute_units=compute_units,
        model=model,
        limits=limits,
    )


def _iter_first(value: object) -> Iterator[dict[str, Any]]:
    """Yield the first item of a list, if it is an object."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        yield value[0]
