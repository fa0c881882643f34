"""Counters of the GPU's Neural Accelerators (M5, A19) → ``Trace.tracks``.

``gpu-counter-info`` names the counters, ``gpu-counter-value`` has their samples: time, counter, value.
Columns and names are published (tinygrad/tinygrad:extra/, Apple's Tech Talk 111432); no export with rows was
at hand.
Both cover the whole device, whatever process used the GPU; the units are a part of the GPU's cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import TRACKS, IntArray
from tracekit.model.schemas import GPU_COUNTER_NAMES, GPU_COUNTER_VALUES
from tracekit.model.tables import Table
from tracekit.model.trace import IssueCounter
from tracekit.parsers.tables.column_values import (
    TextColumn,
    extract_numbers,
    extract_texts,
    find_column,
    join_rows,
)

NAMES = {
    "Neural Accelerator Utilization": "GPU Neural Accelerators: utilization",
    "Neural Accelerator Limiter": "GPU Neural Accelerators: limiter",
}
"""The counters that are read, and the names of their tracks."""
_BIN_NS = 1_000_000
_MAX_ROWS = 20_000_000
"""A recording of a minute can have 50 million rows, of all counters together."""


def read_gpu_counters(tables: Callable[[str], Iterable[Table]], findings: IssueCounter) -> pd.DataFrame:
    """Return a track per counter: the mean of its samples in each millisecond, in percent.

    Issue: ``gpu-counters-not-read``. Values are read only where the counters are among those recorded.
    """
    track_of = {
        number: name for table in tables(GPU_COUNTER_NAMES) for number, name in _read_names(table).items()
    }
    frames = []
    for table in tables(GPU_COUNTER_VALUES) if track_of else ():
        if len(table) > _MAX_ROWS:
            text = (
                f"'{table.schema}' has {{n}} rows, more than are read: the Neural Accelerators have no lane"
            )
            findings.add("warning", "gpu-counters-not-read", text, len(table))
            continue
        frames.append(_compute_means(table, track_of))
    return join_rows(frames, TRACKS)


def _read_names(table: Table) -> dict[int, str]:
    """Return the counters to read by their numbers."""
    numbers, is_number = extract_numbers(table, "counter-id")
    words = extract_texts(table, "name").to_strings().tolist()
    pairs = zip(numbers.tolist(), is_number.tolist(), words, strict=True)
    return {number: NAMES[word] for number, is_known, word in pairs if is_known and word in NAMES}


def _compute_means(table: Table, track_of: dict[int, str]) -> pd.DataFrame:
    numbers, is_number = extract_numbers(table, "counter-id")
    times, is_timed = extract_numbers(table, "timestamp", "time")
    values = _read_values(table)
    rows = np.flatnonzero(
        is_number & is_timed & (times >= 0) & np.isin(numbers, list(track_of)) & np.isfinite(values)
    )
    names = sorted(set(track_of.values()))
    track = np.array([names.index(track_of[number]) for number in sorted(track_of)], np.int64)
    track = track[np.searchsorted(sorted(track_of), numbers[rows])]
    parts = [
        _compute_bin_means(times[rows[track == code]], values[rows[track == code]])
        for code in range(len(names))
    ]
    code = np.repeat(np.arange(len(names)), [len(part[0]) for part in parts])
    return pd.DataFrame(
        {
            "time_ns": np.concatenate([part[0] for part in parts]),
            "name": TextColumn(code.astype(np.int64), tuple(names)).to_category(),
            "unit": TextColumn.repeat("%", len(code)).to_category(),
            "value": np.concatenate([part[1] for part in parts]),
        }
    )


def _read_values(table: Table) -> npt.NDArray[np.float64]:
    column = find_column(table, ("value",))
    if column is None or column.kind not in ("int", "float"):
        return np.full(len(table), np.nan)
    return table.rows["value"].to_numpy(np.float64, na_value=np.nan)


def _compute_bin_means(
    times: IntArray, values: npt.NDArray[np.float64]
) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Return the mean of each bin with samples, and NaN after a bin that is followed by an empty one."""
    number, bin_of = np.unique(times // _BIN_NS, return_inverse=True)
    means = np.bincount(bin_of, values, len(number)) / np.maximum(
        np.bincount(bin_of, minlength=len(number)), 1
    )
    ends = number[np.append(np.diff(number) > 1, True)[: len(number)]] + 1
    starts = np.append(number, ends) * _BIN_NS
    order = np.argsort(starts, kind="stable")
    return starts[order], np.append(means, np.full(len(ends), np.nan))[order]
