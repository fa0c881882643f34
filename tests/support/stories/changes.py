"""Changes of a story that must not change what is stated of its models, or must only weaken it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sample_generator.dice import Dice
from stories.claims import Claim
from stories.model import (
    CORE_ML_TABLE,
    ENGINES,
    MS,
    SAMPLE_TABLE,
    SIGNPOST_TABLE,
    TABLES,
    Call,
    Engine,
    Process,
    Row,
    Story,
)
from stories.play import Copy, Habits, Played, Rhythm, play
from stories.properties import SAMPLES_AT_EDGES, Case, Violation
from stories.truth import has_edges, possible_engines


@dataclass(frozen=True)
class Stated:
    """What is stated of a call, in the order of ``ENGINES``."""

    engines: frozenset[Engine]
    contested: frozenset[Engine]
    busy_ns: tuple[int, ...]
    samples: tuple[int, ...]
    all_samples: int
    source: str


_Key = tuple[str, int, int, int]
_STRANGER = Process(555, "Stranger")
_DAYS_NS = 2 * 24 * 3600 * 10**9
_TIMES = 10
_LONG_CALLS = Rhythm((25, 29), (3, 8))
"""Longer than any call of the grammar's, so that no two calls have the same edges."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Change:
    """A change of a story; ``kind`` is that of a violation, ``scale`` and ``shift_ns`` what times become.

    What ``may_weaken`` adds work at the same time, so that less may be certain after it, but nothing else.
    """

    kind: str
    apply: Callable[[Story], Story]
    may_weaken: bool = False
    scale: int = 1
    shift_ns: int = 0


def changes_of(story: Story) -> list[Change]:
    """Return the changes that a story allows."""
    is_exact = not any("skew" in word or "inside the next" in word for word in story.words)
    return [
        Change("changed-by-process", _with_process, may_weaken=True),
        Change("changed-by-model", _with_model, may_weaken=True),
        Change("changed-by-threads", _with_other_threads),
        Change("changed-by-order", _shuffled),
        Change("changed-by-clock", lambda changed: _moved(changed, 1, _DAYS_NS), shift_ns=_DAYS_NS),
        *(
            [Change("changed-by-scale", lambda changed: _moved(changed, _TIMES, 0), scale=_TIMES)]
            if is_exact
            else []
        ),
    ]


def stories_without_table(story: Story) -> list[Story]:
    """Return the story without each of its tables that shows calls or engines."""
    shown = [table for table in TABLES if story.has(table) and table != SIGNPOST_TABLE]
    left = [story.tables - {table} for table in shown]
    return [replace(story, tables=tables) for tables in left if tables & {CORE_ML_TABLE, SAMPLE_TABLE}]


def differences(base: Case, changed: Case, change: Change) -> Iterator[Violation]:
    """Yield what is stated otherwise of the base's models after a change."""
    before = _stated(base, base.story)
    after = _stated(changed, base.story, change.scale, change.shift_ns)
    for key in sorted(before.keys() | after.keys()):
        stated, stated_after = before.get(key), after.get(key)
        if stated != stated_after and not _may_become(stated, stated_after, change, changed, key):
            text = f"{key}: {stated} became {stated_after}"
            yield Violation(change.kind, text)
            return


def changed_engines(base: Case, without: Case) -> Iterator[Violation]:
    """Yield calls that are on an engine, without a table, on which they were not with it.

    A call of which one table shows another part than the other is on both engines.
    """
    missing = "".join(base.story.tables - without.story.tables)
    before, after = _engines_by_call(base), _engines_by_call(without)
    for number, engines in after.items():
        engines_before = before.get(number, frozenset())
        possible = possible_engines(without.story, [without.story.calls[number]])
        if engines_before and (added := engines - engines_before - possible):
            text = f"call {number}: {'+'.join(sorted(engines_before))}, without {missing} {'+'.join(sorted(added))}"
            yield Violation("engine-changed-without-table", text)


def _engines_by_call(case: Case) -> dict[int, frozenset[Engine]]:
    """Return the engines that are stated of each call that some claim is about alone."""
    engines: dict[int, frozenset[Engine]] = {}
    numbers = {id(call): number for number, call in enumerate(case.story.calls)}
    for claim, calls in zip(case.claims, case.meant, strict=True):
        if len(calls) == 1:
            number = numbers[id(calls[0])]
            engines[number] = engines.get(number, frozenset()) | claim.engines
    return engines


