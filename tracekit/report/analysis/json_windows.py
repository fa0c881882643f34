"""The windows of ``tracekit-analysis/1`` as JSON text, a block of windows at a time.

A run may have a hundred thousand windows of a hundred lines each: their numbers stay columns, and an object
is a template that the columns fill in. tests/support/json_oracle.py has the same documents as plain data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.submissions import SEPARATOR
from tracekit.analysis.result import Analysis
from tracekit.model.trace import Trace
from tracekit.report import wording
from tracekit.report.analysis.json_engines import EngineObjects
from tracekit.report.json_layout import NULL, Layout, column_texts, number, quoted
from tracekit.text import format_thread

_BLOCK = 1_000
"""Windows whose text is in memory at once."""
_SEGMENT_FIELDS = ("engine", "start_ns", "end_ns", "busy_ns", "basis")
_SUBMISSION_COLUMNS = ("submissions", "segments", "covered_ns", "longest_ns", "gaps_ns", "longest_gap_ns")
_SUBMISSION_FIELDS = ("count", *_SUBMISSION_COLUMNS[1:], "names")
_REQUEST_FIELDS = ("served", "failed", "statuses")
_WINDOW_FIELDS = (
    "id",
    "start_ns",
    "end_ns",
    "label",
    "model",
    "first",
    "thread",
    "source",
    "basis",
    "engines",
    "times",
    "segments",
    "submissions",
    "counters",
    "metrics",
    "requests",
    "verdict",
    "sentence",
    "why",
)


def window_texts(analysis: Analysis, layout: Layout, level: int) -> Iterator[list[str]]:
    """Yield the windows' objects, ``level`` deep, in blocks."""
    blocks = _Blocks(analysis, layout, level)
    for begin, after in analysis.segment_blocks.blocks:
        for first in range(begin, after, _BLOCK):
            yield blocks.block(first, min(first + _BLOCK, after))


