"""``WorkBudget``: the limit of the work for all files of symbols of one command.

A file of a few kilobytes can describe work without end: entries that all refer to one long list, units that
share a table. So every step is charged, and when the budget is spent, reading ends at the same
step on every machine. Results up to then are kept.
"""

from __future__ import annotations

from tracekit.parsers.limits import DEFAULT_LIMITS, RAISE_OPTION, Limits


class SymbolFileError(ValueError):
    """A file of symbols is damaged or beyond a limit. The message continues the file's name: "is cut off"."""


class BudgetSpentError(SymbolFileError):
    """The budget is spent."""


class WorkBudget:
    """Steps are of up to half a microsecond; bytes are memory for tables."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._steps_left = limits.symbol_steps
        self._table_bytes_left = limits.symbol_bytes

    def spend(self, steps: int) -> None:
        """Charge steps. Raises ``BudgetSpentError`` once the budget is exceeded."""
        self._steps_left -= steps
        if self._steps_left < 0:
            raise BudgetSpentError(
                f"needs more steps than are made for symbols ({RAISE_OPTION} 4 allows more)"
            )

    def take(self, table_bytes: int) -> None:
        """Charge the memory of a table. Raises ``BudgetSpentError`` for one that is too large."""
        if table_bytes > self._table_bytes_left:
            raise BudgetSpentError(
                f"is not read: with the files before it, it needs more memory than symbols get"
                f" ({RAISE_OPTION} 4 allows more)"
            )
        self._table_bytes_left -= table_bytes
