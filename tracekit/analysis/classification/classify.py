"""Stacks → engine, phase, deciding frame; and what a thread's name adds, per sample.

Every distinct (binary, symbol) pair is matched against the rules once, then all stacks are walked together
(``stack_walk``). Nothing here is done per sample, except one look-up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.stack_walk import (
    NO_PHASE,
    Classification,
    Codes,
    FrameNames,
    Objects,
    Walk,
    match_frames,
)
from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable
from tracekit.model.vocabulary import ENGINE_CODE, PHASE_CODE, Engine, Phase

__all__ = ["Classification", "apply_idle_threads", "classify", "classify_stacks"]


def classify(stacks: StackTable, markers: RuleSet) -> Classification:
    """Classify every stack of a table. Linear in its frames; each function's name is matched once."""
    return _classify(stacks.offsets, stacks.frame_ids, FrameNames.of(stacks), markers)


def classify_stacks(
    offsets: IntArray,
    frame_ids: npt.NDArray[np.int32],
    binaries: Objects,
    symbols: Objects,
    markers: RuleSet,
) -> Classification:
    """Classify stacks in CSR form, leaf first; ``frame_ids`` are rows of ``binaries`` and ``symbols``."""
    names = FrameNames(*pd.factorize(binaries), *pd.factorize(symbols))
    return _classify(offsets, frame_ids, names, markers)


def _classify(
    offsets: IntArray, frame_ids: npt.NDArray[np.int32], names: FrameNames, markers: RuleSet
) -> Classification:
    return Walk(offsets, frame_ids, match_frames(names, markers), markers.rules).result()


def apply_idle_threads(
    found: Classification,
    stack_ids: npt.NDArray[np.int32],
    thread_ids: npt.NDArray[np.int32],
    thread_names: Sequence[str] | Objects,
    markers: RuleSet,
) -> tuple[Codes, Codes]:
    """Return engine and phase per sample: the stack's, or the service thread's when the stack shows nothing.

    ``stack_ids`` and ``thread_ids`` are -1 where the sample has none; no stack is engine UNKNOWN. A thread's
    name counts only where the stack is ``bare``, and then as idle.
    """
    engine = np.append(found.engine, np.int8(ENGINE_CODE[Engine.UNKNOWN]))[stack_ids]
    phase = np.append(found.phase, np.int8(NO_PHASE))[stack_ids]
    bare = np.append(found.bare, True)[stack_ids]
    rules = np.array([markers.match_thread(name) for name in thread_names] + [-1], np.int32)
    by_name = np.where(bare, rules[thread_ids], -1)
    named = by_name >= 0
    engines = np.array([ENGINE_CODE[rule.engine] for rule in markers.rules] + [0], np.int8)
    engine = np.where(named, engines[by_name], engine).astype(np.int8)
    phase = np.where(named, PHASE_CODE[Phase.IDLE], phase).astype(np.int8)
    return engine, phase