def _may_become(
    before: Stated | None, after: Stated | None, change: Change, changed: Case, key: _Key
) -> bool:
    """Return whether a change allows that something else is stated of a call.

    A call that stacks alone show may be that of a row whose thread is not known, and a row of an engine may be of
    no call once stacks show that the app worked elsewhere. The clocks of two tables
    differ by a millisecond on any scale, so what is contested at a call's edges depends on the scale.
    """
    if before is None or after is None:
        is_possible = before.source != CORE_ML_TABLE if before else after and after.source == "stacks"
        return change.may_weaken and bool(is_possible)
    truth = _Truth.of(changed.story, key)
    if change.scale != 1:
        return _weakens(before, after, truth) or _weakens(after, before, truth)
    return change.may_weaken and _weakens(before, after, truth)


@dataclass(frozen=True)
class _Truth:
    """For how long each engine worked for a call, in the order of ``ENGINES``, and its samples."""

    busy_ns: tuple[int, ...]
    samples: int

    @classmethod
    def of(cls, story: Story, key: _Key) -> _Truth:
        """Return the truth of the calls with a key's model and edges."""
        numbers = {
            number
            for number, call in enumerate(story.calls)
            if (call.model, call.start_ns, call.end_ns) == key[:3]
        }
        busy_ns = tuple(sum(story.calls[number].work_ns(engine) for number in numbers) for engine in ENGINES)
        return cls(busy_ns, sum(sample.call in numbers for sample in story.samples))


def _weakens(before: Stated, after: Stated, truth: _Truth) -> bool:
    """Return whether nothing is stated but what was stated before, or that it is contested.

    What was open may be decided if that is true: rows of another owner explain stacks that left doubt.
    """
    busy = zip(after.busy_ns, before.busy_ns, truth.busy_ns, ENGINES, strict=True)
    is_found = not before.all_samples and abs(after.all_samples - truth.samples) <= SAMPLES_AT_EDGES
    return (
        after.engines <= before.engines | before.contested
        and all(
            now <= then or (engine in before.contested and now <= most) for now, then, most, engine in busy
        )
        and (is_found or after.all_samples <= before.all_samples)
        and (is_found or all(now <= then for now, then in zip(after.samples, before.samples, strict=True)))
    )


