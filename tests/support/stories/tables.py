"""A story as tables: one list of rows, written as xctrace's exports or held in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from sample_generator.addresses import made_up_uuid
from sample_generator.app_work import SERIAL_QUEUE
from sample_generator.cells import (
    composed,
    core_cell,
    duration_cell,
    named,
    number_cell,
    process,
    time_cell,
    weight_cell,
)
from sample_generator.coreml_work import E5RT_QUEUE
from sample_generator.notation import Call as Frame
from sample_generator.notation import calls as frames_of
from sample_generator.schemas import COLUMNS
from sample_generator.xml_writer import DECLARATION, SENTINEL, Element, Node, Schema, pretty, query_result
from stories.model import (
    ANE_TABLE,
    CORE_ML_TABLE,
    GPU_TABLE,
    SAMPLE_TABLE,
    SIGNPOST_TABLE,
    TABLES,
    Post,
    Process,
    Row,
    RuntimeRow,
    Sample,
    Story,
)
from tracekit.load import trace_of
from tracekit.model.columns import PROCESSES, THREADS
from tracekit.model.tables import Column, StackTable, Table, TableInfo
from tracekit.model.trace import RunInfo, Trace, TraceInfo
from tracekit.parsers.engineering_types import KIND_OF_TYPE
from tracekit.parsers.in_memory import InMemorySource

Cells = tuple[Element, ...]
_OS, _INSTRUMENTS = "27.0 (26A300)", "27.0 (27A266a)"
_START = "2026-01-01T12:00:00.000Z"
_LEFT_OUT = frozenset({"backtrace", "emit-location", "format-string"})
"""Columns of os-signpost that no story fills."""


def rows_of(story: Story, table: str) -> list[Cells]:
    """Return the rows of a table as cells in the order of its columns."""
    writer, rows = {
        ANE_TABLE: (_ane, [row for row in story.rows if row.engine == "ANE"]),
        GPU_TABLE: (_gpu, [row for row in story.rows if row.engine == "GPU"]),
        CORE_ML_TABLE: (_core_ml, story.runtime_rows),
        SAMPLE_TABLE: (_sample, [row for row in story.samples if row.process.pid in story.sampled]),
        SIGNPOST_TABLE: (_signpost, story.posts),
    }[table]
    write: Callable[[Story, object], Cells] = writer  # type: ignore[assignment]
    return [write(story, row) for row in rows]  # type: ignore[attr-defined]


def files_of(story: Story) -> dict[str, str]:
    """Return the folder that ``xctrace export`` would write: name → content, with ``STORY.txt``."""
    tables = [table for table in TABLES if story.has(table)]
    files = {
        f"{table}.xml": query_result(_schema(table), [Node(index, list(rows_of(story, table)))])
        for index, table in enumerate(tables, 1)
    }
    text = "".join(f"{sentence}\n" for sentence in story.sentences())
    return {"toc.xml": _contents(story, tables), "STORY.txt": text, **files}


def write_story(story: Story, folder: Path) -> None:
    """Write the files of a story into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files_of(story).items():
        (folder / name).write_text(content, encoding="utf-8")


def trace_in_memory(story: Story) -> Trace:
    """Return the story as a trace, through the readers of tables and without XML."""
    return trace_of(source_in_memory(story))


def source_in_memory(story: Story) -> InMemorySource:
    """Return the story as the source that its exports would be."""
    tables = [table for table in TABLES if story.has(table)]
    contents = {(1, table): (_table(table, rows_of(story, table)),) for table in tables}
    infos = tuple(
        TableInfo(table, 1, index, _attributes(table), len(contents[1, table][0]))
        for index, table in enumerate(tables, 1)
    )
    info = TraceInfo(
        f"story-{story.seed}",
        "xctrace-xml",
        device="Synthetic Mac",
        model="MacBook Pro",
        platform="macOS",
        os=_OS,
        template="Core ML",
        instruments=_INSTRUMENTS,
        start=_START,
        end_reason="Time limit reached",
        duration_ns=story.duration_ns,
        process=story.target.name,
        pid=story.target.pid,
    )
    run = RunInfo(info, infos, frozenset([story.target.pid]), frozenset([story.target.name]))
    return InMemorySource(info.name, info.kind, True, (run,), contents)


# Rows as cells --------------------------------------------------------------------------------------------


def _ane(_story: Story, row: Row) -> Cells:
    return (
        time_cell("start-time", row.start_ns),
        duration_cell(row.end_ns - row.start_ns),
        named("ane-event-name", "Apple Neural Engine"),
        number_cell("metal-nesting-level", 0),
        composed("formatted-label", named("string", row.label)) if row.label else SENTINEL,
        named("gpu-state", "Active"),
        number_cell("render-buffer-depth", 0),
    )