class _Blocks:
    def __init__(self, analysis: Analysis, layout: Layout, level: int) -> None:
        self._analysis, self._layout, self._level = analysis, layout, level
        self._window = layout.template(_WINDOW_FIELDS, level)
        self._engines = EngineObjects(analysis, layout, level + 1)
        self._times = [str(name) for name in analysis.times.columns if name != "window_id"]
        self._time = layout.template(self._times, level + 1)
        self._submission = layout.template(_SUBMISSION_FIELDS, level + 1)
        self._names: dict[str, str] = {}
        self._segment = layout.template(_SEGMENT_FIELDS, level + 2)
        self._request = layout.template(_REQUEST_FIELDS, level + 1)
        self._sums: dict[tuple[str, ...], str] = {}
        self._threads: dict[int, str] = {}

    def block(self, first: int, last: int) -> list[str]:
        """Return the objects of the windows from row ``first`` to row ``last``."""
        analysis = self._analysis
        rows = analysis.window_rows.iloc[first:last]
        columns = (
            rows["window_id"].tolist(),
            rows["start_ns"].tolist(),
            rows["end_ns"].tolist(),
            [quoted(label) for label in rows["label"].tolist()],
            [quoted(model) if model else NULL for model in rows["model"].tolist()],
            ["true" if is_first else "false" for is_first in rows["first"].tolist()],
            [self._thread(thread) for thread in rows["thread_id"].tolist()],
            [quoted(source) for source in rows["source"].astype("str").tolist()],
            [quoted(basis) for basis in rows["basis"].astype("str").tolist()],
            self._engines.block(_rows_of(analysis.attribution_rows, first, last)[0], first, last),
            self._filled(self._time, analysis.times.iloc[first:last], self._times),
            self._segments(first, last),
            self._submissions(first, last),
            self._events(first, last),
            self._metrics(first, last),
            self._requests(first, last),
        )
        verdicts = analysis.verdicts.block(first, last)
        texts = (
            verdicts.names,
            wording.verdict_sentences(verdicts).to_pylist(),
            wording.verdict_whys(verdicts).to_pylist(),
        )
        return [
            self._window % (*values, *map(quoted, words))
            for *values, words in zip(*columns, zip(*texts, strict=True), strict=True)
        ]

    def _thread(self, thread_id: int) -> str:
        if thread_id not in self._threads:
            label = thread_label(self._analysis.trace, thread_id)
            self._threads[thread_id] = NULL if label is None else quoted(label)
        return self._threads[thread_id]

    def _filled(self, template: str, frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
        """Return an object per row of a frame."""
        return [
            template % values for values in zip(*(column_texts(frame[name]) for name in names), strict=True)
        ]

    def _segments(self, first: int, last: int) -> list[str]:
        frame, edges = _rows_of(self._analysis.segment_blocks.around(first), first, last)
        items = self._filled(self._segment, frame, _SEGMENT_FIELDS)
        return [self._layout.array(items[begin:end], self._level + 1) for begin, end in pairwise(edges)]

    def _submissions(self, first: int, last: int) -> list[str]:
        """Return the Neural Engine's submissions; null where they cannot be counted."""
        frame = self._analysis.submissions.iloc[first:last]
        columns = {name: column_texts(frame[name]) for name in _SUBMISSION_COLUMNS}
        columns["names"] = [self._segment_names(names) for names in frame["names"].astype("str").tolist()]
        counts = columns["submissions"]
        return [
            NULL if count == NULL else self._submission % values
            for count, values in zip(counts, zip(*columns.values(), strict=True), strict=True)
        ]

    def _segment_names(self, names: str) -> str:
        if names not in self._names:  # few orders of segments are distinct
            items = [quoted(name) for name in names.split(SEPARATOR) if name]
            self._names[names] = self._layout.array(items, self._level + 2)
        return self._names[names]

    def _events(self, first: int, last: int) -> list[str]:
        """Return engine → its counters' sums, and the ratios that they give."""
        frame, edges = _rows_of(self._analysis.events, first, last)
        if not len(frame):
            return ["{}"] * (last - first)
        engines, events = (frame[name].astype("str").tolist() for name in ("engine", "event"))
        values = frame["value"].tolist()
        texts = []
        for begin, end in pairwise(edges):
            by_engine: dict[str, dict[str, int]] = {}
            for row in range(begin, end):
                by_engine.setdefault(engines[row], {})[events[row]] = values[row]
            counted = {engine: self._counted(sums) for engine, sums in by_engine.items()}
            texts.append(self._layout.object(counted, self._level + 1))
        return texts

    def _counted(self, sums: dict[str, int]) -> str:
        names = tuple(sums)
        if names not in self._sums:  # the events are mostly the same for every engine of every window
            self._sums[names] = self._layout.template(names, self._level + 3)
        members = {
            "events": self._sums[names] % tuple(sums.values()),
            "ratios": self._numbers(ratios(sums), self._level + 3),
        }
        return self._layout.object(members, self._level + 2)

    def _metrics(self, first: int, last: int) -> list[str]:
        frame, edges = _rows_of(self._analysis.metrics, first, last)
        names, values = frame["name"].astype("str").tolist(), frame["value"].tolist()
        return [
            self._numbers(dict(zip(names[begin:end], values[begin:end], strict=True)), self._level + 1)
            for begin, end in pairwise(edges)
        ]

    def _requests(self, first: int, last: int) -> list[str]:
        """Return the requests to the Neural Engine by the log; null where it has none of the target's."""
        requests = self._analysis.requests
        if not requests.requests:
            return [NULL] * (last - first)
        failed = requests.window_statuses
        statuses = [
            self._layout.array(
                [str(status) for status in failed.get(row, ()) if status >= 0], self._level + 2
            )
            for row in range(first, last)
        ]
        counts = (requests.served[first:last].tolist(), requests.failed[first:last].tolist())
        return [self._request % values for values in zip(*counts, statuses, strict=True)]

    def _numbers(self, numbers: dict[str, Any], level: int) -> str:
        return self._layout.object({name: number(value) for name, value in numbers.items()}, level)


def _rows_of(frame: pd.DataFrame, first: int, last: int) -> tuple[pd.DataFrame, list[int]]:
    """Return the rows of some windows, and the edges between them; the frame is sorted by window."""
    edges = np.searchsorted(frame["window_id"].to_numpy(np.int64), np.arange(first, last + 1))
    begin, end = int(edges[0]), int(edges[-1])
    return frame.iloc[begin:end], (edges - begin).tolist()


def thread_label(trace: Trace, thread_id: int) -> str | None:
    """Return ``Main Thread (0x1f3) in SampleApp (412)``; None for all threads."""
    if thread_id < 0:
        return None
    thread = trace.threads.iloc[thread_id]
    return f"{format_thread(thread['name'], thread['tid'])} in {thread['process']} ({thread['pid']})"
