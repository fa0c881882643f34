"""Lines of Espresso's log: operators that the Neural Engine's compiler refused, and estimates of costs.

``log stream --predicate 'subsystem == "com.apple.espresso"' --info --debug`` prints them while a model is
compiled: ``Unsupported op <number> (<kind>): <reason>``, and
``[CostModelFeature],<name>,…,<kind>,gFlopCnt,…,Runtime,<ms>,…``. The forms are those that
github.com/Anemll/anemll-profile reads.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tracekit.mlmodels.plans.plan import (
    MAX_PLANNED_OPERATIONS,
    Plan,
    PlanMessage,
    PlannedFunction,
    PlannedOperation,
)
from tracekit.mlmodels.plans.plan_costs import read_cost
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.protobuf_wire import DamagedModelError
from tracekit.text import plural

FORM = "Espresso log"

_REFUSAL = re.compile(
    rb"Unsupported op (?P<number>\d{1,9}|<private>) \((?P<kind>[^()\n]{1,200})\): (?P<reason>[^\n]{1,2000})"
)
_COST = re.compile(rb"\[CostModelFeature\],([^\n]{1,8000})")
_JSON_MESSAGE = re.compile(rb'"eventMessage"\s*:\s*("(?:[^"\\\n]|\\.){0,8000}")')
_FIRST_FEATURE = "gFlopCnt"


def recognises(file: PlanFile) -> bool:
    """Return True for a text with such a line near its beginning."""
    return _REFUSAL.search(file.head) is not None or _COST.search(file.head) is not None


def read(file: PlanFile) -> Plan:
    """Read refused operators, equal ones once; where there are none, the operators with costs."""
    refused: Counter[tuple[bytes, bytes, bytes]] = Counter()
    costs: dict[tuple[str, str], float | None] = {}
    for line in file.iter_lines():
        if message := _JSON_MESSAGE.search(line):
            line = _unescape(message[1])  # noqa: PLW2901 - the message is the line
        if match := _REFUSAL.search(line):
            refused[match["number"], match["kind"], match["reason"].strip()] += 1
        elif match := _COST.search(line):
            name, kind, runtime_ms = _read_features(match[1].decode("utf-8", "replace").strip().split(","))
            costs.setdefault((name, kind), runtime_ms)
        if len(refused) + len(costs) > MAX_PLANNED_OPERATIONS:
            raise DamagedModelError(f"holds more than {MAX_PLANNED_OPERATIONS:,} operations")
    operations = [
        PlannedOperation(
            kind=_decode(kind), name=_decode(number), messages=(PlanMessage(_decode(reason), "ane", count),)
        )
        for (number, kind, reason), count in refused.items()
    ]
    limits = ["The log names operators that were refused; it does not list others, nor where any will run."]
    if costs and refused:
        limits.append(
            f"Its estimates for {plural(len(costs), 'operation')} are by name and its refusals by number:"
            " they are not joined, and the estimates are left out."
        )
    elif costs:
        operations = [
            PlannedOperation(kind, name, estimated_ms={} if ms is None else {"": ms})
            for (name, kind), ms in costs.items()
        ]
        limits = ["The log has estimates of costs; it does not state where any operation will run."]
    if b"<private>" in file.head:
        limits.append("Names are <private> in this log: record it with private data shown.")
    return Plan(
        file.path,
        FORM,
        "Core ML",
        (PlannedFunction("", tuple(operations), unlisted=None),),
        limits=tuple(limits),
    )


def _read_features(fields: Sequence[str]) -> tuple[str, str, float | None]:
    """Return the name, the kind and the estimate of a line: the kind stands before the first feature."""
    start = fields.index(_FIRST_FEATURE) if _FIRST_FEATURE in fields else 0
    kind = fields[start - 1] if start > 1 else ""
    text = next((value for key, value in pairwise(fields) if key == "Runtime"), "")
    try:
        return fields[0], kind, read_cost(float(text))
    except ValueError:
        return fields[0], kind, None


def _unescape(message: bytes) -> bytes:
    """Return a message of a log in JSON (``log show --style ndjson``)."""
    try:
        return str(json.loads(message)).encode("utf-8", "replace")
    except ValueError:
        return message


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
