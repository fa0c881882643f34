"""Ownership: the process and the model that each interval of a table belongs to.

The Neural Engine's table is system-wide and names no process. Where the tables of Core ML and Core AI name
the target's models, labels separate them from other processes' work; elsewhere ownership cannot be checked.
An MPS row that repeats a row of the Neural Engine gives it its process. The GPU's rows have a process. MPS
rows mostly have none and belong to the recording's target.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_keys, group_rows, is_among, is_engine
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_AI, CORE_ML, GPU_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, Engine

Names: TypeAlias = npt.NDArray[Any]

NAMELESS = 0
"""The number of no name."""
_BOUNDARIES = "_ .-:/"
_PROCEDURE = "mpsx.ane @"
_REGION = "ane_region_"
_MIN_OTHER_SAMPLES = 20
_MIN_QUIET_SAMPLES = 100
"""Choices: an inference on the Neural Engine leaves a sample or more of it on the host, at 1 ms."""
RUNTIMES = {CORE_ML: "Core ML", CORE_AI: "Core AI"}
"""The tables whose rows name the target's models, and the runtimes that report them."""


class Ownership:
    """The model of each interval, as far as rows and labels name it.

    ``model_code`` numbers ``model_names``; the name is "" where it is not known. Where ``runtimes`` name the
    target's models, ANE labels are compared with them, and ``other_process`` marks labels that fit none. When
    no label at all fits one, the tables name models differently (``unmatched`` counts these rows), and no row
    is called another process's. Without such names, a label's own model separates models, but not processes
    (``unchecked`` counts these rows); where the target's stacks show that the Neural Engine did not work for
    it (``ane_is_target`` is False), all of its rows are another process's (``unattributed``). Rows whose
    process an MPS row or the log names need no label; ``elsewhere`` counts those of a process that is none of
    ``pids``. ``models`` are those by which windows can be separated.

    Labels of Core AI's regions are formed by another compiler than Core ML's: a label of one kind that fits
    shows nothing about the other kind. They may name a function alone; then the row must lie in the time of
    Core AI's rows of that function.
    """

    def __init__(
        self, frame: pd.DataFrame, ane_is_target: bool = True, pids: frozenset[int] = frozenset()
    ) -> None:
        self._frame = frame
        self._vocabulary = _Vocabulary()
        named_model = self._vocabulary.codes(frame["model"])
        is_core_ml, is_core_ai = (is_among(frame["source"], table) for table in (CORE_ML, CORE_AI))
        # Core ML nests the models of a pipeline in the pipeline's row: parts, which own no window.
        nested = is_core_ml & (frame["depth"] > 0).to_numpy(bool)
        outermost = (is_core_ml | is_core_ai) & ~nested
        models = self._vocabulary.names(named_model[outermost])
        parts = self._vocabulary.names(named_model[nested]) - models
        self._core_ai = _CoreAI(frame[is_core_ai], named_model[is_core_ai], self._vocabulary)
        table_models = {
            table: self._vocabulary.names(named_model[of_table])
            for table, of_table in ((CORE_ML, is_core_ml), (CORE_AI, is_core_ai))
        }
        self.runtimes = tuple(name for table, name in RUNTIMES.items() if table_models[table])
        is_ane = is_among(frame["source"], *ANE_TABLES)
        self._named_model = named_model
        self.model_code: IntArray = np.where(outermost, named_model, NAMELESS)
        self.other_process: BoolArray = np.zeros(len(frame), bool)
        self.unmatched = self.unchecked = 0
        self.unattributed = False
        self._has_process = (frame["pid"] >= 0).to_numpy(bool)
        rows = np.flatnonzero(is_ane)
        reported = frozenset(models)
        if self.runtimes:
            self._match(rows, models, parts, bool(table_models[CORE_ML]))
            models |= self._vocabulary.names(self.model_code[rows])
        elif not ane_is_target:
            self.other_process = is_ane & ~self._has_process
            self.unattributed = bool(self.other_process.any())
        else:
            self._take_label(rows)
            models = self._vocabulary.names(named_model[rows])
        self._match_gpu(reported, bool(reported & self._vocabulary.names(self.model_code[rows])))
        self.models = frozenset(models)
        named_rows = np.flatnonzero(is_ane & self._has_process) if pids else rows[:0]
        elsewhere = named_rows[~frame["pid"].iloc[named_rows].isin(pids).to_numpy(bool)]
        self.elsewhere = len(elsewhere)
        self.other_process[elsewhere] = True

    @cached_property
    def model_names(self) -> Names:
        """The names that ``model_code`` numbers, "" the first of them."""
        return self._vocabulary.array()

    @property
    def model(self) -> Names:
        """The model of each interval by name."""
        names: Names = self.model_names[self.model_code]
        return names

    def _match(self, rows: IntArray, models: set[str], parts: set[str], is_core_ml_named: bool) -> None:
        """Compare labels with the target's models, each kind of label for itself."""
        labels, label_of_row = self._encode_labels(rows)
        owner_of_label = [find_owner(label, models | parts) for label in labels.tolist()]
        of_region = np.array([is_region(label) for label in labels.tolist()], bool)
        if not self._core_ai.models:
            of_region[:] = False
        # Several pipelines may have the same part, so a part's row belongs to no model in particular.
        owners = (owner if owner in models else "" for owner in owner_of_label)
        owner = np.array([self._vocabulary.code(str(name)) for name in owners], np.int64)
        fits = np.array([owner is not None for owner in owner_of_label], bool)
        function = np.zeros(len(labels), np.int64)
        function[of_region & ~fits] = self._core_ai.find_functions(labels[of_region & ~fits])
        some_region_fits = bool((fits | (function != NAMELESS))[of_region].any())
        self.model_code[rows] = owner[label_of_row]
        is_open = (of_region & ~fits)[label_of_row]
        if some_region_fits:
            self._match_by_time(rows[is_open], function[label_of_row][is_open])
        else:
            self.unmatched += int((~self._has_process[rows[is_open]]).sum())
            self._match_by_time(rows[is_open], None)
        is_rest = ~of_region[label_of_row]
        other_rows = rows[is_rest]
        if fits[~of_region].any():
            # One label that fits proves that both tables name models alike, so that a label that fits none is
            # another process's.
            self.other_process[other_rows] = ~fits[label_of_row][is_rest]
        elif not is_core_ml_named and some_region_fits:
            # A label that names no model is of none of the models that have windows.
            self._take_label(other_rows)
            whole_label = np.array([self._vocabulary.code(label) for label in labels.tolist()], np.int64)
            nameless = self.model_code[other_rows] == NAMELESS
            self.model_code[other_rows[nameless]] = whole_label[label_of_row[is_rest][nameless]]
        else:
            # Without any fit, a difference in naming is as likely, and no row is excluded.
            self.unmatched += int((~self._has_process[other_rows]).sum())
        self.other_process &= ~self._has_process

    def _match_gpu(self, models: frozenset[str], is_alike: bool) -> None:
        """Give rows of the GPU the model that their label names; most labels name none.

        A label may begin with one of the runtimes' ``models``. A model that it names by itself counts unless
        the runtimes' tables and the labels name all models differently; ``is_alike`` is True where a label of
        the Neural Engine names one as they do.
        """
        rows = np.flatnonzero(is_among(self._frame["source"], *GPU_TABLES))
        labels, label_of_row = self._encode_labels(rows)
        owners = [find_owner(label, models) or "" for label in labels.tolist()]
        owner = np.array([self._vocabulary.code(name) for name in owners], np.int64)[label_of_row]
        if is_alike or not models or (owner != NAMELESS).any():
            owner = np.where(owner == NAMELESS, self._named_model[rows], owner)
        self.model_code[rows] = owner

    def _encode_labels(self, rows: IntArray) -> tuple[Names, IntArray]:
        """Return the distinct labels of rows, and the position of each row's among them."""
        column = self._frame["label"]
        present, position = group_keys(column.cat.codes.to_numpy()[rows].astype(np.int64))
        return column.cat.categories.to_numpy(object)[present], position

    def _match_by_time(self, rows: IntArray, functions: IntArray | None) -> None:
        """Assign rows to the only Core AI model at work on their function (on any, without functions)."""
        starts, ends = (self._frame[name].to_numpy(np.int64)[rows] for name in ("start_ns", "end_ns"))
        self.model_code[rows], is_possible = self._core_ai.find_models_at_work(starts, ends, functions)
        self.other_process[rows] = ~is_possible

    def _take_label(self, rows: IntArray) -> None:
        """Assign rows to the model of their label, whatever process ran it."""
        self.model_code[rows] = self._named_model[rows]
        self.unchecked += int((~self._has_process[rows]).sum())


