"""The calls of an analysis as rows: each call, the models that made them, their engines and segments.

Whether an engine served a call is ``yes``, ``no`` or ``unknown``, and counts nowhere as anything else: a call
without evidence, one whose intervals may be another owner's, or one that an edge cuts may have been served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from tracekit.analysis.engines.interval_sets import merge_sets
from tracekit.analysis.engines.measured_rows import Scope
from tracekit.analysis.findings.calls import ModelCalls
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.comparison.observations import Observations
from tracekit.fleet.schema import ENGINES, NO, UNKNOWN, YES
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Engine, Phase
from tracekit.text import format_thread

Names = npt.NDArray[np.object_]
_MIN_CALLS_FOR_P90 = 10
_MAX_SEGMENTS = 1_000_000
"""Of one recording: overlapping calls have the same intervals each, so segments may outgrow any memory."""


@frozen
class DatasetCallGroup:
    """The calls of one model in one process, or of one of its copies where it has several.

    ``rows`` are those of the analysis' windows, in order of time; the first one may be cold.
    """

    process: str
    pid: int
    model: str
    label: str
    copy: str
    rows: IntArray

    def place_columns(self) -> dict[str, object]:
        """Return the group's columns of every table about calls."""
        return {
            "process": self.process,
            "pid": self.pid if self.pid >= 0 else None,
            "model": self.model,
            "label": self.label,
            "copy": self.copy,
        }


