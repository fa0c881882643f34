"""Work of the calling thread between calls: the app's own, conversions, allocations, loads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NotRequired, TypedDict

import numpy as np

from tracekit.analysis.engines.codes import (
    group_codes,
    group_rows,
    is_among,
    is_engine,
    is_phase,
    sum_by_code,
)
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Finding, Support, WindowRanges
from tracekit.analysis.findings.host import (
    Between,
    find_innermost,
    list_interface_threads,
    mark_frames_of_app,
    mark_stacks_with,
    match_frames,
    read_between_calls,
)
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import compute_typical_length
from tracekit.frozen import compile_later, frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_AI, CORE_ML
from tracekit.model.trace import Severity
from tracekit.model.vocabulary import Basis, Engine, Phase


class BetweenNumbers(TypedDict):
    """The work between the calls of a model: seen in ``seen`` of ``gaps``, most of it in ``symbol``."""

    is_named: bool
    calls: int
    gaps: int
    seen: int
    typical_ns: int
    mean_ns: NotRequired[int]
    length_ns: int
    symbol: str
    symbol_ns: NotRequired[int]
    basis: Basis


WORK_BESIDE_CALLS = Kind[BetweenNumbers]("work-beside-calls", Need.SAMPLES)
CONVERSIONS = Kind[BetweenNumbers]("conversions", Need.SAMPLES)
ALLOCATIONS = Kind[BetweenNumbers]("allocations", Need.SAMPLES)
LOAD_PER_CALL = Kind[BetweenNumbers]("load-per-call", Need.LOADS)

CONVERSION = compile_later(
    r"\bvImage[A-Z]\w+|\bVTPixel(?:Transfer|Rotation)Session\w+|\bCGContextDrawImage\b|\bCGImageCreate\w*"
    r"|-\[CIContext (?:render|create|_render|draw)|\bvDSP_v(?:dpsp|spdp|flt\w+|fix\w+)\b"
    r"|-\[MLMultiArray (?:objectFor|objectAt|setObject|numberAt|getBytes|initWithPixelBuffer)"
    r"|\bMLMultiArray\.subscript\b|\bMLShapedArray\w*\.(?:init\(converting|scalars\b|subscript\b)"
    r"|-\[UIImage drawIn|\bUIGraphicsImageRenderer\b"
)
"""Functions that copy an image, a pixel buffer or an array into another size, format or type."""
ALLOCATION = compile_later(
    r"^_?_?(?:malloc|calloc|realloc|posix_memalign|aligned_alloc|mmap|vm_allocate|mach_vm_allocate)\b"
    r"|^_?(?:xzm|szone|nanov2|default_zone|tiny|small|medium|large)_(?:\w+_)?(?:malloc|calloc|memalign|realloc)"
    r"|^swift_(?:slowAlloc|allocObject)\b|^operator new\b"
    r"|\bCVPixelBuffer(?:Create\w*|PoolCreatePixelBuffer)\b|\bIOSurface(?:Client)?Create\w*"
    r"|-\[MLMultiArray initWith(?:Shape|Scalars)|\bMLMultiArray\.(?:__allocating_)?init\(shape"
)
"""Functions that allocate memory: any, and the buffers of images and arrays by name."""
LOADING = compile_later(
    r"\bMLLoader\b|\bMLModelAsset\w* (?:load|model)|modelWithContents|initWithContents|loadContents"
    r"|\bloadModel|rebuildPlan|espresso_plan(?:_|::)(?:add_network|build)|\bEspresso::load_network"
    r"|\bMLE5ProgramLibrary (?:prepare|create|initWith)|\be5rt_program_(?:function|library)_(?:create|load)"
)
"""Functions that load a model; the phase "load" includes releasing it."""
_OF_THE_CALLS = 0.1
"""Conversions and allocations count from this share of the calls' time on, in this part of the calls:"""
_REPEATED = 0.25
_NEARLY_EVERY = 0.8
_MUCH = 0.25
_FEWEST = 3


