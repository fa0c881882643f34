"""Rows of numbers that each run has once: loading, compiling, and the energy of a call of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracekit.analysis.energy import MISSING_ENERGY
from tracekit.comparison.estimates import (
    Estimate,
    compute_centre,
    estimate_between_runs,
    estimate_within_runs,
    scale_of,
)
from tracekit.comparison.metrics import (
    ENERGY_METRICS,
    INCOMPLETE,
    OF_REPORTED,
    OF_SIGNPOSTS,
    REQUEST_METRICS,
    RUN_METRICS,
)
from tracekit.comparison.observations import Observations
from tracekit.comparison.quantities import Amount, Unit
from tracekit.comparison.result import Difference, Value
from tracekit.comparison.rows import build_tested_row, refuse_difference
from tracekit.comparison.run_amounts import measure_preparation
from tracekit.comparison.run_variation import RunVariation
from tracekit.comparison.sessions import GivenSpread
from tracekit.model.vocabulary import Basis, Phase
from tracekit.text import printable

_Runs = Sequence[Observations]


def iter_preparation_rows(
    base: _Runs, new: _Runs, noise: Sequence[_Runs], spread: GivenSpread
) -> Iterator[Difference]:
    """Yield the rows of loading and compiling that a side shows."""
    for name in RUN_METRICS:
        values = [
            _average_runs([measure_preparation(run, Phase(name)) for run in side])
            for side in (base, new, *noise)
        ]
        if values[0].value is not None or values[1].value is not None:
            yield _compare_values(name, "ns", values, spread)


def iter_energy_rows(
    base: _Runs, new: _Runs, noise: Sequence[_Runs], spread: GivenSpread, model: str
) -> Iterator[Difference]:
    """Yield the energy of a call of a model on each rail that both sides show."""
    for name, rail in ENERGY_METRICS.items():
        values = [
            _average_runs([measure_energy(run, rail, model) for run in side]) for side in (base, new, *noise)
        ]
        if values[0].value is not None and values[1].value is not None:
            yield _compare_values(name, "mJ", values, spread)


def iter_request_rows(
    base: _Runs, new: _Runs, noise: Sequence[_Runs], spread: GivenSpread, model: str | None
) -> Iterator[Difference]:
    """Yield the numbers of requests to a language model that a side shows; None is whichever model."""
    runs = (*base, *new)
    names = [] if all(run.analysis.generations is None for run in runs) else list(OF_SIGNPOSTS)
    names += OF_REPORTED if any(len(run.analysis.trace.model_requests) for run in runs) else ()
    if not names:
        return
    from tracekit.comparison.request_metrics import compare_within, measure_request

    for name in names:
        unit = REQUEST_METRICS[name]
        sides = [[measure_request(run, name, model) for run in side] for side in (base, new, *noise)]
        values = [_average_runs([measured.amount for measured in side]) for side in sides]
        if values[0].value is None and values[1].value is None:
            continue
        if name == INCOMPLETE and not (values[0].value or values[1].value):
            continue
        row = _compare_values(name, unit, values, spread)
        estimate = None if row.judgement != "too few to tell" else compare_within(sides[0], sides[1])
        yield row if estimate is None else build_tested_row(name, unit, (values[0], values[1]), estimate)


def measure_energy(run: Observations, rail: str, model: str) -> Amount:
    """Return the energy of a call in mJ, deduced from the power of a rail; tools estimate it differently."""
    power = run.analysis.power
    calls = power.calls if power is not None else ()
    entries = [entry for entry in calls if (entry.model, entry.rail) == (model, rail)]
    if power is None or not entries:
        return Amount(None, missing=f"nothing shows the power of {rail} while the model ran")
    if len(entries) > 1:
        return Amount(None, missing="several processes run the model")
    if entries[0].missing:
        return Amount(None, missing=MISSING_ENERGY[entries[0].missing])
    basis = f"{Basis.INFERRED} from {printable(power.tool)}" if power.tool else str(Basis.INFERRED)
    return Amount(entries[0].energy_mj, basis)


def _compare_values(name: str, unit: Unit, values: Sequence[Value], spread: GivenSpread) -> Difference:
    base, new, *noise = values
    if refusal := refuse_difference(name, (unit, unit), base, new):
        return refusal
    noise_values = [group.runs if group.basis == base.basis else () for group in noise]
    estimate = _estimate_difference(base, new, noise_values, spread)
    if estimate is not None:
        return build_tested_row(name, unit, (base, new), estimate)
    assert base.value is not None
    assert new.value is not None
    return Difference(name, unit, base, new, new.value - base.value, None, None, "too few to tell")


def _estimate_difference(
    base: Value, new: Value, noise: Sequence[Sequence[float]], spread: GivenSpread
) -> Estimate | None:
    base_values, new_values, *noise_values = (
        np.array(values, float) for values in (base.runs, new.runs, *noise)
    )
    scale = scale_of(True, base_values, new_values, *noise_values)
    run_noise = spread.find_run_noise("mean")
    if run_noise is None:
        return estimate_between_runs(
            base_values, new_values, noise_values, scale, sessions=spread.sessions, order=spread.order
        )
    exact = [[RunVariation(value, 0.0, np.inf) for value in side.runs] for side in (base, new)]
    return estimate_within_runs(exact[0], exact[1], scale, run_noise, session_noise=spread.session_noise)


def _average_runs(amounts: Sequence[Amount]) -> Value:
    values = [amount.value for amount in amounts if amount.value is not None]
    bases = sorted({amount.basis for amount in amounts if amount.value is not None})
    if not values:
        return Value(None, 0, len(amounts), missing=amounts[0].missing if amounts else "")
    if len(bases) > 1:
        reason = f"some runs are {' and some '.join(bases)}, which one number cannot combine"
        return Value(None, 0, len(amounts), missing=reason)
    array = np.array(values, float)
    middle = compute_centre(array, scale_of(True, array))
    return Value(middle, len(values), len(amounts), bases[0], runs=tuple(values))
