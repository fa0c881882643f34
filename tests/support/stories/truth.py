"""Statements that a recording can refute: the calls that a claim is about, and the engines that it may name."""

from __future__ import annotations

from collections.abc import Sequence

from stories.claims import Claim
from stories.model import MS, Call, Engine, Part, Row, Story

_TOUCHES = 0.1
"""A row that shares less than this part of itself and of a call does not put the call on its engine."""


def overlap_ns(first: Call | Claim | Row | Part, second: Call | Claim | Row | Part) -> int:
    """Return how long two intervals share."""
    return max(0, min(first.end_ns, second.end_ns) - max(first.start_ns, second.start_ns))


def length_ns(interval: Call | Claim | Row | Part) -> int:
    """Return the length of an interval."""
    return interval.end_ns - interval.start_ns


def calls_meant(story: Story, claim: Claim) -> list[Call]:
    """Return the calls that a claim may be about.

    A row of Core ML has its call's very edges. Of others, these are the calls of the stated process, thread
    and model in which the claim begins, or that share half a sampling period or more with it.
    """
    named = [
        call
        for call in story.calls
        if claim.model in ("", call.model) and claim.pid in (-1, call.process.pid)
    ]
    listed = [call for call in named if story.is_listed(call) and has_edges(claim, call)]
    if listed:
        return listed
    return [
        call
        for call in named
        if claim.tid in (-1, call.tid)
        and (call.start_ns <= claim.start_ns < call.end_ns or 2 * overlap_ns(claim, call) >= story.period_ns)
    ]


def has_edges(claim: Claim, call: Call) -> bool:
    """Return whether a claim has the very edges of a call."""
    return (claim.start_ns, claim.end_ns) == (call.start_ns, call.end_ns)


def possible_engines(story: Story, calls: Sequence[Call]) -> frozenset[Engine]:
    """Return the engines that served calls, and those that nothing in the recording excludes."""
    excused = {engine for engine in ("ANE", "GPU") for call in calls if is_excused(story, call, engine)}
    return frozenset(excused).union(*(call.engines for call in calls))


def is_excused(story: Story, call: Call, engine: Engine) -> bool:
    """Return whether some row of that engine only looks like the call's.

    It does if it lies in the call and nothing separates them: no stacks of the call's process, which would
    show the submission; no other model's label; no other process in the row; no further call around it, which
    would make it contested; no row of that label outside of all calls, which shows a second user.
    """
    if story.is_sampled(call.process):
        return False
    return any(
        story.calls[row.call] is not call
        and not touches_only(row, call)
        and row.pid in (-1, call.process.pid)
        and (not row.label or story.calls[row.call].model == call.model)
        and not (story.calls[row.call].process == call.process and story.is_visible(story.calls[row.call]))
        and not (row.label and has_second_user(story, row))
        for row in story.rows_of(engine)
    )


def touches_only(row: Row, call: Call) -> bool:
    """Return whether a row shares next to nothing with a call."""
    shared = overlap_ns(row, call)
    return shared < _TOUCHES * length_ns(row) and shared < _TOUCHES * length_ns(call)


def has_second_user(story: Story, row: Row) -> bool:
    """Return whether a row with this one's label lies outside of all calls of the target, by a millisecond."""
    return any(
        all(
            candidate.end_ns + MS <= call.start_ns or call.end_ns + MS <= candidate.start_ns
            for call in story.calls
            if call.process == story.target
        )
        for candidate in story.rows_of(row.engine)
        if candidate.label == row.label
    )


def is_clear(story: Story, call: Call) -> bool:
    """Return whether the recording shows everything about a call's edges: Core ML's own row, and its alone."""
    is_same_span = [
        beside
        for beside in story.calls
        if beside is not call
        and beside.process == call.process
        and abs(beside.start_ns - call.start_ns) < 2 * story.period_ns
        and abs(beside.end_ns - call.end_ns) < 2 * story.period_ns
    ]
    has_name = any(
        row.name and (row.start_ns, row.end_ns) == (call.start_ns, call.end_ns) for row in story.runtime_rows
    )
    return story.is_listed(call) and has_name and not is_same_span


def is_owner_clear(story: Story, call: Call, engine: Engine) -> bool:
    """Return whether nothing else in the recording could have caused the call's rows of an engine.

    Labels of the Neural Engine separate models, but neither processes nor copies; without them, and for rows of
    the GPU, no other call may be under way meanwhile.
    """
    if engine == "CPU":
        return True
    number = story.calls.index(call)
    rows = [row for row in story.rows_of(engine) if row.call == number]
    if any(beside.model == call.model and beside.process != call.process for beside in story.calls):
        return False
    return bool(rows) and not any(
        overlap_ns(row, beside) and (beside.model == call.model or engine == "GPU" or not row.label)
        for row in rows
        for beside in story.calls
        if beside is not call and row.pid in (-1, beside.process.pid)
    )
