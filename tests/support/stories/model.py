"""A story: the calls that really happened, and the rows and samples that a recording has of them.

Times are nanoseconds since the start of the recording; intervals are half-open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from sample_generator.notation import Work

MS = 1_000_000
Engine: TypeAlias = Literal["ANE", "GPU", "CPU"]
ENGINES: tuple[Engine, ...] = ("ANE", "GPU", "CPU")

ANE_TABLE = "ane-hw-intervals"
GPU_TABLE = "metal-gpu-intervals"
CORE_ML_TABLE = "coreml-os-signpost"
SAMPLE_TABLE = "time-profile"
SIGNPOST_TABLE = "os-signpost"
TABLES = (CORE_ML_TABLE, ANE_TABLE, GPU_TABLE, SAMPLE_TABLE, SIGNPOST_TABLE)
TABLE_OF: dict[Engine, str] = {"ANE": ANE_TABLE, "GPU": GPU_TABLE}


class Process(NamedTuple):
    pid: int
    name: str


@dataclass(frozen=True)
class Part:
    """When one engine worked for a call."""

    engine: Engine
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Call:
    """One inference of one loaded copy of a model.

    ``is_reported`` is False where Core ML's table has no row of it: it is another process's, another API's, or
    the recording began or ended within it (``is_cut``).
    """

    process: Process
    tid: int
    model: str
    copy: int
    start_ns: int
    end_ns: int
    parts: tuple[Part, ...]
    is_reported: bool = True
    is_cut: bool = False

    @property
    def engines(self) -> frozenset[Engine]:
        """The engines that worked for it."""
        return frozenset(part.engine for part in self.parts)

    def work_ns(self, engine: Engine) -> int:
        """Return how long an engine worked for it."""
        return sum(part.end_ns - part.start_ns for part in self.parts if part.engine == engine)


@dataclass(frozen=True)
class Row:
    """A row of the table of an engine, of one call. ``pid`` is -1 and ``label`` "" where the row has none."""

    engine: Engine
    start_ns: int
    end_ns: int
    label: str
    pid: int
    call: int
    """Its position in ``Story.calls``."""
    is_contested: bool = False
    """True where nothing in the recording separates two calls of which it may be."""


@dataclass(frozen=True)
class RuntimeRow:
    """A row of Core ML's table; ``name`` is that of a loaded copy, "" where the row has none."""

    start_ns: int
    end_ns: int
    event: Literal["Prediction", "CPU"]
    name: str


@dataclass(frozen=True)
class Sample:
    """A sample of a thread; ``call`` is -1 outside of every call."""

    time_ns: int
    process: Process
    tid: int
    work: Work
    is_worker: bool
    call: int = -1


@dataclass(frozen=True)
class Post:
    """A Begin or an End of the app's own signpost around a call."""

    time_ns: int
    kind: Literal["Begin", "End"]
    tid: int
    model: str
    identifier: int


@dataclass(frozen=True)
class Story:
    """A recording of ``target`` with its truth. ``words`` are the parts of the grammar that it was made of."""

    seed: int
    words: tuple[str, ...]
    target: Process
    calls: tuple[Call, ...]
    rows: tuple[Row, ...] = ()
    runtime_rows: tuple[RuntimeRow, ...] = ()
    samples: tuple[Sample, ...] = ()
    posts: tuple[Post, ...] = ()
    tables: frozenset[str] = frozenset(TABLES)
    sampled: frozenset[int] = field(default=frozenset())
    """The processes of which the profiler took samples."""
    duration_ns: int = 0
    period_ns: int = MS

    def has(self, table: str) -> bool:
        """Return whether the recording has this table."""
        return table in self.tables

    def rows_of(self, engine: Engine) -> list[Row]:
        """Return the rows of an engine that the recording has."""
        return [row for row in self.rows if row.engine == engine and self.has(TABLE_OF[engine])]

    def is_sampled(self, process: Process) -> bool:
        """Return whether the recording has samples of a process."""
        return self.has(SAMPLE_TABLE) and process.pid in self.sampled

    def is_listed(self, call: Call) -> bool:
        """Return whether Core ML's table has a row of this call."""
        return self.has(CORE_ML_TABLE) and call.is_reported

    def is_visible(self, call: Call) -> bool:
        """Return whether a row of Core ML or the stacks of its thread show the call."""
        return self.is_listed(call) or self.is_sampled(call.process)

    def is_named(self, call: Call) -> bool:
        """Return whether a row of Core ML names the model of this call."""
        edges = call.start_ns, call.end_ns
        return self.is_listed(call) and any(
            row.name and (row.start_ns, row.end_ns) == edges for row in self.runtime_rows
        )

    def calls_of(self, model: str, process: Process | None = None) -> list[Call]:
        """Return the calls of a model, in one process or in all."""
        return [
            call
            for call in self.calls
            if call.model == model and (process is None or call.process == process)
        ]

    def line(self) -> str:
        """Return the story in a line."""
        return f"seed {self.seed}: {', '.join(self.words)}"

    def sentences(self) -> Iterator[str]:
        """Yield the story in sentences, for ``STORY.txt``."""
        yield self.line()
        yield f"The recording is of {self.target.name} ({self.target.pid}); it has {', '.join(sorted(self.tables))}."
        for number, call in enumerate(self.calls):
            parts = ", ".join(
                f"{part.engine} {part.start_ns / MS:.3f}-{part.end_ns / MS:.3f}" for part in call.parts
            )
            notes = "".join(
                [
                    "" if self.is_listed(call) else "; no row of Core ML",
                    "; cut by the recording's edge" if call.is_cut else "",
                ]
            )
            yield (
                f"call {number}: {call.process.name} ({call.process.pid}) thread {call.tid:#x} {call.model}-{call.copy}"
                f" [{call.start_ns / MS:.3f}, {call.end_ns / MS:.3f}) ms: {parts}{notes}"
            )
        for row in sorted(self.rows, key=lambda row: row.start_ns):
            shown = "" if self.has(TABLE_OF[row.engine]) else "; its table was not recorded"
            yield (
                f"row of {row.engine} [{row.start_ns / MS:.3f}, {row.end_ns / MS:.3f}) ms"
                f" '{row.label}': call {row.call}{' (contested)' if row.is_contested else ''}{shown}"
            )
