"""Rows of a table as rows of ``Trace.intervals``, and what their readers share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import IntArray, make_categorical
from tracekit.model.tables import Table
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASES, Engine
from tracekit.parsers.tables.column_values import Texts, pids_of, small_numbers_of
from tracekit.parsers.tables.row_times import RowTimes


def interval_frame(
    spans: RowTimes,
    *,
    engine: IntArray,
    phase: IntArray,
    label: Texts,
    channel: Texts,
    model: Texts | None = None,
    segment: Texts | None = None,
    copy: Texts | None = None,
    pid: IntArray | None = None,
    depth: npt.NDArray[np.int16] | None = None,
    command_buffer: IntArray | None = None,
) -> pd.DataFrame:
    """Return the spans as rows of the model."""
    count = len(spans.table)
    nothing = Texts.same("", count)
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "engine": make_categorical(engine, ENGINES),
            "phase": make_categorical(phase, PHASES),
            "label": label.category(),
            "model": (model or nothing).category(),
            "copy": (copy or nothing).category(),
            "segment": (segment or nothing).category(),
            "channel": channel.category(),
            "pid": np.full(count, -1, np.int64) if pid is None else pid,
            "source": Texts.same(spans.table.schema, count).category(),
            "depth": np.zeros(count, np.int16) if depth is None else depth,
            "command_buffer": np.full(count, -1, np.int64) if command_buffer is None else command_buffer,
        }
    )


def same_engine(engine: Engine, spans: RowTimes) -> IntArray:
    """Return the engine's code for every span."""
    return np.full(len(spans.table), ENGINE_CODE[engine], np.int64)


def depth_of(table: Table) -> npt.NDArray[np.int16]:
    """Return each row's depth as recorded, 0 where it is not."""
    return small_numbers_of(table, "event-depth", missing=0)


def pids_or_target(table: Table, target: int) -> IntArray:
    """Return each row's process; a table of one process is about the recording's target."""
    pid = pids_of(table)
    single = "SINGLE" in (table.attributes.get("target-pid"), table.attributes.get("target"))
    return np.where(pid < 0, target, pid) if single else pid


def listed_words(words: list[str], most: int = 8) -> str:
    """Return ``'Daydream', 'Nap' and 3 more``, each word clipped."""
    listed = ", ".join(f"'{word[:60]}'" for word in words[:most])
    return f"{listed} and {len(words) - most} more" if len(words) > most else listed
