"""The numbers of one analysis, as a comparison would have them: of all its calls, and of each model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.comparison.metrics import METRICS, GroupSide, is_amount
from tracekit.comparison.observations import Observations
from tracekit.comparison.quantities import Unit
from tracekit.model.columns import BoolArray

_QUANTITIES = ("length", "share", "busy", "busy share")
_MOST_MODELS = 10


@dataclass(frozen=True)
class Measure:
    """One number. Those of the same ``kind`` can be compared: of a basis, and lengths of a kind of calls."""

    metric: str
    unit: Unit
    value: float
    kind: str


@dataclass(frozen=True)
class MeasuredCalls:
    """The numbers of the calls of a model, or, with the model "", of all calls."""

    model: str
    calls: int
    measures: tuple[Measure, ...]


def iter_measured_calls(analysis: Analysis) -> Iterator[MeasuredCalls]:
    """Yield the numbers of all calls, and of each model: those with most calls."""
    run = Observations(analysis)
    if not run.count:
        return
    yield _measure_calls(run, "", np.ones(run.count, bool))
    models, counts = np.unique(run.model.astype(str), return_counts=True)
    for position in np.argsort(-counts, kind="stable")[:_MOST_MODELS].tolist():
        if models[position]:
            yield _measure_calls(run, str(models[position]), run.model == models[position])


def _measure_calls(run: Observations, model: str, rows: BoolArray) -> MeasuredCalls:
    side = GroupSide([run], [rows])
    sources = " and ".join(sorted(side.sources))
    measures = []
    for metric in METRICS:
        column = side.column(metric) if metric.quantity in _QUANTITIES else None
        if column is not None and column.value.value is not None and column.upper_runs is None:
            of_calls = f", calls from {sources}" if metric.quantity == "length" else ""
            kind = f"{column.value.basis}{of_calls}" if is_amount(column.unit) else ""
            measures.append(Measure(metric.name, column.unit, column.value.value, kind))
    return MeasuredCalls(model, int(rows.sum()), tuple(measures))
