"""Rows that are calls, requests and loads of an ML runtime: Core ML's, Core AI's, Foundation Models'.

Only Core ML's ``CPU`` rows measure an engine at work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.schemas import CORE_AI, CORE_ML, MODEL_INFERENCE, MODEL_LOADING, MODEL_REQUEST
from tracekit.model.tables import Table
from tracekit.model.trace import IssueCounter
from tracekit.model.vocabulary import ENGINE_CODE, PHASE_CODE, Engine, Phase
from tracekit.parsers.tables.column_values import Mask, TextColumn, extract_texts, number_rows
from tracekit.parsers.tables.interval_frames import (
    build_interval_frame,
    extract_pids_or_target,
    list_words,
    repeat_engine,
)
from tracekit.parsers.tables.interval_labels import (
    Kind,
    find_core_ai_kind,
    find_core_ai_phase,
    find_core_ml_kind,
    without_version,
)
from tracekit.parsers.tables.row_times import read_times

_CALL: Kind = (Engine.RUNTIME, None)
_LOAD: Kind = (Engine.RUNTIME, Phase.LOAD)
_MAX_NUMBER_DIGITS = 4


@frozen
class _CallTable:
    """A table whose rows are calls: their kind, and the columns to read.

    No other column is read: some of them hold prompts and answers of a language model.
    """

    kind: Kind
    channel: str
    label: str
    model: str = ""


_CALLS = {
    MODEL_INFERENCE: _CallTable(_CALL, "Inference", "turn-index", "model-information"),
    MODEL_REQUEST: _CallTable(_CALL, "Request", "name"),
    MODEL_LOADING: _CallTable(_LOAD, "Loading", "transition", "asset-id"),
}
CALL_TABLES = (CORE_ML, *_CALLS, CORE_AI)
"""The tables of ``read_call_intervals``, in the order in which they are read."""


def read_call_intervals(table: Table, target: int, findings: IssueCounter) -> pd.DataFrame:
    """Return the rows of one of ``CALL_TABLES``; ``target`` is the process of tables about a single one."""
    if table.schema == CORE_ML:
        return _read_core_ml(table, target, findings)
    if table.schema == CORE_AI:
        return _read_core_ai(table, target, findings)
    return _read_calls(table, target, findings, _CALLS[table.schema])


def _read_core_ml(table: Table, target: int, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    table = spans.table
    event = extract_texts(table, "event-label")
    numbered = extract_texts(table, "model-name")
    model = numbered.map(without_version)
    _note_merged(numbered, findings)
    parent = extract_texts(table, "parent-model-name").map(without_version)
    inner = extract_texts(table, "model-level").compute(lambda word: "sub" in word.lower(), np.bool_)
    # Rows of a submodel, or with a parent model of another name, lie inside the row of their parent.
    has_parent = parent.compute(bool, np.bool_) & ~_mark_equal(parent, model)
    engine, phase = _read_kinds(table, event, find_core_ml_kind, findings)
    return build_interval_frame(
        spans,
        engine=engine,
        phase=phase,
        label=extract_texts(table, "graph-event-label"),
        model=model,
        copy=numbered,
        channel=event,
        pid=extract_pids_or_target(table, target),
        depth=(inner | has_parent).astype(np.int16),
    )


def _note_merged(numbered: TextColumn, findings: IssueCounter) -> None:
    """Report copies of a model, or models that differ in their number alone, that count as one."""
    bases: dict[str, set[str]] = {}
    for word in numbered.list_used():
        bases.setdefault(without_version(word), set()).add(word)
    merged = {base: sorted(words) for base, words in bases.items() if len(words) > 1}
    examples = "; ".join(f"{', '.join(words[:6])} as {base}" for base, words in sorted(merged.items())[:4])
    text = f"models that differ in their number alone count as one ({examples}): Core ML numbers copies"
    findings.add("info", "model-numbers-merged", text, len(merged))


def _read_calls(table: Table, target: int, findings: IssueCounter, calls: _CallTable) -> pd.DataFrame:
    spans = read_times(table, findings)
    table = spans.table
    engine, phase = calls.kind
    return build_interval_frame(
        spans,
        engine=repeat_engine(engine, spans),
        phase=np.full(len(spans.table), PHASE_CODE[phase]),
        label=extract_texts(table, calls.label),
        model=extract_texts(table, calls.model) if calls.model else None,
        channel=TextColumn.repeat(calls.channel, len(table)),
        pid=extract_pids_or_target(table, target),
    )


# Core AI ---------------------------------------------------------------------------------------------------


def _read_core_ai(table: Table, target: int, findings: IssueCounter) -> pd.DataFrame:
    """Return Core AI's rows: four categories, each with rows for the events inside it.

    Every category's rows nest. The outermost rows of an inference have depth 0, all rows inside have 1.
    """
    spans = read_times(table, findings)
    table = spans.table
    category = extract_texts(table, "category")
    engine, phase = _read_kinds(table, category, find_core_ai_kind, findings)
    is_known = category.compute(lambda word: find_core_ai_kind(word) is not None, np.bool_)
    # The event inside a category is more exact than the category: an inference may compile a segment first.
    events = [extract_texts(table, name) for name in ("phase", "activity")]
    for event in events:
        of_event = event.compute(lambda word: PHASE_CODE[find_core_ai_phase(word)], np.int64)
        phase = np.where(is_known & (of_event != PHASE_CODE[None]), of_event, phase)
    model = extract_texts(table, "model-name")
    pid = extract_pids_or_target(table, target)
    is_call = category.compute(lambda word: word == "Inference", np.bool_) & (phase == PHASE_CODE[None])
    level = extract_texts(table, "level").compute(_parse_level, np.int64)
    owner = number_rows([pid, model.compute(_number_words(model), np.int64)])
    nesting = Nesting(spans.start_ns, np.maximum(spans.start_ns, spans.end_ns), level, owner)
    nested, torn = nesting.mark(np.flatnonzero(is_call))
    # A row without a model belongs to any inference of its process that contains it.
    is_nameless = is_call & model.compute(lambda word: not word, np.bool_)
    if is_nameless.any():
        of_process = replace(nesting, owner=number_rows([pid]))
        nested |= of_process.mark(np.flatnonzero(is_call))[0] & is_nameless
        torn &= ~nested
    text = (
        f"{{n}} rows of '{table.schema}' lie partly inside an inference and partly outside: they count as"
        " parts of it and make no window"
    )
    findings.add("warning", "core-ai-rows-overlap", text, int(torn.sum()))
    return build_interval_frame(
        spans,
        engine=engine,
        phase=phase,
        label=extract_texts(table, "function-name").fill_empty(events[1]).fill_empty(events[0]),
        model=model,
        channel=category,
        pid=pid,
        depth=(nested | torn | (~is_call & (level > 0))).astype(np.int16),
    )


def _parse_level(word: str) -> int:
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= _MAX_NUMBER_DIGITS else -1


def _number_words(texts: TextColumn) -> Callable[[str], int]:
    numbers = {word: number for number, word in enumerate(dict.fromkeys(texts.words))}
    return numbers.__getitem__


@frozen
class Nesting:
    """Rows that nest: their spans, their levels (-1 unknown), and the numbers of their owners.

    Only rows of one owner nest in each other; equal levels are calls at once.
    """

    start_ns: IntArray
    end_ns: IntArray
    level: IntArray
    owner: IntArray

    def mark(self, rows: IntArray) -> tuple[Mask, Mask]:
        """Mark the ``rows`` that lie inside a row of a lower level, and those that lie partly inside.

        A row without a level lies inside a longer one that contains it, or the first of equal ones.
        """
        nested, torn = np.zeros(len(self.level), bool), np.zeros(len(self.level), bool)
        for inner, outer in self._iter_levels(rows):
            if len(outer):
                nested[inner] |= self._mark_contained(inner, outer)
                torn[inner] |= self._mark_overlapping(inner, outer) & ~nested[inner]
        unknown = rows[self.level[rows] < 0]
        for members in self._split_by_owner(unknown):
            nested[members] |= self._mark_inside_longer(members)
        return nested, torn & ~nested

    def _iter_levels(self, rows: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows of each owner and level, and that owner's rows of lower levels."""
        for members in self._split_by_owner(rows[self.level[rows] >= 0]):
            for level in np.unique(self.level[members])[1:].tolist():
                yield members[self.level[members] == level], members[self.level[members] < level]

    def _split_by_owner(self, rows: IntArray) -> list[IntArray]:
        order = rows[np.argsort(self.owner[rows], kind="stable")]
        return np.split(order, np.flatnonzero(np.diff(self.owner[order])) + 1) if len(order) else []

    def _mark_contained(self, inner: IntArray, outer: IntArray) -> Mask:
        """Mark the inner rows that a single outer row contains."""
        ordered = outer[np.argsort(self.start_ns[outer], kind="stable")]
        # The furthest end of the outer rows that begin no later than each inner row.
        last_end_ns = np.append(-1, np.maximum.accumulate(self.end_ns[ordered]))
        position = np.searchsorted(self.start_ns[ordered], self.start_ns[inner], "right")
        is_contained: Mask = (position > 0) & (last_end_ns[position] >= self.end_ns[inner])
        return is_contained

    def _mark_overlapping(self, inner: IntArray, outer: IntArray) -> Mask:
        """Mark the inner rows that overlap an outer row; an outer row without length overlaps none."""
        outer = outer[self.end_ns[outer] > self.start_ns[outer]]
        begun_count = np.searchsorted(np.sort(self.start_ns[outer]), self.end_ns[inner], "left")
        ended_count = np.searchsorted(np.sort(self.end_ns[outer]), self.start_ns[inner], "right")
        overlaps: Mask = begun_count > ended_count
        return overlaps

    def _mark_inside_longer(self, members: IntArray) -> Mask:
        """Mark the rows that lie inside an earlier one, in order of start and of falling length."""
        order = np.lexsort((-self.end_ns[members], self.start_ns[members]))
        ends = self.end_ns[members][order]
        earlier_end_ns = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(ends)[:-1])
        is_inside = np.zeros(len(members), bool)
        is_inside[order] = ends <= earlier_end_ns
        return is_inside


