"""Recordings whose answer has limits: few calls, lost rows, coarse samples, missing instruments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypedDict

import numpy as np

from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.finding import Finding, Support, WindowRanges
from tracekit.analysis.findings.instruments import (
    ENGINE_INSTRUMENTS,
    MissingInstrument,
    add_instruments,
    list_missing_instruments,
    record,
)
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import CALLS_FOR_MEDIAN, CALLS_FOR_P90, CALLS_FOR_P99
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.frozen import compile_later
from tracekit.model.columns import IntArray
from tracekit.model.issue_codes import DAMAGE, IssueCode
from tracekit.model.trace import Issue
from tracekit.model.vocabulary import SERVING, Basis, Engine


class LossNumbers(TypedDict):
    """Issues of lost data, the first as code and message; Instruments reported them, or the reader did."""

    issues: tuple[tuple[IssueCode, str], ...]
    issue_count: int
    is_reported: bool
    input: str


class FewCallsNumbers(TypedDict):
    """Models with their calls; whether these are too few for a median; the calls that percentiles need."""

    models: tuple[tuple[str, bool, int], ...]
    without_median: tuple[bool, ...]
    needed: dict[int, int]


class CoarseNumbers(TypedDict):
    """The first of ``model_count`` models with their median lengths, and the sampling period."""

    models: tuple[tuple[str, bool, int], ...]
    model_count: int
    period_ns: int


class InstrumentNumbers(TypedDict):
    """Instruments without a table, and the engines that they would measure."""

    missing: tuple[MissingInstrument, ...]
    is_deduced: bool
    engines: tuple[Engine, ...]


ROWS_LOST = Kind[LossNumbers]("rows-lost", about="limit")
TOO_FEW_CALLS = Kind[FewCallsNumbers]("too-few-calls", Need.TIMES, "limit")
SAMPLING_TOO_COARSE = Kind[CoarseNumbers]("sampling-too-coarse", Need.TIMES, "limit")
INSTRUMENTS_MISSING = Kind[InstrumentNumbers]("instruments-missing", Need.TIMES, "limit")

_COARSE_PERIODS = 5
"""A call of fewer sampling periods can hide work on an engine between two samples."""
_LOSS = compile_later(
    r"\b(lost|los[es]|dropp|discard|overr[au]n|overflow|truncat|missing|incomplete|not (be )?recorded)",
    re.IGNORECASE,
)
_LOST_CODES = DAMAGE | {"recording-issues-cut"}
_MOST_ISSUES = 4
_MOST_MODELS = 3
_LONGEST_RECORDING_NS = 600 * 10**9
_STEP_NS = 10 * 10**9


def find_recording_limits(calls: Calls) -> Iterator[Finding[Any]]:
    """Yield what limits the answer of a recording, apart from what it lacks altogether."""
    yield from _find_rows_lost(calls)
    if not calls.is_timed or not calls.models:
        return
    yield from _find_too_few_calls(calls)
    if calls.served.any():
        yield from _find_coarse_sampling(calls)
        yield from _find_missing_instruments(calls)


def _find_rows_lost(calls: Calls) -> Iterator[Finding[LossNumbers]]:
    issues = [issue for issue in calls.trace.issues if _is_loss(issue)]
    if not issues:
        return
    codes = {issue.code for issue in issues}
    is_bundle = calls.trace.info.kind == "trace-bundle"
    is_reported = bool(codes & {"recording-issue", "recording-issues-cut"})
    actions = (Action("read-with-xctrace"),) if is_bundle and codes - {"recording-issue"} else ()
    if calls.trace.is_of_text:
        again = Action("get-whole-text")
    else:
        again = _record_less(calls) if is_reported else record(calls, "again")
    yield Finding(
        kind=ROWS_LOST,
        severity="warning",
        confidence="certain",
        basis=Basis.MEASURED,
        numbers=LossNumbers(
            issues=tuple((issue.code, issue.message) for issue in issues[:_MOST_ISSUES]),
            issue_count=len(issues),
            is_reported=is_reported,
            input="input" if calls.trace.is_of_text else "recording",
        ),
        actions=(*actions, again),
    )


def _record_less(calls: Calls) -> Action:
    """Return the step that records with few instruments, for a short time."""
    return record(calls, "less", preset="coreml", time_limit_ns=5 * 10**9)


def _is_loss(issue: Issue) -> bool:
    if issue.code == "recording-issue":
        return _LOSS.search(issue.message) is not None
    return issue.code in _LOST_CODES


def _find_too_few_calls(calls: Calls) -> Iterator[Finding[FewCallsNumbers]]:
    """Yield the leading models with too few calls for a percentile; the first call is none of them."""
    listed = [
        (model, len(model.rows) - int(calls.first[model.rows].sum())) for model in calls.models[:_MOST_MODELS]
    ]
    # Beside calls that a table reports, calls from stacks are those that it lacks.
    source = calls.analysis.window_rows["source"].astype("str").to_numpy(object)
    if len(calls.sources) > 1:
        listed = [(model, warm) for model, warm in listed if source[model.rows[0]] != "stacks"]
    few = [(model, warm) for model, warm in listed if warm < CALLS_FOR_P90]
    if not few:
        return
    fewest = min(warm for _, warm in few)
    span_ns = max(int(calls.ends.max() - calls.starts.min()), 1)
    rows = np.sort(np.concatenate([model.rows for model, _ in few]))
    scale = 1.2 * CALLS_FOR_P90 / max(fewest, 1)
    seconds_ns = min(-int(-span_ns * scale // _STEP_NS) * _STEP_NS, _LONGEST_RECORDING_NS)
    only = few[0][0] if len(few) == 1 else None
    yield Finding(
        kind=TOO_FEW_CALLS,
        severity="info",
        confidence="certain",
        basis=Basis.MEASURED,
        **calls.describe(rows, only),
        numbers=FewCallsNumbers(
            models=tuple((model.name, model.is_named, len(model.rows)) for model, _ in few),
            without_median=tuple(warm < CALLS_FOR_MEDIAN for _, warm in few),
            needed={50: CALLS_FOR_MEDIAN, 90: CALLS_FOR_P90, 99: CALLS_FOR_P99},
        ),
        actions=(record(calls, "longer", time_limit_ns=max(seconds_ns, 2 * _STEP_NS)),),
    )


def _find_coarse_sampling(calls: Calls) -> Iterator[Finding[CoarseNumbers]]:
    """Yield the models of short calls whose engines no table measured: samples show them in part."""
    if not len(calls.trace.samples):
        return
    limit_ns = _COARSE_PERIODS * sampling_period_ns(calls.trace)
    number, count = calls.model_of, len(calls.models)
    is_stacks = (calls.analysis.window_rows["source"] == "stacks").to_numpy(bool)
    is_measured = np.zeros(len(number), bool)
    for engine in SERVING:
        is_measured |= calls.work[engine].busy_ns > 0
    rows = np.flatnonzero((number >= 0) & ~is_stacks)
    models = number[rows]
    served = np.bincount(models, calls.served[rows] > 0, minlength=count) > 0
    measured = np.bincount(models, is_measured[rows], minlength=count) > 0
    short = _compute_medians(calls.lengths[rows], models, count) < limit_ns
    chosen = np.flatnonzero(served & ~measured & short & (np.bincount(models, minlength=count) > 0))
    if not len(chosen):
        return
    listed = [calls.models[model] for model in chosen[:_MOST_MODELS].tolist()]
    missing = list_missing_instruments(calls, *ENGINE_INSTRUMENTS.values())
    only = listed[0] if len(chosen) == 1 else None
    yield Finding(
        kind=SAMPLING_TOO_COARSE,
        severity="info",
        confidence="certain",
        basis=Basis.SAMPLED,
        **calls.describe(rows[np.isin(models, chosen)], only),
        numbers=CoarseNumbers(
            models=tuple(
                (model.name, model.is_named, calls.median(calls.lengths[model.rows])) for model in listed
            ),
            model_count=len(chosen),
            period_ns=sampling_period_ns(calls.trace),
        ),
        support=(Support("table", calls.trace.samples_source, "", len(calls.trace.samples)),),
        actions=add_instruments(calls, missing, "engines")
        or (record(calls, "more-calls", time_limit_ns=60 * 10**9),),
    )


def _compute_medians(lengths: IntArray, models: IntArray, count: int) -> IntArray:
    """Return the median by nearest rank of each model's lengths; 0 without one."""
    order = np.lexsort([lengths, models])
    numbers = np.bincount(models, minlength=count)
    firsts = np.concatenate([[0], np.cumsum(numbers)[:-1]])
    medians = np.zeros(count, np.int64)
    has_calls = numbers > 0
    medians[has_calls] = lengths[order][(firsts + (numbers - 1) // 2)[has_calls]]
    return medians


def _find_missing_instruments(calls: Calls) -> Iterator[Finding[InstrumentNumbers]]:
    """Yield the instruments that would measure what this recording shows on stacks only."""
    is_deduced = calls.sources == ("stacks",)
    names = ["Core ML"] if is_deduced else []
    for engine, name in ENGINE_INSTRUMENTS.items():
        is_guess = engine is Engine.ANE or bool(calls.serves(engine).any())
        if is_guess and not calls.is_measured(engine):
            names.append(name)
    missing = list_missing_instruments(calls, *names)
    if not missing:
        return
    yield Finding(
        kind=INSTRUMENTS_MISSING,
        severity="info",
        confidence="certain",
        basis=Basis.MEASURED,
        windows=WindowRanges.of(np.arange(len(calls.starts))),
        numbers=InstrumentNumbers(
            missing=missing,
            is_deduced=is_deduced and missing[0].name == "Core ML",
            engines=tuple(
                engine
                for engine, name in ENGINE_INSTRUMENTS.items()
                if name in {entry.name for entry in missing}
            ),
        ),
        actions=add_instruments(calls, missing, "engines"),
    )
