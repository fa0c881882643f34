"""Summary of a run's windows: durations, first against warm, verdict counts, the headline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.verdicts import UNKNOWN, Verdict, Verdicts
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, Basis, Engine, Phase

_MOST_STRETCHES = 4

HeadlineKind: TypeAlias = Literal[
    "windows", "whole-run", "no-calls", "no-engine", "no-evidence", "no-symbols", "no-model"
]


@dataclass(frozen=True)
class Durations:
    """Nearest-rank percentiles of windows' durations, None without any.

    ``first_ns`` is the first window's, ``warm_*`` those of the windows that are no model's first.
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


@dataclass(frozen=True)
class Stretch:
    """Consecutive windows with one verdict, from window ``first`` to window ``last``."""

    verdict: str
    first: int
    last: int
    start_ns: int


@dataclass(frozen=True)
class FirstWindow:
    """A first window that differs from the others: its length, and its compile and load with their basis."""

    length_ns: int
    preparing_ns: int
    basis: Basis | None


@dataclass(frozen=True)
class Headline:
    """The content of the first sentence about a run.

    ``kind`` is "windows" where there are verdicts to count; "whole-run" where the run is the only window;
    "no-calls" where ML was sampled, but no prediction; "no-engine" where tables report windows and nothing
    shows an engine; "no-evidence", "no-symbols" and "no-model" where nothing ran or nothing is visible.

    ``typical`` is the median window of the kind that more than half of the windows are of, ``alike`` their
    number. ``stretches`` are there where the verdict changes along the run, a few times only. ``samples`` are
    all samples, of which ``unsymbolicated`` have no stack with symbols and ``parked`` are idle service
    threads of the Neural Engine. ``is_prepared`` is True where compiling or loading a model was measured.
    ``requests`` to the Neural Engine are in the log, of which ``failed_requests`` in ``failed_windows``.
    """

    kind: HeadlineKind
    windows: int = 0
    sources: tuple[str, ...] = ()
    is_given: bool = False
    verdicts: tuple[tuple[str, int], ...] = ()
    typical: Verdict | None = None
    alike: int = 0
    first: FirstWindow | None = None
    stretches: tuple[Stretch, ...] = ()
    samples: int = 0
    unsymbolicated: int = 0
    parked: int = 0
    is_prepared: bool = False
    requests: int = 0
    failed_requests: int = 0
    failed_windows: int = 0


@dataclass(frozen=True)
class Summary(Durations):
    """The windows of a run; ``models`` has the same per model, where the recording names models.

    ``first_preparing_ns`` is the compile and load inside the first window.
    """

    models: dict[str, Durations] = field(default_factory=dict)
    first_preparing_ns: int = 0
    headline: Headline = Headline("no-evidence")


def summarize(
    trace: Trace,
    labels: SampleLabels,
    windows: pd.DataFrame,
    times: pd.DataFrame,
    verdicts: Verdicts,
    requests: LoggedRequests,
) -> Summary:
    """Return the summary of a run's windows; a whole-run window has no latency."""
    whole = durations_of(windows, verdicts.names)
    models = {}
    if (windows["model"] != "").any():
        for model, rows in windows[windows["model"] != ""].groupby("model", sort=True):
            models[str(model)] = durations_of(rows, [verdicts.names[row] for row in rows.index.tolist()])
    preparing = int(times["preparing_ns"].iloc[0]) if whole.first_ns is not None else 0
    headline = replace(
        _headline(trace, labels, windows, times, verdicts),
        requests=requests.requests,
        failed_requests=requests.failures,
        failed_windows=requests.failed_windows,
    )
    return Summary(**vars(whole), models=models, first_preparing_ns=preparing, headline=headline)


def durations_of(windows: pd.DataFrame, verdicts: Sequence[str]) -> Durations:
    """Return the percentiles of some windows, in order of time."""
    lengths = (windows["end_ns"] - windows["start_ns"]).to_numpy(np.int64)
    timed = len(lengths) > 0 and not (windows["source"] == "run").any()
    if not timed:
        lengths = lengths[:0]
    warm = lengths[~windows["first"].to_numpy(bool)[: len(lengths)]]
    has_first = len(warm) < len(lengths)
    return Durations(
        len(windows),
        *_percentiles(lengths),
        int(lengths[0]) if len(lengths) else None,
        *(_percentiles(warm) if has_first else (None, None, None)),
        dict(Counter(verdicts).most_common()),
    )