# Kinds -----------------------------------------------------------------------------------------------------


def _read_kinds(
    table: Table, words: TextColumn, kind_of: Callable[[str], Kind | None], findings: IssueCounter
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return engine and phase codes; a row of an unknown kind is a call on no engine, with a warning."""
    strange = words.compute(lambda word: kind_of(word) is None, np.bool_)
    if strange.any():
        unknown_words = list_words(sorted(word for word in words.list_used() if kind_of(word) is None))
        text = (
            f"{{n}} rows of '{table.schema}' are of an unknown kind ({unknown_words}); they count as"
            " calls, on no engine"
        )
        findings.add("warning", "interval-kind-unknown", text, int(strange.sum()))
    engine = words.compute(lambda word: ENGINE_CODE[(kind_of(word) or _CALL)[0]], np.int64)
    phase = words.compute(lambda word: PHASE_CODE[(kind_of(word) or _CALL)[1]], np.int64)
    return engine, phase


def _mark_equal(texts: TextColumn, counterparts: TextColumn) -> Mask:
    # Both columns get codes from one numbering: equal codes mean equal words, and each word is compared
    # once.
    code_of = {word: code for code, word in enumerate(dict.fromkeys((*texts.words, *counterparts.words)))}
    equal: Mask = texts.compute(code_of.__getitem__, np.int64) == counterparts.compute(
        code_of.__getitem__, np.int64
    )
    return equal
