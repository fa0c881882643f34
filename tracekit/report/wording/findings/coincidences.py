"""What else changed at a moment as English."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.findings.coincidences import Change
from tracekit.text import clip, format_duration, printable

_THERMAL = {0: "nominal", 1: "fair", 2: "serious", 3: "critical"}
_NAME_WIDTH = 40


def write_coincidences(changes: Sequence[Change]) -> str:
    """Return what else changed then; a coincidence in time proves no cause, and the sentence says so."""
    if not changes:
        return (
            "Nothing was recorded just then that could explain it: no load or compile, thermal change or"
            " failed request."
        )
    return f"Just then: {join_changes(changes)}. That is a coincidence in time, which proves no cause."


def join_changes(changes: Sequence[Change]) -> str:
    """Return ``Net was loaded (at 65.0 ms); the thermal state became serious (at 70.0 ms)``."""
    return "; ".join(f"{_write_change(change)} (at {format_duration(change.time_ns)})" for change in changes)


def _write_change(change: Change) -> str:
    detail = clip(printable(change.detail), _NAME_WIDTH)
    match change.kind:
        case "thermal":
            return f"the thermal state became {_THERMAL.get(int(change.detail), 'unknown')}"
        case "app-state":
            return f"the app became '{detail}'"
        case "load":
            return f"{detail or 'a model'} was loaded"
        case "compile":
            return f"{detail or 'a model'} was compiled"
        case "first-call":
            return f"the first call of {detail}"
        case "failed-request":
            return "a request to the Neural Engine failed"
        case "refusal":
            return f"the log has a refusal of the Neural Engine: {detail}"
