"""The lanes of a timeline: threads with their engines, measured intervals, signposts, tracks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.measured import Owners
from tracekit.analysis.result import Analysis
from tracekit.model.columns import IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, ML_ENGINES, PHASE_CODE, Engine, Phase
from tracekit.report.viewmodel.occupancy import Plane, occupancy

MOST_SPANS = 20_000
"""So many intervals of a lane are kept one by one; of more, only how much of each bin they cover."""
_MOST_SIGNPOST_LANES = 20
_MOST_POINTS = 4_000


@dataclass(frozen=True)
class ThreadLane:
    """One thread: ``planes`` has a row per entry of ``engines``, its codes in ``engines.ENGINES``."""

    thread: int
    weight: float
    samples: int
    engines: tuple[int, ...]
    planes: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class SpanLane:
    """Intervals of one engine from one table; ``rows`` is None where there are too many to keep.

    ``plane`` is the target's, ``others`` that of other processes and models, None where there is nothing.
    ``unions`` are the starts and ends of both, those that touch put together.
    """

    title: str
    engine: Engine | None
    source: str
    count: int
    rows: pd.DataFrame | None
    plane: Plane
    others: Plane | None
    unions: tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]


@dataclass(frozen=True)
class Track:
    """A quantity that holds until its next value."""

    name: str
    unit: str
    time: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]


def thread_lanes(analysis: Analysis, bins: int, duration_ns: int) -> list[ThreadLane]:
    """Return the threads that have samples, in the order of ``lane_threads``."""
    trace = analysis.trace
    thread = trace.samples["thread_id"].to_numpy(np.int64)
    start = trace.samples["time_ns"].to_numpy(np.int64)
    length = sample_lengths(trace)
    total = np.bincount(thread + 1, trace.weights.astype(np.float64))
    counts = np.bincount(thread + 1)
    groups = _rows_by(thread + 1, analysis.labels.engine.astype(np.int64), len(ENGINES))
    lanes = []
    for at in (lane_threads(analysis) + 1).tolist():
        own = [code for code in range(len(ENGINES)) if (at, code) in groups]
        planes = [
            occupancy(start[rows], start[rows] + length[rows], bins, duration_ns)
            for rows in (groups[at, code] for code in own)
        ]
        lanes.append(ThreadLane(at - 1, float(total[at]), int(counts[at]), tuple(own), np.stack(planes)))
    return lanes


def lane_threads(analysis: Analysis) -> IntArray:
    """Return the threads that have samples, -1 for none: those with the most work of ML first."""
    trace, labels = analysis.trace, analysis.labels
    thread = trace.samples["thread_id"].to_numpy(np.int64)
    is_ml = np.isin(labels.engine, [ENGINE_CODE[one] for one in ML_ENGINES])
    is_ml &= labels.phase != PHASE_CODE[Phase.IDLE]
    weight = trace.weights.astype(np.float64)
    number = int(thread.max(initial=-1)) + 2
    of_ml = np.bincount(thread + 1, weight * is_ml, number)
    total = np.bincount(thread + 1, weight, number)
    counts = np.bincount(thread + 1, minlength=number)
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda at: (-of_ml[at], -total[at], at))
    return np.array(order, np.int64) - 1


def thread_names(analysis: Analysis, thread: int) -> tuple[str, str, str | None]:
    """Return a lane's label, its process, and its tid in digits; ``thread`` -1 is of samples without one."""
    if thread < 0:
        return "no thread", "", None
    row = analysis.trace.threads.iloc[thread]
    tid = int(row["tid"])
    return f"{row['name']} (0x{tid:x})", f"{row['process']} ({int(row['pid'])})", str(tid)


def lanes_of_threads(analysis: Analysis, threads: IntArray) -> IntArray:
    """Return the lane of each row of ``Trace.threads``, and last that of samples without one; -1: no lane.

    ``threads`` are those that ``lane_threads`` returns.
    """
    lanes = np.full(len(analysis.trace.threads) + 1, -1, np.int64)
    lanes[threads] = np.arange(len(threads))
    return lanes


def sample_lengths(trace: Trace) -> IntArray:
    """Return how long samples stand for: weights where those are time, else the usual time between two."""
    if trace.weight_unit == "ns":
        return trace.weights
    times = trace.samples["time_ns"].to_numpy(np.int64)
    return np.full(len(times), _usual_gap(times), np.int64)


def _usual_gap(times: IntArray) -> int:
    gaps = np.diff(np.unique(times))
    return int(np.median(gaps)) if len(gaps) else 1_000_000


def _rows_by(first: IntArray, second: IntArray, count: int) -> dict[tuple[int, int], IntArray]:
    key = first * count + second
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    parts = np.split(order, cuts) if len(order) else []
    return {divmod(int(key[rows[0]]), count): rows for rows in parts}


