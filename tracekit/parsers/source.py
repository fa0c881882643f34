"""The ``Source`` protocol: something that holds Instruments tables, whatever its file format.

Separate from the parsers, so that none of them imports another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from tracekit.errors import TracekitError
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.limits import LimitError

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with (bytes done, total bytes or None) while a long input is read."""
EXPORT_ADVICE = (
    "Export a table of samples: xcrun xctrace export --input X.trace"
    """ --xpath '/trace-toc/run/data/table[@schema="time-profile"]' --output time-profile.xml"""
)
"""The next step for an input without a table of samples."""


def iter_readable(tables: Iterator[Table], left_out: Callable[[TracekitError], None]) -> Iterator[Table]:
    """Yield the tables that can be read, and call ``left_out`` with the error of each of the others.

    Still raises ``LimitError``: nothing beyond a limit is read.
    """
    while True:
        try:
            table = next(tables, None)
        except LimitError:
            raise
        except TracekitError as error:
            left_out(error)
        else:
            if table is None:
                return
            yield table


def make_left_out_issue(schema: str, error: TracekitError, others_were_read: bool = True) -> Issue:
    """Return the issue of a table that cannot be read; ``others_were_read`` of the same schema."""
    problem = str(getattr(error, "problem", error)).rstrip(".")
    unread = f"'{schema}' cannot be read"
    text = problem if problem.startswith(unread) else f"{unread}: {problem}"
    if others_were_read:
        return Issue("warning", "table-damaged", f"a table {text}; the others of this schema are used")
    return Issue("warning", "table-unreadable", f"{text}; it is left out")


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
        """Return the tables of that schema in table-of-contents order; none if the recording has none.

        A table that cannot be read raises ``InputError``, and the iterator continues after it:
        ``iter_readable`` reads the others. A generator cannot do that, so sources return a ``map`` of a
        function that reads one table.
        """

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """Return the issues of reading so far: of one run, or of all."""
