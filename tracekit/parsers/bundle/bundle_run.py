"""One run of a bundle: its stores, and everything that they share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.tables import NOT_COUNTED, Table, TableInfo
from tracekit.model.trace import RunInfo, TraceInfo
from tracekit.parsers.bundle import run_info
from tracekit.parsers.bundle.build_table import RunContext, build_table
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError, read_file
from tracekit.parsers.bundle.decode import CellDecoder, ColumnDecoder
from tracekit.parsers.bundle.demangle import Demangler
from tracekit.parsers.bundle.entities import Entities
from tracekit.parsers.bundle.interned import InternPool
from tracekit.parsers.bundle.issues import IssueLog
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.loaded_images import RunImages
from tracekit.parsers.bundle.stored_rows import IndexedStore, RawColumn, TableDescriptions
from tracekit.parsers.bundle.symbolication import Symbolicator
from tracekit.parsers.bundle.symbols_archive import SymbolsArchive, get_archive_name
from tracekit.parsers.bundle.table_list import TableSpec, read_spec, read_table_list

Numbers: TypeAlias = "npt.NDArray[np.unsignedinteger[Any]]"

_Text = TypeVar("_Text", bound=str)

_NO_NAMES = "processes and threads have no names"


@frozen
class _RunTable:
    """One table of the run: its entry in the list, and its store, which is opened on first use."""

    spec: TableSpec
    index: int
    open_store: Callable[[], IndexedStore | None]

    @cached_property
    def store(self) -> IndexedStore | None:
        """The opened store; None when it is missing or damaged, which is an issue."""
        return self.open_store()

    def info(self, run: int, is_counted: bool) -> TableInfo:
        """Return the table's entry in the table of contents."""
        row_count = self.store.row_count if is_counted and self.store is not None else None
        return TableInfo(
            self.spec.schema,
            run,
            self.index,
            self.spec.attributes,
            row_count if is_counted else NOT_COUNTED,
        )


