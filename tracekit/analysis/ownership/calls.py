"""Calls: the windows of an analysis that own the work of engines."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import Engine

UNKNOWN = -1
"""The code of a name that no table has."""


@frozen(eq=False)
class Calls:
    """The calls of an analysis, without the user's ranges, as parallel arrays."""

    window: IntArray
    starts: IntArray
    ends: IntArray
    pid: IntArray
    thread: IntArray
    model: IntArray
    """Positions in ``models``."""
    models: npt.NDArray[Any]
    """The distinct models; "" where no row of a table names it."""
    copy: IntArray
    """Positions in ``copies``, ``UNKNOWN`` where no table names the copy."""
    copies: npt.NDArray[Any]
    """The distinct loaded copies of models."""
    is_of_engine: BoolArray
    """Marks the calls that rows of the Neural Engine alone show."""
    is_listed: BoolArray
    """Marks the calls of sources that list every call."""
    logged: IntArray
    """Requests to the Neural Engine that the log shows as served."""

    @classmethod
    def of(cls, windows: pd.DataFrame, names: frozenset[str], logged: IntArray) -> Calls:
        """Return the calls among windows; a model that no row of a table names is not known."""
        starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        is_call = ~is_among(windows["source"], *GIVEN_SOURCES) & (ends > starts)
        rows = np.flatnonzero(is_call)
        code, distinct = pd.factorize(windows["model"].iloc[rows])
        known, models = pd.factorize(np.array([name if name in names else "" for name in distinct], object))
        copy, copies = pd.factorize(windows["copy"].iloc[rows].replace("", None))
        return cls(
            rows,
            starts[rows],
            ends[rows],
            windows["pid"].to_numpy(np.int64)[rows],
            windows["thread_id"].to_numpy(np.int64)[rows],
            known[code],
            models,
            copy,
            np.array(copies, object),
            is_among(windows["source"], *ANE_TABLES)[rows],
            ~is_among(windows["source"], "stacks", *ANE_TABLES)[rows],
            logged[rows],
        )

    @classmethod
    def of_runtimes(cls, frame: pd.DataFrame, names: frozenset[str]) -> Calls:
        """Return the calls that runtimes report, which are not windows: each ``window`` is -1."""
        is_call = is_among(frame["engine"], Engine.RUNTIME) & is_among(frame["source"], *RUNTIMES)
        rows = frame[is_call & (frame["phase"].isna() & (frame["depth"] == 0)).to_numpy(bool)]
        rows = rows.assign(model=rows["model"].astype("str"), copy=rows["copy"].astype("str"), thread_id=-1)
        calls = cls.of(rows, names, np.zeros(len(rows), np.int64))
        return replace(calls, window=np.full(len(calls), -1))

    def __len__(self) -> int:
        return len(self.window)

    def lack_callers(self, callers: IntArray) -> bool:
        """Return whether some of these threads made calls that are not listed.

        A thread of no call may have made those whose thread is not known, if so many are under way at once as
        there are threads.
        """
        if np.isin(callers, self.thread).all():
            return False
        listed_rows = np.flatnonzero(self.is_listed)
        edges = np.concatenate([self.starts[listed_rows], self.ends[listed_rows]])
        step = np.repeat([1, -1], len(listed_rows))
        at_once = np.cumsum(step[np.lexsort((step, edges))])
        return int(at_once.max(initial=0)) < len(callers)

    @cached_property
    def has_several_threads(self) -> BoolArray:
        """Marks the calls of models whose calls are not all known to be of one thread."""
        lowest_thread, highest_thread = np.full((2, len(self.models)), [[np.iinfo(np.int64).max], [-1]])
        np.minimum.at(lowest_thread, self.model, self.thread)
        np.maximum.at(highest_thread, self.model, self.thread)
        mask: BoolArray = ((lowest_thread < highest_thread) | (lowest_thread < 0))[self.model]
        return mask

    @property
    def nameless(self) -> int:
        """The position in ``models`` of calls without a model, -1 where all have one."""
        return next((position for position, name in enumerate(self.models.tolist()) if not name), -1)
