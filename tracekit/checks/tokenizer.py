"""Tokens of an expression, read one at a time, and errors that point at a column."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from decimal import Decimal

from tracekit.errors import UsageError

MAX_LENGTH = 1000
"""Maximum length of an expression; longer ones are not written by hand."""
_MAX_EXCERPT_CHARACTERS = 90
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\W\d][\w.]*(?:-[\w.]+)*")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?", re.ASCII)
_OPERATOR = re.compile(r"<=|>=|==|!=|<|>|≤|≥")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_BARE = re.compile(r"[^\s<>=!≤≥'\"]+")
_PLAIN = {"≤": "<=", "≥": ">="}


class Tokenizer:
    """A position in an expression.

    ``origin`` names the option or file of the expression and ``example`` a valid one, both for messages.
    """

    def __init__(self, text: str, origin: str, example: str) -> None:
        self.text = text
        self.origin = origin
        self.position = 0
        if len(text) > MAX_LENGTH:
            raise UsageError(
                f"{origin}: an expression of {len(text):,} characters is too long (at most {MAX_LENGTH:,})."
            )
        if not text.strip():
            raise UsageError(f"{origin}: the expression is empty. Write one such as '{example}'.")

    def make_error(self, message: str, position: int | None = None) -> UsageError:
        """Return the error that points at a column (by default, the next word's)."""
        self._skip_space()
        position = self.position if position is None else position
        # A long expression is cut around the position; tabs and line breaks become spaces, so that the caret
        # of the second line stays below its column.
        start = max(0, position - _MAX_EXCERPT_CHARACTERS // 2)
        excerpt = self.text[start : start + _MAX_EXCERPT_CHARACTERS].translate({9: " ", 10: " ", 13: " "})
        return UsageError(f"{self.origin}: {message}", excerpt, f"{' ' * (position - start)}^")

    def make_unknown_error(
        self, category: str, word: str, valid: Iterable[str], position: int, advice: str = ""
    ) -> UsageError:
        """Return the error for an unknown word, with the valid one that is closest to it.

        Where none is close, the message has ``advice``, or lists all valid words.
        """
        names = list(dict.fromkeys(valid))
        folded = {name.lower(): name for name in names}
        digits = word.lower().replace("o", "0").replace("l", "1")  # p9O is p90
        close = [digits] if digits in folded else difflib.get_close_matches(word.lower(), folded, 1, 0.6)
        hint = f"Did you mean '{folded[close[0]]}'?" if close else advice or f"Valid: {', '.join(names)}."
        return self.make_error(f"'{word}' is not a valid {category}. {hint}", position)

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def _take_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._skip_space()
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    @property
    def ended(self) -> bool:
        """True at the end of the expression."""
        self._skip_space()
        return self.position == len(self.text)

    def next_position(self) -> int:
        """Return the position of the next token."""
        self._skip_space()
        return self.position

    def peek(self) -> str:
        """Return the next word without taking it; "" where there is none."""
        self._skip_space()
        match = _WORD.match(self.text, self.position)
        return match[0] if match else ""

    def take_if(self, *words: str) -> str:
        """Take the next word if it is one of ``words``, in any case; return that one of ``words``, or ""."""
        following = self.peek().lower()
        for word in words:
            if following == word.lower():
                self.position += len(word)
                return word
        return ""

    def take_word(self) -> str:
        """Take any word; "" where there is none."""
        match = self._take_match(_WORD)
        return match[0] if match else ""

    def take_number(self) -> Decimal | None:
        """Take a number without a sign."""
        match = self._take_match(_NUMBER)
        return Decimal(match[0]) if match else None

    def take_operator(self) -> str:
        """Take a comparison; "" where there is none."""
        match = self._take_match(_OPERATOR)
        return _PLAIN.get(match[0], match[0]) if match else ""

    def take_sign(self) -> str:
        """Take ``+``, ``-`` or ``%``; "" where there is none."""
        match = self._take_match(re.compile(r"[+%−-]"))
        return match[0].replace("−", "-") if match else ""

    def take_name(self, missing: str) -> str:
        """Take a name, quoted or up to the next blank or comparison.

        Raises ``UsageError`` with the message ``missing`` where there is none.
        """
        self._skip_space()
        start = self.position
        quoted = self._take_match(_QUOTED)
        if quoted is not None:
            name = quoted[1] if quoted[1] is not None else quoted[2]
        elif self.text[start : start + 1] in ("'", '"'):
            raise self.make_error("this quote is not closed.", start)
        else:
            bare = self._take_match(_BARE)
            name = bare[0] if bare else ""
        if not name:
            raise self.make_error(missing, start)
        return name
