"""A `.trace` bundle as Instruments writes it, from literal values.

    bundle = BundleWriter()
    app = Process(4711, "SampleApp", "/Applications/SampleApp.app/Contents/MacOS/SampleApp")
    main = Thread(0x5A00, app, main=True)
    run = bundle.run(RunInfo(process="SampleApp", pid=4711), processes=[app], threads=[main])
    tool = Image(UUID(…), app.path, (Segment("__TEXT", 0, 0x8000),), (Symbol(0x1000, 0x40, "_main", "main"),))
    run.load(app, Loaded(tool, tool.at(0x100000000)))
    run.table("time-profile", TIME_PROFILE, [
        (1_000_000, main, app, 2, "Running", 1_000_000, stack(app, [0x100001011], [0x100001030])),
    ])
    write_folder(bundle.files(), Path("recording.trace"))

Everything is in the order of the calls and holds no date of its own: equal calls make equal bytes.
"""

from __future__ import annotations

import gzip
import io
import plistlib
import sqlite3
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sample_generator.bundle_document import (
    AddressSpace,
    RunDocument,
    RunInfo,
    SharedCache,
    exposed_table_info,
    form_template,
    images_of,
    manifest,
    open_creq,
    tables_plist,
)
from sample_generator.bundle_images import symbols_archive
from sample_generator.bundle_schemas import PROCESS_INFO, TAGS, THREAD_INFO
from sample_generator.bundle_tables import Table
from sample_generator.bundle_uniquing import BLOCK_SIZE, Uniquing
from sample_generator.bundle_values import ThreadName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sample_generator.bundle_images import Image, Loaded
    from sample_generator.bundle_tables import Col
    from sample_generator.bundle_values import Process, Thread

Files = dict[str, bytes]
"""Path inside the bundle → content."""


def deflated(content: bytes) -> bytes:
    """Return a zlib stream as Instruments writes it; its bytes may differ between builds of zlib."""
    return zlib.compress(content)


def stored(content: bytes) -> bytes:
    """Return a zlib stream that does not compress, which is the same bytes everywhere."""
    starts = range(0, max(len(content), 1), 0xFFFF)
    blocks = b"".join(
        _stored_block(content[start : start + 0xFFFF], last=start == starts[-1]) for start in starts
    )
    return b"\x78\x01" + blocks + zlib.adler32(content).to_bytes(4, "big")


def _stored_block(content: bytes, last: bool) -> bytes:
    return struct.pack("<B2H", last, len(content), len(content) ^ 0xFFFF) + content


def raw(content: bytes) -> bytes:
    """Return the content itself, as Instruments 8 left it."""
    return content


@dataclass(frozen=True)
class Issue:
    """A warning of Instruments about the recording."""

    message: str
    time_ns: int = 0
    type: int = 1
    subtype: int = 0
    count: int = 1


class RunWriter:
    """One run: its tables, and the values that they refer to."""

    def __init__(self, number: int, info: RunInfo, block_size: int) -> None:
        self.number = number
        self.info = info
        self.processes: tuple[Process, ...] = ()
        self.threads: tuple[Thread, ...] = ()
        self.tables: list[Table] = []
        self.kernel: tuple[Loaded, ...] = ()
        self.issues: list[Issue] = []
        self.settings: dict[str, Any] = {}
        self._spaces: dict[int, AddressSpace] = {}
        self._uniquing = Uniquing(block_size)

    def table(
        self, schema: str, columns: Iterable[Col], rows: Iterable[tuple[Any, ...]], **more: Any
    ) -> Table:
        """Add a table; `more` is attributes and the other fields of `Table`."""
        table = Table(schema, tuple(columns), list(rows), **more)
        self.tables.append(table)
        return table

    def process_tables(self) -> None:
        """Add process-info and thread-info with the declared names, as recordings since Xcode 16 begin."""
        self.table(
            "process-info",
            PROCESS_INFO,
            [(0, process.pid, 0, process, process.name) for process in self.processes],
        )
        self.table("thread-info", THREAD_INFO, map(_thread_info, self.threads))

    def load(self, process: Process, *loaded: Loaded) -> None:
        """Add images to a process; without any the process has an empty list."""
        space = self._spaces.get(process.pid, AddressSpace(process, ()))
        self._spaces[process.pid] = replace(space, loaded=(*(space.loaded or ()), *loaded))

    def load_shared_cache(
        self, process: Process, cache: SharedCache, base: int, keys: Iterable[int] | None = None
    ) -> None:
        """Map a shared cache; `keys` names the images that the process uses, by default all."""
        used = frozenset(cache.images if keys is None else keys)
        space = self._spaces.get(process.pid, AddressSpace(process, ()))
        self._spaces[process.pid] = replace(space, cache=cache, cache_base=base, cache_keys=used)

    def load_nothing(self, process: Process) -> None:
        """Add a process whose list of images is missing."""
        self._spaces[process.pid] = AddressSpace(process, None)

    def document(self) -> RunDocument:
        spaces = tuple(self._spaces.values())
        return RunDocument(self.number, self.info, self.processes, self.threads, spaces, self.kernel)

    def files(self) -> Files:
        """Return the files below `corespace`, uncompressed."""
        core = f"run{self.number}/core"
        files: Files = {}
        for index, table in enumerate(self.tables):
            for name, content in table.files(self._uniquing).items():
                files[f"{core}/stores/indexed-store-{index}/{name}"] = content
        for name, content in self._uniquing.files().items():
            files[f"{core}/uniquing/{name}"] = content
        files[f"{core}/table-manager/tables.plist"] = tables_plist(self.number, self.tables)
        files[f"{core}/core-config/exposedTableInfo.plist"] = exposed_table_info(
            self.info, self.tables, self.settings
        )
        return files