class DatasetCalls:
    """The rows about calls of one analysis. Ranges that the user gave, and the whole run, are no calls."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.observed = Observations(analysis)
        self._windows = analysis.window_rows
        self._starts: IntArray = self._windows["start_ns"].to_numpy(np.int64)
        self._ends: IntArray = self._windows["end_ns"].to_numpy(np.int64)
        self._is_timed = analysis.trace.has_durations and analysis.trace.has_timeline

    @cached_property
    def groups(self) -> tuple[DatasetCallGroup, ...]:
        """The calls by model, process and copy."""
        return tuple(group for model in self.analysis.call_models for group in self._iter_groups(model))

    def _iter_groups(self, model: ModelCalls) -> Iterator[DatasetCallGroup]:
        if self._windows["source"].iloc[int(model.rows[0])] in GIVEN_SOURCES:
            return
        label = "" if model.model else model.name
        process = self.processes.get(model.pid, "")
        copies = self._windows["copy"].to_numpy(object)[model.rows]
        names = sorted(set(copies))
        for name in names:
            rows = model.rows[copies == name]
            yield DatasetCallGroup(
                process, model.pid, model.model, label, name if len(names) > 1 else "", rows
            )

    @cached_property
    def processes(self) -> Mapping[int, str]:
        """The names of the processes, by pid."""
        trace = self.analysis.trace
        names = dict(zip(trace.threads["pid"].tolist(), trace.threads["process"].tolist(), strict=True))
        target = {trace.info.pid: trace.info.process} if trace.info.pid is not None else {}
        return {int(pid): str(name) for pid, name in {**names, **target}.items() if pid >= 0}

    @cached_property
    def _rows(self) -> IntArray:
        """The windows that are calls, group by group."""
        return np.concatenate([np.zeros(0, np.int64), *(group.rows for group in self.groups)])

    @cached_property
    def count(self) -> int:
        """The number of calls."""
        return len(self._rows)

    @cached_property
    def _is_first(self) -> BoolArray:
        is_first = self._windows["first"].to_numpy(bool).copy()
        is_first[[int(group.rows[0]) for group in self.groups]] = True
        return is_first

    @cached_property
    def _used(self) -> dict[str, Names]:
        """Whether each engine served each window."""
        return {engine: self._find_engine_use(engine) for engine in ENGINES}

    def _find_engine_use(self, engine: str) -> Names:
        share = self.observed.quantity("used share", engine).values  # noqa: PD011
        used = np.where(np.isnan(share), UNKNOWN, np.where(share > 0, YES, NO)).astype(object)
        used[self.analysis.is_cut & (used == NO)] = UNKNOWN  # it may have served the part that is missing
        return used

    @cached_property
    def _busy(self) -> dict[str, tuple[IntArray, BoolArray]]:
        """Time that each engine certainly worked for each window, and where that was measured."""
        measured = self.analysis.measured.engines
        return {
            # Core ML reports the CPU's part only sometimes: without a row, it is not known.
            str(work.engine): (work.busy_ns, (work.busy_ns > 0) | (work.engine in measured))
            for work in self.analysis.verdicts.works
        }

    @cached_property
    def _contested(self) -> dict[str, IntArray]:
        return {str(work.engine): work.contested_ns for work in self.analysis.verdicts.works}

    # Tables -------------------------------------------------------------------------------------------------

    def build_model_rows(self) -> list[dict[str, object]]:
        """Return the rows of the table ``models``."""
        return [{**group.place_columns(), **self._summarize_lengths(group)} for group in self.groups]

    def _summarize_lengths(self, group: DatasetCallGroup) -> dict[str, object]:
        is_cut = self.analysis.is_cut[group.rows]
        measured_rows = group.rows[~is_cut & ~self._is_first[group.rows]]
        lengths = (self._ends - self._starts)[measured_rows] if self._is_timed else np.zeros(0, np.int64)
        load_ns, is_loaded = self._find_load(group)
        first_row = int(group.rows[0])
        has_first = is_loaded and self._is_timed and not is_cut[0]
        has_enough_for_p90 = len(lengths) >= _MIN_CALLS_FOR_P90
        return {
            "calls": int((~is_cut).sum()),
            "cut_calls": int(is_cut.sum()),
            "source": _list_distinct(self.observed.source[group.rows]),
            "basis": _list_distinct(self._basis[group.rows]),
            "mean_ns": float(lengths.mean()) if len(lengths) else None,
            "p50_ns": float(np.median(lengths)) if len(lengths) else None,
            "p90_ns": float(np.percentile(lengths, 90, method="inverted_cdf"))
            if has_enough_for_p90
            else None,
            "first_ns": int(self._ends[first_row] - self._starts[first_row]) if has_first else None,
            "load_ns": load_ns,
        }

    def _find_load(self, group: DatasetCallGroup) -> tuple[int | None, bool]:
        """Return the time of measured loads until the end of a group's first call, and if there was any.

        Loads name the model, not its copy: only the copy that is called first certainly was loaded before.
        """
        measured = self.analysis.measured
        if not group.model or group.model not in measured.owner.models or group.pid < 0:
            return None, False
        scope = Scope(frozenset([group.pid]), group.model)
        keys = [key for key in measured.keys if key[1] in (Phase.LOAD, Phase.COMPILE)]
        first_row = int(group.rows[0])
        until = self._ends[first_row : first_row + 1]
        load_ns = int(merge_sets([measured.spans(scope, key) for key in keys]).until(until)[0])
        if not load_ns:
            return None, False
        return (None, bool(self._windows["first"].iloc[first_row])) if group.copy else (load_ns, True)

    def build_engine_rows(self) -> list[dict[str, object]]:
        """Return the rows of the table ``engines``: one per group and engine."""
        return [
            {**group.place_columns(), "engine": engine, **self._summarize_use(group, engine)}
            for group in self.groups
            for engine in ENGINES
        ]

    def _summarize_use(self, group: DatasetCallGroup, engine: str) -> dict[str, object]:
        used = self._used[engine][group.rows]
        busy_ns, is_known = self._busy[engine]
        is_determined = np.zeros(self.observed.count, bool)
        is_determined[group.rows[used != UNKNOWN]] = True
        is_measured = Engine(engine) in self.analysis.measured.reported
        return {
            "calls": len(used),
            "served": int((used == YES).sum()),
            "not_served": int((used == NO).sum()),
            "unknown": int((used == UNKNOWN).sum()),
            "busy_ns": int(busy_ns[group.rows].sum()) if is_known[group.rows].all() else None,
            "contested_ns": int(self._contested[engine][group.rows].sum()) if is_measured else None,
            "basis": ", ".join(self.observed.quantity("used share", engine).bases(is_determined)),
        }

    def build_call_columns(self) -> dict[str, object]:
        """Return the columns of the table ``calls``, group by group."""
        rows = self._rows
        is_cut = self.analysis.is_cut[rows]
        times = self.analysis.times
        preparing_ns = times["preparing_ns"].to_numpy(np.int64)[rows]
        return {
            **self._repeat_places([len(group.rows) for group in self.groups]),
            "call": self.analysis.call_numbers[rows],
            "thread": self._threads[self._windows["thread_id"].to_numpy(np.int64)[rows]],
            "start_ns": _mask_unknown(
                self._starts[rows], np.full(len(rows), self.analysis.trace.has_timeline)
            ),
            "length_ns": _mask_unknown((self._ends - self._starts)[rows], ~is_cut & self._is_timed),
            "first": self._is_first[rows],
            "cut": is_cut,
            "source": self.observed.source[rows],
            "basis": self._basis[rows],
            "verdict": self.observed.verdict[rows],
            **{
                name: values for engine in ENGINES for name, values in self._iter_engine_columns(engine, rows)
            },
            "contested_ns": times["contested_ns"].to_numpy(np.int64)[rows],
            "idle_ns": times["idle_ns"].array[rows],
            "preparing_ns": _mask_unknown(preparing_ns, preparing_ns > 0),
            "submissions": self.analysis.submissions["submissions"].array[rows],
        }

    def _iter_engine_columns(self, engine: str, rows: IntArray) -> Iterator[tuple[str, object]]:
        name = engine.lower()
        waiting = self.observed.quantity("waiting", engine).values[rows]  # noqa: PD011
        yield f"{name}_used", self._used[engine][rows]
        busy_ns, is_known = self._busy[engine]
        yield f"{name}_busy_ns", _mask_unknown(busy_ns[rows], is_known[rows])
        yield f"{name}_waiting_ns", _mask_unknown(np.nan_to_num(waiting).astype(np.int64), ~np.isnan(waiting))

    @cached_property
    def _basis(self) -> Names:
        """How the edges of each window are known."""
        return self._windows["basis"].astype("str").to_numpy(object)

    @cached_property
    def _threads(self) -> Names:
        """The name of each thread; the last one is that of -1."""
        threads = self.analysis.trace.threads
        names = zip(threads["name"].tolist(), threads["tid"].tolist(), strict=True)
        return np.array([*(format_thread(str(name), int(tid)) for name, tid in names), ""], object)

    def _repeat_places(self, counts: list[int]) -> dict[str, Names]:
        """Return the groups' columns, each group's repeated as often as it has rows."""
        places = [group.place_columns() for group in self.groups]
        return {
            name: np.repeat(np.array([place[name] for place in places], object), counts)
            for name in ("process", "pid", "model", "label", "copy")
        }

    def build_segment_columns(self) -> dict[str, object] | None:
        """Return the columns of the table ``segments``; None if there are too many."""
        group_of = np.full(self.observed.count, -1, np.int64)
        group_of[self._rows] = np.repeat(np.arange(len(self.groups)), [len(g.rows) for g in self.groups])
        blocks: list[pd.DataFrame] = []
        count = 0
        for block in self.analysis.segment_blocks.frames():
            is_of_call = group_of[block["window_id"].to_numpy(np.int64)] >= 0
            blocks.append(block if is_of_call.all() else block[is_of_call])
            count += len(blocks[-1])
            if count > _MAX_SEGMENTS:
                return None
        return self._fill_segment_columns(_concatenate_blocks(blocks), group_of)

    def _fill_segment_columns(self, segments: pd.DataFrame, group_of: IntArray) -> dict[str, object]:
        window = segments["window_id"].to_numpy(np.int64)
        starts = segments["start_ns"].to_numpy(np.int64)
        basis = segments["basis"].astype("str")
        places = {
            name: values[group_of[window]]
            for name, values in self._repeat_places([1] * len(self.groups)).items()
        }
        return {
            **places,
            "call": self.analysis.call_numbers[window],
            "segment": _number_within_groups(window),
            "engine": segments["engine"].astype("str").to_numpy(object),
            "start_ns": starts - self._starts[window],
            "length_ns": segments["end_ns"].to_numpy(np.int64) - starts,
            "busy_ns": _mask_unknown(
                segments["busy_ns"].to_numpy(np.int64), (basis == "measured").to_numpy(bool)
            ),
            "basis": basis.to_numpy(object),
        }


def _concatenate_blocks(blocks: list[pd.DataFrame]) -> pd.DataFrame:
    return blocks[0] if len(blocks) == 1 else pd.concat(blocks, ignore_index=True)


def _mask_unknown(values: IntArray, is_known: BoolArray) -> pa.Array:
    return pa.array(values, mask=~is_known)


def _number_within_groups(groups: IntArray) -> IntArray:
    """Return the number of each row within its group, from 1; a group's rows follow one another."""
    begins = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[: len(groups)])
    lengths = np.diff(begins, append=len(groups))
    numbers: IntArray = np.arange(len(groups)) - np.repeat(begins, lengths) + 1
    return numbers


def _list_distinct(values: Names) -> str:
    return ", ".join(sorted({str(value) for value in values}))
