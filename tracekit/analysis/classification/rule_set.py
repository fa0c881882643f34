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

import numpy as np

from tracekit.analysis.classification.frame_names import normalize_frame
from tracekit.analysis.classification.rules import Boundary, Example, Rule, Strength
from tracekit.analysis.classification.rules_file import read_rules_file
from tracekit.frozen import frozen

__all__ = ["Boundary", "Example", "FrameMatch", "Rule", "RuleSet", "Strength", "load_rules"]

BUILT_IN = Path(__file__).with_name("markers.toml")
_START = 4
_BLOCK = 4096
"""Frames that are matched at a time: symbols are long in hostile traces, and are held twice."""


class FrameMatch(NamedTuple):
    """The rules of one frame as indices into ``RuleSet.rules``; -1 for none."""

    rule: int
    phase_rule: int
    boundary_rule: int


NO_MATCH = FrameMatch(-1, -1, -1)


@frozen
class _LiteralIndex:
    """The literals of rules: a symbol that a rule matches contains one of the rule's.

    They are grouped by their first four bytes in UTF-8, so that only those are searched whose first four
    occur in the symbol. The few shorter ones are always searched.
    """

    by_start: dict[int, list[tuple[str, int]]]
    short: list[tuple[str, int]]

    @classmethod
    def of_rules(cls, rules: Sequence[Rule]) -> _LiteralIndex:
        """Return the literals of rules by the rules' indices."""
        by_start: dict[int, list[tuple[str, int]]] = {}
        short = []
        for literal, index in [
            (literal, index) for index, rule in enumerate(rules) for literal in rule.literals
        ]:
            if len(start := _encode(literal)[:_START]) == _START:
                by_start.setdefault(int.from_bytes(start, "little"), []).append((literal, index))
            elif literal:
                short.append((literal, index))
        return cls(by_start, short)

    def find(self, symbols: Sequence[str]) -> dict[int, set[int]]:
        """Return the rules with a literal in a symbol, by the position of the symbol; none has no entry."""
        found: dict[int, set[int]] = {}
        for literal, index in self.short:
            for position, symbol in enumerate(symbols):
                if literal in symbol:
                    found.setdefault(position, set()).add(index)
        for position, start in self._find_starts(symbols):
            indices = [index for literal, index in self.by_start[start] if literal in symbols[position]]
            if indices:
                found.setdefault(position, set()).update(indices)
        return found

    def _find_starts(self, symbols: Sequence[str]) -> set[tuple[int, int]]:
        """Return the positions of symbols, and the starts of literals that occur there."""
        # All four bytes that follow each other in the joined symbols, as integers. Those across a border are
        # starts of no symbol, which costs a search in vain.
        texts = [_encode(symbol) for symbol in symbols]
        content = b"".join([*texts, bytes(_START)])
        fours = np.ndarray(len(content) - _START, "<u4", content, strides=(1,))
        starts = np.fromiter(self.by_start, np.uint32, len(self.by_start))
        # Most are ruled out by their first two bytes, without a search among the starts.
        has_start = np.zeros(1 << 16, np.bool_)
        has_start[starts.astype(np.uint16)] = True
        possible = np.flatnonzero(has_start[fours.astype(np.uint16)])
        hits = possible[np.isin(fours[possible], starts)]
        ends = np.cumsum([len(text) for text in texts])
        return set(zip(np.searchsorted(ends, hits, "right").tolist(), fours[hits].tolist(), strict=True))


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


@frozen
class _RulesOfBinary:
    """The rules that can match frames of one binary: by a literal in the symbol, and without literals."""

    with_literals: frozenset[int]
    always: frozenset[int]


@frozen
class RuleSet:
    """The rules in order of precedence; the rule indices of a ``Classification`` refer to ``rules``."""

    rules: tuple[Rule, ...]
    _by_binary: dict[str, _RulesOfBinary] = field(default_factory=dict, init=False, repr=False, compare=False)
    _by_rules: dict[tuple[int, ...], _RulesOfBinary] = field(
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
    def _literals(self) -> _LiteralIndex:
        return _LiteralIndex.of_rules(self.rules)

    @cached_property
    def thread_rules(self) -> tuple[int, ...]:
        """The indices of the rules on thread names."""
        return tuple(index for index, rule in enumerate(self.rules) if rule.strength == "thread")

    def match(self, binary: str, symbol: str) -> FrameMatch:
        """Return the rules of a frame, with binary and symbol as in the recording."""
        return self.match_all([binary], [symbol])[0]

    def match_all(self, binaries: Sequence[str], symbols: Sequence[str]) -> list[FrameMatch]:
        """Return the rules of many frames, with binaries and symbols as in the recording."""
        blocks = range(0, len(symbols), _BLOCK)
        return [
            match
            for start in blocks
            for match in self._match_block(binaries[start : start + _BLOCK], symbols[start : start + _BLOCK])
        ]

    def _match_block(self, binaries: Sequence[str], symbols: Sequence[str]) -> list[FrameMatch]:
        frames = [normalize_frame(*names) for names in zip(binaries, symbols, strict=True)]
        found = self._literals.find([symbol for _, symbol in frames])
        matches = []
        for position, (binary, symbol) in enumerate(frames):
            rules = self._find_rules(binary)
            candidates = rules.always
            if position in found:
                candidates |= rules.with_literals & found[position]
            matches.append(self._select_rules(symbol, sorted(candidates)))
        return matches

    def _select_rules(self, symbol: str, candidates: Sequence[int]) -> FrameMatch:
        matches = tuple([index for index in candidates if self.rules[index].fits_symbol(symbol)])
        if matches not in self._by_matches:  # there are few different ones
            self._by_matches[matches] = FrameMatch(
                next(iter(matches), -1),
                next((index for index in matches if self.rules[index].sets_phase), -1),
                next((index for index in matches if self.rules[index].boundary), -1),
            )
        return self._by_matches[matches]

    def match_thread(self, name: str) -> int:
        """Return the first rule that matches a thread's name; -1 for none."""
        return next((index for index in self.thread_rules if self.rules[index].fits_thread(name)), -1)

    def _find_rules(self, binary: str) -> _RulesOfBinary:
        """Return the rules that can match frames of ``binary``: a trace has few binaries and many symbols."""
        if binary in self._by_binary:
            return self._by_binary[binary]
        # A hostile trace can name any number of binaries: the cache must not grow with it.
        if len(self._by_binary) >= 10_000:
            self._by_binary.clear()
        fitting = tuple(
            index
            for index, rule in enumerate(self.rules)
            if rule.strength != "thread" and rule.fits_binary(binary)
        )
        if fitting not in self._by_rules:  # most binaries are the app's and share their rules
            always = frozenset(index for index in fitting if "" in self.rules[index].literals)
            self._by_rules[fitting] = _RulesOfBinary(frozenset(fitting) - always, always)
        return self._by_binary.setdefault(binary, self._by_rules[fitting])


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
