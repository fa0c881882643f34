"""The heaviest stacks, and the frame that decided."""

from __future__ import annotations

from typing import Any

from sample_recordings import sample_analysis
from view_support import ANE, BNNS, MS, UI, analyze, replace, trace_of

from tracekit.report.viewmodel.heaviest import HeavyStack, heaviest_stacks


def heavy(rows: list[Any], **options: Any) -> list[HeavyStack]:
    return heaviest_stacks(analyze(trace_of(rows, **options)))


def test_stacks_of_ml_engines_by_weight() -> None:
    stacks = heavy(
        [(0, "a", ANE, 2 * MS), (1, "b", ANE, 2 * MS), (2, "a", BNNS, 9 * MS), (3, "a", UI, 50 * MS)]
    )
    assert [(stack.engine, stack.weight, stack.samples) for stack in stacks] == [
        ("CPU", 9.0 * MS, 1),
        ("ANE", 4.0 * MS, 2),
    ]
    assert [f"{binary} | {symbol}" for symbol, binary in stacks[1].frames] == list(ANE)


def test_the_deciding_frame_and_its_rule_are_named() -> None:
    analysis = analyze(trace_of([(0, "a", ANE)]))
    (stack,) = heaviest_stacks(analysis)
    assert stack.frames[stack.deciding] == ("H11ANEProgramProcessRequestDirect", "ANEServices")
    assert stack.rule in {rule.id for rule in analysis.rules}


def test_without_an_ml_engine_all_stacks_count() -> None:
    (stack,) = heavy([(0, "a", UI), (1, "a", None)])
    assert (stack.engine, stack.samples, stack.deciding, stack.rule) == ("OTHER", 1, -1, "")


def test_stacks_that_differ_in_addresses_alone_are_one() -> None:
    trace = trace_of([(0, "a", ("App | x", *ANE)), (1, "a", ("App | y", *ANE))])
    frames = trace.stacks.frames.assign(symbol=trace.stacks.frames["symbol"].astype("str").replace("y", "x"))
    (stack,) = heaviest_stacks(analyze(replace(trace, stacks=replace(trace.stacks, frames=frames))))
    assert stack.samples == 2


def test_at_most_so_many() -> None:
    analysis = analyze(trace_of([(index, "a", (f"App | f{index}", *ANE)) for index in range(30)]))
    assert len(heaviest_stacks(analysis)) == 20
    assert len(heaviest_stacks(analysis, 3)) == 3


def test_the_deciding_frame_of_a_deep_stack_is_among_its_frames() -> None:
    deep = tuple(f"libsystem.dylib | step{index}" for index in range(80))
    (stack,) = heavy([(0, "a", (*deep, *ANE))])
    assert stack.deciding >= 0
    assert stack.frames[stack.deciding][0] == "H11ANEProgramProcessRequestDirect"


def test_no_samples_no_stacks() -> None:
    assert heavy([]) == []
    assert heavy([(0, "a", None)]) == []


def test_a_recordings_stacks_hold_no_more_than_its_samples() -> None:
    analysis = sample_analysis("fallback-midway-ios27")
    stacks = heaviest_stacks(analysis, 10_000)
    weights = analysis.trace.weights.sum()
    assert 0 < sum(stack.weight for stack in stacks) <= weights
    assert [stack.weight for stack in stacks] == sorted((stack.weight for stack in stacks), reverse=True)
    assert {stack.engine for stack in stacks} <= {"ANE", "GPU", "CPU", "RUNTIME"}
