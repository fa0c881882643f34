"""What the windows say together: durations, first against warm, verdict counts, and one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.verdicts import UNKNOWN, Verdict
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, Engine, Phase

_MOST_STRETCHES = 4
_Kind: TypeAlias = tuple[str, frozenset[Engine]]


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
class Summary(Durations):
    """The windows of a run; ``models`` has the same per model, where the recording names models.

    ``first_preparing_ns`` is the compile and load inside the first window.
    """

    models: dict[str, Durations] = field(default_factory=dict)
    first_preparing_ns: int = 0
    sentence: str = ""


def summarize(
    trace: Trace,
    labels: SampleLabels,
    windows: pd.DataFrame,
    times: pd.DataFrame,
    verdicts: Sequence[Verdict],
) -> Summary:
    """Return the summary of a run's windows; a whole-run window has no latency to speak of."""
    named = [verdict.verdict for verdict in verdicts]
    whole = durations_of(windows, named)
    models = {}
    if (windows["model"] != "").any():
        for model, own in windows[windows["model"] != ""].groupby("model", sort=True):
            models[str(model)] = durations_of(own, [named[at] for at in own.index.tolist()])
    preparing = int(times["preparing_ns"].iloc[0]) if whole.first_ns is not None else 0
    sentence = _sentence(trace, labels, windows, times, verdicts)
    return Summary(**vars(whole), models=models, first_preparing_ns=preparing, sentence=sentence)


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


def _sentence(
    trace: Trace,
    labels: SampleLabels,
    windows: pd.DataFrame,
    times: pd.DataFrame,
    verdicts: Sequence[Verdict],
) -> str:
    prepared = bool(trace.intervals["phase"].isin([Phase.LOAD, Phase.COMPILE]).any())
    named = [verdict.verdict for verdict in verdicts]
    known = any(verdict != UNKNOWN for verdict in named)
    reported = (
        len(windows) > 0 and (windows["source"] != "run").any() and (windows["source"] != "stacks").any()
    )
    if not known and reported and not windows["source"].isin(GIVEN_SOURCES).any():
        return f"{_counted(windows, named)}: no sample and no table tells which engine ran them."
    if not known and not len(trace.samples):
        return "No sample, and no interval of inference on an engine: nothing can be said about engines."
    if not known and not labels.is_ml.any():
        return _no_model_sentence(labels, prepared)
    if not len(windows):
        return "ML frames were sampled, but no prediction call: see the engine table for what they are."
    if (windows["source"] == "run").all():
        short = verdicts[0].short if known else f"the samples say {named[0]}"
        return f"Over the whole run: {short}; single inferences are not told apart."
    listed = ", ".join(f"{count} {verdict}" for verdict, count in Counter(named).most_common())
    lead = _lead(windows, times, verdicts)
    return f"{lead}{_counted(windows, named)}: {listed}.{_changes(windows, named)}"


def _counted(windows: pd.DataFrame, verdicts: Sequence[str]) -> str:
    kind = "window" if len(verdicts) == 1 else "windows"
    if (windows["source"] == "stacks").all():
        return f"{len(verdicts)} {kind} inferred from stacks"
    if windows["source"].isin(GIVEN_SOURCES).all():
        return f"{len(verdicts)} {kind}"
    sources = ", ".join(windows["source"].astype("str").unique())
    return f"{len(verdicts)} {kind} from {sources}"


def _lead(windows: pd.DataFrame, times: pd.DataFrame, verdicts: Sequence[Verdict]) -> str:
    """Say what most windows did, in the words of the middle one of them, and what the first took."""
    kinds: dict[_Kind, _Kind] = {}  # so that windows of one kind share it
    told = [kinds.setdefault(own, own) for own in ((one.verdict, frozenset(one.order)) for one in verdicts)]
    kind, count = Counter(told).most_common(1)[0]
    if kind[0] == UNKNOWN or 2 * count <= len(verdicts):
        return ""
    lengths = (windows["end_ns"] - windows["start_ns"]).to_numpy(np.int64)
    alike = [at for at, one in enumerate(told) if one == kind]
    middle = sorted(alike, key=lambda at: lengths[at])[(len(alike) - 1) // 2]
    short = verdicts[middle].short
    words = [f"{short[:1].upper()}{short[1:]}"]
    if len(verdicts) > 1:
        words.append(f"{count} of {len(verdicts)} windows alike")
        if windows["first"].iloc[0] and _stands_out(lengths, times):
            words.append(_first(int(lengths[0]), times))
    return f"{'; '.join(words)}. "


def _stands_out(lengths: IntArray, times: pd.DataFrame) -> bool:
    """True if the first window differs from the middle one of the others, or holds compile or load."""
    usual = int(np.percentile(lengths[1:], 50, method="inverted_cdf"))
    return bool(times["preparing_ns"].iloc[0]) or abs(int(lengths[0]) - usual) * 10 > usual


def _first(length_ns: int, times: pd.DataFrame) -> str:
    preparing = int(times["preparing_ns"].iloc[0])
    text = f"the first took {length_ns / 1e6:,.1f} ms"
    if not preparing:
        return text
    basis = times["preparing_basis"].iloc[0]
    return f"{text}, of which {preparing / 1e6:,.1f} ms was compile and load ({basis})"


def _changes(windows: pd.DataFrame, verdicts: Sequence[str]) -> str:
    """Say where the verdict changes along the run, when that is a short story."""
    firsts = [at for at, verdict in enumerate(verdicts) if not at or verdict != verdicts[at - 1]]
    if not 2 <= len(firsts) <= _MOST_STRETCHES:
        return ""
    told = []
    for first, after in pairwise([*firsts, len(verdicts)]):
        span = f"{first}" if after == first + 1 else f"{first}–{after - 1}"
        told.append(f"{verdicts[first]} in {span} from {windows['start_ns'].iloc[first] / 1e6:,.3f} ms")
    return f" By number: {', then '.join(told)}."


def _no_model_sentence(labels: SampleLabels, prepared: bool) -> str:
    total = len(labels.engine)
    if prepared:
        return f"A model was compiled or loaded (measured); none of the {total} samples shows it running."
    unknown = int((labels.engine == ENGINE_CODE[Engine.UNKNOWN]).sum())
    idle = int((labels.engine == ENGINE_CODE[Engine.ANE]).sum())
    if unknown == total:
        return f"None of the {total} samples has a symbolicated stack, so no engine can be told."
    sentence = f"No model was seen running: none of the {total} samples shows Core ML or another ML runtime."
    if idle:
        are = "sample is" if idle == 1 else "samples are"
        sentence += f" {idle} {are} a parked Neural Engine service thread, which is no work."
    if unknown:
        have = "has" if unknown == 1 else "have"
        sentence += f" {unknown} of them {have} no symbolicated stack."
    return sentence
