"""Properties of frames, as bits that their rules give them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.classification.rule_set import NO_MATCH, FrameMatch, RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.frozen import frozen
from tracekit.model.tables import StackTable
from tracekit.model.vocabulary import INCOMPLETE, ML_ENGINES, Engine, Phase

RuleIndices: TypeAlias = npt.NDArray[np.int32]
Objects: TypeAlias = npt.NDArray[np.object_]

NO_FLAG = np.uint32(0)


class Flag:
    """Properties of a frame, as bits that are combined with ``|``; wrappers have strength "plumbing"."""

    (
        DECIDES,
        PRESUMED,
        NEEDS_ML,
        RUNTIME,
        FOR_ML,
        DRAWS,
        WRAPPER,
        WAITS,
        HAS_OTHERWISE,
        CALL,
        WORKER,
        HAS_SYMBOL,
        HAS_RULE,
    ) = (np.uint32(1 << bit) for bit in range(13))
    CONVERTS = np.uint32(1 << 13)
    """A ``needs-ml`` frame of pre- or post-processing: the frames that it calls are part of it."""
    LOADS = np.uint32(1 << 14)
    LOADS_IF_DECIDING = np.uint32(1 << 15)
    """A load or compile frame that counts only if its rule may decide."""
    CALLED_BY_ML = np.uint32(1 << 16)
    """Set by the walk: a ``needs-ml`` frame of an engine that ML calls."""
    FALLS_BACK = np.uint32(1 << 17)
    """Set by the walk: a frame that may not decide and counts as its ``otherwise``."""
    UNRESOLVED = np.uint32(1 << 18)
    """A frame with neither a symbol nor a binary: only an address."""
    DRIVER = np.uint32(1 << 19)
    PARKED = np.uint32(1 << 20)
    """A ``driver`` frame of a thread that the driver keeps for itself."""
    RELEASES = np.uint32(1 << 21)
    GPU = np.uint32(1 << 22)
    CALLS_GPU = np.uint32(1 << 23)
    """Evidence for ML that is not the GPU's own: it can be what called the GPU."""
    RELEASED = np.uint32(1 << 24)
    """Set by the walk: a GPU frame that only releases an object."""
    PASSES_ON = np.uint32(1 << 25)
    SHARED = np.uint32(1 << 26)
    DELEGATED = np.uint32(1 << 27)
    """Set by the walk: a ``shared`` frame whose caller lets the library choose the engine."""
    INCOMPLETE = np.uint32(1 << 28)
    """A frame that stands for the missing part of a stack."""
    WRAPPER_OR_WAIT = WRAPPER | WAITS
    AGAINST_ML = DRAWS | CONVERTS


@frozen
class FrameFacts:
    """Per frame row: the flags of its rules, and the rules as rows of ``RuleSet.rules``."""

    flags: npt.NDArray[np.uint32]
    rule: RuleIndices
    phase_rule: RuleIndices
    boundary_rule: RuleIndices


@frozen
class FrameNames:
    """The binary and the symbol of each frame row, as codes of distinct names; some names may be unused."""

    binary_codes: npt.NDArray[np.integer]
    binaries: Objects
    symbol_codes: npt.NDArray[np.integer]
    symbols: Objects

    @classmethod
    def of(cls, stacks: StackTable) -> FrameNames:
        """Return the names of a table's frames; binaries that share a name count as one."""
        codes, binaries = pd.factorize(np.append(stacks.binaries["name"].to_numpy(object), ""))
        rows = stacks.frames["binary_id"].to_numpy()
        return cls(codes[rows], binaries, stacks.symbol_codes, stacks.symbol_names)


def match_frames(names: FrameNames, rule_set: RuleSet) -> FrameFacts:
    """Match every distinct pair of binary and symbol once, and spread the result over the rows."""
    # A pair is one integer, binary * width + symbol, so that factorize finds the distinct pairs.
    width = max(len(names.symbols), 1)
    row, pairs = pd.factorize(names.binary_codes.astype(np.int64) * width + names.symbol_codes)
    binaries, symbols = names.binaries[pairs // width], names.symbols[pairs % width]
    matches = rule_set.match_all(binaries, symbols)
    flags_of = {match: _combine_flags(match, rule_set.rules) for match in set(matches)}
    flags = np.array([flags_of[match] for match in matches], np.uint32)
    has_name = np.array([has_symbol(symbol) for symbol in symbols], np.bool_)
    flags |= np.where(
        has_name, Flag.HAS_SYMBOL, np.where(binaries.astype(np.bool_), NO_FLAG, Flag.UNRESOLVED)
    )
    flags |= np.where(np.isin(symbols, INCOMPLETE), Flag.INCOMPLETE, NO_FLAG)
    rules = np.array(matches, np.int32).reshape(-1, 3)[row]
    return FrameFacts(flags[row], rules[:, 0], rules[:, 1], rules[:, 2])


def _combine_flags(match: FrameMatch, rules: Sequence[Rule]) -> np.uint32:
    """Return the flags of a frame from its rules."""
    if match == NO_MATCH:
        return NO_FLAG
    flags = _get_rule_flags(rules[match.rule])
    if match.phase_rule >= 0:
        unconditional = rules[match.phase_rule].strength not in ("needs-ml", "presumed")
        flags |= Flag.LOADS if unconditional else Flag.LOADS_IF_DECIDING
    if match.boundary_rule >= 0:
        flags |= Flag.CALL if rules[match.boundary_rule].boundary == "call" else Flag.WORKER
    return flags


def _get_rule_flags(rule: Rule) -> np.uint32:
    """Return the flags of a rule."""
    ml = rule.engine in ML_ENGINES
    asserts = rule.strength in ("decisive", "driver", "context")
    on_gpu = rule.engine is Engine.GPU
    properties = {
        Flag.HAS_RULE: True,
        Flag.DECIDES: rule.strength == "decisive",
        Flag.PRESUMED: rule.strength == "presumed",
        Flag.NEEDS_ML: rule.strength == "needs-ml",
        Flag.CONVERTS: rule.strength == "needs-ml" and rule.engine is Engine.RUNTIME,
        Flag.RUNTIME: rule.strength == "context" and rule.engine is Engine.RUNTIME,
        Flag.FOR_ML: asserts and ml and rule.ancestor,
        Flag.DRAWS: asserts and not ml,
        Flag.WRAPPER: rule.strength == "plumbing",
        Flag.WAITS: rule.phase is Phase.WAIT,
        Flag.HAS_OTHERWISE: rule.otherwise is not None,
        Flag.DRIVER: rule.strength == "driver",
        Flag.PARKED: rule.strength == "driver" and rule.scope == "stack",
        Flag.PASSES_ON: rule.passes_on,
        Flag.SHARED: rule.shared,
        Flag.RELEASES: rule.strength == "plumbing" and rule.phase is Phase.LOAD,
        Flag.GPU: on_gpu and rule.strength != "context",
        Flag.CALLS_GPU: asserts and ml and rule.ancestor and not on_gpu,
    }
    return reduce(or_, (flag for flag, holds in properties.items() if holds))
