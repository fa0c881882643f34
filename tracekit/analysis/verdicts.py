"""One verdict per window, in words and with its reasons, from what was measured and sampled in it."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from tracekit.analysis.attribution import Share
from tracekit.engines import SERVING, Basis, Engine, Phase
from tracekit.model import WeightUnit

MIXED = "MIXED"
UNKNOWN = "UNKNOWN"
_MOST_SEGMENTS = 6
_MOST_NAMED = 4


class Segment(NamedTuple):
    """One stretch of one engine inside a window; ``basis`` says how it is known."""

    engine: Engine
    start_ns: int
    end_ns: int
    busy_ns: int
    basis: Basis


@dataclass(frozen=True)
class Facts:
    """What is known of one window: its shares, its engines in order, and the frame to name per engine.

    ``measured`` has the tables that measured each engine: of others, no interval proves nothing.
    ``requested`` are the engines of which Core ML reports requests. ``foreign_ns`` is the ANE's work for
    models that are none of the target's. A call (``is_call``) counts its own work, a window that the user
    gave every sample in its time; one ``of_engine`` is the Neural Engine's intervals themselves.
    """

    length_ns: int
    shares: Sequence[Share]
    segments: Sequence[Segment]
    frames: Mapping[Engine, str]
    measured: Mapping[Engine, str]
    unit: WeightUnit
    requested: frozenset[Engine] = frozenset()
    foreign_ns: int = 0
    is_call: bool = False
    of_engine: bool = False

    @cached_property
    def parts(self) -> dict[Engine, _Part]:
        """What each engine that served the window did there, in a fixed order."""
        found = {}
        for engine in SERVING:
            shares = [share for share in self.shares if share.engine is engine and share.is_inference]
            part = _Part(engine, shares, engine in self.requested)
            if part.samples or part.busy_ns or part.requested_ns:
                found[engine] = part
        return found

    @cached_property
    def order(self) -> list[Segment]:
        """The segments of the engines that served the window."""
        return [segment for segment in self.segments if segment.engine in self.parts]


@dataclass(frozen=True)
class _Part:
    """One engine's inference work in a window."""

    engine: Engine
    shares: Sequence[Share]
    requested: bool
    samples: int = field(init=False)
    busy_ns: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", sum(share.samples for share in self.shares))
        object.__setattr__(self, "busy_ns", sum(share.busy_ns or 0 for share in self.shares))

    @property
    def requested_ns(self) -> int:
        return sum(share.waiting_ns or 0 for share in self.shares) if self.requested else 0

    @property
    def reach_ns(self) -> int:
        """How much of the window is the engine's, by the best that is known: for the order of words only."""
        sampled = sum((share.sampled_ns or 0) + (share.waiting_ns or 0) for share in self.shares)
        return self.busy_ns or sampled

    @property
    def phases(self) -> str:
        told = sorted(self.shares, key=lambda share: share.samples, reverse=True)
        return ", ".join(str(share.phase) for share in told if share.samples)


@dataclass(frozen=True)
class Verdict:
    """What a window's evidence says: "ANE", "GPU", "CPU", "MIXED" or "UNKNOWN", and why.

    ``short`` is the sentence for a person, ``why`` adds what it rests on with its numbers; ``reason`` is that
    without numbers, so that windows of one kind share it. ``order`` is the engines in their order.
    """

    verdict: str
    why: str
    reason: str
    short: str = ""
    order: tuple[Engine, ...] = ()


def judge(facts: Facts) -> Verdict:
    """Return the verdict of one window.

    An engine served a window if it was measured at work there, if Core ML reported a request to it, or if a
    sample of it is in an inference phase; load, compile and idle never count. More than one such engine is
    MIXED, none is UNKNOWN: a verdict names no majority, the numbers do.
    """
    parts = facts.parts
    if not parts:
        why = _why_unknown(facts)
        return Verdict(UNKNOWN, why, why, why)
    lead = max(parts.values(), key=lambda part: (part.reach_ns, part.samples))
    others = [part for part in parts.values() if part is not lead]
    # A sample of dispatch or waiting says who called the engine, not that it worked.
    known = lead.busy_ns or lead.engine is Engine.CPU
    short = f"{'ran on' if known else 'handed work to'} the {lead.engine} ({_amount(lead, facts)})"
    if others:
        short += " with " + " and ".join(_beside(part, lead.engine, facts) for part in others)
    told = [_measured_words(facts), *(_host_words(part, facts) for part in parts.values())]
    grounds = [_ground(part, facts) for part in parts.values()]
    order = tuple(segment.engine for segment in facts.order)
    if len(order) > _MOST_NAMED:
        grounds.append(f"{' and '.join(parts)} in turns")
    elif len(order) > 1:
        grounds.append(f"in the order {' → '.join(order)}")
    verdict = next(iter(parts)) if len(parts) == 1 else MIXED
    return Verdict(str(verdict), "; ".join(filter(None, told)), "; ".join(grounds), short, order)


def _amount(part: _Part, facts: Facts) -> str:
    """Return ``measured, 83 % of 4.1 ms`` or ``12 samples``."""
    if part.busy_ns:
        if facts.of_engine and part.busy_ns == facts.length_ns:
            return f"measured, {_ms(part.busy_ns)}"  # the window is the interval: 100 % would say nothing
        large = 100 * part.busy_ns >= facts.length_ns
        share = f"{100 * part.busy_ns / facts.length_ns:.0f} %" if large else _ms(part.busy_ns)
        return f"measured, {share} of {_ms(facts.length_ns)}"
    if part.samples:
        return many(part.samples, "sample")
    return "a request that Core ML reported"


