"""Summary of a run's windows: durations, first against warm, verdict counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.verdicts import Verdicts
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray


@frozen
class Durations:
    """Nearest-rank percentiles of windows' durations, None without any.

    ``first_ns`` is the first window's, ``warm_*`` exclude the first window of each model.
    """

    windows: int
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    first_ns: int | None
    warm_p50_ns: int | None = None
    warm_p90_ns: int | None = None
    warm_p99_ns: int | None = None
    verdicts: dict[str, int] = field(default_factory=dict)


@frozen
class Summary(Durations):
    """The windows of a run; ``models`` has the same per model, where the recording names models.

    ``first_preparing_ns`` is the compile and load inside the first window.
    """

    models: dict[str, Durations] = field(default_factory=dict)
    first_preparing_ns: int = 0


def summarize(windows: pd.DataFrame, times: pd.DataFrame, verdicts: Verdicts) -> Summary:
    """Return the summary of a run's windows; a whole-run window has no latency."""
    whole = measure_durations(windows, verdicts.names)
    models = {}
    if (windows["model"] != "").any():
        for model, rows in windows[windows["model"] != ""].groupby("model", sort=True):
            models[str(model)] = measure_durations(rows, [verdicts.names[row] for row in rows.index.tolist()])
    preparing = int(times["preparing_ns"].iloc[0]) if whole.first_ns is not None else 0
    return Summary(**vars(whole), models=models, first_preparing_ns=preparing)


def measure_durations(windows: pd.DataFrame, verdicts: Sequence[str]) -> Durations:
    """Return the percentiles of some windows, in order of time."""
    lengths = (windows["end_ns"] - windows["start_ns"]).to_numpy(np.int64)
    timed = len(lengths) > 0 and not is_among(windows["source"], "run").any()
    if not timed:
        lengths = lengths[:0]
    warm = lengths[~windows["first"].to_numpy(bool)[: len(lengths)]]
    has_first = len(warm) < len(lengths)
    return Durations(
        len(windows),
        *_compute_percentiles(lengths),
        int(lengths[0]) if len(lengths) else None,
        *(_compute_percentiles(warm) if has_first else (None, None, None)),
        dict(Counter(verdicts).most_common()),
    )


def _compute_percentiles(lengths: IntArray) -> tuple[int | None, int | None, int | None]:
    if not len(lengths):
        return None, None, None
    # The nearest rank, as numpy's "inverted_cdf" defines it, which sorts anew for each percentile.
    ordered = np.sort(lengths)
    p50, p90, p99 = (int(ordered[-(-len(ordered) * percent // 100) - 1]) for percent in (50, 90, 99))
    return p50, p90, p99