def span_lanes(analysis: Analysis, bins: int, duration_ns: int) -> list[SpanLane]:
    """Return a lane per table and engine that reported intervals; windows have their own.

    ``rows`` has the columns start_ns, end_ns, name and own: False for another process's or model's work.
    """
    frame = analysis.trace.intervals
    frame = frame[(frame["end_ns"] > frame["start_ns"]).to_numpy(bool)]
    own = _are_own(analysis, frame)
    lanes = []
    for (source, engine), rows in frame.assign(own=own).groupby(
        ["source", "engine"], observed=True, sort=True
    ):
        rows = rows.sort_values("start_ns", kind="stable")  # noqa: PLW2901
        starts, ends = rows["start_ns"].to_numpy(np.int64), rows["end_ns"].to_numpy(np.int64)
        kept = None
        if len(rows) <= MOST_SPANS:
            name = (
                rows["label"]
                .astype("str")
                .where(rows["label"].astype("str") != "", rows["channel"].astype("str"))
            )
            kept = pd.DataFrame(
                {
                    "start_ns": starts,
                    "end_ns": ends,
                    "name": name.to_numpy(object),
                    "own": rows["own"].to_numpy(bool),
                }
            )
        mine = rows["own"].to_numpy(bool)
        unions = _union(starts[mine], ends[mine]), _union(starts[~mine], ends[~mine])
        plane, others = (occupancy(*one, bins, duration_ns) for one in unions)
        title = f"{engine} ({source})"
        lanes.append(
            SpanLane(
                title,
                Engine(str(engine)),
                str(source),
                len(rows),
                kept,
                plane,
                None if mine.all() else others,
                unions,
            )
        )
    order = {engine: at for at, engine in enumerate(ENGINES)}
    return sorted(lanes, key=lambda lane: (order[lane.engine or Engine.OTHER], lane.source))


def _are_own(analysis: Analysis, frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return which intervals are the target's, as far as processes and models tell."""
    pids = {int(pid) for pid in analysis.window_rows["pid"] if pid >= 0}
    if analysis.trace.info.pid is not None:
        pids.add(analysis.trace.info.pid)
    pid = frame["pid"].to_numpy(np.int64)
    own = (pid < 0) | np.isin(pid, sorted(pids)) if pids else np.ones(len(frame), bool)
    if frame["source"].isin(ANE_TABLES).any():
        own &= ~Owners(frame, not analysis.measured.owner.unclaimed).foreign
    return own


def _union(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return sorted intervals with those that touch put together."""
    if not len(starts):
        return starts, ends
    reach = np.maximum.accumulate(ends)
    begins = np.append(True, starts[1:] > reach[:-1])
    return starts[begins], reach[np.append(begins[1:], True)]


def signpost_lanes(analysis: Analysis) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the subsystems and categories with intervals that an app marked, those with most first."""
    frame = analysis.trace.signposts
    frame = frame[(frame["kind"] == "interval").to_numpy(bool)]
    if not len(frame):
        return
    title = frame["subsystem"].astype("str") + "/" + frame["category"].astype("str")
    sizes = title.value_counts()
    for name in sizes.index[:_MOST_SIGNPOST_LANES]:
        rows = frame[(title == name).to_numpy(bool)].sort_values("start_ns", kind="stable")
        yield str(name), rows.head(MOST_SPANS // _MOST_SIGNPOST_LANES)


def tracks(analysis: Analysis) -> list[Track]:
    """Return every track, long ones thinned to where they change most."""
    frame = analysis.trace.tracks
    found = []
    for (name, unit), rows in frame.groupby(["name", "unit"], observed=True, sort=True):
        rows = rows.sort_values("time_ns", kind="stable")  # noqa: PLW2901
        time, value = rows["time_ns"].to_numpy(np.float64), rows["value"].to_numpy(np.float64)
        changed = np.append(True, ~((value[1:] == value[:-1]) | (np.isnan(value[1:]) & np.isnan(value[:-1]))))
        time, value = time[changed], value[changed]
        if len(time) > _MOST_POINTS:
            time, value = _thinned(time, value)
        found.append(Track(str(name), str(unit), time, value))
    return found


def _thinned(
    time: npt.NDArray[np.float64], value: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Keep the first, lowest, highest and one missing value of each of many stretches."""
    stretches = _MOST_POINTS // 4
    bins = np.arange(len(time)) * stretches // len(time)
    begins = np.flatnonzero(np.append(True, np.diff(bins)))
    missing = np.isnan(value)
    keys = (np.where(missing, np.inf, value), np.where(missing, np.inf, -value), np.where(missing, 0, 1))
    least = [np.lexsort((key, bins))[begins] for key in keys]
    kept = np.unique(np.concatenate([begins, *least]))
    return time[kept], value[kept]
