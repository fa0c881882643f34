"""The heaviest stacks, each with the frame and the rule that decided its engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.analysis.engines.codes import sum_by_code
from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.combinations import iter_row_blocks
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, ML_ENGINES, PHASE_CODE, PHASES, Phase

MOST_STACKS = 20
_MOST_FRAMES = 60


@frozen
class HeavyStack:
    """One stack: ``frames`` are (symbol, binary), leaf first; ``deciding`` is the index of one, -1 for none.

    A deep stack is cut to the frames around the deciding one; ``above`` and ``below`` count those left out.
    """

    weight: float
    samples: int
    engine: str
    phase: str | None
    rule: str
    frames: tuple[tuple[str, str], ...]
    deciding: int
    above: int = 0
    below: int = 0


def heaviest_stacks(analysis: Analysis, max_stacks: int = MOST_STACKS) -> list[HeavyStack]:
    """Return the heaviest stacks in which an ML engine works, or of all stacks if none shows one at work."""
    trace, labels = analysis.trace, analysis.labels
    at_work = np.isin(labels.engine, [ENGINE_CODE[engine] for engine in ML_ENGINES])
    at_work &= labels.phase != PHASE_CODE[Phase.IDLE]
    stack_weights, stack_samples = _sum_by_stack(analysis, at_work if at_work.any() else None)
    # Stacks with the same functions at different addresses are one: they share their leaf's call-tree node.
    node = analysis.call_tree.leaf[: len(trace.stacks)]
    total = np.bincount(node + 1, stack_weights)[1:]
    samples = np.bincount(node + 1, stack_samples)[1:].astype(np.int64)
    classification = labels.classification
    names, symbols = trace.stacks.binary_names, trace.stacks.symbols
    order = np.lexsort((np.arange(len(total)), -total))[:max_stacks]
    # Filled from the last stack to the first, so that the first stack of each node remains.
    stack_of_node = dict(zip(node[::-1].tolist(), range(len(node) - 1, -1, -1), strict=True))
    stacks = []
    for leaf in order[total[order] > 0].tolist():
        stack_id = stack_of_node[leaf]
        frames = trace.stacks.stack(stack_id)
        phase = int(classification.phase[stack_id])
        deciding = int(classification.deciding[stack_id])
        start = max(0, min(deciding - _MOST_FRAMES // 2, len(frames) - _MOST_FRAMES))
        visible_frames = frames[start : start + _MOST_FRAMES]
        rule = int(classification.rule[stack_id])
        stacks.append(
            HeavyStack(
                float(total[leaf]),
                int(samples[leaf]),
                str(ENGINES[int(classification.engine[stack_id])]),
                None if phase < 0 else str(PHASES[phase]),
                analysis.rules[rule].id if rule >= 0 else "",
                tuple((str(symbols[frame]), str(names[frame])) for frame in visible_frames.tolist()),
                deciding - start if deciding >= 0 else -1,
                start,
                len(frames) - start - len(visible_frames),
            )
        )
    return stacks


def _sum_by_stack(analysis: Analysis, mask: BoolArray | None) -> tuple[npt.NDArray[np.float64], IntArray]:
    """Return the weight and the number of each stack's samples, of those that are marked."""
    trace = analysis.trace
    stacks, count = trace.samples["stack_id"].to_numpy(), len(trace.stacks) + 1
    weights, samples = np.zeros(count), np.zeros(count, np.int64)
    for block in iter_row_blocks(len(stacks)):
        stack, weight, number = stacks[block] + 1, trace.weights[block], trace.sample_counts[block]
        if mask is not None:
            stack, weight, number = (column[mask[block]] for column in (stack, weight, number))
        weights += np.bincount(stack, weight, count)
        samples += sum_by_code(stack, number, count)
    return weights[1:], samples[1:]
