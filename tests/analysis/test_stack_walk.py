"""The walk on arrays: what must hold for any stack, and equality with a plain walk, frame after frame."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stack_support import MARKERS, classified, frame

from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASES, Engine, Phase

PLUMBING = [
    "libdispatch.dylib | _dispatch_client_callout",
    "libsystem_kernel.dylib | mach_msg2_trap",
    "libobjc.A.dylib | objc_msgSend",
    "CoreFoundation | CFRunLoopRun",
]
SOME_FRAMES = [
    f"{rule.example.binary} | {rule.example.symbol}" for rule in MARKERS.rules if rule.strength != "thread"
]
SOME_FRAMES += ["App | main", "App | 0x12", "App | run()"]
stacks_of_known_frames = st.lists(st.sampled_from(SOME_FRAMES), max_size=8)
plumbing = st.lists(st.sampled_from(PLUMBING), max_size=3)


@settings(deadline=None)
@given(stacks_of_known_frames, plumbing, plumbing)
def test_plumbing_at_leaf_and_root_changes_no_engine(stack, leaf, root):
    bare, dressed = classified([stack, [*leaf, *stack, *root]]).engine.tolist()
    if bare != ENGINE_CODE[Engine.UNKNOWN]:
        assert dressed == bare


@settings(deadline=None)
@given(st.lists(stacks_of_known_frames, max_size=6))
def test_a_stacks_verdict_does_not_depend_on_its_neighbours(stacks):
    together = classified(stacks)
    for row, stack in enumerate(stacks):
        alone = classified([stack])
        for name in ("engine", "phase", "rule", "deciding", "boundary", "worker", "bare", "phase_rule"):
            assert getattr(together, name)[row] == getattr(alone, name)[0], name


@pytest.mark.integration
@settings(max_examples=200, deadline=None)
@given(stacks_of_known_frames)
def test_the_walk_equals_the_slow_one_on_known_frames(stack):
    assert_equals_slow_walk(stack, MARKERS)


RULES = st.lists(
    st.builds(
        Rule,
        id=st.just("x"),
        engine=st.sampled_from([engine for engine in Engine if engine is not Engine.UNKNOWN]),
        strength=st.sampled_from(["decisive", "presumed", "needs-ml", "driver", "context", "plumbing"]),
        phase=st.sampled_from([None, *Phase]),
        symbol=st.sampled_from("abcdefgh"),
        scope=st.sampled_from(["frame", "stack"]),
        boundary=st.sampled_from([None, None, "call", "worker"]),
        otherwise=st.sampled_from([None, Engine.GRAPHICS]),
        ancestor=st.booleans(),
        passes_on=st.booleans(),
        shared=st.booleans(),
    ),
    max_size=8,
)


@pytest.mark.integration
@settings(max_examples=200, deadline=None)
@given(RULES, st.lists(st.sampled_from([*"abcdefghi", "0x1"]), max_size=8))
def test_the_walk_equals_the_slow_one_on_random_rules(rules, symbols):
    assert_equals_slow_walk([f"App | {symbol}" for symbol in symbols], RuleSet(tuple(rules)))


def assert_equals_slow_walk(stack: list[str], markers: RuleSet) -> None:
    classification = classified([stack], markers)
    engine, phase, deciding = slow_walk([markers.match(*frame(text)) for text in stack], stack, markers.rules)
    got_phase = PHASES[classification.phase[0]] if classification.phase[0] >= 0 else None
    assert (ENGINES[classification.engine[0]], got_phase, classification.deciding[0]) == (
        engine,
        phase,
        deciding,
    )


def slow_walk(matches, stack, rules):
    """The documented walk, one frame after the other."""
    ml = (Engine.ANE, Engine.GPU, Engine.CPU, Engine.RUNTIME)
    rule_of = [rules[match.rule] if match.rule >= 0 else None for match in matches]

    def opinion(position: int) -> str | None:
        """The evidence of the nearest frame toward the root of ``position``: ml, drawing, image, or nothing."""
        for further in range(position + 1, len(rule_of)):
            rule = rule_of[further]
            if rule is None:
                continue
            if rule.strength == "needs-ml" and rule.engine is Engine.RUNTIME:
                return "image"
            if rule.strength in ("decisive", "driver", "context"):
                if rule.engine not in ml:
                    return "drawing"
                if rule.ancestor:
                    return "ml"
            if rule.strength == "presumed":
                return "ml" if opinion_of_presumed(further) else "image"
        return None

    def opinion_of_presumed(position: int) -> bool:
        for further in range(position + 1, len(rule_of)):
            rule = rule_of[further]
            if rule is None or rule.strength in ("presumed", "plumbing"):
                continue
            if rule.strength == "needs-ml":
                if rule.engine is Engine.RUNTIME:
                    return False
                continue
            if rule.engine not in ml:
                return False
            if rule.ancestor:
                return True
        return True

    def releases(rule: Rule | None) -> bool:
        return rule is not None and rule.strength == "plumbing" and rule.phase is Phase.LOAD

    def released(position: int) -> bool:
        """True when a release is nearer to this GPU frame than the ML frame that called it."""
        if rule_of[position].engine is not Engine.GPU:
            return False
        ml_is_nearer = call_is_nearer = False
        for further in range(position + 1, len(rule_of)):
            rule = rule_of[further]
            if releases(rule):
                return not (ml_is_nearer and call_is_nearer)
            calls = rule is not None and rule.strength in ("decisive", "driver", "context")
            if calls and rule.engine in ml and rule.engine is not Engine.GPU and rule.ancestor:
                ml_is_nearer = True
            call_is_nearer |= matches[further].boundary_rule >= 0
        return False

    classes: dict[float, tuple[int, Engine]] = {}
    unloading = False
    for position, rule in reversed(list(enumerate(rule_of))):
        if rule is None:
            continue
        decides = rule.strength == "decisive" or (
            rule.strength == "presumed" and opinion_of_presumed(position)
        )
        by_ml = rule.strength == "needs-ml" and rule.engine is not Engine.RUNTIME
        by_ml = by_ml and opinion(position) == "ml"
        if (decides or by_ml) and released(position):
            classes[3.5] = (position, Engine.RUNTIME)
            unloading = True
        elif decides and rule.shared and any(outer and outer.passes_on for outer in rule_of[position + 1 :]):
            classes[3] = (position, Engine.RUNTIME)
        elif decides:
            classes[1] = (position, rule.engine)
        elif rule.strength == "driver":
            classes[1.2 if rule.scope == "stack" else 1.5] = (position, rule.engine)
        elif rule.strength == "needs-ml" and opinion(position) == "ml":
            classes[3 if rule.engine is Engine.RUNTIME else 2] = (position, rule.engine)
        elif rule.strength == "context" and rule.engine is Engine.RUNTIME:
            classes[3] = (position, rule.engine)
        elif rule.strength in ("needs-ml", "presumed") and rule.otherwise:
            drawn = rule.strength == "needs-ml" and opinion(position) == "drawing"
            classes[3 if drawn else 4] = (position, rule.otherwise)
    if not classes:
        named = any(has_symbol(frame(text)[1]) for text in stack)
        return (Engine.OTHER if named else Engine.UNKNOWN), None, -1
    deciding, engine = classes[min(classes)]
    if engine not in ml:
        return engine, None, deciding

    phase = rule_of[deciding].phase
    asleep = False
    for rule in rule_of:
        if rule is not None and rule.phase is Phase.WAIT:
            asleep = True
            break
        if rule is None or rule.strength != "plumbing":
            break
    if asleep and phase in (Phase.DISPATCH, Phase.EXECUTE, None):
        phase = Phase.WAIT
    alone = all(
        rule is not None and (rule.strength in ("plumbing", "driver") or rule.phase is Phase.WAIT)
        for rule in rule_of
    )
    if asleep and alone and rule_of[deciding].strength == "driver":
        phase = Phase.IDLE
    if phase is Phase.IDLE:
        silent = all(rule is not None and rule.strength == "plumbing" for rule in rule_of[:deciding])
        if engine is not Engine.RUNTIME or silent:
            return engine, phase, deciding
        phase = None
    for position, match in enumerate(matches):
        if match.boundary_rule >= 0 and rules[match.boundary_rule].boundary == "call":
            counts_here = loads_at(position, match, rule_of, rules, opinion, opinion_of_presumed)
            phase = None if unloading and engine is Engine.RUNTIME else phase
            return engine, rules[match.phase_rule].phase if counts_here else phase, deciding
        if loads_at(position, match, rule_of, rules, opinion, opinion_of_presumed):
            return engine, rules[match.phase_rule].phase, deciding
    return engine, Phase.LOAD if unloading and engine is Engine.RUNTIME else phase, deciding


def loads_at(position, match, rule_of, rules, opinion, opinion_of_presumed) -> bool:
    """True when this frame sets the phase of the whole stack; a call frame itself never does."""
    if match.phase_rule < 0:
        return False
    if match.boundary_rule >= 0 and rules[match.boundary_rule].boundary == "call":
        return False
    if rules[match.phase_rule].strength not in ("needs-ml", "presumed"):
        return True
    alone = rule_of[position].strength == "decisive" or (
        rule_of[position].strength == "presumed" and opinion_of_presumed(position)
    )
    return alone or opinion(position) == "ml"