def _gpu(story: Story, row: Row) -> Cells:
    client = story.calls[row.call].process
    label = composed("formatted-label", f"{row.label} ( {client.name} ({client.pid}) )")
    return (
        time_cell("start-time", row.start_ns),
        duration_cell(row.end_ns - row.start_ns),
        named("gpu-channel-name", "Compute"),
        SENTINEL,
        SENTINEL,
        number_cell("metal-nesting-level", 0),
        label,
        named("gpu-state", "Active"),
        SENTINEL,
        number_cell("render-buffer-depth", 0),
        _process(client) if row.pid >= 0 else SENTINEL,
        named("metal-device-name", "Synthetic GPU"),
        *[SENTINEL] * 6,
    )


def _core_ml(_story: Story, row: RuntimeRow) -> Cells:
    label = composed("formatted-label", named("string", row.name)) if row.name else SENTINEL
    return (
        time_cell("start-time", row.start_ns),
        duration_cell(row.end_ns - row.start_ns),
        number_cell("layout-id", 0),
        named("coreml-model-event", row.event),
        named("coreml-model-name", row.name) if row.name else SENTINEL,
        label,
        label,
        SENTINEL,
        named("coreml-model-level", "Top"),
        named("string", row.event),
        named("event-concept", "Blue"),
        SENTINEL,
    )


def _sample(story: Story, sample: Sample) -> Cells:
    return (
        time_cell("sample-time", sample.time_ns),
        _thread(sample.process, sample.tid),
        _process(sample.process),
        core_cell(5),
        named("thread-state", "Running"),
        weight_cell(story.period_ns),
        _stack(sample),
    )


def _signpost(story: Story, post: Post) -> Cells:
    return (
        time_cell("event-time", post.time_ns),
        _thread(story.target, post.tid),
        _process(story.target),
        named("event-type", post.kind),
        named("string", "Process"),
        Element("os-signpost-identifier", str(post.identifier), str(post.identifier)),
        named("signpost-name", "predict"),
        named("subsystem", f"org.example.{story.target.name}"),
        named("category", "Inference"),
        Element(
            "os-log-metadata",
            f"model={post.model}",
            children=(named("narrative-text", "model="), named("string", post.model)),
        ),
    )


@cache
def _thread(client: Process, tid: int) -> Element:
    fmt = f"Thread {tid:#x} ({tid:#x}) ({client.name}, pid: {client.pid})"
    return Element("thread", fmt, children=(Element("tid", hex(tid), str(tid)), _process(client)))


@cache
def _process(client: Process) -> Element:
    return process(client.name, client.pid)


def _stack(sample: Sample) -> Element:
    return _backtrace(sample.process.name, sample.is_worker, sample.work.role, sample.work.calls or ())


@cache
def _backtrace(app: str, is_worker: bool, role: str, work: tuple[Frame, ...]) -> Element:
    """Return the calls of a sample, leaf first; on a worker no frame shows the call that it works for."""
    root = frames_of(E5RT_QUEUE) if is_worker else (*frames_of(SERIAL_QUEUE), Frame(app, f"{app}.predict()"))
    stack = [*root, *work]
    return Element("backtrace", children=tuple(_frame(app, frame) for frame in reversed(stack)))


def _frame(app: str, frame: Frame) -> Element:
    name = app if frame.binary == "SampleApp" else frame.binary or app
    path = f"/Applications/{app}.app/{name}" if name == app else f"/System/Library/{name}"
    address = 0x1_0000_0000 + sum(map(ord, f"{name}{frame.symbol}")) * 64
    binary = Element(
        "binary",
        attributes=(
            ("name", name),
            ("UUID", made_up_uuid(name)),
            ("arch", "arm64e"),
            ("load-addr", "0x100000000"),
            ("path", path),
        ),
    )
    symbol = frame.symbol if frame.has_symbol else hex(address)
    return Element("frame", children=(binary,), attributes=(("name", symbol), ("addr", hex(address))))


# The contents of a folder of exports ----------------------------------------------------------------------


def _columns(table: str) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (mnemonic, title, "backtrace" if kind == "STACK" else kind)
        for mnemonic, title, kind in COLUMNS[table]
        if table != SIGNPOST_TABLE or mnemonic not in _LEFT_OUT
    )


def _schema(table: str) -> Schema:
    return Schema(table, _columns(table))


def _attributes(table: str) -> dict[str, str]:
    return {"target-pid": "SINGLE"} if table == CORE_ML_TABLE else {}


