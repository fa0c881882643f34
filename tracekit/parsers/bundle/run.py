"""One run of a bundle: its stores, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import RunInfo, TraceInfo
from tracekit.parsers.bundle import run_info
from tracekit.parsers.bundle.contents import Spec, read_list, read_spec
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
        stores: list[int],
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
        self._entries = self._open_stores(stores)

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

    def _open_stores(self, numbers: list[int]) -> tuple[_Entry, ...]:
        """Open the stores that are there; add the tables that are listed and whose store is not."""
        listed = self._read_list()
        opened = [self._open_store(at, number, listed) for at, number in enumerate(numbers, start=1)]
        lost = [(number, spec) for number, spec in listed.items() if number not in numbers and spec.schema]
        for number, spec in lost:
            text = f"{self._folder}/stores/indexed-store-{number} is missing; the table '{spec.schema}'"
            self._issues.add(self.number, "warning", "table-damaged", f"{text} cannot be read")
        missing = [_Entry(TableInfo(spec.schema, self.number, 0, spec.attributes), None) for _, spec in lost]
        return (*(entry for entry in opened if entry is not None), *missing)

    def _open_store(self, index: int, number: int, listed: dict[int, Spec]) -> _Entry | None:
        folder = f"{self._folder}/stores/indexed-store-{number}"
        spec = self._read_spec(folder, listed.get(number))
        try:
            store = Store(self._files, folder)
        except DamagedFileError as error:
            what = f"the table '{spec.schema}'" if spec.schema else "a table"
            self._issues.damaged(self.number, "table-damaged", error, f"{what} cannot be read")
            info = TableInfo(spec.schema, self.number, index, spec.attributes)
            return _Entry(info, None) if spec.schema else None
        return _Entry(TableInfo(store.schema, self.number, index, spec.attributes, store.row_count), store)

    def _read_spec(self, folder: str, listed: Spec | None) -> Spec:
        """Return what a store says of itself; where that is damaged, what the list says of it."""
        try:
            return read_spec(self._files, folder)
        except DamagedFileError as error:
            if listed is None:
                text = "the table's attributes are not known"
                self._issues.damaged(self.number, "attributes-damaged", error, text)
            return listed or Spec()

    def _read_list(self) -> dict[int, Spec]:
        try:
            return read_list(self._files, self._folder)
        except DamagedFileError as error:
            text = "whether all tables are there is not known"
            self._issues.damaged(self.number, "contents-damaged", error, text)
            return {}

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
