"""Write the samples of an analysis as the columns that ``sample_columns`` opens.

=================================  ==========================================================================
per row                            ``time_…``: see ``sorted_times``; ``call``; ``weight``: the weight, or its
                                   row of ``weight_values``; absent if all are the same
per row of unusual length          ``odd_usual_…``, ``odd_end_…``: see ``SampleColumns``; sorted in each group
per call (stack, engine, phase)    ``call_stack``, ``call_engine``, ``call_phase`` (-1 is none);
                                   ``call_joined``: the joined stack, which follows the others
per node of the call tree          ``tree_parent``, ``tree_function`` (as the page numbers them: by text, in
                                   the order of the nodes), ``tree_flags``; the header's ``page_nodes`` are
                                   the page's, the others follow by depth, from each of ``levels`` to the next
per function of the tree           ``text_of``: a row of ``symbols``, -1 for a cut-off node
per stack                          ``stack_node``: its leaf in the call tree (-1 is none), whose path has the
                                   frames; ``stack_rule``, ``stack_deciding``, ``stack_engine``,
                                   ``stack_phase``
per function                       ``function_binary``: a row of ``binaries``
per window                         ``window_start``, ``window_end``; ``window_call``, its number in its group;
                                   ``window_label``, ``window_model`` and ``window_group``: of the header's
                                   ``window_names``
=================================  ==========================================================================

Whole numbers have the narrowest type that holds them all.
"""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from dashboard.tiles.sample_columns import FORMAT, HEADER, Array, Ints, SampleGroup
from dashboard.tiles.sorted_times import compacted
from tracekit.analysis.result import Analysis
from tracekit.model.tables import StackTable
from tracekit.model.vocabulary import ENGINES
from tracekit.report.viewmodel.lanes import (
    lane_threads,
    lanes_of_threads,
    sample_lengths,
    span_lanes,
    thread_names,
)
from tracekit.report.viewmodel.payload import shown_text
from tracekit.report.viewmodel.samples import calls_of, server_tree
from tracekit.report.viewmodel.tree import WholeTree, node_flags
from tracekit.report.viewmodel.view import duration_of
from tracekit.report.wording import call_names


def write_samples(folder: Path, analysis: Analysis) -> None:
    """Write all files; ``folder`` is made."""
    folder.mkdir(mode=0o700)
    writer = _Writer(folder)
    header = {
        "format": FORMAT,
        "duration_ns": duration_of(analysis),
        **_rows(writer, analysis),
        **_stacks(writer, analysis),
        **_windows(writer, analysis),
        "spans": _spans(writer, analysis),
        "arrays": writer.names,
    }
    with (folder / HEADER).open("wb") as file:
        file.write(gzip.compress(json.dumps(header).encode(), mtime=0))
        _settle(file)


class _Writer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names: list[str] = []

    def add(self, name: str, values: Array) -> None:
        self.names.append(name)
        with (self._folder / f"{name}.npy").open("wb") as file:
            np.save(file, np.ascontiguousarray(values), allow_pickle=False)
            _settle(file)

    def add_narrow(self, name: str, values: Array) -> None:
        """Add whole numbers in the narrowest type."""
        self.add(name, values.astype(_narrowest(values)))

    def add_times(self, name: str, times: Ints, runs: Ints) -> None:
        """Add times that ascend in runs, which begin at these rows."""
        for part, values in compacted(times, runs).items():
            self.add_narrow(f"{name}_{part}", values)


def _narrowest(values: Array) -> np.dtype[Any]:
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    narrowest = np.min_scalar_type(min(low, -high - 1) if low < 0 else high)
    # Together with signed numbers, NumPy turns unsigned ones of 64 bits into floating-point ones.
    return narrowest if narrowest != np.uint64 else np.dtype(np.int64)


