"""``SymbolicatedSource``: a recording whose frames are named from files of symbols.

It wraps a reader's source, so that rules, redaction, packs and tables see the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.in_memory import find_origin
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.parsers.source import Source
from tracekit.symbols.account import list_issues
from tracekit.symbols.naming import Namer
from tracekit.symbols.search import SymbolPath, find_builds


class SymbolicatedSource:
    """Names the frames of another source's tables. Implements ``Source``."""

    def __init__(self, source: Source, paths: Sequence[SymbolPath], limits: Limits = DEFAULT_LIMITS) -> None:
        self.name = source.name
        self.has_toc = source.has_toc
        self.origin = find_origin(source)
        self._source = source
        self._files = find_builds(paths, limits)
        self._namer = Namer(self._files)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self._source.toc()

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        return map(self._add_names, self._source.tables(schema, run))

    def _add_names(self, table: Table) -> Table:
        stacks = self._namer.add_names(table.stacks)
        return table if stacks is table.stacks else replace(table, stacks=stacks)

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        return (*self._source.issues(run), *list_issues(self._namer, self._files))
