"""The numbers of each window: host samples, measured work and waiting, by engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.result import Analysis
from tracekit.model.vocabulary import SERVING, Engine, Phase


@dataclass(frozen=True)
class WindowSums:
    """Per engine one array with an entry per window; NaN where no table measured that engine.

    ``samples`` is empty where the recording has no table of samples: a 0 would be a claim.
    """

    samples: dict[str, np.ndarray[Any, Any]]
    busy: dict[str, np.ndarray[Any, Any]]
    waiting: dict[str, np.ndarray[Any, Any]]


def window_sums(analysis: Analysis) -> WindowSums:
    """Return the numbers of inference (no loading, no compiling) in each window, in the windows' order."""
    windows = pd.Index(analysis.window_rows["window_id"])
    rows = analysis.attribution_rows[analysis.attribution_rows["window_id"].isin(windows)]
    counted = ~rows["phase"].isin([str(phase) for phase in Phase if not phase.is_inference])
    by_engine = dict(list(rows[counted].groupby("engine", observed=True)))

    def summed(engine: Engine, column: str, default: float) -> np.ndarray[Any, Any]:
        engine_rows = by_engine.get(str(engine), rows[:0])
        # ``min_count=1`` keeps "not known" apart from zero: the sum of missing values alone is missing.
        sums = engine_rows.groupby("window_id")[column].sum(min_count=1)
        return sums.reindex(windows).astype("Float64").fillna(default).to_numpy(np.float64)

    # A window without a row of an engine is a measured zero only where that engine's table has rows.
    measured = analysis.measured.engines
    sampled = (*SERVING, Engine.RUNTIME) if analysis.trace.samples_source else ()
    samples = {str(e): summed(e, "samples", 0) for e in sampled}
    reported = [e for e in SERVING if e in analysis.measured.reported]
    busy = {str(e): summed(e, "busy_ns", 0.0 if e in measured else np.nan) for e in reported}
    waiting = {str(e): summed(e, "waiting_ns", np.nan) for e in SERVING}
    waiting = {name: values for name, values in waiting.items() if not np.isnan(values).all()}
    return WindowSums(samples, busy, waiting)
