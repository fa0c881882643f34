"""The walk over all stacks at once, on arrays.

Every frame row gets a word of flags from its rules; stacks then are runs of such words, leaf first. A stack's
verdict comes from the leafmost frame of the first of these classes that occurs in it:

1. a decisive frame, or a ``presumed`` one that no drawing or image-processing frame calls;
2. a ``needs-ml`` frame of an engine that an ML frame calls;
3. an ML runtime's frame, pre- or post-processing under one, or a Metal frame that drawing code calls;
4. a ``needs-ml`` or ``presumed`` frame that nothing of ML calls: it counts as its ``otherwise``.

"Calls" looks at the nearest frame rootward that has an opinion: decisive, accepted presumed and context
frames of ML speak for inference; drawing and image-processing frames speak against it; others say nothing.
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
_NOTHING = np.uint32(0)


@dataclass(frozen=True)
class Classification:
    """What the rules say about every unique stack; one entry per stack in each array.

    ``engine``, ``phase``: codes of ``tracekit.model.vocabulary``; phase -1 is none. ``rule``, ``phase_rule``,
    ``boundary_rule``: rows of ``RuleSet.rules``, -1 for none; ``phase_rule`` is the load or compile rule that
    set the phase, when one did. ``deciding``, ``boundary``: positions in the stack, 0 is the leaf, -1 none;
    ``boundary`` is the rootmost frame where a prediction call begins. ``worker``: ML work for a call that
    stands on another thread. ``bare``: the stack shows nothing but plumbing.
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
    """What a frame is; words of these are combined with ``|``."""

    (
        DECIDES,
        PRESUMED,
        NEEDS_ML,
        RUNTIME,
        FOR_ML,
        DRAWS,
        PLUMBING,
        WAITS,
        OTHERWISE,
        CALL,
        WORKER,
        NAMED,
        KNOWN,
    ) = (np.uint32(1 << bit) for bit in range(13))
    CONVERTS = np.uint32(1 << 13)
    """A ``needs-ml`` frame of pre- or post-processing: what it calls is that, too."""
    LOADS = np.uint32(1 << 14)
    LOADS_IF = np.uint32(1 << 15)
    """A load or compile frame that counts only if its rule may decide."""
    CALLED = np.uint32(1 << 16)
    """Set by the walk: a ``needs-ml`` frame of an engine that ML calls."""
    LEFT = np.uint32(1 << 17)
    """Set by the walk: a frame that may not decide and counts as its ``otherwise``."""
    BLIND = np.uint32(1 << 18)
    """A frame with neither a symbol nor a binary: an address that nothing tells about."""
    SILENT = PLUMBING | WAITS
    AGAINST = DRAWS | CONVERTS


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
        """Return the names of a table's frames; of several binaries of one name, it is one."""
        codes, binaries = pd.factorize(np.append(stacks.binaries["name"].to_numpy(object), ""))
        rows = stacks.frames["binary_id"].to_numpy()
        return cls(codes[rows], binaries, stacks.symbol_codes, stacks.symbol_names)