def _stated(case: Case, base: Story, scale: int = 1, shift_ns: int = 0) -> dict[_Key, Stated]:
    """Return what is stated of calls of the base's target, or of its models, with the times of the base."""
    models = {call.model for call in base.calls}
    return {
        (
            claim.model,
            (claim.start_ns - shift_ns) // scale,
            (claim.end_ns - shift_ns) // scale,
            number,
        ): Stated(
            claim.engines,
            claim.contested,
            tuple(busy // scale for busy in claim.busy_ns),
            claim.samples,
            claim.all_samples,
            claim.source,
        )
        for number, claim in _numbered(case.claims)
        if _is_about(claim, case, base, models)
    }


def _numbered(claims: Sequence[Claim]) -> Iterator[tuple[int, Claim]]:
    """Yield claims, with the number of each among those of the same model and edges."""
    seen: dict[tuple[str, int, int], int] = {}
    order = sorted(claims, key=lambda claim: (claim.start_ns, claim.end_ns, claim.busy_ns, claim.samples))
    for claim in order:
        key = claim.model, claim.start_ns, claim.end_ns
        seen[key] = seen.get(key, -1) + 1
        yield seen[key], claim


def _is_about(claim: Claim, case: Case, base: Story, models: set[str]) -> bool:
    if claim.model:
        return claim.model in models and claim.pid in (-1, base.target.pid)
    own, added = case.story.calls[: len(base.calls)], case.story.calls[len(base.calls) :]
    is_own = claim.tid >= 0 or any(has_edges(claim, call) for call in own)
    return claim.pid == base.target.pid and is_own and claim.tid not in {call.tid for call in added}


# The changes ----------------------------------------------------------------------------------------------


def _added(story: Story, played: Played) -> Story:
    """Return the story with the calls of more threads."""
    first = len(story.calls)
    samples = [
        replace(sample, call=sample.call + first if sample.call >= 0 else -1) for sample in played.samples
    ]
    return replace(
        story,
        calls=(*story.calls, *played.calls),
        rows=tuple(
            sorted(
                (*story.rows, *(replace(row, call=row.call + first) for row in played.rows)),
                key=lambda row: row.start_ns,
            )
        ),
        runtime_rows=tuple(sorted((*story.runtime_rows, *played.runtime_rows), key=lambda row: row.start_ns)),
        samples=tuple(sorted((*story.samples, *samples), key=lambda sample: (sample.time_ns, sample.tid))),
        posts=tuple(sorted((*story.posts, *played.posts), key=lambda post: post.time_ns)),
        duration_ns=max(story.duration_ns, played.end_ns + MS),
    )


def _is_named(story: Story) -> bool:
    """Return whether labels and Core ML's rows name models, which separates them from another one."""
    return story.has(CORE_ML_TABLE) and not {"no labels", "rows of Core ML without names", "twins"} & {
        *story.words
    }


def _with_process(story: Story) -> Story:
    engine: Engine = "ANE" if _is_named(story) else "GPU"
    copy = Copy(_STRANGER, "Zebra", 1, lambda number: (engine,), is_reported=False)
    played = play(Dice(f"stranger {story.seed}"), 0xF00, [copy], 4, first_tick=6)
    is_everybody_sampled = len(story.sampled) > 1
    sampled = story.sampled | {_STRANGER.pid} if is_everybody_sampled else story.sampled
    return replace(_added(story, played), sampled=sampled)


def _with_model(story: Story) -> Story:
    """Return the story with a further model of the app's, beside the others where no doubt comes of that."""
    # Only stacks separate work on the GPU of two models of one process, and only on the callers' own threads.
    is_gpu_clear = story.is_sampled(story.target) or not story.rows_of("GPU")
    is_clear = _is_named(story) and is_gpu_clear and "workers" not in story.words
    engine: Engine = "ANE" if is_clear else "CPU"
    first_tick = 6 if is_clear else story.duration_ns // MS + 2
    copy = Copy(story.target, "Zebra", 1, lambda number: (engine,))
    habits = Habits(has_runtime_names="rows of Core ML without names" not in story.words)
    return _added(
        story,
        play(
            Dice(f"model {story.seed}"),
            0xF00,
            [copy],
            3,
            habits=habits,
            rhythm=_LONG_CALLS,
            first_tick=first_tick,
        ),
    )


def _with_other_threads(story: Story) -> Story:
    def renamed(tid: int) -> int:
        return 0x9000 - 3 * tid

    return replace(
        story,
        calls=tuple(replace(call, tid=renamed(call.tid)) for call in story.calls),
        samples=tuple(replace(sample, tid=renamed(sample.tid)) for sample in story.samples),
        posts=tuple(replace(post, tid=renamed(post.tid)) for post in story.posts),
    )


def _shuffled(story: Story) -> Story:
    dice = Dice(f"order {story.seed}")

    def mixed(rows: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(dice.shuffled(rows))

    return replace(
        story,
        rows=mixed(story.rows),
        runtime_rows=mixed(story.runtime_rows),
        samples=mixed(story.samples),
        posts=mixed(story.posts),
    )


def _moved(story: Story, scale: int, shift_ns: int) -> Story:
    """Return the story with every time multiplied and then moved."""

    def moved(time_ns: int) -> int:
        return time_ns * scale + shift_ns

    def spans(rows: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(replace(row, start_ns=moved(row.start_ns), end_ns=moved(row.end_ns)) for row in rows)  # type: ignore[type-var,attr-defined]

    def moments(rows: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(replace(row, time_ns=moved(row.time_ns)) for row in rows)  # type: ignore[type-var,attr-defined]

    calls: tuple[Call, ...] = spans(story.calls)
    rows: tuple[Row, ...] = spans(story.rows)
    return replace(
        story,
        calls=tuple(replace(call, parts=spans(call.parts)) for call in calls),
        rows=rows,
        runtime_rows=spans(story.runtime_rows),
        samples=moments(story.samples),
        posts=moments(story.posts),
        duration_ns=moved(story.duration_ns),
        period_ns=story.period_ns * scale,
    )
