"""Numbers that a run has once, whatever its windows: loading, compiling, and the device's thermal state."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.engines.interval_sets import merge_sets
from tracekit.analysis.engines.measured_rows import Scope
from tracekit.analysis.engines.membership import UNASSIGNED
from tracekit.comparison.observations import Observations
from tracekit.comparison.quantities import Amount, FloatArray
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Basis, Phase


def measure_preparation(run: Observations, phase: Phase, model: str = "") -> Amount:
    """Return the time of loading or compiling, counted once where engines do it together.

    Without a model, sampled time is used where nothing measured it. None does not mean 0: it may have
    happened before the recording began.
    """
    measured = run.analysis.measured
    keys = [key for key in measured.keys if key[1] is phase]
    if model:
        pids = frozenset(int(pid) for pid in np.unique(run.windows["pid"].to_numpy()) if pid >= 0)
        names = {*run.model[run.matching(model)]} & measured.owner.models
        scopes = [Scope(pids, str(name)) for name in names]
        spans = merge_sets([measured.spans(scope, key) for scope in scopes for key in keys])
    else:
        spans = merge_sets([measured.everything(key) for key in keys])
    if spans.total_ns:
        return Amount(float(spans.total_ns), str(Basis.MEASURED))
    totals = run.analysis.totals
    rows = totals[(totals["window_id"] == UNASSIGNED) & (totals["phase"] == phase)]
    sampled = rows["sampled_ns"].fillna(0).sum()
    if sampled and model:
        return Amount(None, missing=f"only samples show a {phase}, and they do not name the model")
    if sampled:
        return Amount(float(sampled), str(Basis.SAMPLED))
    return Amount(None, missing=f"no {phase} was recorded; it may have happened before the recording began")


def read_thermal_states(run: Observations) -> tuple[FloatArray, IntArray]:
    """Return the levels of the device's thermal state (0 nominal … 3 critical) and their start times."""
    rows = run.analysis.trace.tracks
    rows = rows[((rows["name"] == "Thermal state") & rows["value"].notna()).to_numpy(bool)]
    return rows["value"].to_numpy(np.float64), rows["time_ns"].to_numpy(np.int64)
