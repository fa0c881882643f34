"""Classify all stacks at once, on arrays.

Every frame row gets a word of flags from its rules; the stacks are then runs of such words, leaf first::

    offsets   0            3         5
    flags     [b  b  a | c  d | …]         one word per frame of each stack; position 0 is the first leaf

A stack's engine comes from the innermost frame of the first of these classes that occurs in it:

1. a decisive frame, or a ``presumed`` one that no drawing or image-processing frame calls;
2. a ``needs-ml`` frame of an engine that an ML frame calls;
3. an ML runtime's frame, pre- or post-processing under one, or a Metal frame that drawing code calls;
4. a ``needs-ml`` or ``presumed`` frame that no ML frame calls: it counts as its ``otherwise``.

"Calls" refers to the nearest frame toward the root that is evidence for or against ML. Decisive, accepted
presumed and context frames of ML are evidence for it; drawing and image-processing frames are evidence
against it; other frames are neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.classification.rule_set import NO_MATCH, FrameMatch, RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.analysis.engines.codes import is_engine, is_phase
from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable
from tracekit.model.vocabulary import ENGINE_CODE, ML_ENGINES, PHASE_CODE, Engine, Phase

Bools: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int8]
RuleIndices: TypeAlias = npt.NDArray[np.int32]
Objects: TypeAlias = npt.NDArray[np.object_]

NO_PHASE = PHASE_CODE[None]
_NO_FLAG = np.uint32(0)


@dataclass(frozen=True)
class Classification:
    """The result of the rules for every unique stack; one entry per stack in each array.

    ``engine``, ``phase``: codes of ``tracekit.model.vocabulary``; phase -1 is none. ``rule``, ``phase_rule``,
    ``boundary_rule``: rows of ``RuleSet.rules``, -1 for none; ``phase_rule`` is the load or compile rule that
    set the phase, when one did. ``deciding``, ``boundary``: positions in the stack, 0 is the leaf, -1 none;
    ``boundary`` is the outermost frame where a prediction call begins. ``worker``: ML work for a call of
    another thread. ``bare``: the stack has only wrapper frames and frames without a name.
    """

    engine: Codes
    phase: Codes
    rule: RuleIndices
    phase_rule: RuleIndices
    deciding: IntArray
    boundary: IntArray
    boundary_rule: RuleIndices
    worker: Bools
    bare: Bools

    def __len__(self) -> int:
        return len(self.engine)


class _Flag:
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
    WRAPPER_OR_WAIT = WRAPPER | WAITS
    AGAINST_ML = DRAWS | CONVERTS


@dataclass(frozen=True)
class FrameFacts:
    """Per frame row: the flags of its rules, and the rules as rows of ``RuleSet.rules``."""

    flags: npt.NDArray[np.uint32]
    rule: RuleIndices
    phase_rule: RuleIndices
    boundary_rule: RuleIndices


@dataclass(frozen=True)
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
    matches = [rule_set.match(binary, symbol) for binary, symbol in zip(binaries, symbols, strict=True)]
    flags_of = {match: _frame_flags(match, rule_set.rules) for match in set(matches)}
    flags = np.array([flags_of[match] for match in matches], np.uint32)
    has_name = np.array([has_symbol(symbol) for symbol in symbols], np.bool_)
    flags |= np.where(
        has_name, _Flag.HAS_SYMBOL, np.where(binaries.astype(np.bool_), _NO_FLAG, _Flag.UNRESOLVED)
    )
    rules = np.array(matches, np.int32).reshape(-1, 3)[row]
    return FrameFacts(flags[row], rules[:, 0], rules[:, 1], rules[:, 2])


def _frame_flags(match: FrameMatch, rules: Sequence[Rule]) -> np.uint32:
    """Return the flags of a frame from its rules."""
    if match == NO_MATCH:
        return _NO_FLAG
    flags = _rule_flags(rules[match.rule])
    if match.phase_rule >= 0:
        unconditional = rules[match.phase_rule].strength not in ("needs-ml", "presumed")
        flags |= _Flag.LOADS if unconditional else _Flag.LOADS_IF_DECIDING
    if match.boundary_rule >= 0:
        flags |= _Flag.CALL if rules[match.boundary_rule].boundary == "call" else _Flag.WORKER
    return flags


def _rule_flags(rule: Rule) -> np.uint32:
    """Return the flags of a rule."""
    ml = rule.engine in ML_ENGINES
    asserts = rule.strength in ("decisive", "context")
    properties = {
        _Flag.HAS_RULE: True,
        _Flag.DECIDES: rule.strength == "decisive",
        _Flag.PRESUMED: rule.strength == "presumed",
        _Flag.NEEDS_ML: rule.strength == "needs-ml",
        _Flag.CONVERTS: rule.strength == "needs-ml" and rule.engine is Engine.RUNTIME,
        _Flag.RUNTIME: rule.strength == "context" and rule.engine is Engine.RUNTIME,
        _Flag.FOR_ML: asserts and ml and rule.ancestor,
        _Flag.DRAWS: asserts and not ml,
        _Flag.WRAPPER: rule.strength == "plumbing",
        _Flag.WAITS: rule.phase is Phase.WAIT,
        _Flag.HAS_OTHERWISE: rule.otherwise is not None,
    }
    return reduce(or_, (flag for flag, holds in properties.items() if holds))


class StackWalk:
    """Stacks in CSR form as words of flags; positions are indices into ``frame_ids``.

    Arrays named ``positions`` are ascending, so that ``searchsorted`` finds the first or last of each stack.
    """

    def __init__(
        self,
        offsets: IntArray,
        frame_ids: npt.NDArray[np.int32],
        frames: FrameFacts,
        rules: Sequence[Rule],
    ) -> None:
        self._starts, self._ends = offsets[:-1], offsets[1:]
        self._frame_ids, self._frames = frame_ids, frames
        self._flags = frames.flags[frame_ids]
        # The appended entry answers for rule -1, "no rule", which indexes the last entry.
        none = [-1]
        self._engine_of = np.array([ENGINE_CODE[rule.engine] for rule in rules] + none, np.int8)
        self._otherwise_of = np.array(
            [ENGINE_CODE[rule.otherwise] if rule.otherwise else -1 for rule in rules] + none, np.int8
        )
        self._phase_of = np.array([PHASE_CODE[rule.phase] for rule in rules] + none, np.int8)

    def result(self) -> Classification:
        """Return the classification of all stacks."""
        # The order matters: whether a presumed frame is accepted decides what counts as ML for the frames
        # that it calls, and those decide the classes from which the deciding frame is taken.
        self._accept_presumed()
        self._accept_called_by_ml()
        deciding = self._deciding()
        rule = self._rules_at(self._frames.rule, deciding)
        engine = self._engines(deciding, rule)
        call = self._last(_Flag.CALL)
        phase, phase_rule = self._phases(deciding, engine, rule)
        works = is_engine(engine, *ML_ENGINES) & ~is_phase(phase, Phase.IDLE)
        return Classification(
            engine,
            phase,
            rule,
            phase_rule,
            self._in_stack(deciding),
            self._in_stack(call),
            self._rules_at(self._frames.boundary_rule, call),
            works & (call < 0) & (self._first(_Flag.WORKER) >= 0),
            self._first_of(self._informative()) < 0,
        )

    def _accept_presumed(self) -> None:
        """Accept presumed frames, except where drawing or image processing calls them."""
        presumed = self._where(_Flag.PRESUMED)
        # A presumed frame stands for ML unless the nearest evidence among its callers is against it; without
        # evidence it stands.
        caller = self._caller(presumed, _Flag.AGAINST_ML | _Flag.FOR_ML)
        accepted = presumed[caller & _Flag.AGAINST_ML == 0]
        # Presumed frames themselves do not count as callers here, so their order does not matter.
        self._flags[accepted] |= _Flag.DECIDES | _Flag.FOR_ML
        self._flags[presumed[caller & _Flag.AGAINST_ML != 0]] |= _Flag.FALLS_BACK

    def _accept_called_by_ml(self) -> None:
        """Set the flags of ``needs-ml`` frames, and of load frames of such rules, by their caller."""
        dependent = self._where(_Flag.NEEDS_ML | _Flag.LOADS_IF_DECIDING)
        caller = self._caller(dependent, _Flag.AGAINST_ML | _Flag.PRESUMED | _Flag.FOR_ML)
        flags = self._flags[dependent]
        needs = flags & _Flag.NEEDS_ML != 0
        converts = flags & _Flag.CONVERTS != 0
        by_ml = caller & _Flag.FOR_ML != 0
        drawn = (caller & _Flag.DRAWS != 0) & (flags & _Flag.HAS_OTHERWISE != 0)
        allowed = by_ml | (flags & _Flag.DECIDES != 0)
        self._flags[dependent[needs & by_ml & ~converts]] |= _Flag.CALLED_BY_ML
        self._flags[dependent[needs & by_ml & converts]] |= _Flag.RUNTIME
        self._flags[dependent[needs & ~by_ml]] |= _Flag.FALLS_BACK
        # A Metal frame that drawing code calls belongs to class 3; its otherwise (GRAPHICS) is the engine.
        self._flags[dependent[needs & ~by_ml & drawn]] |= _Flag.RUNTIME
        self._flags[dependent[allowed & (flags & _Flag.LOADS_IF_DECIDING != 0)]] |= _Flag.LOADS

    def _deciding(self) -> IntArray:
        """Return every stack's deciding position, by the classes in the module's docstring."""
        deciding = self._first(_Flag.DECIDES)
        for flag in (_Flag.CALLED_BY_ML, _Flag.RUNTIME):
            deciding = np.where(deciding >= 0, deciding, self._first(flag))
        both = _Flag.FALLS_BACK | _Flag.HAS_OTHERWISE
        fallbacks = np.flatnonzero(self._flags & both == both)
        return np.where(deciding >= 0, deciding, self._first_of(fallbacks))

    def _engines(self, deciding: IntArray, rule: RuleIndices) -> Codes:
        # The appended entry is that of stacks without a deciding frame, whose position is -1.
        falls_back = np.append(self._flags & _Flag.FALLS_BACK != 0, False)[deciding]
        engine = np.where(falls_back, self._otherwise_of[rule], self._engine_of[rule])
        undecided = np.where(self._is_readable(), ENGINE_CODE[Engine.OTHER], ENGINE_CODE[Engine.UNKNOWN])
        return np.where(deciding >= 0, engine, undecided).astype(np.int8)

    def _is_readable(self) -> Bools:
        """Mark stacks in which a frame has a symbol and at most half of the frames are bare addresses.

        Recordings without symbols may still name every leaf, but not its callers.
        """
        # Running sums give the number of bare addresses of each stack as one difference: sum at its end less
        # sum at its start.
        unresolved = np.append(0, np.cumsum(self._flags & _Flag.UNRESOLVED != 0))
        mostly_unresolved = (
            2 * (unresolved[self._ends] - unresolved[self._starts]) > self._ends - self._starts
        )
        readable: Bools = (self._first(_Flag.HAS_SYMBOL) >= 0) & ~mostly_unresolved
        return readable

    def _phases(self, deciding: IntArray, engine: Codes, rule: RuleIndices) -> tuple[Codes, RuleIndices]:
        """Return every stack's phase, and the load or compile rule that set it."""
        phase = self._phase_of[rule]
        # A frame that dispatches or executes while the leaf sleeps in the kernel is waiting for the result.
        can_wait = is_phase(phase, Phase.DISPATCH, Phase.EXECUTE, None)
        phase = np.where(can_wait & self._asleep(), PHASE_CODE[Phase.WAIT], phase)

        # A pool's thread is idle only while its loop calls nothing but wrappers.
        idle = phase == PHASE_CODE[Phase.IDLE]
        first_work = self._first_of(np.flatnonzero(self._flags & _Flag.WRAPPER == 0))
        busy = (engine == ENGINE_CODE[Engine.RUNTIME]) & idle & (first_work < deciding)
        phase = np.where(busy, NO_PHASE, phase)

        ml = is_engine(engine, *ML_ENGINES)
        loading, call = self._first(_Flag.LOADS), self._first(_Flag.CALL)
        # Only load and compile frames inside the prediction call count (nearer the leaf than its frame): a
        # prediction that begins in the completion handler of a load is not loading.
        loads = ml & (loading >= 0) & ((call < 0) | (loading < call)) & ~(idle & ~busy)
        phase_rule = self._rules_at(self._frames.phase_rule, np.where(loads, loading, -1))
        phase = np.where(loads, self._phase_of[phase_rule], phase)
        return np.where(ml, phase, NO_PHASE).astype(np.int8), phase_rule

    def _asleep(self) -> Bools:
        """Mark stacks whose wrapper frames at the leaf wait."""
        waits = self._first(_Flag.WAITS)
        works = self._first_of(np.flatnonzero(self._flags & _Flag.WRAPPER_OR_WAIT == 0))
        asleep: Bools = (waits >= 0) & ((works < 0) | (waits < works))
        return asleep

    def _informative(self) -> IntArray:
        """Return the positions of frames with a symbol or a rule that are not wrappers."""
        informative = self._flags & (_Flag.HAS_SYMBOL | _Flag.HAS_RULE) != 0
        return np.flatnonzero(informative & (self._flags & _Flag.WRAPPER == 0))

    def _where(self, flag: np.uint32) -> IntArray:
        return np.flatnonzero(self._flags & flag)

    def _first(self, flag: np.uint32) -> IntArray:
        """Return every stack's innermost position with one of the flags; -1 for none."""
        return self._first_of(self._where(flag))

    def _first_of(self, positions: IntArray) -> IntArray:
        """Return the innermost of ``positions`` in every stack; -1 for none."""
        # It is the first position from the stack's start on, unless that one is in a later stack:
        #   starts     0     3     5
        #   positions    2       4        first: 2, 4, none (the appended end)
        first = np.append(positions, len(self._flags))[np.searchsorted(positions, self._starts)]
        return np.where(first < self._ends, first, -1)

    def _last(self, flag: np.uint32) -> IntArray:
        """Return every stack's outermost position with the flag; -1 for none."""
        positions = self._where(flag)
        last = np.append(-1, positions)[np.searchsorted(positions, self._ends)]
        return np.where(last >= self._starts, last, -1)

    def _caller(self, positions: IntArray, flag: np.uint32) -> npt.NDArray[np.uint32]:
        """Return the flags of the next frame with ``flag`` toward the root of each position; 0 for none."""
        # Leaf first, callers come later: it is the next such position, unless the stack ends before it.
        candidates = self._where(flag)
        following = np.searchsorted(candidates, positions, side="right")
        caller = np.append(candidates, len(self._flags))[following]
        end = self._ends[np.searchsorted(self._ends, positions, side="right")]
        return np.where(caller < end, np.append(self._flags, _NO_FLAG)[caller], _NO_FLAG)

    def _rules_at(self, rules: RuleIndices, positions: IntArray) -> RuleIndices:
        """Return the rules of the frames at some positions; -1 for position -1."""
        if not len(self._frame_ids):
            return np.full(len(positions), -1, np.int32)
        rule = rules[self._frame_ids[np.maximum(positions, 0)]]
        return np.where(positions >= 0, rule, -1).astype(np.int32)

    def _in_stack(self, positions: IntArray) -> IntArray:
        """Turn positions into positions within their stacks, from the leaf."""
        return np.where(positions >= 0, positions - self._starts, -1)
