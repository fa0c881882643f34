"""The engine and phase of every sample: the classification of unique stacks, expanded to samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.analysis.classification.classify import Classification, apply_idle_threads, classify
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.engines.codes import is_among, is_engine, is_phase
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ML_ENGINES, PHASE_CODE, Phase


@frozen
class SampleLabels:
    """One entry per sample of a trace, in its order.

    ``in_call``: the stack contains a prediction's entry (``boundary`` frame). ``is_worker``: a runtime's
    worker doing inference for a call of another thread (loading and compiling are not assigned to calls).
    ``is_ml``: an ML runtime or engine, except idle threads.
    """

    classification: Classification
    engine: npt.NDArray[np.int8]
    phase: npt.NDArray[np.int8]
    in_call: npt.NDArray[np.bool_]
    is_worker: npt.NDArray[np.bool_]
    is_ml: npt.NDArray[np.bool_]
    boundary_rule: npt.NDArray[np.int32]
    pid: IntArray


def label_samples(trace: Trace, rule_set: RuleSet) -> SampleLabels:
    """Classify the unique stacks of ``trace`` and return the labels of its samples."""
    classification = classify(trace.stacks, rule_set)
    stack_ids = trace.samples["stack_id"].to_numpy()
    threads = trace.samples["thread_id"].to_numpy()
    names = trace.threads["name"].to_numpy(object)
    engine, phase = apply_idle_threads(classification, stack_ids, threads, names, rule_set)
    phase = _mark_blocked(trace, engine, phase)
    # Ids are -1 where a sample has no stack or thread: they index the appended last entry.
    preparing = is_phase(phase, Phase.LOAD, Phase.COMPILE)
    is_ml = is_engine(engine, *ML_ENGINES) & ~is_phase(phase, Phase.IDLE)
    workers = np.append(classification.worker, False)[stack_ids]
    boundary = np.append(classification.boundary_rule, np.int32(-1))[stack_ids]
    in_call = boundary >= 0
    pids = np.append(trace.threads["pid"].to_numpy(np.int64), -1)
    return SampleLabels(
        classification,
        engine,
        phase,
        in_call,
        workers & ~preparing,
        is_ml,
        boundary,
        pids[threads],
    )


def _mark_blocked(
    trace: Trace, engine: npt.NDArray[np.int8], phase: npt.NDArray[np.int8]
) -> npt.NDArray[np.int8]:
    """Set the phase to wait where the recorder reports the thread as blocked, whatever its leaf is.

    Time Profiler samples blocked threads only with the option ``record-waiting-threads``.
    """
    is_working = is_phase(phase, Phase.DISPATCH, Phase.EXECUTE, None) & is_engine(engine, *ML_ENGINES)
    blocked = is_among(trace.samples["state"], "Blocked")
    return np.where(blocked & is_working, np.int8(PHASE_CODE[Phase.WAIT]), phase)


def per_sample(
    per_stack: npt.NDArray[np.generic], stack_ids: npt.NDArray[np.int32], missing: int
) -> IntArray:
    """Expand one value per stack to samples; ``missing`` for samples without a stack (-1)."""
    values: IntArray = np.append(per_stack.astype(np.int64), missing)[stack_ids]
    return values


def find_deciding_frames(
    classification: Classification, stacks: StackTable, stack_ids: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Return the row of ``stacks.frames`` that decided each of these stacks; -1 where none did."""
    position = per_sample(classification.deciding, stack_ids, -1)
    starts = np.append(stacks.offsets[:-1], 0)[stack_ids]
    index = np.where(position >= 0, starts + position, 0)
    frames = np.append(stacks.frame_ids, np.int32(-1)).astype(np.int64)
    return np.where(position >= 0, frames[index], -1)
