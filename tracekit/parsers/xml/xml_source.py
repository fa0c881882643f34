"""Export documents, from one file or many, as one ``Source``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits, require_at_most
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.documents import read_documents
from tracekit.parsers.xml.index import DocumentIndex, IndexedTable, index_file
from tracekit.parsers.xml.node_table import build_table
from tracekit.parsers.xml.packed import ExportFile
from tracekit.parsers.xml.reader import NotAnExportError, Parsed
from tracekit.parsers.xml.toc import TableOfContents
from tracekit.parsers.xml.value_store import QueryResult


class XmlFile:
    """A file of exports: indexed quickly from its bytes, parsed when its rows are needed.

    With ``documents``, which were parsed before, no file is read: ``file`` is their name in messages.
    """

    def __init__(
        self,
        file: ExportFile,
        progress: Progress | None = None,
        documents: Sequence[Parsed] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.path = str(file)
        self._file = file
        self._limits = limits
        self._progress = progress
        self._documents = documents
        self._indexes: list[DocumentIndex] | None = None

    def load_documents(self) -> Sequence[Parsed]:
        """Return the parsed documents."""
        if self._documents is None:
            self._documents = read_documents(self._file, self._progress, self._limits)
        return self._documents

    def index(self) -> list[DocumentIndex]:
        """Return each document's tables and row counts; from the bytes alone as long as nothing is parsed."""
        if self._indexes is None and self._documents is None:
            indexes = index_file(self._file, self._limits)
            # Anything but a plain, complete list of rows needs the parser, which may refuse it.
            if indexes and all(index.tables and index.exact and index.closed for index in indexes):
                self._indexes = indexes
        if self._indexes is None:
            self._indexes = [_build_index(document) for document in self.load_documents()]
        return self._indexes


def _build_index(parsed: Parsed) -> DocumentIndex:
    if not isinstance(parsed, QueryResult):
        return DocumentIndex(is_toc=True)
    nodes = parsed.nodes
    return DocumentIndex([IndexedTable(n.schema.name, n.run, n.index, len(n.cells)) for n in nodes])


@frozen
class _TableEntry:
    """One node of one document of one file."""

    info: TableInfo
    file: XmlFile
    document: int
    node: int


def _read_table(entry: _TableEntry) -> Table:
    parsed = entry.file.load_documents()[entry.document]
    assert isinstance(parsed, QueryResult)
    return build_table(entry.file.path, parsed.nodes[entry.node], parsed.store, dict(entry.info.attributes))


def _format_place(entry: _TableEntry) -> str:
    """Return ``folder/file.xml``: enough to distinguish two files; the whole path is private."""
    return "/".join(Path(entry.file.path).absolute().parts[-2:])


