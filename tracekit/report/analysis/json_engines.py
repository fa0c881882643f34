"""The engines of each window as JSON text: the sums of ``analysis.engines.totals``, over columns."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import BASES, INFERENCE, convert_categories
from tracekit.analysis.result import Analysis
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, ML_ENGINES, PHASES
from tracekit.report.json_layout import NULL, Layout, amounts, numbers_or_null, quoted
from tracekit.report.wording.texts import Texts, digits, pick_texts_from, picked, texts_of

_Amounts: TypeAlias = tuple[IntArray, BoolArray]
_Value = TypeVar("_Value")
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
        self._engines = [layout.member(str(name), "") for name in ENGINES]
        self._phases = [layout.member(str(name), "") for name in PHASES]
        # An engine without a row: zeros where samples or a table would have shown it.
        samples, time = ("0" if is_known else NULL for is_known in (self._is_sampled, self._is_time))
        measured = ["0" if is_measured else NULL for is_measured in self._is_measured.tolist()]
        self._without_rows = texts_of(
            [
                name + layout.object(_fields(samples, time, busy, NULL, NULL, samples, "{}"), level + 1)
                for name, busy in zip(self._engines, measured, strict=True)
            ]
        )

    def block(self, frame: pd.DataFrame, start: int, stop: int) -> Texts:
        """Return the engines of the windows from ``start`` to ``stop``; ``frame`` has their rows."""
        # Rows are sorted by window, engine and phase, as these keys are. The ML engines are listed for every
        # window, whether they have rows or not:
        #   rows      ANE execute  ANE wait  OTHER        all_keys  ANE  GPU  CPU  RUNTIME  OTHER
        count = len(ENGINES)
        window = frame["window_id"].to_numpy(np.int64) - start
        keys = window * count + convert_categories(frame["engine"], ENGINES)
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        every_ml = np.arange(stop - start)[:, None] * count + self._ml
        all_keys = np.union1d(keys[begins], every_ml.reshape(-1))
        position = all_keys % count
        position[np.searchsorted(all_keys, keys[begins])] = count + np.arange(len(begins))
        members = pick_texts_from([self._without_rows, self._with_rows(frame, begins)], position)
        edges = np.searchsorted(all_keys, np.arange(stop - start + 1) * count)
        return self._layout.objects_of(members, edges, self._level)

    def _with_rows(self, frame: pd.DataFrame, begins: IntArray) -> Texts:
        """Return a member per window and engine that has rows, of which ``begins`` are the first."""
        if not len(frame):
            return texts_of([])
        phase, engine = (
            convert_categories(frame["phase"], PHASES),
            convert_categories(frame["engine"], ENGINES)[begins],
        )
        samples, weight = (frame[name].to_numpy(np.int64) for name in ("samples", "weight"))
        sampled, busy, waiting = (amounts(frame[name]) for name in ("sampled_ns", "busy_ns", "waiting_ns"))
        counts_as_busy = _COUNTS_AS_BUSY[phase]
        is_busy_known = self._is_measured[engine] | _any(busy[1] & counts_as_busy, begins)
        basis = _first_codes(convert_categories(frame["waiting_basis"], BASES), begins)
        fields = _fields(
            self._if_sampled(_sums(samples, begins)),
            digits(_sums(sampled[0], begins)) if self._is_time else NULL,
            numbers_or_null(_sums(np.where(counts_as_busy, busy[0], 0), begins), is_busy_known),
            numbers_or_null(_sums(waiting[0], begins), _any(waiting[1], begins)),
            picked(basis % len(_BASES), _BASES),
            self._if_sampled(_sums(weight, begins)),
            self._phase_objects(phase, begins, samples, sampled, busy),
        )
        return self._layout.objects(fields, self._level + 1, prefix=picked(engine, self._engines))

    def _phase_objects(
        self, phase: IntArray, begins: IntArray, samples: IntArray, sampled: _Amounts, busy: _Amounts
    ) -> Texts:
        """Return the phases of each engine of a window; a row without a phase is in none."""
        rows = np.flatnonzero(phase >= 0)
        values = (
            self._if_sampled(samples[rows]),
            numbers_or_null(sampled[0][rows], sampled[1][rows]) if self._is_sampled else NULL,
            numbers_or_null(busy[0][rows], busy[1][rows]),
        )
        fields = dict(zip(_PHASE_FIELDS, values, strict=True))
        members = self._layout.objects(fields, self._level + 3, prefix=picked(phase[rows], self._phases))
        edges = np.searchsorted(rows, [*begins.tolist(), len(phase)])
        return self._layout.objects_of(members, edges, self._level + 2)

    def _if_sampled(self, numbers: IntArray) -> Texts | str:
        return digits(numbers) if self._is_sampled else NULL


def _fields(*values: _Value) -> dict[str, _Value]:
    return dict(zip(_ENGINE_FIELDS, values, strict=True))


def _sums(numbers: IntArray, begins: IntArray) -> IntArray:
    """Return the exact sum of each group."""
    is_huge = np.abs(numbers).sum(dtype=np.float64) >= 2.0**62
    sums: IntArray = np.add.reduceat(numbers.astype(object) if is_huge else numbers, begins)
    return sums


def _any(mask: BoolArray, begins: IntArray) -> BoolArray:
    some: BoolArray = np.logical_or.reduceat(mask, begins)
    return some


def _first_codes(codes: IntArray, begins: IntArray) -> IntArray:
    """Return the first code of each group that is not -1, else -1."""
    positions = np.where(codes >= 0, np.arange(len(codes)), len(codes))
    result: IntArray = np.append(codes, -1)[np.minimum.reduceat(positions, begins)]
    return result
