"""Calls that are on an accelerator in part: cut into pieces, or with a part on another engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NotRequired, TypedDict

import numpy as np

from tracekit.analysis.budget.parts import EXECUTING
from tracekit.analysis.engines.codes import is_engine, is_phase, sum_by_code
from tracekit.analysis.engines.submissions import SEPARATOR
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.frames import find_leading_frame
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import sum_extra_length
from tracekit.analysis.findings.operators import list_explained, list_operation_actions
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING, Basis, Engine, Phase


class _Between(TypedDict):
    """The engine that worked beside the one of the calls, its time per call, and the frame that shows it."""

    between: Engine | None
    between_ns: int | None
    frame: Support | None


class PartNumbers(_Between):
    """The ``cut`` calls of a model, in ``pieces``; None where the pieces are not known, but another part."""

    is_named: bool
    engine: Engine
    calls: int
    cut: int
    pieces: int | None
    alike: NotRequired[int]
    names: NotRequired[tuple[str, ...]]
    gaps_ns: NotRequired[int]
    share: float
    is_engine_time: NotRequired[bool]
    sampled_ns: NotRequired[int]
    part_basis: NotRequired[Basis]


PARTLY_ON_ENGINE = Kind[PartNumbers]("partly-on-engine", Need.NEURAL_ENGINE)

_ACCELERATORS = (Engine.ANE, Engine.GPU)
_FEWEST_PARTS = 2
"""One call with work of another engine may be of a function that runs elsewhere."""
_MANY_GAPS = 10
_MUCH_ELSEWHERE = 4
"""Choices: gaps of 1/10, or work elsewhere of 1/4 of the calls' time deserve a warning."""
_MOST_NAMES = 64
_MOST_MODELS = 64
_NOTHING: _Between = {"between": None, "between_ns": None, "frame": None}
_MOST_CALLS = 1000
"""So many calls show what runs between the pieces of all."""


def find_partly_on_engine(calls: Calls) -> Iterator[Finding[PartNumbers]]:
    """Yield a finding per model whose calls are on an accelerator in part, unless its plan explains them."""
    if not calls.is_timed or not (calls.served > 0).any():
        return
    parts = _Parts(calls)
    explained = list_explained(calls)
    for model in calls.iter_models(parts.is_cut | parts.is_shared[Engine.ANE] | parts.is_shared[Engine.GPU]):
        if (model.model, model.pid) in explained:
            continue
        finding = _find_cut(calls, parts, model) or _find_shared(calls, parts, model)
        if finding is not None:
            yield finding


@frozen
class _Parts:
    """The calls of an analysis that are cut, and those that several engines served."""

    calls: Calls

    @cached_property
    def is_alone(self) -> BoolArray:
        """Marks the calls that overlap no other: of overlapping ones, an interval may be either's."""
        alone: BoolArray = self.calls.analysis.window_rows["alone"].to_numpy(bool)
        return alone

    @cached_property
    def is_shared(self) -> dict[Engine, BoolArray]:
        """Marks the calls of each accelerator that another engine served, too."""
        several = (self.calls.served & (self.calls.served - 1)) > 0
        return {engine: self.calls.serves(engine) & several & self.is_alone for engine in _ACCELERATORS}

    @cached_property
    def is_cut(self) -> BoolArray:
        """Marks the calls of several submissions that are of several segments.

        A batch submits one segment several times. Where labels name no segment, work of another engine in
        the call shows that they differ. Segments of other names without time between them are of several
        calls, or run at once.
        """
        unnamed = self.calls.analysis.submissions["segments"].isna().to_numpy(bool)
        is_other = unnamed & (self.submissions > 1) & self.is_shared[Engine.ANE]
        marked: BoolArray = ((self.segments > 1) & (self.gaps_ns > 0)) | is_other
        return marked

    @cached_property
    def submissions(self) -> IntArray:
        return self._read_column("submissions")

    @cached_property
    def segments(self) -> IntArray:
        return self._read_column("segments")

    @cached_property
    def costly(self) -> frozenset[int]:
        """The positions of the models with the longest gaps, at most ``_MOST_MODELS``."""
        rows = np.flatnonzero(self.is_cut & (self.calls.model_of >= 0))
        totals = sum_by_code(self.calls.model_of[rows], self.gaps_ns[rows], len(self.calls.models))
        return frozenset(np.argsort(-totals, kind="stable")[:_MOST_MODELS].tolist())

    @cached_property
    def gaps_ns(self) -> IntArray:
        return self._read_column("gaps_ns")

    @cached_property
    def names(self) -> tuple[IntArray, Sequence[str]]:
        """The segments of each call as a position in a list of texts."""
        names = self.calls.analysis.submissions["names"].cat
        codes: IntArray = np.asarray(names.codes, np.int64)
        return codes, tuple(names.categories)

    def _read_column(self, name: str) -> IntArray:
        column: IntArray = self.calls.analysis.submissions[name].fillna(0).to_numpy(np.int64)
        return column


