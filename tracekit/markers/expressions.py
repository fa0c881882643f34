"""Regular expressions of rules → expressions that lldb, and the Python inside it, understand.

lldb matches POSIX extended expressions, which have no ``\\b``, ``\\w``, groups without a number or
look-around. What has no counterpart is left out, so that the result matches everything that the rule matches,
and more: the script compares each function with the rule itself before it counts it. Apple's lldb runs Python
3.9, which has no ``*+``.
"""

from __future__ import annotations

import re

_CLASSES = {"w": "A-Za-z0-9_", "d": "0-9", "s": "[:space:]"}
_GROUP = re.compile(r"\?(?:[:>]|P<\w+>|<?[=!])")
_REPETITION = re.compile(r"([*+?]|\{\d*,?\d*\})([+?]?)")


def for_older_python(pattern: str) -> str:
    """Return an expression without possessive repetitions: it matches the same texts, and more."""
    parser = _Parser(pattern)
    parser.alternatives()
    return "".join(char for position, char in enumerate(pattern) if position not in parser.possessive)


def for_lldb(pattern: str) -> str:
    """Return a POSIX expression that matches every text which ``pattern`` matches; "" for all texts."""
    return _Parser(pattern).alternatives()


class _Parser:
    """Reads a valid expression from left to right and writes the extended one."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self.possessive: set[int] = set()
        """Positions of the plus signs that make a repetition possessive."""

    def alternatives(self) -> str:
        """Read up to the end of the group; POSIX has no empty alternative, which becomes a question mark."""
        branches = [self._sequence()]
        while self._peek() == "|":
            self._position += 1
            branches.append(self._sequence())
        filled = list(dict.fromkeys(branch for branch in branches if branch))
        if len(filled) == len(set(branches)):
            return "|".join(filled)
        return f"({'|'.join(filled)})?" if filled else ""

    def _sequence(self) -> str:
        items = []
        while self._peek() not in ("", "|", ")"):
            item = self._item()
            repetition = _REPETITION.match(self._pattern, self._position)
            if repetition:
                self._position = repetition.end()
                if repetition[2] == "+":
                    self.possessive.add(repetition.end() - 1)
                item += repetition[1] if item else ""
            items.append(item)
        return "".join(items)

    def _item(self) -> str:
        char = self._peek()
        self._position += 1
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._set()
        if char == "(":
            return self._group()
        return char

    def _escape(self) -> str:
        char = self._peek()
        self._position += 1
        if char in _CLASSES:
            return f"[{_CLASSES[char]}]"
        if char.lower() in _CLASSES:
            return f"[^{_CLASSES[char.lower()]}]"
        # Anchors and boundaries have no counterpart.
        return "" if char.isalnum() else f"\\{char}"

    def _group(self) -> str:
        opening = _GROUP.match(self._pattern, self._position)
        looks = opening is not None and opening[0][-1] in "=!"
        self._position += len(opening[0]) if opening else 0
        inside = self.alternatives()
        self._position += 1
        return "" if looks or not inside else f"({inside})"

    def _set(self) -> str:
        """Return a set in POSIX order: a closing bracket first, a circumflex not first, a dash last."""
        negation = "^" if self._peek() == "^" else ""
        self._position += len(negation)
        members, last = "", ""
        is_first = True
        while is_first or self._peek() != "]":
            is_first = False
            char = self._peek()
            self._position += 1
            if char == "\\":
                char = self._peek()
                self._position += 1
                if char in _CLASSES:
                    members += _CLASSES[char]
                    continue
            is_range = char == "-" and members and self._peek() != "]"
            if char in "]^" or (char == "-" and not is_range):
                last += char
            else:
                members += char
        self._position += 1
        head = "]" if "]" in last else ""
        tail = ("^" if "^" in last else "") + ("-" if "-" in last else "")
        if not negation and not head and not members and tail.startswith("^"):
            return "\\^" if tail == "^" else "[-^]"
        return f"[{negation}{head}{members}{tail}]"

    def _peek(self) -> str:
        return self._pattern[self._position : self._position + 1]
