"""The data model: what every parser produces and every analysis reads.

Times are int64 nanoseconds since the start of the run. Intervals are half-open, ``[start_ns, end_ns)``.
The columns of each frame are declared here once, and ``Columns.check`` holds them where data enters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import TracekitError

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Severity: TypeAlias = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Columns:
    """A frame's declared columns: name → dtype, in order; ``optional`` ones may be absent."""

    required: Mapping[str, str]
    optional: Mapping[str, str] = field(default_factory=dict)

    def empty(self) -> pd.DataFrame:
        """Return a frame with no row and the required columns in their dtypes."""
        nothing = categorical(np.zeros(0, np.int8), [])
        return pd.DataFrame(
            {
                name: nothing if dtype == "category" else pd.Series([], dtype=dtype)
                for name, dtype in self.required.items()
            }
        )

    def check(self, frame: pd.DataFrame, what: str) -> pd.DataFrame:
        """Return ``frame`` unchanged, or raise ``TracekitError`` naming the first wrong column."""
        for name, dtype in self.required.items():
            if name not in frame.columns:
                raise TracekitError(f"{what}: the column '{name}' is missing")
            self._check_dtype(frame, name, dtype, what)
        for name in frame.columns[len(self.required) :]:
            if name in self.optional:
                self._check_dtype(frame, name, self.optional[name], what)
        return frame

    @staticmethod
    def _check_dtype(frame: pd.DataFrame, name: str, dtype: str, what: str) -> None:
        found = str(frame[name].dtype)
        if found != dtype:
            raise TracekitError(f"{what}: the column '{name}' has dtype {found}, expected {dtype}")


def categorical(codes: npt.NDArray[np.integer[Any]], names: Sequence[str]) -> pd.Categorical:
    """Return a category column of the given names by their positions; -1 is missing."""
    return pd.Categorical.from_codes(codes, categories=pd.Index([str(name) for name in names], dtype="str"))


def texts_at(codes: npt.NDArray[np.integer[Any]], texts: Sequence[str]) -> pd.Categorical:
    """Return the category column ``texts[code]``; a text may stand there more than once, or not be used."""
    is_used = np.zeros(len(texts), bool)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    number, distinct = pd.factorize(np.array([texts[at] for at in used.tolist()], dtype=object))
    code_of = np.zeros(len(texts), np.int32)
    code_of[used] = number
    return categorical(code_of[codes], distinct.tolist())


SAMPLES = Columns(
    {
        "time_ns": "int64",
        "weight_ns": "Int64",  # <NA> where the recorder counts something else (cycles, events)
        "thread_id": "int32",  # row of Trace.threads, -1 = none
        "core": "int16",  # -1 = not recorded
        "state": "category",
        "stack_id": "int32",  # row of Trace.stacks, -1 = none
    },
    optional={"cycles": "int64", "events": "int64"},
)
THREADS = Columns({"tid": "int64", "name": "str", "pid": "int64", "process": "str"})
PROCESSES = Columns({"pid": "int64", "name": "str"})
INTERVALS = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",
        "engine": "category",
        "phase": "category",  # missing: a call or a request as a whole, or GPU work with no ML mark
        "label": "category",  # the table's own words, never a prompt or an answer
        "model": "category",  # "" = not known
        "channel": "category",  # what the table calls the kind of work: "Compute", "Prediction", …
        "pid": "int64",  # -1 = the table does not say
        "source": "category",  # the schema
        "depth": "int16",  # 0 = outermost
        "command_buffer": "int64",  # -1 = none
    }
)
SIGNPOSTS = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",  # of anything but an interval: start_ns
        "kind": "category",  # "interval", "event", or "begin"/"end" without its partner
        "name": "category",
        "subsystem": "category",
        "category": "category",
        "identifier": "uint64",
        "pid": "int64",
        "tid": "int64",  # of the begin
        "message": "str",
        "source": "category",
    }
)
THREAD_STATES = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",
        "state": "category",  # Running, Blocked, Runnable, Preempted, …
        "core": "int16",  # -1 = not recorded
        "tid": "int64",
        "pid": "int64",
    }
)
TRACKS = Columns(
    {
        "time_ns": "int64",
        "name": "category",
        "unit": "category",
        "value": "float64",  # holds until the track's next row; NaN = not known from here on
    }
)
METRICS = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",
        "name": "category",
        "value": "float64",  # a sum over the interval
        "tid": "int64",
        "pid": "int64",
    }
)
FRAMES = Columns(
    {
        "symbol": "category",  # as the recording names it; an unsymbolicated frame is "0x…"
        "binary_id": "int32",  # row of StackTable.binaries, -1 = none
        "address": "uint64",  # as recorded: see docs/formats.md on biased return addresses
        "source_file": "category",  # "" = not known
        "source_line": "int32",  # -1 = not known
        "inlined": "bool",
    }
)
BINARIES = Columns({"name": "str", "path": "str", "uuid": "str", "arch": "str", "load_address": "uint64"})
WINDOWS = Columns(
    {
        "window_id": "int64",
        "start_ns": "int64",
        "end_ns": "int64",
        "label": "str",
        "thread_id": "int32",  # -1 = all threads
        "source": "category",
        "basis": "category",
        "pid": "int64",  # -1 = all processes
        "model": "str",  # "" = not known
        "first": "bool",  # the first of its model (or entry point) and process: it may be cold
        "alone": "bool",  # no other window shares time with it
    }
)
ATTRIBUTION = Columns(
    {
        "window_id": "int64",  # -1 = outside every window
        "engine": "category",
        "phase": "category",  # missing for engines whose work has no phase
        "samples": "int64",
        "sampled_ns": "Int64",
        "busy_ns": "Int64",  # <NA> = no table measured this engine
        "waiting_ns": "Int64",  # <NA> = nothing tells
        "weight": "int64",  # in Trace.weight_unit
        "waiting_basis": "category",  # measured, sampled or inferred; missing with waiting_ns
    }
)


