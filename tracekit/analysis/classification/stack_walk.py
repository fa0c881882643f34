"""Classify all stacks at once, on arrays.

Every frame row gets a word of flags from its rules; the stacks are then runs of such words, leaf first::

    offsets   0            3         5
    flags     [b  b  a | c  d | …]         one word per frame of each stack; position 0 is the first leaf

A stack's engine comes from the innermost frame of the first of these classes that occurs in it:

1. a decisive frame, or a ``presumed`` one that no drawing or image-processing frame calls;
2. a ``driver`` frame: first those that show a thread of the driver's own;
3. a ``needs-ml`` frame of an engine that an ML frame calls;
4. an ML runtime's frame, pre- or post-processing under one, or a Metal frame that drawing code calls;
5. a GPU frame inside the release of an object does no work on the GPU: it counts as a runtime's;
6. a ``needs-ml`` or ``presumed`` frame that no ML frame calls: it counts as its ``otherwise``.

"Calls" refers to the nearest frame toward the root that is evidence for or against ML. Decisive, accepted
presumed and context frames of ML are evidence for it; drawing and image-processing frames are evidence
against it; other frames are neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.analysis.classification.frame_flags import NO_FLAG, Flag, FrameFacts, RuleIndices
from tracekit.analysis.classification.rules import Rule
from tracekit.analysis.engines.codes import is_engine, is_phase
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import ENGINE_CODE, ML_ENGINES, PHASE_CODE, Engine, Phase

Bools: TypeAlias = npt.NDArray[np.bool_]
Codes: TypeAlias = npt.NDArray[np.int8]

NO_PHASE = PHASE_CODE[None]


@frozen
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

    def build_classification(self) -> Classification:
        """Return the classification of all stacks."""
        # The order matters: whether a presumed frame is accepted decides what counts as ML for the frames
        # that it calls, and those decide the classes from which the deciding frame is taken.
        self._accept_presumed()
        self._accept_called_by_ml()
        self._drop_released()
        self._drop_delegated()
        deciding = self._find_deciding_positions()
        rule = self._get_rules(self._frames.rule, deciding)
        engine = self._find_engines(deciding, rule)
        call = self._find_outermost(Flag.CALL)
        phase, phase_rule = self._find_phases(deciding, engine, rule)
        works = is_engine(engine, *ML_ENGINES) & ~is_phase(phase, Phase.IDLE)
        return Classification(
            engine,
            phase,
            rule,
            phase_rule,
            self._convert_to_stack_positions(deciding),
            self._convert_to_stack_positions(call),
            self._get_rules(self._frames.boundary_rule, call),
            works & (call < 0) & (self._find_innermost(Flag.WORKER) >= 0),
            self._pick_innermost(self._find_informative_positions()) < 0,
        )

    def _accept_presumed(self) -> None:
        """Accept presumed frames, except where drawing or image processing calls them."""
        presumed = self._find_positions(Flag.PRESUMED)
        # A presumed frame counts as ML unless the nearest evidence among its callers contradicts it.
        caller = self._get_caller_flags(presumed, Flag.AGAINST_ML | Flag.FOR_ML)
        accepted = presumed[caller & Flag.AGAINST_ML == 0]
        # Presumed frames themselves do not count as callers here, so their order does not matter.
        self._flags[accepted] |= Flag.DECIDES | Flag.FOR_ML
        self._flags[presumed[caller & Flag.AGAINST_ML != 0]] |= Flag.FALLS_BACK

    def _accept_called_by_ml(self) -> None:
        """Set the flags of ``needs-ml`` frames, and of load frames of such rules, by their caller."""
        dependent = self._find_positions(Flag.NEEDS_ML | Flag.LOADS_IF_DECIDING)
        caller = self._get_caller_flags(dependent, Flag.AGAINST_ML | Flag.PRESUMED | Flag.FOR_ML)
        flags = self._flags[dependent]
        needs = flags & Flag.NEEDS_ML != 0
        converts = flags & Flag.CONVERTS != 0
        by_ml = caller & Flag.FOR_ML != 0
        is_drawn = (caller & Flag.DRAWS != 0) & (flags & Flag.HAS_OTHERWISE != 0)
        allowed = by_ml | (flags & Flag.DECIDES != 0)
        self._flags[dependent[needs & by_ml & ~converts]] |= Flag.CALLED_BY_ML
        self._flags[dependent[needs & by_ml & converts]] |= Flag.RUNTIME
        self._flags[dependent[needs & ~by_ml]] |= Flag.FALLS_BACK
        # A Metal frame that drawing code calls belongs to class 3; its otherwise (GRAPHICS) is the engine.
        self._flags[dependent[needs & ~by_ml & is_drawn]] |= Flag.RUNTIME
        self._flags[dependent[allowed & (flags & Flag.LOADS_IF_DECIDING != 0)]] |= Flag.LOADS

    def _drop_released(self) -> None:
        """Take their weight from GPU frames of a release: between them and their ML caller, or around both.

        The last release of a model destroys its buffers and pipelines, without work on the GPU.
        A prediction call, or its worker, inside a release is work.
        """
        weight = Flag.DECIDES | Flag.CALLED_BY_ML
        on_gpu = self._find_positions(Flag.GPU)
        on_gpu = on_gpu[self._flags[on_gpu] & weight != 0]
        caller = self._get_caller_flags(on_gpu, Flag.RELEASES | Flag.CALLS_GPU)
        around = self._get_caller_flags(on_gpu, Flag.RELEASES | Flag.CALL | Flag.WORKER)
        released = on_gpu[(caller | around) & Flag.RELEASES != 0]
        self._flags[released] = (self._flags[released] & ~weight) | Flag.RELEASED

    def _drop_delegated(self) -> None:
        """Make ``shared`` frames a runtime's where a ``passes_on`` frame calls them: any engine may serve."""
        shared = self._find_positions(Flag.SHARED)
        shared = shared[self._flags[shared] & Flag.DECIDES != 0]
        delegated = shared[self._get_caller_flags(shared, Flag.PASSES_ON) != 0]
        self._flags[delegated] = (self._flags[delegated] & ~Flag.DECIDES) | Flag.RUNTIME | Flag.DELEGATED

    def _find_deciding_positions(self) -> IntArray:
        """Return every stack's deciding position, by the classes in the module's docstring."""
        deciding = self._find_innermost(Flag.DECIDES)
        for flag in (Flag.PARKED, Flag.DRIVER, Flag.CALLED_BY_ML, Flag.RUNTIME, Flag.RELEASED):
            deciding = np.where(deciding >= 0, deciding, self._find_innermost(flag))
        required_flags = Flag.FALLS_BACK | Flag.HAS_OTHERWISE
        fallbacks = np.flatnonzero(self._flags & required_flags == required_flags)
        return np.where(deciding >= 0, deciding, self._pick_innermost(fallbacks))

    def _find_engines(self, deciding: IntArray, rule: RuleIndices) -> Codes:
        # The appended entry is that of stacks without a deciding frame, whose position is -1.
        falls_back, is_runtimes = (
            np.append(self._flags & flag != 0, False)[deciding]
            for flag in (Flag.FALLS_BACK, Flag.RELEASED | Flag.DELEGATED)
        )
        engine = np.where(falls_back, self._otherwise_of[rule], self._engine_of[rule])
        engine = np.where(is_runtimes, ENGINE_CODE[Engine.RUNTIME], engine)
        undecided = np.where(self._is_readable(), ENGINE_CODE[Engine.OTHER], ENGINE_CODE[Engine.UNKNOWN])
        return np.where(deciding >= 0, engine, undecided).astype(np.int8)

    def _is_readable(self) -> Bools:
        """Mark whole stacks in which a frame has a symbol and at most half of the frames are bare addresses.

        Recordings without symbols may still name every leaf, but not its callers.
        """
        # Running sums give the number of bare addresses of each stack as one difference: sum at its end less
        # sum at its start.
        unresolved = np.append(0, np.cumsum(self._flags & Flag.UNRESOLVED != 0))
        mostly_unresolved = (
            2 * (unresolved[self._ends] - unresolved[self._starts]) > self._ends - self._starts
        )
        whole = self._find_innermost(Flag.INCOMPLETE) < 0
        readable: Bools = whole & (self._find_innermost(Flag.HAS_SYMBOL) >= 0) & ~mostly_unresolved
        return readable

    def _find_phases(self, deciding: IntArray, engine: Codes, rule: RuleIndices) -> tuple[Codes, RuleIndices]:
        """Return every stack's phase, and the load or compile rule that set it."""
        phase = self._phase_of[rule]
        # A frame that dispatches or executes while the leaf sleeps in the kernel is waiting for the result.
        can_wait = is_phase(phase, Phase.DISPATCH, Phase.EXECUTE, None)
        asleep = self._mark_waiting_stacks()
        phase = np.where(can_wait & asleep, PHASE_CODE[Phase.WAIT], phase)
        phase = np.where(asleep & self._mark_driver_only(deciding), PHASE_CODE[Phase.IDLE], phase)

        # A pool's thread is idle only while its loop calls nothing but wrappers.
        idle = phase == PHASE_CODE[Phase.IDLE]
        first_work = self._pick_innermost(np.flatnonzero(self._flags & Flag.WRAPPER == 0))
        busy = (engine == ENGINE_CODE[Engine.RUNTIME]) & idle & (first_work < deciding)
        phase = np.where(busy, NO_PHASE, phase)

        ml = is_engine(engine, *ML_ENGINES)
        loading, call = self._find_innermost(Flag.LOADS), self._find_innermost(Flag.CALL)
        # Only load and compile frames inside the prediction call count (nearer the leaf than its frame): a
        # prediction that begins in the completion handler of a load is not loading.
        loads = ml & (loading >= 0) & ((call < 0) | (loading < call)) & ~(idle & ~busy)
        phase_rule = self._get_rules(self._frames.phase_rule, np.where(loads, loading, -1))
        # Releasing a model outside of a call is unloading it.
        runtime = engine == ENGINE_CODE[Engine.RUNTIME]
        released = runtime & ~loads & (self._find_innermost(Flag.RELEASED) >= 0)
        unloads = released & (call < 0)
        releasing = self._get_rules(
            self._frames.rule, np.where(unloads, self._find_innermost(Flag.RELEASES), -1)
        )
        phase_rule = np.where(unloads, releasing, phase_rule)
        phase = np.where(released, NO_PHASE, phase)
        phase = np.where(loads | unloads, self._phase_of[phase_rule], phase)
        return np.where(ml, phase, NO_PHASE).astype(np.int8), phase_rule

    def _mark_driver_only(self, deciding: IntArray) -> Bools:
        """Mark stacks that a ``driver`` frame decides and in which nobody calls the driver.

        A request comes from a client, whose frames are on the stack, or has a rule of its own.
        """
        decides = np.append(self._flags & Flag.DRIVER != 0, False)[deciding]
        other_position = self._pick_innermost(
            np.flatnonzero(self._flags & (Flag.WRAPPER_OR_WAIT | Flag.DRIVER) == 0)
        )
        only: Bools = decides & (other_position < 0)
        return only

    def _mark_waiting_stacks(self) -> Bools:
        """Mark stacks whose wrapper frames at the leaf wait."""
        waits = self._find_innermost(Flag.WAITS)
        works = self._pick_innermost(np.flatnonzero(self._flags & Flag.WRAPPER_OR_WAIT == 0))
        asleep: Bools = (waits >= 0) & ((works < 0) | (waits < works))
        return asleep

    def _find_informative_positions(self) -> IntArray:
        """Return the positions of frames with a symbol or a rule that are not wrappers."""
        informative = self._flags & (Flag.HAS_SYMBOL | Flag.HAS_RULE) != 0
        return np.flatnonzero(informative & (self._flags & Flag.WRAPPER == 0))

    def _find_positions(self, flag: np.uint32) -> IntArray:
        return np.flatnonzero(self._flags & flag)

    def _find_innermost(self, flag: np.uint32) -> IntArray:
        """Return every stack's innermost position with one of the flags; -1 for none."""
        return self._pick_innermost(self._find_positions(flag))

    def _pick_innermost(self, positions: IntArray) -> IntArray:
        """Return the innermost of ``positions`` in every stack; -1 for none."""
        # It is the first position from the stack's start on, unless that one is in a later stack:
        #   starts     0     3     5
        #   positions    2       4        first_position: 2, 4, none (the appended end)
        first_position = np.append(positions, len(self._flags))[np.searchsorted(positions, self._starts)]
        return np.where(first_position < self._ends, first_position, -1)

    def _find_outermost(self, flag: np.uint32) -> IntArray:
        """Return every stack's outermost position with the flag; -1 for none."""
        positions = self._find_positions(flag)
        last_position = np.append(-1, positions)[np.searchsorted(positions, self._ends)]
        return np.where(last_position >= self._starts, last_position, -1)

    def _get_caller_flags(self, positions: IntArray, flag: np.uint32) -> npt.NDArray[np.uint32]:
        """Return the flags of the next frame with ``flag`` toward the root of each position; 0 for none."""
        # Leaf first, callers come later: it is the next such position, unless the stack ends before it.
        candidates = self._find_positions(flag)
        following = np.searchsorted(candidates, positions, side="right")
        caller = np.append(candidates, len(self._flags))[following]
        end = self._ends[np.searchsorted(self._ends, positions, side="right")]
        return np.where(caller < end, np.append(self._flags, NO_FLAG)[caller], NO_FLAG)

    def _get_rules(self, rules: RuleIndices, positions: IntArray) -> RuleIndices:
        """Return the rules of the frames at some positions; -1 for position -1."""
        if not len(self._frame_ids):
            return np.full(len(positions), -1, np.int32)
        rule = rules[self._frame_ids[np.maximum(positions, 0)]]
        return np.where(positions >= 0, rule, -1).astype(np.int32)

    def _convert_to_stack_positions(self, positions: IntArray) -> IntArray:
        """Turn positions into positions within their stacks, from the leaf."""
        return np.where(positions >= 0, positions - self._starts, -1)
