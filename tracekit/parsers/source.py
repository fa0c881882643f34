"""The ``Source`` protocol: something that holds Instruments tables, whatever its file format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with (bytes done, total bytes or None) while a long input is read."""


class Source(Protocol):
    """A recording as tables. ``toc`` is cheap; rows are read when ``tables`` asks for them."""

    name: str
    has_toc: bool
    """True when the input holds the recording's own table of contents, not only exported tables."""

    def toc(self) -> tuple[RunInfo, ...]:
        """Return the runs, each with every table that the input is known to hold or to have held.

        ``TableInfo.row_count`` is None for a table that the recording holds and this input does not.
        """

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """Yield each table of that schema in table-of-contents order; nothing when there is none."""

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """Return what went wrong or was passed over so far: of one run, or of all."""
