"""speedscope's own JSON: one sampled profile per thread, in order of time.

The format is described by ``file-format-schema.json`` in the npm package ``speedscope``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

import tracekit
from tracekit.analysis.result import Analysis
from tracekit.export.export_view import NO_STACK, ExportView, clean
from tracekit.model.columns import IntArray

DEFAULT_ROOT = ("window", "engine", "phase")
_EMPTY = {"type": "sampled", "unit": "none", "startValue": 0, "endValue": 0, "samples": [], "weights": []}
_BLOCK_SAMPLES = 1 << 16
"""Samples that are formatted at a time, to bound memory."""
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(analysis: Analysis, out: IO[bytes], root: Sequence[str] = DEFAULT_ROOT) -> None:
    """Write one profile per thread, with each stack below its ``root`` frames.

    Time in which a thread was not sampled becomes an empty stack, so that the axis is the time of the
    recording; speedscope excludes it from its percentages. Weights other than time have no such axis.
    """
    _SpeedscopeWriter(ExportView(analysis), root).write(out)


class _SpeedscopeWriter:
    def __init__(self, view: ExportView, root: Sequence[str]) -> None:
        self._view, self._root = view, root
        self._frames, self._function = _collect_functions(view)
        self._names: dict[str, int] = {}

    def write(self, out: IO[bytes]) -> None:
        view = self._view
        stacks, stack_of = self._format_stacks()
        profiles = np.unique(view.sample_columns()["thread"]).tolist()
        weight_of = {
            thread: int(view.trace.weights[view.find_thread_samples(thread)].sum()) for thread in profiles
        }
        heaviest = max(range(len(profiles)), key=lambda index: weight_of[profiles[index]], default=0)
        head = {
            "$schema": _SCHEMA,
            "exporter": f"tracekit {tracekit.__version__}",
            "name": clean(view.trace.info.name),
            "activeProfileIndex": heaviest,
            "shared": {"frames": self._frames},
        }
        out.write(json.dumps(head)[:-1].encode() + b', "profiles": [')
        for index, thread in enumerate(profiles):
            out.write(b",\n" if index else b"\n")
            for piece in self._iter_profile(thread, view.find_thread_samples(thread), stacks, stack_of):
                out.write(piece.encode())
        if not profiles:  # without any profile speedscope fails
            out.write(json.dumps({**_EMPTY, "name": "no samples"}).encode())
        out.write(b"\n]}\n")

    def _format_stacks(self) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int32]]:
        """Return the text of each distinct stack with its roots, and the number of each sample's."""
        keys = [
            name for name in ("thread", "window", "engine", "phase") if name in self._list_needed_columns()
        ]
        samples, stack_of = self._view.combine_equal_samples(["stack", *keys])
        columns = {name: values[samples].tolist() for name, values in self._view.sample_columns().items()}
        rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
        texts = np.empty(len(samples) + 1, object)
        texts[:-1] = [self._format_stack(row) for row in rows]
        texts[-1] = "[]"  # found by -1: time without a sample
        return texts, stack_of

    def _list_needed_columns(self) -> set[str]:
        return {"thread" if name == "process" else name for name in self._root}

    def _format_stack(self, row: dict[Any, int]) -> str:
        key = (row["thread"], row["engine"], row["phase"], row["window"])
        root_frames = [self._add_frame(name) for name in self._view.list_root_names(self._root, key)]
        stack = [self._function[frame] for frame in self._view.list_stack_frames(row["stack"])]
        return f"[{','.join(map(str, root_frames + (stack or [self._add_frame(NO_STACK)])))}]"

    def _add_frame(self, name: str) -> int:
        """Return the row of a frame that is not a function, added when new."""
        if name not in self._names:
            self._names[name] = len(self._frames)
            self._frames.append({"name": name})
        return self._names[name]

    def _iter_profile(
        self,
        thread: int,
        rows: IntArray,
        stacks: npt.NDArray[np.object_],
        stack_of: npt.NDArray[np.int32],
    ) -> Iterator[str]:
        view, is_time = self._view, self._view.trace.weight_unit == "ns"
        name = f"{view.processes[thread]} › {view.threads[thread]}"
        start = int(view.times[rows[0]]) if is_time else 0
        head = {
            "type": "sampled",
            "name": name if is_time else f"{name}, {view.trace.weight_unit}",
            "unit": "nanoseconds" if is_time else "none",
            "startValue": start,
            "endValue": start + sum(int(weights.sum()) for _, weights in self._iter_blocks(rows, stack_of)),
        }
        yield json.dumps(head)[:-1] + ', "samples": ['
        for index, (numbers, _) in enumerate(self._iter_blocks(rows, stack_of)):
            yield ("," if index else "") + ",".join(stacks[numbers])
        yield '], "weights": ['
        for index, (_, weights) in enumerate(self._iter_blocks(rows, stack_of)):
            yield ("," if index else "") + ",".join(map(str, weights.tolist()))
        yield "]}"

    def _iter_blocks(
        self, rows: IntArray, stack_of: npt.NDArray[np.int32]
    ) -> Iterator[tuple[npt.NDArray[np.int32], IntArray]]:
        """Yield the stacks of one thread and their weights in blocks, those of free time (-1) included."""
        view = self._view
        gaps = _TimeGaps() if view.trace.weight_unit == "ns" else None
        for begin in range(0, len(rows), _BLOCK_SAMPLES):
            block = rows[begin : begin + _BLOCK_SAMPLES]
            stacks, weights = stack_of[block], view.trace.weights[block]
            if gaps:
                free = gaps.fill_before(view.times[block], weights)
                real = np.flatnonzero(free)
                stacks, weights = np.insert(stacks, real, -1), np.insert(weights, real, free[real])
            yield stacks, weights


class _TimeGaps:
    """The empty time before each sample that does not follow the previous sample directly.

    Samples jitter: a gap is inserted only where at least half a sample's weight is empty.
    """

    def __init__(self) -> None:
        self._begin: int | None = None
        self._end = self._weight = self._reached = 0

    def fill_before(self, times: IntArray, weights: IntArray) -> IntArray:
        """Return the time before each of a thread's next samples."""
        if self._begin is None:
            self._begin = self._end = int(times[0])
        # late: distance of each sample from its place if all weights followed one another without a gap. The
        # gaps bring the axis to that distance, and never back.
        late = times - self._begin - (self._weight + np.cumsum(weights) - weights)
        free = times - np.append(self._end, times[:-1] + weights[:-1])
        away = np.flatnonzero(free * 2 >= np.maximum(weights, 1))
        axis_offsets = np.maximum.accumulate(np.maximum(late[away], self._reached))
        gaps = np.zeros(len(times), np.int64)
        gaps[away] = np.diff(axis_offsets, prepend=self._reached)
        self._end = int(times[-1] + weights[-1])
        self._weight += int(weights.sum())
        self._reached = int(axis_offsets[-1]) if len(axis_offsets) else self._reached
        return gaps


def _collect_functions(view: ExportView) -> tuple[list[dict[str, Any]], list[int]]:
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
