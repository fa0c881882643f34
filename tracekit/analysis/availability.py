"""Availability of each table that can show engine activity: absent, empty, or with rows, and its use here."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.ownership.owners import OWNER_CODE, REASON_CODE, Owner, Reason
from tracekit.frozen import frozen
from tracekit.model import schemas
from tracekit.model.columns import BoolArray
from tracekit.model.tables import NOT_COUNTED, TableInfo
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine

State: TypeAlias = Literal["absent", "empty", "rows"]
Scope: TypeAlias = Literal["system", "process"]


class Use(StrEnum):
    """The use that an analysis made of a table."""

    NOT_RECORDED = "not recorded"
    NOT_EXPORTED = "recorded, but not exported"
    NOT_READABLE = "recorded, but unreadable"
    NOT_KNOWN = "not in this input"
    """The input has no table of contents, so whether it was recorded is unknown."""
    REFUSED = "not recorded: refused"
    """The kernel refused to record: tables without rows were saved."""
    NOTHING_HAS_ROWS = "no table has a row"
    """Neither samples nor anything else has a row, so nothing shows that anything was recorded."""
    NO_ROWS = "recorded, no rows"
    SAMPLES = "the samples of this analysis"
    OTHER_SAMPLES = "samples that are not used"
    COUNTERS = "counters are used"
    UNREADABLE_ROWS = "rows could not be read"
    ANE_NOT_COUNTED = "not counted"
    """No stack of the target shows the Neural Engine, so its work is another process's."""
    ANE_PARTLY = "rows of other processes are excluded"
    ANE_OWNED = "every row belongs to the target"
    ANE_SHARED = "rows belong to another process, or may"
    ANE_UNCHECKED = "rows cannot be assigned to a process"
    GPU = "GPU rows of other processes are excluded"
    MPS_ON_ANE = "rows repeat the Neural Engine's"
    """Some rows repeat rows of the Neural Engine, whose process they name; the others are the GPU's."""
    ROWS = "read"


@frozen
class Evidence:
    """One table that can show engine activity. ``rows`` is 0 unless ``state`` is "rows".

    ``source`` names the table, or its names in this input where there are several; ``table`` is the first of
    its names, whatever the input has. ``excluded`` counts rows that ``use`` leaves out.
    """

    source: str
    state: State
    rows: int
    scope: Scope
    table: str
    use: Use
    excluded: int = 0


_TABLES: tuple[tuple[tuple[str, ...], Scope], ...] = (
    ((schemas.TIME_PROFILE,), "process"),
    ((schemas.CPU_PROFILE,), "process"),
    ((schemas.COUNTERS_PROFILE,), "process"),
    ((schemas.TIME_SAMPLE,), "process"),
    ((schemas.CUMULATIVE_COUNTERS,), "system"),
    ((schemas.CORE_ML,), "process"),
    (schemas.ANE_TABLES, "system"),
    ((schemas.MPS_INTERVALS,), "process"),
    ((schemas.GPU_INTERVALS,), "system"),
    ((schemas.GPU_STATE,), "system"),
    ((*schemas.METAL_APPLICATION_TABLES, schemas.COMMAND_BUFFER_OWNERS), "process"),
    (
        (schemas.SIGNPOST_INTERVALS, schemas.SIGNPOST_INTERVALS_NAMED, schemas.REGIONS_OF_INTEREST),
        "process",
    ),
    ((schemas.SIGNPOST_EVENTS, schemas.POINTS_OF_INTEREST), "process"),
    ((schemas.OS_LOG,), "process"),
    ((schemas.THREAD_STATE,), "system"),
    ((schemas.THREAD_METRICS,), "process"),
    ((schemas.THERMAL_STATE,), "system"),
    ((schemas.MODEL_INFERENCE, schemas.MODEL_REQUEST), "process"),
    ((schemas.MODEL_LOADING,), "process"),
    ((schemas.CORE_AI,), "process"),
)
"""Each table under its names in different Xcodes, and whether its rows are one process's or the system's."""
_OF_TEXTS: tuple[tuple[tuple[str, ...], Scope], ...] = (
    ((schemas.STACK_COUNTS, schemas.LLDB_HITS), "process"),
    ((schemas.POWER_RAILS,), "system"),
    ((schemas.ANE_POWER_STATE,), "system"),
    ((schemas.PROCESS_USAGE,), "process"),
    ((schemas.ENGINE_PRESENCE,), "system"),
)
"""Tables that Instruments does not record: listed where a text brought them."""
_SAMPLES = frozenset(schemas.SAMPLE_TABLES)
_UNREAD = ("table-damaged", "table-unreadable")
_LEAST_TABLES = 2
"""Tables without rows, of samples and others, that an idle process alone does not explain."""


def find_ane_use(evidence: Sequence[Evidence]) -> Use:
    """Return the use that an analysis made of the Neural Engine's table."""
    return next(entry.use for entry in evidence if entry.table == schemas.ANE_TABLES[0])


def gather_evidence(trace: Trace, measured: Measured, is_own: BoolArray) -> tuple[Evidence, ...]:
    """Return the state of every table that can show engine activity, in a fixed order.

    A text of another tool has the tables that it has: none of the others was ever to be expected. ``is_own``
    marks the calls of the processes that the analysis is about.
    """
    present = {table.schema for table in trace.tables}
    of_texts = [(names, scope) for names, scope in _OF_TEXTS if present.intersection(names)]
    is_shared = _is_ane_shared(trace, measured, is_own)
    refusal = find_refusal(trace)
    every = tuple(
        _assess_tables(names, scope, trace, measured, is_shared, refusal)
        for names, scope in (*_TABLES, *of_texts)
    )
    return tuple(entry for entry in every if entry.state != "absent") if trace.is_of_text else every


