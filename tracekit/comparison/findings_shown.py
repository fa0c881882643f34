"""What a recording must hold to show a finding: without it, that there is none proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

import numpy as np

from tracekit.analysis.findings.recording import RECORDING_KINDS
from tracekit.comparison.observations import Observations
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import Engine, Phase
from tracekit.text import plural


class Need(Enum):
    """The part of a recording that a kind of finding rests on."""

    NOTHING = auto()
    CALLS = auto()
    ENGINES = auto()
    """The engine of each call: one of unknown engine may be the one that left it."""
    LENGTHS = auto()
    NEURAL_ENGINE = auto()
    GPU = auto()
    SAMPLES = auto()
    LOADS = auto()
    REQUESTS = auto()
    LOG = auto()


_KINDS: Mapping[Need, tuple[str, ...]] = {
    Need.NOTHING: tuple(sorted(RECORDING_KINDS)),
    Need.ENGINES: (
        *("alternates", "came-back", "differs-by-function", "fell-back", "moved-to-engine"),
        "not-on-requested-engine",
    ),
    Need.LENGTHS: (
        *("cold-first-call", "latency-drift", "latency-outliers", "models-serialized", "two-populations"),
    ),
    Need.NEURAL_ENGINE: ("engine-contention", "gaps-in-calls", "partly-on-engine"),
    Need.GPU: ("gpu-shared-with-rendering",),
    Need.SAMPLES: (
        *("allocations", "conversions", "copies-around-engine", "main-thread-blocked"),
        *("on-efficiency-cores", "work-beside-calls"),
    ),
    Need.LOADS: ("compiled-in-run", "load-per-call", "loaded-again"),
    Need.REQUESTS: ("requests-failed",),
    Need.LOG: ("operators-refused", "program-not-loaded"),
}
NEEDS: Mapping[str, Need] = {kind: need for need, kinds in _KINDS.items() for kind in kinds}
"""For each kind of finding, what shows it; a kind that is not here cannot be required."""

_ACCELERATORS = (Engine.ANE, Engine.GPU)


def unseen(observations: Observations, kind: str, rows: BoolArray) -> str:
    """Return the reason why some windows cannot show a kind of finding; "" where they can."""
    need = NEEDS[kind]
    if need is Need.NOTHING:
        return ""
    if need in (Need.REQUESTS, Need.LOG):
        return _log(observations, need)
    if not rows.any():
        return "there is no window"
    if (observations.source[rows] == "run").any():
        return "the only window is the whole run, so no call is seen"
    if need is Need.LENGTHS:
        return observations.quantity("length").problem(rows)
    if need in (Need.NEURAL_ENGINE, Need.GPU):
        engine = Engine.GPU if need is Need.GPU else Engine.ANE
        return "" if observations.is_measured(engine) else observations.unmeasured(engine)
    if need is Need.SAMPLES:
        return observations.quantity("samples", str(Engine.CPU)).problem(rows)
    if need is Need.LOADS:
        return observations.preparation(Phase.LOAD).missing
    return _engines(observations, rows) if need is Need.ENGINES else ""


def _log(observations: Observations, need: Need) -> str:
    if need is Need.REQUESTS:
        missing = "the log has no request to the Neural Engine"
        return "" if observations.analysis.requests.requests else missing
    has_lines = len(observations.analysis.trace.engine_log) > 0
    return "" if has_lines else "the log has nothing of the Neural Engine's frameworks"


def _engines(observations: Observations, rows: BoolArray) -> str:
    unknown = int((rows & observations.undecided).sum())
    if unknown:
        return f"the engine of {unknown:,} of {plural(int(rows.sum()), 'window')} is unknown"
    for engine in _ACCELERATORS:
        if not observations.is_measured(engine) and _differs(observations, engine, rows):
            return f"{observations.unmeasured(engine)}, and its samples are too few to show where it stopped"
    return ""


def _differs(observations: Observations, engine: Engine, rows: BoolArray) -> bool:
    """Return whether samples show an engine in some calls of a model and not in others."""
    values = observations.quantity("used share", str(engine)).values[rows]
    if not np.nanmax(values, initial=0.0):
        return False
    models = np.where(observations.model == "", observations.label, observations.model)[rows]
    _, number = np.unique(models.astype(str), return_inverse=True)
    used = np.bincount(number, weights=np.nan_to_num(values))
    return bool(((used > 0) & (used < np.bincount(number))).any())
