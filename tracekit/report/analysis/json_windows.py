"""The windows of ``tracekit-analysis/1`` as JSON text, a block of windows at a time.

A run may have a hundred thousand windows of a hundred lines each: a block of windows is a column of texts for
each of their fields. tests/support/json_oracle.py has the same documents as plain data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.submissions import SEPARATOR
from tracekit.analysis.result import Analysis
from tracekit.columns.call_rows import CallRows
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.model.columns import IntArray
from tracekit.report.analysis.json_engines import EngineObjects
from tracekit.report.json_layout import NULL, Layout, column_texts, number, or_null, quoted
from tracekit.report.wording.texts import Texts, content, digits, picked, texts_of, where

_BLOCK = 4_000
"""Windows whose text is in memory at once."""
_SEGMENT_FIELDS = ("engine", "start_ns", "end_ns", "busy_ns", "host_ns", "basis")
_SUBMISSION_FIELDS = ("segments", "covered_ns", "longest_ns", "gaps_ns", "longest_gap_ns")


def window_texts(
    analysis: Analysis, layout: Layout, level: int, prefix: str = "", suffix: str = ""
) -> Iterator[bytes]:
    """Yield the windows' objects as UTF-8, ``level`` deep, in blocks; each is between two texts."""
    blocks = _Blocks(analysis, layout, level)
    for begin, end in analysis.segment_blocks.blocks:
        for start in range(begin, end, _BLOCK):
            fields = blocks.fields(start, min(start + _BLOCK, end))
            yield content(layout.objects(fields, level, prefix, suffix))


