"""A trial of one story: its analysis against its truth, and one change of it against the analysis before."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from stories.budgets import ABOUT_BUDGETS
from stories.changes import changed_engines, changes_of, differences, stories_without_table
from stories.grammar import story_of
from stories.model import Story
from stories.properties import ABOUT_CALLS, PROPERTIES, Case, Violation, violations
from stories.tables import trace_in_memory
from tracekit import analyze


def case_of(story: Story) -> Case:
    """Return a story with its analysis."""
    return Case(story, analyze(trace_in_memory(story)))


@dataclass(frozen=True)
class Trial:
    """The violations of the analysis of a story, and the length of the story."""

    seed: int
    line: str
    calls: int
    violations: tuple[Violation, ...]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its violations."""
        return frozenset(violation.kind for violation in self.violations)


def tried(seed: int, *, is_thorough: bool = False) -> Trial:
    """Return the trial of a story; an error of the analysis is a violation."""
    story = story_of(seed)
    try:
        violated = tuple(trial(seed, is_thorough=is_thorough))
    except Exception:  # noqa: BLE001 - whatever it is, the story that causes it is what helps
        violated = (Violation("analysis-failed", traceback.format_exc().strip()),)
    return Trial(seed, story.line(), len(story.calls), violated)


def trial(seed: int, *, is_thorough: bool = False) -> list[Violation]:
    """Return what is wrong with the analysis of a story, and of one change of it.

    The number chooses the change, or none in half of the stories, to take less time; with ``is_thorough``, every
    change is tried. Of a story without one of its
    tables, what is stated of the calls is compared with the truth again.
    """
    story = story_of(seed)
    base = case_of(story)
    violated = violations(base, (*PROPERTIES, *ABOUT_BUDGETS))
    changes, without = changes_of(story), stories_without_table(story)
    count = len(changes) + len(without)
    turns = [turn for turn in range(count) if is_thorough or turn == seed % (2 * count)]
    for turn in turns:
        if turn < len(changes):
            changed = case_of(changes[turn].apply(story))
            violated += differences(base, changed, changes[turn])
        else:
            changed = case_of(without[turn - len(changes)])
            missing = ", ".join(story.tables - changed.story.tables)
            violated += changed_engines(base, changed)
            violated += [
                replace(violation, text=f"without {missing}: {violation.text}")
                for violation in violations(changed, (*ABOUT_CALLS, *ABOUT_BUDGETS))
            ]
    return violated
