"""What could have spoken: every table that can show an engine at work, and whether this input has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tracekit.model import TableInfo, Trace

State: TypeAlias = Literal["absent", "empty", "rows"]
Scope: TypeAlias = Literal["system", "process"]


@dataclass(frozen=True)
class Evidence:
    """One source of evidence. ``rows`` is 0 unless ``state`` is "rows".

    ``shows`` says what the table can and cannot tell, ``remark`` what became of it here.
    """

    source: str
    state: State
    rows: int
    scope: Scope
    shows: str
    remark: str


@dataclass(frozen=True)
class _Witness:
    """A table that can speak, under its names in different Xcodes, and what it can and cannot show."""

    schemas: tuple[str, ...]
    scope: Scope
    shows: str


_WITNESSES = (
    _Witness(
        ("time-profile",),
        "process",
        "host samples: who called an engine, not how long the engine worked",
    ),
    _Witness(("cpu-profile",), "process", "host samples weighed in CPU cycles, not in time"),
    _Witness(("counters-profile",), "process", "host samples with hardware counters"),
    _Witness(("time-sample",), "process", "raw host samples, which have no symbols in an export"),
    _Witness(
        ("ane-hw-intervals", "ane-hw-intervals-internal"),
        "system",
        "when the Neural Engine ran, for every process; Core AI graphs do not appear in it",
    ),
    _Witness(("coreml-os-signpost",), "process", "Core ML's own prediction and load intervals"),
    _Witness(("mps-hw-intervals",), "system", "when Metal Performance Shaders ran on the GPU"),
    _Witness(("metal-gpu-intervals",), "system", "when the GPU ran, graphics included, for every process"),
    _Witness(
        ("os-signpost-interval", "OSSignpostIntervals"), "process", "intervals that apps and frameworks mark"
    ),
    _Witness(("os-signpost",), "process", "events that apps and frameworks mark, begin and end apart"),
    _Witness(("metal-gpu-state-intervals",), "system", "when the GPU was active, for all processes together"),
    _Witness(("thread-state",), "process", "when threads ran and waited"),
)
_READ_NOW = frozenset({"time-profile", "cpu-profile", "counters-profile", "time-sample"})


def gather_evidence(trace: Trace) -> tuple[Evidence, ...]:
    """Return the state of every table that could speak of engines, in a fixed order."""
    return tuple(_state_of(witness, trace) for witness in _WITNESSES)


def _state_of(witness: _Witness, trace: Trace) -> Evidence:
    listed = [table for table in trace.tables if table.schema in witness.schemas]
    held = [table for table in listed if table.row_count is not None]
    name = (held or listed)[0].schema if listed else witness.schemas[0]
    rows = sum(table.row_count or 0 for table in held)
    state: State = "rows" if rows else "empty" if held else "absent"
    everyone = any("ALL" in (t.attributes.get("target-pid"), t.attributes.get("target")) for t in held)
    scope: Scope = "system" if everyone else witness.scope
    return Evidence(name, state, rows, scope, witness.shows, _remark(name, state, listed, trace))


def _remark(name: str, state: State, listed: list[TableInfo], trace: Trace) -> str:
    if state == "rows" and name == trace.samples_source:
        return "this analysis rests on it"
    if state == "rows":
        return "not used; choose it with --samples" if name in _READ_NOW else "not part of this analysis yet"
    if state == "empty":
        return "recorded without a row, which does not prove that nothing ran"
    if listed:
        if trace.info.kind == "trace-bundle":
            return "recorded, and cannot be read here: see the issues"
        return "recorded, but not exported into this input"
    if trace.has_toc:
        return "not recorded"
    return "not in this input; without a table of contents nobody knows whether it was recorded"
