"""One verdict per window, in words and with its reasons, from what was measured and sampled in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tracekit.analysis.classification.leading_frames import DecidingFrame
from tracekit.analysis.engines.attribution import Share
from tracekit.analysis.engines.hand_offs import HandOffs
from tracekit.model.trace import WeightUnit
from tracekit.model.vocabulary import SERVING, Engine, Phase
from tracekit.text import format_ms_or_us, format_percent, format_weight, plural

MIXED = "MIXED"
UNKNOWN = "UNKNOWN"
_MOST_NAMED = 4


class Facts(NamedTuple):
    """What is known of one window: its shares, and the frame to name per engine.

    ``foreign_ns`` is the ANE's work for models that are none of the target's. A call (``is_call``) counts its
    own work, a window that the user gave every sample in its time; one ``of_engine`` is the Neural Engine's
    intervals themselves.
    """

    window: int
    length_ns: int
    shares: Sequence[Share]
    frames: Mapping[Engine, DecidingFrame]
    foreign_ns: int = 0
    is_call: bool = False
    of_engine: bool = False


class _Part:
    """One engine's inference work in a window."""

    def __init__(self, engine: Engine, shares: Sequence[Share], requested: bool) -> None:
        self.engine, self.shares = engine, shares
        self.samples = self.busy_ns = self.weight = sampled = waiting = 0
        for share in shares:
            self.samples += share.samples
            self.weight += share.weight
            self.busy_ns += share.busy_ns or 0
            sampled += share.sampled_ns or 0
            waiting += share.waiting_ns or 0
        self.requested_ns = waiting if requested else 0
        self.reach_ns = self.busy_ns or sampled + waiting
        """How much of the window is the engine's, by the best that is known: for the order of words only."""

    @cached_property
    def phases(self) -> str:
        told = sorted(self.shares, key=lambda share: share.samples, reverse=True)
        return ", ".join([str(share.phase) for share in told if share.samples])


