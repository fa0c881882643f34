"""One verdict and one sentence of reason per window, from its attribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.analysis.attribution import Share
from tracekit.engines import ENGINES, Engine, Phase
from tracekit.model import WeightUnit

MIXED = "MIXED"
UNKNOWN = "UNKNOWN"
SERVING = tuple(engine for engine in ENGINES if engine.serves_inference)


@dataclass(frozen=True)
class Verdict:
    """What a window's evidence says: "ANE", "GPU", "CPU", "MIXED" or "UNKNOWN", and why.

    ``why`` is one sentence with its numbers; ``reason`` is what it rests on, without them.
    """

    verdict: str
    why: str
    reason: str


def judge(shares: Sequence[Share], reasons: Mapping[Engine, str], unit: WeightUnit) -> Verdict:
    """Return the verdict of one window from its shares, and from the frame to name per engine.

    An engine served a window if a sample of it is in an inference phase there; load, compile and idle never
    count. More than one such engine is MIXED, none is UNKNOWN: a verdict names no majority, the counts do.
    """
    inference = [share for share in shares if share.is_inference]
    serving = [engine for engine in SERVING if any(share.engine is engine for share in inference)]
    if not serving:
        why = _why_unknown(shares)
        return Verdict(UNKNOWN, why, why)
    parts, grounds = [], []
    for engine in serving:
        own = sorted((s for s in inference if s.engine is engine), key=lambda s: s.samples, reverse=True)
        phases = ", ".join(str(share.phase) for share in own)
        reason = reasons.get(engine, "")
        parts.append(f"{engine} {_amount(own, unit)} ({phases}; {reason})")
        grounds.append(f"{engine}: {phases}; {reason}")
    verdict = str(serving[0]) if len(serving) == 1 else MIXED
    return Verdict(verdict, "; ".join(parts), "; ".join(grounds))


def _amount(shares: Sequence[Share], unit: WeightUnit) -> str:
    samples = sum(share.samples for share in shares)
    weight = sum(share.weight for share in shares)
    amount = f"{weight / 1e6:.1f} ms host time" if unit == "ns" else f"{weight:,} {unit}"
    return f"{samples} sample{'s' if samples != 1 else ''}, {amount}"


def _why_unknown(shares: Sequence[Share]) -> str:
    total = sum(share.samples for share in shares)
    if total == 0:
        return "no sample lies in this window"
    preparing = sum(
        s.samples for s in shares if s.engine in SERVING and s.phase in (Phase.LOAD, Phase.COMPILE)
    )
    runtime = sum(share.samples for share in shares if share.engine is Engine.RUNTIME)
    without = sum(share.samples for share in shares if share.engine is Engine.UNKNOWN)
    if preparing:
        return f"{preparing} of {total} samples load or compile for an engine, none runs an inference on one"
    if runtime:
        return f"{runtime} of {total} samples are in an ML runtime, and none shows which engine it used"
    if without == total:
        return f"none of the {total} samples has a stack with symbols"
    return f"none of the {total} samples shows an ML runtime or an engine"
