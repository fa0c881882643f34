"""``find_leading_frame``: the frame that shows what most of some samples did."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.finding import Support
from tracekit.model.columns import IntArray
from tracekit.model.tables import StackTable

_MOST_STACKS = 200
"""So many stacks, the most frequent first, show what most samples did."""


def find_leading_frame(calls: Calls, samples: IntArray) -> Support | None:
    """Return the frame that decided the engine of most of some samples; None where no frame did."""
    stack_ids, counts = np.unique(
        calls.trace.samples["stack_id"].to_numpy(np.int64)[samples], return_counts=True
    )
    deciding = calls.analysis.labels.classification.deciding
    frequent = np.argsort(-counts, kind="stable")[:_MOST_STACKS]
    names: Counter[tuple[str, str]] = Counter()
    for stack_id, count in zip(stack_ids[frequent].tolist(), counts[frequent].tolist(), strict=True):
        if stack_id >= 0 and deciding[stack_id] >= 0:
            names[_name_frame(calls.trace.stacks, stack_id, int(deciding[stack_id]))] += count
    if not names:
        return None
    symbol, binary = min(names, key=lambda name: (not has_symbol(name[0]), -names[name], name))
    return Support("frame", binary, symbol)


def _name_frame(stacks: StackTable, stack_id: int, position: int) -> tuple[str, str]:
    """Return symbol and binary of a frame; of a bare address, those of the binary's next named caller."""
    frames = stacks.stack(stack_id)[position:].tolist()
    binary = str(stacks.binary_names[frames[0]])
    for frame in frames:
        symbol = str(stacks.symbols[frame])
        if has_symbol(symbol) and str(stacks.binary_names[frame]) == binary:
            return symbol, binary
    return str(stacks.symbols[frames[0]]), binary
