"""The frame to name as the reason for an engine, per window: the deciding frame with most samples."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.classification.classify import Classification
from tracekit.analysis.classification.frame_flags import FrameNames
from tracekit.analysis.classification.frame_names import has_symbol
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.sample_labels import SampleLabels, find_deciding_frames
from tracekit.analysis.engines.codes import INFERENCE, find_firsts, is_phase
from tracekit.analysis.engines.membership import Membership
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.content import Content
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINES

MAX_SYMBOL_LENGTH = 80
"""Longer symbols are shortened where a sentence names them."""


@frozen
class DecidingFrame:
    """A frame that decided a stack's engine, and the id of its rule; ``binary`` is "" where it is unknown."""

    symbol: str
    binary: str
    rule: str

    @property
    def place(self) -> str:
        """The frame as a sentence names it: its shortened symbol, and its binary."""
        return f"{shorten(self.symbol)} in {self.binary or 'an unknown binary'}"

    def __str__(self) -> str:
        return f"{self.place}, by rule {self.rule}"


@frozen
class LeadingFrames(Content):
    """The frame to name per window and engine: ``frames[codes[window, engine's code]]``, none where it is -1.

    ``frames`` are in order of their first window.
    """

    frames: tuple[DecidingFrame, ...]
    codes: IntArray


def find_leading_frames(
    trace: Trace, labels: SampleLabels, rule_set: RuleSet, members: Membership
) -> LeadingFrames:
    """Return, per window and engine, the frame to name as the reason.

    It is the deciding frame with most inference samples there; a frame with a symbol goes before a bare
    address, and among equals the rule with the highest precedence.
    """
    classification = labels.classification
    representative, has_name = group_by_deciding_frame(trace.stacks, classification)
    stack_ids = trace.samples["stack_id"].to_numpy()
    group_of_sample = np.append(representative, -1)[stack_ids]
    group_of_sample[~is_phase(labels.phase, *INFERENCE)] = -1
    tally = members.tally(group_of_sample)
    window, group, size, first_sample = tally.window, tally.code, tally.count, tally.first
    engine = classification.engine[group].astype(np.int64)

    # Sorted by window, engine, then preference: the first pair of each (window, engine) leads.
    # ``lexsort`` sorts by its last key first: window, engine, named before bare, most samples, then the
    # lowest rule, then the first in time.
    order = np.lexsort((first_sample, classification.rule[group], -size, ~has_name[group], engine, window))
    leading = order[np.flatnonzero(np.diff(window[order] * len(ENGINES) + engine[order], prepend=-1))]

    # All stacks of a group with a symbol name the same frame. Bare addresses share one group per binary, so
    # there the first sampled stack of the window is described: its callers may have a name.
    stack = np.where(has_name[group[leading]], group[leading], stack_ids[first_sample[leading]])
    describer = FrameDescriber(trace.stacks, classification, rule_set)
    stack_code, distinct = pd.factorize(stack)
    numbers: dict[DecidingFrame, int] = {}
    code_of_stack = [
        numbers.setdefault(describer.describe(stack_id), len(numbers)) for stack_id in distinct.tolist()
    ]
    codes = np.full((len(members.start), len(ENGINES)), -1, np.int64)
    codes[window[leading], engine[leading]] = np.array(code_of_stack, np.int64)[stack_code]
    return LeadingFrames(tuple(numbers), codes)


def group_by_deciding_frame(stacks: StackTable, classification: Classification) -> tuple[IntArray, BoolArray]:
    """Group stacks that the same rule decides at a frame of the same name.

    Return, per stack, the first stack of its group, or -1 where no frame decides; and, at the first stack of
    each group, whether the deciding frame has a symbol.
    """
    count = len(stacks)
    names = FrameNames.of(stacks)
    frame = find_deciding_frames(classification, stacks, np.arange(count, dtype=np.int32))
    decided = np.flatnonzero((frame >= 0) & (classification.rule >= 0))
    frame = frame[decided]
    # (binary, symbol, rule, engine) as one mixed-radix number.
    key = names.binary_codes[frame].astype(np.int64)
    for codes, size in (
        (names.symbol_codes[frame], len(names.symbols)),
        (classification.rule[decided], int(classification.rule.max(initial=0)) + 1),
        (classification.engine[decided], len(ENGINES)),
    ):
        key = key * size + codes
    group, distinct = pd.factorize(key)
    first_positions = find_firsts(group, len(distinct))
    representative, has_name = np.full(count, -1, np.int64), np.zeros(count, bool)
    representative[decided] = decided[first_positions][group]
    symbols = names.symbols[names.symbol_codes[frame[first_positions]]]
    has_name[decided[first_positions]] = [has_symbol(symbol) for symbol in symbols]
    return representative, has_name


class FrameDescriber:
    """Finds the frame to name for a stack."""

    def __init__(self, stacks: StackTable, classification: Classification, rule_set: RuleSet) -> None:
        self._stacks = stacks
        self._classification = classification
        self._rule_set = rule_set

    def describe(self, stack_id: int) -> DecidingFrame:
        """Return the deciding frame of a stack.

        Where that frame is a bare address (only its binary matched), the nearest caller with a symbol whose
        rule names the same engine is more informative, and is returned instead.
        """
        deciding = int(self._classification.rule[stack_id])
        position = int(self._classification.deciding[stack_id])
        # Leaf first, so a larger position is a caller of the deciding frame.
        for caller in range(position, len(self._stacks.stack(stack_id))):
            binary, symbol = self._find_frame_names(stack_id, caller)
            if not has_symbol(symbol):
                continue
            caller_rule = self._rule_set.match(binary, symbol).rule
            if self._is_of_same_engine(caller_rule, deciding):
                return DecidingFrame(symbol, binary, self._rule_set.rules[caller_rule].id)
        binary, symbol = self._find_frame_names(stack_id, position)
        return DecidingFrame(symbol, binary, self._rule_set.rules[deciding].id)

    def _find_frame_names(self, stack_id: int, position: int) -> tuple[str, str]:
        frame = self._stacks.stack(stack_id)[position]
        return str(self._stacks.binary_names[frame]), str(self._stacks.symbols[frame])

    def _is_of_same_engine(self, caller_rule: int, deciding: int) -> bool:
        if caller_rule == deciding:
            return True
        rules = self._rule_set.rules
        return (
            caller_rule >= 0
            and rules[caller_rule].strength == "decisive"
            and rules[caller_rule].engine is rules[deciding].engine
        )


def shorten(symbol: str, limit: int = MAX_SYMBOL_LENGTH) -> str:
    """Return a symbol that fits a sentence: C++ arguments are removed first, then the end."""
    if len(symbol) > limit and "(" in symbol and not symbol.startswith(("-[", "+[")):
        symbol = symbol[: symbol.index("(", 1)] if "(" in symbol[1:] else symbol
    return symbol if len(symbol) <= limit else f"{symbol[: limit - 1]}…"
