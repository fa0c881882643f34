"""The value of a metric in one recording: a number, a range, or the reason why it is missing.

If the value of some windows is unknown, the metric is computed twice, with the lowest and the highest value
that these windows could have: a requirement is decided only if both results agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tracekit.checks.call_notes import (
    describe_worst,
    explain_empty_scope,
    join_notes,
    note_contested_calls,
    note_unknown_engines,
)
from tracekit.checks.engine_presence import count_presence
from tracekit.checks.findings import count_excluded_findings
from tracekit.checks.intervals import Interval, estimate_interval, estimate_ratio_interval, parse_statistic
from tracekit.checks.recording_values import count_issues, find_hottest_state, price_call, sum_preparation
from tracekit.checks.requirements import ENGINE_NAMES, OF_REQUESTS, OF_RUN, Absence, EnginePresence, Metric
from tracekit.checks.results import MetricValue
from tracekit.comparison.metrics import LATE, OF_REPORTED
from tracekit.comparison.observations import SUBMISSION_COUNTS, Observations
from tracekit.comparison.quantities import FloatArray, Quantity
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import ANE_INTERVALS
from tracekit.model.vocabulary import SERVING, Basis, Engine
from tracekit.statistics.call_statistics import estimate
from tracekit.statistics.share_intervals import estimate_share_interval
from tracekit.text import plural


class MetricEvaluator:
    """Evaluates metrics of one analysis; each distinct one is computed once."""

    def __init__(self, observations: Observations, confidence: float = 0.0) -> None:
        """``confidence`` is that of the intervals; with 0 there are none."""
        self._observations = observations
        self._confidence = confidence
        self._scopes: dict[str, BoolArray] = {}
        self._values: dict[tuple[Metric, str, bool], MetricValue] = {}
        self._presences: dict[EnginePresence, MetricValue] = {}

    def mark_windows(self, scope: str) -> BoolArray:
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

    def _evaluate_run(self, metric: Metric, scope: str) -> MetricValue:
        """Return a number that the recording has once."""
        if metric.quantity == "issues":
            return count_issues(self._observations, metric.code)
        if metric.quantity == "thermal":
            return find_hottest_state(self._observations)
        rows = self.mark_windows(scope)
        if scope and not rows.any():
            return MetricValue(metric.kind, missing=explain_empty_scope(self._observations, scope))
        if metric.quantity == "energy":
            return self._price_call(metric, rows)
        return sum_preparation(self._observations, metric, scope)

    def _evaluate(self, metric: Metric, scope: str, highest_is_worst: bool) -> MetricValue:
        if metric.quantity in OF_RUN:
            return self._evaluate_run(metric, scope)
        if metric.quantity in OF_REQUESTS:
            # Few checks are about language models: the others need none of the imports.
            from tracekit.checks.request_values import measure_requests

            return measure_requests(self._observations, metric, scope, self._confidence)
        if metric.quantity in OF_REPORTED:
            from tracekit.checks.reported_values import measure_reported

            return measure_reported(self._observations, metric, scope, self._confidence)
        rows = self.mark_windows(scope)
        if metric.quantity == "calls":
            return self._count_windows(rows)
        if not rows.any():
            return MetricValue(metric.kind, missing=explain_empty_scope(self._observations, scope))
        if metric.part:
            is_first = self._observations.first
            rows = rows & (is_first if metric.part == "first" else ~is_first)
            if not rows.any():
                return MetricValue(metric.kind, missing=f"there is no {metric.part} call")
        if metric.quantity in ("share", "used share"):
            return self._compute_share(metric, rows, highest_is_worst)
        if metric.quantity == LATE:
            return self._compute_late_share(metric, rows)
        if metric.quantity == "samples share":
            return self._compute_sample_share(metric, rows)
        value = self._evaluate_per_window(metric, rows, highest_is_worst)
        if metric.quantity in SUBMISSION_COUNTS and not value.missing:
            return replace(value, note=join_notes(value.note, self._note_missing_submissions(rows)))
        if metric.quantity == "hand-offs" and not value.missing:
            return replace(value, note=join_notes(value.note, self._note_unmeasured_engines(*SERVING)))
        return value

    def _note_unmeasured_engines(self, *engines: Engine) -> str:
        """Return a note on engines that no table measured; "" if all were measured."""
        names = [f"the {engine}" for engine in engines if not self._observations.is_measured(engine)]
        return f"no table measured {' and '.join(names)}" if names else ""

    def _note_missing_submissions(self, rows: BoolArray) -> str:
        """Return a note on windows that did not use the Neural Engine and therefore meet any upper limit."""
        submissions = self._observations.quantity("submissions per inference").values
        without = int((rows & (submissions == 0)).sum())
        return f"{plural(without, 'call')} made no submission to the Neural Engine" if without else ""

    def _count_windows(self, rows: BoolArray) -> MetricValue:
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

    def _compute_share(self, metric: Metric, rows: BoolArray, highest_is_worst: bool) -> MetricValue:
        """Return the share of windows with a verdict, or in which an engine ran the model.

        ``quantity.values`` is 1 where the engine did, 0 where it did not, NaN where this is unknown.
        """
        quantity = self._observations.quantity(metric.quantity, metric.engine)
        count = int(rows.sum())
        if (self._observations.source[rows] == ANE_INTERVALS).all():
            return MetricValue("share", missing=_OWN_TIME, windows=count)
        is_served = quantity.values > 0
        unknown = rows & np.isnan(quantity.values)
        contested = rows & unknown & self._observations.mark_contested_for(metric.quantity, metric.engine)
        if not (rows & ~unknown).any() and not contested.any():
            return MetricValue("share", missing=quantity.if_unknown, windows=count)
        low = int((rows & is_served).sum()) / count
        high = int((rows & (is_served | unknown)).sum()) / count
        against = np.flatnonzero(rows & (is_served if highest_is_worst else ~is_served))
        worst = describe_worst(self._observations, int(against[0])) if len(against) else None
        basis = " and ".join(quantity.bases(rows & is_served) or quantity.bases(rows))
        note = join_notes(
            note_unknown_engines(int((unknown & ~contested).sum())),
            note_contested_calls(int(contested.sum())),
        )
        if not low and metric.engine in ENGINE_NAMES:
            note = join_notes(note, self._note_unmeasured_engines(Engine(metric.engine)))
        value = MetricValue(
            "share", low, high, basis, count, worst, note=note, is_contested=bool(contested.any())
        )
        lower_marks, upper_marks = (
            marks[rows].astype(np.float64) for marks in (is_served, is_served | unknown)
        )
        return self._add_interval(
            value,
            lambda level: (
                estimate_share_interval(lower_marks, level)[0],
                estimate_share_interval(upper_marks, level)[1],
            ),
        )

    def _compute_late_share(self, metric: Metric, rows: BoolArray) -> MetricValue:
        """Return the share of the calls that take longer than a deadline."""
        late = self._observations.quantity(LATE, str(metric.limit_ns))
        count = int(rows.sum())
        if problem := late.problem(rows):
            return MetricValue("share", missing=problem, windows=count)
        marks = late.values[rows]
        share = float(marks.mean())
        longest = int(np.argmax(np.where(rows, self._observations.lengths_ns, -1)))
        worst = describe_worst(self._observations, longest) if share else None
        value = MetricValue("share", share, share, " and ".join(late.bases(rows)), count, worst)
        return self._add_interval(value, lambda level: estimate_share_interval(marks, level))

    def _price_call(self, metric: Metric, rows: BoolArray) -> MetricValue:
        """Return the energy of a call, which a run shows once and which only several show to vary."""
        value = price_call(self._observations, metric.engine, rows)
        energy = value.low or 0.0
        return self._add_interval(value, lambda _: (energy, energy))

    def _add_interval(self, value: MetricValue, compute: Callable[[float], Interval]) -> MetricValue:
        """Add the interval, if requested; a number that cannot be negative is bounded by 0."""
        if not self._confidence or value.low is None:
            return value
        low, high = compute(self._confidence)
        return replace(value, interval=(max(0.0, low), high), confidence=self._confidence)

    def _compute_sample_share(self, metric: Metric, rows: BoolArray) -> MetricValue:
        """Return the engine's share of all samples that show an engine, over all windows."""
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
        return self._add_interval(value, lambda level: estimate_ratio_interval(parts, totals, level))

    def _evaluate_per_window(self, metric: Metric, rows: BoolArray, highest_is_worst: bool) -> MetricValue:
        quantity = self._observations.quantity(metric.quantity, metric.engine)
        count = int(rows.sum())
        problem = quantity.problem(rows)
        contested_count = 0
        if metric.quantity in ("busy", "busy share") and not quantity.missing:
            contested_count = int((rows & self._observations.contested(metric.engine)).sum())
        if not problem and metric.kind == "time" and quantity.unit != "ns":
            problem = f"samples are weighted in {quantity.unit}, not in time"
        if problem and contested_count:
            note = note_contested_calls(contested_count)
            return MetricValue(metric.kind, 0.0, quantity.most, "", count, note=note, is_contested=True)
        if problem:
            return MetricValue(metric.kind, missing=problem, windows=count)
        low, high = _bound_statistic(quantity, rows, metric)
        with_value = np.flatnonzero(rows & ~np.isnan(quantity.values))
        values = quantity.values[with_value]
        worst = int(with_value[np.argmax(values) if highest_is_worst else np.argmin(values)])
        result = MetricValue(
            metric.kind,
            low,
            high,
            " and ".join(quantity.bases(rows)),
            count,
            describe_worst(self._observations, worst, float(quantity.values[worst])),
        )
        result = self._add_sample_interval(result, quantity, rows, metric)
        if contested_count:
            return replace(result, note=note_contested_calls(contested_count), is_contested=True)
        if unknown := count - len(with_value):
            verb = "does" if unknown == 1 else "do"
            return replace(result, note=f"{plural(unknown, 'call')} {verb} not show it")
        return replace(result, note=_note_few_windows(metric.statistic, len(with_value)))

    def _add_sample_interval(
        self, value: MetricValue, quantity: Quantity, rows: BoolArray, metric: Metric
    ) -> MetricValue:
        """Add the interval of a percentile or mean; the largest and smallest describe the recording alone."""
        if metric.statistic in ("max", "min"):
            return value
        values, statistic = quantity.values[rows], parse_statistic(metric.statistic)
        lower_values, upper_values = (
            np.where(np.isnan(values), fill, values) for fill in (0.0, quantity.most)
        )
        value_with_interval = self._add_interval(
            value,
            lambda level: (
                estimate_interval(lower_values, statistic, level)[0],
                estimate_interval(upper_values, statistic, level)[1],
            ),
        )
        return (
            replace(value_with_interval, calls=(lower_values, upper_values))
            if value_with_interval.interval
            else value_with_interval
        )

    # Findings ----------------------------------------------------------------------------------------------

    def count_findings(self, rule: Absence) -> MetricValue:
        """Return the number of findings that a requirement excludes."""
        rows = self.mark_windows(rule.scope)
        if rule.scope and not rows.any():
            return MetricValue("count", missing=explain_empty_scope(self._observations, rule.scope))
        return count_excluded_findings(self._observations, rule, rows)

    # Presence ----------------------------------------------------------------------------------------------

    def count_presence(self, rule: EnginePresence) -> MetricValue:
        """Return the number of windows in which an engine worked; ``high`` adds windows of unknown engine."""
        if rule not in self._presences:
            self._presences[rule] = self._count_presence(rule)
        return self._presences[rule]

    def _count_presence(self, rule: EnginePresence) -> MetricValue:
        rows = self.mark_windows(rule.scope)
        if not rows.any():
            return MetricValue("count", missing=explain_empty_scope(self._observations, rule.scope))
        return count_presence(self._observations, rule, rows)


_OWN_TIME = "the calls are the Neural Engine's own intervals: calls that did not use it are not among them"


def _bound_statistic(quantity: Quantity, rows: BoolArray, metric: Metric) -> tuple[float, float]:
    """Return a statistic with the lowest and the highest value that windows without one could have."""
    values = quantity.values[rows]
    unknown = np.isnan(values)
    extremes = (0.0, quantity.most)
    low, high = (_compute_statistic(np.where(unknown, fill, values), metric.statistic) for fill in extremes)
    return low, high


def _compute_statistic(values: FloatArray, name: str) -> float:
    if name == "max":
        return float(values.max())
    if name == "min":
        return float(values.min())
    return estimate(values, parse_statistic(name))


def _note_few_windows(statistic: str, count: int) -> str:
    """Return a note if, with this few windows, a percentile is the largest value; else ""."""
    if not statistic.startswith("p") or count * (100 - float(statistic[1:])) >= 100 or count == 1:
        return ""
    return f"of {count} calls, {statistic} is the largest"