def _find_cut(calls: Calls, parts: _Parts, model: ModelCalls) -> Finding[PartNumbers] | None:
    used = model.rows[calls.serves(Engine.ANE)[model.rows]]
    rows = used[parts.is_cut[used]]
    if 2 * len(rows) < len(used) or not len(rows):
        return None
    pieces = Counter(parts.submissions[rows].tolist())
    usual, alike = pieces.most_common(1)[0]
    is_named = bool((parts.segments[rows] > 1).any())
    gaps = parts.gaps_ns[rows]
    total, length = int(gaps.sum()), int(calls.lengths[rows].sum())
    # What runs in the gaps takes a look at samples: only where it costs most.
    is_costly = int(calls.model_of[rows[0]]) in parts.costly
    between = (
        _find_between(calls, model, _sample_calls(rows[parts.is_alone[rows]])) if is_costly else _NOTHING
    )
    numbers: PartNumbers = {
        "is_named": model.is_named,
        "engine": Engine.ANE,
        "calls": len(used),
        "cut": len(rows),
        "pieces": usual,
        "alike": alike,
        "names": tuple(_name_pieces(parts, rows))[:_MOST_NAMES],
        "gaps_ns": calls.median(gaps),
        "share": total / length if length else 0.0,
        "is_engine_time": calls.analysis.verdicts.is_engine_time(int(rows[0])),
        "between": between["between"],
        "between_ns": between["between_ns"],
        "frame": between["frame"],
    }
    table = Support("table", calls.analysis.measured.reported[Engine.ANE], "", sum(pieces.elements()))
    frame = between["frame"]
    return Finding(
        kind=PARTLY_ON_ENGINE,
        severity="warning" if _MANY_GAPS * total >= length else "info",
        confidence="certain" if is_named else "likely",
        basis=Basis.MEASURED,
        **calls.locate(rows, model),
        lost_ns=total or None,
        numbers=numbers,
        support=(table, frame) if frame else (table,),
        actions=(
            Action("compute-units", {"model": model.name}),
            *list_operation_actions(calls, model),
            Action("check-segments", {"model": model.model, "is_named": is_named}),
        ),
    )


