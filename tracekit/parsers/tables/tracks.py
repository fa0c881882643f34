"""Values that hold for a while → ``Trace.tracks``: GPU activity, its Neural Accelerators, heat, power.

A row of the table sets a value at its start, and an unknown value at its end unless the next row follows at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from tracekit.model.columns import TRACKS
from tracekit.model.power_rails import POWER_UNIT, POWERED_TRACK, TRACK_OF_RAIL
from tracekit.model.schemas import (
    ANE_POWER_STATE,
    ENGINE_PRESENCE,
    GPU_STATE,
    POWER_RAILS,
    PROCESS_USAGE,
    THERMAL_STATE,
)
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.parsers.tables.column_values import (
    TextColumn,
    extract_floats,
    extract_numbers,
    extract_texts,
    join_rows,
    sort_rows,
)
from tracekit.parsers.tables.gpu_counters import read_gpu_counters
from tracekit.parsers.tables.row_times import OPEN_NS, RowTimes, read_times

_THERMAL_LEVELS = {"Nominal": 0.0, "Fair": 1.0, "Serious": 2.0, "Critical": 3.0}


def read_tracks(tables: Callable[[str], Iterable[Table]]) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the tracks of every table of ``TRACK_TABLES``, and of the GPU's counters, sorted by time."""
    findings = IssueCounter()
    readers = (
        (GPU_STATE, _read_gpu),
        (THERMAL_STATE, _read_thermal),
        (POWER_RAILS, _read_power),
        (ANE_POWER_STATE, _read_powered),
        (PROCESS_USAGE, _read_held_memory),
        (ENGINE_PRESENCE, _read_floors),
    )
    frames = [read(table, findings) for schema, read in readers for table in tables(schema)]
    frames.append(read_gpu_counters(tables, findings))
    tracks = sort_rows(join_rows(frames, TRACKS), "time_ns")
    return TRACKS.check(tracks, "tracks"), findings.issues()


def _read_gpu(table: Table, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    active = extract_texts(spans.table, "state").compute(lambda word: float(word == "Active"), np.float64)
    return _build_track(spans, active, TextColumn.repeat("GPU active", len(spans.table)), "")


def _read_thermal(table: Table, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    state = extract_texts(spans.table, "thermal-state")
    strange = state.compute(lambda word: word not in _THERMAL_LEVELS, np.bool_)
    text = f"{{n}} rows of '{table.schema}' have an unknown state, and so an unknown level"
    findings.add("info", "thermal-state-unknown", text, int(strange.sum()))
    level = state.compute(lambda word: _THERMAL_LEVELS.get(word, np.nan), np.float64)
    return _build_track(
        spans, level, extract_texts(spans.table, "track-label").map(_name_thermal_track), "level"
    )


def _read_power(table: Table, findings: IssueCounter) -> pd.DataFrame:
    """Return the power of each rail; a value holds for its sample's length and is unknown between samples."""
    spans = read_times(table, findings)
    power = extract_floats(spans.table, "power-mw")
    names = extract_texts(spans.table, "rail").map(lambda rail: TRACK_OF_RAIL.get(rail, f"{rail} power"))
    return _build_track(spans, power, names, POWER_UNIT)


def _read_powered(table: Table, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    is_on, _ = extract_numbers(spans.table, "state")
    devices = extract_texts(spans.table, "device")
    is_single = len(devices.list_used()) < 2
    names = devices.map(lambda device: POWERED_TRACK if is_single else f"{POWERED_TRACK} ({device})")
    return _build_track(spans, is_on.astype(np.float64), names, "")


def _read_held_memory(table: Table, findings: IssueCounter) -> pd.DataFrame:
    """Return what each process held on the Neural Engine, by its name and number."""
    from tracekit.model.engine_memory import HELD_TRACK, HELD_UNIT

    spans = read_times(table, findings)
    held, _ = extract_numbers(spans.table, "neural-bytes")
    pids, _ = extract_numbers(spans.table, "pid")
    processes = extract_texts(spans.table, "process").to_strings().tolist()
    labels = [f"{HELD_TRACK}{process} [{pid}]" for process, pid in zip(processes, pids.tolist(), strict=True)]
    codes, names = pd.factorize(np.array(labels, object))
    return _build_track(spans, held / 1e6, TextColumn(codes, tuple(map(str, names))), HELD_UNIT)


def _read_floors(table: Table, findings: IssueCounter) -> pd.DataFrame:
    """Return the share of time that each floor was held above its lowest state."""
    from tracekit.model.engine_memory import FLOOR_TRACK, FLOOR_UNIT

    spans = read_times(table, findings)
    shares = extract_floats(spans.table, "above-lowest")
    names = extract_texts(spans.table, "channel").map(lambda channel: f"{FLOOR_TRACK}{channel}")
    return _build_track(spans, shares, names, FLOOR_UNIT)


def _name_thermal_track(label: str) -> str:
    return "Thermal state" if label in ("", "Current") else f"Thermal state ({label})"


def _build_track(
    spans: RowTimes, values: np.ndarray[tuple[int], np.dtype[np.float64]], name: TextColumn, unit: str
) -> pd.DataFrame:
    """Return a row for each value, and one with NaN where no other value follows at once."""
    rows = pd.DataFrame(
        {
            "time_ns": spans.start_ns,
            "name": name.to_category(),
            "unit": TextColumn.repeat(unit, len(values)).to_category(),
            "value": values,
            "end": spans.end_ns,
        }
    )
    rows = sort_rows(rows, "time_ns")
    ends = []
    for _, track in rows.groupby("name", observed=True, sort=False):
        reach = np.maximum.accumulate(track["end"].to_numpy(np.int64))
        # A track's value ends where no later row of it continues:  |--a--|  |--b--|  gives a, NaN, b, NaN.
        following = np.append(track["time_ns"].to_numpy(np.int64)[1:], OPEN_NS)
        closes = following > reach  # never for a row that is open
        ends.append(track.assign(time_ns=reach, value=np.nan)[closes])
    all_rows = pd.concat([rows, *ends], ignore_index=True).drop(columns="end")
    return sort_rows(all_rows, "time_ns")