def _settle(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _rows(writer: _Writer, analysis: Analysis) -> dict[str, Any]:
    trace, calls, tree = analysis.trace, calls_of(analysis), server_tree(analysis)
    threads = lane_threads(analysis)
    lane = lanes_of_threads(analysis, threads)[trace.samples["thread_id"].to_numpy(np.int64)]
    key = lane * len(ENGINES) + analysis.labels.engine
    time = trace.samples["time_ns"].to_numpy(np.int64)
    # Rows are sorted by (lane, engine), then by time, so that a group is one run of rows.
    #   rows   lane 0 ANE │ lane 0 CPU │ lane 1 CPU │ …      each part sorted by time: a group
    # Two stable sorts instead of one by two keys: the recording is in time order already, which makes the
    # first cheap, and NumPy sorts narrow numbers by their digits.
    order = np.argsort(time, kind="stable")
    order = order[np.argsort(key.astype(_narrowest(key))[order], kind="stable")]
    time, key = time[order], key[order]
    length = sample_lengths(trace)[order]
    usual_ns = _usual(length)
    odd = np.flatnonzero(length != usual_ns) if usual_ns is not None else np.arange(len(length))
    groups = _groups(key, length, odd)
    writer.add_times("time", time, np.array([group.first for group in groups], np.int64))
    _odd(writer, groups, time[odd], length[odd], usual_ns)
    _weight(writer, trace.weights[order])
    writer.add_narrow("call", calls.of_samples[order])
    writer.add_narrow("call_stack", calls.stack)
    writer.add_narrow("call_engine", calls.engine)
    writer.add_narrow("call_phase", calls.phase)
    writer.add_narrow("call_joined", calls.joined)
    return {
        "length_ns": 0 if trace.weight_unit == "ns" else int(length[0]) if len(length) else 1,
        "usual_ns": usual_ns,
        "groups": [astuple(group) for group in groups],
        "lanes": [_lane(analysis, thread) for thread in threads.tolist()],
        **_tree(writer, tree, trace.stacks),
    }


def _usual(length: Ints) -> int | None:
    """Return the length that most samples have; None if fewer than half of them share one."""
    lengths, counts = np.unique(length, return_counts=True)
    most = int(counts.argmax()) if len(counts) else 0
    return int(lengths[most]) if len(counts) and 2 * counts[most] >= len(length) else None


def _odd(writer: _Writer, groups: list[SampleGroup], time: Ints, length: Ints, usual_ns: int | None) -> None:
    """Write the ends of the samples of unusual length, and those that they would have at the usual one."""
    runs = np.array([group.odd_first for group in groups], np.int64)
    writer.add_times("odd_usual", time + usual_ns if usual_ns is not None else time[:0], runs)
    # Sorted apart from the starts: sums over ends never need the end of a particular sample.
    end = time + length
    for group in groups:
        end[group.odd_first : group.odd_end].sort()
    writer.add_times("odd_end", end, runs)


def _weight(writer: _Writer, weight: Ints) -> None:
    codes, values = pd.factorize(weight)
    if len(values) <= 1:
        writer.add("weight_values", np.append(values, 0)[:1])
    elif _narrowest(codes).itemsize < _narrowest(weight).itemsize:
        writer.add("weight_values", values)
        writer.add_narrow("weight", codes)
    else:
        writer.add_narrow("weight", weight)


def _tree(writer: _Writer, tree: WholeTree, stacks: StackTable) -> dict[str, Any]:
    nodes, binaries = tree.nodes, stacks.binaries
    symbol = pd.factorize(np.array([*map(shown_text, nodes.symbols), ""], object))[0]
    binary, names = pd.factorize(np.array(_binary_names(stacks), object))
    text = symbol.astype(np.int64) * len(names) + binary[np.append(nodes.binaries, -1)]
    text[-1] = -2  # a cut-off node has no function of that name
    # ``text`` numbers functions by (symbol, binary): the page does not tell apart functions of one text.
    # Written backwards, so that the first node of each text decides its row.
    number, distinct = pd.factorize(text[nodes.function])
    text_of = np.zeros(len(distinct), np.int64)
    text_of[number[::-1]] = nodes.function[::-1]
    writer.add_narrow("tree_parent", nodes.parent)
    writer.add_narrow("tree_function", number)
    writer.add_narrow("tree_flags", node_flags(nodes, binaries["path"].to_numpy(object)))
    writer.add_narrow("text_of", text_of)
    writer.add_narrow("stack_node", nodes.leaf)
    writer.add_narrow("function_binary", nodes.binaries)
    return {
        "page_nodes": tree.page,
        "levels": list(tree.levels),
        "symbols": [shown_text(symbol) for symbol in nodes.symbols],
    }


def _lane(analysis: Analysis, thread: int) -> list[str | None]:
    label, process, tid = thread_names(analysis, thread)
    return [shown_text(label), shown_text(process), tid]


def _groups(key: Ints, length: Ints, odd: Ints) -> list[SampleGroup]:
    cuts = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), len(key)]
    of_odd = np.searchsorted(odd, cuts).tolist()
    groups = []
    for (first, end), odd_rows in zip(pairwise(cuts if len(key) else []), pairwise(of_odd), strict=False):
        lane, engine = divmod(int(key[first]), len(ENGINES))
        groups.append(SampleGroup(lane, engine, first, end, int(length[first:end].max()), *odd_rows))
    return groups


def _stacks(writer: _Writer, analysis: Analysis) -> dict[str, Any]:
    stacks, classification = analysis.trace.stacks, analysis.labels.classification
    writer.add_narrow("stack_rule", classification.rule)
    writer.add_narrow("stack_deciding", classification.deciding)
    writer.add_narrow("stack_engine", classification.engine)
    writer.add_narrow("stack_phase", classification.phase)
    return {
        "binaries": _binary_names(stacks),
        "rules": [[rule.id, rule.means] for rule in analysis.rules],
    }


def _binary_names(stacks: StackTable) -> list[str]:
    """Return the names of binaries; the last one is for functions without a binary."""
    return [*map(shown_text, stacks.binaries["name"]), ""]


def _windows(writer: _Writer, analysis: Analysis) -> dict[str, Any]:
    windows = analysis.window_rows
    writer.add("window_start", windows["start_ns"].to_numpy(np.int64))
    writer.add("window_end", windows["end_ns"].to_numpy(np.int64))
    calls = call_names(analysis)
    writer.add_narrow("window_call", calls.numbers)
    groups = np.array(calls.names, object)[calls.group]
    columns = [windows["label"].to_numpy(object), windows["model"].to_numpy(object), groups]
    number, names = pd.factorize(np.concatenate(columns))
    for name, codes in zip(("label", "model", "group"), np.split(number, 3), strict=True):
        writer.add_narrow(f"window_{name}", codes)
    return {"window_names": [shown_text(name) for name in names]}


def _spans(writer: _Writer, analysis: Analysis) -> list[list[str]]:
    """Write the intervals of lanes with too many for a page, and return the names of their arrays."""
    names = []
    for index, lane in enumerate(span_lanes(analysis, 1, 1)):
        if lane.rows is not None:
            continue
        arrays = []
        for owner, union in zip(("own", "others"), lane.unions, strict=True):
            if owner == "others" and lane.other_plane is None:
                continue
            arrays.append(f"span_{index}_{owner}")
            writer.add(arrays[-1], np.stack([union.starts, union.ends]))
        names.append(arrays)
    return names
