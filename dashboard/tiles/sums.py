"""Sums of the selection by node of the call tree, engine and phase: ``tracekit-sums/1``."""

from __future__ import annotations

from typing import Any

import numpy as np

from dashboard.tiles.branches import Branches, Floats, NodeColumns, branches_of, recorded_nodes
from dashboard.tiles.sample_columns import Ints, SampleColumns
from dashboard.tiles.sample_selection import SampleSelection
from dashboard.tiles.transformed import LESS, TransformedTree
from tracekit.analysis.call_tree import ROOT
from tracekit.report.viewmodel.payload import Arrays, Strings
from tracekit.report.viewmodel.samples import Calls, node_sums, sums_document

FORMAT = "tracekit-sums/1"


def sums_block(
    samples: SampleColumns, selection: SampleSelection, tree: TransformedTree | None = None
) -> bytes:
    """Return the sums as a block; ``selected`` and ``total`` are numbers of samples.

    With a transformed tree, nodes are its own, and the block contains all that the selection needs.
    """
    calls = calls_in(samples)
    # Rows are added up per call (stack, engine, phase), of which there are far fewer; nodes are looked up
    # once per call.
    weight, number = _call_sums(samples, selection, len(calls))
    # Nodes that the page's tree lacks are sent along, the heaviest of them, with the names that the page does
    # not have.
    times = 2 if samples.has_joined else 1
    leaves = np.append(samples.call_node, samples.call_joined_node)[: times * len(calls)]
    nodes = recorded_nodes(samples)
    if tree is not None:
        leaves = np.where(leaves >= 0, np.append(tree.place, ROOT)[leaves], leaves)
        nodes = _nodes_of(tree)
    branches = branches_of(nodes, leaves, np.tile(weight, times), np.tile(number, times))
    node, *others = np.split(branches.node, times)
    joined = others[0] if others else node
    sums = node_sums(calls, node, joined, weight, number)
    arrays = Arrays(is_packed=False)
    header = {
        "samples": sums_document(arrays, sums),
        "selected": int(number.sum()),
        "total": samples.total,
        **branches_document(samples, branches, arrays, tree),
    }
    if tree is not None:
        header["steps"] = list(tree.names)
    return arrays.block({"format": FORMAT, **header})


def _call_sums(samples: SampleColumns, selection: SampleSelection, count: int) -> tuple[Floats, Ints]:
    """Return the weight and the number of the selected samples of each call."""
    weight: Floats = np.zeros(count)
    number: Ints = np.zeros(count, np.int64)
    if (same := samples.same_weight) is not None:
        for (call,) in selection.pieces(samples, samples["call"]):
            number += np.bincount(call, minlength=count)
        np.multiply(number, float(same), out=weight)
        return weight, number
    for call, weights in selection.pieces(samples, samples["call"], samples.weight):
        rows = call.astype(np.intp)
        weight += np.bincount(rows, weights, count)
        number += np.bincount(rows, minlength=count)
    return weight, number


def calls_in(samples: SampleColumns) -> Calls:
    """Return the calls of a recording, without those of each sample, which are the column ``call``."""
    names = ("stack", "engine", "phase", "joined")
    return Calls(np.zeros(0, np.int64), *(samples[f"call_{name}"].astype(np.int64) for name in names))


def _nodes_of(tree: TransformedTree) -> NodeColumns:
    _, (less,) = tree.functions.added([(LESS, "")])
    return NodeColumns(tree.parent, tree.function, tree.flags, 0, tree.levels, less)


def branches_document(
    samples: SampleColumns, branches: Branches, arrays: Arrays, tree: TransformedTree | None = None
) -> dict[str, Any]:
    """Return the header of the additional nodes, and the names of functions that the page lacks."""
    if not len(branches.parent) and tree is None:
        return {}
    strings = Strings()
    of_page = samples["tree_function"][: samples.page_nodes]
    first_new = int(of_page.max()) + 1 if len(of_page) else 0
    new = np.unique(branches.function[branches.function >= first_new])
    texts = [_texts(samples, tree, number) for number in new.tolist()]
    return {
        "extra": {
            "count": len(branches.parent),
            "parent": arrays.add(branches.parent, "i4"),
            "function": arrays.add(branches.function, "u4"),
            "flags": arrays.add(branches.flags, "u1"),
        },
        "functions": {
            "number": arrays.add(new, "u4"),
            "name": arrays.add(np.array([strings.add(symbol) for symbol, _ in texts], np.int64), "u4"),
            "binary": arrays.add(np.array([strings.add(binary) for _, binary in texts], np.int64), "u4"),
        },
        "strings": strings.all,
    }


def _texts(samples: SampleColumns, tree: TransformedTree | None, function: int) -> tuple[str, str]:
    """Return symbol and library of a function."""
    if tree is not None:
        return tree.functions.texts(function)
    row = int(samples["text_of"][function])
    return samples.symbols[row], samples.binaries[int(samples["function_binary"][row])]
