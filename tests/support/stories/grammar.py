"""The grammar of stories: from a number to a recording.

::

    story    = shape, tables that are missing, processes beside it, habits, edges
    shape    = simple | in turn | at once | copies in turn | copies at once | twins | unreported
    plan     = always the same engines | leaves them | alternates
    engines  = ANE | GPU | CPU | two or three of them
    beside   = nobody | the same model's name | another model | a daemon on stacks | GPU work
    habits   = labels, names of Core ML, workers, clock skew, late rows
    edges    = whole calls | the first, the last call is cut
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sample_generator.dice import Dice
from stories.model import (
    ANE_TABLE,
    CORE_ML_TABLE,
    GPU_TABLE,
    MS,
    SAMPLE_TABLE,
    SIGNPOST_TABLE,
    TABLES,
    Engine,
    Process,
    Story,
)
from stories.play import LABELS, Copy, Habits, Plan, Played, Rhythm, play, with_late_rows

TARGET = Process(77, "App")
NEIGHBOUR = Process(99, "Camera")
DAEMON = Process(120, "mediaanalysisd")
_NAMES = ("Enc", "Enc_v2", "Dec", "Seg", "Pose", "Net-3D")
_BEFORE_NS, _AFTER_NS = 3 * MS, 20 * MS
_MAIN, _NEIGHBOURS, _DAEMONS = 0x1F, 0x900, 0xC00
_SHAPES = (
    *("simple", "in turn", "in turn", "at once", "at once", "at once"),
    *("copies in turn", "copies at once", "twins", "unreported"),
)
_BESIDE = ("nobody", "nobody", "same name", "same name", "another model", "daemon", "GPU work")
_ENGINES: tuple[tuple[Engine, ...], ...] = (
    ("ANE",),
    ("ANE",),
    ("CPU",),
    ("CPU",),
    ("GPU",),
    ("ANE", "CPU"),
    ("ANE", "GPU"),
    ("ANE", "CPU", "ANE"),
)


def story_of(seed: int, *, is_simple: bool = False) -> Story:
    """Return the story of a number, always the same.

    With ``is_simple`` it is one of one model in one process, with every table and whole calls.
    """
    return _Writer(seed, is_simple).story()


class _Writer:
    def __init__(self, seed: int, is_simple: bool) -> None:
        self._seed = seed
        self._is_simple = is_simple
        self._dice = Dice(f"story {seed}")
        self._words: list[str] = []
        self._played = Played()

    def story(self) -> Story:
        """Return the story."""
        dice = self._dice
        shape = "simple" if self._is_simple else dice.choice(_SHAPES)
        self._words.append(shape)
        if shape == "twins":
            return self._twins()
        habits = self._habits()
        rhythm = self._rhythm(habits)
        self._add(self._shape(shape, habits, rhythm), habits)
        is_everybody_sampled = self._beside(habits)
        story = self._finish(self._tables())
        sampled = {TARGET.pid, NEIGHBOUR.pid, DAEMON.pid} if is_everybody_sampled else {TARGET.pid}
        story = replace(story, sampled=frozenset(sampled))
        may_be_cut = not self._is_simple and "same name" not in self._words
        return self._cut(story) if may_be_cut and dice.chance(0.25) else story

    # Habits -------------------------------------------------------------------------------------------

    def _habits(self) -> Habits:
        dice = self._dice
        if self._is_simple:
            return Habits(labels=dice.choice(LABELS[:2]))
        habits = Habits(
            labels=dice.choice((*LABELS[:2], *LABELS)),
            has_runtime_names=not dice.chance(0.08),
            has_workers=dice.chance(0.2),
            skew_ns=dice.choice((0, 0, -200_000, 50_000, 150_000, 300_000)),
            late_ns=dice.choice((0, 0, 0, 100_000, 250_000)),
        )
        self._words.append(habits.labels)
        self._note(not habits.has_runtime_names, "rows of Core ML without names")
        self._note(habits.has_workers, "workers")
        self._note(bool(habits.skew_ns), f"clock skew {habits.skew_ns / MS} ms")
        self._note(bool(habits.late_ns), f"rows end {habits.late_ns / MS} ms inside the next call")
        return habits

    def _rhythm(self, habits: Habits) -> Rhythm:
        if habits.late_ns or (not self._is_simple and self._dice.chance(0.2)):
            self._words.append("back to back")
            return Rhythm(pause=(0, 0))
        return Rhythm()

    def _note(self, is_so: bool, word: str) -> None:
        if is_so:
            self._words.append(word)

    def _add(self, threads: Iterable[Played], habits: Habits) -> None:
        for thread in threads:
            self._played.add(with_late_rows(thread, habits.late_ns) if habits.late_ns else thread)

    # Shapes -------------------------------------------------------------------------------------------

    def _shape(self, shape: str, habits: Habits, rhythm: Rhythm) -> list[Played]:
        """Return the threads of the target's own calls."""
        dice = self._dice
        names = dice.shuffled(_NAMES)
        if shape == "simple":
            return [self._thread(0, [self._copy(names[0])], 5 + dice.below(6), habits, rhythm)]
        if shape == "in turn":
            copies = [self._copy(name) for name in names[: 2 + dice.below(2)]]
            return [self._thread(0, copies, 6 + dice.below(7), habits, rhythm)]
        if shape == "at once":
            count = 2 + dice.below(2)
            return [
                self._thread(thread, [self._copy(names[thread])], 3 + dice.below(3), habits, rhythm)
                for thread in range(count)
            ]
        if shape == "unreported":  # another API of the same app uses a network of its own
            quiet = replace(self._copy(names[1]), is_reported=False)
            listed = self._thread(0, [self._copy(names[0])], 4 + dice.below(3), habits, rhythm)
            return [listed, self._thread(1, [quiet], 3 + dice.below(3), habits, rhythm)]
        first, second = self._copy(names[0], 1), self._copy(names[0], 2)
        if shape == "copies in turn":
            return [self._thread(0, [first, second], 6 + dice.below(7), habits, rhythm)]
        return [
            self._thread(thread, [copy], 3 + dice.below(4), habits, rhythm)
            for thread, copy in enumerate((first, second))
        ]

    def _thread(
        self, number: int, copies: Sequence[Copy], calls: int, habits: Habits, rhythm: Rhythm
    ) -> Played:
        first_tick = 4 + self._dice.below(12) * bool(number)
        return play(
            self._dice, _MAIN + number, copies, calls, habits=habits, rhythm=rhythm, first_tick=first_tick
        )

    def _copy(self, name: str, number: int = 1) -> Copy:
        plan, word = self._plan()
        self._words.append(f"{name}-{number} {word}")
        return Copy(TARGET, name, number, plan)

    def _plan(self) -> tuple[Plan, str]:
        dice = self._dice
        engines = dice.choice(_ENGINES)
        shown = "+".join(engines)
        elsewhere: tuple[Engine, ...] = ("CPU",) if engines != ("CPU",) else ("ANE",)
        kind = dice.below(6)
        if kind == 0:
            turn = 2 + dice.below(3)
            return (
                lambda number: engines if number < turn else elsewhere,
                f"leaves {shown} for {elsewhere[0]}",
            )
        if kind == 1:
            return (
                lambda number: elsewhere if number % 2 else engines,
                f"alternates {shown} and {elsewhere[0]}",
            )
        return lambda number: engines, f"on {shown}"

    def _twins(self) -> Story:
        """Return calls of two threads with the same edges: nothing shows of which of them a row is."""
        dice = self._dice
        is_same_model = dice.chance(0.5)
        names = dice.shuffled(_NAMES)
        beside: Engine = dice.choice(("ANE", "GPU"))
        copies = (
            Copy(TARGET, names[0], 1, lambda number: ("ANE",)),
            Copy(TARGET, names[0] if is_same_model else names[1], 2, lambda number: (beside,)),
        )
        self._words += ["two copies" if is_same_model else "two models", f"ANE and {beside}"]
        habits = Habits(labels=dice.choice(LABELS) if is_same_model else LABELS[-1])
        rhythm = Rhythm((14, 14), (4, 4))
        count = 3 + dice.below(3)
        for thread, copy in enumerate(copies):
            self._played.add(
                _in_half(play(dice, _MAIN + thread, [copy], count, habits=habits, rhythm=rhythm), thread)
            )
        story = self._finish(frozenset((CORE_ML_TABLE, ANE_TABLE)))
        rows = tuple(replace(row, is_contested=row.engine == "ANE") for row in story.rows)
        return replace(story, rows=rows, sampled=frozenset([TARGET.pid]))

    # Processes beside it ------------------------------------------------------------------------------

    def _beside(self, habits: Habits) -> bool:
        """Add other processes; return whether the profiler sampled them, too."""
        dice = self._dice
        kind = "nobody" if self._is_simple else dice.choice(_BESIDE)
        is_everybody_sampled = kind == "daemon" or dice.chance(0.4)
        self._note(kind != "nobody", kind)
        self._note(kind != "nobody" and is_everybody_sampled, "all processes sampled")
        quiet = replace(habits, late_ns=0)
        if kind == "same name":
            model = self._played.calls[0].model
            copy = Copy(NEIGHBOUR, model, 1, lambda number: ("ANE",), is_reported=False)
            self._played.add(play(dice, _NEIGHBOURS, [copy], 3 + dice.below(3), habits=quiet, first_tick=9))
            # Rows of this name outside of every call of the target show that there is a second user.
            tick = self._played.end_ns // MS + 8
            self._played.add(play(dice, _NEIGHBOURS, [copy], 1, habits=quiet, first_tick=tick))
        elif kind != "nobody":
            engine: Engine = {"another model": "ANE", "daemon": "CPU", "GPU work": "GPU"}[kind]
            process = DAEMON if kind == "daemon" else NEIGHBOUR
            copy = Copy(process, "PersonSegmenter", 1, lambda number: (engine,), is_reported=False)
            tid = _DAEMONS if kind == "daemon" else _NEIGHBOURS
            self._played.add(play(dice, tid, [copy], 3 + dice.below(3), habits=quiet, first_tick=7))
        return is_everybody_sampled

    # Tables and edges ---------------------------------------------------------------------------------

    def _tables(self) -> frozenset[str]:
        dice = self._dice
        if self._is_simple:
            return frozenset(TABLES) - {SIGNPOST_TABLE}
        chances = {
            CORE_ML_TABLE: 0.2,
            ANE_TABLE: 0.12,
            GPU_TABLE: 0.2,
            SAMPLE_TABLE: 0.2,
            SIGNPOST_TABLE: 0.6,
        }
        missing = {table for table in TABLES if dice.chance(chances[table])}
        if {CORE_ML_TABLE, SAMPLE_TABLE} <= missing:
            missing.remove(dice.choice((CORE_ML_TABLE, SAMPLE_TABLE)))
        self._words += [f"no {table}" for table in TABLES if table in missing]
        return frozenset(TABLES) - missing

    def _finish(self, tables: frozenset[str]) -> Story:
        played = self._played
        return Story(
            self._seed,
            tuple(self._words),
            TARGET,
            tuple(played.calls),
            tuple(sorted(played.rows, key=lambda row: (row.start_ns, row.end_ns, row.label))),
            tuple(sorted(played.runtime_rows, key=lambda row: (row.start_ns, row.end_ns, row.name))),
            tuple(sorted(played.samples, key=lambda sample: (sample.time_ns, sample.tid))),
            tuple(sorted(played.posts, key=lambda post: (post.time_ns, post.tid))),
            tables,
            duration_ns=played.end_ns + _AFTER_NS,
        )

    def _cut(self, story: Story) -> Story:
        """Return the story of a recording that begins inside the first call, or ends inside the last."""
        is_at_start = self._dice.chance(0.5)
        self._words.append("first call cut" if is_at_start else "last call cut")
        if is_at_start:
            first = min(story.calls, key=lambda call: call.start_ns)
            return replace(
                cropped(story, first.start_ns + _BEFORE_NS, story.duration_ns), words=tuple(self._words)
            )
        last = max(story.calls, key=lambda call: call.start_ns)
        return replace(cropped(story, 0, last.start_ns + _BEFORE_NS + 2 * MS), words=tuple(self._words))


