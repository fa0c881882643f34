"""Signposts that bracket predictions: intervals of the app that hold one prediction each.

An app that marks its inference itself has the exact edges of each call. Which of its signposts do that
follows from the stacks: on the thread of the signposts, every sample inside a prediction lies in one of the
intervals, and no interval has two predictions, that is a sample outside of any between samples inside, or an
interval of the Neural Engine's table whose label comes twice.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_rows
from tracekit.analysis.windows.table_windows import select_signpost_intervals
from tracekit.analysis.windows.window import Window, mark_overlapping, sampling_period_ns
from tracekit.model.columns import IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import MODEL_IN_MESSAGE, Basis, Phase

_MIN_INTERVALS = 3
"""Minimum number of intervals of one name that rules out coincidence."""
_MAX_KINDS = 64
_SLACK_DIVISOR = 4
"""The clocks of signposts and samples may differ by a quarter of a sampling period: a choice."""


def find_bracketing_windows(trace: Trace, labels: SampleLabels, pids: frozenset[int]) -> list[Window]:
    """Return the intervals of the signpost that brackets the predictions best, none where no signpost does.

    Of several that do, nested in each other, it is the one with the shortest intervals.
    """
    rows = select_signpost_intervals(trace)
    if pids:
        rows = rows[rows["pid"].isin(pids).to_numpy(bool)]
    if not len(rows) or not labels.in_call.any():
        return []
    samples = _Samples(trace, labels)
    kinds = sorted(group_rows(rows, "subsystem", "category", "name"), key=lambda kind: -len(kind[1]))
    frequent = [rows.iloc[members] for _, members in kinds[:_MAX_KINDS] if len(members) >= _MIN_INTERVALS]
    fitting = [kind for kind in frequent if samples.is_bracketing(kind) and not _has_repeats(trace, kind)]
    if not fitting:
        return []
    return _build_windows(
        trace, min(fitting, key=lambda kind: int((kind["end_ns"] - kind["start_ns"]).sum()))
    )


class _Samples:
    """The samples of each thread, by its number of the system."""

    def __init__(self, trace: Trace, labels: SampleLabels) -> None:
        tids = np.append(trace.threads["tid"].to_numpy(np.int64), -1)
        tid = tids[trace.samples["thread_id"].to_numpy()]
        order = np.argsort(tid, kind="stable")
        self._tid, self._in_call = tid[order], labels.in_call[order]
        self._times = trace.samples["time_ns"].to_numpy(np.int64)[order]
        self._slack_ns = sampling_period_ns(trace) // _SLACK_DIVISOR

    def is_bracketing(self, kind: pd.DataFrame) -> bool:
        """Return whether each interval has one prediction, and no prediction lies outside of all of them."""
        filled_count = interval_count = 0
        for (tid,), rows in group_rows(kind, "tid"):
            start, stop = np.searchsorted(self._tid, [int(tid), int(tid) + 1])
            times, in_call = self._times[start:stop], self._in_call[start:stop]
            starts, ends = (kind[name].to_numpy(np.int64)[rows] for name in ("start_ns", "end_ns"))
            order = np.argsort(starts, kind="stable")
            starts, ends = starts[order] - self._slack_ns, ends[order] + self._slack_ns
            if mark_overlapping(starts + self._slack_ns, ends - self._slack_ns).any():
                return False
            position = np.searchsorted(starts, times[in_call], "right") - 1
            is_inside = (position >= 0) & (times[in_call] < ends[np.maximum(position, 0)])
            if not is_inside.all():
                return False
            opens = np.append(True, ~in_call[:-1])[: len(in_call)] & in_call
            opened = np.searchsorted(starts, times[opens], "right") - 1
            if len(opened) and np.bincount(opened, minlength=1).max() > 1:
                return False
            filled_count += len(np.unique(position))
            interval_count += len(rows)
        return 2 * filled_count >= interval_count > 0


def _has_repeats(trace: Trace, kind: pd.DataFrame) -> bool:
    """Return whether an interval has two executions of one label: it is more than one prediction."""
    starts, ends = _get_edges(kind)
    order = np.argsort(starts, kind="stable")
    rows = _select_executions(trace)
    row_starts, row_ends = _get_edges(rows)
    position = np.searchsorted(starts[order], row_starts, "right") - 1
    is_inside = (position >= 0) & (row_ends <= ends[order][np.maximum(position, 0)])
    pairs = pd.DataFrame(
        {"call": position, "label": rows["label"].astype("str"), "start": row_starts, "end": row_ends}
    )
    pairs = pairs[is_inside].drop_duplicates()
    return bool(pairs.duplicated(["call", "label"]).any())


def _build_windows(trace: Trace, kind: pd.DataFrame) -> list[Window]:
    threads = {tid: row for row, tid in reversed(list(enumerate(trace.threads["tid"].tolist())))}
    columns = (kind[name].tolist() for name in ("start_ns", "end_ns", "name", "tid", "pid"))
    return [
        Window(start, end, str(name), "signpost", Basis.MEASURED, threads.get(tid, -1), pid, model)
        for start, end, name, tid, pid, model in zip(*columns, _find_models(trace, kind), strict=True)
    ]


def _find_models(trace: Trace, kind: pd.DataFrame) -> list[str]:
    """Return the model of each interval, "" where it is not known.

    The app's own messages name it, or the Neural Engine's rows, if all intervals have rows of one model. An
    interval without such rows may be a call of another model.
    """
    message_models = kind["message"].str.extract(MODEL_IN_MESSAGE, expand=False).fillna("")
    if (message_models != "").all():
        return message_models.tolist()
    starts, ends = _get_edges(kind)
    order = np.argsort(starts, kind="stable")
    rows = _select_executions(trace)
    row_starts, row_ends = _get_edges(rows)
    position = np.searchsorted(starts[order], row_starts, "right") - 1
    is_inside = (position >= 0) & (row_ends <= ends[order][np.maximum(position, 0)])
    models = rows["model"].astype("str")[is_inside].unique().tolist()
    is_every = len(np.unique(position[is_inside])) == len(kind)
    return [models[0] if is_every and len(models) == 1 else ""] * len(kind)


def _select_executions(trace: Trace) -> pd.DataFrame:
    rows = trace.intervals
    is_work = (rows["phase"] == Phase.EXECUTE) & rows["source"].isin(ANE_TABLES) & (rows["depth"] <= 0)
    return rows[is_work.to_numpy(bool)]


def _get_edges(rows: pd.DataFrame) -> tuple[IntArray, IntArray]:
    return rows["start_ns"].to_numpy(np.int64), rows["end_ns"].to_numpy(np.int64)
