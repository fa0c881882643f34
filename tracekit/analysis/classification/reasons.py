"""Which frame to name as the reason of a verdict, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.classification.classify import Classification
from tracekit.analysis.classification.frames import has_symbol
from tracekit.analysis.classification.labels import Labels, deciding_frames
from tracekit.analysis.classification.markers import Markers
from tracekit.analysis.classification.stack_walk import FrameNames
from tracekit.analysis.engines.codes import INFERENCE, firsts, is_phase
from tracekit.analysis.engines.membership import Membership
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINES, Engine


def leading_frames(
    trace: Trace, labels: Labels, markers: Markers, members: Membership
) -> dict[int, dict[Engine, str]]:
    """Return, per window and engine, the frame to name as the reason, and its rule.

    It is the deciding frame with most inference samples there; a frame with a symbol goes before a bare
    address, and among equals the rule that stands first.
    """
    found = labels.classification
    alike, named = _alike(trace.stacks, found)
    stack_ids = trace.samples["stack_id"].to_numpy()[members.sample]
    reason = np.append(alike, -1)[stack_ids]
    counts = is_phase(labels.phase[members.sample], *INFERENCE) & (reason >= 0)
    width = len(alike) + 1
    code, keys = pd.factorize(members.window[counts] * width + reason[counts])
    window, reason = np.divmod(keys, width)
    size = np.bincount(code, minlength=len(keys))
    engine = found.engine[reason].astype(np.int64)
    order = np.lexsort((found.rule[reason], -size, ~named[reason], engine, window))
    leading = order[np.flatnonzero(np.diff(window[order] * len(ENGINES) + engine[order], prepend=-1))]
    first = stack_ids[counts][firsts(code, len(keys))[leading]]
    teller = _Teller(trace, labels, markers)
    frames: dict[int, dict[Engine, str]] = {}
    told = np.where(named[reason[leading]], reason[leading], first)
    rows = zip(window[leading].tolist(), engine[leading].tolist(), told.tolist(), strict=True)
    for at, code_of_engine, stack in rows:
        frames.setdefault(at, {})[ENGINES[code_of_engine]] = teller.describe(stack)
    return frames


def _alike(stacks: StackTable, found: Classification) -> tuple[IntArray, BoolArray]:
    """Return, per stack, the first that the same rule decides at a frame of the same name, or -1.

    Beside it: whether that frame has a symbol.
    """
    count = len(stacks)
    names = FrameNames.of(stacks)
    frame = deciding_frames(found, stacks, np.arange(count, dtype=np.int32))
    decided = np.flatnonzero((frame >= 0) & (found.rule >= 0))
    frame = frame[decided]
    key = names.binary_codes[frame].astype(np.int64)
    for codes, size in (
        (names.symbol_codes[frame], len(names.symbols)),
        (found.rule[decided], int(found.rule.max(initial=0)) + 1),
        (found.engine[decided], len(ENGINES)),
    ):
        key = key * size + codes
    code, distinct = pd.factorize(key)
    first = firsts(code, len(distinct))
    alike, named = np.full(count, -1, np.int64), np.zeros(count, bool)
    alike[decided] = decided[first][code]
    symbols = names.symbols[names.symbol_codes[frame[first]]]
    named[decided[first]] = [has_symbol(symbol) for symbol in symbols]
    return alike, named


class _Teller:
    """Names the frame that a verdict rests on, in words; each stack is looked at once."""

    def __init__(self, trace: Trace, labels: Labels, markers: Markers) -> None:
        self._stacks = trace.stacks
        self._found = labels.classification
        self._markers = markers
        self._said: dict[int, str] = {}

    def describe(self, stack_id: int) -> str:
        """Return the deciding frame of a stack and its rule.

        Where that frame is a bare address (only its binary speaks), the nearest caller that speaks for the
        same engine by name says more.
        """
        if stack_id not in self._said:
            position = int(self._found.deciding[stack_id])
            rule = int(self._found.rule[stack_id])
            for at in range(position, len(self._stacks.stack(stack_id))):
                binary, symbol = self._frame(stack_id, at)
                if not has_symbol(symbol):
                    continue
                matched = self._markers.match(binary, symbol).rule
                if self._speaks_alike(matched, rule):
                    position, rule = at, matched
                    break
            binary, symbol = self._frame(stack_id, position)
            place = f"{shorten(symbol)} in {binary or 'an unknown binary'}"
            self._said[stack_id] = f"{place}, rule {self._markers.rules[rule].id}"
        return self._said[stack_id]

    def _frame(self, stack_id: int, position: int) -> tuple[str, str]:
        frame = self._stacks.stack(stack_id)[position]
        return str(self._stacks.binary_names[frame]), str(self._stacks.symbols[frame])

    def _speaks_alike(self, matched: int, deciding: int) -> bool:
        if matched == deciding:
            return True
        rules = self._markers.rules
        return (
            matched >= 0
            and rules[matched].strength == "decisive"
            and rules[matched].engine is rules[deciding].engine
        )


def shorten(symbol: str, limit: int = 80) -> str:
    """Return a symbol that fits a sentence: C++ argument lists go first, then the end."""
    if len(symbol) > limit and "(" in symbol and not symbol.startswith(("-[", "+[")):
        symbol = symbol[: symbol.index("(", 1)] if "(" in symbol[1:] else symbol
    return symbol if len(symbol) <= limit else f"{symbol[: limit - 1]}…"
