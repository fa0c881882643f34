"""The calls of a recording by model, with the work of each engine, as columns: the input of detectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.engines.codes import group_codes, group_positions, is_among, sum_by_code
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.coincidences import Events, collect_events
from tracekit.analysis.findings.finding import WindowRanges
from tracekit.analysis.run import AnalyzedRun
from tracekit.analysis.windows.window import GIVEN_SOURCES, sampling_period_ns, whole_run
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import CORE_AI_LANGUAGE_MODELS
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Engine, Phase

if TYPE_CHECKING:
    from tracekit.analysis.generation.generations import Generations

_DOMINATES = 2
"""A sampled engine explains a call without another engine if it took at least 1/2 of the call."""
FEWEST_SAMPLED = 3
"""Where an engine is not measured, so many calls in a row without a sample of it are no chance."""


@frozen
class ModelCalls:
    """The calls of one model in one process: ``rows`` of the analysis' windows, in order of time.

    ``model`` is "" where the recording names none. Then ``name`` is a signpost's, or the function that was
    called (``is_named`` is False), with its thread where calls overlap, as they may be of several models; ""
    where these are the only calls.
    """

    name: str
    model: str
    is_named: bool
    pid: int
    rows: IntArray


@frozen
class CallWork:
    """Inference work of one engine: one entry per window; ``busy_ns`` is 0 where no table measured it.

    ``contested_ns`` was measured for the window or for another owner.
    """

    samples: IntArray
    sampled_ns: IntArray
    busy_ns: IntArray
    contested_ns: IntArray


class Subject(TypedDict):
    """The calls that a ``Finding`` is about: arguments of it."""

    model: str
    pid: int
    windows: WindowRanges


class Place(Subject):
    """The calls that a ``Finding`` is about, from the first one's start to the last one's end."""

    start_ns: int
    end_ns: int


class Calls:
    """The windows of an analysis as columns, and grouped by model.

    ``is_timed`` is False where the user gave the windows, so that their lengths measure nothing.
    """

    def __init__(self, analysis: AnalyzedRun) -> None:
        windows = analysis.window_rows
        self.analysis = analysis
        self.trace: Trace = analysis.trace
        self.starts: IntArray = windows["start_ns"].to_numpy(np.int64)
        self.ends: IntArray = windows["end_ns"].to_numpy(np.int64)
        self.lengths: IntArray = self.ends - self.starts
        self.first: BoolArray = windows["first"].to_numpy(bool)
        self.thread_ids: IntArray = windows["thread_id"].to_numpy(np.int64)
        self.sources: Sequence[str] = tuple(windows["source"].astype("str").unique())
        self._elsewhere: dict[Engine, BoolArray] = {}
        self._is_given: BoolArray = is_among(windows["source"], *GIVEN_SOURCES)

    @property
    def is_timed(self) -> bool:
        """True where the windows are calls of the recording, whose lengths are its latency."""
        return len(self.starts) > 0 and not self._is_given.any()

    @cached_property
    def without_length(self) -> int:
        """The number of predictions that were reported without a length, which make no window."""
        codes = [entry for entry in self.analysis.diagnostics if entry.code == "predictions-without-length"]
        return sum(entry.count for entry in codes)

    @cached_property
    def models(self) -> tuple[ModelCalls, ...]:
        """The models, the one with most time first; a run as a whole is no call, and no model's."""
        windows = self.analysis.window_rows
        model, label, pid = (windows[name].to_numpy() for name in ("model", "label", "pid"))
        source = windows["source"].astype("str").to_numpy()
        is_function = (source == "stacks") & (model == "")
        name = np.where(model != "", model, np.where(self._is_given, "", label))
        # Overlapping calls of one function may be of two models, and are never one figure.
        # By codes: numpy compares each of two arrays of objects with each of the other's.
        code = group_codes(name)
        overlaps = is_function & np.isin(code, code[is_function & ~windows["alone"].to_numpy(bool)])
        thread = np.where(overlaps, self.thread_ids, -1)
        group = group_codes(name, model, is_function, pid, thread, source == "run")
        groups = [
            ModelCalls(
                self._add_thread(str(name[first]), int(thread[first])),
                str(model[first]),
                not is_function[first],
                int(pid[first]),
                rows,
            )
            for rows in group_positions(group, int(group.max(initial=-1)) + 1)
            if source[first := int(rows[0])] != "run"
        ]
        # A signpost that was not asked for names the app's own step, and no model.
        is_marked = self.sources == ("signpost",) and not self.analysis.selection.signposts
        if len(groups) == 1 and not groups[0].model and (is_marked or not groups[0].is_named):
            groups = [replace(groups[0], name="", is_named=True)]
        return tuple(
            sorted(groups, key=lambda calls: (-int(self.lengths[calls.rows].sum()), calls.name, calls.pid))
        )

    def _add_thread(self, name: str, thread_id: int) -> str:
        if thread_id < 0:
            return name
        return f"{name} (thread 0x{int(self.trace.threads['tid'].iloc[thread_id]):x})"

    @cached_property
    def is_cut(self) -> BoolArray:
        """Calls on stacks that reach an edge of the recording; a table has whole calls only.

        Where nothing but samples gives the recording's length, its edges are not known.
        """
        if not self.trace.info.duration_ns:
            return np.zeros(len(self.starts), bool)
        run, period_ns = whole_run(self.trace), sampling_period_ns(self.trace)
        at_edge = (self.starts <= run.start_ns + period_ns) | (self.ends >= run.end_ns - period_ns)
        marked: BoolArray = at_edge & (self.analysis.window_rows["source"] == "stacks").to_numpy(bool)
        return marked

    @cached_property
    def events(self) -> tuple[Events, ...]:
        """What else changed in the recording, by kind."""
        return collect_events(self.analysis)

    @cached_property
    def labels(self) -> npt.NDArray[np.object_]:
        """The label of each window: a function of the model, or a signpost."""
        labels: npt.NDArray[np.object_] = self.analysis.window_rows["label"].to_numpy(object)
        return labels

    @cached_property
    def model_of(self) -> IntArray:
        """The position in ``models`` of each window's model; -1 for a window that is no call."""
        positions = np.full(len(self.starts), -1, np.int64)
        if self.models:
            rows = np.concatenate([model.rows for model in self.models])
            sizes = [len(model.rows) for model in self.models]
            positions[rows] = np.repeat(np.arange(len(self.models)), sizes)
        return positions

    @cached_property
    def numbers(self) -> IntArray:
        """The number of each call among those of its model, from 1 in order of time.

        Ranges that the user gave are numbered among themselves; the run as a whole has 0.
        """
        numbers = np.zeros(len(self.starts), np.int64)
        for model in self.models:
            numbers[model.rows] = np.arange(1, len(model.rows) + 1)
        return numbers

    def iter_models(self, marked: BoolArray, fewest: int = 1) -> Iterator[ModelCalls]:
        """Yield the models that have so many marked windows; there may be 100,000 models, of which few do."""
        positions = self.model_of[marked]
        counts = np.bincount(positions[positions >= 0], minlength=len(self.models))
        for position in np.flatnonzero(counts >= fewest).tolist():
            yield self.models[position]

    @cached_property
    def work(self) -> dict[Engine, CallWork]:
        """The inference work of each engine that a verdict can name."""
        in_time = self.trace.weight_unit == "ns"
        return {
            work.engine: CallWork(work.samples, work.weight * in_time, work.busy_ns, work.contested_ns)
            for work in self.analysis.verdicts.works
        }

    def sum_work(self, engines: Sequence[Engine], phases: Sequence[Phase | None]) -> CallWork:
        """Return the work of some engines in some phases per window; None is work without a phase."""
        rows = self.analysis.attribution_rows
        window = rows["window_id"].to_numpy(np.int64)
        engine_names = [str(engine) for engine in engines]
        chosen = rows["engine"].isin(engine_names).to_numpy(bool) & (window >= 0)
        phase = rows["phase"]
        named = phase.isin([str(entry) for entry in phases if entry is not None]).to_numpy(bool)
        chosen &= named | (phase.isna().to_numpy(bool) if None in phases else False)
        columns = (
            rows[name].fillna(0).to_numpy(np.int64)[chosen] for name in ("samples", "sampled_ns", "busy_ns")
        )
        samples, sampled, busy = (
            sum_by_code(window[chosen], amounts, len(self.starts)) for amounts in columns
        )
        return CallWork(samples, sampled, busy, np.zeros(len(self.starts), np.int64))

    @cached_property
    def served(self) -> IntArray:
        """The engines that served each window: the bit ``1 << n`` for the engine ``SERVING[n]``."""
        works = self.analysis.verdicts.works
        bits: IntArray = np.sum([work.is_serving * (1 << bit) for bit, work in enumerate(works)], axis=0)
        return bits

    def serves(self, engine: Engine) -> BoolArray:
        """Mark the windows that an engine served, alone or with others."""
        return self._serving[engine]

    def is_contested(self, engine: Engine) -> BoolArray:
        """Mark the windows in whose time an engine worked, for them or for another owner."""
        work = self.analysis.verdicts.works[SERVING.index(engine)]
        marked: BoolArray = work.contested_ns > 0
        return marked

    @cached_property
    def _serving(self) -> dict[Engine, BoolArray]:
        return {engine: (self.served & (1 << bit)) > 0 for bit, engine in enumerate(SERVING)}

    def is_measured(self, engine: Engine) -> bool:
        """Return whether a table measured the engine, so that no interval in a call is no work in it."""
        return engine in self.analysis.measured.engines

    def is_elsewhere(self, engine: Engine) -> BoolArray:
        """Mark the calls that another engine took most of, so that no sample of this one is no chance."""
        if engine not in self._elsewhere:
            self._elsewhere[engine] = self._is_elsewhere(engine)
        return self._elsewhere[engine]

    def _is_elsewhere(self, engine: Engine) -> BoolArray:
        reach = np.zeros(len(self.starts), np.int64)
        for other in SERVING:
            if other is not engine:
                reach += np.maximum(self.work[other].busy_ns, self.work[other].sampled_ns)
        marked: BoolArray = ~self.serves(engine) & (_DOMINATES * reach >= self.lengths) & (self.served > 0)
        return marked

    def sum_part(self, part: BudgetPart, rows: IntArray) -> int:
        """Return the time that a part of the budgets has in some calls."""
        return sum(self.analysis.budget.sums.sum_part(part)[rows].tolist())

    @cached_property
    def generations(self) -> Generations | None:
        """The requests to language models; None where no signpost marks any."""
        subsystems = self.trace.signposts["subsystem"].cat.categories
        if not self.analysis.span_rules and CORE_AI_LANGUAGE_MODELS not in subsystems:
            return None
        # Few recordings have such signposts: the others need none of the imports.
        from tracekit.analysis.generation.generations import Generations
        from tracekit.analysis.generation.tokens import CallColumns

        # Ranges that the user gave are no calls: they show the engine of no token.
        rows = slice(None) if self.is_timed else slice(0)
        columns = CallColumns(
            self.starts[rows],
            self.ends[rows],
            self.analysis.window_rows["pid"].to_numpy(np.int64)[rows],
            self.served[rows],
            self.model_of[rows],
            tuple(model.model for model in self.models),
        )
        generations = Generations(self.analysis, columns)
        return generations if len(generations) else None

    def describe(self, rows: IntArray, model: ModelCalls | None) -> Subject:
        """Return the calls of a ``Finding``, in order of time; without a model, they are of several."""
        name, pid = (model.name, model.pid) if model else ("", -1)
        return {"model": name, "pid": pid, "windows": WindowRanges.of(rows)}

    def locate(self, rows: IntArray, model: ModelCalls | None) -> Place:
        """Return the calls of a ``Finding`` with their time."""
        start_ns, end_ns = int(self.starts[rows[0]]), int(self.ends[rows[-1]])
        return {**self.describe(rows, model), "start_ns": start_ns, "end_ns": end_ns}

    def show_call(self, row: int) -> Action:
        """Return the step that shows the work in the time of one call."""
        return Action("analyze-time", {"start_ns": int(self.starts[row]), "end_ns": int(self.ends[row])})

    def median(self, values: IntArray) -> int:
        """Return the median by nearest rank, as every other figure of a run; 0 without a value."""
        return int(np.percentile(values, 50, method="inverted_cdf")) if len(values) else 0