def many(count: int, noun: str) -> str:
    """Return ``1 sample``, ``2 samples``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _beside(part: _Part, lead: Engine, facts: Facts) -> str:
    """Return ``a CPU fallback in the middle (BNNSFilterApply in libBNNS.dylib, 2 samples)``."""
    kind = "a CPU fallback" if part.engine is Engine.CPU else f"work on the {part.engine}"
    frame = facts.frames.get(part.engine, "").split(", rule")[0]
    amount = f"measured, {_ms(part.busy_ns)}" if part.busy_ns else _amount(part, facts)
    return f"{kind}{_place(part.engine, lead, facts)} ({', '.join(filter(None, [frame, amount]))})"


def _place(engine: Engine, lead: Engine, facts: Facts) -> str:
    """Say where in the window an engine worked, seen from the leading one."""
    own = [segment for segment in facts.order if segment.engine is engine]
    leading = [segment for segment in facts.order if segment.engine is lead]
    if not own or not leading:
        return ""
    if _meet(own, leading):
        return " at the same time"
    stretches = [
        name for name, _ in groupby(one.engine for one in facts.order if one.engine in (engine, lead))
    ]
    count = stretches.count(engine)
    if count == 1:
        first, last = stretches[0] is engine, stretches[-1] is engine
        return " at the start" if first else " at the end" if last else " in the middle"
    return " around it" if stretches == [engine, lead, engine] else f" in {count} places"


def _at_once(one: Segment, other: Segment) -> bool:
    return one.start_ns < other.end_ns and other.start_ns < one.end_ns


def _meet(own: Sequence[Segment], others: Sequence[Segment]) -> bool:
    """Return whether any of two engines' segments overlap; each are in the order of their starts."""
    last_end = {0: -1, 1: -1}
    merged = heapq.merge(
        ((one.start_ns, one.end_ns, 0) for one in own), ((s.start_ns, s.end_ns, 1) for s in others)
    )
    for start_ns, end_ns, side in merged:
        if start_ns < last_end[1 - side] and start_ns < end_ns:
            return True
        last_end[side] = max(last_end[side], end_ns)
    return False


def _measured_words(facts: Facts) -> str:
    """Return what was measured: busy times, requests, and the hand-offs where there are any."""
    parts = []
    for engine, part in facts.parts.items():
        if part.busy_ns:
            parts.append(f"{engine} busy {_ms(part.busy_ns)} of {_ms(facts.length_ns)} (measured)")
        if part.requested_ns:
            parts.append(f"requests to the {engine} took {_ms(part.requested_ns)}, as Core ML reports")
        if engine in facts.measured and part.samples and not part.busy_ns and engine is not Engine.CPU:
            parts.append(f"{facts.measured[engine]} measured the {engine} and has no interval here")
    if len(facts.order) > 1:
        parts.append(hand_offs(facts.order))
    unmarked = sum(share.busy_ns or 0 for share in facts.shares if share.engine is Engine.GRAPHICS)
    on_gpu = facts.parts.get(Engine.GPU)
    if unmarked and on_gpu and not on_gpu.busy_ns:
        parts.append(f"the GPU worked {_ms(unmarked)} for this process with no mark of ML (measured)")
    if facts.foreign_ns:
        parts.append(f"the ANE worked {_ms(facts.foreign_ns)} for others (measured)")
    return "; ".join(parts)


def hand_offs(segments: Sequence[Segment]) -> str:
    """Return ``ANE 2.0 ms → CPU 2.1 ms (sampled) → ANE 18.0 ms``; engines at once are joined by ``∥``."""
    text = ""
    for at, one in enumerate(segments[:_MOST_SEGMENTS]):
        joint = " ∥ " if at and _at_once(segments[at - 1], one) else " → "
        basis = "" if one.basis is Basis.MEASURED else f" ({one.basis})"
        text += f"{joint if at else ''}{one.engine} {_ms(one.busy_ns)}{basis}"
    more = len(segments) - _MOST_SEGMENTS
    return f"{text} → {more} more" if more > 0 else text


def _host_words(part: _Part, facts: Facts) -> str:
    """Return ``ANE 3 samples, 3.0 ms host time (dispatch, wait; frame, rule)``."""
    if not part.samples:
        return ""
    weight = sum(share.weight for share in part.shares)
    amount = f"{weight / 1e6:.1f} ms host time" if facts.unit == "ns" else f"{weight:,} {facts.unit}"
    named = facts.frames.get(part.engine, "")
    return f"{part.engine} {many(part.samples, 'sample')}, {amount} ({part.phases}; {named})"


def _ground(part: _Part, facts: Facts) -> str:
    """Return what names an engine here, without numbers."""
    words = [f"measured by {facts.measured[part.engine]}"] if part.busy_ns else []
    words += ["a request that Core ML reported"] if part.requested_ns else []
    words += [f"{part.phases}; {facts.frames.get(part.engine, '')}"] if part.samples else []
    return f"{part.engine}: {'; '.join(words)}"


def _ms(time_ns: int) -> str:
    return f"{time_ns / 1e6:,.1f} ms" if abs(time_ns) >= 100_000 else f"{time_ns / 1e3:,.1f} µs"


def _why_unknown(facts: Facts) -> str:
    shares = facts.shares
    total = sum(share.samples for share in shares)
    quiet = [f"the {engine}" for engine in SERVING if engine in facts.measured]
    measured = f", and no interval of inference that measured {' or '.join(quiet)}" if quiet else ""
    prepared = sum(s.busy_ns or 0 for s in shares if s.phase in (Phase.LOAD, Phase.COMPILE))
    if prepared:
        return (
            f"{_ms(prepared)} of compile and load were measured here, and no inference on an engine was seen"
        )
    if total == 0:
        return f"no sample{' of ML work' if facts.is_call else ''} lies in this window{measured}"
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
