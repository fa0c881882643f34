"""Export documents, from one file or many, as one ``Source``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from tracekit.errors import InputError
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.documents import read_documents
from tracekit.parsers.xml.reader import NotAnExportError, Parsed
from tracekit.parsers.xml.store import QueryResult
from tracekit.parsers.xml.stream import (
    NodeCount,
    Scan,
    scan_file,
)
from tracekit.parsers.xml.table import build_table
from tracekit.parsers.xml.toc import read_toc


class XmlFile:
    """One file of exports: indexed quickly from its bytes, parsed when its rows are asked for.

    With ``documents``, these were parsed before: there is no file, and ``path`` is what messages call them.
    """

    def __init__(
        self, path: str, progress: Progress | None = None, documents: Sequence[Parsed] | None = None
    ) -> None:
        self.path = path
        self._progress = progress
        self._documents = documents
        self._scans: list[Scan] | None = None

    def documents(self) -> Sequence[Parsed]:
        """Return the parsed documents."""
        if self._documents is None:
            self._documents = read_documents(self.path, self._progress)
        return self._documents

    def index(self) -> list[Scan]:
        """Return each document's tables and row counts; from the bytes alone while nothing is parsed."""
        if self._scans is None and self._documents is None:
            scans = scan_file(self.path)
            # Whatever is no plain, complete list of rows is for the parser to judge.
            if scans and all(scan.nodes and scan.exact and scan.closed for scan in scans):
                self._scans = scans
        if self._scans is None:
            self._scans = [_as_scan(document) for document in self.documents()]
        return self._scans


def _as_scan(parsed: Parsed) -> Scan:
    if not isinstance(parsed, QueryResult):
        return Scan(is_toc=True)
    return Scan([NodeCount(n.schema.name, n.run, n.index, len(n.cells)) for n in parsed.nodes])


@dataclass(frozen=True)
class _Entry:
    """One node of one document of one file."""

    info: TableInfo
    file: XmlFile
    document: int
    node: int


def _place(entry: _Entry) -> str:
    """Return ``folder/file.xml``: enough to tell two files apart, and no path of somebody's machine."""
    return "/".join(Path(entry.file.path).absolute().parts[-2:])


class XmlSource:
    """The exports of one recording. Implements ``parsers.source.Source``."""

    def __init__(self, name: str, files: Sequence[XmlFile], *, parse_now: bool) -> None:
        """Index ``files``; ``parse_now`` reads everything at once, as standard input must be."""
        self.name = name
        self._issues: list[Issue] = []
        self._files = self._readable(files, parse_now)
        self._contents = self._tables_of_contents()
        self.has_toc = bool(self._contents)
        self._entries = self._without_repeats(self._index())

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        numbers = {run.info.run for run in self._contents} | {entry.info.run for entry in self._entries}
        return tuple(self._run(number) for number in sorted(numbers))

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        wanted = [e for e in self._entries if e.info.schema == schema and e.info.run == run]
        for entry in sorted(wanted, key=lambda e: e.info.index):
            parsed = entry.file.documents()[entry.document]
            assert isinstance(parsed, QueryResult)
            yield build_table(
                entry.file.path, parsed.nodes[entry.node], parsed.store, dict(entry.info.attributes)
            )

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:  # noqa: ARG002
        """See ``Source.issues``; an export's issues are those of its files, not of one run."""
        return tuple(self._issues)

    def _readable(self, files: Sequence[XmlFile], parse_now: bool) -> list[XmlFile]:
        """Keep the exports; in a folder, other XML files are passed over and named."""
        kept = []
        for file in files:
            try:
                if parse_now:
                    file.documents()
                file.index()
            except NotAnExportError as error:
                if len(files) == 1:
                    raise
                self._issues.append(Issue("info", "file-skipped", f"{Path(file.path).name} {error.problem}"))
            else:
                kept.append(file)
        return kept

    def _tables_of_contents(self) -> list[RunInfo]:
        contents: dict[TraceInfo, RunInfo] = {}
        for file in self._files:
            for at, scan in enumerate(file.index()):
                if scan.is_toc:
                    root = file.documents()[at]
                    assert isinstance(root, etree._Element)
                    for run in read_toc(self.name, root):
                        contents.setdefault(run.info, run)
        numbers = [info.run for info in contents]
        if len(set(numbers)) < len(numbers):
            raise InputError(
                self.name,
                "holds exports of different recordings (its tables of contents disagree).",
                "Name the files of one recording.",
            )
        return list(contents.values())

    def _index(self) -> list[_Entry]:
        entries = []
        for file in self._files:
            for document, scan in enumerate(file.index()):
                if not scan.is_toc and not scan.nodes:
                    self._issues.append(
                        Issue(
                            "info",
                            "query-without-match",
                            f"{Path(file.path).name}: the export's query matched no table; this says nothing"
                            " about what the recording holds",
                        )
                    )
                for node, count in enumerate(scan.nodes):
                    entries.append(_Entry(self._table_info(file, count), file, document, node))
        return entries

    def _table_info(self, file: XmlFile, count: NodeCount) -> TableInfo:
        info = TableInfo(
            count.schema or "", count.run, count.index, row_count=count.rows, location=Path(file.path).name
        )
        listed = [table for run in self._contents if run.info.run == info.run for table in run.tables]
        at_index = [table for table in listed if table.index == info.index]
        if at_index and at_index[0].schema == info.schema:
            return replace(info, attributes=at_index[0].attributes)
        if at_index or (listed and not info.index):
            same = [table for table in listed if table.schema == info.schema]
            self._issues.append(
                Issue(
                    "warning",
                    "toc-mismatch",
                    f"{info.location}: '{info.schema}' is not table {info.index} of the table of contents;"
                    " the two may belong to different recordings",
                )
            )
            if len(same) == 1:
                return replace(info, attributes=same[0].attributes)
        return info

    def _without_repeats(self, entries: list[_Entry]) -> list[_Entry]:
        """Keep one copy of a table that was exported twice: the one with most rows."""
        kept: dict[tuple[object, ...], _Entry] = {}
        for at, entry in enumerate(entries):
            info = entry.info
            key = (info.run, info.index, info.schema) if info.index else (at,)
            other = kept.get(key)
            if other is None:
                kept[key] = entry
                continue
            rows, other_rows = info.row_count or 0, other.info.row_count or 0
            used, left = (entry, other) if rows > other_rows else (other, entry)
            kept[key] = used
            self._issues.append(
                Issue(
                    "info" if rows == other_rows else "warning",
                    "table-exported-twice",
                    f"'{info.schema}' (table {info.index}) stands in {_place(used)} with"
                    f" {used.info.row_count} rows and again with {left.info.row_count} in"
                    f" {_place(left)}; the first is used",
                )
            )
        return list(kept.values())

    def _run(self, number: int) -> RunInfo:
        contents = next((run for run in self._contents if run.info.run == number), None)
        present = [entry.info for entry in self._entries if entry.info.run == number]
        if contents is None:
            info = TraceInfo(self.name, "xctrace-xml", number)
            return RunInfo(info, tuple(sorted(present, key=lambda table: table.index)))
        here = {(table.index, table.schema): table for table in present if table.index}
        tables = [here.pop((table.index, table.schema), table) for table in contents.tables]
        tables += [table for table in present if not table.index or (table.index, table.schema) in here]
        return RunInfo(contents.info, tuple(tables), contents.pids)