def match_frames(names: FrameNames, markers: RuleSet) -> FrameFacts:
    """Match every distinct pair of binary and symbol once and spread the result over the rows."""
    width = max(len(names.symbols), 1)
    row, pairs = pd.factorize(names.binary_codes.astype(np.int64) * width + names.symbol_codes)
    binaries, symbols = names.binaries[pairs // width], names.symbols[pairs % width]
    matches = [markers.match(binary, symbol) for binary, symbol in zip(binaries, symbols, strict=True)]
    flags_of = {match: _frame_flags(match, markers.rules) for match in set(matches)}
    flags = np.array([flags_of[match] for match in matches], np.uint32)
    named = np.array([has_symbol(symbol) for symbol in symbols], np.bool_)
    flags |= np.where(named, _Flag.NAMED, np.where(binaries.astype(np.bool_), _NOTHING, _Flag.BLIND))
    rules = np.array(matches, np.int32).reshape(-1, 3)[row]
    return FrameFacts(flags[row], rules[:, 0], rules[:, 1], rules[:, 2])


def _frame_flags(match: FrameMatch, rules: Sequence[Rule]) -> np.uint32:
    """Return the flags that a frame's rules give it."""
    if match == NO_MATCH:
        return _NOTHING
    flags = _rule_flags(rules[match.rule])
    if match.phase_rule >= 0:
        alone = rules[match.phase_rule].strength not in ("needs-ml", "presumed")
        flags |= _Flag.LOADS if alone else _Flag.LOADS_IF
    if match.boundary_rule >= 0:
        flags |= _Flag.CALL if rules[match.boundary_rule].boundary == "call" else _Flag.WORKER
    return flags


def _rule_flags(rule: Rule) -> np.uint32:
    """Return the flags of a frame's own rule."""
    ml = rule.engine in ML_ENGINES
    asserts = rule.strength in ("decisive", "context")
    says = {
        _Flag.KNOWN: True,
        _Flag.DECIDES: rule.strength == "decisive",
        _Flag.PRESUMED: rule.strength == "presumed",
        _Flag.NEEDS_ML: rule.strength == "needs-ml",
        _Flag.CONVERTS: rule.strength == "needs-ml" and rule.engine is Engine.RUNTIME,
        _Flag.RUNTIME: rule.strength == "context" and rule.engine is Engine.RUNTIME,
        _Flag.FOR_ML: asserts and ml and rule.ancestor,
        _Flag.DRAWS: asserts and not ml,
        _Flag.PLUMBING: rule.strength == "plumbing",
        _Flag.WAITS: rule.phase is Phase.WAIT,
        _Flag.OTHERWISE: rule.otherwise is not None,
    }
    return reduce(or_, (flag for flag, holds in says.items() if holds))


class Walk:
    """Stacks in CSR form as words of flags; positions are indices into ``frame_ids``."""

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
        none = [-1]
        self._engine_of = np.array([ENGINE_CODE[rule.engine] for rule in rules] + none, np.int8)
        self._otherwise_of = np.array(
            [ENGINE_CODE[rule.otherwise] if rule.otherwise else -1 for rule in rules] + none, np.int8
        )
        self._phase_of = np.array([PHASE_CODE[rule.phase] for rule in rules] + none, np.int8)

    def result(self) -> Classification:
        """Return the classification of all stacks."""
        self._accept_presumed()
        self._ask_callers()
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
            self._first_of(self._where_bare_ends()) < 0,
        )

    def _accept_presumed(self) -> None:
        """Let presumed frames decide, and speak for ML, unless drawing or image processing calls them."""
        presumed = self._where(_Flag.PRESUMED)
        caller = self._caller(presumed, _Flag.AGAINST | _Flag.FOR_ML)
        accepted = presumed[caller & _Flag.AGAINST == 0]
        self._flags[accepted] |= _Flag.DECIDES | _Flag.FOR_ML
        self._flags[presumed[caller & _Flag.AGAINST != 0]] |= _Flag.LEFT

    def _ask_callers(self) -> None:
        """Settle what depends on the caller: ``needs-ml`` frames, and load frames of such rules."""
        asking = self._where(_Flag.NEEDS_ML | _Flag.LOADS_IF)
        caller = self._caller(asking, _Flag.AGAINST | _Flag.PRESUMED | _Flag.FOR_ML)
        own = self._flags[asking]
        needs = own & _Flag.NEEDS_ML != 0
        converts = own & _Flag.CONVERTS != 0
        by_ml = caller & _Flag.FOR_ML != 0
        drawn = (caller & _Flag.DRAWS != 0) & (own & _Flag.OTHERWISE != 0)
        allowed = by_ml | (own & _Flag.DECIDES != 0)
        self._flags[asking[needs & by_ml & ~converts]] |= _Flag.CALLED
        self._flags[asking[needs & by_ml & converts]] |= _Flag.RUNTIME
        self._flags[asking[needs & ~by_ml]] |= _Flag.LEFT
        self._flags[asking[needs & ~by_ml & drawn]] |= _Flag.RUNTIME
        self._flags[asking[allowed & (own & _Flag.LOADS_IF != 0)]] |= _Flag.LOADS

    def _deciding(self) -> IntArray:
        """Return every stack's deciding position, by the classes of the module's text."""
        deciding = self._first(_Flag.DECIDES)
        for flag in (_Flag.CALLED, _Flag.RUNTIME):
            deciding = np.where(deciding >= 0, deciding, self._first(flag))
        left = np.flatnonzero(self._flags & (_Flag.LEFT | _Flag.OTHERWISE) == (_Flag.LEFT | _Flag.OTHERWISE))
        return np.where(deciding >= 0, deciding, self._first_of(left))

    def _engines(self, deciding: IntArray, rule: RuleIndices) -> Codes:
        left = np.append(self._flags & _Flag.LEFT != 0, False)[deciding]
        engine = np.where(left, self._otherwise_of[rule], self._engine_of[rule])
        nothing = np.where(self._can_be_read(), ENGINE_CODE[Engine.OTHER], ENGINE_CODE[Engine.UNKNOWN])
        return np.where(deciding >= 0, engine, nothing).astype(np.int8)

    def _can_be_read(self) -> Bools:
        """True where a frame has a symbol and at most half of the stack is mere addresses.

        Recordings without symbols may still name every leaf; what called it then stays unknown.
        """
        blind = np.append(0, np.cumsum(self._flags & _Flag.BLIND != 0))
        mostly_blind = 2 * (blind[self._ends] - blind[self._starts]) > self._ends - self._starts
        readable: Bools = (self._first(_Flag.NAMED) >= 0) & ~mostly_blind
        return readable

    def _phases(self, deciding: IntArray, engine: Codes, rule: RuleIndices) -> tuple[Codes, RuleIndices]:
        """Return every stack's phase, and the load or compile rule that set it."""
        phase = self._phase_of[rule]
        can_wait = is_phase(phase, Phase.DISPATCH, Phase.EXECUTE, None)
        phase = np.where(can_wait & self._asleep(), PHASE_CODE[Phase.WAIT], phase)

        # A pool's thread is idle only while nothing stands leafward of its loop.
        idle = phase == PHASE_CODE[Phase.IDLE]
        first_work = self._first_of(np.flatnonzero(self._flags & _Flag.PLUMBING == 0))
        busy = (engine == ENGINE_CODE[Engine.RUNTIME]) & idle & (first_work < deciding)
        phase = np.where(busy, NO_PHASE, phase)

        ml = is_engine(engine, *ML_ENGINES)
        loading, call = self._first(_Flag.LOADS), self._first(_Flag.CALL)
        loads = ml & (loading >= 0) & ((call < 0) | (loading < call)) & ~(idle & ~busy)
        phase_rule = self._rules_at(self._frames.phase_rule, np.where(loads, loading, -1))
        phase = np.where(loads, self._phase_of[phase_rule], phase)
        return np.where(ml, phase, NO_PHASE).astype(np.int8), phase_rule

    def _asleep(self) -> Bools:
        """True where the plumbing at the leaf waits."""
        waits = self._first(_Flag.WAITS)
        works = self._first_of(np.flatnonzero(self._flags & _Flag.SILENT == 0))
        asleep: Bools = (waits >= 0) & ((works < 0) | (waits < works))
        return asleep

    def _where_bare_ends(self) -> IntArray:
        """Return the positions of frames that are not plumbing and say something."""
        says = self._flags & (_Flag.NAMED | _Flag.KNOWN) != 0
        return np.flatnonzero(says & (self._flags & _Flag.PLUMBING == 0))

    def _where(self, flag: np.uint32) -> IntArray:
        return np.flatnonzero(self._flags & flag)

    def _first(self, flag: np.uint32) -> IntArray:
        """Return every stack's leafmost position with one of the flags; -1 for none."""
        return self._first_of(self._where(flag))

    def _first_of(self, positions: IntArray) -> IntArray:
        """Return every stack's leafmost of some positions (ascending); -1 for none."""
        at = np.append(positions, len(self._flags))[np.searchsorted(positions, self._starts)]
        return np.where(at < self._ends, at, -1)

    def _last(self, flag: np.uint32) -> IntArray:
        """Return every stack's rootmost position with the flag; -1 for none."""
        positions = self._where(flag)
        at = np.append(-1, positions)[np.searchsorted(positions, self._ends)]
        return np.where(at >= self._starts, at, -1)

    def _caller(self, positions: IntArray, flag: np.uint32) -> npt.NDArray[np.uint32]:
        """Return the flags of the nearest frame rootward of each position that has ``flag``; 0 for none."""
        having = self._where(flag)
        at = np.append(having, len(self._flags))[np.searchsorted(having, positions, side="right")]
        end = self._ends[np.searchsorted(self._ends, positions, side="right")]
        return np.where(at < end, np.append(self._flags, _NOTHING)[at], _NOTHING)

    def _rules_at(self, rules: RuleIndices, positions: IntArray) -> RuleIndices:
        """Return a rule of the frames at some positions; -1 for -1."""
        if not len(self._frame_ids):
            return np.full(len(positions), -1, np.int32)
        found = rules[self._frame_ids[np.maximum(positions, 0)]]
        return np.where(positions >= 0, found, -1).astype(np.int32)

    def _in_stack(self, positions: IntArray) -> IntArray:
        """Turn positions into positions within their stacks, from the leaf."""
        return np.where(positions >= 0, positions - self._starts, -1)