class _Vocabulary:
    """Distinct names as numbers; ``NAMELESS`` stands for a missing one."""

    def __init__(self) -> None:
        self._codes = {"": NAMELESS}

    def code(self, name: str) -> int:
        """Return the number of a name."""
        return self._codes.setdefault(name, len(self._codes))

    def codes(self, column: pd.Series[str]) -> IntArray:
        """Return the numbers of a category column."""
        numbers = [*(self.code(str(name)) for name in column.cat.categories), NAMELESS]
        codes: IntArray = np.array(numbers, np.int64)[column.cat.codes.to_numpy()]
        return codes

    def names(self, codes: IntArray) -> set[str]:
        """Return the names that occur among numbers."""
        return set(self.array()[group_keys(codes)[0]].tolist()) - {""}

    def array(self) -> Names:
        """Return all names in the order of their numbers."""
        return np.array([*self._codes], object)


class _CoreAI:
    """The target's Core AI models, with the functions that ran, loaded or compiled, and when."""

    def __init__(self, rows: pd.DataFrame, model: IntArray, vocabulary: _Vocabulary) -> None:
        self.models = vocabulary.names(model)
        self._rows, self._model = rows, model
        self._functions = _Vocabulary()
        self._function = self._functions.codes(rows["label"])

    def find_functions(self, labels: Names) -> IntArray:
        """Return the function that each label begins with, ``NAMELESS`` for none."""
        functions = self._functions.names(self._function)
        claims = (find_owner(label.removeprefix(_PROCEDURE), functions) or "" for label in labels.tolist())
        return np.array([self._functions.code(claim) for claim in claims], np.int64)

    def find_models_at_work(
        self, starts: IntArray, ends: IntArray, functions: IntArray | None
    ) -> tuple[IntArray, BoolArray]:
        """Return the model whose rows share time with each span, ``NAMELESS`` for several; and a mask.

        With ``functions``, only rows of the span's function count. The mask is False where no row does.
        """
        count, owner = np.zeros(len(starts), np.int64), np.full(len(starts), NAMELESS)
        row_starts, row_ends = (self._rows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        keys = {"model": self._model, "function": self._function if functions is not None else NAMELESS}
        for (model, function), members in group_rows(pd.DataFrame(keys, index=self._rows.index), *keys):
            if model == NAMELESS or (functions is not None and function == NAMELESS):
                continue
            candidate_rows = (
                np.arange(len(starts)) if functions is None else np.flatnonzero(functions == function)
            )
            spans = IntervalSet.of(row_starts[members], row_ends[members])
            touching_rows = candidate_rows[spans.touches(starts[candidate_rows], ends[candidate_rows])]
            count[touching_rows] += 1
            owner[touching_rows] = model
        owner[count > 1] = NAMELESS
        return owner, count > 0


def is_region(label: str) -> bool:
    """Return whether a label is formed as those of Core AI's regions."""
    return _REGION in label.lower()


def find_owner(label: str, models: AbstractSet[str]) -> str | None:
    """Return the longest model name that the label begins with, up to a boundary; None for none."""
    if label in models:
        return label
    # The longest name wins: of the models "Net" and "Net_large", the label "Net_large_1" is the second's.
    ends = [position for position, character in enumerate(label) if character in _BOUNDARIES]
    return next((label[:end] for end in reversed(ends) if label[:end] in models), None)


def ane_may_be_target(labels: SampleLabels) -> bool:
    """Return False where the target's stacks show that the ANE's work is another process's.

    They do if most of them have symbols, none shows the Neural Engine in any phase, and either
    ``_MIN_QUIET_SAMPLES`` show no machine learning at all, or ``_MIN_OTHER_SAMPLES`` show which other engine
    it ran on.
    A runtime with no engine visible may be waiting for the Neural Engine.
    """
    engines = labels.engine
    unknown = int((engines == ENGINE_CODE[Engine.UNKNOWN]).sum())
    if 2 * unknown > len(engines) or (engines == ENGINE_CODE[Engine.ANE]).any():
        return True
    elsewhere = int(is_engine(engines, Engine.CPU, Engine.GPU).sum())
    quiet = not (labels.is_ml | labels.in_call).any() and len(engines) - unknown >= _MIN_QUIET_SAMPLES
    return not quiet and elsewhere < _MIN_OTHER_SAMPLES


def find_target_pids(trace: Trace) -> frozenset[int]:
    """Return the process that the recording is about; none when there are several, or it is not known."""
    thread_ids = np.unique(trace.samples["thread_id"].to_numpy())
    pids = {int(pid) for pid in trace.threads["pid"].to_numpy()[thread_ids[thread_ids >= 0]] if pid >= 0}
    if len(pids) == 1:
        return frozenset(pids)
    if trace.info.pid is not None and (not pids or trace.info.pid in pids):
        return frozenset([trace.info.pid])
    return frozenset()


def get_only_pid(pids: frozenset[int]) -> int:
    """Return the process if there is only one, else -1."""
    return next(iter(pids)) if len(pids) == 1 else -1
