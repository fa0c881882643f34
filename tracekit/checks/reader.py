"""Reads an expression word by word, and points at the column where it stops making sense."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from decimal import Decimal

from tracekit.errors import UsageError

LONGEST = 1000
"""Characters of an expression: more is no requirement that somebody wrote."""
_SHOWN = 90
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\W\d][\w.]*(?:-[\w.]+)*")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?", re.ASCII)
_OPERATOR = re.compile(r"<=|>=|==|!=|<|>|≤|≥")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_BARE = re.compile(r"[^\s<>=!≤≥'\"]+")
_PLAIN = {"≤": "<=", "≥": ">="}


class Reader:
    """A position in an expression.

    ``origin`` names where it stands and ``example`` what it could be, for messages.
    """

    def __init__(self, text: str, origin: str, example: str) -> None:
        self.text = text
        self.origin = origin
        self.at = 0
        if len(text) > LONGEST:
            raise UsageError(f"{origin}: an expression of {len(text):,} characters is too long to be one.")
        if not text.strip():
            raise UsageError(f"{origin}: the expression is empty. Write one such as '{example}'.")

    def fail(self, message: str, at: int | None = None) -> UsageError:
        """Return the error that points at a column (by default, the next word's)."""
        self._skip()
        at = self.at if at is None else at
        start = max(0, at - _SHOWN // 2)
        shown = self.text[start : start + _SHOWN].translate({9: " ", 10: " ", 13: " "})
        return UsageError(f"{self.origin}: {message}", shown, f"{' ' * (at - start)}^")

    def unknown(self, what: str, found: str, known: Iterable[str], at: int, else_: str = "") -> UsageError:
        """Return the error of a word that is not known, with the one that was probably meant.

        Without such a one, ``else_`` is told, or all that are known.
        """
        names = list(dict.fromkeys(known))
        folded = {name.lower(): name for name in names}
        digits = found.lower().replace("o", "0").replace("l", "1")  # p9O is p90
        close = [digits] if digits in folded else difflib.get_close_matches(found.lower(), folded, 1, 0.6)
        hint = f"Did you mean '{folded[close[0]]}'?" if close else else_ or f"Known are {', '.join(names)}."
        return self.fail(f"'{found}' is no {what}. {hint}", at)

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._skip()
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    @property
    def ended(self) -> bool:
        """True when nothing is left."""
        self._skip()
        return self.at == len(self.text)

    def peek(self) -> str:
        """Return the next word; "" where none stands."""
        self._skip()
        found = _WORD.match(self.text, self.at)
        return found[0] if found else ""

    def accept(self, *words: str) -> str:
        """Take the next word if it is one of these, whatever its case; return the one of ``words``, or ""."""
        found = self.peek().lower()
        for word in words:
            if found == word.lower():
                self.at += len(word)
                return word
        return ""

    def word(self) -> str:
        """Take any word; "" where none stands."""
        found = self._take(_WORD)
        return found[0] if found else ""

    def number(self) -> Decimal | None:
        """Take a number without a sign."""
        found = self._take(_NUMBER)
        return Decimal(found[0]) if found else None

    def operator(self) -> str:
        """Take a comparison; "" where none stands."""
        found = self._take(_OPERATOR)
        return _PLAIN.get(found[0], found[0]) if found else ""

    def sign(self) -> str:
        """Take ``+``, ``-`` or ``%``; "" where none stands."""
        found = self._take(re.compile(r"[+%−-]"))
        return found[0].replace("−", "-") if found else ""

    def name(self) -> str:
        """Take a name, quoted or up to the next blank or comparison. Raises ``UsageError`` without one."""
        self._skip()
        start = self.at
        quoted = self._take(_QUOTED)
        if quoted is not None:
            found = quoted[1] if quoted[1] is not None else quoted[2]
        elif self.text[start : start + 1] in ("'", '"'):
            raise self.fail("the quote that begins here does not end.", start)
        else:
            bare = self._take(_BARE)
            found = bare[0] if bare else ""
        if not found:
            raise self.fail("a model's or window's name is missing after 'in'.", start)
        return found
