"""The distinct stacks of a run's samples, with the engine and phase that each has, as a page lists them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.analysis.call_tree import CallTree
from tracekit.analysis.engines.codes import sum_by_code
from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.combinations import find_combinations, iter_row_blocks
from tracekit.model.vocabulary import PHASES
from tracekit.report.viewmodel.payload import Arrays

Floats = npt.NDArray[np.float64]


@frozen
class StackKinds:
    """The distinct combinations of stack, joined stack, engine and phase that samples have; parallel arrays.

    ``of_samples`` is the combination of each sample of the trace; ``weight`` and ``number`` are the sums of
    these samples. Stack -1 and phase -1 are none; ``joined_stack`` is ``stack`` where no stack is joined.
    """

    of_samples: npt.NDArray[np.int32]
    stack: IntArray
    joined_stack: IntArray
    engine: IntArray
    phase: IntArray
    weight: Floats
    number: IntArray

    @classmethod
    def of(cls, analysis: Analysis) -> StackKinds:
        """Find the combinations of all samples."""
        trace, labels = analysis.trace, analysis.labels
        # A joined stack is of one stack, so it takes the stack's place.
        joined_stack = analysis.joined.stack
        rows, of_samples = find_combinations([joined_stack, labels.engine, labels.phase], len(joined_stack))
        weight, number = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        for block in iter_row_blocks(len(of_samples)):
            weight += np.bincount(of_samples[block], trace.weights[block], len(rows))
            number += sum_by_code(of_samples[block].astype(np.int64), trace.sample_counts[block], len(rows))
        return cls(
            of_samples,
            trace.samples["stack_id"].to_numpy(np.int64)[rows],
            joined_stack[rows],
            labels.engine[rows].astype(np.int64),
            labels.phase[rows].astype(np.int64),
            weight,
            number,
        )


@frozen
class LabelledStacks:
    """Stacks as leaves of a call tree, each with an engine and a phase; parallel arrays.

    ``node`` is -1 for samples without a stack, ``joined_node`` the leaf of the joined stack (``node`` where
    there is none). ``rule`` is the row of the analysis' rules that decided, -1 is none, and ``deciding`` the
    frame that it decided by, counted from the leaf of ``node``; -1 where the tree does not have it.
    ``of_kinds`` is the stack of each of the ``StackKinds``.
    """

    of_kinds: IntArray
    node: IntArray
    joined_node: IntArray
    engine: IntArray
    phase: IntArray
    rule: IntArray
    deciding: IntArray
    weight: Floats
    number: IntArray

    @classmethod
    def of(cls, analysis: Analysis, kinds: StackKinds, tree: CallTree) -> LabelledStacks:
        """Merge the kinds that are alike in ``tree``."""
        classification = analysis.labels.classification
        leaf = np.append(tree.leaf, -1)  # the appended -1 is the leaf of stack -1
        node, joined_node = leaf[kinds.stack], leaf[kinds.joined_stack]
        rule = np.append(classification.rule, -1)[kinds.stack]
        deciding = _find_deciding(analysis, tree)[kinds.stack]
        columns = (node, joined_node, kinds.engine, kinds.phase, rule.astype(np.int64), deciding)
        rows, of_kinds = find_combinations(columns, len(node))
        stack = of_kinds.astype(np.int64)
        weight = np.bincount(stack, kinds.weight, len(rows)).astype(np.float64)
        node, joined_node, engine, phase, rule, deciding = (column[rows] for column in columns)
        number = sum_by_code(stack, kinds.number, len(rows))
        return cls(stack, node, joined_node, engine, phase, rule, deciding, weight, number)

    def document(self, arrays: Arrays) -> dict[str, Any]:
        """Return the header's fields, and add the columns to ``arrays``."""
        is_joined = self.joined_node != self.node
        # 0 where the joined node is the node: most rows of most recordings, which compress to nothing.
        joined_field = {"joined": arrays.add(np.where(is_joined, self.joined_node + 1, 0), "u4")}
        return {
            "count": len(self.node),
            "node": arrays.add(self.node, "i4"),
            **(joined_field if is_joined.any() else {}),
            # Engine and phase share a byte. Phase -1 (none) becomes the number after the last phase.
            "kind": arrays.add(self.engine << 4 | self.phase % (len(PHASES) + 1), "u1"),
            "rule": arrays.add(self.rule, "i4"),
            "deciding": arrays.add(self.deciding, "i4"),
            "weight": arrays.add(self.weight, "f8"),
            "number": arrays.add(self.number, "f8"),
        }


def _find_deciding(analysis: Analysis, tree: CallTree) -> IntArray:
    """Return the position of each stack's deciding frame among the nodes above its leaf, then -1."""
    position = np.append(analysis.labels.classification.deciding, -1)
    frames = np.append(np.diff(analysis.trace.stacks.offsets), 0)
    nodes = np.append(_measure_depths(tree), 0)[np.append(tree.leaf[: len(frames) - 1], -1)]
    # A pruned tree has fewer nodes than the stack has frames, and its leaf is not a frame:
    #   frames  main a b c d     deciding: b, 2 from the leaf
    #   nodes   main a b (rest)  deciding: b, 1 from the leaf
    position = np.where(position >= 0, position - (frames - nodes), -1)
    is_rest = np.append(tree.function < 0, False)[np.append(tree.leaf[: len(frames) - 1], -1)]
    return np.where(position < is_rest, -1, position)


def _measure_depths(tree: CallTree) -> IntArray:
    """Return the number of nodes from a root to each node, which it counts as well."""
    # Each round adds the nodes from the ancestor reached so far, and then looks twice as far up. The last
    # entries stand for parent -1.
    ancestor = np.append(tree.parent, -1)
    depth = np.append(np.ones(len(tree), np.int64), 0)
    while (ancestor >= 0).any():
        depth = depth + depth[ancestor]
        ancestor = ancestor[ancestor]
    return depth[:-1]