class XmlSource:
    """The exports of one recording. Implements ``parsers.source.Source``."""

    def __init__(
        self,
        name: str,
        files: Sequence[XmlFile],
        *,
        parse_now: bool,
        limits: Limits = DEFAULT_LIMITS,
        issues: Sequence[Issue] = (),
    ) -> None:
        """Index ``files``; ``parse_now`` reads everything at once, as standard input must be."""
        self.name = name
        self._issues = list(issues)
        self._files = self._select_exports(files, parse_now)
        self._require_few(limits)
        self._contents = self._read_contents()
        self.has_toc = bool(self._contents)
        self._entries: dict[int, list[_TableEntry]] = {}
        for entry in self._without_repeats(self._index_tables()):
            self._entries.setdefault(entry.info.run, []).append(entry)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        contents = {run.info.run: run for run in self._contents}
        return tuple(
            self._build_run(number, contents.get(number)) for number in sorted({*contents, *self._entries})
        )

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        entries = [entry for entry in self._entries.get(run, ()) if entry.info.schema == schema]
        return map(_read_table, sorted(entries, key=lambda entry: entry.info.index))

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:  # noqa: ARG002
        """See ``Source.issues``; an export's issues are those of its files, not of one run."""
        return tuple(self._issues)

    def _select_exports(self, files: Sequence[XmlFile], parse_now: bool) -> list[XmlFile]:
        """Return the exports; other XML files of a folder are skipped with an issue."""
        readable = []
        for file in files:
            try:
                if parse_now:
                    file.load_documents()
                file.index()
            except NotAnExportError as error:
                if len(files) == 1:
                    raise
                self._issues.append(Issue("info", "file-skipped", f"{Path(file.path).name} {error.problem}"))
            else:
                readable.append(file)
        return readable

    def _require_few(self, limits: Limits) -> None:
        """Raise ``LimitError`` if the files together hold too much; each was checked alone before."""
        documents = tables = 0
        for file in self._files:
            documents += len(file.index())
            tables += sum(len(index.tables) for index in file.index())
            require_at_most(self.name, documents, limits.documents, "documents")
            require_at_most(self.name, tables, limits.tables, "tables")

    def _read_contents(self) -> list[RunInfo]:
        contents: dict[TraceInfo, RunInfo] = {}
        for file in self._files:
            for number, index in enumerate(file.index()):
                if index.is_toc:
                    document = file.load_documents()[number]
                    assert isinstance(document, TableOfContents)
                    for run in document.with_name(self.name):
                        contents.setdefault(run.info, run)
        numbers = [info.run for info in contents]
        if len(set(numbers)) < len(numbers):
            raise InputError(
                self.name,
                "holds exports of different recordings (its tables of contents disagree).",
                "Name the files of one recording.",
            )
        return list(contents.values())

    def _index_tables(self) -> list[_TableEntry]:
        entries = []
        for file in self._files:
            for document, index in enumerate(file.index()):
                if not index.is_toc and not index.tables:
                    self._issues.append(
                        Issue(
                            "info",
                            "query-without-match",
                            f"{Path(file.path).name}: the export's query matched no table. The recording"
                            " may have that table all the same.",
                        )
                    )
                for node, table in enumerate(index.tables):
                    entries.append(_TableEntry(self._build_table_info(file, table), file, document, node))
        return entries

    def _build_table_info(self, file: XmlFile, table: IndexedTable) -> TableInfo:
        info = TableInfo(
            table.schema or "", table.run, table.index, row_count=table.rows, location=Path(file.path).name
        )
        listed_tables = [entry for run in self._contents if run.info.run == info.run for entry in run.tables]
        same_index = [entry for entry in listed_tables if entry.index == info.index]
        if same_index and same_index[0].schema == info.schema:
            return replace(info, attributes=same_index[0].attributes)
        if same_index or (listed_tables and not info.index):
            same_schema = [entry for entry in listed_tables if entry.schema == info.schema]
            self._issues.append(
                Issue(
                    "warning",
                    "toc-mismatch",
                    f"{info.location}: '{info.schema}' is not table {info.index} of the table of contents;"
                    " the two may belong to different recordings",
                )
            )
            if len(same_schema) == 1:
                return replace(info, attributes=same_schema[0].attributes)
        return info

    def _without_repeats(self, entries: list[_TableEntry]) -> list[_TableEntry]:
        """Keep one copy of a table that was exported twice: the one with the most rows."""
        used_entries: dict[tuple[object, ...], _TableEntry] = {}
        for number, entry in enumerate(entries):
            info = entry.info
            # Without a place in the recording, two tables of one schema may be two tables.
            key = (info.run, info.index, info.schema) if info.index else (number,)
            earlier = used_entries.get(key)
            if earlier is None:
                used_entries[key] = entry
                continue
            rows, earlier_rows = info.row_count or 0, earlier.info.row_count or 0
            used, unused = (entry, earlier) if rows > earlier_rows else (earlier, entry)
            used_entries[key] = used
            self._issues.append(
                Issue(
                    "info" if rows == earlier_rows else "warning",
                    "table-exported-twice",
                    f"'{info.schema}' (table {info.index}) is in {_format_place(used)} with"
                    f" {used.info.row_count} rows, and with {unused.info.row_count} in"
                    f" {_format_place(unused)}. The first is used.",
                )
            )
        return list(used_entries.values())

    def _build_run(self, number: int, contents: RunInfo | None) -> RunInfo:
        present = [entry.info for entry in self._entries.get(number, ())]
        if contents is None:
            info = TraceInfo(self.name, "xctrace-xml", number)
            return RunInfo(info, tuple(sorted(present, key=lambda table: table.index)))
        # Each listed table is replaced by the exported one, and exported ones that are not listed follow.
        unlisted = {(table.index, table.schema): table for table in present if table.index}
        tables = [unlisted.pop((table.index, table.schema), table) for table in contents.tables]
        tables += [table for table in present if not table.index or (table.index, table.schema) in unlisted]
        return replace(contents, tables=tuple(tables))
