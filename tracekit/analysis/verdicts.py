"""One verdict and one sentence of reason per window, from its attribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.attribution import Membership
from tracekit.analysis.frames import has_symbol
from tracekit.analysis.labels import Labels, deciding_frames, take
from tracekit.analysis.markers import Markers
from tracekit.engines import ENGINE_CODE, ENGINES, PHASES, Engine, Phase
from tracekit.model import Trace, WeightUnit

MIXED = "MIXED"
UNKNOWN = "UNKNOWN"
SERVING = tuple(engine for engine in ENGINES if engine.serves_inference)
INFERENCE_PHASES = frozenset(str(phase) for phase in PHASES if phase.is_inference)


@dataclass(frozen=True)
class Verdict:
    """What a window's evidence says: "ANE", "GPU", "CPU", "MIXED" or "UNKNOWN", and why.

    ``why`` is one sentence with its numbers; ``reason`` is what it rests on, without them.
    """

    verdict: str
    why: str
    reason: str


def judge(
    trace: Trace,
    labels: Labels,
    markers: Markers,
    members: Membership,
    attribution: pd.DataFrame,
    windows: int,
) -> tuple[Verdict, ...]:
    """Return the verdicts of windows 0 to ``windows - 1``.

    An engine served a window if a sample of it is in an inference phase there; load, compile and idle never
    count. More than one such engine is MIXED, none is UNKNOWN: a verdict names no majority, the counts do.
    """
    reasons = _leading_frames(trace, labels, markers, members)
    inside = attribution[attribution["window_id"] >= 0]
    by_window = dict(iter(inside.groupby("window_id")))
    nothing = inside.iloc[:0]
    return tuple(
        _judge_one(by_window.get(window, nothing), window, reasons, trace.weight_unit)
        for window in range(windows)
    )


def _judge_one(
    rows: pd.DataFrame, window: int, reasons: dict[tuple[int, int], str], unit: WeightUnit
) -> Verdict:
    inference = rows[rows["phase"].isin(INFERENCE_PHASES)]
    serving = [engine for engine in SERVING if (inference["engine"] == str(engine)).any()]
    if not serving:
        return Verdict(UNKNOWN, *[_why_unknown(rows)] * 2)
    parts, grounds = [], []
    for engine in serving:
        own = inference[inference["engine"] == str(engine)]
        phases = ", ".join(own.sort_values("samples", ascending=False, kind="stable")["phase"].astype(str))
        reason = reasons.get((window, ENGINE_CODE[engine]), "")
        parts.append(f"{engine} {_amount(own, unit)} ({phases}; {reason})")
        grounds.append(f"{engine}: {phases}; {reason}")
    verdict = str(serving[0]) if len(serving) == 1 else MIXED
    return Verdict(verdict, "; ".join(parts), "; ".join(grounds))


def _amount(rows: pd.DataFrame, unit: WeightUnit) -> str:
    samples = int(rows["samples"].sum())
    weight = int(rows["weight"].sum())
    amount = f"{weight / 1e6:.1f} ms host time" if unit == "ns" else f"{weight:,} {unit}"
    return f"{samples} sample{'s' if samples != 1 else ''}, {amount}"


def _why_unknown(rows: pd.DataFrame) -> str:
    total = int(rows["samples"].sum())
    if total == 0:
        return "no sample lies in this window"
    counts = rows.groupby("engine", observed=True)["samples"].sum()
    runtime = int(counts.get(str(Engine.RUNTIME), 0))
    preparing = int(
        rows.loc[
            rows["engine"].isin([str(engine) for engine in SERVING])
            & rows["phase"].isin([str(Phase.LOAD), str(Phase.COMPILE)]),
            "samples",
        ].sum()
    )
    if preparing:
        return f"{preparing} of {total} samples load or compile for an engine, none runs an inference on one"
    if runtime:
        return f"{runtime} of {total} samples are in an ML runtime, and none shows which engine it used"
    without = int(counts.get(str(Engine.UNKNOWN), 0))
    if without == total:
        return f"none of the {total} samples has a stack with symbols"
    return f"none of the {total} samples shows an ML runtime or an engine"


def _leading_frames(
    trace: Trace, labels: Labels, markers: Markers, members: Membership
) -> dict[tuple[int, int], str]:
    """Per (window, engine code): the frame to name as the reason, and its rule.

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
        (int(row["window"]), int(row["engine"])): teller.describe(int(row["first"]))
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
