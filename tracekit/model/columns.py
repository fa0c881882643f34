"""The columns of each frame of the model, declared once.

Times are int64 nanoseconds since the start of the run. Intervals are half-open, ``[start_ns, end_ns)``.
Of ids and of numbers in ``NULLABLE``, -1 is missing. ``Columns.check`` compares a frame with its declaration
where data enters. docs/columns.md is made from the declarations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import TracekitError
from tracekit.frozen import frozen

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

_UNITS = {"ns": "ns", "nj": "nJ"}


@frozen
class Column:
    """The declaration of a column: its type (the name of a pandas dtype, or Arrow's), and a text for docs."""

    type: Any
    meaning: str


def get_unit(name: str) -> str:
    """Return the unit of the numbers in a column, which its name ends with; "" for counts and texts."""
    return _UNITS.get(name.rpartition("_")[2], "")


_Declared: TypeAlias = Mapping[str, str | Column]
"""By name: a dtype, or a dtype with its meaning."""


class Columns:
    """A frame's declared columns, in order; ``optional`` ones may be absent.

    ``required`` and ``optional`` are name → dtype, ``meanings`` those of columns whose name is not enough.
    """

    def __init__(self, required: _Declared, optional: _Declared = MappingProxyType({})) -> None:
        self.required = {name: _get_type(column) for name, column in required.items()}
        self.optional = {name: _get_type(column) for name, column in optional.items()}
        declared = {**required, **optional}
        self.meanings = {name: c.meaning for name, c in declared.items() if isinstance(c, Column)}

    def empty(self) -> pd.DataFrame:
        """Return a new frame with no row and the required columns in their dtypes."""
        return self._template.copy()

    @cached_property
    def _template(self) -> pd.DataFrame:
        # Built once: it takes pandas half a millisecond, and an analysis needs dozens of empty frames.
        return pd.DataFrame({name: _make_empty(dtype) for name, dtype in self.required.items()})

    def check(self, frame: pd.DataFrame, what: str) -> pd.DataFrame:
        """Return ``frame`` unchanged, or raise ``TracekitError`` naming the first wrong column."""
        dtypes = dict(zip(frame.columns, map(str, frame.dtypes), strict=True))
        for name, dtype in {**self.required, **self.optional}.items():
            if name not in dtypes and name in self.required:
                raise TracekitError(f"{what}: the column '{name}' is missing")
            if dtypes.get(name, dtype) != dtype:
                raise TracekitError(f"{what}: the column '{name}' has dtype {dtypes[name]}, expected {dtype}")
        return frame


@cache
def _make_empty(dtype: str) -> pd.Categorical | pd.Series[Any]:
    """Return a column without rows, which frames copy."""
    return make_categorical(np.zeros(0, np.int8), []) if dtype == "category" else pd.Series([], dtype=dtype)


def _get_type(column: str | Column) -> str:
    return column if isinstance(column, str) else str(column.type)


def make_categorical(codes: npt.NDArray[np.integer[Any]], names: Sequence[str]) -> pd.Categorical:
    """Return a category column of the given names by their positions; -1 is missing."""
    build = _build_kept_type if isinstance(names, tuple) else _build_category_type
    return pd.Categorical.from_codes(codes, dtype=build(names))


def _build_category_type(names: Sequence[str]) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(pd.Index([str(name) for name in names], dtype="str"), ordered=False)


# Tuples are the engines, phases and bases: an analysis makes a hundred columns of them.
_build_kept_type = lru_cache(maxsize=64)(_build_category_type)


def take_texts(codes: npt.NDArray[np.integer[Any]], texts: Sequence[str]) -> pd.Categorical:
    """Return the category column ``texts[code]``; a text may occur more than once, or be unused."""
    # Texts may repeat under several codes; a category must not. Distinct used texts get new codes:
    #   texts a b a c    codes 2 0 1    used 0 1 2 -> distinct a b, code_of 0 1 0    result 0 0 1
    is_used = np.zeros(len(texts), bool)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    number, distinct = pd.factorize(np.array([texts[position] for position in used.tolist()], dtype=object))
    code_of = np.zeros(len(texts), np.int32)
    code_of[used] = number
    return make_categorical(code_of[codes], distinct.tolist())


NULLABLE = frozenset(
    {
        "thread_id",
        "stack_id",
        "binary_id",
        "pid",
        "tid",
        "core",
        "command_buffer",
        "source_line",
        "status",
        "prompt_tokens",
        "cached_tokens",
        "response_tokens",
        "total_tokens",
        "errors",
    }
)
"""Columns of ids and numbers in which -1 is missing."""


def with_missing(frame: pd.DataFrame, columns: Collection[str] = NULLABLE) -> pd.DataFrame:
    """Return a copy in which -1 of these columns is ``<NA>``, with the nullable dtype of the same width.

    The model's own frames keep -1: numpy indexes with it (the last entry of a lookup is the value for
    "none"), and plain integers are quicker than masked ones. What users see has ``<NA>``, which no sum or
    mean includes.
    """
    replaced = {
        name: pd.arrays.IntegerArray(values.copy(), values == -1)
        for name in frame.columns
        if name in columns and (values := frame[name].to_numpy()).dtype.kind == "i"
    }
    return frame.assign(**replaced)


SAMPLES = Columns(
    {
        "time_ns": "int64",
        "weight_ns": Column("Int64", "missing where the recorder does not count time"),
        "thread_id": Column("int32", "row of `threads`"),
        "core": Column("int16", "missing: not recorded"),
        "state": "category",
        "stack_id": Column("int32", "row of `trace.stacks`"),
    },
    optional={
        "cycles": Column("int64", "of a CPU profile"),
        "events": Column("int64", "of event-triggered counters"),
        "samples": Column("int64", "of texts that count stacks, without times"),
        "hits": Column("int64", "of breakpoints"),
    },
)
THREADS = Columns({"tid": "int64", "name": "str", "pid": "int64", "process": "str"})
PROCESSES = Columns({"pid": "int64", "name": "str"})
INTERVALS = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",
        "engine": "category",
        "phase": Column("category", "missing: a call or a request as a whole, or GPU work with no ML mark"),
        "label": Column("category", "in the table's own words, never a prompt or an answer"),
        "model": Column("category", '"": unknown'),
        "copy": Column("category", 'its loaded copy, as the runtime numbers it: Enc-2; "": unknown'),
        "segment": Column("category", 'the part of its program that the Neural Engine ran: Op1; "": unknown'),
        "channel": Column("category", "the table's kind of work: Compute, Prediction, …"),
        "pid": Column("int64", "missing: no table names one"),
        "source": Column("category", "the schema"),
        "depth": Column("int16", "0: outermost"),
        "command_buffer": Column("int64", "missing: none"),
    }
)
SIGNPOSTS = Columns(
    {
        "start_ns": "int64",
        "end_ns": Column("int64", "of anything but an interval: `start_ns`"),
        "kind": Column("category", "interval, event, or begin or end without its partner"),
        "name": "category",
        "subsystem": "category",
        "category": Column("category", "App state: states of the app, from `life-cycle-period`"),
        "identifier": "uint64",
        "pid": "int64",
        "tid": Column("int64", "of the begin"),
        "message": "str",
        "source": "category",
    }
)
ENGINE_LOG = Columns(
    {
        "time_ns": "int64",
        "kind": Column(
            "category",
            "request; failure: an error of one; unsupported operator; not loaded; loaded: a program that the"
            " kernel made",
        ),
        "status": Column("int64", "of a request or failure: 0 is served; missing: none given"),
        "operator": Column("category", '"": none'),
        "reason": "category",
        "subsystem": "category",
        "pid": "int64",
        "tid": "int64",
        "source": Column("category", "the schema, or the name of a text that was laid over the recording"),
    }
)
THREAD_STATES = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",
        "state": Column("category", "Running, Blocked, Runnable, Preempted, …"),
        "core": Column("int16", "missing: not recorded"),
        "tid": "int64",
        "pid": "int64",
    }
)
TRACKS = Columns(
    {
        "time_ns": "int64",
        "name": "category",
        "unit": "category",
        "value": Column("float64", "holds until the track's next row; NaN: unknown from here on"),
    }
)
METRICS = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",
        "name": "category",
        "value": Column("float64", "a sum over the interval"),
        "tid": "int64",
        "pid": "int64",
    }
)
MODEL_REQUESTS = Columns(
    {
        "start_ns": "int64",
        "end_ns": "int64",
        "request": Column("str", 'its id, as Foundation Models reports it; "": unknown'),
        "model": Column("category", '"": unknown'),
        "pid": "int64",
        "prompt_tokens": Column("int64", "as reported; missing: not known"),
        "cached_tokens": Column("int64", "as reported; missing likewise"),
        "response_tokens": Column("int64", "as reported; missing likewise"),
        "total_tokens": Column("int64", "as reported; missing likewise"),
        "errors": Column("int64", "their number as reported; missing likewise"),
        "cut": Column("bool", "its end was not recorded: ``end_ns`` is the recording's"),
    }
)
FRAMES = Columns(
    {
        "symbol": Column("category", "as the recording names it; without symbols 0x…"),
        "binary_id": Column("int32", "row of `binaries`"),
        "address": Column("uint64", "as recorded; [formats](formats.md) has the bias of return addresses"),
        "source_file": Column("category", '"": unknown'),
        "source_line": Column("int32", "missing: unknown"),
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
        "thread_id": Column("int32", "-1: all, or not known"),
        "source": "category",
        "basis": "category",
        "pid": Column("int64", "-1: all"),
        "model": Column("str", '"": unknown'),
        "copy": Column("str", 'the loaded copy, as Core ML numbers it; "": unknown'),
        "first": Column("bool", "the first of its model (or entry point) and process: it may be cold"),
        "alone": Column("bool", "no other call shares time with it"),
    }
)
ATTRIBUTION = Columns(
    {
        "window_id": Column("int64", "-1: outside every call"),
        "engine": "category",
        "phase": Column("category", "missing for engines whose work has no phase"),
        "samples": "int64",
        "sampled_ns": "Int64",
        "busy_ns": Column("Int64", "missing: no table measured this engine"),
        "waiting_ns": Column("Int64", "missing: not known"),
        "weight": Column("int64", "in `trace.weight_unit`"),
        "waiting_basis": Column("category", "measured, sampled or inferred; missing with `waiting_ns`"),
    }
)
