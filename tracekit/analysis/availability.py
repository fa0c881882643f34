"""What could have spoken: every table that can show an engine at work, and whether this input has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tracekit.analysis.engines.measured import Measured
from tracekit.model import schemas
from tracekit.model.tables import TableInfo
from tracekit.model.trace import Trace
from tracekit.text import plural

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
        (schemas.TIME_PROFILE,),
        "process",
        "host samples: who called an engine, not how long the engine worked",
    ),
    _Witness((schemas.CPU_PROFILE,), "process", "host samples weighed in CPU cycles, not in time"),
    _Witness((schemas.COUNTERS_PROFILE,), "process", "host samples with hardware counters"),
    _Witness((schemas.TIME_SAMPLE,), "process", "raw host samples, which have no symbols in an export"),
    _Witness(
        (schemas.CUMULATIVE_COUNTERS,),
        "system",
        "hardware counters per core at each sampling tick",
    ),
    _Witness((schemas.CORE_ML,), "process", "Core ML's own predictions, requests and loads"),
    _Witness(
        schemas.ANE_TABLES,
        "system",
        "when the Neural Engine ran, for every process and naming none; Core AI graphs may not appear",
    ),
    _Witness(
        (schemas.MPS_INTERVALS,),
        "process",
        "when MPSGraph ran a program, on the GPU or through the Neural Engine",
    ),
    _Witness((schemas.GPU_INTERVALS,), "system", "when the GPU ran, graphics included, for every process"),
    _Witness((schemas.GPU_STATE,), "system", "when the GPU was active, for all processes together"),
    _Witness(
        (*schemas.METAL_APPLICATION_TABLES, schemas.COMMAND_BUFFER_OWNERS),
        "process",
        "when an app encoded and submitted GPU work, not when the GPU did it",
    ),
    _Witness(
        (schemas.SIGNPOST_INTERVALS, schemas.SIGNPOST_INTERVALS_NAMED, schemas.REGIONS_OF_INTEREST),
        "process",
        "intervals that apps and frameworks mark",
    ),
    _Witness(
        (schemas.SIGNPOST_EVENTS, schemas.POINTS_OF_INTEREST),
        "process",
        "events that apps and frameworks mark, begin and end apart",
    ),
    _Witness((schemas.THREAD_STATE,), "system", "when threads ran and waited"),
    _Witness((schemas.THREAD_METRICS,), "process", "sums of hardware counters per thread"),
    _Witness((schemas.THERMAL_STATE,), "system", "whether heat slowed the device down"),
    _Witness(
        (schemas.MODEL_INFERENCE, schemas.MODEL_REQUEST),
        "process",
        "requests to Foundation Models; prompts and answers stay unread",
    ),
    _Witness((schemas.MODEL_LOADING,), "process", "when Foundation Models loaded what"),
    _Witness((schemas.CORE_AI,), "process", "Core AI's graphs, without a word of the engine"),
)
_SAMPLES = frozenset(schemas.SAMPLE_TABLES)
_UNREAD = ("table-damaged", "table-unreadable")


def gather_evidence(trace: Trace, measured: Measured) -> tuple[Evidence, ...]:
    """Return the state of every table that could speak of engines, in a fixed order."""
    return tuple(_state_of(witness, trace, measured) for witness in _WITNESSES)


def _state_of(witness: _Witness, trace: Trace, measured: Measured) -> Evidence:
    listed = [table for table in trace.tables if table.schema in witness.schemas]
    held = [table for table in listed if table.row_count is not None]
    filled = [table for table in held if table.row_count]
    names = sorted({table.schema for table in filled or held or listed}, key=witness.schemas.index)
    name = ", ".join(names) or witness.schemas[0]
    rows = sum(table.row_count or 0 for table in held)
    state: State = "rows" if rows else "empty" if held else "absent"
    everyone = any("ALL" in (t.attributes.get("target-pid"), t.attributes.get("target")) for t in held)
    scope: Scope = "system" if everyone else witness.scope
    return Evidence(name, state, rows, scope, witness.shows, _remark(names, state, listed, trace, measured))


def _remark(
    names: Sequence[str], state: State, listed: list[TableInfo], trace: Trace, measured: Measured
) -> str:
    if state == "rows":
        return _use(names, trace, measured)
    if state == "empty":
        return "recorded without a row, which does not prove that nothing ran"
    if listed:
        told = " ".join(issue.message for issue in trace.issues if issue.code in _UNREAD)
        if trace.info.kind == "trace-bundle" or any(f"'{table.schema}'" in told for table in listed):
            return "recorded, and cannot be read here: see the issues"
        return "recorded, but not exported into this input"
    if trace.has_toc:
        return "not recorded"
    return "not in this input; without a table of contents nobody knows whether it was recorded"


def _use(names: Sequence[str], trace: Trace, measured: Measured) -> str:
    """Say what became of a table's rows."""
    if trace.samples_source in names:
        return "this analysis rests on it"
    if _SAMPLES & set(names):
        counts = schemas.CUMULATIVE_COUNTERS in names and len(trace.counters.columns)
        return "its counters are used" if counts else "not used; choose it with --samples"
    unread = " ".join(issue.message for issue in trace.issues if issue.code == "table-unreadable")
    if any(f"'{name}'" in unread for name in names):
        return "could not be read: see the issues"
    if set(names) & set(schemas.ANE_TABLES):
        foreign = int(measured.owner.foreign.sum())
        if measured.owner.unclaimed:
            return "not counted: no stack of the target shows the Neural Engine, so its work is another's"
        if foreign:
            rows = plural(foreign, "row")
            return f"measures the Neural Engine's busy time; {rows} of it fit none of the target's models"
        owned = measured.owner.named_by_core_ml and not measured.owner.unmatched
        whose = "every row fits a model of the target" if owned else "whose work each row is, nothing tells"
        return f"measures the Neural Engine's busy time; {whose}"
    if schemas.GPU_INTERVALS in names:
        others = measured.rows_of_others(schemas.GPU_INTERVALS)
        return f"measures the GPU's busy time; {plural(others, 'row')} of other processes left out"
    return _USES.get(names[0], "read")


_USES = {
    schemas.MPS_INTERVALS: "measures the GPU's busy time",
    schemas.CORE_ML: "gives the windows, unless others were asked for",
    schemas.SIGNPOST_INTERVALS: "gives windows with --window-signpost",
    schemas.SIGNPOST_INTERVALS_NAMED: "gives windows with --window-signpost",
    schemas.REGIONS_OF_INTEREST: "gives windows with --window-signpost",
    schemas.SIGNPOST_EVENTS: "begins and ends are paired; gives windows with --window-signpost",
    schemas.THREAD_STATE: "tells when threads waited",
    schemas.GPU_STATE: "kept as a track",
    schemas.THERMAL_STATE: "told under Recording",
    schemas.MODEL_INFERENCE: "gives windows",
    schemas.METAL_CALLS: "names the process of GPU work",
}