def find_work_beside_calls(calls: Calls) -> Iterator[Finding[BetweenNumbers]]:
    """Yield the findings about the calling thread's samples between the calls of a model."""
    is_possible = calls.is_timed and calls.trace.weight_unit == "ns" and len(calls.starts) > _FEWEST
    if not is_possible or not len(calls.trace.samples):
        return
    # Rows of the engine's own table have no host part: what lies between them may be the call.
    if calls.analysis.window_rows["source"].isin(ANE_TABLES).any():
        return
    between = read_between_calls(calls)
    if len(between.after) < _FEWEST:
        return
    beside = _Beside(calls, between)
    yield from beside.find_app_work()
    yield from beside.find_repeated(CONVERSIONS, beside.is_conversion, CONVERSION)
    yield from beside.find_repeated(ALLOCATIONS, beside.is_allocation, ALLOCATION)
    yield from beside.find_sampled_loads()


@frozen
class _Gaps:
    """One model's time between calls: its positions in ``Between``, and an amount in each."""

    model: ModelCalls
    pairs: IntArray
    amounts_ns: IntArray

    def windows(self, between: Between) -> WindowRanges:
        """Return the calls that the amounts precede."""
        return WindowRanges.of(np.sort(between.after[self.pairs[self.amounts_ns > 0]]))


