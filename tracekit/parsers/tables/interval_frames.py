"""Rows of a table as rows of ``Trace.intervals``, and what their readers share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import IntArray, make_categorical
from tracekit.model.tables import Table
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASES, Engine
from tracekit.parsers.tables.column_values import TextColumn, extract_pids, extract_small_numbers
from tracekit.parsers.tables.row_times import RowTimes


def build_interval_frame(
    spans: RowTimes,
    *,
    engine: IntArray,
    phase: IntArray,
    label: TextColumn,
    channel: TextColumn,
    model: TextColumn | None = None,
    segment: TextColumn | None = None,
    copy: TextColumn | None = None,
    pid: IntArray | None = None,
    depth: npt.NDArray[np.int16] | None = None,
    command_buffer: IntArray | None = None,
) -> pd.DataFrame:
    """Return the spans as rows of the model."""
    count = len(spans.table)
    nothing = TextColumn.repeat("", count)
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "engine": make_categorical(engine, ENGINES),
            "phase": make_categorical(phase, PHASES),
            "label": label.to_category(),
            "model": (model or nothing).to_category(),
            "copy": (copy or nothing).to_category(),
            "segment": (segment or nothing).to_category(),
            "channel": channel.to_category(),
            "pid": np.full(count, -1, np.int64) if pid is None else pid,
            "source": TextColumn.repeat(spans.table.schema, count).to_category(),
            "depth": np.zeros(count, np.int16) if depth is None else depth,
            "command_buffer": np.full(count, -1, np.int64) if command_buffer is None else command_buffer,
        }
    )


def repeat_engine(engine: Engine, spans: RowTimes) -> IntArray:
    """Return the engine's code for every span."""
    return np.full(len(spans.table), ENGINE_CODE[engine], np.int64)


def extract_depth(table: Table) -> npt.NDArray[np.int16]:
    """Return each row's depth as recorded, 0 where it is not."""
    return extract_small_numbers(table, "event-depth", missing=0)


def extract_pids_or_target(table: Table, target: int) -> IntArray:
    """Return each row's process; a table of one process is about the recording's target."""
    pid = extract_pids(table)
    single = "SINGLE" in (table.attributes.get("target-pid"), table.attributes.get("target"))
    return np.where(pid < 0, target, pid) if single else pid


def list_words(words: list[str], limit: int = 8) -> str:
    """Return ``'Daydream', 'Nap' and 3 more``, each word clipped."""
    quoted_words = ", ".join(f"'{word[:60]}'" for word in words[:limit])
    return f"{quoted_words} and {len(words) - limit} more" if len(words) > limit else quoted_words
