"""Two ways to read one recording: the second is asked where the first fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tracekit.errors import InputError
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.source import Source


class FallbackSource:
    """Reads from ``first``; a table that it cannot read comes from ``second()``. Implements ``Source``.

    ``second`` is called when it is needed and not before; None means that there is no other way, and the
    error stands. ``described`` says what it is, for the issue that tells so.
    """

    def __init__(self, first: Source, second: Callable[[], Source | None], described: str) -> None:
        self.name = first.name
        self.has_toc = first.has_toc
        self._first = first
        self._open_second = second
        self._described = described
        self._second: Source | None = None
        self._issues: list[Issue] = []

    def prefer_second(self, why: str) -> None:
        """Read everything from ``second`` where there is one: ``first`` lists a table that it cannot read."""
        if self._ask_second(why):
            self._first = self._second or self._first

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self._first.toc()

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        try:
            yield from list(self._first.tables(schema, run))
        except InputError as error:
            if self._first is self._second or not self._ask_second(error.problem.rstrip(".")):
                raise
            assert self._second is not None
            yield from self._second.tables(schema, run)

    def _ask_second(self, why: str) -> bool:
        self._second = self._second or self._open_second()
        if self._second is None:
            return False
        text = f"{why}; it was read through {self._described} instead"
        self._issues.append(Issue("warning", "read-otherwise", text))
        return True

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        sources = dict.fromkeys((self._first, self._second))
        found = [issue for source in sources if source for issue in source.issues(run)]
        return (*found, *self._issues)
