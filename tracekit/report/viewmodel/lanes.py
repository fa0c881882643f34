"""The lanes of a timeline: threads with their engines, measured intervals, signposts, tracks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import sum_by_code
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.combinations import iter_row_blocks
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, ML_ENGINES, PHASE_CODE, Engine, Phase
from tracekit.report.viewmodel.occupancy import Covered, Plane, measure_occupancy
from tracekit.report.viewmodel.owners import IntervalOwners, find_interval_owners
from tracekit.text import format_thread

MOST_SPANS = 20_000
"""The most intervals of a lane that are listed one by one; a longer lane has only its occupancy."""
_LANE_NAMES: dict[str, str] = {
    Engine.ANE: "Neural Engine",
    Engine.CPU: "CPU inference",
    Engine.RUNTIME: "ML runtime",
}
_APPLE = "com.apple."
_MOST_SIGNPOST_LANES = 20
_MOST_POINTS = 4_000


@frozen
class ThreadLane:
    """One thread; ``planes`` has a row of occupancy for each of ``engines`` (codes of ``ENGINE_CODE``)."""

    thread: int
    weight: float
    samples: int
    engines: tuple[int, ...]
    planes: npt.NDArray[np.uint8]


@frozen
class CallPairs:
    """The calls that own or may own a lane's rows: parallel arrays, in order of the row.

    ``is_sure`` marks the pairs for which the system reported the model of both.
    """

    row: IntArray
    call: IntArray
    is_sure: npt.NDArray[np.bool_]


@frozen
class SpanLane:
    """Intervals of one engine from one table; ``rows`` is None where there are too many to list.

    ``plane`` is the occupancy by the target, ``other_plane`` that by other processes and models, None where
    they have no interval. ``unions`` are the same two sets of time, exactly.
    """

    title: str
    engine: Engine
    source: str
    count: int
    rows: pd.DataFrame | None
    pairs: CallPairs
    plane: Plane
    other_plane: Plane | None
    unions: tuple[IntervalSet, IntervalSet]


@frozen
class Track:
    """A quantity over time; each value is valid until the next one, NaN is a gap."""

    name: str
    unit: str
    time: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]


def build_thread_lanes(analysis: Analysis, bins: int, duration_ns: int) -> list[ThreadLane]:
    """Return the threads that have samples, in the order of ``list_lane_threads``."""
    of_threads = _sum_by_thread(analysis)
    # Everywhere here a thread's slot is its row + 1, so that slot 0 holds the samples without a thread.
    present = np.flatnonzero(of_threads.samples.reshape(-1))
    planes = _build_planes(analysis, present, bins, duration_ns)
    lanes = []
    for slot in (list_lane_threads(analysis) + 1).tolist():
        engines = np.flatnonzero(of_threads.samples[slot])
        lanes.append(
            ThreadLane(
                slot - 1,
                float(of_threads.weight[slot].sum()),
                int(of_threads.samples[slot].sum()),
                tuple(engines.tolist()),
                planes[np.searchsorted(present, slot * len(ENGINES) + engines)],
            )
        )
    return lanes


@frozen
class _ThreadSums:
    """Sums by slot of a thread and code of an engine; ``ml_weight`` is that of ML work, by slot alone."""

    samples: IntArray
    weight: npt.NDArray[np.float64]
    ml_weight: npt.NDArray[np.float64]


def _sum_by_thread(analysis: Analysis) -> _ThreadSums:
    trace, labels = analysis.trace, analysis.labels
    threads = trace.samples["thread_id"].to_numpy()
    slots, engines = int(threads.max(initial=-1)) + 2, len(ENGINES)
    samples, weights = np.zeros(slots * engines, np.int64), np.zeros(slots * engines)
    ml_weights = np.zeros(slots)
    for block in iter_row_blocks(len(threads)):
        slot, weight = threads[block] + 1, trace.weights[block]
        pair = slot * engines + labels.engine[block]
        samples += sum_by_code(pair.astype(np.int64), trace.sample_counts[block], slots * engines)
        weights += np.bincount(pair, weight, slots * engines)
        is_ml = np.isin(labels.engine[block], [ENGINE_CODE[engine] for engine in ML_ENGINES])
        # Parked service threads are of an ML engine and do no work: they must not be listed before threads
        # that do.
        is_ml &= labels.phase[block] != PHASE_CODE[Phase.IDLE]
        ml_weights += np.bincount(slot[is_ml], weight[is_ml], slots)
    return _ThreadSums(samples.reshape(slots, engines), weights.reshape(slots, engines), ml_weights)


def _build_planes(analysis: Analysis, present: IntArray, bins: int, duration_ns: int) -> Plane:
    """Return the occupancy by each pair of a slot and an engine that has samples, in their order."""
    trace = analysis.trace
    threads, times = trace.samples["thread_id"].to_numpy(), trace.samples["time_ns"].to_numpy(np.int64)
    lengths = sample_lengths(trace)
    number = np.zeros(int(present[-1]) + 1 if len(present) else 1, np.int64)
    number[present] = np.arange(len(present))
    covered = Covered(len(present), bins, duration_ns)
    for block in iter_row_blocks(len(threads)):
        pair = (threads[block].astype(np.int64) + 1) * len(ENGINES) + analysis.labels.engine[block]
        covered.add(number[pair], times[block], times[block] + lengths[block])
    return covered.planes()


def list_lane_threads(analysis: Analysis) -> IntArray:
    """Return the threads that have samples, those with the most ML work first; -1 stands for "no thread"."""
    of_threads = _sum_by_thread(analysis)
    total, counts = of_threads.weight.sum(axis=1), of_threads.samples.sum(axis=1)
    order = sorted(
        np.flatnonzero(counts).tolist(), key=lambda slot: (-of_threads.ml_weight[slot], -total[slot], slot)
    )
    return np.array(order, np.int64) - 1


def format_thread_names(analysis: Analysis, thread: int) -> tuple[str, str, str | None]:
    """Return a lane's label, process, and tid in digits; ``thread`` -1 is the lane without a thread."""
    if thread < 0:
        return "no thread", "", None
    row = analysis.trace.threads.iloc[thread]
    tid = int(row["tid"])
    pid = int(row["pid"])
    process = f"{row['process']} ({pid})" if pid >= 0 else str(row["process"])
    return format_thread(row["name"], tid), process, str(tid)


