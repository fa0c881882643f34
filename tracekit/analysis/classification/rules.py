"""A classification rule: the frames that it matches, and their engine and phase."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import translate
from functools import cached_property
from typing import Literal, TypeAlias

from tracekit.analysis.classification.pattern_literals import find_required_literals
from tracekit.frozen import frozen
from tracekit.model.vocabulary import Engine, Phase

Strength: TypeAlias = Literal["decisive", "presumed", "needs-ml", "driver", "context", "plumbing", "thread"]
Boundary: TypeAlias = Literal["call", "worker"]

_WILDCARDS = frozenset("*?[")


@frozen
class Example:
    """A frame, or a thread's name, that a rule must match (or must not)."""

    binary: str = ""
    symbol: str = ""
    thread: str = ""


@frozen
class Rule:
    """One rule; the keys of ``markers.toml`` with the same meaning.

    ``otherwise`` is the engine that a ``needs-ml`` or ``presumed`` rule counts as when it may not decide.
    ``phase`` is None for a runtime's frame that does not imply one. ``ancestor`` is False for a framework
    whose callees are not necessarily inference. ``passes_on`` marks a runtime that lets a ``shared`` library
    choose the engine: under it, the library's frames show no engine.
    """

    id: str
    engine: Engine = Engine.OTHER
    strength: Strength = "decisive"
    phase: Phase | None = None
    binary: tuple[str, ...] = ()
    symbol: str = ""
    thread: str = ""
    scope: Literal["frame", "stack"] = "frame"
    boundary: Boundary | None = None
    otherwise: Engine | None = None
    ancestor: bool = True
    passes_on: bool = False
    shared: bool = False
    needs_binary: bool = False
    means: str = ""
    seen: str = ""
    confidence: str = ""
    source: str = ""
    example: Example | None = None
    counter_examples: tuple[Example, ...] = ()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.symbol or self.thread)

    @cached_property
    def _wildcards(self) -> re.Pattern[str] | None:
        """The pattern of the binaries with wildcards, which few rules have; None for none."""
        names = [translate(name) for name in self.binary if not _WILDCARDS.isdisjoint(name)]
        return re.compile("|".join(names)) if names else None

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """Strings, at least one of which occurs in every matching symbol; ("",) where none is certain."""
        return find_required_literals(self.symbol) or ("",)

    @property
    def sets_phase(self) -> bool:
        """Return whether its phase is that of the whole stack, wherever the frame is."""
        return self.scope == "stack" and self.phase is not Phase.IDLE

    def fits_binary(self, binary: str) -> bool:
        """Return whether this rule may match frames of a ``plain_binary``; "" is an unknown one."""
        if not binary:
            return bool(self.symbol) and not self.needs_binary
        if not self.binary or binary in self.binary:
            return True
        return self._wildcards is not None and self._wildcards.match(binary) is not None

    def fits_symbol(self, symbol: str) -> bool:
        """Return whether the pattern occurs in the symbol of a ``plain_frame``; without one, any fits."""
        return not self.symbol or self._pattern.search(symbol) is not None

    def fits_thread(self, name: str) -> bool:
        """Return whether this is a ``thread`` rule whose pattern occurs in the thread's name."""
        return bool(self.thread) and self._pattern.search(name) is not None


def with_defaults(rule: Rule) -> Rule:
    """Return the rule with its engine's default phase, if it has none: ANE and GPU dispatch, CPU execute."""
    if rule.phase is not None or rule.strength in ("context", "plumbing"):
        return rule
    defaults = {Engine.ANE: Phase.DISPATCH, Engine.GPU: Phase.DISPATCH, Engine.CPU: Phase.EXECUTE}
    return replace(rule, phase=defaults.get(rule.engine))