class Words(NamedTuple):
    """A verdict in words, see ``Verdict``."""

    why: str
    reason: str
    short: str


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a window's evidence says: "ANE", "GPU", "CPU", "MIXED" or "UNKNOWN", and why.

    ``order`` is the engines in their order; windows of one kind share their ``reason``. A long run has more
    windows than anybody reads about: the words are made when they are asked for.
    """

    verdict: str
    order: tuple[Engine, ...]
    _judge: Judge
    _window: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        return (self.verdict, self.order, self._words) == (other.verdict, other.order, other._words)

    def __hash__(self) -> int:
        return hash((self.verdict, self.order))

    @cached_property
    def _words(self) -> Words:
        return self._judge.words(self._window)

    @property
    def why(self) -> str:
        """What the verdict rests on, with its numbers."""
        return self._words.why

    @property
    def reason(self) -> str:
        """What the verdict rests on, without numbers."""
        return self._words.reason

    @property
    def short(self) -> str:
        """The sentence for a person."""
        return self._words.short


@dataclass(frozen=True)
class Judge:
    """Gives each window of a run its verdict.

    ``measured`` has the tables that measured each engine: of others, no interval proves nothing.
    ``requested`` are the engines of which Core ML reports requests.
    """

    measured: Mapping[Engine, str]
    unit: WeightUnit
    hand_offs: HandOffs
    facts: Callable[[int], Facts]
    requested: frozenset[Engine] = frozenset()

    def verdict(self, window: int) -> Verdict:
        """Return the verdict of one window.

        An engine served a window if it was measured at work there, if Core ML reported a request to it, or if
        a sample of it is in an inference phase; load, compile and idle never count. More than one such engine
        is MIXED, none is UNKNOWN: a verdict names no majority, the numbers do.
        """
        served = [part.engine for part in self._parts(self.facts(window))]
        verdict = UNKNOWN if not served else str(served[0]) if len(served) == 1 else MIXED
        return Verdict(verdict, self.hand_offs.order(window), self, window)

    def words(self, window: int) -> Words:
        """Return the verdict of one window in words."""
        facts = self.facts(window)
        parts = self._parts(facts)
        if not parts:
            return Words(*[self._why_unknown(facts)] * 3)
        lead = max(parts, key=lambda part: (part.reach_ns, part.samples))
        # A sample of dispatch or waiting says who called the engine, not that it worked.
        known = lead.busy_ns or lead.engine is Engine.CPU
        short = f"{'ran on' if known else 'handed work to'} the {lead.engine} ({_amount(lead, facts)})"
        others = [self._beside(part, lead.engine, facts) for part in parts if part is not lead]
        if others:
            short += " with " + " and ".join(others)
        order = self.hand_offs.order(window)
        told = self._measured_words(parts, len(order), facts)
        told += [self._host_words(part, facts) for part in parts if part.samples]
        grounds = [self._ground(part, facts) for part in parts]
        if len(order) > _MOST_NAMED:
            grounds.append(f"{' and '.join([part.engine for part in parts])} in turns")
        elif len(order) > 1:
            grounds.append(f"in the order {' → '.join(order)}")
        return Words("; ".join(told), "; ".join(grounds), short)

    def _parts(self, facts: Facts) -> list[_Part]:
        """Return what each engine that served the window did there, in a fixed order."""
        shares: dict[Engine, list[Share]] = {}
        for share in facts.shares:
            if share.is_inference:
                shares.setdefault(share.engine, []).append(share)
        own = [_Part(one, shares[one], one in self.requested) for one in SERVING if one in shares]
        return [part for part in own if part.samples or part.busy_ns or part.requested_ns]

    def _beside(self, part: _Part, lead: Engine, facts: Facts) -> str:
        """Return ``a CPU fallback in the middle (BNNSFilterApply in libBNNS.dylib, 2 samples)``."""
        kind = "a CPU fallback" if part.engine is Engine.CPU else f"work on the {part.engine}"
        frame = facts.frames[part.engine].place if part.engine in facts.frames else ""
        amount = f"measured, {format_ms_or_us(part.busy_ns)}" if part.busy_ns else _amount(part, facts)
        place = self.hand_offs.place(facts.window, part.engine, lead)
        return f"{kind}{place} ({f'{frame}, {amount}' if frame else amount})"

    def _measured_words(self, parts: Sequence[_Part], handed_over: int, facts: Facts) -> list[str]:
        """Return what was measured: busy times, requests, and the hand-offs where there are any."""
        words = []
        for part in parts:
            engine = part.engine
            if part.busy_ns:
                busy, length = format_ms_or_us(part.busy_ns), format_ms_or_us(facts.length_ns)
                words.append(f"{engine} busy {busy} of {length} (measured)")
            if part.requested_ns:
                words.append(
                    f"requests to the {engine} took {format_ms_or_us(part.requested_ns)}, as Core ML reports"
                )
            if engine in self.measured and part.samples and not part.busy_ns and engine is not Engine.CPU:
                words.append(f"{self.measured[engine]} measured the {engine} and has no interval here")
        if handed_over > 1:
            words.append(self.hand_offs.words(facts.window))
        if any(part.engine is Engine.GPU and not part.busy_ns for part in parts):
            unmarked = sum(share.busy_ns or 0 for share in facts.shares if share.engine is Engine.GRAPHICS)
            if unmarked:
                worked = f"the GPU worked {format_ms_or_us(unmarked)}"
                words.append(f"{worked} for this process with no mark of ML (measured)")
        if facts.foreign_ns:
            words.append(f"the ANE worked {format_ms_or_us(facts.foreign_ns)} for others (measured)")
        return words

    def _host_words(self, part: _Part, facts: Facts) -> str:
        """Return ``ANE 3 samples, 3.0 ms host time (dispatch, wait; frame, rule)``."""
        amount = format_weight(part.weight, self.unit)
        named = facts.frames.get(part.engine, "")
        return f"{part.engine} {plural(part.samples, 'sample')}, {amount} ({part.phases}; {named})"

    def _ground(self, part: _Part, facts: Facts) -> str:
        """Return what names an engine here, without numbers."""
        words = [f"measured by {self.measured[part.engine]}"] if part.busy_ns else []
        words += ["a request that Core ML reported"] if part.requested_ns else []
        words += [f"{part.phases}; {facts.frames.get(part.engine, '')}"] if part.samples else []
        return f"{part.engine}: {'; '.join(words)}"

    def _why_unknown(self, facts: Facts) -> str:
        shares = facts.shares
        total = sum(share.samples for share in shares)
        quiet = [f"the {engine}" for engine in SERVING if engine in self.measured]
        measured = f", and no interval of inference that measured {' or '.join(quiet)}" if quiet else ""
        prepared = sum(s.busy_ns or 0 for s in shares if s.phase in (Phase.LOAD, Phase.COMPILE))
        if prepared:
            measured = f"{format_ms_or_us(prepared)} of compile and load were measured here"
            return f"{measured}, and no inference on an engine was seen"
        if total == 0:
            return f"no sample{' of ML work' if facts.is_call else ''} lies in this window{measured}"
        preparing = sum(
            s.samples for s in shares if s.engine in SERVING and s.phase in (Phase.LOAD, Phase.COMPILE)
        )
        runtime = sum(share.samples for share in shares if share.engine is Engine.RUNTIME)
        without = sum(share.samples for share in shares if share.engine is Engine.UNKNOWN)
        if preparing:
            load = f"{preparing} of {total} samples load or compile for an engine"
            return f"{load}, none runs an inference on one"
        if runtime:
            return f"{runtime} of {total} samples are in an ML runtime, and none shows which engine it used"
        if without == total:
            return f"none of the {total} samples has a stack with symbols"
        return f"none of the {total} samples shows an ML runtime or an engine"


def _amount(part: _Part, facts: Facts) -> str:
    """Return ``measured, 83 % of 4.1 ms`` or ``12 samples``."""
    if part.busy_ns:
        if facts.of_engine and part.busy_ns == facts.length_ns:
            # The window is the interval itself: 100 % would add nothing.
            return f"measured, {format_ms_or_us(part.busy_ns)}"
        large = 100 * part.busy_ns >= facts.length_ns
        share = format_percent(part.busy_ns / facts.length_ns) if large else format_ms_or_us(part.busy_ns)
        return f"measured, {share} of {format_ms_or_us(facts.length_ns)}"
    if part.samples:
        return plural(part.samples, "sample")
    return "a request that Core ML reported"
