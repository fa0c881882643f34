"""The timeline of a recording.

A scenario moves each thread along: `on` the CPU, where every sampling tick leaves a sample, and `off` it,
where nothing is seen. Each sample keeps what was played: which work, for which inference.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from sample_generator.addresses import AddressSpace, Frame
from sample_generator.dice import Dice
from sample_generator.notation import Call, Work, calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sample_generator.platforms import Platform

PERIOD_NS = 1_000_000
CLOCK_TICK_NS = (125, 3)
"""The 24 MHz clock of Apple silicon: 125 ns are three ticks."""


def on_clock(time_ns: int) -> int:
    """Return the last time up to this one that the clock can show; none before the recording."""
    return max(0, time_ns * CLOCK_TICK_NS[1] // CLOCK_TICK_NS[0]) * CLOCK_TICK_NS[0] // CLOCK_TICK_NS[1]


@dataclass(eq=False)
class Inference:
    """One prediction call, as the app made it."""

    index: int
    label: str
    lane: Lane
    engine: Literal["ANE", "GPU", "CPU", "MIXED", "UNKNOWN"]
    start_ns: int
    end_ns: int = 0
    copy: int = 1
    """The loaded copy of the model that it called."""


@dataclass(frozen=True)
class EngineWork:
    """The work of one engine for a prediction call; for the CPU, the kernels that its thread ran."""

    engine: Literal["ANE", "GPU", "CPU"]
    start_ns: int
    end_ns: int
    inference: Inference
    operation: int
    """Its place in the model's program: a partitioned model has several."""


@dataclass(frozen=True)
class Story:
    """A finding that the story of a recording carries.

    `model` is named as the recording names it: "" where it is about the run. `first_call` is the number of
    the first prediction call that it is about, None where it is about no single call.
    """

    kind: str
    model: str
    first_call: int | None


@dataclass(eq=False)
class Sample:
    """One row of the sampling table."""

    tick: int
    lane: Lane
    work: Work
    frames: tuple[Frame, ...] | None
    weight: int
    inference: Inference | None
    stackshot: bool = False
    time_ns: int = 0
    core: int = 0
    counters: tuple[int, ...] = ()


class Lane:
    """A thread; `tick` is the next sampling tick at which it may be seen."""

    def __init__(self, recording: Recording, tid: int, name: str, root: str, prediction_call: str) -> None:
        self.tid = tid
        self.name = name
        self.tick = 0
        self.inference: Inference | None = None
        self._recording = recording
        self._root = calls(root)
        self._prediction_call = calls(prediction_call)

    @property
    def prediction_stack(self) -> tuple[Call, ...]:
        """The app's calls around a prediction."""
        return self._root + self._prediction_call

    def on(self, work: Work, ticks: int = 1, *, weight_ms: int = 1) -> None:
        """Run on the CPU, sampled at every tick; a heavier sample includes the ticks before it."""
        self.tick += weight_ms - 1
        for _ in range(ticks):
            self._recording.sample(self, work, self._stack(work), weight_ms)
            self.tick += 1

    def off(self, ticks: int, engine: Literal["ANE", "GPU"] | None = None, *, operation: int = 0) -> None:
        """Be blocked, perhaps while an engine is at work: a CPU profiler does not see it."""
        first = self.tick
        self.tick += ticks
        if engine:
            self.served_by(engine, first, operation=operation)

    def served_by(self, engine: Literal["ANE", "GPU", "CPU"], first: int, *, operation: int = 0) -> None:
        """State that from tick `first` to now an engine worked for this thread's prediction call."""
        if self.inference is None:
            raise ValueError(f"{self.name}: {engine} work outside a prediction call")
        span = self._recording.span(first, self.tick)
        self._recording.engine_work.append(EngineWork(engine, *span, self.inference, operation))

    def wait_for(self, lane: Lane) -> None:
        """Be blocked until the other thread has come this far."""
        self.tick = max(self.tick, lane.tick)

    def _stack(self, work: Work) -> tuple[Call, ...] | None:
        if work.calls is None:
            return None
        return (self.prediction_stack if work.role == "caller" else self._root) + work.calls


