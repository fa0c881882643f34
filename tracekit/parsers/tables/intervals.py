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
from tracekit.parsers.tables.call_intervals import CALL_TABLES, call_intervals
from tracekit.parsers.tables.column_values import (
    Mask,
    Texts,
    concat_rows,
    pids_of,
    row_keys,
    texts_of,
    words_of,
)
from tracekit.parsers.tables.interval_frames import (
    depth_of,
    interval_frame,
    listed_words,
    pids_or_target,
    same_engine,
)
from tracekit.parsers.tables.interval_labels import (
    Form,
    ane_label,
    command_buffer,
    gpu_model,
    has_ml_mark,
)
from tracekit.parsers.tables.row_times import RowTimes, read_times

_AT_REST = frozenset({"idle", "inactive", "off", "waiting", "queued", "pending"})
_STATES = _AT_REST | {"", "active"}

Reader = Callable[[str], Iterable[Table]]


def read_intervals(tables: Reader, info: TraceInfo) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the rows of every table of ``INTERVAL_TABLES`` that ``tables`` yields, table by table.

    An unknown end is ``row_times.OPEN_NS``. ``info`` names the process of tables that record the target only.
    """
    findings = IssueCounter()
    builder = _Builder(tables, info, findings)
    return INTERVALS.check(concat_rows(list(builder.frames()), INTERVALS), "intervals"), findings.issues()


class _Builder:
    """Reads the tables in the order in which they explain one another.

    MPS rows that repeat an ANE interval need the ANE table, whose rows get their process from them; GPU rows
    get their ML mark and their process from the command buffers of MPS rows and of the app's own Metal rows.
    """

    def __init__(self, tables: Reader, info: TraceInfo, findings: IssueCounter) -> None:
        self._tables = tables
        self._target = -1 if info.pid is None else info.pid
        self._findings = findings

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield one frame per table."""
        ane = [self._ane(table) for schema in ANE_TABLES for table in self._tables(schema)]
        mps = [self._mps(table, ane) for table in self._tables(MPS_INTERVALS)]
        yield from (frame.assign(pid=_pids_of_twins(frame, mps)) for frame in ane)
        yield from mps
        # Command buffers that MPS names do inference, whatever the label of the GPU's own row.
        ml_buffers = _distinct([frame["command_buffer"].to_numpy(np.int64) for frame in mps])
        metal = [
            self._metal(table, ml_buffers, Phase.DISPATCH)
            for schema in METAL_APPLICATION_TABLES
            for table in self._tables(schema)
        ]
        yield from metal
        owners = self._owners(metal)
        for table in self._tables(GPU_INTERVALS):
            frame = self._metal(table, ml_buffers, Phase.EXECUTE)
            pid = frame["pid"].to_numpy(np.int64)
            yield frame.assign(pid=np.where(pid < 0, owners.of(frame), pid))
        for schema in CALL_TABLES:
            for table in self._tables(schema):
                yield call_intervals(table, self._target, self._findings)

    def _ane(self, table: Table) -> pd.DataFrame:
        """Return the Neural Engine's rows. The table covers all processes and names none."""
        spans = read_times(table, self._findings)
        table = spans.table
        label = texts_of(table, "event-label")
        self._note_labels(table.schema, label)
        phase = label.each(lambda word: PHASE_CODE[ane_label(word).phase], np.int64)
        return interval_frame(
            spans,
            engine=same_engine(Engine.ANE, spans),
            phase=np.where(self._inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            model=label.map(lambda word: ane_label(word).model),
            segment=label.map(lambda word: ane_label(word).segment),
            channel=texts_of(table, "channel-name"),
            depth=depth_of(table),
        )

    def _note_labels(self, schema: str, label: Texts) -> None:
        """Report the labels that are not understood, and what their rows count as."""
        count, named = _labels_of_form(label, "cut off")
        text = (
            f"{{n}} labels of '{schema}' are cut off ({named}); they count as no work, because their kind is"
        )
        self._findings.add("warning", "ane-label-cut-off", f"{text} not known", count)
        count, named = _labels_of_form(label, "unknown")
        text = f"{{n}} labels of '{schema}' have an unknown form ({named}); they count as execution"
        self._findings.add("info", "ane-label-unknown", text, count)

    def _mps(self, table: Table, ane: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Return MPSGraph's rows.

        MPSGraph may hand a program to the Neural Engine: then both tables have an interval with the same
        start and end, and only the Neural Engine's counts.
        """
        spans = read_times(table, self._findings)
        table = spans.table
        label = texts_of(table, "event-label")
        handed = _same_spans(spans, ane)
        text = (
            f"{{n}} rows of '{table.schema}' repeat intervals of the Neural Engine: MPSGraph handed this"
            " work over, so it does not count for the GPU"
        )
        self._findings.add("info", "mps-on-ane", text, int(handed.sum()))
        phase = np.where(handed, PHASE_CODE[None], PHASE_CODE[Phase.EXECUTE])
        # Ids are 64-bit addresses, of which the model keeps the bits: modulo 2^64, -1 (no id) keeps all bits
        # set.
        buffers = np.array([command_buffer(word) % 2**64 for word in label.words], np.uint64)
        return interval_frame(
            spans,
            engine=np.where(handed, ENGINE_CODE[Engine.ANE], ENGINE_CODE[Engine.GPU]),
            phase=np.where(self._inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            channel=texts_of(table, "channel-name"),
            pid=pids_or_target(table, self._target),
            depth=depth_of(table),
            command_buffer=buffers.astype(np.int64)[label.codes],
        )

    def _metal(self, table: Table, ml_buffers: IntArray, ml_phase: Phase) -> pd.DataFrame:
        """Return rows of Metal and of the GPU.

        The GPU draws as well: work counts as inference if its label names an ML library, or if MPS names its
        command buffer.
        """
        spans = read_times(table, self._findings)
        table = spans.table
        label = texts_of(table, "event-label").or_else(texts_of(table, "encoder-label"))
        label = label.or_else(texts_of(table, "cmdbuffer-label"))
        buffers = words_of(table, "cmdbuffer-id").astype(np.int64)
        # Two independent marks, and either is enough: names of ML libraries in labels, or the buffer's id in
        # MPS rows.
        is_ml = label.each(has_ml_mark, np.bool_) | np.isin(buffers, ml_buffers)
        phase = np.where(is_ml, PHASE_CODE[ml_phase], PHASE_CODE[None])
        return interval_frame(
            spans,
            engine=np.where(is_ml, ENGINE_CODE[Engine.GPU], ENGINE_CODE[Engine.GRAPHICS]),
            phase=np.where(self._inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            model=label.map(gpu_model),
            channel=texts_of(table, "channel-name", "event-type"),
            pid=pids_of(table),
            depth=depth_of(table),
            command_buffer=buffers,
        )

    def _owners(self, metal: Sequence[pd.DataFrame]) -> _Owners:
        submitted = list(self._tables(COMMAND_BUFFER_OWNERS))
        buffers = [words_of(table, "cmdbuffer-id").astype(np.int64) for table in submitted]
        pids = [pids_of(table) for table in submitted]
        return _Owners(
            [*buffers, *(frame["command_buffer"].to_numpy(np.int64) for frame in metal)],
            [*pids, *(frame["pid"].to_numpy(np.int64) for frame in metal)],
        )

    def _inactive(self, table: Table) -> Mask:
        """Return the rows whose state is one of rest; rows with an unknown state count as work."""
        state = texts_of(table, "state")
        strange = state.each(lambda word: word.lower() not in _STATES, np.bool_)
        named = listed_words(sorted({word for word in state.used() if word.lower() not in _STATES}))
        text = f"{{n}} rows of '{table.schema}' have an unknown state ({named}); they count as work"
        self._findings.add("warning", "interval-state-unknown", text, int(strange.sum()))
        return state.each(lambda word: word.lower() in _AT_REST, np.bool_)


class _Owners:
    """The process of each command buffer for which other tables name one process.

    Two tables that name different processes for a buffer cancel each other: buffer ids are addresses, which
    another process may reuse.
    """

    def __init__(self, buffers: Sequence[IntArray], pids: Sequence[IntArray]) -> None:
        buffer, pid = (np.concatenate([np.zeros(0, np.int64), *arrays]) for arrays in (buffers, pids))
        named = (buffer != -1) & (pid >= 0)
        # pairs: one row per (buffer, pid), sorted; a buffer with one pid appears once.
        pairs = np.unique(np.stack([buffer[named], pid[named]], axis=1), axis=0)
        ids, firsts, counts = np.unique(pairs[:, 0], return_index=True, return_counts=True)
        self._buffers = ids[counts == 1]
        self._pids = pairs[firsts, 1][counts == 1]

    def of(self, frame: pd.DataFrame) -> IntArray:
        """Return the pid of each row's command buffer; -1 where no table or several processes are named."""
        return self.of_ids(frame["command_buffer"].to_numpy(np.int64))

    def of_ids(self, buffers: IntArray) -> IntArray:
        """Return the pid of each of these ids."""
        if not len(self._buffers):
            return np.full(len(buffers), -1, np.int64)
        position = np.minimum(np.searchsorted(self._buffers, buffers), len(self._buffers) - 1)
        owners: IntArray = np.where(self._buffers[position] == buffers, self._pids[position], -1)
        return owners


def _distinct(arrays: Sequence[IntArray]) -> IntArray:
    distinct: IntArray = np.setdiff1d(np.concatenate([np.zeros(0, np.int64), *arrays]), [-1])
    return distinct


def _same_spans(spans: RowTimes, frames: Sequence[pd.DataFrame]) -> Mask:
    """Mark the spans that equal an interval of execution on the Neural Engine to the nanosecond."""
    # Start and end of spans and intervals are keyed together; a span repeats an interval if it has one of its
    # keys:
    #   keys = [spans … | intervals …]     only execution counts: loading an ANE program is not running it
    # A label that is cut off may be an execution's, and MPSGraph reports nothing else.
    executed = [frame[_may_execute(frame)] for frame in frames]
    starts = [spans.start_ns, *(frame["start_ns"].to_numpy(np.int64) for frame in executed)]
    ends = [spans.end_ns, *(frame["end_ns"].to_numpy(np.int64) for frame in executed)]
    keys = row_keys([np.concatenate(starts), np.concatenate(ends)])
    return np.isin(keys[: len(spans.table)], keys[len(spans.table) :])


def _pids_of_twins(ane: pd.DataFrame, mps: Sequence[pd.DataFrame]) -> IntArray:
    """Return the process of the MPS rows that repeat each Neural Engine row, -1 where they name none or two.

    MPSGraph hands programs to the Neural Engine for the process whose row repeats them.
    """
    twins = [frame[(frame["engine"] == Engine.ANE).to_numpy(bool)] for frame in mps]
    twins = [frame[(frame["pid"] >= 0).to_numpy(bool)] for frame in twins]
    starts, ends = (
        np.concatenate([frame[name].to_numpy(np.int64) for frame in (ane, *twins)])
        for name in ("start_ns", "end_ns")
    )
    keys = row_keys([starts, ends])
    pids = np.full(len(ane), -1, np.int64)
    executed = _may_execute(ane)
    owner = np.concatenate([np.zeros(0, np.int64), *(frame["pid"].to_numpy(np.int64) for frame in twins)])
    if len(owner):
        claims = _Owners([keys[len(ane) :]], [owner])
        pids[executed] = claims.of_ids(keys[: len(ane)][executed])
    return pids


def _labels_of_form(label: Texts, form: Form) -> tuple[int, str]:
    """Return how many rows have a label of a form, and these labels as text."""
    count = int(label.each(lambda word: ane_label(word).form == form, np.bool_).sum())
    return count, listed_words(sorted(word for word in label.used() if ane_label(word).form == form))


def _may_execute(ane: pd.DataFrame) -> Mask:
    """Mark the rows of execution, and those whose phase is not known."""
    marked: Mask = ((ane["phase"] == Phase.EXECUTE) | ane["phase"].isna()).to_numpy(bool)
    return marked
