"""The clock of a run: times of rows, made to count from the start of the recording.

Instruments' tables count from the start of the run. Tables of other recorders, and of some exports, count
from the boot of the device: all of their rows then lie after the stated end of the recording.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from tracekit.model.trace import Issue, Trace
from tracekit.text import format_duration

_FRAMES = (
    *("samples", "intervals", "signposts", "tracks", "thread_states", "metrics", "engine_log"),
    "model_requests",
)
_EVENTS = ("samples", "intervals", "signposts")
_TIMES = ("time_ns", "start_ns", "end_ns")


def shift_to_start(trace: Trace) -> Trace:
    """Return the trace; if all rows lie after the end of the run, times count from the first row."""
    length_ns = trace.info.duration_ns
    if not length_ns or not trace.has_durations:
        return trace
    firsts = [
        int(frame[name].min())
        for frame in (getattr(trace, part) for part in _EVENTS)
        for name in _TIMES[:2]
        if name in frame.columns and len(frame)
    ]
    if not firsts or min(firsts) <= length_ns:
        return trace
    begin_ns = min(firsts)
    text = (
        f"times of this input begin at {format_duration(begin_ns)}, behind the recording's length of"
        f" {format_duration(length_ns)}: they count from another moment than its start, such as the boot of"
        " the device, and are given from the first row on"
    )
    frames: dict[str, Any] = {part: _shift_frame(getattr(trace, part), begin_ns) for part in _FRAMES}
    # The issue compared rows with the clock that is replaced here.
    issues = [issue for issue in trace.issues if issue.code != "interval-outside"]
    return replace(trace, **frames, issues=(*issues, Issue("info", "times-from-boot", text)))


def _shift_frame(frame: pd.DataFrame, begin_ns: int) -> pd.DataFrame:
    return frame.assign(**{name: frame[name] - begin_ns for name in _TIMES if name in frame.columns})
