"""Core ML's ``analytics.mil``: a program with the backends of each operation, and why others are not used.

Core ML writes one beside each program that it compiles, in the caches of the process:
``…e5rt.e5bundlecache/<build of the system>/<hash>/<hash>.bundle/<chip>.bundle/analytics.mil``. The form is
not published.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.mlmodels.mil_text import read_program
from tracekit.mlmodels.plans.devices import find_engine, find_engines
from tracekit.mlmodels.plans.places import find_core_ml_place
from tracekit.mlmodels.plans.plan import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_costs import add_cost_shares, read_cost
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.program import Constant, Function, Operation

FORM = "analytics.mil"


def recognises(file: PlanFile) -> bool:
    """Return True for MIL text with backends."""
    return file.head.startswith(b"program(") and (
        b"SelectedBackend" in file.head or b"BackendSupport" in file.head
    )


def read(file: PlanFile) -> Plan:
    """Read the plan. Raises ``DamagedModelError``."""
    functions = tuple(_plan_function(function) for function in read_program(file.read_text()))
    chip, os_build = find_core_ml_place(file.path.absolute())
    return Plan(file.path, FORM, "Core ML", functions, chip=chip, os_build=os_build)


def _plan_function(function: Function) -> PlannedFunction:
    operations = add_cost_shares([_plan_operation(operation) for operation in function.operations])
    overheads = {
        name: cost
        for name, value in function.attributes.items()
        if name.endswith("_ms") and (cost := read_cost(value)) is not None
    }
    return PlannedFunction(function.name, operations, overheads_ms=overheads)


def _plan_operation(operation: Operation) -> PlannedOperation:
    attributes = operation.attributes
    device = attributes.get("SelectedBackend")
    device = device if isinstance(device, str) else ""
    support = attributes.get("BackendSupport")
    return PlannedOperation(
        kind=operation.kind,
        name=operation.name,
        engine=find_engine(device),
        device=device,
        supported=find_engines(map(str, support)) if isinstance(support, tuple) else None,
        estimated_ms={
            backend: cost
            for backend, value in _iter_pairs(attributes.get("EstimatedRuntime"))
            if (cost := read_cost(value)) is not None
        },
        messages=tuple(
            PlanMessage(str(text), backend)
            for backend, text in _iter_pairs(attributes.get("ValidationMessage"))
        ),
        inputs=tuple(value for _, value in operation.inputs),
        outputs=tuple(value.name for value in operation.outputs),
        is_constant=operation.is_constant,
    )


def _iter_pairs(dictionary: Constant | None) -> Iterator[tuple[str, Constant]]:
    """Yield the entries of a dictionary, which the text has as pairs."""
    for pair in dictionary if isinstance(dictionary, tuple) else ():
        if isinstance(pair, tuple) and len(pair) == 2:
            yield str(pair[0]), pair[1]
