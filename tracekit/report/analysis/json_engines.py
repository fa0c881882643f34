"""The engines of each window as JSON text: the sums of ``analysis.engines.totals``, over columns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import BASES, INFERENCE
from tracekit.analysis.result import Analysis
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, ML_ENGINES, PHASES
from tracekit.report.json_layout import NULL, Layout, amounts, numbers_or_null, quoted

_ENGINE_FIELDS = ("samples", "sampled_ns", "busy_ns", "waiting_ns", "waiting_basis", "weight", "phases")
_PHASE_FIELDS = ("samples", "sampled_ns", "busy_ns")
_COUNTS_AS_BUSY = np.array([*(phase in INFERENCE for phase in PHASES), True])
"""By the code of a phase; the last entry, found by -1, is for work without a phase."""
_BASES = (*(quoted(str(basis)) for basis in BASES), NULL)


class EngineObjects:
    """Writes the engines of blocks of windows from their rows of the attribution."""

    def __init__(self, analysis: Analysis, layout: Layout, level: int) -> None:
        self._layout, self._level = layout, level
        self._is_sampled = bool(analysis.trace.samples_source)
        self._is_time = self._is_sampled and analysis.trace.weight_unit == "ns"
        self._is_measured = np.array([engine in analysis.measured.engines for engine in ENGINES])
        self._ml = np.array(sorted(ENGINE_CODE[engine] for engine in ML_ENGINES), np.int64)
        engine, phase = layout.template(_ENGINE_FIELDS, level + 1), layout.template(_PHASE_FIELDS, level + 3)
        self._engines = [layout.member(str(name), engine) for name in ENGINES]
        self._phases = [layout.member(str(name), phase) for name in PHASES]
        # An engine without a row: zeros where samples or a table would have shown it.
        samples, time = ("0" if is_known else NULL for is_known in (self._is_sampled, self._is_time))
        self._without_rows = [
            template % (samples, time, "0" if is_measured else NULL, NULL, NULL, samples, "{}")
            for template, is_measured in zip(self._engines, self._is_measured.tolist(), strict=True)
        ]

    def block(self, frame: pd.DataFrame, first: int, last: int) -> list[str]:
        """Return the engines of the windows from ``first`` to ``last``; ``frame`` has their rows."""
        # Rows are sorted by window, engine and phase, as these keys are. The ML engines are listed for every
        # window, whether they have rows or not:
        #   rows      ANE execute  ANE wait  OTHER        listed    ANE  GPU  CPU  RUNTIME  OTHER
        count = len(ENGINES)
        window = frame["window_id"].to_numpy(np.int64) - first
        keys = window * count + _codes(frame["engine"], ENGINES)
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        every_ml = np.arange(last - first)[:, None] * count + self._ml
        listed = np.union1d(keys[begins], every_ml.reshape(-1))
        members = [self._without_rows[code] for code in (listed % count).tolist()]
        positions = np.searchsorted(listed, keys[begins]).tolist()
        for position, text in zip(positions, self._with_rows(frame, begins), strict=True):
            members[position] = text
        edges = np.searchsorted(listed, np.arange(last - first + 1) * count).tolist()
        return [self._layout.object_of(members[begin:end], self._level) for begin, end in pairwise(edges)]

    def _with_rows(self, frame: pd.DataFrame, begins: IntArray) -> Iterable[str]:
        """Return a member per window and engine that has rows, of which ``begins`` are the first."""
        if not len(frame):
            return []
        phase, engine = _codes(frame["phase"], PHASES), _codes(frame["engine"], ENGINES)[begins]
        samples, weight = (frame[name].to_numpy(np.int64) for name in ("samples", "weight"))
        sampled, busy, waiting = (amounts(frame[name]) for name in ("sampled_ns", "busy_ns", "waiting_ns"))
        counted = _COUNTS_AS_BUSY[phase]
        is_busy_known = self._is_measured[engine] | _any(busy[1] & counted, begins)
        totals = zip(
            self._if_sampled(_sums(samples, begins)),
            numbers_or_null(_sums(sampled[0], begins), np.full(len(begins), self._is_time)),
            numbers_or_null(_sums(np.where(counted, busy[0], 0), begins), is_busy_known),
            numbers_or_null(_sums(waiting[0], begins), _any(waiting[1], begins)),
            [_BASES[code] for code in _first_codes(_codes(frame["waiting_basis"], BASES), begins).tolist()],
            self._if_sampled(_sums(weight, begins)),
            self._phase_objects(
                phase,
                begins,
                zip(
                    self._if_sampled(samples),
                    numbers_or_null(sampled[0], sampled[1] & self._is_sampled),
                    numbers_or_null(*busy),
                    strict=True,
                ),
            ),
            strict=True,
        )
        templates = [self._engines[code] for code in engine.tolist()]
        return [template % values for template, values in zip(templates, totals, strict=True)]

    def _phase_objects(
        self, phase: IntArray, begins: IntArray, values: Iterable[tuple[str, ...]]
    ) -> list[str]:
        """Return the phases of each engine of a window; a row without a phase is in none."""
        codes = phase.tolist()
        members = [
            self._phases[code] % numbers if code >= 0 else ""
            for code, numbers in zip(codes, values, strict=True)
        ]
        edges = [*begins.tolist(), len(codes)]
        # A row without a phase is the first of its engine: its code, -1, is the lowest.
        return [
            self._layout.object_of(members[begin + (codes[begin] < 0) : end], self._level + 2)
            for begin, end in pairwise(edges)
        ]

    def _if_sampled(self, numbers: IntArray) -> list[str]:
        return numbers_or_null(numbers, np.full(len(numbers), self._is_sampled))


def _codes(column: pd.Series[str], words: Iterable[str]) -> IntArray:
    """Return a category column as positions in ``words``; -1 is missing."""
    position = {str(word): code for code, word in enumerate(words)}
    codes = np.array([*(position[str(name)] for name in column.cat.categories), -1], np.int64)
    recoded: IntArray = codes[column.cat.codes.to_numpy()]
    return recoded


def _sums(numbers: IntArray, begins: IntArray) -> IntArray:
    """Return the exact sum of each group."""
    is_huge = np.abs(numbers).sum(dtype=np.float64) >= 2.0**62
    sums: IntArray = np.add.reduceat(numbers.astype(object) if is_huge else numbers, begins)
    return sums


def _any(marked: BoolArray, begins: IntArray) -> BoolArray:
    some: BoolArray = np.logical_or.reduceat(marked, begins)
    return some


def _first_codes(codes: IntArray, begins: IntArray) -> IntArray:
    """Return the first code of each group that is not -1, else -1."""
    positions = np.where(codes >= 0, np.arange(len(codes)), len(codes))
    first: IntArray = np.append(codes, -1)[np.minimum.reduceat(positions, begins)]
    return first
