"""One verdict per window, in words and with its reasons, from what was measured and sampled in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.analysis.attribution import Share
from tracekit.engines import ENGINES, Basis, Engine, Phase
from tracekit.model import WeightUnit

MIXED = "MIXED"
UNKNOWN = "UNKNOWN"
SERVING = tuple(engine for engine in ENGINES if engine.serves_inference)
_MOST_SEGMENTS = 6


@dataclass(frozen=True)
class Segment:
    """One stretch of one engine inside a window; ``basis`` says how it is known."""

    engine: Engine
    start_ns: int
    end_ns: int
    busy_ns: int
    basis: Basis


@dataclass(frozen=True)
class Facts:
    """What is known of one window: its shares, its engines in order, and the frame to name per engine.

    ``measured`` names the engines that a table measured: of others, no interval proves nothing.
    ``foreign_ns`` is the ANE's work for models that are none of the target's. A call counts its own work,
    a window that the user gave (not ``is_call``) every sample in its time.
    """

    length_ns: int
    shares: Sequence[Share]
    segments: Sequence[Segment]
    frames: Mapping[Engine, str]
    measured: frozenset[Engine]
    unit: WeightUnit
    foreign_ns: int = 0
    is_call: bool = False


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
    serving = [engine for engine in SERVING if _serves(engine, facts.shares)]
    if not serving:
        why = _why_unknown(facts)
        return Verdict(UNKNOWN, why, why, why)
    order = tuple(segment.engine for segment in facts.segments)
    lead = max(serving, key=lambda engine: (_busy(engine, facts), _samples(engine, facts)))
    others = [engine for engine in serving if engine is not lead]
    short = f"ran on the {lead} ({_amount(lead, facts)})"
    if others:
        short += " with " + " and ".join(_beside(engine, lead, facts) for engine in others)
    told = [_measured_words(facts), *(_host_words(engine, facts) for engine in serving)]
    grounds = [_ground(engine, facts) for engine in serving]
    if len(order) > 1:
        grounds.append(f"in the order {' → '.join(order[:_MOST_SEGMENTS])}")
    verdict = str(serving[0]) if len(serving) == 1 else MIXED
    return Verdict(verdict, "; ".join(filter(None, told)), "; ".join(grounds), short, order)


def _serves(engine: Engine, shares: Sequence[Share]) -> bool:
    return any(
        share.engine is engine
        and share.is_inference
        and (share.samples or share.busy_ns or (share.waiting_ns and share.waiting_basis is Basis.MEASURED))
        for share in shares
    )


def _own(engine: Engine, facts: Facts) -> list[Share]:
    """Return the engine's shares of inference, those with most samples first."""
    own = [share for share in facts.shares if share.engine is engine and share.is_inference]
    return sorted(own, key=lambda share: share.samples, reverse=True)


def _busy(engine: Engine, facts: Facts) -> int:
    return sum(share.busy_ns or 0 for share in _own(engine, facts))


def _samples(engine: Engine, facts: Facts) -> int:
    return sum(share.samples for share in _own(engine, facts))


def _amount(engine: Engine, facts: Facts) -> str:
    """Return ``measured, 83 % of 4.1 ms`` or ``12 samples``."""
    busy = _busy(engine, facts)
    if busy:
        share = f"{100 * busy / facts.length_ns:.0f} %" if 100 * busy >= facts.length_ns else _ms(busy)
        return f"measured, {share} of {_ms(facts.length_ns)}"
    count = _samples(engine, facts)
    return f"{count} sample{'s' if count != 1 else ''}" if count else "a request that Core ML reported"


def _beside(engine: Engine, lead: Engine, facts: Facts) -> str:
    """Return ``a CPU fallback in the middle (BNNSFilterApply in libBNNS.dylib, 2 samples)``."""
    kind = "a CPU fallback" if engine is Engine.CPU else f"work on the {engine}"
    frame = facts.frames.get(engine, "").split(", rule")[0]
    busy = _busy(engine, facts)
    amount = f"measured, {_ms(busy)}" if busy else _amount(engine, facts)
    return f"{kind}{_place(engine, lead, facts)} ({', '.join(filter(None, [frame, amount]))})"