@dataclass(eq=False)
class Recording:
    """A recording of one process, played by a scenario."""

    name: str
    platform: Platform
    table: Literal["time-profile", "cpu-profile", "counters-profile", "time-sample"] = "time-profile"
    process: str = "SampleApp"
    pid: int = 4711
    symbols: bool = True
    counter_names: tuple[str, ...] = ()
    samples: list[Sample] = field(default_factory=list)
    inferences: list[Inference] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    engine_work: list[EngineWork] = field(default_factory=list)
    findings: list[Story] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._dice = Dice(self.name)
        self._engine_dice = Dice(f"engines of {self.name}")
        self.addresses = AddressSpace(self.platform, self._dice)

    def lane(self, name: str | None, root: str, prediction_call: str = "") -> Lane:
        """Add a thread; one without a name of its own shows its process's."""
        lane = Lane(self, 0x5A00 + 0x1D * len(self.lanes), name or self.process, root, prediction_call)
        self.lanes.append(lane)
        return lane

    @contextmanager
    def inference(
        self,
        lane: Lane,
        label: str,
        engine: Literal["ANE", "GPU", "CPU", "MIXED", "UNKNOWN"],
        *workers: Lane,
        copy: int = 1,
    ) -> Iterator[Inference]:
        """Play a prediction call of `lane`; what it and its workers do meanwhile belongs to it."""
        start_ns = lane.tick * PERIOD_NS - 200_000
        inference = Inference(len(self.inferences), label, lane, engine, start_ns, copy=copy)
        self.inferences.append(inference)
        for worker in workers:
            worker.wait_for(lane)
        for member in (lane, *workers):
            member.inference = inference
        yield inference
        for member in (lane, *workers):
            member.inference = None
        inference.end_ns = lane.tick * PERIOD_NS - 300_000

    def shows(self, kind: str, model: str = "", *, first_call: int | None = None) -> None:
        """State a finding that follows from what was played, and that the exported tables carry."""
        self.findings.append(Story(kind, model, first_call))

    @property
    def end_ns(self) -> int:
        """When the recording ends."""
        return self.samples[-1].time_ns + 40_000_000

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return when something began and ended that a thread did, or was blocked for, in [first, last).

        It begins after the thread's sample at the tick before and ends before its sample at tick `last`,
        nowhere near the sampler's rhythm; what begins at tick `last` begins later.
        """
        start_ns = first * PERIOD_NS - 450_000 + self._engine_dice.below(200_000)
        end_ns = last * PERIOD_NS - 660_000 + self._engine_dice.below(140_000)
        return on_clock(start_ns), on_clock(end_ns)

    def sample(self, lane: Lane, work: Work, stack: tuple[Call, ...] | None, weight_ms: int) -> None:
        frames = None if stack is None else self.addresses.place(stack)
        weight = weight_ms * PERIOD_NS
        if self.table == "cpu-profile":
            weight = 1_000_000 + self._dice.below(90)
        if self.table == "time-sample":
            weight = 0
        self.samples.append(Sample(lane.tick, lane, work, frames, weight, lane.inference))

    def stackshot(self, works: dict[Lane, Work]) -> None:
        """See all threads at one moment, blocked as they are: how kperf begins a recording."""
        for lane, work in works.items():
            lane.on(work)
            self.samples[-1].stackshot = True

    def finish(self) -> Recording:
        """Put the samples in order of time, on cores, each at its own nanosecond of its tick.

        The timer drifts and threads lag behind it by different amounts, but no thread is seen twice within
        one period.
        """
        self.samples.sort(key=lambda sample: (sample.tick, sample.lane.tid))
        lags = {lane: self._dice.choice((0, 0, 9, 17)) for lane in self.lanes}
        cores: dict[Lane, int] = {}
        drift = 0
        for tick, group in groupby(self.samples, key=lambda sample: sample.tick):
            drift += self._dice.below(3)
            busy: set[int] = set()
            for sample in group:
                clock = drift + (0 if sample.stackshot else lags[sample.lane])
                if self.table == "cpu-profile":
                    clock += self._dice.below(8000)
                sample.time_ns = tick * PERIOD_NS + 246_708 + clock * CLOCK_TICK_NS[0] // CLOCK_TICK_NS[1]
                sample.core = self._core(cores.get(sample.lane), busy)
                cores[sample.lane] = sample.core
                busy.add(sample.core)
                sample.counters = self._count(sample.work)
        self.samples.sort(key=lambda sample: sample.time_ns)
        return self

    def _core(self, last: int | None, busy: set[int]) -> int:
        free = [core for core in self.platform.cores if core not in busy]
        return last if last in free and self._dice.chance(0.93) else self._dice.choice(free)

    def _count(self, work: Work) -> tuple[int, ...]:
        typical = 3_200_000 if work.phase == "execute" else 1_100_000
        return tuple(
            (typical + self._dice.below(typical)) // (2 * 4**place)
            for place in range(len(self.counter_names))
        )