def _contents(story: Story, tables: Sequence[str]) -> str:
    device = {
        "platform": "macOS",
        "model": "MacBook Pro",
        "name": "Synthetic Mac",
        "os-version": _OS,
        "uuid": "0",
    }
    client = {"name": story.target.name, "pid": str(story.target.pid)}
    summary = {
        "start-date": _START,
        "duration": f"{story.duration_ns / 1e9:.9f}",
        "end-reason": "Time limit reached",
        "instruments-version": _INSTRUMENTS,
        "template-name": "Core ML",
    }
    listed = (_tag("table", schema=table, **_attributes(table)) for table in tables)
    target = _tag("target", _tag("device", **device), _tag("process", type="attached", **client))
    facts = _tag("summary", *(Element(tag, text=text) for tag, text in summary.items()))
    path = f"/Applications/{story.target.name}"
    processes = _tag("processes", _tag("process", **client, path=path))
    run = _tag("run", _tag("info", target, facts), processes, _tag("data", *listed), number="1")
    return f"{DECLARATION}{pretty(_tag('trace-toc', run))}\n"


def _tag(tag: str, *children: Element, **attributes: str) -> Element:
    return Element(tag, children=children, attributes=tuple(attributes.items()))


# Cells as typed columns -----------------------------------------------------------------------------------


class _Numbers:
    """Distinct elements, numbered in the order in which they come; equal ones are the same object."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self._numbers: dict[int, int] = {}

    def of(self, element: Element) -> int:
        """Return the number of an element, -1 for null."""
        if element is SENTINEL:
            return -1
        if id(element) not in self._numbers:
            self._numbers[id(element)] = len(self.elements)
            self.elements.append(element)
        return self._numbers[id(element)]


def _table(schema: str, rows: Sequence[Cells]) -> Table:
    threads, processes, stacks = _Numbers(), _Numbers(), _Numbers()
    numbered = {"thread": threads, "process": processes, "stack": stacks}
    columns = tuple(
        Column(mnemonic, title, kind, KIND_OF_TYPE[kind]) for mnemonic, title, kind in _columns(schema)
    )
    frame = {}
    for position, column in enumerate(columns):
        cells = [row[position] for row in rows]
        if column.kind in numbered:
            values = np.array([numbered[column.kind].of(cell) for cell in cells], np.int32)
            frame[column.mnemonic] = pd.Series(values)
        else:
            frame[column.mnemonic] = _PLAIN[column.kind](cells)
    return Table(
        schema,
        columns,
        pd.DataFrame(frame, index=pd.RangeIndex(len(rows))),
        _threads_of(threads.elements),
        _processes_of(processes.elements),
        StackTable.from_stacks(list(map(_frames, stacks.elements)))
        if stacks.elements
        else StackTable.empty(),
        attributes=_attributes(schema),
    )


def _threads_of(elements: Sequence[Element]) -> pd.DataFrame:
    if not elements:
        return THREADS.empty()
    clients = [_process_of(element.children[1]) for element in elements]
    columns = {
        "tid": [int(element.children[0].text or 0) for element in elements],
        "name": [(element.fmt or "").split(" (")[0] for element in elements],
        "pid": [pid for pid, _ in clients],
        "process": [name for _, name in clients],
    }
    return pd.DataFrame(columns).astype(dict(THREADS.required))


def _processes_of(elements: Sequence[Element]) -> pd.DataFrame:
    if not elements:
        return PROCESSES.empty()
    clients = [_process_of(element) for element in elements]
    columns = {"pid": [pid for pid, _ in clients], "name": [name for _, name in clients]}
    return pd.DataFrame(columns).astype(dict(PROCESSES.required))


def _process_of(element: Element) -> tuple[int, str]:
    name = (element.fmt or "").rpartition(" (")[0]
    return int(element.children[0].text or 0), name


def _frames(stack: Element) -> list[tuple[str, str]]:
    """Return (binary, symbol) of each frame."""
    return [
        (dict(frame.children[0].attributes)["name"], dict(frame.attributes)["name"])
        for frame in stack.children
    ]


def _integers(cells: Iterable[Element]) -> pd.Series:
    values = [pd.NA if cell is SENTINEL else int(cell.text or 0) for cell in cells]
    return pd.Series(values, dtype="Int64")


def _texts(cells: Iterable[Element]) -> pd.Series:
    return pd.Series([None if cell is SENTINEL else cell.fmt for cell in cells], dtype="str").astype(
        "category"
    )


def _pieces(cells: Iterable[Element]) -> pd.Series:
    values = [
        None if cell is SENTINEL else tuple((part.tag, part.text) for part in cell.children) for cell in cells
    ]
    return pd.Series(values, dtype="object")


_PLAIN: dict[str, Callable[[Iterable[Element]], pd.Series]] = {
    "int": _integers,
    "text": _texts,
    "parts": _pieces,
}
