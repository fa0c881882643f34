"""Runs of samples of one engine, phase and window on one thread, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.export.export_view import ExportView
from tracekit.model.columns import IntArray

_BLOCK_SAMPLES = 1 << 18
"""Samples that are processed together: in the worst case, each sample is a run of its own."""


class EngineRuns(NamedTuple):
    """Parallel arrays; -1 is an absent thread, phase or window."""

    thread: IntArray
    engine: IntArray
    phase: IntArray
    window: IntArray
    start_ns: IntArray
    end_ns: IntArray
    samples: IntArray
    weight: IntArray


def iter_engine_runs(view: ExportView) -> Iterator[EngineRuns]:
    """Yield the runs by thread and start, in blocks; of those with equal starts the longest is first.

    A run ends where a sample is missing, and where the next one of the thread begins: a weight may be longer
    than the distance. Runs of one thread with equal starts are in one block.
    """
    order = view.by_thread
    remaining = np.zeros((len(EngineRuns._fields), 0), np.int64)
    for block_start in range(0, len(order), _BLOCK_SAMPLES):
        runs = _find_runs(
            view, order[max(block_start - 1, 0) : block_start + _BLOCK_SAMPLES], remaining, block_start > 0
        )
        # The last run may go on in the next block, and runs that begin with it belong with it.
        held = EngineRuns(*runs)
        is_last = (held.thread == held.thread[-1]) & (held.start_ns == held.start_ns[-1])
        begin = int(np.argmax(is_last))
        finished = _without_overlap(runs[:, : begin + 1])[:, :begin]
        remaining = runs[:, begin:]
        if begin:
            yield _sort_longest_first(finished)
    if remaining.shape[1]:
        yield _sort_longest_first(_without_overlap(remaining))


def _find_runs(
    view: ExportView, rows: IntArray, earlier: npt.NDArray[np.int64], is_continued: bool
) -> npt.NDArray[np.int64]:
    """Return earlier runs and those of these samples, as the rows of a matrix in the order of ``EngineRuns``.

    If ``is_continued``, the first of the samples is the last one of the earlier runs.
    """
    times, weights = view.times[rows], view.trace.weights[rows]
    lengths = weights if view.trace.weight_unit == "ns" else np.zeros_like(weights)
    keys = [values[rows] for name, values in view.sample_columns().items() if name != "stack"]
    # A run begins where any key changes, or where the sample is more than two sampling periods after the end
    # of the one before.
    begins = np.diff(times) > 2 * sampling_period_ns(view.trace) + lengths[:-1]
    for key in keys:
        begins |= key[1:] != key[:-1]
    first_rows = np.flatnonzero(begins) + 1
    if not is_continued:
        first_rows = np.append(0, first_rows)
    elif (continued_count := int(np.append(first_rows, len(rows))[0])) > 1:  # the last earlier run goes on
        continued = EngineRuns(*earlier)  # views of its rows
        continued.end_ns[-1] = times[continued_count - 1] + lengths[continued_count - 1]
        continued.samples[-1] += continued_count - 1
        continued.weight[-1] += weights[1:continued_count].sum()
    if not len(first_rows):
        return earlier
    end = np.append(first_rows, len(rows))[1:] - 1
    columns = [
        *(key[first_rows].astype(np.int64) for key in keys),
        times[first_rows],
        times[end] + lengths[end],
        end - first_rows + 1,
        np.add.reduceat(weights, first_rows),
    ]
    return np.concatenate([earlier, np.stack(columns)], axis=1)


def _without_overlap(runs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the runs, each ending at the latest where the next run of its thread begins."""
    whole = EngineRuns(*runs)
    is_followed = np.append(whole.thread[1:] == whole.thread[:-1], False)
    cut = np.minimum(whole.end_ns, np.append(whole.start_ns[1:], 0))
    return np.stack(whole._replace(end_ns=np.where(is_followed, cut, whole.end_ns)))


def _sort_longest_first(runs: npt.NDArray[np.int64]) -> EngineRuns:
    ordered = EngineRuns(*runs)
    order = np.lexsort((-ordered.end_ns, ordered.start_ns, ordered.thread))
    return EngineRuns(*runs[:, order])
