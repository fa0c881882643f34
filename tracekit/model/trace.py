"""``Trace``: one run of one recording in the model's columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.model.columns import (
    ENGINE_LOG,
    METRICS,
    MODEL_REQUESTS,
    THREAD_STATES,
    BoolArray,
    IntArray,
    with_missing,
)
from tracekit.model.content import Content
from tracekit.model.issue_codes import IssueCode
from tracekit.model.schemas import TEXT_TABLES
from tracekit.model.tables import PICKED, CoreType, StackTable, TableInfo
from tracekit.text import plural, printable

Severity: TypeAlias = Literal["info", "warning", "error"]
WeightUnit: TypeAlias = Literal["ns", "cycles", "events", "samples", "hits"]


@frozen
class Issue:
    """A condition that limits the results: lost rows, an unknown schema, stacks without symbols."""

    severity: Severity
    code: IssueCode
    message: str
    count: int = 1


class IssueCounter:
    """Collects issues while tables are read: the same issue of several tables of one schema counts up.

    Readers add an issue per table; a recording of forty tables shall not repeat one sentence forty times.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[Severity, IssueCode, str], int] = {}

    def add(self, severity: Severity, code: IssueCode, text: str, count: int = 1) -> None:
        """Count an issue; ``{n}`` in ``text`` becomes the sum of the counts. A count of 0 adds none."""
        if count:
            key = severity, code, text
            self._counts[key] = self._counts.get(key, 0) + count

    def issues(self) -> tuple[Issue, ...]:
        """Return the issues in the order in which they were first added."""
        return tuple(
            Issue(severity, code, text.replace("{n}", f"{count}"), count)
            for (severity, code, text), count in self._counts.items()
        )


@frozen
class TraceInfo:
    """Origin of a run: recording, device, system and target; empty strings and None for unknown facts.

    ``kind`` names the kind of file: "xctrace-xml", "trace-bundle", "pack".
    """

    name: str
    kind: str
    run: int = 1
    device: str = ""
    model: str = ""
    platform: str = ""
    os: str = ""
    template: str = ""
    instruments: str = ""
    start: str = ""
    end: str = ""
    end_reason: str = ""
    recording_mode: str = ""
    time_limit: str = ""
    duration_ns: int | None = None
    process: str = ""
    pid: int | None = None


@frozen
class RunInfo:
    """One run of a table of contents: its ``TraceInfo``, its tables, and the processes that it lists."""

    info: TraceInfo
    tables: tuple[TableInfo, ...]
    pids: frozenset[int] = frozenset()
    process_names: frozenset[str] = frozenset()


MICROSTACKSHOTS = "microstackshots"
"""The kind of texts that sample a process as a whole: its threads are not separated."""
RUNNING_ONLY = frozenset({"deep-copy", MICROSTACKSHOTS})
"""Kinds of texts that sample threads while they run; the others count waiting threads as well."""
KDEBUG = "kdebug"
"""The kind of the kernel's own trace streams, which hold samples and none of Instruments' tables."""
PAUSES = frozenset({"lldb"})
"""Kinds of texts whose samples are pauses of a debugger, at moments that the user chose."""
STANDARD_INPUT = "standard input"
"""The name of a recording that was piped."""
FRAME_NAMES = (
    "samples",
    "threads",
    "intervals",
    "signposts",
    "engine_log",
    "counters",
    "tracks",
    "thread_states",
    "metrics",
    "model_requests",
    "frames",
    "binaries",
)
"""The frames that ``Trace.frame`` returns."""


