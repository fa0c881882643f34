"""A bundle read through ``xctrace export``: slower than the native reader, and Apple's own reading."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tracekit.errors import InputError, XctraceError
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.documents import Documents
from tracekit.parsers.xml.reader import Parsed
from tracekit.parsers.xml.value_store import QueryResult
from tracekit.parsers.xml.xml_source import XmlFile, XmlSource
from tracekit.xctrace.table_export import stream_export
from tracekit.xctrace.tool import Xctrace

_TableKey: TypeAlias = tuple[int, int]
"""Number of the run, and index of the table in its table of contents."""


class XctraceSource:
    """A source that exports a table when it is requested. Implements ``parsers.source.Source``."""

    has_toc = True

    def __init__(
        self,
        tool: Xctrace,
        bundle: str,
        name: str,
        schemas: Collection[str] = (),
        progress: Progress | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """Export the table of contents, and at once the tables of ``schemas``.

        A table that xctrace does not export is an issue. Raises ``XctraceError`` if it exports none of them,
        or no table of contents; ``InputError`` if it writes something else.
        """
        self.name = name
        self._tool = tool
        self._bundle = bundle
        self._progress = progress
        self._limits = limits
        with stream_export(tool, bundle, ["--toc"], progress) as chunks:
            self._files = [XmlFile(name, documents=Documents(name, limits=limits).read(chunks))]
        self._exported: set[_TableKey] = set()
        self._refused: dict[_TableKey, tuple[str, InputError | XctraceError]] = {}
        self._source = self._rebuild_source()
        self._recorded = self._source.toc()
        for run in self._recorded:
            self._export(run, schemas)
        if self._refused and not self._exported:
            raise self._get_first_error(self._refused)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``; a table's rows are counted once it has been exported."""
        return self._source.toc()

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``; raises the first error if none of them could be exported."""
        for recorded in self._recorded:
            if recorded.info.run == run:
                keys = self._export(recorded, [schema])
                if keys and self._refused.keys() >= keys:
                    raise self._get_first_error(keys)
        return self._source.tables(schema, run)

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        refused = [
            Issue("warning", "table-damaged", f"'{schema}' could not be exported: {str(error).rstrip('.')}")
            for (number, _), (schema, error) in self._refused.items()
            if run in (None, number)
        ]
        return (*self._source.issues(run), *refused)

    def _get_first_error(self, keys: Collection[_TableKey]) -> InputError | XctraceError:
        return self._refused[min(keys)][1]

    def _export(self, run: RunInfo, schemas: Collection[str]) -> set[_TableKey]:
        """Export the tables of ``schemas`` that were not tried before; return the keys of all of them.

        All are exported in one call, because each call opens the recording again. Tables that it does not
        return are exported one by one: a table that crashes xctrace loses the others of its call.
        """
        requested = {(run.info.run, table.index): table for table in run.tables if table.schema in schemas}
        tried = self._exported | self._refused.keys()
        untried = {key: table for key, table in requested.items() if key not in tried}
        if len(untried) > 1:
            self._try_export(run, list(untried.values()))
        for key, table in untried.items():
            if key not in self._exported:
                error = self._try_export(run, [table])
                if key not in self._exported:
                    self._refused[key] = (table.schema, error or self._make_missing_table_error())
        if untried:
            self._source = self._rebuild_source()
        return set(requested)

    def _try_export(self, run: RunInfo, tables: Sequence[TableInfo]) -> InputError | XctraceError | None:
        """Export tables of a run in one call and keep them; return the error, None if there was none.

        Of several, those that were complete before the error are kept, too.
        """
        query = " | ".join(f'/trace-toc/run[@number="{run.info.run}"]/data/table[{t.index}]' for t in tables)
        documents = Documents(self.name, {table.index: table.schema for table in tables}, self._limits)
        try:
            with stream_export(self._tool, self._bundle, ["--xpath", query], self._progress) as chunks:
                parsed = documents.read(chunks)
        except (InputError, XctraceError) as error:
            if len(tables) > 1:
                self._keep_tables(run, tables, [documents.get_whole_tables()])
            # The error is kept; its traceback would keep everything that was parsed alive.
            error.__traceback__ = error.__cause__ = error.__context__ = None
            return error
        self._keep_tables(run, tables, parsed)
        return None

    def _keep_tables(self, run: RunInfo, tables: Sequence[TableInfo], documents: Sequence[Parsed]) -> None:
        number = run.info.run
        requested = {table.index for table in tables}
        for document in documents:
            if isinstance(document, QueryResult):
                # The query names the run by its number; the answer may count positions instead.
                nodes = tuple(replace(node, run=number) for node in document.nodes if node.index in requested)
                if nodes:
                    self._files.append(XmlFile(self.name, documents=[replace(document, nodes=nodes)]))
                    self._exported.update((number, node.index) for node in nodes)

    def _make_missing_table_error(self) -> XctraceError:
        return XctraceError(f"xctrace lists it in {self._bundle} and exports nothing for it.")

    def _rebuild_source(self) -> XmlSource:
        return XmlSource(self.name, self._files, parse_now=False, limits=self._limits)
