"""Numbers that a recording has as a whole: issues, heat, loading, and the energy of a call of a model."""

from __future__ import annotations

import numpy as np

from tracekit.checks.call_notes import MOST_LISTED_NAMES
from tracekit.checks.issue_codes import is_damage
from tracekit.checks.requirements import Metric
from tracekit.checks.results import MetricValue
from tracekit.comparison.cautions import THERMAL
from tracekit.comparison.observations import Observations
from tracekit.comparison.run_amounts import measure_preparation, read_thermal_states
from tracekit.comparison.run_metrics import measure_energy
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import Basis, Phase


def count_issues(observations: Observations, code: str) -> MetricValue:
    """Return the number of issues of a severity, or how often one with this code occurred."""
    issues = observations.analysis.diagnostics
    if code == "error":
        matches = [issue for issue in issues if is_damage(issue)]
    else:
        matches = [issue for issue in issues if code in ("", issue.severity, issue.code)]
    by_code = code not in ("", "info", "warning", "error")
    count = sum(issue.count for issue in matches) if by_code else len(matches)
    codes = sorted({issue.code for issue in matches})
    return MetricValue("count", count, count, note=", ".join(codes[:MOST_LISTED_NAMES]))


def find_hottest_state(observations: Observations) -> MetricValue:
    """Return the hottest thermal state."""
    levels, times = read_thermal_states(observations)
    if not len(levels):
        return MetricValue("thermal", missing="the recording has no thermal state")
    hottest = int(np.argmax(levels))
    level = float(min(levels[hottest], len(THERMAL) - 1))
    note = f"{THERMAL[int(level)]} from {times[hottest] / 1e9:.3f} s"
    return MetricValue("thermal", level, level, str(Basis.MEASURED), note=note)


def sum_preparation(observations: Observations, metric: Metric, scope: str) -> MetricValue:
    """Return the time of loading or compiling."""
    time = measure_preparation(observations, Phase(metric.quantity), scope)
    return MetricValue("time", time.value, time.value, time.basis, missing=time.missing)


def price_call(observations: Observations, rail: str, rows: BoolArray) -> MetricValue:
    """Return the energy of a call of the model that these windows are of, by the power of a rail."""
    count = int(rows.sum())
    power = observations.analysis.power
    if power is None:
        return MetricValue("energy", missing=_NO_POWER, windows=count)
    names = {str(name) for name in (*observations.model[rows], *observations.label[rows])}
    models = sorted({entry.model for entry in power.calls} & names)
    if len(models) != 1:
        listed = ", ".join(models[:MOST_LISTED_NAMES])
        reason = f"a call's energy is of one model: add 'in' and one of {listed}" if models else _NO_MODEL
        return MetricValue("energy", missing=reason, windows=count)
    energy = measure_energy(observations, rail, models[0])
    return MetricValue("energy", energy.value, energy.value, energy.basis, count, missing=energy.missing)


_NO_POWER = (
    "the recording has no samples of power: join the text of powermetrics or macmon (--with-companions)"
)
_NO_MODEL = "the calls are of no model whose energy is known"
