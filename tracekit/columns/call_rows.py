"""Some neighbouring calls of an analysis, with what their columns are computed from."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.engines.codes import INFERENCE, convert_categories, sum_by_code
from tracekit.analysis.result import Analysis
from tracekit.analysis.verdicts import VerdictBlock
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASES, Engine
from tracekit.report import wording
from tracekit.report.wording.texts import Texts, spelled, texts_of, where
from tracekit.text import format_thread

_IS_INFERENCE = np.array([*(phase in INFERENCE for phase in PHASES), True])
"""By the code of a phase; the last entry, found by -1, is for work without a phase."""


class CallRows:
    """The calls from row ``start`` up to ``stop``, all by default."""

    def __init__(self, analysis: Analysis, start: int = 0, stop: int | None = None) -> None:
        self.analysis = analysis
        self.span = slice(start, len(analysis.window_rows) if stop is None else stop)

    def __len__(self) -> int:
        return len(self.windows)

    @cached_property
    def windows(self) -> pd.DataFrame:
        """The rows of ``Analysis.window_rows``."""
        return self.analysis.window_rows.iloc[self.span]

    @cached_property
    def times(self) -> pd.DataFrame:
        """The rows of ``Analysis.times``."""
        return self.analysis.times.iloc[self.span]

    @cached_property
    def submissions(self) -> pd.DataFrame:
        """The rows of ``Analysis.submissions``."""
        return self.analysis.submissions.iloc[self.span]

    @cached_property
    def verdicts(self) -> VerdictBlock:
        """The verdicts with their evidence."""
        return self.analysis.verdicts.block(self.span.start, self.span.stop)

    @cached_property
    def names(self) -> wording.CallNames:
        """The names of all calls of the analysis."""
        return wording.call_names(self.analysis)

    def get_texts(self, name: str) -> Texts:
        """Return a column of texts of ``windows``; missing where it is empty."""
        values = self.windows[name]
        return where((values != "").to_numpy(bool), texts_of(values.tolist()))

    def get_ids(self, name: str) -> pd.arrays.IntegerArray:
        """Return a column of ids of ``windows``; missing where it is -1."""
        ids = self.windows[name].to_numpy()
        return pd.arrays.IntegerArray(ids.copy(), ids < 0)

    @cached_property
    def thread_names(self) -> npt.NDArray[Any]:
        """The names of the calling threads; None where there is none."""
        names = np.array([*self.analysis.trace.threads["name"].tolist(), None], object)
        of_calls: npt.NDArray[Any] = names[self.windows["thread_id"].to_numpy(np.int64)]  # -1 is the last
        return of_calls

    @property
    def thread_titles(self) -> Texts:
        """The calling threads as ``Main Thread (0x1f3) in SampleApp (412)``; missing where there is none."""
        ids = self.windows["thread_id"].to_numpy(np.int64)
        threads = self.analysis.trace.threads

        def title(thread_id: int) -> str | None:
            if thread_id < 0:
                return None
            thread = threads.iloc[thread_id]
            return f"{format_thread(thread['name'], thread['tid'])} in {thread['process']} ({thread['pid']})"

        return spelled(ids, title)

    @cached_property
    def _inference(self) -> tuple[pd.DataFrame, IntArray, IntArray]:
        """The attribution's rows about inference; the position of the call and the engine's code of each."""
        rows = self.analysis.attribution_rows
        edges = np.searchsorted(rows["window_id"].to_numpy(np.int64), [self.span.start, self.span.stop])
        rows = rows.iloc[slice(*edges)]
        rows = rows[_IS_INFERENCE[convert_categories(rows["phase"], PHASES)]]
        position = rows["window_id"].to_numpy(np.int64) - self.span.start
        return rows, position, convert_categories(rows["engine"], ENGINES)

    def sum_amounts(self, engine: Engine, amount: str, is_zero_known: bool = False) -> pd.arrays.IntegerArray:
        """Return the sum of an engine's amounts in each call.

        Without a row that has one it is 0 where that is known, else missing.
        """
        rows, position, engines = self._inference
        amounts = rows[amount]
        has_amount = (engines == ENGINE_CODE[engine]) & amounts.notna().to_numpy(bool)
        count = len(self)
        total = sum_by_code(position[has_amount], amounts.to_numpy(np.int64, na_value=0)[has_amount], count)
        is_known = np.bincount(position[has_amount], minlength=count) > 0
        return pd.arrays.IntegerArray(total, ~(is_known | is_zero_known))

    def sum_busy_ns(self, engine: Engine) -> pd.arrays.IntegerArray:
        """Return the measured work of an engine in each call."""
        return self.sum_amounts(engine, "busy_ns", engine in self.analysis.measured.engines)

    def sum_samples(self, engine: Engine, amount: str) -> pd.arrays.IntegerArray:
        """Return the host samples of an engine in each call, or their time; missing where not recorded."""
        trace = self.analysis.trace
        is_recorded = bool(trace.samples_source) and (amount == "samples" or trace.weight_unit == "ns")
        total = self.sum_amounts(engine, amount, is_recorded)
        if not trace.samples_source:  # no sample in an input without samples is no zero
            total[:] = pd.NA
        return total

    @property
    def other_process_ns(self) -> pd.arrays.IntegerArray:
        """The Neural Engine's time for other processes; missing where no table measured the engine."""
        amounts_ns = self.times["foreign_ns"].to_numpy(np.int64)
        is_measured = Engine.ANE in self.analysis.measured.engines
        return pd.arrays.IntegerArray(amounts_ns, np.full(len(self), not is_measured))

    def get_budget(self, part: BudgetPart) -> IntArray:
        """Return the time of a part of the budgets."""
        return self.analysis.budget.sums.sum_part(part)[self.span]

    @property
    def differences(self) -> pd.Series[int]:
        """The calls' lengths less that of the typical call of their model; missing where there is none."""
        differences = self.analysis.differences
        is_missing = differences.typical[self.span] < 0
        return pd.Series(pd.arrays.IntegerArray(differences.length_ns[self.span], is_missing))

    @property
    def typical_ids(self) -> pd.Series[int]:
        """The ``window_id`` of the typical call of each call's model; missing where there is none."""
        typical = self.analysis.differences.typical[self.span]
        ids = np.append(self.analysis.window_rows["window_id"].to_numpy(np.int64), -1)[typical]
        return pd.Series(pd.arrays.IntegerArray(ids, typical < 0))

    @property
    def explanations(self) -> Texts:
        """The part by which each call differs most from the typical one; missing where it does not differ."""
        return texts_of(wording.explain_differences(self.analysis, self.span.start, self.span.stop))

    @property
    def waiting_bases(self) -> str:
        """The bases of the waiting times of all calls: ``inferred, measured``."""
        bases = self.analysis.attribution_rows["waiting_basis"].dropna().astype("str")
        return ", ".join(sorted(bases.unique()))

    @property
    def distinct_labels(self) -> Texts:
        """The calls' labels; missing in every row unless a call has another label than its model."""
        windows = self.analysis.window_rows
        has_labels = bool(((windows["model"] != "") & (windows["label"] != windows["model"])).any())
        return where(np.full(len(self), has_labels), texts_of(self.windows["label"].tolist()))
