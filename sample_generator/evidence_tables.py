"""The exports of a recording's tables of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator.cells import (
    Cells,
    composed,
    core_cell,
    counters_cell,
    duration_cell,
    named,
    number_cell,
    time_cell,
)
from sample_generator.dice import Dice
from sample_generator.evidence import by_source
from sample_generator.evidence_logs import log_row
from sample_generator.schemas import schema_of
from sample_generator.xml_writer import SENTINEL, Element, Node, query_result

if TYPE_CHECKING:
    from sample_generator.evidence import Evidence, Level, Signpost, Span, ThreadState
    from sample_generator.recording import Lane, Recording, Sample
    from sample_generator.toc import Contents

Row = tuple[Element, ...]


def evidence_tables(recording: Recording, contents: Contents, evidence: Evidence) -> dict[str, str]:
    """Return one file for each table of evidence; of several tables of a schema the last has the rows."""
    cells = Cells(recording)
    spans = by_source(evidence.spans)
    if not spans.keys() <= set(evidence.interval_tables):
        raise ValueError(f"{recording.name}: rows of {spans.keys()} in tables that are not exported")
    tables: dict[str, list[Row]] = {
        table: [_span(span) for span in spans.get(table, [])] for table in evidence.interval_tables
    }
    if evidence.signposts:
        tables["os-signpost"] = [_signpost(cells, post) for post in evidence.signposts]
    if evidence.log:
        lines = sorted(evidence.log, key=lambda line: line.time_ns)
        tables["os-log"] = [log_row(recording, cells, line) for line in lines]
    if evidence.thread_states:
        tables["thread-state"] = [_thread_state(cells, state) for state in evidence.thread_states]
    if evidence.thermal:
        tables["device-thermal-state-intervals"] = [_thermal(level) for level in evidence.thermal]
    if evidence.gpu_active:
        tables["metal-gpu-state-intervals"] = [_gpu_state(level) for level in evidence.gpu_active]
    if evidence.cumulative_counters:
        tables["kdebug-counters-with-time-sample"] = _counter_samples(recording, cells)
    return {f"{schema}.xml": _export(recording, contents, schema, rows) for schema, rows in tables.items()}


def _export(recording: Recording, contents: Contents, schema: str, rows: list[Row]) -> str:
    indexes = contents.indexes(schema)
    nodes = [Node(index, rows if index == indexes[-1] else []) for index in indexes]
    return query_result(schema_of(recording, schema), nodes)


def _span(span: Span) -> Row:
    return time_cell("start-time", span.start_ns), duration_cell(span.end_ns - span.start_ns), *span.cells


def _signpost(cells: Cells, post: Signpost) -> Row:
    head, argument = ("", post.metadata) if post.identifier else ("model=", post.model)
    message = (*((named("narrative-text", head),) if head else ()), named("string", argument))
    identifier = Element("os-signpost-identifier", "OS_SIGNPOST_ID_EXCLUSIVE", "17216892719917625070")
    if post.identifier:
        identifier = number_cell("os-signpost-identifier", post.identifier)
    is_end = post.kind == "End" and post.identifier  # an End of Apple's package has no arguments
    return (
        time_cell("event-time", post.time_ns),
        cells.thread(post.lane),
        cells.app,
        named("event-type", post.kind),
        named("string", "Process"),
        identifier,
        named("signpost-name", post.name),
        named("format-string", "" if is_end else f"{head}%{{public}}s"),
        cells.text_backtrace(post.lane),
        named("subsystem", post.subsystem),
        named("category", post.category),
        SENTINEL if is_end else Element("os-log-metadata", f"{head}{argument}", children=message),
        cells.emit_location(),
    )


def _thread_state(cells: Cells, state: ThreadState) -> Row:
    word = named("thread-state", "Blocked" if state.core is None else "Running")
    priority = number_cell("sched-priority", 31)
    summary = (word,) if state.core is None else (word, named("narrative-text", " at priority "), priority)
    return (
        time_cell("start-time", state.start_ns),
        cells.thread(state.lane),
        word,
        duration_cell(state.end_ns - state.start_ns),
        cells.app,
        SENTINEL if state.core is None else core_cell(state.core),
        SENTINEL,
        SENTINEL,
        priority,
        SENTINEL,
        composed("narrative", *summary),
    )


def _thermal(level: Level) -> Row:
    state = named("thermal-state", level.state)
    return (
        time_cell("start-time", level.start_ns),
        duration_cell(level.end_ns - level.start_ns),
        time_cell("start-time", level.end_ns),
        state,
        named("string", "Current"),
        Element("boolean", "No", "0"),
        composed("narrative", state, " thermal state"),
    )


def _gpu_state(level: Level) -> Row:
    return (
        time_cell("start-time", level.start_ns),
        duration_cell(level.end_ns - level.start_ns),
        named("gpu-state", level.state),
        composed("formatted-label", named("string", level.state)),
        number_cell("render-buffer-depth", 0),
        number_cell("uint64", 1 if level.state == "Active" else 0),
        named("metal-device-name", "Synthetic GPU"),
    )


# Counters that only ever grow -----------------------------------------------------------------------------


def _counter_samples(recording: Recording, cells: Cells) -> list[Row]:
    """Return the samples again, each with what its core has counted so far.

    At the first sample the other threads are listed as blocked, on no core and without counters.
    """
    first = recording.samples[0]
    rows = [_blocked(cells, lane, first) for lane in recording.lanes if lane is not first.lane]
    totals = _core_totals(recording)
    for sample in recording.samples:
        so_far = totals[sample.core]
        totals[sample.core] = tuple(map(sum, zip(so_far, sample.counters, strict=True)))
        rows.append(_counted(cells, sample, totals[sample.core]))
    return rows


def _core_totals(recording: Recording) -> dict[int, tuple[int, ...]]:
    """Return what each core had counted since the machine was started."""
    dice = Dice(f"counters of {recording.name}")
    return {
        core: tuple(90_000_000_000 + dice.below(40_000_000_000) for _ in recording.counter_names)
        for core in recording.platform.cores
    }


def _counted(cells: Cells, sample: Sample, totals: tuple[int, ...]) -> Row:
    return (
        time_cell("sample-time", sample.time_ns),
        cells.thread(sample.lane),
        core_cell(sample.core),
        named("thread-state", "Running"),
        cells.kperf(sample) if sample.frames else SENTINEL,
        counters_cell(totals),
    )


def _blocked(cells: Cells, lane: Lane, sample: Sample) -> Row:
    time = time_cell("sample-time", sample.time_ns)
    return time, cells.thread(lane), SENTINEL, named("thread-state", "Blocked"), SENTINEL, SENTINEL
