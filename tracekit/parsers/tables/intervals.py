"""Intervals that engines and runtimes reported about their own work → ``Trace.intervals``.

One row per row of each table: nothing is merged here, so that a table can be counted against its export. Each
reader states how it recognizes rows of another table that describe the same work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import INTERVALS, IntArray, categorical
from tracekit.model.schemas import (
    ANE_TABLES,
    COMMAND_BUFFER_OWNERS,
    CORE_AI,
    CORE_ML,
    GPU_INTERVALS,
    METAL_APPLICATION_TABLES,
    MODEL_INFERENCE,
    MODEL_LOADING,
    MODEL_REQUEST,
    MPS_INTERVALS,
)
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter, TraceInfo
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASE_CODE, PHASES, Engine, Phase
from tracekit.parsers.tables.column_values import (
    Mask,
    Texts,
    concat_rows,
    pids_of,
    row_keys,
    small_numbers_of,
    texts_of,
    words_of,
)
from tracekit.parsers.tables.interval_labels import (
    Kind,
    ane_model,
    ane_phase,
    command_buffer,
    core_ai_kind,
    core_ml_kind,
    has_ml_mark,
    without_version,
)
from tracekit.parsers.tables.row_times import RowTimes, read_times

_AT_REST = frozenset({"idle", "inactive", "off", "waiting", "queued", "pending"})
_STATES = _AT_REST | {"", "active"}

Reader = Callable[[str], Iterable[Table]]

_CALL: Kind = (Engine.RUNTIME, None)
_LOAD: Kind = (Engine.RUNTIME, Phase.LOAD)


@dataclass(frozen=True)
class _Calls:
    """A table whose rows are calls: their kind, and the columns to read.

    No other column is read: some of them hold prompts and answers of a language model.
    """

    kind: Kind
    channel: str
    label: str
    model: str = ""


_CALLS = {
    MODEL_INFERENCE: _Calls(_CALL, "Inference", "turn-index", "model-information"),
    MODEL_REQUEST: _Calls(_CALL, "Request", "name"),
    MODEL_LOADING: _Calls(_LOAD, "Loading", "transition", "asset-id"),
}


def read_intervals(tables: Reader, info: TraceInfo) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the rows of every table of ``INTERVAL_TABLES`` that ``tables`` yields, table by table.

    An unknown end is ``row_times.OPEN_NS``. ``info`` names the process of tables that record the target only.
    """
    findings = IssueCounter()
    builder = _Builder(tables, info, findings)
    return INTERVALS.check(concat_rows(list(builder.frames()), INTERVALS), "intervals"), findings.issues()


