"""The call trees of two recordings as one: each path of functions with its weight in BASE and in NEW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.call_tree import CallTree, grow_tree
from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.result import Analysis
from tracekit.comparison.functions import UNNAMED
from tracekit.comparison.result import Comparison
from tracekit.frozen import frozen
from tracekit.report.viewmodel.payload import Arrays, Strings
from tracekit.report.viewmodel.tree import prune

FORMAT = "tracekit-difference/1"
MOST_NODES = 20_000
Floats = npt.NDArray[np.float64]
Per = Literal["window", "sample"]


@frozen
class DifferenceTree:
    """A tree of both sides' paths; ``base`` and ``new`` are the weights that end at each node.

    They are per window, as the comparison of functions has them; ``per`` "sample" is a share of all weight,
    where a side has no windows or the units differ.
    """

    nodes: CallTree
    binary_names: tuple[str, ...]
    base: Floats
    new: Floats
    per: Per


def build_difference_tree(base: Analysis, new: Analysis, max_nodes: int = MOST_NODES) -> DifferenceTree:
    """Return the heaviest nodes of both trees."""
    sides = (base, new)
    is_per_window = all(len(side.window_rows) for side in sides)
    is_per_window &= base.trace.weight_unit == new.trace.weight_unit
    weights = [_measure_weights(side, is_per_window) for side in sides]
    nodes, binary_names = _build_joint_tree(sides)
    zeros = [np.zeros(len(weight)) for weight in weights]
    base_weights, new_weights = np.append(weights[0], zeros[1]), np.append(zeros[0], weights[1])
    nodes = prune(nodes, base_weights + new_weights, max_nodes)
    has_node = nodes.leaf >= 0
    ends = [
        np.bincount(nodes.leaf[has_node], weight[has_node], len(nodes)).astype(np.float64)
        for weight in (base_weights, new_weights)
    ]
    return DifferenceTree(nodes, binary_names, ends[0], ends[1], "window" if is_per_window else "sample")


def _measure_weights(analysis: Analysis, is_per_window: bool) -> Floats:
    """Return the weight of each stack: per window, or as a share of the weight of all stacks."""
    trace = analysis.trace
    stack = trace.samples["stack_id"].to_numpy(np.int64)
    weight = trace.weights.astype(np.float64)
    if is_per_window:
        weight = weight * analysis.members.times_counted(len(stack)) / len(analysis.window_rows)
    sums: Floats = np.bincount(stack + 1, weight, len(trace.stacks) + 1)[1:].astype(np.float64)
    return sums if is_per_window else sums / max(float(sums.sum()), 1.0)


def _build_joint_tree(sides: Sequence[Analysis]) -> tuple[CallTree, tuple[str, ...]]:
    """Return the tree of the stacks of all sides, in their order, and the names of the binaries."""
    symbols, binaries, offsets, frames = [], [], [np.zeros(1, np.int64)], 0
    frame_ids: list[npt.NDArray[np.int64]] = []
    for side in sides:
        stacks = side.trace.stacks
        # Addresses differ from run to run: frames without a symbol are one function per binary.
        names = np.array([name if has_symbol(str(name)) else UNNAMED for name in stacks.symbol_names], object)
        symbols.append(names[stacks.symbol_codes] if len(names) else np.zeros(0, object))
        binaries.append(stacks.binary_names)
        offsets.append(sum(map(len, frame_ids)) + stacks.offsets[1:])
        frame_ids.append(stacks.frame_ids.astype(np.int64) + frames)
        frames += len(stacks.frames)
    symbol, symbol_names = pd.factorize(np.concatenate(symbols))
    binary, binary_names = pd.factorize(np.concatenate(binaries))
    function, pairs = pd.factorize(symbol.astype(np.int64) * max(1, len(binary_names)) + binary)
    tree = grow_tree(
        np.concatenate(offsets),
        np.concatenate(frame_ids),
        function.astype(np.int64),
        symbol_names[pairs // max(1, len(binary_names))],
        pairs % max(1, len(binary_names)),
    )
    return tree, tuple(map(str, binary_names))


def difference_block(comparison: Comparison, base: Analysis, new: Analysis) -> bytes:
    """Return the trees as a block, with what the comparison found out about functions."""
    tree = build_difference_tree(base, new)
    arrays, strings = Arrays(), Strings()
    nodes = tree.nodes
    symbols = np.append(nodes.symbols, "(less)")[nodes.function]
    binary = np.append(np.array(tree.binary_names, object), "")[np.append(nodes.binaries, -1)[nodes.function]]
    header = {
        "format": FORMAT,
        "per": tree.per,
        "unit": base.trace.weight_unit if tree.per == "window" else "share",
        "nodes": {
            "count": len(nodes),
            "parent": arrays.add(nodes.parent, "i4"),
            "name": arrays.add(strings.column(symbols), "u4"),
            "binary": arrays.add(strings.column(binary), "u4"),
            "flags": arrays.add(np.where(nodes.function < 0, 2, 0), "u1"),
        },
        "base": arrays.add(tree.base, "f8"),
        "new": arrays.add(tree.new, "f8"),
        "tested": _list_tested(comparison, strings),
    }
    return arrays.block({**header, "strings": strings.all})


def _list_tested(comparison: Comparison, strings: Strings) -> list[dict[str, object]]:
    """Return the compared functions; the model of each where there are several."""
    changes = (*comparison.functions, *comparison.largest_functions)
    are_several = len({change.model for change in changes}) > 1
    return [
        {
            "name": strings.add(change.symbol),
            "binary": strings.add(change.binary),
            "engine": change.engine,
            "model": strings.add(change.model) if are_several else None,
            "difference": change.row.difference,
            "judgement": change.row.judgement,
        }
        for change in changes
    ]