@dataclass(frozen=True)
class Issue:
    """Something a reader of the results must know: lost rows, an unknown schema, stacks without symbols."""

    severity: Severity
    code: str
    message: str
    count: int = 1


@dataclass(frozen=True)
class StackTable:
    """Unique stacks in CSR form, leaf first.

    ``frame_ids[offsets[i]:offsets[i + 1]]`` are stack ``i``'s rows of ``frames``; frames point into
    ``binaries`` by ``binary_id``. A row of ``frames`` is one program counter of one function, so the same
    function appears several times with different addresses.
    """

    offsets: IntArray
    frame_ids: npt.NDArray[np.int32]
    frames: pd.DataFrame
    binaries: pd.DataFrame

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def empty(cls) -> StackTable:
        """Return a table with no stack."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), FRAMES.empty(), BINARIES.empty())

    def stack(self, stack_id: int) -> npt.NDArray[np.int32]:
        """Return the frame ids of one stack, leaf first."""
        return self.frame_ids[self.offsets[stack_id] : self.offsets[stack_id + 1]]

    @cached_property
    def binary_names(self) -> npt.NDArray[np.object_]:
        """The binary's name for each row of ``frames``; "" where the frame has none."""
        names = np.append(self.binaries["name"].to_numpy(object), "")
        picked: npt.NDArray[np.object_] = names[self.frames["binary_id"].to_numpy()]
        return picked

    @cached_property
    def symbols(self) -> npt.NDArray[np.object_]:
        """The symbol for each row of ``frames``."""
        picked: npt.NDArray[np.object_] = self.symbol_names[self.symbol_codes]
        return picked

    @cached_property
    def symbol_names(self) -> npt.NDArray[np.object_]:
        """Every symbol once, by its code; some may be of no frame."""
        return self._symbol_column.categories.to_numpy(object)

    @cached_property
    def symbol_codes(self) -> npt.NDArray[np.int32]:
        """The code of the symbol for each row of ``frames``."""
        return self._symbol_column.codes.astype(np.int32)

    @cached_property
    def _symbol_column(self) -> pd.Categorical:
        """The column, also where somebody put plain texts in its place."""
        return pd.Categorical(self.frames["symbol"])


CoreType: TypeAlias = Literal["E", "P"]
ColumnKind: TypeAlias = Literal["int", "float", "text", "ints", "parts", "thread", "process", "stack"]


@dataclass(frozen=True)
class Column:
    """One column of a ``Table``: the export's mnemonic, its title, and Apple's engineering type."""

    mnemonic: str
    title: str
    engineering_type: str
    kind: ColumnKind


@dataclass(frozen=True)
class Table:
    """One Instruments table as typed columns, whatever its schema.

    ``rows`` has one column per mnemonic. By ``Column.kind``:

    * ``int``: exact integers, nullable (``Int64``, or ``UInt64`` where a value is beyond 2^63-1);
    * ``float``: float64; ``text``: category; ``ints``: tuples of int;
    * ``parts``: a composite cell as a tuple of ``(engineering type, value)``; ``None`` for null;
    * ``thread``, ``process``, ``stack``: int32 rows of ``threads``, ``processes``, ``stacks``; -1 for null.
    """

    schema: str
    columns: tuple[Column, ...]
    rows: pd.DataFrame
    threads: pd.DataFrame
    processes: pd.DataFrame
    stacks: StackTable
    run: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict)
    core_types: Mapping[int, CoreType] = field(default_factory=dict)
    """For each core that the recording describes: "E", efficiency, or "P", performance."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class TableInfo:
    """One table of a run, as the table of contents or the document lists it.

    ``row_count`` is None when the table of contents names the table but the input does not hold its rows.
    ``attributes`` qualify the schema (``target-pid``, ``pmc-events``, …). ``index`` is the position in the
    run's table of contents, from 1; 0 when unknown.
    """

    schema: str
    run: int = 1
    index: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    row_count: int | None = None
    location: str = ""


@dataclass(frozen=True)
class TraceInfo:
    """Where and how a run was recorded; empty strings and None where the input does not say."""

    name: str
    kind: Literal["xctrace-xml", "trace-bundle", "pack"]
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


@dataclass(frozen=True)
class RunInfo:
    """One run of a table of contents: its ``TraceInfo``, its tables, and the pids that it lists."""

    info: TraceInfo
    tables: tuple[TableInfo, ...]
    pids: frozenset[int] = frozenset()


WeightUnit: TypeAlias = Literal["ns", "cycles", "events"]


@dataclass(frozen=True)
class Trace:
    """One run of one recording in the model's columns; see the ``Columns`` of this module.

    ``weight_unit`` says what the recorder counted: "ns" fills ``samples.weight_ns``, otherwise the column
    named by the unit holds the weight and ``weight_ns`` is missing. ``counters`` is row-aligned to
    ``samples``, one int64 column per PMC event. ``tables`` is every table that the input is known to hold.
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

    @cached_property
    def weights(self) -> IntArray:
        """The samples' weights in ``weight_unit``, one int64 per sample; 0 where the row had none."""
        name = "weight_ns" if self.weight_unit == "ns" else self.weight_unit
        return self.samples[name].fillna(0).to_numpy(np.int64)
