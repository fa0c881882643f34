"""Rows: the intervals of engines' tables that are to be assigned to owners."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import convert_categories, is_among, is_engine
from tracekit.analysis.engines.ownership import NAMELESS, Ownership
from tracekit.analysis.ownership.calls import UNKNOWN, Calls
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import ENGINES, PHASE_CODE, PHASES, Engine, Phase

_NO_CALL = -2
"""The code of a name that no call has."""


@frozen(eq=False)
class Rows:
    """Rows as parallel arrays, with names as codes that they have in common with calls."""

    starts: IntArray
    ends: IntArray
    pid: IntArray
    engine: npt.NDArray[np.int8]
    is_work: BoolArray
    is_execution: BoolArray
    """Marks the rows of an engine's work on an inference."""
    is_other: BoolArray
    """Marks the rows of another process: their label or a table names it."""
    is_open: BoolArray
    """Marks the rows of the Neural Engine's work that name no process."""
    model: IntArray
    """The model, as a number from 0 on."""
    models: int
    """The number of models."""
    is_nameless: BoolArray
    """Marks the rows that name no model."""
    is_named_otherwise: BoolArray
    """Marks the rows whose label names a model, and no model of the app by its whole name."""
    pool: IntArray
    """The position of the model in ``Calls.models``, or after them for no name; -1 where no call is of it."""
    copy: IntArray
    label: IntArray
    """The label, as a number from 0 on; -1 for one that is the same for all models."""
    labels: int
    """The number of labels."""

    @classmethod
    def of(cls, frame: pd.DataFrame, owner: Ownership, calls: Calls, pids: frozenset[int]) -> Rows:
        """Return the rows of a frame; ``pids`` are the processes of the analysis and of its calls."""
        starts, ends, pid = (frame[name].to_numpy(np.int64) for name in ("start_ns", "end_ns", "pid"))
        engine, phase = (
            convert_categories(frame["engine"], ENGINES).astype(np.int8),
            convert_categories(frame["phase"], PHASES),
        )
        is_call = is_engine(engine, Engine.RUNTIME) & (phase < 0)
        is_work = (ends > starts) & ~is_call
        is_other = owner.other_process
        if pids:
            is_other = is_other | ((pid >= 0) & ~np.isin(pid, sorted(pids)))
        is_ane = is_among(frame["source"], *ANE_TABLES) & (phase == PHASE_CODE[Phase.EXECUTE])
        position = {name: code for code, name in enumerate(calls.models.tolist())}
        pools = {**position, "": len(calls.models)}
        # A label that names neither a model nor a part of one is the same for all models.
        nameless = owner.model_code == NAMELESS
        names_work = ~(is_among(frame["model"], "") & is_among(frame["segment"], ""))
        return cls(
            starts,
            ends,
            pid,
            engine,
            is_work,
            is_work & (phase == PHASE_CODE[Phase.EXECUTE]),
            is_other,
            is_ane & (pid < 0) & is_work & ~is_other,
            owner.model_code,
            len(owner.model_names),
            nameless,
            ~is_among(frame["model"], "")
            & (
                _convert_to_positions(frame["model"], owner.model_names)
                != np.where(nameless, _NO_CALL - 1, owner.model_code)
            ),
            np.array([pools.get(name, -1) for name in owner.model_names.tolist()])[owner.model_code],
            _convert_to_positions(frame["copy"], calls.copies),
            np.where(names_work, frame["label"].cat.codes.to_numpy(np.int64), -1),
            len(frame["label"].cat.categories),
        )

    def __len__(self) -> int:
        return len(self.starts)


def _convert_to_positions(column: pd.Series[str], names: npt.NDArray[Any]) -> IntArray:
    """Return a category column as positions in names."""
    position = {"": UNKNOWN, **{name: code for code, name in enumerate(names.tolist())}}
    codes = [*(position.get(name, _NO_CALL) for name in column.cat.categories.tolist()), _NO_CALL]
    positions: IntArray = np.array(codes, np.int64)[column.cat.codes.to_numpy()]
    return positions
