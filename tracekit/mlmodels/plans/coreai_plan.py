"""Core AI's compute plan as JSON: ``ComputePlan.to_dict`` of coreai-torch 0.4.3 (``debugging``, BSD-3).

Each entry is an operation by its number, with devices, a residency (``PLACED``, ``NO DEVICE``) and the
messages of the Neural Engine's validation. Names are there where the program was passed to ``to_dict``.
"""

from __future__ import annotations

from dataclasses import replace

from tracekit.mlmodels.plans.devices import find_engine
from tracekit.mlmodels.plans.plan import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.plans.values import iter_objects, read_object, read_text, read_texts
from tracekit.mlmodels.program import is_constant_kind
from tracekit.text import plural

FORM = "Core AI compute plan"

_PLACED = "PLACED"
_CONTAINER, _CPU = "coreai.graph", "CPU"


def recognises(file: PlanFile) -> bool:
    """Return True for such a document."""
    document = read_object(file.document)
    return "device_histogram" in document and isinstance(document.get("entries"), list)


def read(file: PlanFile) -> Plan:
    """Read the entries, in the order of their numbers."""
    document = read_object(file.document)
    names = {key: read_text(name) for key, name in read_object(document.get("operation_names")).items()}
    operations = [_plan_operation(entry, names) for entry in iter_objects(document.get("entries"))]
    limits = []
    if not names:
        unnamed = sum(operation.device == _CPU for operation in operations)
        operations = [
            replace(operation, engine=None) if operation.device == _CPU else operation
            for operation in operations
        ]
        if unnamed:
            limits.append(
                "The plan has no names: constants, which it has on the CPU, are not told apart from"
                f" operations, and no engine is taken for {unnamed:,} of its entries. Write it with"
                " to_dict(program)."
            )
    several = sum(1 for operation in operations if "," in operation.device)
    if several:
        limits.append(
            f"The plan has several devices for {plural(several, 'operation')}; no engine is taken for them."
        )
    without = document.get("operations_without_entry")
    kinds = [names.get(str(number), "") for number in without] if isinstance(without, list) else []
    count = sum(1 for kind in kinds if kind != _CONTAINER and not is_constant_kind(kind))
    if count:
        limits.append(
            f"The plan has no entry for {plural(count, 'further operation')} of the program: those for"
            " layout, and those that are fused into another, have none."
        )
    return Plan(file.path, FORM, "Core AI", (PlannedFunction("", tuple(operations)),), limits=tuple(limits))


def _plan_operation(entry: dict[str, object], names: dict[str, str]) -> PlannedOperation:
    number = str(entry.get("operation_id", ""))
    devices = read_texts(entry.get("devices"))
    is_placed = entry.get("residency") == _PLACED
    kind = names.get(number, "")
    return PlannedOperation(
        kind=kind,
        name=number,
        engine=find_engine(devices[0]) if is_placed and len(devices) == 1 else None,
        device=", ".join(devices),
        messages=tuple(PlanMessage(text, "ane") for text in read_texts(entry.get("validation"))),
        is_constant=is_constant_kind(kind),
    )
