"""Write the samples of an analysis as the columns that ``sample_columns`` opens.

=================================  ==========================================================================
per row                            ``time``, ``weight``, ``call``; ``end``: sorted in each group; ``time_sum``
                                   and ``end_sum``: the sums of all before, one more than rows
per call (stack, engine, phase)    ``call_stack``, ``call_node``, ``call_engine``, ``call_phase`` (-1 is none)
per node of the call tree          ``tree_parent``, ``tree_function`` (as the page numbers them: by text, in
                                   the order of the nodes), ``tree_flags``; the header's ``page_nodes`` are
                                   the page's, the others follow by depth, from each of ``levels`` to the next
per function of the tree           ``text_of``: a row of ``symbols``, -1 for a cut-off node
per stack                          ``stack_offset`` (one more), ``stack_rule``, ``stack_deciding``,
                                   ``stack_engine``, ``stack_phase``
per frame of a stack, leaf first   ``stack_function``: rows of the header's ``symbols``
per function                       ``function_binary``: a row of ``binaries``
per window                         ``window_start``, ``window_end``; ``window_label`` and ``window_model``:
                                   of the header's ``window_names``
=================================  ==========================================================================
"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from dashboard.tiles.sample_columns import FORMAT, HEADER, Array, Ints, SampleGroup
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
from tracekit.report.viewmodel.occupancy import running_sums
from tracekit.report.viewmodel.payload import shown_text
from tracekit.report.viewmodel.samples import calls_of, server_tree
from tracekit.report.viewmodel.tree import WholeTree, functions_of, node_flags
from tracekit.report.viewmodel.view import duration_of


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
        file.write(json.dumps(header).encode())
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
    # first cheap.
    order = np.argsort(time, kind="stable")
    order = order[np.argsort(key[order], kind="stable")]
    time, key = time[order], key[order]
    length = sample_lengths(trace)[order]
    groups = _groups(key, length)
    # Sorted apart from the starts: ``tiles`` sums over ends, and never needs the end of a particular sample.
    end = time + length
    for group in groups:
        end[group.first : group.end].sort()
    weight = trace.weights[order]
    writer.add("time", time)
    writer.add("time_sum", running_sums(time))
    writer.add("end", end)
    writer.add("end_sum", running_sums(end))
    writer.add("weight", weight.astype(np.uint32) if _fit(weight) else weight)
    writer.add("call", calls.of_samples[order].astype(np.int32))
    writer.add("call_stack", calls.stack.astype(np.int32))
    writer.add("call_node", np.append(tree.nodes.leaf, -1)[calls.stack].astype(np.int32))
    writer.add("call_engine", calls.engine.astype(np.int8))
    writer.add("call_phase", calls.phase.astype(np.int8))
    return {
        "length_ns": 0 if trace.weight_unit == "ns" else int(length[0]) if len(length) else 1,
        "groups": [[group.lane, group.engine, group.first, group.end, group.longest_ns] for group in groups],
        "lanes": [_lane(analysis, thread) for thread in threads.tolist()],
        **_tree(writer, tree, trace.stacks),
    }


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
    writer.add("tree_parent", nodes.parent.astype(np.int32))
    writer.add("tree_function", number.astype(np.int32))
    writer.add("tree_flags", node_flags(nodes, binaries["path"].to_numpy(object)).astype(np.uint8))
    writer.add("text_of", text_of.astype(np.int32))
    return {"page_nodes": tree.page, "levels": list(tree.levels)}


def _lane(analysis: Analysis, thread: int) -> list[str | None]:
    label, process, tid = thread_names(analysis, thread)
    return [shown_text(label), shown_text(process), tid]


def _fit(weight: Ints) -> bool:
    return bool(weight.min(initial=0) >= 0 and weight.max(initial=0) < 1 << 32)


def _groups(key: Ints, length: Ints) -> list[SampleGroup]:
    cuts = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), len(key)]
    groups = []
    for first, end in pairwise(cuts if len(key) else []):
        lane, engine = divmod(int(key[first]), len(ENGINES))
        groups.append(SampleGroup(lane, engine, first, end, int(length[first:end].max())))
    return groups


def _stacks(writer: _Writer, analysis: Analysis) -> dict[str, Any]:
    stacks, classification = analysis.trace.stacks, analysis.labels.classification
    function, symbols, binary = functions_of(stacks)
    writer.add("stack_offset", stacks.offsets)
    writer.add("stack_function", function[stacks.frame_ids].astype(np.int32))
    writer.add("function_binary", binary.astype(np.int32))
    writer.add("stack_rule", classification.rule.astype(np.int32))
    writer.add("stack_deciding", classification.deciding.astype(np.int32))
    writer.add("stack_engine", classification.engine.astype(np.int8))
    writer.add("stack_phase", classification.phase.astype(np.int8))
    return {
        "symbols": [shown_text(symbol) for symbol in symbols],
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
    columns = [windows["label"].astype("str"), windows["model"].astype("str")]
    number, names = pd.factorize(np.concatenate([column.to_numpy(object) for column in columns]))
    writer.add("window_label", number[: len(windows)].astype(np.int32))
    writer.add("window_model", number[len(windows) :].astype(np.int32))
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