@frozen
class Trace(Content):
    """One run of one recording in the columns of ``model.columns``.

    The frames keep -1 for missing ids; ``frame(name)`` returns a copy with ``<NA>``. Two traces are equal
    when all their values are. A trace can be pickled.

    ``weight_unit`` is what the recorder counted: "ns" fills ``samples.weight_ns``, otherwise the column
    named by the unit holds the weight and ``weight_ns`` is missing; with "samples", a row counts that many
    samples of one stack, and ``time_ns`` is 0 throughout; with "hits", a row is a call that a breakpoint saw,
    in a program that breakpoints slow. ``counters`` is row-aligned to
    ``samples``, one int64 column per PMC event. ``tables`` lists every table that the input or its table of
    contents names.
    """

    info: TraceInfo
    samples: pd.DataFrame
    stacks: StackTable
    threads: pd.DataFrame
    intervals: pd.DataFrame
    signposts: pd.DataFrame
    counters: pd.DataFrame
    tracks: pd.DataFrame
    tables: tuple[TableInfo, ...] = ()
    issues: tuple[Issue, ...] = ()
    weight_unit: WeightUnit = "ns"
    samples_source: str = ""
    has_toc: bool = False
    core_types: Mapping[int, CoreType] = field(default_factory=dict)
    thread_states: pd.DataFrame = field(default_factory=THREAD_STATES.empty)
    metrics: pd.DataFrame = field(default_factory=METRICS.empty)
    engine_log: pd.DataFrame = field(default_factory=ENGINE_LOG.empty)
    model_requests: pd.DataFrame = field(default_factory=MODEL_REQUESTS.empty)

    def __repr__(self) -> str:
        source = f" of {self.samples_source}" if self.samples_source else ""
        counts = [
            f"{plural(self.count_samples(), 'sample')}{source}",
            plural(len(self.threads), "thread"),
            plural(len(self.intervals), "interval"),
            plural(len(self.signposts), "signpost"),
        ]
        return f"<Trace {printable(self.info.name)}, run {self.info.run}: {', '.join(counts)}>"

    def frame(self, name: str) -> pd.DataFrame:
        """Return a copy of a frame in which missing ids and numbers are ``<NA>`` (docs/columns.md).

        ``name`` is one of ``FRAME_NAMES``; "frames" and "binaries" are those of ``stacks``. Raises
        ``UsageError`` for any other name.
        """
        if name not in FRAME_NAMES:
            raise UsageError(f"A trace has no frame '{name}'. Its frames are {', '.join(FRAME_NAMES)}.")
        holder = self.stacks if name in ("frames", "binaries") else self
        return with_missing(getattr(holder, name))

    @property
    def has_timeline(self) -> bool:
        """False for counted stacks, and for a text without any time: nothing about time is known."""
        return self.weight_unit != "samples" and not (self._has_text_only and not self.info.duration_ns)

    @property
    def is_of_text(self) -> bool:
        """True where another tool than Instruments wrote the input, which has none of its tables."""
        return not self.has_durations or self.info.kind == KDEBUG or self._has_text_only

    @property
    def _has_text_only(self) -> bool:
        of_text = (table.schema in TEXT_TABLES or PICKED in table.attributes for table in self.tables)
        return bool(self.tables) and all(of_text)

    @property
    def has_durations(self) -> bool:
        """False where no time can be a latency: counted stacks have none, breakpoints stretch them."""
        return self.weight_unit not in ("samples", "hits")

    @cached_property
    def sample_counts(self) -> IntArray:
        """The number of samples in each row: one, or its weight where the weight counts samples."""
        if self.weight_unit == "samples":
            return self.weights
        # A broadcast view: one element in memory, whatever the number of rows.
        return np.broadcast_to(np.int64(1), len(self.samples))

    def count_samples(self, mask: BoolArray | None = None) -> int:
        """Return the number of samples of the marked rows, of all rows without marks."""
        if self.weight_unit != "samples":
            return len(self.samples) if mask is None else int(mask.sum())
        return int(self.weights.sum() if mask is None else self.weights[mask].sum())

    @cached_property
    def weights(self) -> IntArray:
        """The samples' weights in ``weight_unit``, one int64 per sample; 0 where the row had none."""
        name = "weight_ns" if self.weight_unit == "ns" else self.weight_unit
        return self.samples[name].fillna(0).to_numpy(np.int64)