def number_lanes(analysis: Analysis, threads: IntArray) -> IntArray:
    """Return the lane of each row of ``Trace.threads``, then that of samples without a thread; -1 is no lane.

    ``threads`` is the result of ``list_lane_threads``. Thread -1 indexes the last entry, which is its own.
    """
    lanes = np.full(len(analysis.trace.threads) + 1, -1, np.int64)
    lanes[threads] = np.arange(len(threads))
    return lanes


def sample_lengths(trace: Trace) -> IntArray:
    """Return the time that each sample represents: its weight if that is time, else the sampling gap."""
    if trace.weight_unit == "ns":
        return trace.weights
    return np.full(len(trace.samples), sample_period_ns(trace), np.int64)


def sample_period_ns(trace: Trace) -> int:
    """Return the typical distance of samples: their usual weight if that is time, else their usual gap."""
    if trace.weight_unit == "ns":
        return sampling_period_ns(trace)
    # The median, because pauses of a thread would lengthen a mean.
    gaps = np.diff(np.sort(trace.samples["time_ns"].to_numpy(np.int64), kind="stable"))
    gaps = gaps[gaps > 0]
    return int(np.median(gaps)) if len(gaps) else sampling_period_ns(trace)


def build_span_lanes(analysis: Analysis, bins: int, duration_ns: int) -> list[SpanLane]:
    """Return a lane per table and engine that reported intervals; calls have their own.

    ``rows`` has the columns start_ns, end_ns, name, is_target, which is False for the work of another process
    or model, and owner and reason (``IntervalOwners``); ``pairs`` are the calls that own or may own them.
    """
    owners = find_interval_owners(analysis)
    frame = analysis.trace.intervals
    is_shown = (frame["end_ns"] > frame["start_ns"]).to_numpy(bool) & ~_double_calls(analysis)
    lasting = np.flatnonzero(is_shown)
    frame = frame.iloc[lasting].reset_index(drop=True)
    per_engine = frame.groupby("engine", observed=True)["source"].nunique().to_dict()
    lanes = []
    for (source, engine), group in frame.groupby(["source", "engine"], observed=True, sort=True):
        rows = group.sort_values("start_ns", kind="stable")
        starts, ends = rows["start_ns"].to_numpy(np.int64), rows["end_ns"].to_numpy(np.int64)
        numbers = lasting[rows.index.to_numpy(np.int64)]
        is_target = ~owners.is_other[numbers]
        # Overlapping intervals occupy their time once, so the planes are drawn from unions.
        unions = (
            IntervalSet.of(starts[is_target], ends[is_target]),
            IntervalSet.of(starts[~is_target], ends[~is_target]),
        )
        plane, other_plane = (
            measure_occupancy(union.starts, union.ends, bins, duration_ns) for union in unions
        )
        lanes.append(
            SpanLane(
                _name_lane(str(engine), "" if per_engine[engine] == 1 else str(source)),
                Engine(str(engine)),
                str(source),
                len(rows),
                _list_rows(rows, numbers, owners) if len(rows) <= MOST_SPANS else None,
                _list_pairs(numbers if len(rows) <= MOST_SPANS else numbers[:0], owners),
                plane,
                None if is_target.all() else other_plane,
                unions,
            )
        )
    return sorted(lanes, key=lambda lane: (ENGINES.index(lane.engine), lane.source))


