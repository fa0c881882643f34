"""Needs of questions: what a recording must hold, and the step that adds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tracekit.analysis.availability import Use
from tracekit.analysis.findings.action import Action, Purpose
from tracekit.analysis.findings.instruments import record
from tracekit.analysis.findings.kind import Kind
from tracekit.analysis.findings.kind import Need as KindNeed
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import Engine
from tracekit.report.recipes.query import Need, Query, Shortfall
from tracekit.report.wording.findings.actions import NextStep, next_steps
from tracekit.report.wording.names import engine_name

_INSTRUMENT_OF: Mapping[KindNeed, str] = {KindNeed.GPU: "GPU", KindNeed.SAMPLES: "Time Profiler"}
_PURPOSE_OF: Mapping[KindNeed, Purpose] = {
    KindNeed.FEW_CALLS: "more-calls",
    KindNeed.MANY_CALLS: "more-calls",
    KindNeed.TIMES: "threads",
}


def require_calls(query: Query) -> Shortfall | None:
    """Return a shortfall where no call of a model is seen."""
    if query.analysis.thread_work is not None:
        return Shortfall(
            "its stacks are counted, without times", make_step(query, record(query.calls, "threads"))
        )
    if query.analysis.call_models:
        return None
    return Shortfall("it shows no call of a model", make_step(query, record(query.calls, "predicting")))


def require_lengths(query: Query) -> Shortfall | None:
    """Return a shortfall where the lengths of the calls are the user's, and measure nothing."""
    if query.calls.is_timed:
        return None
    step = make_step(query, Action("analyze-all-processes"))
    return Shortfall(
        "its ranges are given, so their lengths measure nothing",
        NextStep("Analyze it without them.", step.command),
    )


def require_neural_engine(query: Query) -> Shortfall | None:
    """Return a shortfall where the Neural Engine's table is absent or has no rows."""
    entries = [entry for entry in query.analysis.evidence if {*entry.source.split(", ")} & {*ANE_TABLES}]
    if any(entry.state == "rows" for entry in entries):
        return None
    if any(entry.state == "empty" for entry in entries):
        reason = "its table of the Neural Engine has no rows, which does not prove that the engine was idle"
    elif any(entry.use in (Use.REFUSED, Use.NOTHING_HAS_ROWS) for entry in entries):
        return Shortfall("nothing was recorded", make_step(query, record(query.calls, "refused")))
    else:
        reason = "it has no table of the Neural Engine"
    return Shortfall(reason, make_step(query, record(query.calls, "engines")))


def require_power(query: Query) -> Shortfall | None:
    """Return a shortfall where nothing measured power."""
    if query.analysis.power is not None:
        return None
    return Shortfall("nothing in it measures power", _record_companion(query, "power"))


def require_base(query: Query) -> Shortfall | None:
    """Return a shortfall where the recording to compare with is missing."""
    if query.base is not None:
        return None
    return Shortfall("it takes a second recording", NextStep("Name the earlier recording with --base."))


def require_repeats(query: Query) -> Shortfall | None:
    """Return a shortfall where no model has a second call to compare with the first."""
    if any(len(model.rows) > 1 for model in query.analysis.call_models):
        return None
    return Shortfall(
        "no model is seen with a second call", make_step(query, record(query.calls, "more-calls"))
    )


def require_calls_on(engine: Engine) -> Need:
    """Return the need of a call that an engine served: no other can lose time on it."""

    def find_shortfall(query: Query) -> Shortfall | None:
        if query.calls.serves(engine).any():
            return None
        return Shortfall(f"no call is seen on {engine_name(engine)}")

    return find_shortfall


def require_kinds(kinds: Sequence[Kind[Any]], proofs: Sequence[Need] = ()) -> Need:
    """Return the need of findings: one of them, or a recording that would show each of them.

    ``proofs`` are what else must hold before "none is seen" is an answer.
    """

    def find_shortfall(query: Query) -> Shortfall | None:
        if any(finding.kind in kinds for finding in query.analysis.findings):
            return None
        if (
            query.analysis.call_models
            and not query.calls.is_timed
            and not {kind.need for kind in kinds} & {KindNeed.LOG, KindNeed.REQUESTS}
        ):
            return require_lengths(query)
        from tracekit.comparison.absence_doubts import explain_doubt
        from tracekit.comparison.findings_shown import explain_unseen

        rows = _mark_all(query)
        for kind in kinds:
            reason = explain_unseen(query.observations, kind, rows)
            if reason:
                return Shortfall(reason, _make_kind_step(query, kind.need))
        for kind in kinds:
            if doubt := explain_doubt(query.observations, kind, rows):
                has_step = kind.need is KindNeed.MANY_CALLS
                return Shortfall(doubt, _make_kind_step(query, kind.need) if has_step else None)
        return next(filter(None, (proof(query) for proof in proofs)), None)

    return find_shortfall


def _mark_all(query: Query) -> BoolArray:
    return np.ones(len(query.analysis.window_rows), bool)


def _record_companion(query: Query, name: Literal["log", "power"]) -> NextStep | None:
    """Return the step that records the log or the power beside; None for devices, where neither is read."""
    if query.analysis.trace.info.platform not in ("", "macOS"):
        return None
    return make_step(query, record(query.calls, name, companions=(name,)))


def _make_kind_step(query: Query, need: KindNeed) -> NextStep | None:
    if need is KindNeed.SETTING:
        return NextStep("Name what the app requests with --compute-units.")
    if need in (KindNeed.LOG, KindNeed.REQUESTS):
        return _record_companion(query, "log")
    instrument = _INSTRUMENT_OF.get(need)
    instruments = (instrument,) if instrument else ()
    purpose = _PURPOSE_OF.get(need, "engines")
    if purpose == "more-calls" and query.observations.quantity("length").problem(_mark_all(query)):
        return None  # more calls would be of as many kinds
    return make_step(query, record(query.calls, purpose, instruments=instruments))


def make_step(query: Query, action: Action) -> NextStep:
    """Return an action in words, for the recording of the query."""
    return next(iter(next_steps((action,), query.analysis.trace.info)))
