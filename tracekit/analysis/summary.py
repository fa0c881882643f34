"""What the windows say together: durations, verdict counts, and one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

import numpy as np
import pandas as pd

from tracekit.analysis.classification.labels import Labels
from tracekit.analysis.verdicts import Verdict
from tracekit.engines import ENGINE_CODE, Engine
from tracekit.model import Trace

_MOST_STRETCHES = 4


@dataclass(frozen=True)
class Summary:
    """Nearest-rank percentiles of the windows' durations, None without any; ``first_ns`` is the first's."""

    windows: int
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    first_ns: int | None
    verdicts: dict[str, int] = field(default_factory=dict)
    sentence: str = ""


def summarize(trace: Trace, labels: Labels, windows: pd.DataFrame, verdicts: Sequence[Verdict]) -> Summary:
    """Return the summary of a run's windows; a whole-run window has no latency to speak of."""
    durations = (windows["end_ns"] - windows["start_ns"]).to_numpy()
    timed = len(durations) > 0 and not (windows["source"] == "run").any()
    p50, p90, p99 = (
        (int(np.percentile(durations, q, method="inverted_cdf")) if timed else None) for q in (50, 90, 99)
    )
    counts = dict(Counter(verdict.verdict for verdict in verdicts).most_common())
    first = int(durations[0]) if timed else None
    sentence = _sentence(trace, labels, windows, [verdict.verdict for verdict in verdicts])
    return Summary(len(windows), p50, p90, p99, first, counts, sentence)


def _sentence(trace: Trace, labels: Labels, windows: pd.DataFrame, verdicts: Sequence[str]) -> str:
    if not len(trace.samples):
        return "No sample was selected, so nothing can be said about engines."
    if not labels.is_ml.any():
        return _no_model_sentence(labels)
    if not len(windows):
        return "ML frames were sampled, but no prediction call: see the engine table for what they are."
    listed = ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).most_common())
    if (windows["source"] == "run").all():
        return f"Over the whole run the samples say {verdicts[0]}; single inferences are not told apart."
    kind = "window" if len(windows) == 1 else "windows"
    basis = " inferred from stacks" if (windows["source"] == "stacks").all() else ""
    return f"{len(windows)} {kind}{basis}: {listed}.{_changes(windows, verdicts)}"


def _changes(windows: pd.DataFrame, verdicts: Sequence[str]) -> str:
    """Say where the verdict changes along the run, when that is a short story."""
    grouped = groupby(enumerate(verdicts), itemgetter(1))
    stretches = [(verdict, [at for at, _ in group]) for verdict, group in grouped]
    if not 2 <= len(stretches) <= _MOST_STRETCHES:
        return ""
    told = []
    for verdict, numbers in stretches:
        span = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
        told.append(f"{verdict} in {span} from {windows['start_ns'].iloc[numbers[0]] / 1e6:,.3f} ms")
    return f" By number: {', then '.join(told)}."


def _no_model_sentence(labels: Labels) -> str:
    total = len(labels.engine)
    unknown = int((labels.engine == ENGINE_CODE[Engine.UNKNOWN]).sum())
    idle = int((labels.engine == ENGINE_CODE[Engine.ANE]).sum())
    if unknown == total:
        return f"None of the {total} samples has a symbolicated stack, so no engine can be told."
    sentence = f"No model was seen running: none of the {total} samples shows Core ML or another ML runtime."
    if idle:
        sentence += f" {idle} samples are a parked Neural Engine service thread, which is no work."
    if unknown:
        sentence += f" {unknown} of them have no symbolicated stack."
    return sentence
