"""The value of a metric in one recording: a number, a range, or the reason why there is none.

Where some windows have an unknown value, the metric is computed twice, with the least and with the most that
these windows could have: a requirement is decided only if both values agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.checks.findings import excluded_findings
from tracekit.checks.intervals import (
    Interval,
    interval_of,
    interval_of_ratio,
    interval_of_share,
    statistic_of,
)
from tracekit.checks.issue_codes import is_damage
from tracekit.checks.requirements import ENGINE_NAMES, Absence, Metric, Presence
from tracekit.checks.results import MetricValue, WorstWindow
from tracekit.comparison.bootstrap import estimate
from tracekit.comparison.cautions import THERMAL
from tracekit.comparison.observations import SUBMISSION_COUNTS, FloatArray, Observations, Quantity
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import ANE_INTERVALS
from tracekit.model.vocabulary import PHASES, SERVING, Basis, Engine, Phase
from tracekit.text import plural

_NOT_INFERENCE = (Phase.LOAD, Phase.COMPILE, Phase.IDLE)
_MOST_NAMES = 8


class MetricEvaluator:
    """Evaluates metrics of one analysis; each distinct one is computed once."""

    def __init__(self, observations: Observations, confidence: float = 0.0) -> None:
        """``confidence`` is that of the intervals; with 0 there are none."""
        self._observations = observations
        self._confidence = confidence
        self._scopes: dict[str, BoolArray] = {}
        self._values: dict[tuple[Metric, str, bool], MetricValue] = {}
        self._presences: dict[Presence, MetricValue] = {}

    def windows_in(self, scope: str) -> BoolArray:
        """Mark the windows of a scope."""
        if scope not in self._scopes:
            self._scopes[scope] = self._observations.matching(scope)
        return self._scopes[scope]

    def evaluate(self, metric: Metric, scope: str, highest_is_worst: bool) -> MetricValue:
        """Return a metric's value over the windows of a scope."""
        key = metric, scope, highest_is_worst
        if key not in self._values:
            self._values[key] = self._evaluate(metric, scope, highest_is_worst)
        return self._values[key]

    def _evaluate(self, metric: Metric, scope: str, highest_is_worst: bool) -> MetricValue:
        if metric.quantity == "issues":
            return self._issues(metric.code)
        if metric.quantity == "thermal":
            return self._thermal()
        if metric.quantity in ("load", "compile"):
            return self._preparation(metric, scope)
        rows = self.windows_in(scope)
        if metric.quantity == "calls":
            return self._window_count(rows)
        if not rows.any():
            return MetricValue(metric.kind, missing=self._no_window(scope))
        if metric.part:
            is_first = self._observations.first
            rows = rows & (is_first if metric.part == "first" else ~is_first)
            if not rows.any():
                return MetricValue(metric.kind, missing=f"there is no {metric.part} call")
        if metric.quantity in ("share", "used share"):
            return self._share(metric, rows, highest_is_worst)
        if metric.quantity == "samples share":
            return self._samples_share(metric, rows)
        value = self._per_window(metric, rows, highest_is_worst)
        if metric.quantity in SUBMISSION_COUNTS and not value.missing:
            return replace(value, note=_join_notes(value.note, self._without_submission(rows)))
        if metric.quantity == "hand-offs" and not value.missing:
            return replace(value, note=_join_notes(value.note, self._unmeasured(*SERVING)))
        return value

    def _unmeasured(self, *engines: Engine) -> str:
        """Return a note on the engines that no table measured; "" where each was measured."""
        names = [f"the {engine}" for engine in engines if not self._observations.is_measured(engine)]
        return f"no table measured {' and '.join(names)}" if names else ""

    def _without_submission(self, rows: BoolArray) -> str:
        """Return a note on the windows that did not use the Neural Engine, and so meet any upper limit."""
        submissions = self._observations.quantity("submissions per inference").values
        without = int((rows & (submissions == 0)).sum())
        return f"{plural(without, 'call')} made no submission to the Neural Engine" if without else ""

    def _no_window(self, scope: str) -> str:
        """Return the reason why a scope has no window, with the names that it could have."""
        if not scope or not self._observations.count:
            return "there is no call"
        names = self._observations.names()
        listed = ", ".join(names[:_MOST_NAMES])
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"no call has the model or label '{scope}'; the calls have {listed}{more}"

    # Of the whole recording --------------------------------------------------------------------------------

    def _issues(self, code: str) -> MetricValue:
        issues = self._observations.analysis.diagnostics
        if code == "error":
            matches = [issue for issue in issues if is_damage(issue)]
        else:
            matches = [issue for issue in issues if code in ("", issue.severity, issue.code)]
        by_code = code not in ("", "info", "warning", "error")
        count = sum(issue.count for issue in matches) if by_code else len(matches)
        codes = sorted({issue.code for issue in matches})
        return MetricValue("count", count, count, note=", ".join(codes[:_MOST_NAMES]))

    def _thermal(self) -> MetricValue:
        levels, times = self._observations.thermal()
        if not len(levels):
            return MetricValue("thermal", missing="the recording has no thermal state")
        hottest = int(np.argmax(levels))
        level = float(min(levels[hottest], len(THERMAL) - 1))
        note = f"{THERMAL[int(level)]} from {times[hottest] / 1e9:.3f} s"
        return MetricValue("thermal", level, level, str(Basis.MEASURED), note=note)

    def _preparation(self, metric: Metric, scope: str) -> MetricValue:
        if scope and not self.windows_in(scope).any():
            return MetricValue("time", missing=self._no_window(scope))
        time = self._observations.preparation(Phase(metric.quantity), scope)
        return MetricValue("time", time.value, time.value, time.basis, missing=time.missing)

    def _window_count(self, rows: BoolArray) -> MetricValue:
        count = int(rows.sum())
        if (self._observations.source == "run").any():
            missing = "the only range is the whole run, so single calls cannot be counted"
            return MetricValue("count", missing=missing)
        bases = sorted({str(basis) for basis in self._observations.quantity("length").basis[rows]})
        note = ""
        if (self._observations.source[rows] == "stacks").any():
            note = "back-to-back calls count as one where calls are inferred from stacks"
        return MetricValue("count", count, count, " and ".join(bases), count, note=note)

    # Over windows ------------------------------------------------------------------------------------------

    def _share(self, metric: Metric, rows: BoolArray, highest_is_worst: bool) -> MetricValue:
        """Return the share of windows with a verdict, or in which an engine served.

        ``quantity.values`` is 1 where the engine served, 0 where it did not, NaN where nothing shows it.
        """
        quantity = self._observations.quantity(metric.quantity, metric.engine)
        count = int(rows.sum())
        if (self._observations.source[rows] == ANE_INTERVALS).all():
            return MetricValue("share", missing=_OWN_TIME, windows=count)
        served = quantity.values > 0
        unknown = rows & np.isnan(quantity.values)
        contested = rows & unknown & self._observations.contested_for(metric.quantity, metric.engine)
        if not (rows & ~unknown).any() and not contested.any():
            return MetricValue("share", missing=quantity.if_unknown, windows=count)
        low = int((rows & served).sum()) / count
        high = int((rows & (served | unknown)).sum()) / count
        against = np.flatnonzero(rows & (served if highest_is_worst else ~served))
        worst = self._worst(int(against[0])) if len(against) else None
        basis = " and ".join(quantity.bases(rows & served) or quantity.bases(rows))
        note = _join_notes(
            _unknown_engine(int((unknown & ~contested).sum())), _contested(int(contested.sum()))
        )
        if not low and metric.engine in ENGINE_NAMES:
            note = _join_notes(note, self._unmeasured(Engine(metric.engine)))
        value = MetricValue(
            "share", low, high, basis, count, worst, note=note, is_contested=bool(contested.any())
        )
        least, most = (marks[rows].astype(np.float64) for marks in (served, served | unknown))
        return self._with_interval(
            value, lambda level: (interval_of_share(least, level)[0], interval_of_share(most, level)[1])
        )

    def _with_interval(self, value: MetricValue, compute: Callable[[float], Interval]) -> MetricValue:
        """Add the interval, if one is wanted; a number that cannot be negative is bounded by 0."""
        if not self._confidence or value.low is None:
            return value
        low, high = compute(self._confidence)
        return replace(value, interval=(max(0.0, low), high), confidence=self._confidence)

    def _samples_share(self, metric: Metric, rows: BoolArray) -> MetricValue:
        """Return the engine's part of the samples that show an engine, over all windows together."""
        quantities = {engine: self._observations.quantity("samples", engine) for engine in ENGINE_NAMES}
        engine_samples = quantities[metric.engine]
        if problem := engine_samples.problem(rows):
            return MetricValue("share", missing=problem)
        total = sum(float(quantity.values[rows].sum()) for quantity in quantities.values())
        if not total:
            return MetricValue("share", missing="no host sample in a call shows an engine")
        share = float(engine_samples.values[rows].sum()) / total
        note = "host samples show which code called an engine, not how long the engine worked"
        value = MetricValue("share", share, share, str(Basis.SAMPLED), int(rows.sum()), note=note)
        totals = np.sum([quantity.values[rows] for quantity in quantities.values()], axis=0)
        parts = engine_samples.values[rows]
        return self._with_interval(value, lambda level: interval_of_ratio(parts, totals, level))

    def _per_window(self, metric: Metric, rows: BoolArray, highest_is_worst: bool) -> MetricValue:
        quantity = self._observations.quantity(metric.quantity, metric.engine)
        count = int(rows.sum())
        problem = quantity.problem(rows)
        contested = 0
        if metric.quantity in ("busy", "busy share") and not quantity.missing:
            contested = int((rows & self._observations.contested(metric.engine)).sum())
        if not problem and metric.kind == "time" and quantity.unit != "ns":
            problem = f"samples are weighted in {quantity.unit}, not in time"
        if problem and contested:
            note = _contested(contested)
            return MetricValue(metric.kind, 0.0, quantity.most, "", count, note=note, is_contested=True)
        if problem:
            return MetricValue(metric.kind, missing=problem, windows=count)
        low, high = _range(quantity, rows, metric)
        with_value = np.flatnonzero(rows & ~np.isnan(quantity.values))
        values = quantity.values[with_value]
        worst = int(with_value[np.argmax(values) if highest_is_worst else np.argmin(values)])
        result = MetricValue(
            metric.kind,
            low,
            high,
            " and ".join(quantity.bases(rows)),
            count,
            self._worst(worst, float(quantity.values[worst])),
        )
        result = self._with_sample_interval(result, quantity, rows, metric)
        if contested:
            return replace(result, note=_contested(contested), is_contested=True)
        if unknown := count - len(with_value):
            verb = "does" if unknown == 1 else "do"
            return replace(result, note=f"{plural(unknown, 'call')} {verb} not show it")
        return replace(result, note=_few_windows(metric.statistic, len(with_value)))

    def _with_sample_interval(
        self, value: MetricValue, quantity: Quantity, rows: BoolArray, metric: Metric
    ) -> MetricValue:
        """Add the interval of a percentile or mean; the largest and smallest describe the recording alone."""
        if metric.statistic in ("max", "min"):
            return value
        values, statistic = quantity.values[rows], statistic_of(metric.statistic)
        least, most = (np.where(np.isnan(values), fill, values) for fill in (0.0, quantity.most))
        judged = self._with_interval(
            value,
            lambda level: (interval_of(least, statistic, level)[0], interval_of(most, statistic, level)[1]),
        )
        return replace(judged, calls=(least, most)) if judged.interval else judged

    def _worst(self, row: int, value: float | None = None) -> WorstWindow:
        observations = self._observations
        name = str(observations.model[row] or observations.label[row])
        window = int(observations.windows["window_id"].iloc[row])
        is_call = str(observations.source[row]) not in GIVEN_SOURCES
        call = int(observations.analysis.call_numbers[row]) if is_call else None
        return WorstWindow(window, call, int(observations.starts[row]), name, value)

    # Findings ----------------------------------------------------------------------------------------------

    def findings(self, rule: Absence) -> MetricValue:
        """Return the number of findings that a requirement excludes."""
        rows = self.windows_in(rule.scope)
        if rule.scope and not rows.any():
            return MetricValue("count", missing=self._no_window(rule.scope))
        return excluded_findings(self._observations, rule, rows)

    # Presence ----------------------------------------------------------------------------------------------

    def presence(self, rule: Presence) -> MetricValue:
        """Return the number of windows in which an engine worked; ``high`` adds those of unknown engine."""
        if rule not in self._presences:
            self._presences[rule] = self._presence(rule)
        return self._presences[rule]

    def _presence(self, rule: Presence) -> MetricValue:
        rows = self.windows_in(rule.scope)
        if not rows.any():
            return MetricValue("count", missing=self._no_window(rule.scope))
        shown, measured = self._at_work(rule)
        shown = rows & shown
        windows, count = int(rows.sum()), int(shown.sum())
        if not count and (missing := self._absence_unproven(rule, rows)):
            return MetricValue("count", missing=missing, windows=windows)
        contested = rows & ~shown & self._observations.contested(rule.engine)
        doubtful = rows & ~shown & ~contested & self._observations.undecided
        unknown = int((doubtful | contested).sum())
        is_measured = bool(measured[shown].any()) or self._is_measured(rule)
        note = _join_notes(_unknown_engine(int(doubtful.sum())), _contested(int(contested.sum())))
        if not is_measured and not note and (without := int((rows & ~self._has_samples()).sum())):
            note = f"{plural(without, 'call')} without a host sample"
        basis = Basis.MEASURED if is_measured else Basis.SAMPLED
        worst = self._worst(int(np.flatnonzero(shown)[0])) if count else None
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

    def _at_work(self, rule: Presence) -> tuple[BoolArray, BoolArray]:
        """Mark the windows that show the engine in the phase, and those where it was measured."""
        frame = self._observations.analysis.attribution_rows
        frame = frame[(frame["window_id"] >= 0).to_numpy(bool)]
        phases = [rule.phase] if rule.phase else [phase for phase in PHASES if phase not in _NOT_INFERENCE]
        matches = frame[((frame["engine"] == rule.engine) & frame["phase"].isin(phases)).to_numpy(bool)]
        window = matches["window_id"].to_numpy(np.int64)
        busy = (matches["busy_ns"].fillna(0) > 0).to_numpy(bool)
        sampled = (matches["samples"] > 0).to_numpy(bool)
        count = self._observations.count
        measured: BoolArray = np.bincount(window[busy], minlength=count) > 0
        return measured | (np.bincount(window[sampled], minlength=count) > 0), measured

    def _is_measured(self, rule: Presence) -> bool:
        """Return whether a table would have shown the engine in the phase."""
        measured = self._observations.analysis.measured.engines
        return rule.phase in (None, Phase.EXECUTE) and rule.engine in measured

    def _has_samples(self) -> BoolArray:
        """Mark the windows that have a host sample."""
        marks: BoolArray = self._observations.analysis.members.counts > 0
        return marks

    def _absence_unproven(self, rule: Presence, rows: BoolArray) -> str:
        """Return the reason why windows that do not show an engine prove nothing; "" where they prove it."""
        if self._is_measured(rule):
            return ""
        unmeasured = self._observations.unmeasured(Engine(rule.engine))
        if rule.phase is Phase.EXECUTE and rule.engine != Engine.CPU:
            return f"{unmeasured}, and host samples never show the {rule.engine} at work"
        problem = self._observations.quantity("samples", rule.engine).problem(rows)
        if not problem and not (rows & self._has_samples()).any():
            problem = "no host sample lies in these calls"
        return f"{unmeasured}, and {problem}" if problem else ""


