"""The rules that assign frames to engines: ``markers.toml``, and a user's changes to it.

A rule is matched by the frame's binary (exact names, ``*`` and ``[…]`` as in file names), by a case-sensitive
regular expression on its symbol, or by both. The first rule that matches is the frame's rule; separately, the
first that matches with ``scope = "stack"``, and the first with a ``boundary``. See docs/markers.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from tracekit.analysis.classification.frame_names import normalize_frame
from tracekit.analysis.classification.rules import Boundary, Example, Rule, Strength
from tracekit.analysis.classification.rules_file import read_rules_file
from tracekit.frozen import frozen

__all__ = ["Boundary", "Example", "FrameMatch", "Rule", "RuleSet", "Strength", "load_rules"]

BUILT_IN = Path(__file__).with_name("markers.toml")
_START = 4


class FrameMatch(NamedTuple):
    """The rules of one frame as indices into ``RuleSet.rules``; -1 for none."""

    rule: int
    phase_rule: int
    boundary_rule: int


NO_MATCH = FrameMatch(-1, -1, -1)


@frozen
class _Candidates:
    """The rules that can match frames of one binary, by literals: a symbol must contain one of a rule's.

    Literals are grouped by their first four characters, so that only those are searched whose first four
    occur in the symbol. The few shorter ones are always searched; ``always`` are rules without literals.
    """

    by_start: dict[tuple[str, ...], list[tuple[str, int]]]
    short: list[tuple[str, int]]
    always: list[int]

    @classmethod
    def of_rules(cls, rules: Sequence[Rule], fitting: Sequence[int]) -> _Candidates:
        """Return the candidates among ``rules``: those at the ``fitting`` indices."""
        literals = [(literal, index) for index in fitting for literal in rules[index].literals]
        by_start: dict[tuple[str, ...], list[tuple[str, int]]] = {}
        for literal, index in literals:
            if len(literal) >= _START:
                by_start.setdefault(tuple(literal[:_START]), []).append((literal, index))
        short = [(literal, index) for literal, index in literals if 0 < len(literal) < _START]
        return cls(by_start, short, [index for literal, index in literals if not literal])

    def of(self, symbol: str) -> list[int]:
        """Return the rules with a literal that ``symbol`` contains, in their order."""
        # A look-up by four characters of the symbol finds the few literals that begin with them, and only
        # these are then searched in the symbol.
        fours = zip(symbol, symbol[1:], symbol[2:], symbol[3:], strict=False)
        starts = self.by_start.keys() & fours
        possible = self.short + [entry for start in starts for entry in self.by_start[start]]
        contained = [index for literal, index in possible if literal in symbol]
        return sorted({*self.always, *contained}) if contained else self.always


@frozen
class RuleSet:
    """The rules in order of precedence; the rule indices of a ``Classification`` refer to ``rules``."""

    rules: tuple[Rule, ...]
    _by_binary: dict[str, _Candidates] = field(default_factory=dict, init=False, repr=False, compare=False)
    _by_rules: dict[tuple[int, ...], _Candidates] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _by_matches: dict[tuple[int, ...], FrameMatch] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The index of each rule by its id."""
        return {rule.id: index for index, rule in enumerate(self.rules)}

    @cached_property
    def thread_rules(self) -> tuple[int, ...]:
        """The indices of the rules on thread names."""
        return tuple(index for index, rule in enumerate(self.rules) if rule.strength == "thread")

    def match(self, binary: str, symbol: str) -> FrameMatch:
        """Return the rules of a frame, with binary and symbol as in the recording."""
        binary, symbol = normalize_frame(binary, symbol)
        if binary not in self._by_binary:
            self._find_candidates(binary)
        candidates = self._by_binary[binary].of(symbol)
        matches = tuple([index for index in candidates if self.rules[index].fits_symbol(symbol)])
        if matches not in self._by_matches:  # there are few different ones
            self._by_matches[matches] = self._select_rules(matches)
        return self._by_matches[matches]

    def _select_rules(self, matches: tuple[int, ...]) -> FrameMatch:
        return FrameMatch(
            next(iter(matches), -1),
            next((index for index in matches if self.rules[index].sets_phase), -1),
            next((index for index in matches if self.rules[index].boundary), -1),
        )

    def match_thread(self, name: str) -> int:
        """Return the first rule that matches a thread's name; -1 for none."""
        return next((index for index in self.thread_rules if self.rules[index].fits_thread(name)), -1)

    def _find_candidates(self, binary: str) -> None:
        """Cache the rules that can match frames of ``binary``: a trace has few binaries and many symbols."""
        # A hostile trace can name any number of binaries: the cache must not grow with it.
        if len(self._by_binary) >= 10_000:
            self._by_binary.clear()
        rules = tuple(
            index
            for index, rule in enumerate(self.rules)
            if rule.strength != "thread" and rule.fits_binary(binary)
        )
        if rules not in self._by_rules:  # most binaries are the app's and share their candidates
            self._by_rules[rules] = _Candidates.of_rules(self.rules, rules)
        self._by_binary[binary] = self._by_rules[rules]


def load_rules(extra: Path | None = None) -> RuleSet:
    """Return the built-in rules, changed by the file ``extra``.

    A rule of the file with the id of a built-in one replaces it; other rules come before all built-in ones,
    in the file's order; ``disable = ["id", …]`` removes built-in ones. Raises ``InputError`` when there
    is no such file, and for anything in it that is not valid.
    """
    built_in = _load_built_in_rules()
    if extra is None:
        return built_in
    ids = tuple(built_in.index)
    changes = read_rules_file(extra, built_in=ids)
    replacements = {rule.id: rule for rule in changes.rules if rule.id in ids}
    added = [rule for rule in changes.rules if rule.id not in ids]
    remaining = [rule for rule in built_in.rules if rule.id not in changes.disable]
    return RuleSet((*added, *(replacements.get(rule.id, rule) for rule in remaining)))


@cache
def _load_built_in_rules() -> RuleSet:
    """Return the built-in rules, read once per process; their patterns are checked by tests, not here."""
    return RuleSet(read_rules_file(BUILT_IN, check_patterns=False).rules)
