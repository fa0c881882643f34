"""The ``Source`` protocol: something that holds Instruments tables, whatever its file format.

Apart from every parser, so that none of them imports another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with (bytes done, total bytes or None) while a long input is read."""


class Source(Protocol):
    """A recording as tables: exports, a bundle, a pack or memory. ``toc`` is cheap; ``tables`` reads rows."""

    name: str
    has_toc: bool
    """True when the input holds the recording's own table of contents, not only exported tables."""

    def toc(self) -> tuple[RunInfo, ...]:
        """Return the runs, each with every table of the recording that the input lists.

        ``TableInfo.row_count`` is None for a table that the recording has and this input does not.
        """

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """Yield each table of that schema in table-of-contents order; nothing when there is none."""

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """Return the issues of reading so far: of one run, or of all."""
