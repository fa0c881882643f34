"""One thread's calls, tick by tick: when they ran, which engines worked, what a profiler sees of them.

A call from tick a to tick b (1 ms each; a sample is taken at 0.35 ms of its tick)::

    tick      a          p            …            q          b
    caller    features   submit       (blocked)    copies     copies
    engine               [p + 0.5 ………………… q + 0.2)
    call   [a + 0.1 ……………………………………………………………………………………… b + 0.7)

The CPU works on the thread itself, so that every tick of its part has a sample. With E5RT's queue, engines are
called by a worker thread, on which no frame shows the call, and the caller waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sample_generator import coreml_work
from sample_generator.app_work import RESIZE_IMAGE
from sample_generator.dice import Dice
from sample_generator.evidence_engines import compiled_model
from sample_generator.notation import Work
from stories.model import MS, Call, Engine, Part, Post, Process, Row, RuntimeRow, Sample

Plan = Callable[[int], tuple[Engine, ...]]
"""The engines that work for a copy's n-th call, in their order."""
_SAMPLED_AFTER_NS = 350_000
_WORKERS = 0x100
_HASHED, _OPERATION, _NONE = "hashed labels", "labels of operations", "no labels"
LABELS = (_HASHED, _OPERATION, _NONE)


@dataclass(frozen=True)
class Copy:
    """A loaded copy of a model. ``is_reported`` is False where Core ML's table does not list its calls."""

    process: Process
    model: str
    number: int
    plan: Plan
    is_reported: bool = True


@dataclass(frozen=True)
class Rhythm:
    """The ticks of a call, from and up to, and of the pause behind it; 0 is back to back."""

    length: tuple[int, int] = (9, 20)
    pause: tuple[int, int] = (3, 12)


@dataclass(frozen=True)
class Habits:
    """Properties that all threads of a story have in common.

    ``skew_ns`` is how much later the Neural Engine's rows are than they would be by the other tables' clock;
    ``late_ns`` by how much a row reaches into the call that follows its own at once, 0 for not at all.
    """

    labels: str = _HASHED
    has_runtime_names: bool = True
    has_workers: bool = False
    skew_ns: int = 0
    late_ns: int = 0


@dataclass
class Played:
    """The calls of threads and all that a recording could have of them."""

    calls: list[Call] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    runtime_rows: list[RuntimeRow] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)

    def add(self, played: Played) -> None:
        """Add what other threads played."""
        first = len(self.calls)
        self.calls += played.calls
        self.rows += [replace(row, call=row.call + first) for row in played.rows]
        self.runtime_rows += played.runtime_rows
        self.samples += [
            replace(sample, call=sample.call + first if sample.call >= 0 else -1) for sample in played.samples
        ]
        self.posts += played.posts

    @property
    def end_ns(self) -> int:
        """When the last call ended."""
        return max(call.end_ns for call in self.calls)


def play(
    dice: Dice,
    tid: int,
    copies: Sequence[Copy],
    calls: int,
    *,
    habits: Habits = Habits(),
    rhythm: Rhythm = Rhythm(),
    first_tick: int = 4,
) -> Played:
    """Return so many calls of a thread, which takes its copies in turn."""
    thread = _Thread(dice, tid, habits)
    tick = first_tick
    turns = [0] * len(copies)
    for number in range(calls):
        turn = number % len(copies)
        engines = copies[turn].plan(turns[turn])
        turns[turn] += 1
        length = max(_between(dice, rhythm.length), 4 * len(engines) + 4)
        pause = _between(dice, rhythm.pause)
        thread.call(copies[turn], tick, length, engines)
        tick += length
        if pause > 1:
            thread.outside(copies[turn].process, tick)
        tick += pause
    return thread.played


