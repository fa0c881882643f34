"""Windows: one inference, or a sequence that cannot be separated, as ``[start_ns, end_ns)``."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import is_among
from tracekit.errors import InputError, UsageError
from tracekit.model.columns import WINDOWS, BoolArray, IntArray, make_categorical
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis

_DEFAULT_PERIOD_NS = 1_000_000
_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME = re.compile(r"\s*(\d{1,19}(?:\.\d{1,9})?)\s*(ns|us|µs|μs|ms|s)?\s*", re.ASCII)
_LATEST_NS = 2**62


class Window(NamedTuple):
    """One window before it becomes a row of the model's ``windows``; -1 is all threads, or all processes.

    A tuple, because stacks may show hundreds of thousands of them.
    """

    start_ns: int
    end_ns: int
    label: str
    source: str
    basis: Basis
    thread_id: int = -1
    pid: int = -1
    model: str = ""
    copy: str = ""

    def on_thread(self, thread_id: int) -> Window:
        """Return this window of a thread, in a third of the time that ``_replace`` takes."""
        start_ns, end_ns, label, source, basis, _, pid, model, copy = self
        return Window(start_ns, end_ns, label, source, basis, thread_id, pid, model, copy)

    def of_process(self, pid: int) -> Window:
        """Return this window of a process; -1 is none that is known."""
        return self._replace(pid=pid)


GIVEN_SOURCES = ("manual", "csv", "run")
"""Windows of these sources include all work in their time; those of other sources are calls, and include only
their own work."""
GIVEN_LENGTHS = "The ranges are user-supplied, so their lengths do not measure the recording."


def lengths_are_given(windows: pd.DataFrame) -> bool:
    """Return whether the user supplied all windows of a frame; their lengths are then not latencies."""
    return bool(len(windows)) and bool(is_among(windows["source"], *GIVEN_SOURCES).all())


def build_window_frame(windows: list[Window]) -> pd.DataFrame:
    """Return windows as a ``model.WINDOWS`` frame, numbered from 0 by start time.

    ``first`` marks the first call of each model in each process; of each label, where the model is unknown.
    ``alone`` marks those that overlap no other.
    """
    threads = np.array([window.thread_id for window in windows], np.int32)
    starts, ends = get_edges(windows)
    order = np.lexsort((threads, ends, starts))
    ordered = [windows[row] for row in order.tolist()]
    frame = pd.DataFrame(
        {
            "window_id": np.arange(len(ordered), dtype=np.int64),
            "start_ns": starts[order],
            "end_ns": ends[order],
            "label": pd.Series([window.label for window in ordered], dtype="str"),
            "thread_id": threads[order],
            "source": pd.Categorical([window.source for window in ordered]),
            "basis": pd.Categorical([window.basis for window in ordered]).rename_categories(str),
            "pid": np.array([window.pid for window in ordered], np.int64),
            "model": pd.Series([window.model for window in ordered], dtype="str"),
            "copy": pd.Series([window.copy for window in ordered], dtype="str"),
        }
    )
    is_call = ~is_among(frame["source"], *GIVEN_SOURCES)
    name = frame["model"].where(frame["model"] != "", frame["label"])
    is_repeated = pd.DataFrame({"name": name, "pid": frame["pid"], "is_call": is_call}).duplicated()
    frame["first"] = is_call & ~is_repeated.to_numpy(bool)
    frame["alone"] = ~mark_overlapping(starts[order], ends[order])
    return WINDOWS.check(frame, "windows")


def build_range_frame(starts: IntArray, ends: IntArray, pids: IntArray) -> pd.DataFrame:
    """Return ranges in order of their start, which include all work of a process, as ``model.WINDOWS``."""
    count = len(starts)
    nothing = pd.Series(np.full(count, "", object), dtype="str")
    no_code = np.zeros(count, np.int8)
    frame = pd.DataFrame(
        {
            "window_id": np.arange(count, dtype=np.int64),
            "start_ns": starts,
            "end_ns": ends,
            "label": nothing,
            "thread_id": np.full(count, -1, np.int32),
            "source": make_categorical(no_code, GIVEN_SOURCES[:1]),
            "basis": make_categorical(no_code, (Basis.MEASURED,)),
            "pid": pids,
            "model": nothing,
            "copy": nothing,
            "first": np.zeros(count, bool),
            "alone": ~mark_overlapping(starts, ends),
        }
    )
    return WINDOWS.check(frame, "windows")


def get_edges(windows: Sequence[Window]) -> tuple[IntArray, IntArray]:
    """Return the starts and the ends of windows."""
    return (
        np.array([window.start_ns for window in windows], np.int64),
        np.array([window.end_ns for window in windows], np.int64),
    )


def mark_overlapping(starts: IntArray, ends: IntArray) -> BoolArray:
    """Mark the windows that share time with another one."""
    # In order of start, a window overlaps an earlier one if it starts before the latest end so far (not
    # necessarily its neighbour's), and a later one if the next start lies before its end.
    order = np.argsort(starts, kind="stable")
    latest_end = np.maximum.accumulate(ends[order]) if len(order) else ends
    shared = np.zeros(len(starts), bool)
    shared[order[1:]] = starts[order][1:] < latest_end[:-1]
    overlaps_next = np.searchsorted(starts[order], ends[order], "left") > np.arange(len(order)) + 1
    shared[order] |= overlaps_next
    return shared


def numbered_windows(frame: pd.DataFrame) -> list[tuple[int, Window]]:
    """Return the rows of a ``model.WINDOWS`` frame as (window_id, window)."""
    return [
        (
            int(row["window_id"]),
            Window(
                int(row["start_ns"]),
                int(row["end_ns"]),
                str(row["label"]),
                str(row["source"]),
                Basis(row["basis"]),
                int(row["thread_id"]),
                int(row["pid"]),
                str(row["model"]),
                str(row["copy"]),
            ),
        )
        for row in frame.to_dict("records")
    ]


def sampling_period_ns(trace: Trace) -> int:
    """Return the typical distance of samples: the median weight where weights are time, else 1 ms."""
    weights = trace.weights
    if len(weights) == 0 or weights.min() != weights.max():  # usually all are equal
        weights = weights[weights > 0]
    if trace.weight_unit != "ns" or not weights.any():
        return _DEFAULT_PERIOD_NS
    typical = weights[0] if weights.min() == weights.max() else np.median(weights)
    return int(np.clip(typical, 1_000, 100_000_000))


def whole_run(trace: Trace) -> Window:
    """Return one window over the run: its recorded duration if known, else from first to last sample."""
    times = trace.samples["time_ns"].to_numpy()
    duration = trace.info.duration_ns
    if duration and (not len(times) or duration > times[-1]):
        return Window(0, duration, "whole run", "run", Basis.MEASURED)
    if not len(times):
        tables = [frame for frame in (trace.intervals, trace.signposts) if len(frame)]
        end = max([1, *(int(frame["end_ns"].max()) for frame in tables)])
        return Window(0, end, "whole run", "run", Basis.MEASURED)
    end = int(times[-1]) + sampling_period_ns(trace)
    return Window(int(times[0]), end, "whole run", "run", Basis.SAMPLED)


def parse_window(text: str) -> Window:
    """Return the window ``12.5ms-18ms`` (units ns, us, ms, s; in ``12.5-18ms`` for both ends).

    Raises ``UsageError`` for anything else, and when the window does not end after it starts.
    """
    start_text, dash, end_text = text.partition("-")
    start, end = _TIME.fullmatch(start_text), _TIME.fullmatch(end_text)
    if not dash or start is None or end is None or end[2] is None:
        raise UsageError(f"'{text}' is not a valid range. Write START-END with a unit, such as 12.5ms-18ms.")
    start_ns = _convert_to_ns(start[1], start[2] or end[2])
    return _build_user_window(start_ns, _convert_to_ns(end[1], end[2]), text, "manual", f"'{text}'")


def parse_time(text: str) -> int:
    """Return the nanoseconds of a time such as ``12.5ms`` (units ns, us, ms, s), or raise ``UsageError``."""
    time = _TIME.fullmatch(text)
    if time is None or time[2] is None or (time_ns := _convert_to_ns(time[1], time[2])) > _LATEST_NS:
        raise UsageError(f"'{text}' is not a valid time. Write it with a unit, such as 12.5ms.")
    return time_ns


def _build_user_window(start_ns: int, end_ns: int, label: str, source: str, name: str) -> Window:
    if end_ns > _LATEST_NS:
        raise UsageError(f"The range {name} ends after 146 years.")
    if end_ns <= start_ns:
        raise UsageError(f"The range {name} does not end after it starts.")
    return Window(start_ns, end_ns, label, source, Basis.GIVEN)


def _convert_to_ns(number: str, unit: str) -> int:
    return int(Decimal(number) * _UNITS[unit])


def windows_from_csv(path: Path) -> list[Window]:
    """Read windows from a CSV file with a header: ``start_ns,end_ns`` or ``start,end``, and maybe ``label``.

    ``start`` and ``end`` carry a unit (``12.5ms``). Raises ``InputError`` naming the line that is wrong.
    """
    try:
        if path.is_char_device() or path.is_block_device():  # which has no end
            raise InputError(str(path), "is a device, not a file.", "Name a CSV file.")
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            fields = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = fields
            in_ns = {"start_ns", "end_ns"} <= set(fields)
            if not in_ns and not {"start", "end"} <= set(fields):
                raise InputError(
                    str(path),
                    "has no columns start_ns,end_ns (or start,end with units).",
                    "Put them in the first line.",
                )
            windows = [_read_csv_window(path, line, row, in_ns) for line, row in enumerate(reader, 2)]
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(str(path), f"cannot be read as CSV ({error}).") from error
    if not windows:
        raise InputError(str(path), "has no range below its header.")
    return windows


def _read_csv_window(path: Path, line: int, row: dict[str, str | None], in_ns: bool) -> Window:
    ends = []
    for name in ("start_ns", "end_ns") if in_ns else ("start", "end"):
        match = _TIME.fullmatch(row.get(name) or "")
        if match is None or (match[2] is None) is not in_ns or (in_ns and "." in match[1]):
            raise InputError(
                str(path),
                f"line {line}: '{row.get(name) or ''}' is not a valid {name}.",
                "Write whole nanoseconds." if in_ns else "Write a number with a unit, such as 12.5ms.",
            )
        ends.append(_convert_to_ns(match[1], match[2] or "ns"))
    label = (row.get("label") or "").strip() or f"line {line}"
    return _build_user_window(ends[0], ends[1], label, "csv", f"in line {line} of {path}")
