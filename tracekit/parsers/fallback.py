"""Two ways to read one recording: a table that the first cannot read comes from the second."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tracekit.errors import InputError, TracekitError
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.limits import LimitError
from tracekit.parsers.source import Source


def _read_next(tables: Iterator[Table]) -> Table | TracekitError | None:
    """Return the next table, or the error that reading it raises; None at the end."""
    try:
        return next(tables, None)
    except LimitError:
        raise
    except TracekitError as error:
        return error


def _require_table(outcome: Table | TracekitError) -> Table:
    if isinstance(outcome, TracekitError):
        raise outcome
    return outcome


class FallbackSource:
    """Reads from ``first_source``, and what it cannot read from ``open_second()``. A ``Source``.

    ``open_second`` is called on the first failure; it returns None if there is no other
    way, and then the error is raised. ``description`` names the second way in the issue.
    """

    def __init__(
        self, first_source: Source, open_second: Callable[[], Source | None], description: str
    ) -> None:
        self.name = first_source.name
        self.has_toc = first_source.has_toc
        self._first = first_source
        self._open_second = open_second
        self._description = description
        self._second: Source | None = None
        self._issues: list[Issue] = []

    def prefer_second(self, reason: str) -> None:
        """Read everything the second way, if there is one: the first lists a table that it cannot read."""
        if self._open_other(reason):
            self._first = self._second or self._first

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self._first.toc()

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        # Complete before the first table is returned: a caller must not get a mixture of both.
        outcomes: list[Table | TracekitError] = []
        tables = self._first.tables(schema, run)
        while (outcome := _read_next(tables)) is not None:
            if isinstance(outcome, InputError) and self._may_replace(outcome):
                assert self._second is not None
                return self._second.tables(schema, run)
            outcomes.append(outcome)
        return map(_require_table, outcomes)

    def _may_replace(self, error: InputError) -> bool:
        """Return whether there is a second way; record it with the error of the first."""
        return self._first is not self._second and self._open_other(error.problem.rstrip("."))

    def _open_other(self, reason: str) -> bool:
        """Open the second way and record the reason; return False if there is none."""
        self._second = self._second or self._open_second()
        if self._second is None:
            return False
        text = f"{reason}; it was read through {self._description} instead"
        self._issues.append(Issue("warning", "read-otherwise", text))
        return True

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        sources = dict.fromkeys((self._first, self._second))
        issues = [issue for source in sources if source for issue in source.issues(run)]
        return (*issues, *self._issues)
