"""The parts that the languages of requirements share: scopes, comparisons, numbers and shares."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from tracekit.checks.requirements import Operator
from tracekit.checks.tokenizer import Tokenizer


class ExpressionParser:
    """A recursive-descent parser of one expression: one method per rule of the grammar."""

    scope_names: ClassVar[str] = "a model or call"

    def __init__(self, tokens: Tokenizer) -> None:
        self._tokens = tokens

    # scope = "in" name

    def _parse_scope(self) -> str:
        missing = f"the name of {self.scope_names} is missing after 'in'."
        return self._tokens.take_name(missing) if self._tokens.take_if("in") else ""

    def _parse_end(self, scope: str) -> str:
        """Read the scope at the end, and make sure that nothing follows."""
        position = self._tokens.next_position()
        trailing_scope = self._parse_scope()
        if scope and trailing_scope:
            raise self._tokens.make_error("'in' is given twice.", position)
        if not self._tokens.ended:
            raise self._tokens.make_error("unexpected text; put a name with spaces in quotes.")
        return scope or trailing_scope

    def _parse_operator(self) -> Operator:
        position = self._tokens.next_position()
        operator = self._tokens.take_operator()
        if operator not in ("<=", "<", ">=", ">", "==", "!="):
            raise self._tokens.make_error("a comparison is expected here: <=, <, >=, >, == or !=.", position)
        return operator  # type: ignore[return-value]

    def _parse_share(self, number: Decimal, position: int) -> float:
        tokens = self._tokens
        percent = tokens.take_sign()
        if percent not in ("", "%"):
            raise tokens.make_error("a share is a fraction or a percentage: 0.8 or 80%.", position)
        if not percent and number > 1:
            raise tokens.make_error(
                f"a share is at most 1: write {number.normalize():f}% or a fraction.", position
            )
        if percent and number > 100:
            raise tokens.make_error("a share is at most 100%.", position)
        return float(number / 100 if percent else number)

    def _parse_number(self) -> Decimal:
        tokens = self._tokens
        position = tokens.next_position()
        if tokens.text[position : position + 1] in ("-", "−"):
            raise tokens.make_error("a value cannot be negative.", position)
        number = tokens.take_number()
        if number is None:
            raise tokens.make_error("a number is expected here.", position)
        return number
