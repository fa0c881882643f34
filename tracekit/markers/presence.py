"""Which classification rules can match on a system, given its libraries' functions, and what has changed.

A rule *matches* if it classifies a listed function, or gives its phase or its boundary. A rule without a
match is *absent* only if its library is listed; rules for other libraries cannot be checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracekit.analysis.classification.frame_names import normalize_binary
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.frozen import frozen
from tracekit.markers.listings import Listing

Functions: TypeAlias = Mapping[str, Iterable[str]]
MatchState: TypeAlias = Literal["matches", "absent", "not listed"]
PresenceChange: TypeAlias = Literal["gone", "new", "other functions", ""]


@frozen
class RulePresence:
    """One rule on one system, and how its functions differ from those on an earlier system.

    ``old`` has the functions on the earlier system, None without one. For a difference, ``functions`` and
    ``old`` are None: a difference omits unchanged functions.
    """

    rule: Rule
    state: MatchState
    functions: tuple[str, ...] | None
    libraries: tuple[str, ...]
    old: tuple[str, ...] | None = None
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    @property
    def change(self) -> PresenceChange:
        """The change between the systems; "gone" and "new" need two whole listings."""
        if not self.gone and not self.new:
            return ""
        if self.functions is not None:
            if not self.functions:
                return "gone"
            if not self.old:
                return "new"
        return "other functions"


@frozen
class SystemPresence:
    """All rules that can match functions, on one system or between two."""

    rules: tuple[RulePresence, ...]
    libraries: tuple[tuple[str, int], ...]
    """Each library and the number of its functions."""
    old_libraries: tuple[tuple[str, int], ...] | None
    is_difference: bool = False

    def rules_in_state(self, state: MatchState) -> tuple[RulePresence, ...]:
        """Return the rules in a state."""
        return tuple(entry for entry in self.rules if entry.state == state)


@dataclass
class _RuleMatches:
    """The functions of each rule, by the rule's index, and the libraries in which they are."""

    functions: dict[int, set[str]] = field(default_factory=dict)
    libraries: dict[int, set[str]] = field(default_factory=dict)


def find_rule_presence(
    rule_set: RuleSet, listings: Sequence[Listing], old_listings: Sequence[Listing] | None = None
) -> SystemPresence:
    """Return which rules match on a system, compared with an earlier system if one is given.

    Listings of differences contain added and removed functions; they are not mixed with other listings.
    """
    if any(listing.is_difference for listing in listings):
        added = _merge_libraries(listing.added for listing in listings)
        removed = _merge_libraries(listing.removed for listing in listings)
        return _compare_functions(rule_set, added, removed, is_difference=True)
    functions = _merge_libraries(listing.functions for listing in listings)
    old = None if old_listings is None else _merge_libraries(listing.functions for listing in old_listings)
    return _compare_functions(rule_set, functions, old, is_difference=False)


def _compare_functions(
    rule_set: RuleSet,
    functions: dict[str, set[str]],
    old: dict[str, set[str]] | None,
    *,
    is_difference: bool,
) -> SystemPresence:
    matches, old_matches = _match_functions(rule_set, functions), _match_functions(rule_set, old or {})
    listed_libraries = {normalize_binary(library) for library in (*functions, *(old or {})) if library}
    rules = []
    for index, rule in enumerate(rule_set.rules):
        if rule.strength == "thread":
            continue
        functions_here, old_functions = (
            matches.functions.get(index, set()),
            old_matches.functions.get(index, set()),
        )
        is_known = functions_here or old_functions or _is_about(rule, listed_libraries)
        state: MatchState = "matches" if functions_here else "absent" if is_known else "not listed"
        if is_difference:
            state = "matches" if functions_here or old_functions else "not listed"
        compared = old is not None
        libraries = matches.libraries.get(index, set()) | old_matches.libraries.get(index, set())
        rules.append(
            RulePresence(
                rule,
                state,
                None if is_difference else tuple(sorted(functions_here)),
                tuple(sorted(libraries)),
                tuple(sorted(old_functions)) if compared and not is_difference else None,
                tuple(sorted(old_functions - functions_here)) if compared else (),
                tuple(sorted(functions_here - old_functions)) if compared else (),
            )
        )
    old_sizes = None if old is None or is_difference else _count_functions(old)
    return SystemPresence(tuple(rules), _count_functions(functions), old_sizes, is_difference)


def _merge_libraries(parts: Iterable[Functions]) -> dict[str, set[str]]:
    names_by_library: dict[str, set[str]] = {}
    for part in parts:
        for library, names in part.items():
            names_by_library.setdefault(library, set()).update(names)
    return names_by_library


def _count_functions(functions: Mapping[str, set[str]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((library, len(names)) for library, names in functions.items()))


def _match_functions(rule_set: RuleSet, functions: Functions) -> _RuleMatches:
    matches = _RuleMatches()
    for library, names in functions.items():
        symbols = sorted(names)
        for name, match in zip(symbols, rule_set.match_all([library] * len(symbols), symbols), strict=True):
            for index in {match.rule, match.phase_rule, match.boundary_rule} - {-1}:
                matches.functions.setdefault(index, set()).add(name)
                matches.libraries.setdefault(index, set()).add(library)
    return matches


def _is_about(rule: Rule, libraries: set[str]) -> bool:
    """Return True if a rule's functions are in one of the libraries: named by the rule, or by its example."""
    if rule.binary:
        return any(rule.fits_binary(library) for library in libraries)
    return rule.example is not None and normalize_binary(rule.example.binary) in libraries - {""}
