"""Literals of a regular expression: strings that every match contains."""

from __future__ import annotations

import re


def find_required_literals(pattern: str) -> tuple[str, ...]:
    """Return strings, at least one of which occurs in every match of ``pattern``; () if none is certain.

    A substring test is twenty times faster than a regular expression that does not match, and most do not.
    """
    return (
        () if "(?" in pattern and _UNUSUAL_GROUP.search(pattern) else _Literals(pattern).read_alternatives()
    )


_UNUSUAL_GROUP = re.compile(r"\(\?(?![:>=!]|<[=!]|P<)")
"""A group with flags, a comment or a condition: a match may have other letters than the pattern."""
_PLAIN = re.compile(r"[^\\\[(|)*+?{.^$]+(?![*+?{])")
_OPENING = re.compile(r"\?(?:[:>]|P<\w+>|<?[=!])|")
_REPETITION = re.compile(r"[*+?][+?]?|\{\d*,?\d*\}[+?]?")


class _Literals:
    """A minimal parser of regular expressions that finds the literals in every match.

    For ``^foo(bar|baz)?[0-9]qux`` it collects the runs of characters that no operator makes optional, here
    ``foo`` and ``qux``, and takes the longest. A group counts as a run if each of its alternatives has one.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0

    def read_alternatives(self) -> tuple[str, ...]:
        """Read up to the end of the group; one literal per alternative, or () if one has none."""
        literals: list[str] = []
        complete = True
        while True:
            best = self._read_sequence()
            complete &= bool(best)
            literals += best
            if self._peek_char() != "|":
                return tuple(literals) if complete else ()
            self._position += 1

    def _read_sequence(self) -> tuple[str, ...]:
        """Read one alternative and return the best of the literals that it requires."""
        choices: list[tuple[str, ...]] = []
        run = ""
        while (char := self._peek_char()) not in ("", "|", ")"):
            literal, group = self._read_item(char)
            optional = self._read_repetition()
            if literal and not optional:
                run += literal
                continue
            choices += [(run,)] if run else []
            choices += [group] if group and not optional else []
            run = ""
        choices += [(run,)] if run else []
        if len(choices) < 2:
            return choices[0] if choices else ()
        return max(choices, key=lambda words: (min(map(len, words)), -len(words)))

    def _read_item(self, char: str) -> tuple[str, tuple[str, ...]]:
        """Read one item: literal characters, or a group's literals, or neither."""
        start = self._position
        if plain := _PLAIN.match(self._pattern, start):
            self._position = plain.end()
            return plain[0], ()
        self._position += 1
        if char == "\\":
            self._position += 1
            escaped = self._pattern[start + 1 : start + 2]
            return ("" if escaped.isalnum() else escaped), ()
        if char == "[":
            self._position = start + _measure_class(self._pattern, start)
            return "", ()
        if char == "(":
            opening = _OPENING.match(self._pattern, self._position)
            look = opening is not None and opening[0][-1:] in ("=", "!")
            self._position += len(opening[0]) if opening else 0
            literals = self.read_alternatives()
            self._position += 1
            return "", () if look else literals
        return ("" if char in "^$." else char), ()

    def _read_repetition(self) -> bool:
        """Read the repetition of an item, which ends a run of literals; return whether there is one."""
        match = _REPETITION.match(self._pattern, self._position)
        self._position += len(match[0]) if match else 0
        return match is not None

    def _peek_char(self) -> str:
        return self._pattern[self._position : self._position + 1]


def _measure_class(pattern: str, start: int) -> int:
    """Return the length of the character class that opens at ``start``."""
    end = start + 1
    end += pattern[end : end + 1] == "^"
    end += pattern[end : end + 1] == "]"  # a bracket at the start is a member, not the end
    while end < len(pattern) and pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    return end - start + 1
