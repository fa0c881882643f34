"""``tracekit-plan/1``: the JSON that the programs of ``tracekit plan --write-program`` write on a Mac."""

from __future__ import annotations

from tracekit.mlmodels.plans.devices import find_engine, find_engines
from tracekit.mlmodels.plans.plan import Plan, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_costs import read_cost
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.plans.values import iter_objects, read_object, read_text, read_texts
from tracekit.mlmodels.program import is_constant_kind
from tracekit.mlmodels.protobuf_wire import DamagedModelError

FORM = "tracekit-plan/1"


def recognises(file: PlanFile) -> bool:
    """Return True for a document with the schema of this form, of whatever version."""
    return read_text(read_object(file.document).get("schema")).startswith("tracekit-plan/")


def read(file: PlanFile) -> Plan:
    """Read the plan. Raises ``DamagedModelError``."""
    document = read_object(file.document)
    if document["schema"] != FORM:
        raise DamagedModelError(f"has the schema {document['schema']!r}; {FORM} is read")
    functions = tuple(
        PlannedFunction(name, tuple(_plan_operation(entry) for entry in iter_objects(entries)))
        for name, entries in read_object(document.get("functions")).items()
    )
    if not functions:
        raise DamagedModelError("is a plan without a function")
    return Plan(
        file.path,
        FORM,
        "Core ML",
        functions,
        chip=read_text(document.get("chip")),
        os_build=read_text(document.get("os_build")),
        compute_units=read_text(document.get("compute_units")),
        model=read_text(document.get("model")),
        model_sha256=read_text(document.get("model_sha256")),
    )


def _plan_operation(entry: dict[str, object]) -> PlannedOperation:
    kind = read_text(entry.get("op"))
    device = read_text(entry.get("preferred"))
    supported = entry.get("supported")
    return PlannedOperation(
        kind=kind,
        name=read_text(entry.get("name")),
        engine=find_engine(device),
        device=device,
        supported=find_engines(read_texts(supported)) if isinstance(supported, list) else None,
        cost_share=read_cost(entry.get("weight")),
        inputs=read_texts(entry.get("inputs")),
        outputs=read_texts(entry.get("outputs")) or tuple(filter(None, [read_text(entry.get("out"))])),
        is_constant=is_constant_kind(kind),
    )
