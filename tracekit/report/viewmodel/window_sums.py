"""The numbers of each window: host samples and measured work, by engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.analysis.result import Analysis
from tracekit.columns.call_rows import CallRows
from tracekit.model.vocabulary import SERVING, Engine


@dataclass(frozen=True)
class WindowSums:
    """Per engine one array with an entry per window; NaN where no table measured that engine.

    ``samples`` is empty where the recording has no table of samples: a 0 would be a claim.
    """

    samples: dict[str, npt.NDArray[Any]]
    busy: dict[str, npt.NDArray[Any]]


def window_sums(analysis: Analysis) -> WindowSums:
    """Return the numbers of inference (no loading, no compiling) in each window, in the windows' order."""
    rows = CallRows(analysis)
    sampled = (*SERVING, Engine.RUNTIME) if analysis.trace.samples_source else ()
    reported = [engine for engine in SERVING if engine in analysis.measured.reported]
    return WindowSums(
        {str(engine): rows.sum_samples(engine, "samples").to_numpy(np.float64) for engine in sampled},
        {str(e): rows.sum_busy_ns(e).to_numpy(np.float64, na_value=np.nan) for e in reported},
    )