def _name_lane(engine: str, source: str) -> str:
    """Return the lane's name; the table distinguishes lanes of one engine."""
    name = _LANE_NAMES.get(engine, engine)
    return f"{name} ({source})" if source else name


def _double_calls(analysis: Analysis) -> npt.NDArray[np.bool_]:
    """Mark the intervals of a runtime that are calls of the analysis: those have lanes of their own."""
    frame, calls = analysis.trace.intervals, analysis.window_rows
    edges = pd.MultiIndex.from_arrays([calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()])
    is_call = pd.MultiIndex.from_arrays([frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy()]).isin(
        edges
    )
    doubles: npt.NDArray[np.bool_] = is_call & (frame["engine"] == Engine.RUNTIME).to_numpy(bool)
    return doubles


def _list_pairs(numbers: IntArray, owners: IntervalOwners) -> CallPairs:
    row, pairs = owners.pairs_of(numbers)
    return CallPairs(row, owners.pair_call[pairs], owners.is_sure[pairs])


def _list_rows(rows: pd.DataFrame, numbers: IntArray, owners: IntervalOwners) -> pd.DataFrame:
    """Return the rows as a view lists them; an interval without a label is named by its channel."""
    label, channel = rows["label"].astype("str"), rows["channel"].astype("str")
    return pd.DataFrame(
        {
            "start_ns": rows["start_ns"].to_numpy(np.int64),
            "end_ns": rows["end_ns"].to_numpy(np.int64),
            "name": label.where(label != "", channel).to_numpy(object),
            "is_target": ~owners.is_other[numbers],
            "owner": owners.owner[numbers],
            "reason": owners.reason[numbers],
        }
    )


def iter_signpost_lanes(analysis: Analysis) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each subsystem/category with signpost intervals and its rows: the app's own before Apple's.

    Among each, those with the most rows come first. Before them are the requests to language models that
    signposts mark, with their tokens.
    """
    if analysis.generations is not None:
        # Few recordings have such requests: the others need none of the imports.
        from tracekit.report.viewmodel.request_lanes import iter_request_lanes

        yield from iter_request_lanes(analysis.generations, MOST_SPANS)
    frame = analysis.trace.signposts
    frame = frame[(frame["kind"] == "interval").to_numpy(bool)]
    if not len(frame):
        return
    subsystem, category = (frame[name].astype("str") for name in ("subsystem", "category"))
    title = (subsystem + "/" + category).where((subsystem != "") | (category == ""), category)
    names = title.value_counts().index.tolist()
    names.sort(key=lambda name: name.startswith(_APPLE))  # keeps the order of their sizes
    for name in names[:_MOST_SIGNPOST_LANES]:
        rows = frame[(title == name).to_numpy(bool)].sort_values("start_ns", kind="stable")
        yield str(name), rows.head(MOST_SPANS // _MOST_SIGNPOST_LANES)


def build_tracks(analysis: Analysis) -> list[Track]:
    """Return every track; a long one is thinned, its extremes and gaps stay."""
    frame = analysis.trace.tracks
    result = []
    for (name, unit), group in frame.groupby(["name", "unit"], observed=True, sort=True):
        rows = group.sort_values("time_ns", kind="stable")
        time, value = rows["time_ns"].to_numpy(np.float64), rows["value"].to_numpy(np.float64)
        # A row that repeats the value before adds nothing; NaN is not equal to itself, hence the second test.
        changed = np.append(True, ~((value[1:] == value[:-1]) | (np.isnan(value[1:]) & np.isnan(value[:-1]))))
        time, value = time[changed], value[changed]
        if len(time) > _MOST_POINTS:
            time, value = _reduce_points(time, value)
        result.append(Track(str(name), str(unit), time, value))
    return result


def _reduce_points(
    time: npt.NDArray[np.float64], value: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the first, lowest, highest and one missing value of each of many stretches of equal length."""
    # Four rows per stretch at most: the first, the lowest, the highest, a gap. A peak of one row therefore
    # stays visible.
    stretches = _MOST_POINTS // 4
    stretch = np.arange(len(time)) * stretches // len(time)
    begins = np.flatnonzero(np.append(True, np.diff(stretch)))
    missing = np.isnan(value)
    # Missing values sort behind all others in the first two keys, and before them in the third.
    keys = (np.where(missing, np.inf, value), np.where(missing, np.inf, -value), np.where(missing, 0, 1))
    # Sorted by stretch, then by key, each stretch still begins at ``begins``: there stands its smallest key.
    smallest = [np.lexsort((key, stretch))[begins] for key in keys]
    rows = np.unique(np.concatenate([begins, *smallest]))
    return time[rows], value[rows]