class _Builder:
    """Reads the tables in the order in which they explain one another.

    MPS rows that repeat an ANE interval need the ANE table; GPU rows get their ML mark and their process from
    the command buffers of MPS rows and of the app's own Metal rows.
    """

    def __init__(self, tables: Reader, info: TraceInfo, findings: IssueCounter) -> None:
        self._tables = tables
        self._target = -1 if info.pid is None else info.pid
        self._findings = findings

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield one frame per table."""
        ane = [self._ane(table) for schema in ANE_TABLES for table in self._tables(schema)]
        yield from ane
        mps = [self._mps(table, ane) for table in self._tables(MPS_INTERVALS)]
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
        for table in self._tables(CORE_ML):
            yield self._core_ml(table)
        for schema, calls in _CALLS.items():
            for table in self._tables(schema):
                yield self._calls(table, calls)
        for table in self._tables(CORE_AI):
            yield self._core_ai(table)

    def _ane(self, table: Table) -> pd.DataFrame:
        """Return the Neural Engine's rows. The table covers all processes and names none."""
        spans = read_times(table, self._findings)
        table = spans.table
        label = texts_of(table, "event-label")
        phase = label.each(lambda word: PHASE_CODE[ane_phase(word)], np.int64)
        return _frame(
            spans,
            engine=_same(Engine.ANE, spans),
            phase=np.where(self._inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            model=label.map(ane_model),
            channel=texts_of(table, "channel-name"),
            depth=_depth(table),
        )

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
        return _frame(
            spans,
            engine=np.where(handed, ENGINE_CODE[Engine.ANE], ENGINE_CODE[Engine.GPU]),
            phase=np.where(self._inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            channel=texts_of(table, "channel-name"),
            pid=self._pid(table),
            depth=_depth(table),
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
        return _frame(
            spans,
            engine=np.where(is_ml, ENGINE_CODE[Engine.GPU], ENGINE_CODE[Engine.GRAPHICS]),
            phase=np.where(self._inactive(table), PHASE_CODE[Phase.IDLE], phase),
            label=label,
            channel=texts_of(table, "channel-name", "event-type"),
            pid=pids_of(table),
            depth=_depth(table),
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

    def _core_ml(self, table: Table) -> pd.DataFrame:
        spans = read_times(table, self._findings)
        table = spans.table
        event = texts_of(table, "event-label")
        numbered = texts_of(table, "model-name")
        model = numbered.map(without_version)
        self._note_merged(numbered)
        parent = texts_of(table, "parent-model-name").map(without_version)
        inner = texts_of(table, "model-level").each(lambda word: "sub" in word.lower(), np.bool_)
        # Rows of a submodel, or with a parent model of another name, are inside the row of their parent.
        has_parent = parent.each(bool, np.bool_) & ~_equal(parent, model)
        engine, phase = self._kinds(table, event, core_ml_kind)
        return _frame(
            spans,
            engine=engine,
            phase=phase,
            label=texts_of(table, "graph-event-label"),
            model=model,
            channel=event,
            pid=self._pid(table),
            depth=(inner | has_parent).astype(np.int16),
        )

    def _note_merged(self, numbered: Texts) -> None:
        """Report copies of a model, or models that differ in their number alone, that count as one."""
        bases: dict[str, set[str]] = {}
        for word in numbered.used():
            bases.setdefault(without_version(word), set()).add(word)
        merged = {base: sorted(words) for base, words in bases.items() if len(words) > 1}
        named = "; ".join(f"{', '.join(words[:6])} as {base}" for base, words in sorted(merged.items())[:4])
        text = f"models that differ in their number alone count as one ({named}): Core ML numbers copies"
        self._findings.add("info", "model-numbers-merged", text, len(merged))

    def _calls(self, table: Table, calls: _Calls) -> pd.DataFrame:
        spans = read_times(table, self._findings)
        table = spans.table
        engine, phase = calls.kind
        return _frame(
            spans,
            engine=_same(engine, spans),
            phase=np.full(len(spans.table), PHASE_CODE[phase]),
            label=texts_of(table, calls.label),
            model=texts_of(table, calls.model) if calls.model else None,
            channel=Texts.same(calls.channel, len(table)),
            pid=self._pid(table),
        )

    def _core_ai(self, table: Table) -> pd.DataFrame:
        spans = read_times(table, self._findings)
        table = spans.table
        category = texts_of(table, "category")
        engine, phase = self._kinds(table, category, core_ai_kind)
        return _frame(
            spans,
            engine=engine,
            phase=phase,
            label=texts_of(table, "function-name"),
            model=texts_of(table, "model-name"),
            channel=category,
            pid=self._pid(table),
        )

    def _inactive(self, table: Table) -> Mask:
        """Return the rows whose state is one of rest; rows with an unknown state count as work."""
        state = texts_of(table, "state")
        strange = state.each(lambda word: word.lower() not in _STATES, np.bool_)
        named = ", ".join(
            sorted({f"'{word[:60]}'" for word in state.used() if word.lower() not in _STATES})[:8]
        )
        text = f"{{n}} rows of '{table.schema}' have an unknown state ({named}); they count as work"
        self._findings.add("warning", "interval-state-unknown", text, int(strange.sum()))
        return state.each(lambda word: word.lower() in _AT_REST, np.bool_)

    def _kinds(
        self, table: Table, words: Texts, kind_of: Callable[[str], Kind | None]
    ) -> tuple[IntArray, IntArray]:
        """Return engine and phase codes; a row of an unknown kind is a call on no engine, with a warning."""
        strange = words.each(lambda word: kind_of(word) is None, np.bool_)
        if strange.any():
            named = sorted(word for word in words.used() if kind_of(word) is None)
            listed = ", ".join(f"'{word[:60]}'" for word in named[:8])
            more = f" and {len(named) - 8} more" if len(named) > 8 else ""
            text = (
                f"{{n}} rows of '{table.schema}' are of an unknown kind ({listed}{more}); they count as"
                " calls, on no engine"
            )
            self._findings.add("warning", "interval-kind-unknown", text, int(strange.sum()))
        engine = words.each(lambda word: ENGINE_CODE[(kind_of(word) or _CALL)[0]], np.int64)
        phase = words.each(lambda word: PHASE_CODE[(kind_of(word) or _CALL)[1]], np.int64)
        return engine, phase

    def _pid(self, table: Table) -> IntArray:
        """Return each row's process; a table of one process is about the recording's target."""
        pid = pids_of(table)
        single = "SINGLE" in (table.attributes.get("target-pid"), table.attributes.get("target"))
        return np.where(pid < 0, self._target, pid) if single else pid


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
        buffers = frame["command_buffer"].to_numpy(np.int64)
        if not len(self._buffers):
            return np.full(len(frame), -1, np.int64)
        position = np.minimum(np.searchsorted(self._buffers, buffers), len(self._buffers) - 1)
        owners: IntArray = np.where(self._buffers[position] == buffers, self._pids[position], -1)
        return owners


def _frame(
    spans: RowTimes,
    *,
    engine: IntArray,
    phase: IntArray,
    label: Texts,
    channel: Texts,
    model: Texts | None = None,
    pid: IntArray | None = None,
    depth: npt.NDArray[np.int16] | None = None,
    command_buffer: IntArray | None = None,
) -> pd.DataFrame:
    """Return the spans as rows of the model."""
    count = len(spans.table)
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "engine": categorical(engine, ENGINES),
            "phase": categorical(phase, PHASES),
            "label": label.category(),
            "model": (model or Texts.same("", count)).category(),
            "channel": channel.category(),
            "pid": np.full(count, -1, np.int64) if pid is None else pid,
            "source": Texts.same(spans.table.schema, count).category(),
            "depth": np.zeros(count, np.int16) if depth is None else depth,
            "command_buffer": np.full(count, -1, np.int64) if command_buffer is None else command_buffer,
        }
    )


def _same(engine: Engine, spans: RowTimes) -> IntArray:
    return np.full(len(spans.table), ENGINE_CODE[engine], np.int64)


def _depth(table: Table) -> npt.NDArray[np.int16]:
    return small_numbers_of(table, "event-depth", missing=0)


def _distinct(arrays: Sequence[IntArray]) -> IntArray:
    distinct: IntArray = np.setdiff1d(np.concatenate([np.zeros(0, np.int64), *arrays]), [-1])
    return distinct


def _equal(left: Texts, right: Texts) -> Mask:
    # Both columns are coded by one numbering, so that equal codes are equal words, and words are compared
    # once.
    code_of = {word: code for code, word in enumerate(dict.fromkeys((*left.words, *right.words)))}
    equal: Mask = left.each(code_of.__getitem__, np.int64) == right.each(code_of.__getitem__, np.int64)
    return equal


def _same_spans(spans: RowTimes, frames: Sequence[pd.DataFrame]) -> Mask:
    """Mark the spans that equal an interval of execution on the Neural Engine to the nanosecond."""
    # Start and end of spans and intervals are keyed together; a span repeats an interval if it has one of its
    # keys:
    #   keys = [spans … | intervals …]     only execution counts: loading an ANE program is not running it
    executed = [frame[(frame["phase"] == Phase.EXECUTE).to_numpy(bool)] for frame in frames]
    starts = [spans.start_ns, *(frame["start_ns"].to_numpy(np.int64) for frame in executed)]
    ends = [spans.end_ns, *(frame["end_ns"].to_numpy(np.int64) for frame in executed)]
    keys = row_keys([np.concatenate(starts), np.concatenate(ends)])
    return np.isin(keys[: len(spans.table)], keys[len(spans.table) :])
