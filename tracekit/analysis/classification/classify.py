"""Engine, phase and deciding frame of every stack; and per sample, with the names of idle threads.

Every distinct (binary, symbol) pair is matched against the rules once, then all stacks are walked together
(``stack_walk``). The only work per sample is a look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.frame_flags import FrameNames, Objects, match_frames
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.stack_walk import NO_PHASE, Classification, Codes, StackWalk
from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable
from tracekit.model.vocabulary import ENGINE_CODE, PHASE_CODE, Engine, Phase

__all__ = ["Classification", "apply_idle_threads", "classify", "classify_stacks"]


def classify(stacks: StackTable, rule_set: RuleSet) -> Classification:
    """Classify every stack of a table. Linear in its frames; each function's name is matched once.

    The table has the last classification, so that another analysis by the same rules finds it.
    """
    rules, earlier = stacks.derived.get("classification", (None, None))
    if rules == rule_set.rules:
        return cast(Classification, earlier)
    classification = _classify(stacks.offsets, stacks.frame_ids, FrameNames.of(stacks), rule_set)
    stacks.derived["classification"] = rule_set.rules, classification
    return classification


def classify_stacks(
    offsets: IntArray,
    frame_ids: npt.NDArray[np.int32],
    binaries: Objects,
    symbols: Objects,
    rule_set: RuleSet,
) -> Classification:
    """Classify stacks in CSR form, leaf first; ``frame_ids`` are rows of ``binaries`` and ``symbols``."""
    names = FrameNames(*pd.factorize(binaries), *pd.factorize(symbols))
    return _classify(offsets, frame_ids, names, rule_set)


def _classify(
    offsets: IntArray, frame_ids: npt.NDArray[np.int32], names: FrameNames, rule_set: RuleSet
) -> Classification:
    return StackWalk(offsets, frame_ids, match_frames(names, rule_set), rule_set.rules).build_classification()


def apply_idle_threads(
    classification: Classification,
    stack_ids: npt.NDArray[np.int32],
    thread_ids: npt.NDArray[np.int32],
    thread_names: Sequence[str] | Objects,
    rule_set: RuleSet,
) -> tuple[Codes, Codes]:
    """Return engine and phase per sample: the stack's, or those of an idle service thread.

    ``stack_ids`` and ``thread_ids`` are -1 where the sample has none; without a stack the engine is UNKNOWN.
    A thread's name counts only where the stack is ``bare``, and then as idle.
    """
    # The appended entries are those of samples without a stack or a thread, whose id is -1.
    engine = np.append(classification.engine, np.int8(ENGINE_CODE[Engine.UNKNOWN]))[stack_ids]
    phase = np.append(classification.phase, np.int8(NO_PHASE))[stack_ids]
    bare = np.append(classification.bare, True)[stack_ids]
    thread_rules = np.array([rule_set.match_thread(name) for name in thread_names] + [-1], np.int32)
    rule = np.where(bare, thread_rules[thread_ids], -1)
    is_idle = rule >= 0
    engine_of_rule = np.array([ENGINE_CODE[rule.engine] for rule in rule_set.rules] + [0], np.int8)
    engine = np.where(is_idle, engine_of_rule[rule], engine).astype(np.int8)
    phase = np.where(is_idle, PHASE_CODE[Phase.IDLE], phase).astype(np.int8)
    return engine, phase
