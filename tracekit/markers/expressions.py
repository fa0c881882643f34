"""Regular expressions of rules → expressions that lldb, and the Python inside it, understand.

lldb matches POSIX extended expressions, which have no ``\\b``, ``\\w``, groups without a number or
look-around. Parts without a counterpart are omitted, so the result matches at least everything that the rule
matches: the script checks each function against the rule itself before counting it. Apple's lldb runs Python
3.9, which has no ``*+``.
"""

from __future__ import annotations

import re

_CLASSES = {"w": "A-Za-z0-9_", "d": "0-9", "s": "[:space:]"}
_GROUP = re.compile(r"\?(?:[:>]|P<\w+>|<?[=!])")
_REPETITION = re.compile(r"([*+?]|\{\d*,?\d*\})([+?]?)")


def remove_possessive_repetitions(pattern: str) -> str:
    """Return an expression without possessive repetitions: it matches the same texts, and more."""
    parser = _ExpressionTranslator(pattern)
    parser.read_alternatives()
    return "".join(char for position, char in enumerate(pattern) if position not in parser.possessive)


def to_posix_expression(pattern: str) -> str:
    """Return a POSIX expression that matches every text which ``pattern`` matches; "" for all texts."""
    return _ExpressionTranslator(pattern).read_alternatives()


class _ExpressionTranslator:
    """Reads a valid expression from left to right and writes the extended one."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self.possessive: set[int] = set()
        """Positions of the plus signs that make a repetition possessive."""

    def read_alternatives(self) -> str:
        """Read up to the end of the group; POSIX has no empty alternative, which becomes a question mark."""
        branches = [self._read_sequence()]
        while self._read_char_ahead() == "|":
            self._position += 1
            branches.append(self._read_sequence())
        filled = list(dict.fromkeys(branch for branch in branches if branch))
        if len(filled) == len(set(branches)):
            return "|".join(filled)
        return f"({'|'.join(filled)})?" if filled else ""

    def _read_sequence(self) -> str:
        items = []
        while self._read_char_ahead() not in ("", "|", ")"):
            item = self._read_item()
            repetition = _REPETITION.match(self._pattern, self._position)
            if repetition:
                self._position = repetition.end()
                if repetition[2] == "+":
                    self.possessive.add(repetition.end() - 1)
                item += repetition[1] if item else ""
            items.append(item)
        return "".join(items)

    def _read_item(self) -> str:
        char = self._read_char_ahead()
        self._position += 1
        if char == "\\":
            return self._read_escape()
        if char == "[":
            return self._read_set()
        if char == "(":
            return self._read_group()
        return char

    def _read_escape(self) -> str:
        char = self._read_char_ahead()
        self._position += 1
        if char in _CLASSES:
            return f"[{_CLASSES[char]}]"
        if char.lower() in _CLASSES:
            return f"[^{_CLASSES[char.lower()]}]"
        # Anchors and boundaries have no counterpart.
        return "" if char.isalnum() else f"\\{char}"

    def _read_group(self) -> str:
        opening = _GROUP.match(self._pattern, self._position)
        is_lookaround = opening is not None and opening[0][-1] in "=!"
        self._position += len(opening[0]) if opening else 0
        content = self.read_alternatives()
        self._position += 1
        return "" if is_lookaround or not content else f"({content})"

    def _read_set(self) -> str:
        """Return a set in POSIX order: a closing bracket first, a circumflex not first, a dash last."""
        negation = "^" if self._read_char_ahead() == "^" else ""
        self._position += len(negation)
        members, end_characters = "", ""
        is_first = True
        while is_first or self._read_char_ahead() != "]":
            is_first = False
            char = self._read_char_ahead()
            self._position += 1
            if char == "\\":
                char = self._read_char_ahead()
                self._position += 1
                if char in _CLASSES:
                    members += _CLASSES[char]
                    continue
            is_range = char == "-" and members and self._read_char_ahead() != "]"
            if char in "]^" or (char == "-" and not is_range):
                end_characters += char
            else:
                members += char
        self._position += 1
        head = "]" if "]" in end_characters else ""
        tail = ("^" if "^" in end_characters else "") + ("-" if "-" in end_characters else "")
        if not negation and not head and not members and tail.startswith("^"):
            return "\\^" if tail == "^" else "[-^]"
        return f"[{negation}{head}{members}{tail}]"

    def _read_char_ahead(self) -> str:
        return self._pattern[self._position : self._position + 1]
