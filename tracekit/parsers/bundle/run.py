"""One run of a bundle: its stores, and what they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tracekit.model import RunInfo, Table, TableInfo, TraceInfo
from tracekit.parsers.bundle import run_info
from tracekit.parsers.bundle.attributes import written_attributes
from tracekit.parsers.bundle.demangle import Demangler
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles
from tracekit.parsers.bundle.frames import FrameTable
from tracekit.parsers.bundle.images import RunImages
from tracekit.parsers.bundle.inflate import read_file
from tracekit.parsers.bundle.issue_log import IssueLog
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.parts import PartsReader
from tracekit.parsers.bundle.store import RawColumn, Store
from tracekit.parsers.bundle.symbols import SymbolsArchive, archive_name
from tracekit.parsers.bundle.table import RunContext, build_table
from tracekit.parsers.bundle.uniquing import Uniquing
from tracekit.parsers.bundle.values import ValueReader

Numbers: TypeAlias = "npt.NDArray[np.unsignedinteger[Any]]"

_Text = TypeVar("_Text", bound=str)

_NO_NAMES = "processes and threads have no names"
_STORE = re.compile(r"corespace/run([1-9]\d{0,5})/core/stores/indexed-store-(0|[1-9]\d{0,5})/")
_MOST_DETAILS = 200_000
_LISTED = re.compile(r"run\d{1,6}/core/stores/indexed-store-\d{1,6}\Z")


@dataclass(frozen=True)
class _Entry:
    """One table of the run: where it stands in the contents, and its store if that can be read."""

    info: TableInfo
    store: Store | None


class BundleRun:
    """The tables of one run, opened but not read."""

    def __init__(
        self,
        files: BundleFiles,
        run: int,
        form: KeyedArchive | None,
        tag_of: Callable[[str], str],
        issues: IssueLog,
    ) -> None:
        self.number = run
        self._files = files
        self._form = form
        self._tag_of = tag_of
        self._issues = issues
        self._folder = f"corespace/run{run}/core"
        self._uniquing = Uniquing(files, self._folder)
        self._demangler = Demangler()
        self._archives: dict[str, SymbolsArchive | None] = {}
        self._entities = Entities(lambda: self._uniquing.lists, self._process_names, self._thread_names)
        self._entries = self._open_stores()

    def info(self) -> RunInfo:
        """Return the run as a table of contents would list it."""
        tables = tuple(entry.info for entry in self._entries)
        info = self._trace_info
        pids = self._images.pids | ({info.pid} if info.pid is not None else set())
        return RunInfo(info, tables, frozenset(pids))

    @property
    def unreadable(self) -> set[str]:
        """The schemas of which a table cannot be read."""
        return {entry.info.schema for entry in self._entries if entry.store is None}

    def tables(self, schema: str) -> Iterator[Table]:
        """Yield each table of that schema whose rows are there. Raises ``DamagedFileError``."""
        for entry in self._entries:
            if entry.info.schema == schema and entry.store is not None:
                yield build_table(entry.store, self._context, entry.info.attributes)

    @cached_property
    def _trace_info(self) -> TraceInfo:
        info = TraceInfo(self._files.name, "trace-bundle", self.number)
        try:
            info = run_info.read_info(self._files.name, self._form, self.number)
            if self._form is not None and run_info.recorded_run(self._form, self.number) is None:
                text = "the document says nothing of this run: there are no symbols and no run info"
                self._issues.add(self.number, "warning", "document-incomplete", text)
        except DamagedFileError as error:
            self._issues.damaged(self.number, "run-info-damaged", error, "how it was recorded is not known")
        if info.instruments:
            return info
        name = f"{self._folder}/core-config/exposedTableInfo.plist"
        try:
            return run_info.read_parameters(info, KeyedArchive(name, read_file(self._files, name)))
        except DamagedFileError:
            return info

    @cached_property
    def _context(self) -> RunContext:
        parts = PartsReader(self._uniquing, self._entities, self._tag_of, self._doubt)
        return RunContext(
            run=self.number,
            uniquing=self._uniquing,
            entities=self._entities,
            reader=ValueReader(self._uniquing, parts),
            new_frames=lambda: FrameTable(self._images, self._archive, self._report_symbols),
            tag_of=self._tag_of,
            doubt=self._doubt,
            frames_done=self._report_frames,
            core_types=self._from_document(run_info.core_types, "which cores are which is not known"),
        )

    @cached_property
    def _images(self) -> RunImages:
        try:
            return RunImages(self._form, self.number)
        except DamagedFileError as error:
            self._report_symbols(error)
            return RunImages(None, self.number)

    def _doubt(self, type_id: str, known: bool) -> None:
        self._issues.doubt(self.number, type_id, known=known)

    def _archive(self, uuid: str) -> SymbolsArchive | None:
        if uuid not in self._archives:
            self._archives[uuid] = None
            if self._files.size(archive_name(uuid)) >= 0:
                try:
                    self._archives[uuid] = SymbolsArchive(self._files, uuid, self._demangler)
                except DamagedFileError as error:
                    self._report_symbols(error)
        return self._archives[uuid]

    def _report_symbols(self, error: DamagedFileError) -> None:
        self._issues.damaged(self.number, "symbols-damaged", error, "its functions show as addresses")

    def _report_frames(self, frames: FrameTable) -> None:
        if frames.ambiguous:
            text = (
                f"{frames.ambiguous} addresses lay in several binaries one after another and stay addresses"
            )
            self._issues.add(self.number, "warning", "images-replaced", text, frames.ambiguous)

    def _open_stores(self) -> tuple[_Entry, ...]:
        matches = (_STORE.match(name) for name in self._files.names())
        numbers = {int(match[2]) for match in matches if match and int(match[1]) == self.number}
        opened = [self._open_store(at, number) for at, number in enumerate(sorted(numbers), start=1)]
        return (*(entry for entry in opened if entry is not None), *self._lost_stores(numbers))

    def _open_store(self, index: int, number: int) -> _Entry | None:
        folder = f"{self._folder}/stores/indexed-store-{number}"
        schema, attributes = self._read_spec(f"{folder}/spec.plist")
        try:
            store = Store(self._files, folder)
        except DamagedFileError as error:
            what = f"the table '{schema}'" if schema else "a table"
            self._issues.damaged(self.number, "table-damaged", error, f"{what} cannot be read")
            info = TableInfo(schema, self.number, index, attributes)
            return _Entry(info, None) if schema else None
        info = TableInfo(store.schema, self.number, index, attributes, store.row_count)
        return _Entry(info, store)

    def _read_spec(self, file: str) -> tuple[str, dict[str, str]]:
        """Return a table's schema and attributes; nothing of them when the file is damaged."""
        try:
            archive = KeyedArchive(file, read_file(self._files, file))
            spec = archive.plain(archive.top())
        except DamagedFileError as error:
            self._issues.damaged(
                self.number, "attributes-damaged", error, "the table's attributes are not known"
            )
            return "", {}
        return _spec(spec)

    def _lost_stores(self, numbers: set[int]) -> list[_Entry]:
        """Return the tables that the contents list and whose folder is not there."""
        file = f"{self._folder}/table-manager/tables.plist"
        try:
            archive = KeyedArchive(file, read_file(self._files, file))
            details = archive.plain(archive.get(archive.top(), "tableDetails"), _MOST_DETAILS)
        except DamagedFileError as error:
            text = "whether all tables are there is not known"
            self._issues.damaged(self.number, "contents-damaged", error, text)
            return []
        lost: dict[str, TableInfo] = {}
        if not isinstance(details, dict):
            text = f"{file} lists no tables; whether all are there is not known"
            self._issues.add(self.number, "warning", "contents-damaged", text)
            return []
        for detail in details.values():
            path = detail.get("storeSubpath") if isinstance(detail, dict) else None
            if (
                not isinstance(path, str)
                or not _LISTED.match(path)
                or int(path.rpartition("-")[2]) in numbers
            ):
                continue
            schema, attributes = _spec(detail.get("spec"))
            lost[path] = TableInfo(schema, self.number, 0, attributes)
        for path, info in lost.items():
            text = f"corespace/{path} is missing; the table '{info.schema}' cannot be read"
            self._issues.add(self.number, "warning", "table-damaged", text)
        return [_Entry(info, None) for info in lost.values() if info.schema]

    def _process_names(self) -> dict[int, str]:
        columns = self._first_table("process-info", ("pid", "process-name"), "processes have no names")
        if columns is None:
            return self._from_document(run_info.process_names)
        pids, names = columns["pid"], columns["process-name"]
        return self._named(pids, names.raw, ~names.missing)

    def _thread_names(self) -> dict[int, str]:
        columns = self._first_table("thread-info", ("tid", "name"), "threads have no names")
        if columns is None:
            return self._from_document(run_info.thread_names)
        tids, names = columns["tid"], columns["name"]
        main = columns.get("main-thread")
        named = self._named(tids, names.raw >> np.uint64(32), ~names.missing)
        last = dict(zip(tids.raw.tolist(), main.raw.tolist(), strict=True)) if main else {}
        return named | {tid: "Main Thread" for tid, is_main in last.items() if is_main == 1}

    def _from_document(
        self, read: Callable[[KeyedArchive | None, int], dict[int, _Text]], consequence: str = _NO_NAMES
    ) -> dict[int, _Text]:
        try:
            return read(self._form, self.number)
        except DamagedFileError as error:
            self._issues.damaged(self.number, "document-damaged", error, consequence)
            return {}

    def _named(self, keys: RawColumn, strings: Numbers, given: npt.NDArray[np.bool_]) -> dict[int, str]:
        """Return the last name that each key was given."""
        try:
            named = {
                key: self._uniquing.string(string)
                for key, string in zip(keys.raw[given].tolist(), strings[given].tolist(), strict=True)
            }
        except DamagedFileError as error:
            self._issues.damaged(self.number, "names-damaged", error, _NO_NAMES)
            return {}
        return {key: name for key, name in named.items() if name}

    def _first_table(
        self, schema: str, needed: tuple[str, ...], consequence: str
    ) -> dict[str, RawColumn] | None:
        """Return the raw columns of the first table of that schema that has rows and these columns."""
        for entry in self._entries:
            if entry.info.schema != schema or entry.store is None or not entry.store.row_count:
                continue
            try:
                raw = entry.store.read()
            except DamagedFileError as error:
                self._issues.damaged(self.number, "names-damaged", error, consequence)
                continue
            columns = {c.mnemonic: values for c, values in zip(entry.store.columns, raw, strict=True)}
            if all(name in columns for name in needed):
                return columns
        return None


def _spec(spec: object) -> tuple[str, dict[str, str]]:
    if not isinstance(spec, dict):
        return "", {}
    schema, attributes = spec.get("schemaName"), spec.get("attributes")
    return (
        schema if isinstance(schema, str) else "",
        written_attributes(attributes) if isinstance(attributes, dict) else {},
    )


def listed_runs(files: BundleFiles) -> list[int]:
    """Return the numbers of the runs that have stores."""
    matches = (_STORE.match(name) for name in files.names())
    return sorted({int(match[1]) for match in matches if match})
