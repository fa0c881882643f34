"""A ``.trace`` bundle as a ``Source``: read on any operating system, without xctrace.

    X.trace/
      form.template                     the document: run info, images, names (keyed archive)
      open.creq                         engineering types and their tags in an export
      corespace/run<N>/core/
        table-manager/tables.plist      the list of tables        → table_list
        stores/indexed-store-<k>/       one table each            → rows
        uniquing/                       strings, lists, types     → interned
      symbols/stores/*.symbolsarchive   functions per binary      → symbols
      Trace<N>.run/RunIssues.storedata  problems while recording  → issues

The format is not documented; docs/formats.md lists the evidence for each part. Everything is checked as it is
read. An unreadable part is an issue where the rest still makes sense, and an error where it does not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from functools import cached_property, partial
from itertools import starmap

from tracekit.errors import InputError
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError, read_file
from tracekit.parsers.bundle.bundle_run import BundleRun
from tracekit.parsers.bundle.issues import IssueLog, read_run_issues
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.loaded_images import DOCUMENT_FILE
from tracekit.parsers.bundle.plist import PlistError, read_plist
from tracekit.parsers.bundle.stored_rows import IndexedStore
from tracekit.parsers.bundle.table_list import TableSpec, list_stores
from tracekit.parsers.bundle.types import make_default_tag
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits, require_at_most

_REQUIREMENTS = "open.creq"
_TYPE_KEY = "com.apple.dt.etype."
_TYPE_TAG = re.compile(r"engineering type '([a-z0-9-]+)'")
_RAW_RECORDING = re.compile(r"(Trace\d+\.run/Attachments/[^/]+\.atrc)\Z")
_OLD_SAMPLES = "sampler.data"
_OLD_RUN = ".run.zip"
_STORES = "corespace/"
_DAMAGED = (
    "The bundle is damaged, or from an Xcode that tracekit does not support."
    " On a Mac, export it with xctrace."
)


class BundleSource:
    """The runs of one bundle. Implements ``parsers.source.Source``."""

    has_toc = True

    def __init__(
        self,
        files: BundleFiles,
        path: str,
        limits: Limits = DEFAULT_LIMITS,
        counted_schemas: Collection[str] = (),
    ) -> None:
        """Open the runs; ``path`` is the input's name in messages.

        ``counted_schemas`` are the schemas of the tables that are opened at once, so that their rows are
        counted and damaged ones are issues; all tables are if it is empty. Each other table is opened when it
        is read. Raises ``InputError`` if this reader supports none of the runs.
        """
        self.name = files.name
        self._path = path
        self._files = files
        self._limits = limits
        self._cells: dict[str, int] = {}  # of the tables that were read, by their folders
        self._issues = IssueLog()
        for warning in files.warnings:
            self._issues.add(0, "warning", "files-ignored", warning)
        stores = list_stores(files)
        self._document_error: DamagedFileError | None = None
        self._document = self._open_document()
        if not stores:
            raise self._make_no_runs_error()
        self._tags = self._read_tags()
        self._runs = {
            n: BundleRun(files, n, stores[n], self._document, counted_schemas, self._get_tag, self._issues)
            for n in stores
        }
        self._refuse_old()
        for number in stores:
            self._read_run_issues(number)
        self._toc = tuple(run.info() for run in self._runs.values())

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self._toc

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        if run not in self._runs:
            return iter(())
        return starmap(partial(self._read_table, self._runs[run]), self._runs[run].stores(schema))

    def _read_table(self, run: BundleRun, spec: TableSpec, store: IndexedStore) -> Table:
        try:
            self._cells[store.folder] = store.count_cells(self._max_cells)
            require_at_most(self._path, sum(self._cells.values()), self._max_cells, "cells in its tables")
            return run.read(spec, store)
        except DamagedFileError as error:
            problem = f"'{spec.schema}' cannot be read: {error.file} {error.problem}."
            raise InputError(self._path, problem, _DAMAGED) from error

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        return self._issues.list_issues(run)

    @property
    def unreadable(self) -> set[str]:
        """The schemas with a table that was opened at once and cannot be read."""
        return set().union(*(run.unreadable for run in self._runs.values()))

    @cached_property
    def _max_cells(self) -> int:
        return self._limits.max_cells(sum(max(self._files.size(name), 0) for name in self._files.names()))

    def _get_tag(self, type_id: str) -> str:
        return self._tags.get(type_id) or make_default_tag(type_id)

    def _open_document(self) -> KeyedArchive | None:
        if self._files.size(DOCUMENT_FILE) < 0:
            text = (
                "the recording was not finished (xctrace reports: Document Missing Template Error). Its"
                f" tables are read without symbols and run info. {self._describe_recovery()}"
            )
            self._issues.add(0, "warning", "recording-unfinished", text)
            return None
        try:
            return KeyedArchive(DOCUMENT_FILE, read_file(self._files, DOCUMENT_FILE))
        except DamagedFileError as error:
            consequence = (
                "there are no symbols and no run info. Copy the recording again; on a Mac, xctrace may be"
                " able to export it"
            )
            self._issues.add_damage(0, "document-damaged", error, consequence)
            self._document_error = error
            return None

    def _describe_recovery(self) -> str:
        raw = next((m[1] for name in sorted(self._files.names()) if (m := _RAW_RECORDING.match(name))), "")
        if not raw:
            return "It holds no raw data to recover it from: record again."
        path = shlex.quote(f"{self.name}/{raw}")
        return (
            f"On a Mac, recover it: xcrun xctrace import --input {path} --template 'Time Profiler'"
            " --output Recovered.trace (name the template that it was recorded with)."
        )

    def _make_no_runs_error(self) -> InputError:
        names = list(self._files.names())
        # Later versions write their stores below corespace, and archives of runs next to them.
        has_stores = any(name.startswith(_STORES) for name in names)
        if not has_stores and any(name.endswith((_OLD_SAMPLES, _OLD_RUN)) for name in names):
            return self._make_too_old_error()
        if self._document is None and self._files.size(DOCUMENT_FILE) < 0:
            problem = "holds no recorded tables: the recording was not finished, or is not of Instruments."
            return InputError(self._path, problem, self._describe_recovery())
        if self._document_error is not None:
            problem = f"holds no recorded tables, and {self._document_error}."
            return InputError(self._path, problem, "It is incomplete: copy the whole recording again.")
        return InputError(
            self._path,
            "holds no recorded tables that tracekit reads (Allocations and Leaks keep theirs elsewhere).",
            "Record with a template that has tables, such as Time Profiler or Core ML.",
        )

    def _refuse_old(self) -> None:
        # Instruments 8 and older have rows without a descriptor of their fields.
        names = list(self._files.names())
        stores = any(name.endswith("/bulkstore") for name in names)
        if stores and not any(name.endswith("/bulkstore_descriptor") for name in names):
            raise self._make_too_old_error()

    def _make_too_old_error(self) -> InputError:
        return InputError(
            self._path,
            "was recorded by Instruments 8 or older, whose bundles tracekit does not read.",
            "Record again with a later Xcode.",
        )

    def _read_tags(self) -> dict[str, str]:
        """Return the bundle's own map of engineering types to an export's tags; {} if it is unreadable."""
        if self._files.size(_REQUIREMENTS) < 0:
            return {}
        try:
            required = read_plist(read_file(self._files, _REQUIREMENTS))
        except (PlistError, DamagedFileError):
            return {}
        # "com.apple.dt.etype.XRBacktraceTypeID": [1, "… the new engineering type 'backtrace'."]
        # The only tag in an entry is in the sentence that an older Instruments would show.
        tags = {}
        for key, value in required.items() if isinstance(required, dict) else ():
            text = value[-1] if isinstance(value, list) and value else None
            match = _TYPE_TAG.search(text) if isinstance(text, str) else None
            if key.startswith(_TYPE_KEY) and match:
                tags[key.removeprefix(_TYPE_KEY)] = match[1]
        return tags

    def _read_run_issues(self, run: int) -> None:
        try:
            for issue in read_run_issues(self._files, run):
                self._issues.put(run, issue)
        except DamagedFileError as error:
            text = "problems that Instruments reported while recording are unknown"
            self._issues.add_damage(run, "recording-issues-damaged", error, text)