class _Beside:
    """The samples between calls, and what their stacks show."""

    def __init__(self, calls: Calls, between: Between) -> None:
        self._calls, self._between = calls, between
        self._sample, self._pair = between.list_samples()
        labels = calls.analysis.labels
        stack_ids = calls.trace.samples["stack_id"].to_numpy(np.int64)
        self._stack = stack_ids[self._sample]
        self._weight = calls.trace.weights[self._sample]
        self._engine, self._phase = labels.engine[self._sample], labels.phase[self._sample]
        is_interface = np.isin(calls.thread_ids[between.after], list_interface_threads(calls))
        # Between calls, a main thread draws and handles events, whatever the model needs.
        self._is_free = ~labels.in_call[self._sample] & ~is_interface[self._pair] & (self._stack >= 0)

    # What stacks show ---------------------------------------------------------------------------------------

    @cached_property
    def _is_allocating(self) -> BoolArray:
        return self._mark_stacks(match_frames(self._calls.trace.stacks, ALLOCATION))

    @cached_property
    def is_allocation(self) -> BoolArray:
        """Marks the samples that allocate memory."""
        return self._is_host_work & self._is_allocating

    @cached_property
    def is_conversion(self) -> BoolArray:
        """Marks the samples that convert images or arrays."""
        shows = self._mark_stacks(match_frames(self._calls.trace.stacks, CONVERSION))
        return self._is_host_work & shows & ~self._is_allocating

    @cached_property
    def _is_host_work(self) -> BoolArray:
        """Marks the work of no engine; loading a model is a matter of its own."""
        is_host = is_engine(self._engine, Engine.OTHER, Engine.RUNTIME, Engine.GRAPHICS)
        return self._is_free & is_host & is_phase(self._phase, None, Phase.COPY)

    @cached_property
    def _app_frames(self) -> BoolArray:
        trace = self._calls.trace
        return mark_frames_of_app(trace.stacks, trace.threads["process"].astype(object).unique().tolist())

    def _mark_stacks(self, is_marked: BoolArray) -> BoolArray:
        shows: BoolArray = np.append(mark_stacks_with(self._calls.trace.stacks, is_marked), False)[
            self._stack
        ]
        return shows

    # Findings -----------------------------------------------------------------------------------------------

    def find_app_work(self) -> Iterator[Finding[BetweenNumbers]]:
        """Yield a finding per model between whose calls the app computes longer than they take."""
        is_work = self._is_free & is_engine(self._engine, Engine.OTHER) & self._mark_stacks(self._app_frames)
        if not is_work.any():
            return
        is_work &= ~self.is_conversion & ~self.is_allocation
        for gaps in self._iter_gaps(is_work, _REPEATED, 0):
            typical = self._calls.median(gaps.amounts_ns)
            length = compute_typical_length(self._calls, gaps.model.rows)
            if typical > length:
                yield self._make_finding(WORK_BESIDE_CALLS, "warning", gaps, is_work, self._app_frames)

    def find_repeated(
        self, kind: Kind[BetweenNumbers], is_marked: BoolArray, pattern: re.Pattern[str]
    ) -> Iterator[Finding[BetweenNumbers]]:
        """Yield a finding per model around whose calls such work is seen again and again."""
        if not is_marked.any():
            return
        frames = match_frames(self._calls.trace.stacks, pattern)
        for gaps in self._iter_gaps(is_marked, _REPEATED, _OF_THE_CALLS):
            is_much = gaps.amounts_ns.sum() >= _MUCH * self._sum_lengths_ns(gaps)
            yield self._make_finding(kind, "warning" if is_much else "info", gaps, is_marked, frames)

    def find_sampled_loads(self) -> Iterator[Finding[BetweenNumbers]]:
        """Yield a finding per model before nearly each call of which a model is loaded, as stacks show."""
        intervals = self._calls.trace.intervals
        is_load = is_phase(self._phase, Phase.LOAD) & (self._stack >= 0)
        if not is_load.any() or _load_rows(intervals).any():
            return
        frames = match_frames(self._calls.trace.stacks, LOADING)
        is_load &= self._mark_stacks(frames)
        for gaps in self._iter_gaps(is_load, _NEARLY_EVERY, 0):
            yield self._make_finding(LOAD_PER_CALL, "warning", gaps, is_load, frames)

    def _iter_gaps(self, is_marked: BoolArray, repeated: float, share: float) -> Iterator[_Gaps]:
        """Yield the models between whose calls marked samples are repeated and take this share of them."""
        calls, between = self._calls, self._between
        amounts = sum_by_code(self._pair[is_marked], self._weight[is_marked], len(between.after))
        model = calls.model_of[between.after]
        count = len(calls.models)
        pairs = np.bincount(model, minlength=count)
        seen = np.bincount(model[amounts > 0], minlength=count)
        totals = sum_by_code(model, amounts, count)
        lengths = sum_by_code(model, calls.lengths[between.after], count)
        fits = (seen >= np.maximum(_FEWEST, repeated * pairs)) & (totals > 0) & (totals >= share * lengths)
        for position in np.flatnonzero(fits).tolist():
            rows = np.flatnonzero(model == position)
            yield _Gaps(calls.models[position], rows, amounts[rows])

    def _sum_lengths_ns(self, gaps: _Gaps) -> int:
        return int(self._calls.lengths[self._between.after[gaps.pairs]].sum())

    def _make_finding(
        self,
        kind: Kind[BetweenNumbers],
        severity: Severity,
        gaps: _Gaps,
        is_marked: BoolArray,
        frames: BoolArray,
    ) -> Finding[BetweenNumbers]:
        calls, model, between = self._calls, gaps.model, self._between
        symbol, binary, weight_ns, samples = self._find_heaviest(gaps, is_marked, frames)
        seen = gaps.pairs[gaps.amounts_ns > 0]
        total_ns = int(gaps.amounts_ns.sum())
        where = f"{symbol} in {binary or 'an unknown binary'}"
        numbers: BetweenNumbers = {
            "is_named": model.is_named,
            "calls": len(model.rows),
            "gaps": len(gaps.pairs),
            "seen": len(seen),
            "typical_ns": calls.median(gaps.amounts_ns),
            "mean_ns": total_ns // len(gaps.pairs),
            "length_ns": compute_typical_length(calls, model.rows),
            "symbol": symbol,
            "symbol_ns": weight_ns // len(gaps.pairs),
            "basis": Basis.SAMPLED,
        }
        return Finding(
            kind=kind,
            severity=severity,
            confidence="likely",
            basis=Basis.SAMPLED,
            model=model.name,
            pid=model.pid,
            windows=gaps.windows(between),
            start_ns=int(calls.ends[between.before[seen]].min()),
            end_ns=int(calls.starts[between.after[seen]].max()),
            lost_ns=total_ns,
            numbers=numbers,
            support=(Support("table", calls.trace.samples_source, where, samples),) if symbol else (),
            actions=_ACTIONS[kind],
        )

    def _find_heaviest(
        self, gaps: _Gaps, is_marked: BoolArray, frames: BoolArray
    ) -> tuple[str, str, int, int]:
        """Return the function that most time is spent in or below: symbol, binary, weight, samples."""
        stacks = self._calls.trace.stacks
        is_chosen = is_marked & np.isin(self._pair, gaps.pairs)
        distinct, stack = np.unique(self._stack[is_chosen], return_inverse=True)
        frame = find_innermost(stacks, distinct, frames)[stack]
        weight = self._weight[is_chosen][frame >= 0]
        frame = frame[frame >= 0]
        if not len(frame):
            return "", "", 0, 0
        codes, position = np.unique(stacks.symbol_codes[frame], return_inverse=True)
        weights = sum_by_code(position, weight, len(codes))
        top = int(np.argmax(weights))
        first = int(frame[np.argmax(position == top)])
        return (
            str(stacks.symbols[first]),
            str(stacks.binary_names[first]),
            int(weights[top]),
            int((position == top).sum()),
        )