class _Blocks:
    def __init__(self, analysis: Analysis, layout: Layout, level: int) -> None:
        self._analysis, self._layout, self._level = analysis, layout, level
        self._engines = EngineObjects(analysis, layout, level + 1)

    def fields(self, start: int, stop: int) -> dict[str, Texts | str]:
        """Return the fields of the windows from row ``start`` to row ``stop``."""
        attribution = _rows_of(self._analysis.attribution_rows, start, stop)[0]
        return {
            **self._write_columns(start, stop),
            "engines": self._engines.block(attribution, start, stop),
            "budget": self._list_budgets(start, stop),
            "segments": self._segments(start, stop),
            "submissions": self._submissions(start, stop),
            "counters": self._events(start, stop),
            "metrics": self._metrics(start, stop),
            "requests": self._requests(start, stop),
        }

    def _write_columns(self, start: int, stop: int) -> dict[str, Texts]:
        """Return the fields that are declared columns; a path with a dot leads into an object."""
        rows = CallRows(self._analysis, start, stop)
        fields: dict[str, Texts] = {}
        objects: dict[str, dict[str, Texts]] = {}
        for _, column in CALL_COLUMNS.select("JSON"):
            outer, _, inner = column.json.rpartition(".")
            (objects.setdefault(outer, {}) if outer else fields)[inner] = column_texts(column.values(rows))
        return fields | {
            name: self._layout.objects(members, self._level + 1) for name, members in objects.items()
        }

    def _objects(self, frame: pd.DataFrame, names: Sequence[str], level: int) -> Texts:
        """Return an object per row of a frame."""
        return self._layout.objects(_columns(frame, names), level)

    def _segments(self, start: int, stop: int) -> Texts:
        frame, edges = _rows_of(self._analysis.segment_blocks.around(start), start, stop)
        items = self._objects(frame, _SEGMENT_FIELDS, self._level + 2)
        return self._layout.arrays(items, edges, self._level + 1)

    def _list_budgets(self, start: int, stop: int) -> Texts:
        """Return the parts of each window's length that it has time of, or an overlap."""
        sums = self._analysis.budget.sums
        durations, overlaps = sums.duration_ns[start:stop], sums.overlap_ns[start:stop]
        row, column = np.nonzero((durations > 0) | (overlaps > 0))
        bases = [NULL if kind.basis is None else quoted(str(kind.basis)) for kind in sums.kinds]
        fields: dict[str, Texts | str] = {
            "part": picked(column, [quoted(str(kind.part)) for kind in sums.kinds]),
            "duration_ns": digits(durations[row, column]),
            "basis": picked(column, bases),
            "overlap_ns": digits(overlaps[row, column]),
        }
        items = self._layout.objects(fields, self._level + 2)
        edges = np.searchsorted(row, np.arange(stop - start + 1))
        return self._layout.arrays(items, edges, self._level + 1)

    def _submissions(self, start: int, stop: int) -> Texts:
        """Return the Neural Engine's submissions; null where they cannot be counted."""
        frame = self._analysis.submissions.iloc[start:stop]
        names = [self._segment_names(str(names)) for names in frame["names"].cat.categories]
        fields = {
            "count": column_texts(frame["submissions"]),
            **_columns(frame, _SUBMISSION_FIELDS),
            "names": or_null(picked(frame["names"].cat.codes.to_numpy(), names)),
        }
        objects = self._layout.objects(fields, self._level + 1)
        return where(frame["submissions"].notna().to_numpy(bool), objects, NULL)

    def _segment_names(self, names: str) -> str:
        items = [quoted(name) for name in names.split(SEPARATOR) if name]
        return self._layout.array(items, self._level + 2)

    def _events(self, start: int, stop: int) -> Texts | str:
        """Return engine → its counters' sums, and the ratios that they give."""
        frame, edges = _rows_of(self._analysis.events, start, stop)
        if not len(frame):
            return "{}"
        engines, events = (frame[name].astype("str").tolist() for name in ("engine", "event"))
        values = frame["value"].tolist()
        texts = []
        for begin, end in pairwise(edges.tolist()):
            by_engine: dict[str, dict[str, int]] = {}
            for row in range(begin, end):
                by_engine.setdefault(engines[row], {})[events[row]] = values[row]
            numbers = {engine: self._counted(sums) for engine, sums in by_engine.items()}
            texts.append(self._layout.object(numbers, self._level + 1))
        return texts_of(texts)

    def _counted(self, sums: dict[str, int]) -> str:
        members = {
            "events": self._numbers(sums, self._level + 3),
            "ratios": self._numbers(ratios(sums), self._level + 3),
        }
        return self._layout.object(members, self._level + 2)

    def _metrics(self, start: int, stop: int) -> Texts | str:
        frame, edges = _rows_of(self._analysis.metrics, start, stop)
        if not len(frame):
            return "{}"
        names, values = frame["name"].astype("str").tolist(), frame["value"].tolist()
        numbers = (
            dict(zip(names[begin:end], values[begin:end], strict=True))
            for begin, end in pairwise(edges.tolist())
        )
        return texts_of([self._numbers(of_window, self._level + 1) for of_window in numbers])

    def _requests(self, start: int, stop: int) -> Texts | str:
        """Return the requests to the Neural Engine by the log; null where it has none of the target's."""
        requests = self._analysis.requests
        if not requests.requests:
            return NULL
        failed = requests.window_statuses
        statuses = [
            self._layout.array(
                [str(status) for status in failed.get(row, ()) if status >= 0], self._level + 2
            )
            for row in range(start, stop)
        ]
        fields = {
            "served": digits(requests.served[start:stop]),
            "failed": digits(requests.failed[start:stop]),
            "statuses": texts_of(statuses),
        }
        return self._layout.objects(fields, self._level + 1)

    def _numbers(self, numbers: Mapping[str, float], level: int) -> str:
        return self._layout.object({name: number(value) for name, value in numbers.items()}, level)


def _columns(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Texts]:
    return {name: column_texts(frame[name]) for name in names}


def _rows_of(frame: pd.DataFrame, start: int, stop: int) -> tuple[pd.DataFrame, IntArray]:
    """Return the rows of some windows, and the edges between them; the frame is sorted by window."""
    edges = np.searchsorted(frame["window_id"].to_numpy(np.int64), np.arange(start, stop + 1))
    begin, end = int(edges[0]), int(edges[-1])
    return frame.iloc[begin:end], edges - begin
