"""``Budget``: what the files of symbols of one command may cost, all together.

A file of a few kilobytes can describe work without end: entries that all refer to one long list, units that
share a table. So each step is paid for where it is made, and when nothing is left, reading ends there, the
same on every machine. What was found before that stays.
"""

from __future__ import annotations

from tracekit.parsers.limits import DEFAULT_LIMITS, RAISE_OPTION, Limits


class SymbolFileError(ValueError):
    """A file of symbols is damaged or beyond a limit. The message continues the file's name: "is cut off"."""


class BudgetSpentError(SymbolFileError):
    """Nothing is left of the budget."""


class Budget:
    """Steps are of up to half a microsecond; bytes are memory for tables."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._steps_left = limits.symbol_steps
        self._table_bytes_left = limits.symbol_bytes

    def spend(self, steps: int) -> None:
        """Pay for steps. Raises ``BudgetSpentError`` from the first time on that there are too few left."""
        self._steps_left -= steps
        if self._steps_left < 0:
            raise BudgetSpentError(
                f"needs more steps than are made for symbols ({RAISE_OPTION} 4 allows more)"
            )

    def take(self, table_bytes: int) -> None:
        """Pay for a table. Raises ``BudgetSpentError`` if it is too large; a smaller one may follow."""
        if table_bytes > self._table_bytes_left:
            raise BudgetSpentError(
                f"is not read: with the files before it, it needs more memory than symbols get"
                f" ({RAISE_OPTION} 4 allows more)"
            )
        self._table_bytes_left -= table_bytes
