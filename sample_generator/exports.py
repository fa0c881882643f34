"""A recording's samples as the rows of its sampling table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator.cells import Cells, core_cell, counters_cell, cycles_cell, named, time_cell, weight_cell
from sample_generator.schemas import schema_of
from sample_generator.xml_writer import SENTINEL, Element, Node, query_result

if TYPE_CHECKING:
    from sample_generator.recording import Recording, Sample


def sampling_table(recording: Recording, table_index: int) -> str:
    """Return the export of the recording's sampling table."""
    cells = Cells(recording)
    rows = [_row(recording, cells, sample) for sample in recording.samples]
    return query_result(schema_of(recording, recording.table), [Node(table_index, rows)])


def _row(recording: Recording, cells: Cells, sample: Sample) -> tuple[Element, ...]:
    time = time_cell("sample-time", sample.time_ns)
    thread = cells.thread(sample.lane)
    state = named("thread-state", "Blocked" if sample.stackshot else "Running")
    core = core_cell(sample.core)
    if recording.table == "time-sample":
        kind = ("Stackshot", "3") if sample.stackshot else ("Timer Fired", "0")
        where = SENTINEL if sample.stackshot else core
        stack = cells.kperf(sample)
        return time, thread, where, state, SENTINEL, stack, Element("time-sample-kind", *kind)
    common_cells = (time, thread, cells.app, core, state)
    if recording.table == "counters-profile":
        return *common_cells, cells.stack(sample), weight_cell(sample.weight), counters_cell(sample.counters)
    if recording.table == "cpu-profile":
        return *common_cells, cycles_cell(sample.weight), cells.stack(sample)
    return *common_cells, weight_cell(sample.weight), cells.stack(sample)
