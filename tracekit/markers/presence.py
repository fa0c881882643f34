"""Classification rules that can match on a system, by the functions of its libraries; and what changed.

A rule *matches* if it is the rule of a function here, of its phase, or of its calls. A rule without a match
is *absent* only where its library is listed: nothing is known about the rules of other libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracekit.analysis.classification.frame_names import normalize_binary
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.markers.listings import Listing

Functions: TypeAlias = Mapping[str, Iterable[str]]
State: TypeAlias = Literal["matches", "absent", "not listed"]
Change: TypeAlias = Literal["gone", "new", "other functions", ""]


@dataclass(frozen=True)
class RulePresence:
    """One rule on one system, and what became of its functions since an earlier one.

    ``old`` are those of the earlier system, None without one. Of a difference, ``functions`` and ``old`` are
    None: what stayed the same is not in it.
    """

    rule: Rule
    state: State
    functions: tuple[str, ...] | None
    libraries: tuple[str, ...]
    old: tuple[str, ...] | None = None
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    @property
    def change(self) -> Change:
        """The change between the systems; "gone" and "new" need two whole listings."""
        if not self.gone and not self.new:
            return ""
        if self.functions is not None:
            if not self.functions:
                return "gone"
            if not self.old:
                return "new"
        return "other functions"


@dataclass(frozen=True)
class Presence:
    """All rules that can match functions, on one system or between two."""

    rules: tuple[RulePresence, ...]
    libraries: tuple[tuple[str, int], ...]
    """Each library and the number of its functions."""
    old_libraries: tuple[tuple[str, int], ...] | None
    is_difference: bool = False

    def of_state(self, state: State) -> tuple[RulePresence, ...]:
        """Return the rules of a state."""
        return tuple(entry for entry in self.rules if entry.state == state)


@dataclass
class _Matches:
    """The functions of each rule, by the rule's index, and the libraries in which they are."""

    functions: dict[int, set[str]] = field(default_factory=dict)
    libraries: dict[int, set[str]] = field(default_factory=dict)


def presence(
    rule_set: RuleSet, listings: Sequence[Listing], old_listings: Sequence[Listing] | None = None
) -> Presence:
    """Return what the rules have on a system, compared with an earlier one where there is one.

    Listings of differences give what was added and removed; they are not mixed with others.
    """
    if any(listing.is_difference for listing in listings):
        added = _merged(listing.added for listing in listings)
        removed = _merged(listing.removed for listing in listings)
        return _between(rule_set, added, removed, is_difference=True)
    functions = _merged(listing.functions for listing in listings)
    old = None if old_listings is None else _merged(listing.functions for listing in old_listings)
    return _between(rule_set, functions, old, is_difference=False)


def _between(
    rule_set: RuleSet,
    functions: dict[str, set[str]],
    old: dict[str, set[str]] | None,
    *,
    is_difference: bool,
) -> Presence:
    matches, old_matches = _matches(rule_set, functions), _matches(rule_set, old or {})
    listed = {normalize_binary(library) for library in (*functions, *(old or {})) if library}
    rules = []
    for index, rule in enumerate(rule_set.rules):
        if rule.strength == "thread":
            continue
        here, before = matches.functions.get(index, set()), old_matches.functions.get(index, set())
        is_known = here or before or _is_about(rule, listed)
        state: State = "matches" if here else "absent" if is_known else "not listed"
        if is_difference:
            state = "matches" if here or before else "not listed"
        compared = old is not None
        libraries = matches.libraries.get(index, set()) | old_matches.libraries.get(index, set())
        rules.append(
            RulePresence(
                rule,
                state,
                None if is_difference else tuple(sorted(here)),
                tuple(sorted(libraries)),
                tuple(sorted(before)) if compared and not is_difference else None,
                tuple(sorted(before - here)) if compared else (),
                tuple(sorted(here - before)) if compared else (),
            )
        )
    old_sizes = None if old is None or is_difference else _sizes(old)
    return Presence(tuple(rules), _sizes(functions), old_sizes, is_difference)


def _merged(parts: Iterable[Functions]) -> dict[str, set[str]]:
    merged: dict[str, set[str]] = {}
    for part in parts:
        for library, names in part.items():
            merged.setdefault(library, set()).update(names)
    return merged


def _sizes(functions: Mapping[str, set[str]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((library, len(names)) for library, names in functions.items()))


def _matches(rule_set: RuleSet, functions: Functions) -> _Matches:
    matches = _Matches()
    for library, names in functions.items():
        for name in names:
            match = rule_set.match(library, name)
            for index in {match.rule, match.phase_rule, match.boundary_rule} - {-1}:
                matches.functions.setdefault(index, set()).add(name)
                matches.libraries.setdefault(index, set()).add(library)
    return matches


def _is_about(rule: Rule, libraries: set[str]) -> bool:
    """Return True if a rule's functions are in one of the libraries: named by the rule, or by its example."""
    if rule.binary:
        return any(rule.fits_binary(library) for library in libraries)
    return rule.example is not None and normalize_binary(rule.example.binary) in libraries - {""}