_OWN_TIME = "the calls are the Neural Engine's own intervals: calls that did not use it are not among them"


def _join_notes(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _unknown_engine(count: int) -> str:
    return f"the engine of {plural(count, 'call')} is unknown" if count else ""


def _contested(count: int) -> str:
    """Return the note about windows in whose time an engine worked, for them or for another owner."""
    return (
        f"in {plural(count, 'call')} the engine worked, for this call or for another owner" if count else ""
    )


def _range(quantity: Quantity, rows: BoolArray, metric: Metric) -> tuple[float, float]:
    """Return a statistic with the least and with the most that windows without a value could have."""
    values = quantity.values[rows]
    unknown = np.isnan(values)
    extremes = (0.0, quantity.most)
    low, high = (_statistic(np.where(unknown, fill, values), metric.statistic) for fill in extremes)
    return low, high


def _statistic(values: FloatArray, name: str) -> float:
    if name == "max":
        return float(values.max())
    if name == "min":
        return float(values.min())
    return estimate(values, statistic_of(name))


def _few_windows(statistic: str, count: int) -> str:
    """Return a note where so few windows make a percentile the largest value; else ""."""
    if not statistic.startswith("p") or count * (100 - float(statistic[1:])) >= 100 or count == 1:
        return ""
    return f"of {count} calls, {statistic} is the largest"
