"""Intervals that engines and runtimes reported about their own work → ``Trace.intervals``.

One row per row of each table: nothing is merged here, so that a table can be counted against its export. Each
reader states how it recognizes rows of another table that describe the same work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from tracekit.model.columns import INTERVALS, IntArray
from tracekit.model.schemas import (
    ANE_TABLES,
    COMMAND_BUFFER_OWNERS,
    GPU_INTERVALS,
    METAL_APPLICATION_TABLES,
    MPS_INTERVALS,
)
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter, TraceInfo
from tracekit.model.vocabulary import ENGINE_CODE, PHASE_CODE, Engine, Phase
from tracekit.parsers.tables.call_intervals import CALL_TABLES, read_call_intervals
from tracekit.parsers.tables.column_values import (
    Mask,
    TextColumn,
    extract_pids,
    extract_texts,
    extract_words,
    join_rows,
    number_rows,
)
from tracekit.parsers.tables.interval_frames import (
    build_interval_frame,
    extract_depth,
    extract_pids_or_target,
    list_words,
    repeat_engine,
)
from tracekit.parsers.tables.interval_labels import (
    Form,
    has_ml_mark,
    parse_ane_label,
    parse_command_buffer,
    parse_gpu_model,
)
from tracekit.parsers.tables.row_times import RowTimes, read_times

_AT_REST = frozenset({"idle", "inactive", "off", "waiting", "queued", "pending"})
_STATES = _AT_REST | {"", "active"}

TableLoader = Callable[[str], Iterable[Table]]


def read_intervals(tables: TableLoader, info: TraceInfo) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the rows of every table of ``INTERVAL_TABLES`` that ``tables`` yields, table by table.

    An unknown end is ``row_times.OPEN_NS``. ``info`` names the process of tables that record the target only.
    """
    findings = IssueCounter()
    builder = _IntervalBuilder(tables, info, findings)
    return INTERVALS.check(join_rows(list(builder.iter_frames()), INTERVALS), "intervals"), findings.issues()