def _thread_info(thread: Thread) -> tuple[Any, ...]:
    process = thread.process
    name = ThreadName(thread.name, thread) if thread.name else None
    return 0, process.pid, thread.tid, process, thread, name, thread.main


class BundleWriter:
    """A bundle; `compress` is applied to each file of a run."""

    def __init__(self, block_size: int = BLOCK_SIZE, compress: Callable[[bytes], bytes] = deflated) -> None:
        self.tags = dict(TAGS)
        self.images: list[Image] = []
        self.with_template = True
        self.with_symbols = True
        self._block_size = block_size
        self._compress = compress
        self._runs: list[RunWriter] = []

    def run(
        self,
        info: RunInfo | None = None,
        processes: Iterable[Process] = (),
        threads: Iterable[Thread] = (),
        number: int | None = None,
    ) -> RunWriter:
        """Add a run; runs are numbered from 1."""
        run = RunWriter(number or len(self._runs) + 1, info or RunInfo(), self._block_size)
        run.processes, run.threads = tuple(processes), tuple(threads)
        self._runs.append(run)
        return run

    def files(self) -> Files:
        documents = [run.document() for run in self._runs]
        files: Files = {
            "open.creq": open_creq((table for run in self._runs for table in run.tables), self.tags)
        }
        if self.with_template:
            files["form.template"] = form_template(documents, self.with_symbols)
        if self.with_symbols:
            images = images_of(documents) | {image.uuid: image for image in self.images}
            files["symbols/MANIFEST.plist"] = plistlib.dumps({"paths": ["stores"], "compressed-paths": []})
            for uuid, image in images.items():
                if image.symbols:
                    files[f"symbols/stores/{str(uuid).upper()}.symbolsarchive"] = symbols_archive(image)
        for run in self._runs:
            files[f"Trace{run.number}.run/RunIssues.storedata"] = issue_store(run.issues)
        return files | self._corespace()

    def _corespace(self) -> Files:
        files = {name: content for run in self._runs for name, content in run.files().items()}
        folders = list(dict.fromkeys(map(_managed_folder, files)))
        compressed = self._compress is not raw
        return {
            "corespace/MANIFEST.plist": manifest(folders, compressed),
            **{f"corespace/{name}": self._compress(content) for name, content in files.items()},
        }


def _managed_folder(name: str) -> str:
    """Return the folder that the manifest lists for a file: its store's, or the one below `core`."""
    parts = name.split("/")
    return "/".join(parts[: 4 if parts[2] == "stores" else 3])


# Recording issues -----------------------------------------------------------------------------------------

_ISSUE_SCHEMA = """
    PRAGMA page_size = 1024;
    PRAGMA auto_vacuum = INCREMENTAL;
    CREATE TABLE ZISSUE (
        Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOUNT INTEGER, ZRELATIVETIMESTAMP INTEGER,
        ZSUBTYPE INTEGER, ZTYPE INTEGER, ZPARENT INTEGER, Z_FOK_PARENT INTEGER, ZMESSAGE VARCHAR
    );
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
"""
_LIBRARY_VERSION = slice(96, 100)
"""Position in a database's header of the version of SQLite that wrote it."""


def issue_store(issues: list[Issue]) -> bytes:
    """Return the Core Data store of a run's issues, an SQLite database without its indexes."""
    rows = [
        (number, 1, 1, issue.count, issue.time_ns, issue.subtype, issue.type, None, None, issue.message)
        for number, issue in enumerate(issues, 1)
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "issues"
        database = sqlite3.connect(path)
        database.executescript(_ISSUE_SCHEMA)
        database.executemany(f"INSERT INTO ZISSUE VALUES ({', '.join('?' * 10)})", rows)
        database.execute("INSERT INTO Z_PRIMARYKEY VALUES (1, 'Issue', 0, ?)", (len(rows),))
        database.commit()
        database.close()
        content = bytearray(path.read_bytes())
    content[_LIBRARY_VERSION] = (3_043_002).to_bytes(4, "big")
    return bytes(content)


def issues_in(store: bytes) -> list[str]:
    """Return a store as SQL."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "issues"
        path.write_bytes(store)
        database = sqlite3.connect(path)
        try:
            return list(database.iterdump())
        finally:
            database.close()


# Containers -----------------------------------------------------------------------------------------------


def write_folder(files: Files, folder: Path) -> Path:
    """Write a bundle as the folder that it is on a Mac."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def zipped(files: Files, folder: str = "recording.trace") -> bytes:
    """Return a zip archive of the bundle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(f"{folder}/{name}")
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return buffer.getvalue()


def tarred(files: Files, folder: str = "recording.trace") -> bytes:
    """Return a compressed tar archive of the bundle."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)