def find_refusal(trace: Trace) -> Use | None:
    """Return why tables without rows were not recorded; None where they were, as far as can be seen."""
    if any(issue.code == "recording-refused" for issue in trace.issues):
        return Use.REFUSED
    counts = {table.schema: table.row_count for table in trace.tables if table.row_count is not None}
    is_bare = trace.has_toc and bool(_SAMPLES & counts.keys()) and len(counts) >= _LEAST_TABLES
    is_empty = not any(counts.values()) and not len(trace.samples)
    return Use.NOTHING_HAS_ROWS if is_bare and is_empty else None


def has_rows(trace: Trace) -> bool:
    """Return True where a table that an analysis reads has a row."""
    return any(table.row_count not in (None, 0, NOT_COUNTED) for table in trace.tables)


def _is_ane_shared(trace: Trace, measured: Measured, is_own: BoolArray) -> bool:
    """Return True where rows of the Neural Engine are of another process, or may be, by their owners."""
    assignment = measured.assignment
    is_other = (assignment.owner == OWNER_CODE[Owner.CONTESTED]) & (
        assignment.reason != REASON_CODE[Reason.SEVERAL_CALLS]
    )
    is_other[assignment.owned_row[~is_own[assignment.owned_call]]] = True
    is_other[assignment.contested_row[~is_own[assignment.contested_call]]] = True
    return bool(is_other[is_among(trace.intervals["source"].iloc[measured.rows], *schemas.ANE_TABLES)].any())


def _assess_tables(
    tables: tuple[str, ...],
    usual: Scope,
    trace: Trace,
    measured: Measured,
    is_shared: bool,
    refusal: Use | None,
) -> Evidence:
    matching_tables = [table for table in trace.tables if table.schema in tables]
    present = [table for table in matching_tables if table.row_count is not None]
    filled = [table for table in present if table.row_count]
    names = sorted({table.schema for table in filled or present or matching_tables}, key=tables.index)
    rows = sum(table.row_count or 0 for table in present)
    state: State = "rows" if rows else "empty" if present and not refusal else "absent"
    is_system_wide = any(
        "ALL" in (table.attributes.get("target-pid"), table.attributes.get("target")) for table in present
    )
    scope: Scope = "system" if is_system_wide else usual
    use, excluded = (
        _use(names, trace, measured, is_shared)
        if rows
        else ((refusal if present else None) or _explain_absence(state, matching_tables, trace), 0)
    )
    return Evidence(", ".join(names) or tables[0], state, rows, scope, tables[0], use, excluded)


def _explain_absence(state: State, matching_tables: list[TableInfo], trace: Trace) -> Use:
    if state == "empty":
        return Use.NO_ROWS
    if matching_tables:
        messages = " ".join(issue.message for issue in trace.issues if issue.code in _UNREAD)
        if trace.info.kind == "trace-bundle" or any(
            f"'{table.schema}'" in messages for table in matching_tables
        ):
            return Use.NOT_READABLE
        return Use.NOT_EXPORTED
    return Use.NOT_RECORDED if trace.has_toc else Use.NOT_KNOWN


def _use(names: Sequence[str], trace: Trace, measured: Measured, is_shared: bool) -> tuple[Use, int]:
    """Return what became of a table's rows, and how many of them are excluded."""
    if trace.samples_source in names:
        return Use.SAMPLES, 0
    if _SAMPLES & set(names):
        has_counters = schemas.CUMULATIVE_COUNTERS in names and len(trace.counters.columns)
        return Use.COUNTERS if has_counters else Use.OTHER_SAMPLES, 0
    messages = " ".join(issue.message for issue in trace.issues if issue.code == "table-unreadable")
    if any(f"'{name}'" in messages for name in names):
        return Use.UNREADABLE_ROWS, 0
    if set(names) & set(schemas.ANE_TABLES):
        return _use_of_ane(measured, is_shared)
    if schemas.GPU_INTERVALS in names:
        return Use.GPU, measured.rows_of_other_processes(schemas.GPU_INTERVALS)
    if schemas.MPS_INTERVALS in names and (repeating := _count_rows_on_ane(trace)):
        return Use.MPS_ON_ANE, repeating
    return Use.ROWS, 0


def _count_rows_on_ane(trace: Trace) -> int:
    """Return how many MPS rows repeat rows of the Neural Engine."""
    rows = trace.intervals
    return int(((rows["source"] == schemas.MPS_INTERVALS) & (rows["engine"] == Engine.ANE)).sum())


def _use_of_ane(measured: Measured, is_shared: bool) -> tuple[Use, int]:
    owner = measured.owner
    other_process = int(owner.other_process.sum())
    if owner.unattributed:
        return Use.ANE_NOT_COUNTED, other_process
    if other_process:
        return Use.ANE_PARTLY, other_process
    if owner.unmatched or owner.unchecked:
        return Use.ANE_UNCHECKED, 0
    return Use.ANE_SHARED if is_shared else Use.ANE_OWNED, 0