class _IntervalBuilder:
    """Reads the tables in order of dependence.

    MPS rows that repeat an ANE interval need the ANE table, and give its rows their process; GPU rows
    get their ML mark and their process from the command buffers of MPS rows and of the app's own Metal rows.
    """

    def __init__(self, tables: TableLoader, info: TraceInfo, findings: IssueCounter) -> None:
        self._tables = tables
        self._target = -1 if info.pid is None else info.pid
        self._findings = findings

    def iter_frames(self) -> Iterator[pd.DataFrame]:
        """Yield one frame per table."""
        ane = [self._read_ane(table) for schema in ANE_TABLES for table in self._tables(schema)]
        mps = [self._read_mps(table, ane) for table in self._tables(MPS_INTERVALS)]
        yield from (frame.assign(pid=_find_pids_of_twins(frame, mps)) for frame in ane)
        yield from mps
        # Command buffers that MPS names do inference, whatever the label of the GPU's own row.
        ml_buffers = _find_distinct([frame["command_buffer"].to_numpy(np.int64) for frame in mps])
        metal = [
            self._read_metal(table, ml_buffers, Phase.DISPATCH)
            for schema in METAL_APPLICATION_TABLES
            for table in self._tables(schema)
        ]
        yield from metal
        owners = self._read_owners(metal)
        for table in self._tables(GPU_INTERVALS):
            frame = self._read_metal(table, ml_buffers, Phase.EXECUTE)
            pid = frame["pid"].to_numpy(np.int64)
            yield frame.assign(pid=np.where(pid < 0, owners.find_pids(frame), pid))
        for schema in CALL_TABLES:
            for table in self._tables(schema):
                yield read_call_intervals(table, self._target, self._findings)

    def _read_ane(self, table: Table) -> pd.DataFrame:
        """Return the Neural Engine's rows. The table covers all processes and names none."""
        spans = read_times(table, self._findings)
        table = spans.table
        label = extract_texts(table, "event-label")
        self._note_labels(table.schema, label)
        phase = label.compute(lambda word: PHASE_CODE[parse_ane_label(word).phase], np.int64)
        return build_interval_frame(
            spans,
            engine=repeat_engine(Engine.ANE, spans),
            phase=np.where(self._mark_inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            model=label.map(lambda word: parse_ane_label(word).model),
            segment=label.map(lambda word: parse_ane_label(word).segment),
            channel=extract_texts(table, "channel-name"),
            depth=extract_depth(table),
        )

    def _note_labels(self, schema: str, label: TextColumn) -> None:
        """Report the labels that are not understood, and what their rows count as."""
        count, labels = _list_labels(label, "cut off")
        text = (
            f"{{n}} labels of '{schema}' are cut off ({labels}); they count as no work, because their kind is"
        )
        self._findings.add("warning", "ane-label-cut-off", f"{text} not known", count)
        count, labels = _list_labels(label, "unknown")
        text = f"{{n}} labels of '{schema}' have an unknown form ({labels}); they count as execution"
        self._findings.add("info", "ane-label-unknown", text, count)

    def _read_mps(self, table: Table, ane: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Return MPSGraph's rows.

        MPSGraph may hand a program to the Neural Engine: then both tables have an interval with the same
        start and end, and only the Neural Engine's counts.
        """
        spans = read_times(table, self._findings)
        table = spans.table
        label = extract_texts(table, "event-label")
        handed = _mark_executed_spans(spans, ane)
        text = (
            f"{{n}} rows of '{table.schema}' repeat intervals of the Neural Engine: MPSGraph handed this"
            " work over, so it does not count for the GPU"
        )
        self._findings.add("info", "mps-on-ane", text, int(handed.sum()))
        phase = np.where(handed, PHASE_CODE[None], PHASE_CODE[Phase.EXECUTE])
        # Ids are 64-bit addresses, and the model keeps their bits: modulo 2^64, -1 (no id) has all bits set.
        buffers = np.array([parse_command_buffer(word) % 2**64 for word in label.words], np.uint64)
        return build_interval_frame(
            spans,
            engine=np.where(handed, ENGINE_CODE[Engine.ANE], ENGINE_CODE[Engine.GPU]),
            phase=np.where(self._mark_inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            channel=extract_texts(table, "channel-name"),
            pid=extract_pids_or_target(table, self._target),
            depth=extract_depth(table),
            command_buffer=buffers.astype(np.int64)[label.codes],
        )

    def _read_metal(self, table: Table, ml_buffers: IntArray, ml_phase: Phase) -> pd.DataFrame:
        """Return rows of Metal and of the GPU.

        The GPU draws as well: work counts as inference if its label names an ML library, or if MPS names its
        command buffer.
        """
        spans = read_times(table, self._findings)
        table = spans.table
        label = extract_texts(table, "event-label").fill_empty(extract_texts(table, "encoder-label"))
        label = label.fill_empty(extract_texts(table, "cmdbuffer-label"))
        buffers = extract_words(table, "cmdbuffer-id").astype(np.int64)
        # Two independent marks, and either is enough: names of ML libraries in labels, or the buffer's id in
        # MPS rows.
        is_ml = label.compute(has_ml_mark, np.bool_) | np.isin(buffers, ml_buffers)
        phase = np.where(is_ml, PHASE_CODE[ml_phase], PHASE_CODE[None])
        return build_interval_frame(
            spans,
            engine=np.where(is_ml, ENGINE_CODE[Engine.GPU], ENGINE_CODE[Engine.GRAPHICS]),
            phase=np.where(self._mark_inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            model=label.map(parse_gpu_model),
            channel=extract_texts(table, "channel-name", "event-type"),
            pid=extract_pids(table),
            depth=extract_depth(table),
            command_buffer=buffers,
        )

    def _read_owners(self, metal: Sequence[pd.DataFrame]) -> _Owners:
        submitted = list(self._tables(COMMAND_BUFFER_OWNERS))
        buffers = [extract_words(table, "cmdbuffer-id").astype(np.int64) for table in submitted]
        pids = [extract_pids(table) for table in submitted]
        return _Owners(
            [*buffers, *(frame["command_buffer"].to_numpy(np.int64) for frame in metal)],
            [*pids, *(frame["pid"].to_numpy(np.int64) for frame in metal)],
        )

    def _mark_inactive(self, table: Table) -> Mask:
        """Mark the rows with an inactive state; rows with an unknown state count as work."""
        state = extract_texts(table, "state")
        strange = state.compute(lambda word: word.lower() not in _STATES, np.bool_)
        unknown_states = list_words(
            sorted({word for word in state.list_used() if word.lower() not in _STATES})
        )
        text = f"{{n}} rows of '{table.schema}' have an unknown state ({unknown_states}); they count as work"
        self._findings.add("warning", "interval-state-unknown", text, int(strange.sum()))
        return state.compute(lambda word: word.lower() in _AT_REST, np.bool_)


class _Owners:
    """The process of each command buffer for which other tables name one process.

    Two tables that name different processes for a buffer cancel each other: buffer ids are addresses, which
    another process may reuse.
    """

    def __init__(self, buffers: Sequence[IntArray], pids: Sequence[IntArray]) -> None:
        buffer, pid = (np.concatenate([np.zeros(0, np.int64), *arrays]) for arrays in (buffers, pids))
        has_owner = (buffer != -1) & (pid >= 0)
        # pairs: one row per (buffer, pid), sorted; a buffer with one pid appears once.
        pairs = np.unique(np.stack([buffer[has_owner], pid[has_owner]], axis=1), axis=0)
        ids, firsts, counts = np.unique(pairs[:, 0], return_index=True, return_counts=True)
        self._buffers = ids[counts == 1]
        self._pids = pairs[firsts, 1][counts == 1]

    def find_pids(self, frame: pd.DataFrame) -> IntArray:
        """Return the pid of each row's command buffer; -1 where no table or several processes are named."""
        return self.find_pids_by_id(frame["command_buffer"].to_numpy(np.int64))

    def find_pids_by_id(self, buffers: IntArray) -> IntArray:
        """Return the pid of each of these ids."""
        if not len(self._buffers):
            return np.full(len(buffers), -1, np.int64)
        position = np.minimum(np.searchsorted(self._buffers, buffers), len(self._buffers) - 1)
        owners: IntArray = np.where(self._buffers[position] == buffers, self._pids[position], -1)
        return owners


def _find_distinct(arrays: Sequence[IntArray]) -> IntArray:
    distinct: IntArray = np.setdiff1d(np.concatenate([np.zeros(0, np.int64), *arrays]), [-1])
    return distinct


def _mark_executed_spans(spans: RowTimes, frames: Sequence[pd.DataFrame]) -> Mask:
    """Mark the spans that equal an interval of execution on the Neural Engine to the nanosecond."""
    # Start and end of spans and intervals are keyed together; a span repeats an interval if it has one of its
    # keys:
    #   keys = [spans … | intervals …]     only execution counts: loading an ANE program is not running it
    # A label that is cut off may be of an execution, the only work that MPSGraph reports.
    executed = [frame[_may_execute(frame)] for frame in frames]
    starts = [spans.start_ns, *(frame["start_ns"].to_numpy(np.int64) for frame in executed)]
    ends = [spans.end_ns, *(frame["end_ns"].to_numpy(np.int64) for frame in executed)]
    keys = number_rows([np.concatenate(starts), np.concatenate(ends)])
    return np.isin(keys[: len(spans.table)], keys[len(spans.table) :])


def _find_pids_of_twins(ane: pd.DataFrame, mps: Sequence[pd.DataFrame]) -> IntArray:
    """Return the process of the MPS rows that repeat each Neural Engine row, -1 where they name none or two.

    MPSGraph hands programs to the Neural Engine for the process whose row repeats them.
    """
    twins = [frame[(frame["engine"] == Engine.ANE).to_numpy(bool)] for frame in mps]
    twins = [frame[(frame["pid"] >= 0).to_numpy(bool)] for frame in twins]
    starts, ends = (
        np.concatenate([frame[name].to_numpy(np.int64) for frame in (ane, *twins)])
        for name in ("start_ns", "end_ns")
    )
    keys = number_rows([starts, ends])
    pids = np.full(len(ane), -1, np.int64)
    executed = _may_execute(ane)
    owner = np.concatenate([np.zeros(0, np.int64), *(frame["pid"].to_numpy(np.int64) for frame in twins)])
    if len(owner):
        claims = _Owners([keys[len(ane) :]], [owner])
        pids[executed] = claims.find_pids_by_id(keys[: len(ane)][executed])
    return pids


def _list_labels(label: TextColumn, form: Form) -> tuple[int, str]:
    """Return the number of rows with a label of a form, and a list of these labels."""
    count = int(label.compute(lambda word: parse_ane_label(word).form == form, np.bool_).sum())
    return count, list_words(sorted(word for word in label.list_used() if parse_ane_label(word).form == form))


def _may_execute(ane: pd.DataFrame) -> Mask:
    """Mark the rows of execution and those of an unknown phase."""
    may_execute: Mask = ((ane["phase"] == Phase.EXECUTE) | ane["phase"].isna()).to_numpy(bool)
    return may_execute
