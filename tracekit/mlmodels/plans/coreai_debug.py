"""Core AI's debug records as JSON: ``AIModel._debug_infos`` of a model loaded for debugging.

A list of records, one for the program (``odix``) and one for each delegate it was cut into. Delegates are
read as Apple's coreai-torch 0.4.3 reads them (``debugging/compute_plan.py``): ``bnns`` records are the CPU,
and in ``MPSGraph`` records the residency names the device. That package has operations without a delegate
on the CPU, and leaves out constants by the program, which is not at hand here: no engine is taken for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tracekit.mlmodels.plans.devices import find_engine
from tracekit.mlmodels.plans.plan import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.plans.values import iter_objects, read_object, read_text
from tracekit.mlmodels.wire import DamagedModelError
from tracekit.text import plural

FORM = "Core AI debug records"

_PROGRAM, _CPU, _ANY_DEVICE = "odix", "bnns", "mps"
_PSEUDO_FILE = "op_id"


def recognises(file: PlanFile) -> bool:
    """Return True for a list of records with operations and metadata."""
    records = file.document if isinstance(file.document, list) else []
    operations = (
        item for record in records[:10] for item in iter_objects(read_object(record).get("operations"))
    )
    return any("metadatas" in operation for operation in operations)


def read(file: PlanFile) -> Plan:
    """Read the operations by their numbers in the program. Raises ``DamagedModelError``."""
    records = list(iter_objects(file.document))
    entries: dict[int, _Entry] = {}
    delegates = [record for record in records if not _is_program(record)]
    for record in (record for record in records if _is_program(record)):
        for operation in iter_objects(record.get("operations")):
            _add_program(entries, _Metadata(operation))
    for record in delegates:
        identifier = read_text(record.get("identifier")).lower()
        for operation in iter_objects(record.get("operations")):
            _add_delegate(entries, identifier, _Metadata(operation))
    if not entries:
        raise DamagedModelError("holds debug records without an operation that has a number")
    operations = tuple(entry.build(number) for number, entry in sorted(entries.items()))
    unplaced = sum(not entry.device for entry in entries.values())
    if not delegates:
        limits = [
            "The records have no delegate: they state no placement, which is not a placement on the CPU."
        ]
    elif unplaced:
        limits = [
            f"No delegate states a device for {plural(unplaced, 'operation')} of the program. Constants are"
            " among those, and are not told apart: no engine is taken for them."
        ]
    else:
        limits = []
    return Plan(file.path, FORM, "Core AI", (PlannedFunction("", operations),), limits=tuple(limits))


def _is_program(record: dict[str, Any]) -> bool:
    return read_text(record.get("identifier")).lower().startswith(_PROGRAM)


@dataclass
class _Entry:
    """The device, source and messages of one operation of the program."""

    device: str = ""
    source: str = ""
    messages: dict[str, None] = field(default_factory=dict)

    def build(self, number: int) -> PlannedOperation:
        return PlannedOperation(
            kind="",
            name=str(number),
            engine=find_engine(self.device),
            device=self.device,
            messages=tuple(PlanMessage(text, "ane") for text in self.messages),
            source=self.source,
        )


def _add_program(entries: dict[int, _Entry], metadata: _Metadata) -> None:
    if metadata.has("symbol"):  # a function or a delegate, no operation
        return
    for number in metadata.iter_numbers():
        entry = entries.setdefault(number, _Entry())
        entry.source = entry.source or metadata.source


def _add_delegate(entries: dict[int, _Entry], identifier: str, metadata: _Metadata) -> None:
    residency = metadata.find_text("residency")
    if identifier.startswith(_ANY_DEVICE) and not residency:
        return
    device = "CPU" if identifier.startswith(_CPU) else residency
    message = metadata.find_text("ane_validation_message")
    for number in metadata.iter_numbers():
        entry = entries.setdefault(number, _Entry())
        entry.device = device
        entry.source = entry.source or metadata.source
        if message:
            entry.messages[message] = None


class _Metadata:
    """The metadata of an operation of a record: keys with values such as ``{"string": {"_0": "ANE"}}``."""

    def __init__(self, operation: dict[str, Any]) -> None:
        self._entries = list(iter_objects(operation.get("metadatas")))
        self.source = next(_iter_sources(operation), "")

    def has(self, key: str) -> bool:
        return any(entry.get("key") == key for entry in self._entries)

    def find_text(self, key: str) -> str:
        """Return the first text with a key, or an empty one."""
        texts = (
            _read_value(entry.get("value"), "string") for entry in self._entries if entry.get("key") == key
        )
        return next((text for text in texts if isinstance(text, str)), "")

    def iter_numbers(self) -> Iterator[int]:
        """Yield the numbers of the program's operations that this one is; a fused one is several."""
        for entry in self._entries:
            if entry.get("key") == "op_id":
                pair = read_object(_read_value(entry.get("value"), "dictionary"))
                number = _read_value(pair.get("value"), "integer")
                if _read_value(pair.get("type"), "string") == "coreai" and type(number) is int:
                    yield number


def _read_value(value: object, kind: str) -> object:
    return next(iter(read_object(read_object(value).get(kind)).values()), None)


def _iter_sources(operation: dict[str, Any]) -> Iterator[str]:
    for location in iter_objects(operation.get("sourceLocations")):
        name, line = read_text(location.get("fileName")), location.get("line")
        if name and name != _PSEUDO_FILE and type(line) is int:
            yield f"{name.rpartition('/')[2]}:{line}"
