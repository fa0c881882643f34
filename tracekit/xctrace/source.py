"""A bundle read through ``xctrace export``: slower than the native reader, and Apple's own word."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tracekit.errors import InputError, XctraceError
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.documents import Documents
from tracekit.parsers.xml.reader import Parsed
from tracekit.parsers.xml.source import XmlFile, XmlSource
from tracekit.parsers.xml.value_store import QueryResult
from tracekit.xctrace.export import exported_chunks
from tracekit.xctrace.tool import Xctrace

_Place: TypeAlias = tuple[int, int]
"""Run and position in its table of contents."""


class XctraceSource:
    """Exports a table when it is asked for, and parses it meanwhile. Implements ``parsers.source.Source``."""

    has_toc = True

    def __init__(
        self,
        tool: Xctrace,
        bundle: str,
        name: str,
        schemas: Collection[str] = (),
        progress: Progress | None = None,
    ) -> None:
        """Export the table of contents, and at once the tables of ``schemas``.

        One of these that xctrace does not export is an issue. Raises ``XctraceError`` when it exports none of
        them, or no table of contents, ``InputError`` when it writes something else.
        """
        self.name = name
        self._tool = tool
        self._bundle = bundle
        self._progress = progress
        with exported_chunks(tool, bundle, ["--toc"], progress) as chunks:
            self._files = [XmlFile(name, documents=Documents(name).read(chunks))]
        self._exported: set[_Place] = set()
        self._refused: dict[_Place, tuple[str, InputError | XctraceError]] = {}
        self._source = self._reread()
        self._recorded = self._source.toc()
        for run in self._recorded:
            self._export(run, schemas)
        if self._refused and not self._exported:
            raise self._first_error(self._refused)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``; a table's rows are counted once it has been exported."""
        return self._source.toc()

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``; raises what went wrong when none of them could be exported."""
        for one in self._recorded:
            if one.info.run == run:
                places = self._export(one, [schema])
                if places and self._refused.keys() >= places:
                    raise self._first_error(places)
        return self._source.tables(schema, run)

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        refused = [
            Issue("warning", "table-damaged", f"'{schema}' could not be exported: {str(error).rstrip('.')}")
            for (number, _), (schema, error) in self._refused.items()
            if run in (None, number)
        ]
        return (*self._source.issues(run), *refused)

    def _first_error(self, places: Collection[_Place]) -> InputError | XctraceError:
        return self._refused[min(places)][1]

    def _export(self, run: RunInfo, schemas: Collection[str]) -> set[_Place]:
        """Export what was not tried before: all in one call, since each opens the recording anew.

        What does not come back by that is exported alone, for one table at which xctrace crashes takes the
        others along. Returns the places of all tables of ``schemas``.
        """
        wanted = {(run.info.run, table.index): table for table in run.tables if table.schema in schemas}
        fresh = {at: table for at, table in wanted.items() if at not in self._exported | self._refused.keys()}
        if len(fresh) > 1:
            self._try(run, list(fresh.values()))
        for place, table in fresh.items():
            if place not in self._exported:
                error = self._try(run, [table])
                if place not in self._exported:
                    self._refused[place] = (table.schema, error or self._nothing_came())
        if fresh:
            self._source = self._reread()
        return set(wanted)

    def _try(self, run: RunInfo, tables: Sequence[TableInfo]) -> InputError | XctraceError | None:
        """Export tables of a run by one call and keep what came; return what went wrong.

        Of several, those that came whole before something went wrong are kept, too.
        """
        query = " | ".join(f'/trace-toc/run[@number="{run.info.run}"]/data/table[{t.index}]' for t in tables)
        documents = Documents(self.name, {table.index: table.schema for table in tables})
        try:
            with exported_chunks(self._tool, self._bundle, ["--xpath", query], self._progress) as chunks:
                came = documents.read(chunks)
        except (InputError, XctraceError) as error:
            if len(tables) > 1:
                self._keep(run, tables, [documents.whole_tables()])
            # Where it came from leads to all that was parsed; the error is kept, that is not.
            error.__traceback__ = error.__cause__ = error.__context__ = None
            return error
        self._keep(run, tables, came)
        return None

    def _keep(self, run: RunInfo, tables: Sequence[TableInfo], documents: Sequence[Parsed]) -> None:
        number = run.info.run
        wanted = {table.index for table in tables}
        for document in documents:
            if isinstance(document, QueryResult):
                # The query named the run by its number; what comes back may count positions.
                nodes = tuple(replace(node, run=number) for node in document.nodes if node.index in wanted)
                if nodes:
                    self._files.append(XmlFile(self.name, documents=[replace(document, nodes=nodes)]))
                    self._exported.update((number, node.index) for node in nodes)

    def _nothing_came(self) -> XctraceError:
        return XctraceError(f"xctrace lists it in {self._bundle} and gives nothing back for it.")

    def _reread(self) -> XmlSource:
        return XmlSource(self.name, self._files, parse_now=False)
