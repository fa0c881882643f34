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

    It does if it lies in the call and nothing separates them: no stacks of the call, which would show the
    submission; no other model's label, where names can be compared; no other process in the row; no
    further call around it, which would make it contested; no row of that label outside of all calls, which
    shows a second user.
    """
    if has_stacks(story, call):
        return False
    return any(
        story.calls[row.call] is not call
        and not touches_only(row, call)
        and row.pid in (-1, call.process.pid)
        and (not row.label or story.calls[row.call].model == call.model or not is_name_known(story, call))
        and not (story.calls[row.call].process == call.process and story.is_visible(story.calls[row.call]))
        and not (row.label and has_second_user(story, row))
        for row in story.rows_of(engine)
    )


def is_read_as(story: Story, model: str, name: str) -> bool:
    """Return whether labels of a model are read as another's: as parts of the one that a table lists."""
    is_listed = any(story.is_named(call) for call in story.calls_of(model))
    return model == name or (model.startswith(f"{name}_") and not is_listed)


def is_name_known(story: Story, call: Call) -> bool:
    """Return whether Core ML names a call's model, and some label names a model as Core ML does."""
    listed = {beside.model for beside in story.calls if story.is_named(beside)}
    return story.is_named(call) and any(
        row.label and story.calls[row.call].model in listed for row in story.rows_of("ANE")
    )


def has_stacks(story: Story, call: Call) -> bool:
    """Return whether stacks show the work for a call: those of a worker may be of any call under way."""
    has_workers = any(sample.is_worker and sample.process == call.process for sample in story.samples)
    is_alone = not any(
        overlap_ns(call, beside)
        for beside in story.calls
        if beside is not call and beside.process == call.process
    )
    return story.is_sampled(call.process) and (is_alone or not has_workers)


def touches_only(row: Row, call: Call) -> bool:
    """Return whether a row shares next to nothing with a call."""
    shared = overlap_ns(row, call)
    return shared < _TOUCHES * length_ns(row) and shared < _TOUCHES * length_ns(call)


def has_second_user(story: Story, row: Row) -> bool:
    """Return whether rows with this one's label lie outside of all calls of the target, by a millisecond.

    The recording may cut a call at each end, so one such row before the first call, or behind the last, shows
    nothing.
    """
    calls = [call for call in story.calls if call.process == story.target]
    outside = [
        candidate
        for candidate in story.rows_of(row.engine)
        if candidate.label == row.label
        and all(
            candidate.end_ns + MS <= call.start_ns or call.end_ns + MS <= candidate.start_ns for call in calls
        )
    ]
    before = sum(all(candidate.end_ns <= call.start_ns for call in calls) for candidate in outside)
    behind = sum(all(candidate.start_ns >= call.end_ns for call in calls) for candidate in outside)
    return before > 1 or behind > 1 or len(outside) > before + behind


def is_thread_clear(story: Story, call: Call) -> bool:
    """Return whether no thread but the call's may have made it.

    Core ML's rows have no thread. Of calls of several threads at once, or one after another, stacks show whose
    each is if a table lists all calls of the process, which are of two threads and never begin or end together.
    """
    calls = [beside for beside in story.calls if beside.process == call.process]
    others = [beside for beside in calls if beside.tid != call.tid]
    near_ns = 2 * story.period_ns
    if all(
        beside.end_ns + near_ns <= call.start_ns or call.end_ns + near_ns <= beside.start_ns
        for beside in others
    ):
        return True
    if len({beside.tid for beside in others}) > 1 or not all(map(story.is_listed, calls)):
        return False
    return all(
        abs(edge_ns - other_ns) >= near_ns
        for beside in others
        for same in calls
        if same.tid != beside.tid
        for edge_ns in (same.start_ns, same.end_ns)
        for other_ns in (beside.start_ns, beside.end_ns)
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
    return story.is_listed(call) and story.is_named(call) and not is_same_span


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
        overlap_ns(row, beside)
        and (engine == "GPU" or not row.label or is_read_as(story, beside.model, call.model))
        for row in rows
        for beside in story.calls
        if beside is not call and row.pid in (-1, beside.process.pid)
    )
