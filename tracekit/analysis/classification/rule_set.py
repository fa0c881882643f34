"""The rules that say which engine a frame belongs to: ``markers.toml``, and a user's additions to it.

A rule is matched by the frame's binary (exact names, ``*`` and ``[…]`` as in file names), by a case-sensitive
regular expression on its symbol, or by both. The first rule that matches is the frame's rule; separately, the
first that matches with ``scope = "stack"``, and the first with a ``boundary``. See docs/markers.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from tracekit.analysis.classification.frame_names import plain_frame
from tracekit.analysis.classification.rules import Boundary, Example, Rule, Strength
from tracekit.analysis.classification.rules_file import read_rules_file

__all__ = ["Boundary", "Example", "FrameMatch", "Rule", "RuleSet", "Strength", "load_rules"]

BUILT_IN = Path(__file__).with_name("markers.toml")
_START = 3


class FrameMatch(NamedTuple):
    """The rules of one frame as indices into ``RuleSet.rules``; -1 for none."""

    rule: int
    phase_rule: int
    boundary_rule: int


NO_MATCH = FrameMatch(-1, -1, -1)


@dataclass(frozen=True)
class _Candidates:
    """The rules that can match frames of one binary, by literals: a symbol must hold one of a rule's.

    Most literals wait under their first characters, so that a symbol without these is not searched for them.
    """

    by_start: dict[tuple[str, ...], list[tuple[str, int]]]
    short: list[tuple[str, int]]

    @classmethod
    def of_rules(cls, rules: Sequence[Rule], fitting: Sequence[int]) -> _Candidates:
        """Return the candidates among ``rules``, those at the ``fitting`` positions."""
        literals = [(literal, at) for at in fitting for literal in rules[at].literals]
        by_start: dict[tuple[str, ...], list[tuple[str, int]]] = {}
        for literal, at in literals:
            by_start.setdefault(tuple(literal[:_START]), []).append((literal, at))
        return cls(by_start, [entry for entry in literals if len(entry[0]) < _START])

    def of(self, symbol: str) -> list[int]:
        """Return the rules of which ``symbol`` holds a literal, in their order."""
        threes = zip(symbol, symbol[1:], symbol[2:], strict=False)
        starts = [three for three in threes if three in self.by_start]
        possible = [entry for start in starts for entry in self.by_start[start]]
        return sorted({at for literal, at in (*self.short, *possible) if literal in symbol})


@dataclass(frozen=True)
class RuleSet:
    """The rules in order of precedence; ``rules[i]`` is what a ``Classification`` calls rule ``i``."""

    rules: tuple[Rule, ...]
    _by_binary: dict[str, _Candidates] = field(default_factory=dict, init=False, repr=False, compare=False)
    _of_rules: dict[tuple[int, ...], _Candidates] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The position of each rule by id."""
        return {rule.id: at for at, rule in enumerate(self.rules)}

    @cached_property
    def thread_rules(self) -> tuple[int, ...]:
        """The positions of the rules on thread names."""
        return tuple(at for at, rule in enumerate(self.rules) if rule.strength == "thread")

    def match(self, binary: str, symbol: str) -> FrameMatch:
        """Return the rules of a frame, as the recording names it."""
        binary, symbol = plain_frame(binary, symbol)
        if binary not in self._by_binary:
            self._remember(binary)
        found = [at for at in self._by_binary[binary].of(symbol) if self.rules[at].fits_symbol(symbol)]
        if not found:
            return NO_MATCH
        return FrameMatch(
            found[0],
            next((at for at in found if self.rules[at].scope == "stack"), -1),
            next((at for at in found if self.rules[at].boundary), -1),
        )

    def match_thread(self, name: str) -> int:
        """Return the first rule that a thread's name matches; -1 for none."""
        return next((at for at in self.thread_rules if self.rules[at].fits_thread(name)), -1)

    def _remember(self, binary: str) -> None:
        """Note which rules can match frames of ``binary``: a trace has few binaries and many symbols."""
        if len(self._by_binary) >= 10_000:
            self._by_binary.clear()
        rules = tuple(
            at for at, rule in enumerate(self.rules) if rule.strength != "thread" and rule.fits_binary(binary)
        )
        if rules not in self._of_rules:  # most binaries are an app's own, and alike
            self._of_rules[rules] = _Candidates.of_rules(self.rules, rules)
        self._by_binary[binary] = self._of_rules[rules]


def load_rules(extra: Path | None = None) -> RuleSet:
    """Return the built-in rules, changed by the file ``extra``.

    A rule of the file with the id of a built-in one replaces it; other rules come before all built-in ones,
    in the file's order; ``disable = ["id", …]`` removes built-in ones. Raises ``InputError`` when there
    is no such file, and when anything in it is not understood.
    """
    built_in = _built_in()
    if extra is None:
        return built_in
    known = {rule.id: rule for rule in built_in.rules}
    changes = read_rules_file(extra, known=tuple(known))
    replaced = {rule.id: rule for rule in changes.rules if rule.id in known}
    added = [rule for rule in changes.rules if rule.id not in known]
    kept = [replaced.get(rule.id, rule) for rule in built_in.rules if rule.id not in changes.disable]
    return RuleSet((*added, *kept))


@cache
def _built_in() -> RuleSet:
    """Read once per process, and without trying the patterns, which tests do: the file is long."""
    return RuleSet(read_rules_file(BUILT_IN, try_patterns=False).rules)
