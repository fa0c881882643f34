"""Which frame to name as the reason of a verdict, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.classification.frames import has_symbol
from tracekit.analysis.classification.labels import Labels, deciding_frames, take
from tracekit.analysis.classification.markers import Markers
from tracekit.analysis.membership import Membership
from tracekit.engines import ENGINES, PHASES, Engine
from tracekit.model import Trace


def leading_frames(
    trace: Trace, labels: Labels, markers: Markers, members: Membership
) -> dict[tuple[int, Engine], str]:
    """Return, per window and engine, the frame to name as the reason, and its rule.

    It is the deciding frame with most inference samples there; a frame with a symbol goes before a bare
    address, and among equals the rule that stands first.
    """
    stack_ids = trace.samples["stack_id"].to_numpy()[members.sample]
    phases = labels.phase[members.sample]
    inference = np.isin(phases, [code for code, phase in enumerate(PHASES) if phase.is_inference])
    frame = pd.DataFrame(
        {
            "window": members.window,
            "engine": labels.engine[members.sample],
            "stack": stack_ids,
            "frame": deciding_frames(labels.classification, trace.stacks, stack_ids),
            "rule": take(labels.classification.rule, stack_ids, -1),
        }
    )[inference]
    frame = frame[frame["rule"] >= 0]
    frame["symbol"] = trace.stacks.symbols[frame["frame"].to_numpy()]
    frame["binary"] = trace.stacks.binary_names[frame["frame"].to_numpy()]
    keys = ["window", "engine", "symbol", "binary", "rule"]
    counts = frame.groupby(keys, as_index=False, sort=False)["stack"].agg(["size", "first"])
    counts["named"] = [has_symbol(symbol) for symbol in counts["symbol"]]
    order = {"named": False, "size": False, "rule": True}
    leading = counts.sort_values(list(order), ascending=list(order.values()), kind="stable")
    leading = leading.drop_duplicates(["window", "engine"])
    teller = _Teller(trace, labels, markers)
    return {
        (int(row["window"]), ENGINES[int(row["engine"])]): teller.describe(int(row["first"]))
        for row in leading.to_dict("records")
    }


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
                symbol, binary = self._frame(stack_id, at)
                matched = self._markers.match(binary, symbol).rule
                if has_symbol(symbol) and self._speaks_alike(matched, rule):
                    position, rule = at, matched
                    break
            symbol, binary = self._frame(stack_id, position)
            place = f"{shorten(symbol)} in {binary or 'an unknown binary'}"
            self._said[stack_id] = f"{place}, rule {self._markers.rules[rule].id}"
        return self._said[stack_id]

    def _frame(self, stack_id: int, position: int) -> tuple[str, str]:
        frame = self._stacks.stack(stack_id)[position]
        return str(self._stacks.symbols[frame]), str(self._stacks.binary_names[frame])

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
