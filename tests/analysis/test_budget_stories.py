"""Budgets of random recordings that hold their truth; ``stories/budgets.py`` has the properties of each."""

from __future__ import annotations

import pytest
from budget_support import pieces_of, sums_of
from stories.budgets import budgets_are_true, budgets_are_whole, rows_name_what_differs
from stories.changes import Change, changes_of
from stories.grammar import story_of
from stories.model import Story
from stories.properties import Case, violations
from stories.trial import case_of

from tracekit.analysis.budget.parts import BUDGET_PARTS, BudgetPart
from tracekit.model.vocabulary import Basis

pytestmark = pytest.mark.integration

DISPLACED = {*BUDGET_PARTS[BUDGET_PARTS.index(BudgetPart.OTHER_PROCESS) :]}
"""Another process' work takes the moments of these parts, and of no others."""


def change_of(kind: str, seed: int) -> Change:
    return next(change for change in changes_of(story_of(seed, is_simple=True)) if change.kind == kind)


def lasting_parts(story: Story) -> list[dict[BudgetPart, tuple[Basis | None, int, int]]]:
    case = case_of(story)
    return [
        {part: amounts for part, amounts in of_call.items() if part not in DISPLACED}
        for claim, of_call in zip(case.claims, sums_of(case.analysis), strict=True)
        if claim.pid == story.target.pid
    ]


@pytest.mark.parametrize("seed", range(20))
def test_another_process_takes_only_time_in_which_nothing_works_for_the_call(seed: int) -> None:
    story = story_of(seed, is_simple=True)
    changed = change_of("changed-by-process", seed).apply(story)
    pairs = zip(lasting_parts(story), lasting_parts(changed), strict=True)
    assert all(before == after for before, after in pairs if BudgetPart.CONTESTED not in after)


@pytest.mark.parametrize("seed", range(10))
def test_the_clock_of_a_recording_changes_no_budget(seed: int) -> None:
    story, change = story_of(seed), change_of("changed-by-clock", 0)
    before, after = pieces_of(case_of(story).analysis), pieces_of(case_of(change.apply(story)).analysis)
    shifted = [
        [
            piece._replace(start_ns=piece.start_ns + change.shift_ns, end_ns=piece.end_ns + change.shift_ns)
            for piece in pieces
        ]
        for pieces in before
    ]
    assert shifted == after


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_the_part_that_a_row_names_is_the_one_that_differs_in_truth(first: int) -> None:
    named = 0
    for seed in range(first, first + 20):
        case = case_of(story_of(seed))
        named += int(case.analysis.differences.is_notable.sum())
        assert violations(case, [rows_name_what_differs]) == []
    assert named > 20


def test_the_budgets_of_another_story_are_refuted() -> None:
    busy, other = (story_of(seed, is_simple=True) for seed in (0, 1))
    kinds = {
        violation.kind for violation in violations(Case(busy, case_of(other).analysis), [budgets_are_true])
    }
    assert kinds
    assert violations(case_of(busy), [budgets_are_whole, budgets_are_true]) == []
