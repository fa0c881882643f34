"""Combines the numbers of single runs, or of one run and a spread between runs, into one number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tracekit.checks.evaluator import MetricEvaluator
from tracekit.checks.intervals import (
    Interval,
    add_run_spread,
    compute_run_mean,
    count_fewest_calls,
    estimate_interval,
    estimate_runs_interval,
    parse_statistic,
)
from tracekit.checks.requirements import AMOUNTS, Condition, Metric
from tracekit.checks.results import MetricValue
from tracekit.comparison.quantities import FloatArray
from tracekit.statistics.share_intervals import compute_wilson_interval
from tracekit.text import plural


@dataclass(frozen=True)
class RunNoise:
    """The spread of a number between runs of a program: given as a fraction, or shown by other recordings.

    A group has recordings that differ by chance only, such as those of one build. ``given`` has fractions by
    percentile, of which ``select`` chooses that of a number.
    """

    fraction: float | None = None
    groups: Sequence[Sequence[MetricEvaluator]] = ()
    by_build: bool = False
    is_assumed: bool = False
    """Whether ``fraction`` is the usual spread: one run shows none, and few runs may agree by chance."""
    given: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.fraction is not None or bool(self.groups)

    def select(self, statistic: str) -> RunNoise:
        """Return the spread of a number: that of the p50 is used for means and shares, not for a p90."""
        of_p50 = None if statistic.startswith("p") else self.given.get("p50")
        return replace(self, fraction=self.given.get(statistic or "p50", of_p50))

    def collect_values(
        self, rule: Condition, must_stay_low: bool, like: MetricValue
    ) -> list[list[MetricValue]]:
        """Return comparable values by group: same basis as ``like``, and at least two per group."""
        fewest = count_fewest_calls(rule.metric.statistic, 1)
        groups = []
        for group in self.groups:
            values = [evaluator.evaluate(rule.metric, rule.scope, must_stay_low) for evaluator in group]
            similar_values = [
                value
                for value in values
                if value.interval is not None
                and value.windows >= fewest
                and (value.kind not in AMOUNTS or value.basis == like.basis)
            ]
            groups += [similar_values] if len(similar_values) > 1 else []
        return groups


def combine_runs(
    values: Sequence[MetricValue], rule: Condition, confidence: float, noise: RunNoise, must_stay_low: bool
) -> MetricValue:
    """Return the mean of the runs' values, with an interval by the spread between runs.

    Several runs show their spread: an assumed one makes the interval wider, never narrower.
    """
    metric, kind = rule.metric, values[0].kind
    is_amount = kind in AMOUNTS
    noise_values = noise.collect_values(rule, must_stay_low, values[0])
    lows, highs = (_read_ends(values, name) for name in ("low", "high"))
    low, high = (compute_run_mean(ends, is_amount) for ends in (lows, highs))
    ends = [(value.low or 0.0, value.high or 0.0) for value in values]
    is_shown = noise.is_assumed and len(values) > 1
    if noise.fraction is not None and not is_shown:
        of_calls = [value.interval or (-np.inf, np.inf) for value in values]
        interval = add_run_spread(ends, of_calls, noise.fraction, kind, confidence)
    else:
        calls = _estimate_all_calls_interval(values, metric, confidence)
        pooled_low, _ = estimate_runs_interval(
            lows, is_amount, confidence, [_read_ends(group, "low") for group in noise_values]
        )
        _, pooled_high = estimate_runs_interval(
            highs, is_amount, confidence, [_read_ends(group, "high") for group in noise_values]
        )
        # Few runs with few calls can lack the slow calls that the program has, and then agree by chance.
        interval = min(pooled_low, calls[0]), max(pooled_high, calls[1])
        if is_shown and noise.fraction is not None:
            # Runs that were all in one state of the device agree as well.
            assumed = add_run_spread(ends, ends, noise.fraction, kind, confidence)
            interval = min(interval[0], assumed[0]), max(interval[1], assumed[1])
    if min(value.windows for value in values) < count_fewest_calls(metric.statistic, 1):
        interval = 0.0, np.inf
    notes = [value.note for value in values] + [_describe_noise(noise, noise_values, kind)]
    return replace(
        values[0],
        low=low,
        high=high,
        basis=" and ".join(sorted({value.basis for value in values if value.basis})),
        windows=sum(value.windows for value in values),
        worst=values[0].worst if len(values) == 1 else None,
        note="; ".join(dict.fromkeys(note for note in notes if note)),
        interval=(max(0.0, interval[0]), min(1.0, interval[1]) if kind == "share" else interval[1]),
        runs=len(values),
    )


def _read_ends(values: Sequence[MetricValue], name: str) -> FloatArray:
    return np.array([getattr(value, name) for value in values], float)


def _describe_noise(noise: RunNoise, used: Sequence[Sequence[MetricValue]], kind: str) -> str:
    if noise.is_assumed:
        return f"with an assumed spread between runs of {100 * (noise.fraction or 0):g} %"
    if noise.fraction is not None:
        unit = "points" if kind == "share" else "%"
        return f"with the given spread between runs of {100 * noise.fraction:g} {unit}"
    if not noise:
        return ""
    if not used:
        return "too few recordings for the noise have this number"
    builds = f" of {plural(len(used), 'build')}" if noise.by_build else ""
    return f"with the spread between runs of {sum(map(len, used))} other recordings{builds}"


def _estimate_all_calls_interval(
    values: Sequence[MetricValue], metric: Metric, confidence: float
) -> Interval:
    """Return the interval of all runs' calls taken as one run."""
    if len(values) == 1:
        assert values[0].interval is not None
        return values[0].interval
    calls = [value.calls for value in values if value.calls is not None]
    if len(calls) == len(values):
        statistic = parse_statistic(metric.statistic)
        lower_interval, upper_interval = (
            estimate_interval(np.concatenate([of_run[end] for of_run in calls]), statistic, confidence)
            for end in (0, 1)
        )
        return lower_interval[0], upper_interval[1]
    if metric.kind in ("energy", "rate"):  # a number of a run as a whole, which its calls do not show to vary
        return math.inf, -math.inf
    windows = np.array([value.windows for value in values], float)
    count = int(windows.sum())
    shares = [float((_read_ends(values, name) * windows).sum()) / max(1, count) for name in ("low", "high")]
    return compute_wilson_interval(shares[0], count, confidence)[0], compute_wilson_interval(
        shares[1], count, confidence
    )[1]
