"""Instruments that a recording lacks: their tables were not recorded, not exported, or cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tracekit.analysis.availability import Use
from tracekit.analysis.findings.action import Action, Purpose
from tracekit.analysis.findings.calls import Calls
from tracekit.frozen import frozen
from tracekit.model import schemas
from tracekit.model.vocabulary import Engine

Reason: TypeAlias = Literal["not recorded", "not exported", "not readable", "not in this input"]

_TABLES = {
    "Time Profiler": schemas.SAMPLE_TABLES,
    "Core ML": (schemas.CORE_ML,),
    "Core AI": (schemas.CORE_AI,),
    "Neural Engine": (schemas.ANE_INTERVALS,),
    "GPU": (schemas.GPU_INTERVALS,),
}
"""Each instrument and the tables that it records, each under the first of its names."""
_REASONS: dict[Use, Reason] = {
    Use.NOT_EXPORTED: "not exported",
    Use.NOT_READABLE: "not readable",
    Use.UNREADABLE_ROWS: "not readable",
    Use.NOT_KNOWN: "not in this input",
    Use.NOT_RECORDED: "not recorded",
    Use.REFUSED: "not recorded",
    Use.NOTHING_HAS_ROWS: "not recorded",
}
"""The likeliest remedy first: an export can be made again, without a new recording."""
ENGINE_INSTRUMENTS = {Engine.ANE: "Neural Engine", Engine.GPU: "GPU"}


@frozen
class MissingInstrument:
    """An instrument with no table in the input, and the reason."""

    name: str
    reason: Reason


def list_missing_instruments(calls: Calls, *names: str) -> tuple[MissingInstrument, ...]:
    """Return those of some instruments that have no table here; one whose table has no rows was recorded."""
    uses = {evidence.table: evidence.use for evidence in calls.analysis.evidence}
    missing = []
    for name in names:
        instrument_uses = {uses[table] for table in _TABLES[name] if table in uses}
        if instrument_uses <= _REASONS.keys():
            missing.append(
                MissingInstrument(name, next(_REASONS[use] for use in _REASONS if use in instrument_uses))
            )
    return tuple(missing)


def add_instruments(
    calls: Calls, missing: Sequence[MissingInstrument], purpose: Purpose
) -> tuple[Action, ...]:
    """Return the steps that add instruments: the whole recording where they were recorded, else a new one."""
    reasons = {entry.reason for entry in missing}
    actions = []
    if "not readable" in reasons:
        actions.append(Action("read-with-xctrace"))
    if reasons & {"not exported", "not in this input"}:
        actions.append(Action("analyze-bundle"))
    if reasons & {"not recorded", "not in this input"}:
        actions.append(record(calls, purpose))
    return tuple(actions)


def record(
    calls: Calls,
    purpose: Purpose,
    *,
    preset: str = "",
    instruments: tuple[str, ...] = (),
    companions: tuple[str, ...] = (),
    time_limit_ns: int = 0,
    all_processes: bool = False,
) -> Action:
    """Return the step that records again, by default with the preset for the runtime of this recording."""
    return Action(
        "record",
        {
            "purpose": purpose,
            "preset": preset or _choose_preset(calls),
            "instruments": instruments,
            "companions": companions,
            "time_limit_ns": time_limit_ns,
            "all_processes": all_processes,
        },
    )


def _choose_preset(calls: Calls) -> str:
    """Return the preset for the runtime that the recording shows."""
    is_core_ai = schemas.CORE_AI in calls.sources or any(
        evidence.table == schemas.CORE_AI and evidence.rows for evidence in calls.analysis.evidence
    )
    return "coreai" if is_core_ai else "coreml"