def _in_half(played: Played, half: int) -> Played:
    """Return calls whose engine's work is in the first (0) or the second half (1) of what it was."""

    def span(start_ns: int, end_ns: int) -> dict[str, int]:
        middle_ns = (start_ns + end_ns) // 2
        return (
            {"start_ns": middle_ns, "end_ns": end_ns} if half else {"start_ns": start_ns, "end_ns": middle_ns}
        )

    calls = [
        replace(call, parts=tuple(replace(part, **span(part.start_ns, part.end_ns)) for part in call.parts))
        for call in played.calls
    ]
    return replace(
        played, calls=calls, rows=[replace(row, **span(row.start_ns, row.end_ns)) for row in played.rows]
    )


def cropped(story: Story, start_ns: int, end_ns: int) -> Story:
    """Return the story of a recording from ``start_ns`` to ``end_ns``.

    A row that lies across an edge is not recorded; a call that does is cut, and has no row of Core ML.
    """
    numbers = [
        number for number, call in enumerate(story.calls) if call.end_ns > start_ns and call.start_ns < end_ns
    ]
    number_of = {number: position for position, number in enumerate(numbers)} | {-1: -1}

    def is_inside(start: int, end: int) -> bool:
        return start_ns <= start and end <= end_ns

    calls = []
    for call in (story.calls[number] for number in numbers):
        is_cut = not is_inside(call.start_ns, call.end_ns)
        parts = tuple(
            replace(part, start_ns=part.start_ns - start_ns, end_ns=part.end_ns - start_ns)
            for part in call.parts
        )
        calls.append(
            replace(
                call,
                start_ns=max(call.start_ns, start_ns) - start_ns,
                end_ns=min(call.end_ns, end_ns) - start_ns,
                parts=parts,
                is_cut=is_cut,
                is_reported=call.is_reported and not is_cut,
            )
        )
    return replace(
        story,
        calls=tuple(calls),
        rows=tuple(
            replace(
                row, start_ns=row.start_ns - start_ns, end_ns=row.end_ns - start_ns, call=number_of[row.call]
            )
            for row in story.rows
            if is_inside(row.start_ns, row.end_ns)
        ),
        runtime_rows=tuple(
            replace(row, start_ns=row.start_ns - start_ns, end_ns=row.end_ns - start_ns)
            for row in story.runtime_rows
            if is_inside(row.start_ns, row.end_ns)
        ),
        samples=tuple(
            replace(sample, time_ns=sample.time_ns - start_ns, call=number_of[sample.call])
            for sample in story.samples
            if is_inside(sample.time_ns, sample.time_ns)
        ),
        posts=tuple(
            replace(post, time_ns=post.time_ns - start_ns)
            for post in story.posts
            if is_inside(post.time_ns, post.time_ns)
        ),
        duration_ns=end_ns - start_ns,
    )
