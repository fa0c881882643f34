"""The reports of instruments beside the sampler about a recording: spans, signposts, states.

All of it is taken from the timeline that was played. A `Span` keeps the content of its row and its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Literal

from sample_generator.dice import Dice
from sample_generator.recording import PERIOD_NS, on_clock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sample_generator.evidence_logs import LogLine
    from sample_generator.recording import Inference, Lane, Recording
    from sample_generator.xml_writer import Element


@dataclass(frozen=True)
class Span:
    """One row of a table of intervals."""

    source: str
    start_ns: int
    end_ns: int
    engine: str
    phase: str | None
    cells: tuple[Element, ...]
    """Everything behind start and duration."""
    model: str = ""
    pid: int = -1
    """-1 where the table does not name a process."""
    depth: int = 0
    by_app: bool = True
    """True for work of the app; the table of a system-wide instrument does not show it."""
    owner: str = ""
    """The model that it worked for, where the row does not name one."""
    segment: str = ""
    """The part of the model's program that its label names."""
    inference: Inference | None = None
    """The prediction call that it was work of, where the scenario knows it."""

    @property
    def works_for(self) -> str:
        """The model that it really worked for."""
        return self.owner or self.model


@dataclass(frozen=True)
class Signpost:
    """One call of os_signpost by the app."""

    time_ns: int
    kind: Literal["Begin", "End", "Event"]
    lane: Lane
    model: str
    name: str
    category: str
    subsystem: str = "org.example.SampleApp"
    metadata: str = ""
    """The text of its arguments; "" is that of the model."""
    identifier: int = 0
    """0: the interval is the only one of its name at a time."""


@dataclass(frozen=True)
class Token:
    """A token of a language model: when it was there, the tokens before it, and the engine of its pass."""

    time_ns: int
    context: int
    engine: str


@dataclass(frozen=True)
class Generation:
    """A request to a language model: its prompt from ``start_ns`` on, and its tokens."""

    model: str
    start_ns: int
    prompt_tokens: int
    tokens: list[Token] = field(default_factory=list)


@dataclass(frozen=True)
class ThreadState:
    """A state of a thread in the scheduler, from a start to an end."""

    lane: Lane
    start_ns: int
    end_ns: int
    core: int | None
    """None: blocked."""


@dataclass(frozen=True)
class Level:
    """A state of the device for a while."""

    start_ns: int
    end_ns: int
    state: str


@dataclass
class Evidence:
    """All that was exported of a recording beside its sampling table."""

    interval_tables: tuple[str, ...] = ()
    """The tables of intervals, whether they hold rows or not."""
    spans: list[Span] = field(default_factory=list)
    signposts: list[Signpost] = field(default_factory=list)
    thread_states: list[ThreadState] = field(default_factory=list)
    thermal: list[Level] = field(default_factory=list)
    gpu_active: list[Level] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)
    cumulative_counters: bool = False
    generations: list[Generation] = field(default_factory=list)


def around_inferences(recording: Recording, name: str, category: str) -> list[Signpost]:
    """Return a Begin and an End of the app at the very moments of each prediction call."""
    posts = [
        Signpost(time_ns, kind, inference.lane, inference.label, name, category)
        for inference in recording.inferences
        for time_ns, kind in ((inference.start_ns, "Begin"), (inference.end_ns, "End"))
    ]
    return sorted(posts, key=lambda post: post.time_ns)


def thread_states(recording: Recording, *lanes: Lane) -> list[ThreadState]:
    """Return when threads ran and when they were blocked, without gaps, exactly as they were played.

    A thread runs from before its sample at a tick until after it; a span of `Recording.span` that was
    played as blocked is inside one blocked state.
    """
    states = [state for lane in lanes for state in _states(recording, lane)]
    return sorted(states, key=lambda state: (state.start_ns, state.lane.tid))


def _states(recording: Recording, lane: Lane) -> list[ThreadState]:
    dice = Dice(f"scheduling of {lane.tid} in {recording.name}")
    cores = {sample.tick: sample.core for sample in recording.samples if sample.lane is lane}
    changes: list[tuple[int, int | None]] = [(0, cores.get(0))]
    for tick in sorted(tick for on in cores for tick in {on, on + 1}):
        core = cores.get(tick)
        if core != changes[-1][1]:
            changes.append((on_clock(tick * PERIOD_NS - 495_000 + dice.below(8_000)), core))
    ends = [start_ns for start_ns, _ in changes[1:]] + [recording.end_ns]
    return [
        ThreadState(lane, start_ns, end_ns, core)
        for (start_ns, core), end_ns in zip(changes, ends, strict=True)
    ]


def union(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the time that at least one span covers, as spans that do not touch."""
    covered: list[tuple[int, int]] = []
    for start_ns, end_ns in sorted(spans):
        if covered and start_ns <= covered[-1][1]:
            covered[-1] = (covered[-1][0], max(covered[-1][1], end_ns))
        else:
            covered.append((start_ns, end_ns))
    return covered


def alternating(active: list[tuple[int, int]], end_ns: int) -> list[Level]:
    """Return Active where something was, Idle where nothing was, from the run's start to its end."""
    edges = [0, *(edge for span in active for edge in span), end_ns]
    return [
        Level(start, end, "Idle" if place % 2 == 0 else "Active")
        for place, (start, end) in enumerate(pairwise(edges))
        if start < end
    ]


def levels(*durations: tuple[str, int]) -> list[Level]:
    """Return states that follow each other at once, from (state, until when)."""
    starts = [0, *(until_ns for _, until_ns in durations)]
    return [Level(start, until, state) for start, (state, until) in zip(starts, durations, strict=False)]


def in_order(spans: Iterable[Span]) -> list[Span]:
    """Return spans by time; a row that was written twice stays twice."""
    return sorted(spans, key=lambda span: (span.start_ns, span.end_ns, span.source, span.depth))


def by_source(spans: Iterable[Span]) -> dict[str, list[Span]]:
    ordered = sorted(in_order(spans), key=lambda span: span.source)
    return {source: list(group) for source, group in groupby(ordered, key=lambda span: span.source)}