class _Thread:
    def __init__(self, dice: Dice, tid: int, habits: Habits) -> None:
        self.played = Played()
        self._dice = dice
        self._tid = tid
        self._habits = habits
        self._lag_ns = dice.below(40) * 1000

    def outside(self, process: Process, tick: int) -> None:
        """Do some work of the app's at a tick."""
        self._sample(process, tick, RESIZE_IMAGE, is_worker=False, call=-1)

    def call(self, copy: Copy, first: int, length: int, engines: Sequence[Engine]) -> None:
        """Play a call from tick ``first`` on."""
        last = first + length - 1
        start_ns = first * MS + 100_000 + self._dice.below(100) * 1000
        end_ns = last * MS + 700_000 + self._dice.below(100) * 1000
        number = len(self.played.calls)
        begin = first + (2 if self._habits.has_workers else 1)
        # The ticks between the first and the last one are shared evenly by the engines.
        edges = [begin + (last - begin) * part // len(engines) for part in range(len(engines) + 1)]
        parts = tuple(
            self._part(copy, number, position, engine, edges[position], edges[position + 1])
            for position, engine in enumerate(engines)
        )
        self._around(copy.process, number, first, edges[-1], last)
        self.played.calls.append(
            Call(copy.process, self._tid, copy.model, copy.number, start_ns, end_ns, parts, copy.is_reported)
        )
        self._report(copy, number)

    def _part(self, copy: Copy, call: int, position: int, engine: Engine, first: int, last: int) -> Part:
        if engine == "CPU":
            for tick in range(first, last):
                self._engine_sample(copy.process, tick, "CPU execute", call)
            return Part("CPU", first * MS + 250_000, last * MS + 100_000)
        encoding = min(1 + self._dice.below(4), last - first - 2) if engine == "GPU" else 1
        for tick in range(first, first + encoding):
            self._engine_sample(
                copy.process, tick, f"{engine} {'submit' if tick == first + encoding - 1 else 'encode'}", call
            )
        skew_ns = self._habits.skew_ns if engine == "ANE" else 0
        start_ns = (first + encoding - 1) * MS + 500_000 + skew_ns
        end_ns = last * MS + 200_000 + skew_ns
        self.played.rows.append(Row(engine, start_ns, end_ns, *self._names(copy, engine, position), call))
        return Part(engine, start_ns, end_ns)

    def _names(self, copy: Copy, engine: Engine, position: int) -> tuple[str, int]:
        """Return the label and the process that a row of an engine's table has."""
        if engine == "GPU":
            return f"{copy.model}_main__Op{position}_MpsGraphInference", copy.process.pid
        operation = f"{copy.model}_main__Op{position}_AneInference"
        hashed = compiled_model(copy.model, "Prediction")
        return {_HASHED: hashed, _OPERATION: operation, _NONE: ""}[self._habits.labels], -1

    def _around(self, process: Process, call: int, first: int, done: int, last: int) -> None:
        """Sample the caller before and after the engines' work."""
        prefix = "E5" if self._habits.has_workers else "NN"
        self._sample(process, first, getattr(coreml_work, f"{prefix}_FEATURES"), False, call)
        if self._habits.has_workers:
            self._sample(process, first + 1, coreml_work.E5_WAIT, False, call)
        after = coreml_work.E5_OUTPUT if self._habits.has_workers else coreml_work.NN_COPY
        for tick in range(done, last + 1):
            self._sample(process, tick, after, False, call)

    def _engine_sample(self, process: Process, tick: int, kind: str, call: int) -> None:
        caller, worker = _WORK[kind]
        is_worker = self._habits.has_workers
        self._sample(process, tick, worker if is_worker else caller, is_worker, call)

    def _sample(self, process: Process, tick: int, work: Work, is_worker: bool, call: int) -> None:
        time_ns = tick * MS + _SAMPLED_AFTER_NS + self._lag_ns + (7_000 if is_worker else 0)
        tid = self._tid + (_WORKERS if is_worker else 0)
        self.played.samples.append(Sample(time_ns, process, tid, work, is_worker, call))

    def _report(self, copy: Copy, number: int) -> None:
        """Write the rows of Core ML and the signposts of the app."""
        call = self.played.calls[number]
        if not copy.is_reported:
            return
        name = f"{copy.model}-{copy.number}" if self._habits.has_runtime_names else ""
        self.played.runtime_rows.append(RuntimeRow(call.start_ns, call.end_ns, "Prediction", name))
        self.played.runtime_rows += [
            RuntimeRow(part.start_ns, part.end_ns, "CPU", name) for part in call.parts if part.engine == "CPU"
        ]
        identifier = self._tid * 1000 + number
        self.played.posts += [
            Post(call.start_ns - 20_000, "Begin", self._tid, copy.model, identifier),
            Post(call.end_ns + 20_000, "End", self._tid, copy.model, identifier),
        ]


_WORK: dict[str, tuple[Work, Work]] = {
    "ANE submit": (coreml_work.NN_ANE_SEND, coreml_work.E5_ANE_SEND),
    "GPU encode": (coreml_work.NN_MPS_CONV, coreml_work.E5_MPSGRAPH_CONV),
    "GPU submit": (coreml_work.NN_MPS_SUBMIT, coreml_work.E5_MPSGRAPH_SUBMIT),
    "CPU execute": (coreml_work.NN_BNNS_CONV, coreml_work.E5_BNNS_GEMM),
}
"""The stack of each kind of work on the caller's thread, and on a worker's."""


def with_late_rows(played: Played, late_ns: int) -> Played:
    """Return the same calls, of which rows of the Neural Engine end inside the call that follows.

    Only calls of one thread, and only where the next call's own work has not begun by then.
    """
    rows = list(played.rows)
    calls = list(played.calls)
    for position, row in enumerate(rows):
        call = calls[row.call]
        following = next(_calls_after(calls, call), None)
        is_last = row.engine == "ANE" and row.end_ns == call.parts[-1].end_ns
        if not is_last or following is None or following.parts[0].start_ns < following.start_ns + late_ns:
            continue
        end_ns = following.start_ns + late_ns
        rows[position] = replace(row, end_ns=end_ns)
        parts = (*call.parts[:-1], replace(call.parts[-1], end_ns=end_ns))
        calls[row.call] = replace(call, parts=parts)
    return replace(played, rows=rows, calls=calls)


def _calls_after(calls: Sequence[Call], call: Call) -> Iterator[Call]:
    """Yield the calls of the same thread behind a call, the next one first."""
    later = [entry for entry in calls if entry.tid == call.tid and entry.start_ns >= call.end_ns]
    yield from sorted(later, key=lambda entry: entry.start_ns)


def _between(dice: Dice, limits: tuple[int, int]) -> int:
    return limits[0] + dice.below(limits[1] - limits[0] + 1)
