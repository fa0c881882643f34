"""Every sample's engine and phase: the classification of unique stacks, spread over the samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracekit.analysis.classification.classify import Classification, apply_idle_threads, classify
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.engines.codes import is_engine, is_phase
from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ML_ENGINES, PHASE_CODE, Phase


@dataclass(frozen=True)
class SampleLabels:
    """One entry per sample of a trace, in its order.

    ``in_call``: the stack holds a prediction's entry (``boundary`` frame). ``is_worker``: a runtime's worker
    at inference for a call that stands on another thread (loading and compiling is nobody's). ``is_ml``: an
    ML runtime or engine, idle threads excepted.
    """

    classification: Classification
    engine: npt.NDArray[np.int8]
    phase: npt.NDArray[np.int8]
    in_call: npt.NDArray[np.bool_]
    is_worker: npt.NDArray[np.bool_]
    is_ml: npt.NDArray[np.bool_]
    boundary_rule: npt.NDArray[np.int32]
    pid: IntArray


def label_samples(trace: Trace, markers: RuleSet) -> SampleLabels:
    """Classify the unique stacks of ``trace`` and return the labels of its samples."""
    found = classify(trace.stacks, markers)
    stack_ids = trace.samples["stack_id"].to_numpy()
    threads = trace.samples["thread_id"].to_numpy()
    names = trace.threads["name"].to_numpy(object)
    engine, phase = apply_idle_threads(found, stack_ids, threads, names, markers)
    phase = _waiting(trace, engine, phase)
    preparing = is_phase(phase, Phase.LOAD, Phase.COMPILE)
    is_ml = is_engine(engine, *ML_ENGINES) & ~is_phase(phase, Phase.IDLE)
    workers = np.append(found.worker, False)[stack_ids]
    boundary = np.append(found.boundary_rule, np.int32(-1))[stack_ids]
    in_call = boundary >= 0
    pids = np.append(trace.threads["pid"].to_numpy(np.int64), -1)
    return SampleLabels(
        found,
        engine,
        phase,
        in_call,
        workers & ~preparing,
        is_ml,
        boundary,
        pids[threads],
    )


def _waiting(trace: Trace, engine: npt.NDArray[np.int8], phase: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Call it waiting where the recorder says that the thread was blocked, whatever its leaf looks like.

    Time Profiler samples such threads only when it is told to (``record-waiting-threads``).
    """
    works = is_phase(phase, Phase.DISPATCH, Phase.EXECUTE, None) & is_engine(engine, *ML_ENGINES)
    blocked = (trace.samples["state"] == "Blocked").to_numpy(bool)
    return np.where(blocked & works, np.int8(PHASE_CODE[Phase.WAIT]), phase)


def take(per_stack: npt.NDArray[np.generic], stack_ids: npt.NDArray[np.int32], missing: int) -> IntArray:
    """Spread one value per stack over samples; ``missing`` for samples without a stack."""
    spread: IntArray = np.append(per_stack.astype(np.int64), missing)[stack_ids]
    return spread


def deciding_frames(
    found: Classification, stacks: StackTable, stack_ids: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Return the row of ``stacks.frames`` that decided each of these stacks; -1 where none did."""
    position = take(found.deciding, stack_ids, -1)
    starts = np.append(stacks.offsets[:-1], 0)[stack_ids]
    at = np.where(position >= 0, starts + position, 0)
    frames = np.append(stacks.frame_ids, np.int32(-1)).astype(np.int64)
    return np.where(position >= 0, frames[at], -1)
