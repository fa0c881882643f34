"""Random recordings that hold their truth: nothing that an analysis states is refuted by it.

``make stories`` tries thousands of them, and writes one out by its number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from stories.changes import changed_engines, changes_of, differences, stories_without_table
from stories.claims import claims_of
from stories.grammar import story_of
from stories.model import ANE_TABLE, CORE_ML_TABLE, GPU_TABLE, MS, SAMPLE_TABLE, Call, Part, Row, Story
from stories.properties import Case, Violation, violations
from stories.tables import write_story
from stories.trial import case_of, trial

from tracekit import analyze
from tracekit.load import open_trace

pytestmark = pytest.mark.integration

SEEDS, BATCH = 200, 25
SIMPLE = range(12)
FOUND = (307, 558, 958, 1380, 2424, 2806, 3448, 4262, 4435, 5653, 6522, 6558, 7634, 7806, 8556)
"""Each of these refuted its analysis by a cause of its own."""


@cache
def violated(first: int) -> list[frozenset[Violation]]:
    return [frozenset(trial(seed)) for seed in range(first, first + BATCH)]


@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_no_story_refutes_its_analysis(first: int) -> None:
    refuted = {
        f"seed {first + number}, {violation.kind}: {violation.text}"
        for number, of_story in enumerate(violated(first))
        for violation in of_story
    }
    assert not refuted


@pytest.mark.parametrize("seed", SIMPLE)
def test_one_model_in_one_process_is_exact(seed: int) -> None:
    case = case_of(story_of(seed, is_simple=True))
    assert violations(case) == []
    calls = [(call.start_ns, call.end_ns, call.engines) for call in case.story.calls]
    assert [(claim.start_ns, claim.end_ns, claim.engines) for claim in case.claims] == calls


@pytest.mark.parametrize("seed", [2, 3, 7, 22, 26])
def test_exports_and_tables_in_memory_are_one_recording(seed: int, tmp_path: Path) -> None:
    story = story_of(seed)
    write_story(story, tmp_path)
    exported = analyze(open_trace(tmp_path))
    assert claims_of(exported) == case_of(story).claims
    assert exported.headline == case_of(story).analysis.headline


@pytest.mark.parametrize("seed", FOUND)
def test_a_story_that_was_misread_is_not_again(seed: int) -> None:
    assert [f"{violation.kind}: {violation.text}" for violation in trial(seed)] == []


def test_a_number_is_always_the_same_story() -> None:
    assert [story_of(seed) for seed in range(30)] == [story_of(seed) for seed in range(30)]
    assert len({story_of(seed).line() for seed in range(100)}) > 90


def test_stories_have_every_part_of_the_grammar() -> None:
    lines = "\n".join(story_of(seed).line() for seed in range(150))
    parts = (
        *("simple", "in turn", "at once", "copies in turn", "copies at once", "twins", "unreported"),
        *("same name", "another model", "daemon", "GPU work", "all processes sampled"),
        *("no labels", "hashed labels", "labels of operations", "rows of Core ML without names", "workers"),
        *("clock skew", "inside the next call", "back to back", "first call cut", "last call cut"),
        *("leaves", "alternates", "no coreml-os-signpost", "no ane-hw-intervals", "no metal-gpu-intervals"),
        *("no time-profile", "no os-signpost"),
    )
    assert [part for part in parts if part not in lines] == []


# The properties can fail: an analysis against the truth of another story --------------------------------------


def simple(*engines: str) -> Story:
    """A story of five or more calls, all of which have these engines."""
    stories = (story_of(seed, is_simple=True) for seed in range(200))
    return next(story for story in stories if {call.engines for call in story.calls} == {frozenset(engines)})


def with_calls(story: Story, change: Callable[[int, Call], Call]) -> Story:
    return replace(story, calls=tuple(change(number, call) for number, call in enumerate(story.calls)))


def on_cpu(_number: int, call: Call) -> Call:
    return replace(call, parts=(Part("CPU", call.start_ns + MS, call.end_ns - MS),))


def test_a_call_on_the_wrong_engine() -> None:
    story = simple("ANE")
    case = Case(with_calls(story, on_cpu), case_of(story).analysis)
    kinds = {violation.kind for violation in violations(case)}
    assert kinds >= {
        "engine-not-in-truth",
        "answer-not-in-truth",
        "headline-not-in-truth",
        "check-passed-against-truth",
    }


def test_one_call_on_the_wrong_engine_is_enough() -> None:
    story = simple("ANE")
    changed = with_calls(story, lambda number, call: on_cpu(number, call) if number == 1 else call)
    kinds = {violation.kind for violation in violations(Case(changed, case_of(story).analysis))}
    assert kinds >= {"engine-not-in-truth", "answer-not-in-truth", "check-passed-against-truth"}


def test_a_change_that_never_happened() -> None:
    stories = (story_of(seed, is_simple=True) for seed in range(200))
    story = next(story for story in stories if "alternates ANE and CPU" in story.line())
    parts = story.calls[0].parts
    changed = with_calls(story, lambda number, call: replace(call, parts=parts))
    kinds = {violation.kind for violation in violations(Case(changed, case_of(story).analysis))}
    assert kinds >= {"change-not-in-truth", "check-failed-against-truth"}


def test_an_engine_that_was_missed() -> None:
    story = simple("ANE")
    analysis = case_of(replace(story, tables=frozenset({CORE_ML_TABLE}))).analysis
    kinds = {violation.kind for violation in violations(Case(story, analysis))}
    assert kinds >= {"engine-missed", "busy-differs", "samples-missed"}


def test_samples_of_another_call() -> None:
    story = simple("CPU")
    first = [sample for sample in story.samples if sample.call == 0]
    others = [sample for sample in story.samples if sample not in first[:3]]
    analysis = case_of(story).analysis
    kinds = {
        violation.kind for violation in violations(Case(replace(story, samples=tuple(others)), analysis))
    }
    assert "samples-differ" in kinds


def test_a_nanosecond_of_busy_time() -> None:
    story = simple("ANE")
    shorter = with_calls(
        story,
        lambda number, call: replace(call, parts=(replace(call.parts[0], end_ns=call.parts[0].end_ns - 1),)),
    )
    violated = violations(Case(shorter, case_of(story).analysis))
    assert {violation.kind for violation in violated} == {"busy-differs"}


def test_rows_that_are_counted_twice() -> None:
    story = simple("ANE")
    fewer = replace(story, rows=story.rows[1:])
    kinds = {violation.kind for violation in violations(Case(fewer, case_of(story).analysis))}
    assert "engine-time-counted-twice" in kinds


def test_a_call_too_many_and_a_call_too_few() -> None:
    story = simple("ANE")
    moved = with_calls(story, lambda number, call: replace(call, model="Other"))
    kinds = {violation.kind for violation in violations(Case(moved, case_of(story).analysis))}
    assert "call-not-in-truth" in kinds
    fewer = replace(story, runtime_rows=story.runtime_rows[1:])
    kinds = {violation.kind for violation in violations(Case(story, case_of(fewer).analysis))}
    assert "call-missed" in kinds


def test_a_call_of_another_thread() -> None:
    story = simple("ANE")
    moved = with_calls(story, lambda number, call: replace(call, tid=call.tid + 1))
    kinds = {violation.kind for violation in violations(Case(moved, case_of(story).analysis))}
    assert "wrong-thread" in kinds


def test_work_that_may_be_of_two_calls() -> None:
    story = next(story for story in map(story_of, range(200)) if "twins" in story.words)
    contested = [row for row in story.rows if row.is_contested]
    assert contested
    assert all(is_inside_two_calls(story, row) for row in contested)


def is_inside_two_calls(story: Story, row: Row) -> bool:
    return sum(call.start_ns <= row.start_ns and row.end_ns <= call.end_ns for call in story.calls) == 2


def test_host_time_without_a_table() -> None:
    story = simple("GPU")
    without = replace(story, tables=story.tables - {GPU_TABLE})
    kinds = {violation.kind for violation in violations(Case(without, case_of(story).analysis))}
    assert "host-time-as-engine-time" in kinds


@pytest.mark.parametrize("number", range(6))
def test_a_change_of_other_numbers(number: int) -> None:
    story, longer = simple("ANE"), simple("CPU")
    change = changes_of(story)[number]
    violated = list(differences(case_of(story), case_of(change.apply(story)), change))
    assert violated == []
    kinds = [violation.kind for violation in differences(case_of(story), case_of(longer), change)]
    assert kinds == [change.kind]


def test_another_engine_without_a_table() -> None:
    story = simple("ANE")
    for without in stories_without_table(story):
        assert list(changed_engines(case_of(story), case_of(without))) == []
    rows = tuple(replace(row, engine="GPU", label="MPSGraph", pid=story.target.pid) for row in story.rows)
    without = replace(story, rows=rows, tables=frozenset({CORE_ML_TABLE, GPU_TABLE}))
    kinds = {violation.kind for violation in changed_engines(case_of(story), case_of(without))}
    assert kinds == {"engine-changed-without-table"}


def test_tables_that_are_missing_leave_calls_to_see() -> None:
    for seed in range(40):
        for without in stories_without_table(story_of(seed)):
            assert without.tables & {CORE_ML_TABLE, SAMPLE_TABLE}
            assert without.tables < {CORE_ML_TABLE, ANE_TABLE, GPU_TABLE, SAMPLE_TABLE, "os-signpost"}