def _percentiles(lengths: IntArray) -> tuple[int | None, int | None, int | None]:
    if not len(lengths):
        return None, None, None
    p50, p90, p99 = (int(np.percentile(lengths, q, method="inverted_cdf")) for q in (50, 90, 99))
    return p50, p90, p99


def _headline(
    trace: Trace, labels: SampleLabels, windows: pd.DataFrame, times: pd.DataFrame, verdicts: Verdicts
) -> Headline:
    samples = len(trace.samples)
    unsymbolicated = int((labels.engine == ENGINE_CODE[Engine.UNKNOWN]).sum())
    typical, alike = _typical(windows, verdicts)
    kind = _kind(windows, verdicts, samples, bool(labels.is_ml.any()))
    if kind == "no-model" and unsymbolicated == samples:
        kind = "no-symbols"
    is_first_known = len(windows) > 1 and bool(windows["first"].iloc[0])
    return Headline(
        kind,
        len(windows),
        tuple(windows["source"].astype("str").unique()),
        bool(windows["source"].isin(GIVEN_SOURCES).all()),
        tuple(Counter(verdicts.names).most_common()),
        verdicts[0] if kind == "whole-run" else typical,
        alike,
        _first(windows, times) if is_first_known else None,
        _stretches(windows, verdicts.names),
        samples,
        unsymbolicated,
        int((labels.engine == ENGINE_CODE[Engine.ANE]).sum()),
        bool(trace.intervals["phase"].isin([Phase.LOAD, Phase.COMPILE]).any()),
    )


def _kind(windows: pd.DataFrame, verdicts: Verdicts, samples: int, is_ml: bool) -> HeadlineKind:
    is_decided = any(name != UNKNOWN for name in verdicts.names)
    source = windows["source"]
    is_reported = len(windows) > 0 and bool((source != "run").any() and (source != "stacks").any())
    if not is_decided and is_reported and not source.isin(GIVEN_SOURCES).any():
        return "no-engine"
    if not is_decided and not samples:
        return "no-evidence"
    if not is_decided and not is_ml:
        return "no-model"
    if not len(windows):
        return "no-calls"
    return "whole-run" if (source == "run").all() else "windows"


def _typical(windows: pd.DataFrame, verdicts: Verdicts) -> tuple[Verdict | None, int]:
    """Return the median window of the kind that most windows are of, and their number; None without one.

    Windows are of one kind where they have the same verdict and the same set of engines.
    """
    kinds = [
        (name, engines if name != UNKNOWN else 0)
        for name, engines in zip(verdicts.names, verdicts.engines, strict=True)
    ]
    if not kinds:
        return None, 0
    kind, count = Counter(kinds).most_common(1)[0]
    if kind[0] == UNKNOWN or 2 * count <= len(kinds):
        return None, 0
    lengths = (windows["end_ns"] - windows["start_ns"]).to_numpy(np.int64)
    alike = [window for window, candidate in enumerate(kinds) if candidate == kind]
    median = sorted(alike, key=lambda window: lengths[window])[(len(alike) - 1) // 2]
    return verdicts[median], count


def _first(windows: pd.DataFrame, times: pd.DataFrame) -> FirstWindow | None:
    """Return the first window, if it differs from the median of the others or holds compile or load."""
    lengths = (windows["end_ns"] - windows["start_ns"]).to_numpy(np.int64)
    usual = int(np.percentile(lengths[1:], 50, method="inverted_cdf"))
    preparing = int(times["preparing_ns"].iloc[0])
    if not preparing and abs(int(lengths[0]) - usual) * 10 <= usual:
        return None
    basis = times["preparing_basis"].iloc[0]
    return FirstWindow(int(lengths[0]), preparing, Basis(basis) if preparing else None)


def _stretches(windows: pd.DataFrame, verdicts: Sequence[str]) -> tuple[Stretch, ...]:
    """Return the runs of equal verdicts; nothing where there is only one, or too many to list."""
    firsts = [row for row, verdict in enumerate(verdicts) if not row or verdict != verdicts[row - 1]]
    if not 2 <= len(firsts) <= _MOST_STRETCHES:
        return ()
    starts = windows["start_ns"]
    return tuple(
        Stretch(verdicts[first], first, after - 1, int(starts.iloc[first]))
        for first, after in pairwise([*firsts, len(verdicts)])
    )