_ACTIONS = {
    WORK_BESIDE_CALLS: (Action("flame-graph"),),
    CONVERSIONS: (Action("model-format"), Action("flame-graph")),
    ALLOCATIONS: (Action("reuse-buffers"), Action("flame-graph")),
    LOAD_PER_CALL: (Action("load-once"), Action("timeline")),
}


def find_loads_per_call(calls: Calls) -> Iterator[Finding[BetweenNumbers]]:
    """Yield a finding per model that a runtime reports to be loaded before nearly each of its calls."""
    intervals = calls.trace.intervals
    is_load = _load_rows(intervals)
    if not calls.is_timed or int(is_load.sum()) < _FEWEST:
        return
    rows = intervals[is_load]
    group = group_codes(rows["model"], rows["pid"])
    rows = rows[np.bincount(group)[group] >= _FEWEST]
    of_model = {
        (str(name), int(pid)): positions for (name, pid), positions in group_rows(rows, "model", "pid")
    }
    starts, ends = (rows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    for model in calls.models if of_model else ():
        is_own = _load_positions(of_model, model)
        calls_made = len(model.rows)
        if is_own is None or calls_made <= _FEWEST or len(is_own) <= _NEARLY_EVERY * calls_made:
            continue  # fewer loads are those of loaded-again
        # A load belongs to the first call that begins after the load began; the first call's is needed.
        call = np.searchsorted(calls.starts[model.rows], starts[is_own])
        is_repeated = (call > 0) & (call < len(model.rows))
        amounts = sum_by_code(call[is_repeated], (ends - starts)[is_own][is_repeated], len(model.rows))[1:]
        if np.count_nonzero(amounts) < max(_FEWEST, _NEARLY_EVERY * len(amounts)):
            continue
        yield _make_measured_loads(calls, model, amounts)


def _load_positions(of_model: Mapping[tuple[str, int], IntArray], model: ModelCalls) -> IntArray | None:
    """Return the loads of a model; rows without a process are the target's."""
    if not model.model:
        return None
    return of_model.get((model.model, model.pid), of_model.get((model.model, -1)))


def _make_measured_loads(calls: Calls, model: ModelCalls, amounts_ns: IntArray) -> Finding[BetweenNumbers]:
    before = model.rows[1:][amounts_ns > 0]
    numbers: BetweenNumbers = {
        "is_named": model.is_named,
        "calls": len(model.rows),
        "gaps": len(amounts_ns),
        "seen": len(before),
        "typical_ns": calls.median(amounts_ns),
        "length_ns": compute_typical_length(calls, model.rows),
        "symbol": "",
        "basis": Basis.MEASURED,
    }
    source = str(calls.analysis.window_rows["source"].iloc[int(before[0])])
    return Finding(
        kind=LOAD_PER_CALL,
        severity="warning",
        confidence="certain",
        basis=Basis.MEASURED,
        **calls.describe(before, model),
        start_ns=int(calls.starts[model.rows[0]]),
        end_ns=int(calls.ends[before[-1]]),
        lost_ns=int(amounts_ns.sum()),
        numbers=numbers,
        support=(Support("table", source, "loads of the model", len(before)),),
        actions=_ACTIONS[LOAD_PER_CALL],
    )


def _load_rows(intervals: Any) -> BoolArray:
    """Mark the loads that a runtime reports: one row per load, those inside it are left out."""
    marked = is_among(intervals["phase"], Phase.LOAD) & is_among(intervals["source"], CORE_ML, CORE_AI)
    is_outermost = (intervals["depth"] <= 0) & (intervals["end_ns"] > intervals["start_ns"])
    marked &= is_outermost.to_numpy(bool)
    if marked.any():
        marked = marked & ~intervals["channel"].astype(object).str.startswith("Unload").to_numpy(bool)
    return marked
