"""The rules that say which engine a frame belongs to: ``markers.toml``, and a user's additions to it.

A rule is matched by the frame's binary (exact names, ``*`` and ``[…]`` as in file names), by a case-sensitive
regular expression on its symbol, or by both. The first rule that matches is the frame's rule; separately, the
first that matches with ``scope = "stack"``, and the first with a ``boundary``. See docs/markers.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from tracekit.analysis.classification.frames import plain_frame
from tracekit.analysis.classification.markers_file import read_markers_file
from tracekit.analysis.classification.rules import Boundary, Example, Rule, Strength

__all__ = ["Boundary", "Example", "FrameMatch", "Markers", "Rule", "Strength", "load_markers"]

BUILT_IN = Path(__file__).with_name("markers.toml")


class FrameMatch(NamedTuple):
    """The rules of one frame as indices into ``Markers.rules``; -1 for none."""

    rule: int
    phase_rule: int
    boundary_rule: int


NO_MATCH = FrameMatch(-1, -1, -1)


@dataclass(frozen=True)
class Markers:
    """The rules in order of precedence; ``rules[i]`` is what a ``Classification`` calls rule ``i``."""

    rules: tuple[Rule, ...]
    _by_binary: dict[str, list[tuple[str, int]]] = field(
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
        possible = [at for literal, at in self._by_binary[binary] if literal in symbol]
        if not possible:
            return NO_MATCH
        found = [at for at in dict.fromkeys(possible) if self.rules[at].fits_symbol(symbol)]
        return FrameMatch(
            next(iter(found), -1),
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
        self._by_binary[binary] = [
            (literal, at)
            for at, rule in enumerate(self.rules)
            if rule.strength != "thread" and rule.fits_binary(binary)
            for literal in rule.literals
        ]


def load_markers(extra: Path | None = None) -> Markers:
    """Return the built-in rules, changed by the file ``extra``.

    A rule of the file with the id of a built-in one replaces it; other rules come before all built-in ones,
    in the file's order; ``disable = ["id", …]`` removes built-in ones. Raises ``InputError`` when there
    is no such file, and when anything in it is not understood.
    """
    built_in = _built_in()
    if extra is None:
        return built_in
    known = {rule.id: rule for rule in built_in.rules}
    changes = read_markers_file(extra, known=tuple(known))
    replaced = {rule.id: rule for rule in changes.rules if rule.id in known}
    added = [rule for rule in changes.rules if rule.id not in known]
    kept = [replaced.get(rule.id, rule) for rule in built_in.rules if rule.id not in changes.disable]
    return Markers((*added, *kept))


@cache
def _built_in() -> Markers:
    """Read once per process: the file is long and never changes."""
    return Markers(read_markers_file(BUILT_IN).rules)
