"""speedscope's own JSON: one sampled profile per thread, in order of time.

The format is described by ``file-format-schema.json`` in the npm package ``speedscope``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import pandas as pd

import tracekit
from tracekit.analysis.result import Analysis
from tracekit.export.export_view import NO_STACK, ExportView, clean
from tracekit.model.columns import IntArray

DEFAULT_ROOT = ("window", "engine", "phase")
_EMPTY = {"type": "sampled", "unit": "none", "startValue": 0, "endValue": 0, "samples": [], "weights": []}
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(analysis: Analysis, out: IO[bytes], root: Sequence[str] = DEFAULT_ROOT) -> None:
    """Write one profile per thread, with each stack below its ``root`` frames.

    Time in which a thread was not sampled is an empty stack, so
    that the axis is the time of the recording; speedscope leaves it out of its shares. Weights other than
    time have no such axis.
    """
    _Writer(ExportView(analysis), root).write(out)


class _Writer:
    def __init__(self, view: ExportView, root: Sequence[str]) -> None:
        self._view, self._root = view, root
        self._frames, self._function = _functions(view)
        self._names: dict[str, int] = {}

    def write(self, out: IO[bytes]) -> None:
        threads, rows, stacks = self._samples()
        bounds = np.append(np.flatnonzero(np.diff(threads, prepend=-2)), len(threads))
        heaviest = max(range(len(bounds) - 1), key=lambda index: _weight(rows, bounds, index), default=0)
        head = {
            "$schema": _SCHEMA,
            "exporter": f"tracekit {tracekit.__version__}",
            "name": clean(self._view.trace.info.name),
            "activeProfileIndex": heaviest,
            "shared": {"frames": self._frames},
        }
        out.write(json.dumps(head)[:-1].encode() + b', "profiles": [')
        for index, (start, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            out.write(b",\n" if index else b"\n")
            for piece in self._profile(int(threads[start]), rows.iloc[start:end], stacks):
                out.write(piece.encode())
        if not len(rows):  # without any profile speedscope fails
            out.write(json.dumps({**_EMPTY, "name": "no samples"}).encode())
        out.write(b"\n]}\n")

    def _samples(self) -> tuple[IntArray, pd.DataFrame, Any]:
        """Return the samples by thread and time, and the text of each distinct stack with its roots."""
        view = self._view
        columns = view.columns()
        frame = pd.DataFrame(columns)
        keys = [
            "stack",
            *(name for name in ("thread", "window", "engine", "phase") if name in self._needed()),
        ]
        frame["text"] = frame.groupby(keys, sort=True).ngroup()
        distinct = frame.drop_duplicates("text").sort_values("text")
        texts = np.array([self._text(row) for row in distinct.to_dict("records")], object)
        frame["time"] = view.trace.samples["time_ns"].to_numpy(np.int64)
        frame["weight"] = view.trace.weights
        frame = frame.sort_values(["thread", "time"], kind="stable", ignore_index=True)
        return frame["thread"].to_numpy(np.int64), frame[["time", "weight", "text"]], texts

    def _needed(self) -> set[str]:
        return {"thread" if name == "process" else name for name in self._root}

    def _text(self, row: dict[Any, int]) -> str:
        key = (row["thread"], row["engine"], row["phase"], row["window"])
        below = [self._frame(name) for name in self._view.root_names(self._root, key)]
        stack = [self._function[frame] for frame in self._view.stack_frames(row["stack"])]
        return f"[{','.join(map(str, below + (stack or [self._frame(NO_STACK)])))}]"

    def _frame(self, name: str) -> int:
        """Return the row of a frame that is not a function, added when new."""
        if name not in self._names:
            self._names[name] = len(self._frames)
            self._frames.append({"name": name})
        return self._names[name]

    def _profile(self, thread: int, rows: pd.DataFrame, texts: Any) -> Iterator[str]:
        view, is_time = self._view, self._view.trace.weight_unit == "ns"
        weights = rows["weight"].to_numpy(np.int64)
        stacks = texts[rows["text"].to_numpy()]
        if is_time:
            gaps = _gaps(rows["time"].to_numpy(np.int64), weights)
            real = np.flatnonzero(gaps)
            stacks = np.insert(stacks, real, "[]")
            weights = np.insert(weights, real, gaps[real])
        name = f"{view.processes[thread]} › {view.threads[thread]}"
        start = int(rows["time"].iloc[0]) if is_time else 0
        head = {
            "type": "sampled",
            "name": name if is_time else f"{name}, {view.trace.weight_unit}",
            "unit": "nanoseconds" if is_time else "none",
            "startValue": start,
            "endValue": start + int(weights.sum()),
        }
        yield json.dumps(head)[:-1] + ', "samples": ['
        yield ",".join(stacks)
        yield '], "weights": ['
        yield ",".join(map(str, weights.tolist()))
        yield "]}"


def _weight(rows: pd.DataFrame, bounds: IntArray, index: int) -> int:
    return int(rows["weight"].iloc[bounds[index] : bounds[index + 1]].sum())


def _functions(view: ExportView) -> tuple[list[dict[str, Any]], list[int]]:
    """Return one frame per function and file, with its first line, and the frame of each row of the trace.

    speedscope treats every frame as a separate function: a row per address would split functions.
    """
    rows = view.trace.stacks.frames
    row_of: dict[tuple[str, str], int] = {}
    function = [
        row_of.setdefault((name, file), len(row_of))
        for name, file in zip(view.frames, rows["source_file"], strict=True)
    ]
    lines = [0] * len(row_of)
    for row, line in zip(function, rows["source_line"].tolist(), strict=True):
        if line > 0:
            lines[row] = min(lines[row] or line, line)
    frames = [
        {"name": name, **({"file": clean(file)} if file else {}), **({"line": line} if line else {})}
        for (name, file), line in zip(row_of, lines, strict=True)
    ]
    return frames, function


def _gaps(times: IntArray, weights: IntArray) -> IntArray:
    """Return the time to leave free before each sample, where it is away from the sample before it.

    Samples come a little early or late: only where half a weight or more is free, the axis catches up.
    """
    # late: distance of each sample from its place if all weights followed one another without a gap. The gaps
    # bring the axis to that distance, and never back.
    before = np.cumsum(weights) - weights
    late = times - times[0] - before
    free = np.diff(times, prepend=times[0]) - np.append(0, weights[:-1])
    away = np.flatnonzero(free * 2 >= np.maximum(weights, 1))
    reached = np.maximum.accumulate(np.maximum(late[away], 0))
    gaps = np.zeros(len(times), np.int64)
    gaps[away] = np.diff(reached, prepend=0)
    return gaps
