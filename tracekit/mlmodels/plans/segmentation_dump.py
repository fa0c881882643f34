"""Core ML's segmentation analytics, as github.com/freedomtan/coreml_modelc_profling prints them.

Two forms of the same: lines of ``NSLog`` with a dictionary for each operation, in no order, and a table. A
third form, one line for each operation, comes from ``MLComputePlan``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath

from tracekit.mlmodels.plans.devices import find_engine, find_engines
from tracekit.mlmodels.plans.places import find_core_ml_place
from tracekit.mlmodels.plans.plan import (
    MAX_PLANNED_OPERATIONS,
    Plan,
    PlanMessage,
    PlannedFunction,
    PlannedOperation,
)
from tracekit.mlmodels.plans.plan_costs import add_cost_shares, read_cost
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.program import is_constant_kind
from tracekit.mlmodels.protobuf_wire import DamagedModelError

_TOO_MANY = f"holds more than {MAX_PLANNED_OPERATIONS:,} operations"
LOG, TABLE, LINES = "segmentation log", "segmentation table", "compute plan lines"

# The log ----------------------------------------------------------------------------------------------------

_ENTRY, _ENTRY_END = " at /", ", {"
_FIELD = re.compile(r'^\s*"?(?P<key>\w+)"? = (?P<value>.*?);?$')
_LEFT_OUT = "reaches no further than an operation: it is cut off"


def recognises_log(file: PlanFile) -> bool:
    """Return True for a log with dictionaries of operations."""
    text = file.head_text
    return "BackendSupport =" in text and "SelectedBackend =" in text and "OpType =" in text


def read_log(file: PlanFile) -> Plan:
    """Read the operations, in the order of their index. Raises ``DamagedModelError``."""
    place = PurePosixPath()
    by_function: dict[str, list[tuple[int, PlannedOperation]]] = {}
    lines = _iter_texts(file)
    count = 0
    for line in lines:
        _, mark, path = line.partition(_ENTRY)
        if not mark or not line.endswith(_ENTRY_END):
            continue
        place = PurePosixPath(f"/{path}")
        function, index, operation = _read_entry(_read_fields(lines))
        by_function.setdefault(function, []).append((index, operation))
        count += 1
        if count > MAX_PLANNED_OPERATIONS:
            raise DamagedModelError(_TOO_MANY)
    if not by_function:
        raise DamagedModelError("holds no operation that is whole")
    chip, os_build = find_core_ml_place(place)
    functions = (
        PlannedFunction(
            name,
            add_cost_shares([operation for _, operation in sorted(entries, key=_get_index)]),
            unlisted=_count_gaps([index for index, _ in entries]) if len(by_function) == 1 else 0,
        )
        for name, entries in by_function.items()
    )
    return Plan(file.path, LOG, "Core ML", tuple(functions), chip=chip, os_build=os_build)


def _count_gaps(indexes: Sequence[int]) -> int:
    """Return how many operations before the last are not in a log, which can lose lines."""
    return max(indexes) + 1 - len(set(indexes))


def _iter_texts(file: PlanFile) -> Iterator[str]:
    return (line.decode("utf-8", "replace").rstrip("\r\n") for line in file.iter_lines())


def _get_index(entry: tuple[int, PlannedOperation]) -> int:
    return entry[0]


def _read_fields(lines: Iterator[str]) -> dict[str, dict[str, str]]:
    """Return the fields of one dictionary by the dictionary in it that holds them, "" for the outer one.

    The path is a list of dictionaries: the types of its parts are kept by their names.
    """
    fields: dict[str, dict[str, str]] = {"": {}}
    inner = ""
    part: dict[str, str] = {}
    for line in lines:
        match = _FIELD.match(line)
        if match and match["value"].strip() in ("{", "("):
            inner = match["key"]
            fields.setdefault(inner, {})
        elif match and inner == "OpPath":
            part[match["key"]] = _unquote(match["value"])
        elif match:
            fields[inner][match["key"]] = _unquote(match["value"])
        elif line.strip() in ("}", "};", "},", ")", ");"):
            if line.startswith("}"):
                return fields
            if part:
                fields[inner][part.get("Type", "")] = part.get("Name", part.get("Output", ""))
                part = {}
            if line.startswith("    }") or line.strip() == ");":
                inner = ""
    raise DamagedModelError(_LEFT_OUT)


def _read_entry(fields: Mapping[str, Mapping[str, str]]) -> tuple[str, int, PlannedOperation]:
    outer, path = fields[""], fields.get("OpPath", {})
    output = path.get("Operation", "")
    index = outer.get("OpIndex", "")
    operation = _build_operation(
        kind=outer.get("OpType", ""),
        device=outer.get("SelectedBackend", "").strip('"'),
        backends=list(fields.get("BackendSupport", {})),
        estimates=fields.get("EstimatedRunTime", {}),
        messages=fields.get("ValidationMessages", {}),
        outputs=(output,) if output else (),
    )
    return path.get("Function", "main"), int(index) if index.isdecimal() and len(index) < 10 else 0, operation


def _unquote(value: str) -> str:
    """Return a value without its quotes."""
    if value.startswith('"') and value.endswith('"') and len(value) > 1:
        value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value


# The table --------------------------------------------------------------------------------------------------

_HEADER = "DebugName, OpType, SelectedBackend, backend_0"


def recognises_table(file: PlanFile) -> bool:
    """Return True for the table."""
    return file.head_text.startswith(_HEADER)


def read_table(file: PlanFile) -> Plan:
    """Read the rows; columns are found by their names. Raises ``DamagedModelError``."""
    rows = csv.reader(_iter_texts(file), skipinitialspace=True)
    try:
        header = [name.strip() for name in next(rows)]
        entries = [_read_row(header, row) for row in islice(filter(None, rows), MAX_PLANNED_OPERATIONS + 1)]
    except csv.Error as error:
        raise DamagedModelError(f"is no table: {error}") from error
    if len(entries) > MAX_PLANNED_OPERATIONS:
        raise DamagedModelError(_TOO_MANY)
    slots = [name.removeprefix("backend_") for name in header if name.startswith("backend_")]
    # A backend that does not support an operation has no name in its slot: other rows have it.
    names = {
        slot: next((row[f"backend_{slot}"] for row in entries if row[f"backend_{slot}"]), "")
        for slot in slots
    }
    operations = [_build_row(entry, names) for entry in entries]
    return Plan(file.path, TABLE, "Core ML", (PlannedFunction("main", add_cost_shares(operations)),))


def _read_row(header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    if len(row) != len(header):
        raise DamagedModelError(f"has a row of {len(row)} fields where {len(header)} belong")
    return {name: value.strip() for name, value in zip(header, row, strict=True)}


def _build_row(row: Mapping[str, str], names: Mapping[str, str]) -> PlannedOperation:
    return _build_operation(
        kind=row.get("OpType", ""),
        device=row.get("SelectedBackend", "").strip('"'),
        backends=[row[f"backend_{slot}"] for slot in names],
        estimates={name: row.get(f"est_time_{slot}", "") for slot, name in names.items()},
        messages={name: row.get(f"invalid_{slot}", "") for slot, name in names.items()},
    )


def _build_operation(
    *,
    kind: str,
    device: str,
    backends: Sequence[str],
    estimates: Mapping[str, str],
    messages: Mapping[str, str],
    outputs: tuple[str, ...] = (),
) -> PlannedOperation:
    return PlannedOperation(
        kind=kind,
        engine=find_engine(device),
        device=device,
        supported=find_engines(backends),
        estimated_ms={
            word: cost for word, text in estimates.items() if (cost := _read_number(text)) is not None
        },
        messages=tuple(PlanMessage(text, word) for word, text in messages.items() if text),
        outputs=outputs,
        is_constant=is_constant_kind(kind),
    )


def _read_number(text: str) -> float | None:
    try:
        return read_cost(float(text))
    except ValueError:
        return None


# The lines --------------------------------------------------------------------------------------------------

_LINE = re.compile(
    r"operation (?P<kind>\S{1,200}), device <(?P<device>\w{1,80}): 0x[0-9a-f]+>, cost (?P<cost>[\d.]{1,20})%"
)


def recognises_lines(file: PlanFile) -> bool:
    """Return True for a log with a line for each operation."""
    return _LINE.search(file.head_text) is not None


def read_lines(file: PlanFile) -> Plan:
    """Read the lines, which are in the order of the program."""
    operations = []
    for match in filter(None, map(_LINE.search, _iter_texts(file))):
        percent = _read_number(match["cost"])
        operations.append(
            PlannedOperation(
                kind=match["kind"],
                engine=find_engine(match["device"]),
                device=match["device"],
                cost_share=None if percent is None else percent / 100,
            )
        )
        if len(operations) > MAX_PLANNED_OPERATIONS:
            raise DamagedModelError(_TOO_MANY)
    return Plan(file.path, LINES, "Core ML", (PlannedFunction("main", tuple(operations)),))
