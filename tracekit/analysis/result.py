"""``Analysis``: an analyzed run with what its detectors find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from tracekit.analysis.budget.summary import PartTotal, sum_by_group
from tracekit.analysis.budget.typical import FEWEST_CALLS, Differences, compare_with_typical
from tracekit.analysis.energy import Power, measure_power
from tracekit.analysis.engines.codes import group_codes, group_positions, is_among
from tracekit.analysis.findings.answer import Answer, make_answer
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.find import find
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.run import AnalyzedRun
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import PROCESS_USAGE

if TYPE_CHECKING:
    from tracekit.analysis.engine_holders import EngineHolders
    from tracekit.analysis.generation.generations import Generations


class Analysis(AnalyzedRun):
    """One analyzed run, with what its detectors find. Two are equal when their recordings and results are."""

    @cached_property
    def findings(self) -> tuple[Finding[Any], ...]:
        """What happened to each model, what it costs and what to do next; what costs most comes first."""
        return find(self._calls)

    @cached_property
    def answer(self) -> Answer:
        """On which engine each model ran, as data; ``headline`` is the same in words."""
        return make_answer(self._calls, self.findings, self.power, self.engine_holders)

    @cached_property
    def power(self) -> Power | None:
        """Power of the rails and the energy of a call; None where nothing in the recording measures power."""
        return measure_power(self._calls)

    @cached_property
    def engine_holders(self) -> EngineHolders | None:
        """The processes that held memory on the Neural Engine; None where nothing sampled that."""
        if not any(table.schema == PROCESS_USAGE for table in self.trace.tables):
            return None
        # Few recordings have these samples: the others need no further module.
        from tracekit.analysis.engine_holders import find_engine_holders

        return find_engine_holders(self)

    @cached_property
    def _calls(self) -> Calls:
        return Calls(self)

    @property
    def generations(self) -> Generations | None:
        """The requests to language models, with their phases and tokens; None where no signpost marks any."""
        return self._calls.generations

    @property
    def call_models(self) -> tuple[ModelCalls, ...]:
        """The calls of each model, the one with most time first."""
        return self._calls.models

    @cached_property
    def differences(self) -> Differences:
        """How each call differs from the typical one of its model and copy; first and cut calls are none."""
        calls = self._calls
        is_comparable = ~calls.first & ~calls.is_cut
        groups = calls.iter_models(is_comparable, FEWEST_CALLS) if calls.is_timed else ()
        copies = [copy for group in groups for copy in self._divide_by_copy(group)]
        return compare_with_typical(copies, calls.lengths, is_comparable, self.budget.sums)

    def _divide_by_copy(self, model: ModelCalls) -> Iterator[ModelCalls]:
        """Yield the calls of each loaded copy of a model, which may run on an engine of its own."""
        copies = group_codes(self.window_rows["copy"].to_numpy()[model.rows])
        for rows in group_positions(copies, int(copies.max(initial=-1)) + 1):
            yield replace(model, rows=model.rows[rows])

    @cached_property
    def budget_totals(self) -> tuple[PartTotal, ...]:
        """The parts of the budgets of each of ``call_models``, summed over its calls."""
        return tuple(sum_by_group(self.call_models, self.budget.sums))

    @property
    def call_numbers(self) -> IntArray:
        """The number of each call within its model, row-aligned to ``window_rows`` (``Calls.numbers``)."""
        return self._calls.numbers

    @property
    def is_cut(self) -> BoolArray:
        """The calls that an edge of the recording cuts, row-aligned to ``window_rows`` (``Calls.is_cut``)."""
        return self._calls.is_cut

    @property
    def call_column(self) -> pd.Series[int]:
        """``call_numbers`` with ``<NA>`` for ranges that the user gave."""
        numbers = pd.Series(self.call_numbers, self.window_rows.index, dtype="Int64")
        return numbers.mask(is_among(self.window_rows["source"], *GIVEN_SOURCES))