def _sample_calls(rows: IntArray) -> IntArray:
    """Return calls from all over the run, at most about ``_MOST_CALLS``."""
    return rows[:: 1 + len(rows) // _MOST_CALLS]


def _name_pieces(parts: _Parts, rows: IntArray) -> list[str]:
    """Return the segments of one of the calls that name them, in order."""
    codes, texts = parts.names
    named = (texts[code].split(SEPARATOR) for code in np.unique(codes[rows]).tolist() if texts[code])
    return next(named, [])


def _find_between(calls: Calls, model: ModelCalls, rows: IntArray) -> _Between:
    """Return the engine that the samples between the pieces show, and its time per call.

    A runtime whose engine is not visible is one of them.
    """
    if calls.trace.weight_unit != "ns" or not len(calls.trace.samples) or not len(rows):
        return _NOTHING
    labels, measured = calls.analysis.labels, calls.analysis.measured
    sample, window = calls.analysis.members.pairs(rows)
    time = calls.trace.samples["time_ns"].to_numpy(np.int64)[sample]
    scope = measured.scope(model.pid, model.model)
    pieces = measured.spans(scope, (Engine.ANE, Phase.EXECUTE))
    is_between = (pieces.count(calls.starts[window], time) > 0) & (pieces.count(time, calls.ends[window]) > 0)
    is_between &= pieces.within(time, time + 1) == 0
    sample = sample[is_between]
    engines = (Engine.CPU, Engine.GPU, Engine.RUNTIME)
    weights = calls.trace.weights[sample]
    amounts = {engine: int(weights[is_engine(labels.engine[sample], engine)].sum()) for engine in engines}
    engine = max(amounts, key=lambda name: amounts[name])
    if not amounts[engine]:
        return _NOTHING
    chosen = sample[is_engine(labels.engine[sample], engine)]
    return {
        "between": engine,
        "between_ns": amounts[engine] // len(rows),
        "frame": find_leading_frame(calls, chosen),
    }


def _find_shared(calls: Calls, parts: _Parts, model: ModelCalls) -> Finding[PartNumbers] | None:
    """Return the part of another engine in calls that are not known to be cut."""
    engine = next((engine for engine in _ACCELERATORS if calls.serves(engine)[model.rows].any()), None)
    if engine is None:
        return None
    used = model.rows[calls.serves(engine)[model.rows]]
    rows = used[parts.is_shared[engine][used]]
    if len(rows) < _FEWEST_PARTS or 2 * len(rows) < len(used):
        return None
    others = [helper for helper in SERVING if helper is not engine]
    # What a table measured and what stacks show are two numbers: the larger of them would have no basis.
    busy = {helper: int(calls.work[helper].busy_ns[rows].sum()) for helper in others}
    sampled = {helper: int(calls.work[helper].sampled_ns[rows].sum()) for helper in others}
    helper = max(others, key=lambda name: (busy[name] or sampled[name], int(calls.serves(name)[rows].sum())))
    is_measured = busy[helper] > 0
    labels = calls.analysis.labels
    sample, _ = calls.analysis.members.pairs(_sample_calls(rows))
    is_part = is_engine(labels.engine[sample], helper) & is_phase(
        labels.phase[sample], *(phase for phase in Phase if phase.is_inference)
    )
    frame = find_leading_frame(calls, sample[is_part])
    total, length = busy[helper] or sampled[helper], int(calls.lengths[rows].sum())
    numbers: PartNumbers = {
        "is_named": model.is_named,
        "engine": engine,
        "calls": len(used),
        "cut": len(rows),
        "pieces": None,
        "between": helper,
        "between_ns": total // len(rows),
        "sampled_ns": sampled[helper] // len(rows),
        "share": total / length if length else 0.0,
        "frame": frame,
        "part_basis": Basis.MEASURED if is_measured else Basis.SAMPLED,
    }
    whole = used[~parts.is_shared[engine][used]]
    # Without a call that is on the engine alone, the helper's part is what it takes.
    lost = sum_extra_length(calls, rows, whole) if len(whole) else calls.sum_part(EXECUTING[helper], rows)
    return Finding(
        kind=PARTLY_ON_ENGINE,
        severity="warning" if _MUCH_ELSEWHERE * total >= length else "info",
        confidence="likely",
        basis=Basis.MEASURED if is_measured else Basis.SAMPLED,
        **calls.locate(rows, model),
        lost_ns=lost or None,
        numbers=numbers,
        support=(frame,) if frame else (),
        actions=(
            Action("compute-units", {"model": model.name}),
            *list_operation_actions(calls, model),
            Action("check-no-engine", {"engine": helper, "model": model.model}),
        ),
    )
