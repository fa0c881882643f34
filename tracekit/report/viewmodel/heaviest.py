"""The heaviest stacks, with the frame and the rule that decided each one's engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, ML_ENGINES, PHASE_CODE, PHASES, Phase
from tracekit.report.viewmodel.tree import build_tree

MOST_STACKS = 20
_MOST_FRAMES = 60


@dataclass(frozen=True)
class HeavyStack:
    """One stack: ``frames`` are (symbol, binary), leaf first; ``deciding`` is one of them, -1 for none.

    Of a deep stack a part is kept, around the deciding frame: ``above`` and ``below`` count what is left out.
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


def heaviest_stacks(analysis: Analysis, most: int = MOST_STACKS) -> list[HeavyStack]:
    """Return the heaviest stacks of ML engines at work; of all samples, where no engine was seen at work."""
    trace, labels = analysis.trace, analysis.labels
    stack = trace.samples["stack_id"].to_numpy(np.int64)
    weight = trace.weights.astype(np.float64)
    at_work = np.isin(labels.engine, [ENGINE_CODE[one] for one in ML_ENGINES])
    at_work &= labels.phase != PHASE_CODE[Phase.IDLE]
    wanted = (stack >= 0) & (at_work if at_work.any() else True)
    # Stacks of the same functions are one, whatever the addresses in them: the leaf's node of the call tree.
    node = build_tree(trace.stacks).leaf
    total = np.bincount(node[stack[wanted]] + 1, weight[wanted])[1:]
    count = np.bincount(node[stack[wanted]] + 1)[1:]
    found = labels.classification
    names, symbols = trace.stacks.binary_names, trace.stacks.symbols
    order = np.lexsort((np.arange(len(total)), -total))[:most]
    first = dict(zip(node[::-1].tolist(), range(len(node) - 1, -1, -1), strict=True))
    stacks = []
    for leaf in order[total[order] > 0].tolist():
        at = first[leaf]
        frames = trace.stacks.stack(at)
        phase = int(found.phase[at])
        deciding = int(found.deciding[at])
        above = max(0, min(deciding - _MOST_FRAMES // 2, len(frames) - _MOST_FRAMES))
        kept = frames[above : above + _MOST_FRAMES]
        rule = int(found.rule[at])
        stacks.append(
            HeavyStack(
                float(total[leaf]),
                int(count[leaf]),
                str(ENGINES[int(found.engine[at])]),
                None if phase < 0 else str(PHASES[phase]),
                analysis.rules[rule].id if rule >= 0 else "",
                tuple((str(symbols[f]), str(names[f])) for f in kept.tolist()),
                deciding - above if deciding >= 0 else -1,
                above,
                len(frames) - above - len(kept),
            )
        )
    return stacks