class BundleRun:
    """The tables of one run. Only those with a schema in ``counted_schemas`` are opened; all if it is empty.

    The others are opened when they are read.
    """

    def __init__(
        self,
        files: BundleFiles,
        run: int,
        stores: list[int],
        document: KeyedArchive | None,
        counted_schemas: Collection[str],
        tag_of: Callable[[str], str],
        issues: IssueLog,
    ) -> None:
        self.number = run
        self._files = files
        self._document = document
        self._tag_of = tag_of
        self._issues = issues
        self._folder = f"corespace/run{run}/core"
        self._pool = InternPool(files, self._folder)
        self._demangler = Demangler()
        self._archives: dict[str, SymbolsArchive | None] = {}
        self._process_names = cache(self._read_process_names)
        self._entities = Entities(lambda: self._pool.lists, self._process_names, self._read_thread_names)
        self._descriptions = TableDescriptions(files)
        self._tables = self._list_tables(stores)
        self._counted = frozenset(counted_schemas or (table.spec.schema for table in self._tables))
        self.unreadable = {
            table.spec.schema
            for table in self._tables
            if table.spec.schema in self._counted and table.store is None
        }
        """The schemas with an opened table that cannot be read."""

    def info(self) -> RunInfo:
        """Return the run as a table of contents would list it."""
        tables = tuple(table.info(self.number, table.spec.schema in self._counted) for table in self._tables)
        info = self._trace_info
        pids = self._images.pids | ({info.pid} if info.pid is not None else set())
        names = {*self._process_names().values(), info.process} - {""}
        return RunInfo(info, tables, frozenset(pids), frozenset(names))

    def stores(self, schema: str) -> Iterator[tuple[TableSpec, IndexedStore]]:
        """Yield the store of each table of that schema that can be opened."""
        for table in self._tables:
            if table.spec.schema == schema and table.store is not None:
                yield table.spec, table.store

    def read(self, spec: TableSpec, store: IndexedStore) -> Table:
        """Return the table of a store. Raises ``DamagedFileError``."""
        return build_table(store, self._context, spec.attributes)

    @cached_property
    def _trace_info(self) -> TraceInfo:
        info = TraceInfo(self._files.name, "trace-bundle", self.number)
        try:
            info = run_info.read_info(self._files.name, self._document, self.number)
            if self._document is not None and run_info.find_recorded_run(self._document, self.number) is None:
                text = "the bundle's document has no entry for this run: there are no symbols and no run info"
                self._issues.add(self.number, "warning", "document-incomplete", text)
        except DamagedFileError as error:
            consequence = "device, system, template and times of the recording are unknown"
            self._issues.add_damage(self.number, "run-info-damaged", error, consequence)
        if info.instruments:
            return info
        name = f"{self._folder}/core-config/exposedTableInfo.plist"
        try:
            return run_info.read_parameters(info, KeyedArchive(name, read_file(self._files, name)))
        except DamagedFileError:
            return info

    @cached_property
    def _context(self) -> RunContext:
        cells = CellDecoder(self._pool, self._entities, self._tag_of, self._report_type)
        return RunContext(
            run=self.number,
            pool=self._pool,
            entities=self._entities,
            decoder=ColumnDecoder(self._pool, cells),
            new_symbolicator=lambda: Symbolicator(self._images, self._open_archive, self._report_symbols),
            tag_of=self._tag_of,
            report_type=self._report_type,
            report_symbolicator=self._report_replaced_images,
            core_types=self._read_from_document(
                run_info.read_core_types, "the types of the cores are unknown"
            ),
        )

    @cached_property
    def _images(self) -> RunImages:
        try:
            return RunImages(self._document, self.number)
        except DamagedFileError as error:
            self._report_symbols(error)
            return RunImages(None, self.number)

    def _open_archive(self, uuid: str) -> SymbolsArchive | None:
        if uuid not in self._archives:
            self._archives[uuid] = None  # also for a damaged one, so that it is reported once
            if self._files.size(get_archive_name(uuid)) >= 0:
                try:
                    self._archives[uuid] = SymbolsArchive(self._files, uuid, self._demangler)
                except DamagedFileError as error:
                    self._report_symbols(error)
        return self._archives[uuid]

    def _report_type(self, type_id: str, is_known: bool) -> None:
        self._issues.add_unconfirmed_type(self.number, type_id, is_known=is_known)

    def _report_symbols(self, error: DamagedFileError) -> None:
        self._issues.add_damage(self.number, "symbols-damaged", error, "its functions are shown as addresses")

    def _report_replaced_images(self, symbolicator: Symbolicator) -> None:
        if symbolicator.ambiguous:
            text = (
                f"{symbolicator.ambiguous} addresses belonged to several binaries, one loaded after another;"
                " they are shown as addresses"
            )
            self._issues.add(self.number, "warning", "images-replaced", text, symbolicator.ambiguous)

    def _list_tables(self, numbers: list[int]) -> tuple[_RunTable, ...]:
        """List the existing stores, and the tables that are listed and have no store."""
        specs = self._read_table_list()
        tables = [self._table(index, number, specs) for index, number in enumerate(numbers, start=1)]
        existing = set(numbers)
        lost = [(number, spec) for number, spec in specs.items() if number not in existing and spec.schema]
        for number, spec in lost:
            text = f"{self._folder}/stores/indexed-store-{number} is missing; the table '{spec.schema}'"
            self._issues.add(self.number, "warning", "table-damaged", f"{text} cannot be read")
        # Index 0 means that the table of contents has no number for it: these tables have no store.
        missing = [_RunTable(spec, 0, lambda: None) for _, spec in lost]
        return (*(table for table in tables if table is not None), *missing)

    def _table(self, index: int, number: int, specs: dict[int, TableSpec]) -> _RunTable | None:
        folder = f"{self._folder}/stores/indexed-store-{number}"
        spec = self._read_spec(folder, specs.get(number))
        open_store = partial(self._open_store, folder, spec.schema)
        if spec.schema:
            return _RunTable(spec, index, open_store)
        store = open_store()  # nothing else has its name
        return _RunTable(replace(spec, schema=store.schema), index, lambda: store) if store else None

    def _open_store(self, folder: str, schema: str) -> IndexedStore | None:
        try:
            return IndexedStore(self._files, folder, schema, self._descriptions)
        except DamagedFileError as error:
            table = f"the table '{schema}'" if schema else "a table"
            self._issues.add_damage(self.number, "table-damaged", error, f"{table} cannot be read")
            return None

    def _read_spec(self, folder: str, listed_spec: TableSpec | None) -> TableSpec:
        """Return the list's description of a store, or its own, which says the same, if it is not listed."""
        if listed_spec is not None and listed_spec.schema:
            return listed_spec
        try:
            return read_spec(self._files, folder)
        except DamagedFileError as error:
            if listed_spec is None:
                consequence = "the table's attributes are unknown"
                self._issues.add_damage(self.number, "attributes-damaged", error, consequence)
            return listed_spec or TableSpec()

    def _read_table_list(self) -> dict[int, TableSpec]:
        try:
            return read_table_list(self._files, self._folder)
        except DamagedFileError as error:
            consequence = "tables may be missing without notice"
            self._issues.add_damage(self.number, "contents-damaged", error, consequence)
            return {}

    def _read_process_names(self) -> dict[int, str]:
        columns = self._read_first_table("process-info", ("pid", "process-name"), "processes have no names")
        if columns is None:
            return self._read_from_document(run_info.read_process_names)
        pids, names = columns["pid"], columns["process-name"]
        return self._find_last_names(pids, names.raw, ~names.missing)

    def _read_thread_names(self) -> dict[int, str]:
        columns = self._read_first_table("thread-info", ("tid", "name"), "threads have no names")
        if columns is None:
            return self._read_from_document(run_info.read_thread_names)
        tids, names = columns["tid"], columns["name"]
        main = columns.get("main-thread")
        # A thread name is stored as (string << 32 | thread): see Encoding.THREAD_NAME.
        by_tid = self._find_last_names(tids, names.raw >> np.uint64(32), ~names.missing)
        is_main = dict(zip(tids.raw.tolist(), main.raw.tolist(), strict=True)) if main else {}
        return by_tid | {tid: "Main Thread" for tid, flag in is_main.items() if flag == 1}

    def _read_from_document(
        self, read: Callable[[KeyedArchive | None, int], dict[int, _Text]], consequence: str = _NO_NAMES
    ) -> dict[int, _Text]:
        try:
            return read(self._document, self.number)
        except DamagedFileError as error:
            self._issues.add_damage(self.number, "document-damaged", error, consequence)
            return {}

    def _find_last_names(
        self, keys: RawColumn, strings: Numbers, present: npt.NDArray[np.bool_]
    ) -> dict[int, str]:
        """Return the last name of each key."""
        try:
            names = {
                key: self._pool.string(string)
                for key, string in zip(keys.raw[present].tolist(), strings[present].tolist(), strict=True)
            }
        except DamagedFileError as error:
            self._issues.add_damage(self.number, "names-damaged", error, _NO_NAMES)
            return {}
        return {key: name for key, name in names.items() if name}

    def _read_first_table(
        self, schema: str, mnemonics: tuple[str, ...], consequence: str
    ) -> dict[str, RawColumn] | None:
        """Return the raw columns of the first table of that schema that has rows and these columns."""
        for _, store in self.stores(schema):
            if not store.row_count:
                continue
            try:
                raw = store.read()
            except DamagedFileError as error:
                self._issues.add_damage(self.number, "names-damaged", error, consequence)
                continue
            columns = {c.mnemonic: values for c, values in zip(store.columns, raw, strict=True)}
            if all(mnemonic in columns for mnemonic in mnemonics):
                return columns
        return None
