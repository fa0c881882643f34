"""Engines that must not work in a call: the calls that show one, and whether an absence is proven."""

from __future__ import annotations

import numpy as np

from tracekit.checks.call_notes import (
    describe_worst,
    join_notes,
    note_contested_calls,
    note_unknown_engines,
)
from tracekit.checks.requirements import EnginePresence
from tracekit.checks.results import MetricValue
from tracekit.comparison.observations import Observations
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import PHASES, Basis, Engine, Phase
from tracekit.text import plural

_NOT_INFERENCE = (Phase.LOAD, Phase.COMPILE, Phase.IDLE)


def count_presence(observations: Observations, rule: EnginePresence, rows: BoolArray) -> MetricValue:
    """Return the number of windows in which an engine worked; ``high`` adds windows of unknown engine."""
    is_working, measured = _mark_working_windows(observations, rule)
    is_working = rows & is_working
    windows, count = int(rows.sum()), int(is_working.sum())
    if not count and (missing := _explain_unproven_absence(observations, rule, rows)):
        return MetricValue("count", missing=missing, windows=windows)
    contested = rows & ~is_working & observations.contested(rule.engine)
    doubtful = rows & ~is_working & ~contested & observations.undecided
    unknown = int((doubtful | contested).sum())
    is_measured = bool(measured[is_working].any()) or _is_measured(observations, rule)
    note = join_notes(note_unknown_engines(int(doubtful.sum())), note_contested_calls(int(contested.sum())))
    if not is_measured and not note and (without := int((rows & ~_mark_sampled(observations)).sum())):
        note = f"{plural(without, 'call')} without a host sample"
    basis = Basis.MEASURED if is_measured else Basis.SAMPLED
    worst = describe_worst(observations, int(np.flatnonzero(is_working)[0])) if count else None
    return MetricValue(
        "count",
        count,
        count + unknown,
        str(basis),
        windows,
        worst,
        note=note,
        is_contested=bool(contested.any()),
    )


def _mark_working_windows(observations: Observations, rule: EnginePresence) -> tuple[BoolArray, BoolArray]:
    """Mark the windows that show the engine in the phase, and those where it was measured."""
    frame = observations.analysis.attribution_rows
    frame = frame[(frame["window_id"] >= 0).to_numpy(bool)]
    phases = [rule.phase] if rule.phase else [phase for phase in PHASES if phase not in _NOT_INFERENCE]
    matches = frame[((frame["engine"] == rule.engine) & frame["phase"].isin(phases)).to_numpy(bool)]
    window = matches["window_id"].to_numpy(np.int64)
    busy = (matches["busy_ns"].fillna(0) > 0).to_numpy(bool)
    sampled = (matches["samples"] > 0).to_numpy(bool)
    count = observations.count
    measured: BoolArray = np.bincount(window[busy], minlength=count) > 0
    return measured | (np.bincount(window[sampled], minlength=count) > 0), measured


def _is_measured(observations: Observations, rule: EnginePresence) -> bool:
    """Return whether a table would have shown the engine in the phase."""
    measured = observations.analysis.measured.engines
    return rule.phase in (None, Phase.EXECUTE) and rule.engine in measured


def _mark_sampled(observations: Observations) -> BoolArray:
    """Mark the windows that have a host sample."""
    marks: BoolArray = observations.analysis.members.counts > 0
    return marks


def _explain_unproven_absence(observations: Observations, rule: EnginePresence, rows: BoolArray) -> str:
    """Return why the absence of an engine in these windows is not proven; "" if it is."""
    if _is_measured(observations, rule):
        return ""
    unmeasured = observations.unmeasured(Engine(rule.engine))
    if rule.phase is Phase.EXECUTE and rule.engine != Engine.CPU:
        return f"{unmeasured}, and host samples never show the {rule.engine} at work"
    problem = observations.quantity("samples", rule.engine).problem(rows)
    if not problem and not (rows & _mark_sampled(observations)).any():
        problem = "no host sample lies in these calls"
    return f"{unmeasured}, and {problem}" if problem else ""
