"""A bundle read through ``xctrace export``: slower than the native reader, and Apple's own word."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator
from pathlib import Path

from tracekit.errors import XctraceError
from tracekit.model import Issue, RunInfo, Table
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.source import XmlFile, XmlSource
from tracekit.xctrace.export import export_table
from tracekit.xctrace.tool import Xctrace


class XctraceSource:
    """Exports a table when it is asked for. Implements ``parsers.source.Source``.

    The exports lie in a temporary folder, which goes with this object.
    """

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
        self._folder = Path(tempfile.mkdtemp(prefix="tracekit-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        contents = self._folder / "toc.xml"
        export_table(tool, bundle, ["--toc"], contents, progress)
        self._contents = XmlFile(str(contents))
        self._exported: dict[tuple[int, int], XmlFile] = {}
        self._source = self._reread()
        self._refused: list[tuple[int, Issue]] = []
        errors = [self._try_export(schema, run) for run in self._source.toc() for schema in schemas]
        failed = [error for error in errors if error is not None]
        if failed and not self._exported:
            raise failed[0]

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``; a table's rows are counted once it has been exported."""
        return self._source.toc()

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        for one in self._source.toc():
            if one.info.run == run:
                self._export(schema, one)
        return self._source.tables(schema, run)

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        refused = [issue for number, issue in self._refused if run in (None, number)]
        return (*self._source.issues(run), *refused)

    def _try_export(self, schema: str, run: RunInfo) -> XctraceError | None:
        try:
            self._export(schema, run)
        except XctraceError as error:
            text = f"'{schema}' could not be exported: {str(error).rstrip('.')}"
            self._refused.append((run.info.run, Issue("warning", "table-damaged", text)))
            return error
        return None

    def _export(self, schema: str, run: RunInfo) -> None:
        number = run.info.run
        wanted = [
            t.index for t in run.tables if t.schema == schema and (number, t.index) not in self._exported
        ]
        for index in wanted:
            output = self._folder / f"run{number}-table{index}.xml"
            query = f'/trace-toc/run[@number="{number}"]/data/table[{index}]'
            export_table(self._tool, self._bundle, ["--xpath", query], output, self._progress)
            self._exported[number, index] = XmlFile(str(output), self._progress)
        if wanted:
            self._source = self._reread()

    def _reread(self) -> XmlSource:
        return XmlSource(self.name, [self._contents, *self._exported.values()], parse_now=False)
