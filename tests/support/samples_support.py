"""Samples of literal recordings as the worker writes them, and slow loops over the same rows."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from trace_support import ANE, ANE_WAIT, BNNS, LOAD, MS, RUNTIME, UI, trace_of
from view_support import View, decoded, recording

from dashboard.tiles.filters import Term, row_mask
from dashboard.tiles.sample_columns import SampleColumns, open_samples
from dashboard.tiles.sorted_times import compacted
from dashboard.tiles.writing import write_samples
from tracekit.analysis import Analysis, analyze
from tracekit.model.vocabulary import ENGINES, PHASES
from tracekit.report.viewmodel.lanes import thread_lanes
from tracekit.report.viewmodel.view import duration_of, view_block

__all__ = ["MS", "View", "analyze", "decoded", "recording", "trace_of"]
ROOT = Path(__file__).resolve().parents[2]
STACKS = [ANE, ANE_WAIT, BNNS, LOAD, RUNTIME, UI, None]
FAR = 1 << 62


@dataclass(frozen=True)
class Row:
    """A sample, as a loop reads it from the trace."""

    time: int
    end: int
    lane: int
    engine: int
    phase: int
    weight: int
    stack: int


def opened(folder: Path, analysis: Analysis) -> SampleColumns:
    write_samples(folder / "samples", analysis)
    return open_samples(folder / "samples", "Camera.trace")


def rows_of(analysis: Analysis, length: int = 0) -> list[Row]:
    """``length`` is that of every sample, where weights are no time."""
    trace, labels = analysis.trace, analysis.labels
    lanes = [lane.thread for lane in thread_lanes(analysis, 1, duration_of(analysis))]
    return [
        Row(
            int(trace.samples["time_ns"].iloc[index]),
            int(trace.samples["time_ns"].iloc[index]) + (length or int(trace.weights[index])),
            lanes.index(int(trace.samples["thread_id"].iloc[index])),
            int(labels.engine[index]),
            int(labels.phase[index]),
            int(trace.weights[index]),
            int(trace.samples["stack_id"].iloc[index]),
        )
        for index in range(len(trace.samples))
    ]


def sorted_by_group(rows: Sequence[Row]) -> list[Row]:
    """Rows in the order of the columns; equal times in the order of the trace."""
    return sorted(rows, key=lambda row: (row.lane, row.engine, row.time))


@cache
def many(count: int = 600, seed: int = 5, unit: str = "ns", **options: Any) -> Analysis:
    """Three threads and one process more; samples overlap, and some are very long."""
    dice = np.random.default_rng(seed)
    rows: list[Any] = [
        (
            float(dice.integers(0, 40_000)) / 100,
            f"t{min(3, dice.integers(0, 6))}",
            STACKS[int(dice.integers(0, len(STACKS)))],
            int(dice.choice([0, 1, 700, MS, 3 * MS, 90 * MS], p=[0.05, 0.05, 0.2, 0.5, 0.15, 0.05])),
        )
        for _ in range(count)
    ]
    return analyze(trace_of(rows, unit=unit, **options))  # type: ignore[arg-type]


def lasting(analysis: Analysis, duration_ns: int) -> Analysis:
    """Return the same run with another duration."""
    trace = analysis.trace
    return analyze(replace(trace, info=replace(trace.info, duration_ns=duration_ns)))


@cache
def exact_many() -> View:
    return exact(many())


def exact(analysis: Analysis) -> View:
    return decoded(view_block(analysis, full=True))


def sums_of(block: bytes) -> tuple[dict[tuple[int, int, int], tuple[float, int]], dict[str, Any]]:
    """Weight and number by (node, engine, phase), and the header."""
    view = decoded(block)
    sample_header = view.header["samples"]
    columns = {
        name: view.arrays[sample_header[name]].tolist() for name in ("node", "weight", "number", "kind")
    }
    totals = {}
    for node, weight, number, kind in zip(*columns.values(), strict=True):
        key = node, kind >> 4, kind & 15
        assert key not in totals
        assert number > 0
        totals[key] = weight, number
    assert sample_header["count"] == len(totals)
    return totals, view.header


def exact_sums(view: View, is_selected: Sequence[bool]) -> dict[tuple[int, int, int], tuple[float, int]]:
    """The same, added up row by row of a view that has every sample."""
    sample_header = view.header["samples"]
    columns = [view.arrays[sample_header[name]].tolist() for name in ("node", "weight", "number", "kind")]
    totals: dict[tuple[int, int, int], tuple[float, int]] = {}
    for node, weight, number, kind, is_wanted in zip(*columns, is_selected, strict=True):
        if is_wanted:
            before = totals.get((node, kind >> 4, kind & 15), (0.0, 0))
            totals[node, kind >> 4, kind & 15] = before[0] + weight, before[1] + number
    return totals


def slow_plane(spans: Sequence[tuple[int, int]], duration: int, level: int, index: int) -> list[int]:
    bins = 1024 << level
    plane = []
    for k in range(1024 * index, 1024 * (index + 1)):
        start, end = duration * k // bins, duration * (k + 1) // bins
        covered = sum(max(0, min(end, e) - max(start, s)) for s, e in spans)
        plane.append(math.ceil(min(1.0, covered / max(1, end - start)) * 255))
    return plane


def slow_tile(rows: Sequence[Row], duration: int, level: int, index: int) -> list[list[int]]:
    """The planes of all lanes."""
    keys = sorted({(row.lane, row.engine) for row in rows})
    return [
        slow_plane([(r.time, r.end) for r in rows if (r.lane, r.engine) == key], duration, level, index)
        for key in keys
    ]


def planes(tile: bytes) -> list[list[int]]:
    return np.frombuffer(tile, np.uint8).reshape(-1, 1024).tolist()


def stack_names(analysis: Analysis, stack: int) -> list[list[str]]:
    if stack < 0:
        return []
    table = analysis.trace.stacks
    return [[str(table.symbols[f]), str(table.binary_names[f])] for f in table.stack(stack).tolist()]


def literal(folder: Path, document: dict[str, Any]) -> SampleColumns:
    """The recording of tests/filter_cases.json, with literal engines, as opened columns."""
    functions: dict[tuple[str, str], int] = {}
    calls, stacks = [], []
    for sample in document["samples"]:
        stacks.append(
            [functions.setdefault((symbol, binary), len(functions)) for symbol, binary in sample["stack"]]
        )
        phase = -1 if sample["phase"] is None else PHASES.index(sample["phase"])
        calls.append((ENGINES.index(sample["engine"]), phase))
    order = sorted(
        range(len(stacks)), key=lambda index: (document["samples"][index]["lane"], calls[index][0], index)
    )
    binaries = list(dict.fromkeys(binary for _, binary in functions))
    header, arrays = _literal_parts(document, order, calls)
    arrays |= _literal_tree(stacks)
    arrays["function_binary"] = np.array([binaries.index(binary) for _, binary in functions], np.int32)
    names = {"symbols": [symbol for symbol, _ in functions], "binaries": binaries}
    folder.mkdir()
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    content = json.dumps({**header, **names, "arrays": list(arrays)})
    (folder / "samples.json.gz").write_bytes(gzip.compress(content.encode()))
    return open_samples(folder, "literal")


def _literal_tree(stacks: Sequence[Sequence[int]]) -> dict[str, Any]:
    """A call tree in which no stack shares a node with another; stacks are leaf first."""
    parent, function, node = [], [], []
    for stack in stacks:
        node.append(-1)
        for row in reversed(stack):
            parent.append(node[-1])
            function.append(row)
            node[-1] = len(parent) - 1
    rows = np.arange(max(function, default=-1) + 1)
    arrays = {"tree_parent": parent, "tree_function": function, "text_of": rows, "stack_node": node}
    return {name: np.array(values, np.int32) for name, values in arrays.items()}


def _literal_parts(document: dict[str, Any], order: list[int], calls: list[Any]) -> tuple[Any, Any]:
    samples, windows = [document["samples"][position] for position in order], document["windows"]
    groups: list[list[int]] = []
    for row, (index, sample) in enumerate(zip(order, samples, strict=True)):
        if groups and groups[-1][:2] == [sample["lane"], calls[index][0]]:
            groups[-1][3] = row + 1
        else:
            groups.append([sample["lane"], calls[index][0], row, row + 1, 1, 0, 0])
    header = {
        "format": "tracekit-samples/5",
        "usual_ns": 1,
        "duration_ns": 10,
        "length_ns": 1,
        "groups": groups,
        "lanes": [[lane["label"], lane["process"], lane["tid"]] for lane in document["lanes"]],
        "rules": [],
        "window_names": [window[name] for name in ("label", "model", "group") for window in windows],
        "spans": [],
        "page_nodes": 0,
        "levels": [0],
    }
    arrays = {
        **times("time", [sample["time"] for sample in samples], [group[2] for group in groups]),
        **times("odd_usual", [], []),
        **times("odd_end", [], []),
        "weight": np.ones(len(samples), np.int64),
        "call": np.array(order, np.int32),
        "call_stack": np.arange(len(order), dtype=np.int32),
        "call_joined": np.arange(len(order), dtype=np.int32),
        "call_engine": np.array([engine for engine, _ in calls], np.int8),
        "call_phase": np.array([phase for _, phase in calls], np.int8),
        "window_label": np.arange(len(windows)),
        "window_model": np.arange(len(windows)) + len(windows),
        "window_group": np.arange(len(windows)) + 2 * len(windows),
        "window_call": np.array([window["call"] for window in windows], np.int64),
        "window_start": np.array([window["start"] for window in windows], np.int64),
        "window_end": np.array([window["end"] for window in windows], np.int64),
    }
    return header, arrays


def times(name: str, values: Sequence[int], runs: Sequence[int]) -> dict[str, Any]:
    parts = compacted(np.array(values, np.int64), np.array(runs, np.int64))
    return {f"{name}_{part}": array for part, array in parts.items()}


def terms_in(text: str) -> tuple[Term, ...]:
    """Return the terms of ``key:a,b`` and ``-word``, without quotes; the page parses the whole grammar."""
    parts = [word.rpartition(":") for word in text.split()]
    return tuple(
        Term(key.lstrip("-"), tuple(body.lstrip("-").split(",")), f"{key}{body}".startswith("-"))
        for key, _colon, body in parts
    )


def kept(samples: SampleColumns, terms: Sequence[Term]) -> list[bool] | None:
    mask = row_mask(samples, terms)
    return None if mask is None else mask.tolist()


def in_order(samples: SampleColumns) -> Iterator[tuple[int, int, int, int, int]]:
    """Each row's time, lane, engine, phase and node, in the order of the columns."""
    for group in samples.groups:
        for row in range(group.first, group.end):
            call = samples["call"][row]
            phase = int(samples["call_phase"][call]) % (len(PHASES) + 1)
            yield (
                int(samples.time[row : row + 1][0]),
                group.lane,
                group.engine,
                phase,
                int(samples.call_node[call]),
            )