def _place(engine: Engine, lead: Engine, facts: Facts) -> str:
    """Say where in the window an engine worked, seen from the leading one."""
    order = [segment.engine for segment in facts.segments if segment.engine in (engine, lead)]
    if engine not in order or lead not in order:
        return ""
    first, last = order[0] is engine, order[-1] is engine
    if first and last:
        return " around it"
    return " at the start" if first else " at the end" if last else " in the middle"


def _measured_words(facts: Facts) -> str:
    """Return what was measured: busy times, and the hand-offs where there are any."""
    parts = [
        f"{engine} busy {_ms(_busy(engine, facts))} of {_ms(facts.length_ns)} (measured)"
        for engine in SERVING
        if _busy(engine, facts)
    ]
    if len(facts.segments) > 1:
        parts.append(hand_offs(facts.segments))
    silent = [
        engine
        for engine in (Engine.ANE, Engine.GPU)
        if engine in facts.measured and _samples(engine, facts) and not _busy(engine, facts)
    ]
    parts += [f"the tables that measured the {engine} have no interval here" for engine in sorted(silent)]
    unmarked = sum(share.busy_ns or 0 for share in facts.shares if share.engine is Engine.GRAPHICS)
    if unmarked and _samples(Engine.GPU, facts) and not _busy(Engine.GPU, facts):
        parts.append(f"the GPU worked {_ms(unmarked)} for this process with no mark of ML (measured)")
    if facts.foreign_ns:
        parts.append(f"models of others were on the ANE for {_ms(facts.foreign_ns)} (measured)")
    return "; ".join(parts)


def hand_offs(segments: Sequence[Segment]) -> str:
    """Return ``ANE 2.0 ms → CPU 2.1 ms (sampled) → ANE 18.0 ms``."""
    shown = [
        f"{one.engine} {_ms(one.busy_ns)}{'' if one.basis is Basis.MEASURED else f' ({one.basis})'}"
        for one in segments[:_MOST_SEGMENTS]
    ]
    more = len(segments) - len(shown)
    return " → ".join([*shown, f"{more} more"] if more > 0 else shown)


def _host_words(engine: Engine, facts: Facts) -> str:
    """Return ``ANE 3 samples, 3.0 ms host time (dispatch, wait; frame, rule)``."""
    own = [share for share in _own(engine, facts) if share.samples]
    if not own:
        return ""
    samples, weight = sum(share.samples for share in own), sum(share.weight for share in own)
    amount = f"{weight / 1e6:.1f} ms host time" if facts.unit == "ns" else f"{weight:,} {facts.unit}"
    phases = ", ".join(str(share.phase) for share in own)
    counted = f"{samples} sample{'s' if samples != 1 else ''}"
    return f"{engine} {counted}, {amount} ({phases}; {facts.frames.get(engine, '')})"


def _ground(engine: Engine, facts: Facts) -> str:
    """Return what names an engine here, without numbers."""
    own = [share for share in _own(engine, facts) if share.samples]
    phases = ", ".join(str(share.phase) for share in own)
    words = ["measured"] if _busy(engine, facts) else []
    words += [f"{phases}; {facts.frames.get(engine, '')}"] if own else []
    return f"{engine}: {'; '.join(words) or 'a request that Core ML reported'}"


def _ms(time_ns: int) -> str:
    return f"{time_ns / 1e6:,.1f} ms" if time_ns >= 100_000 else f"{time_ns / 1e3:,.1f} µs"


def _why_unknown(facts: Facts) -> str:
    shares = facts.shares
    total = sum(share.samples for share in shares)
    quiet = [str(engine) for engine in SERVING if engine in facts.measured]
    measured = f", and no interval that measured {' or '.join(quiet)}" if quiet else ""
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
