"""Small factories of native bundles: literal rows, written by the independent writer of `sample_traces/`."""

from __future__ import annotations

import io
import plistlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from sample_generator.bundle_document import RunInfo
from sample_generator.bundle_images import Image, Loaded, Segment, Symbol
from sample_generator.bundle_schemas import TIME_PROFILE
from sample_generator.bundle_tables import TIME, Col
from sample_generator.bundle_values import Process, Stack, Thread, stack
from sample_generator.bundle_writer import BundleWriter, Files, RunWriter
from tracekit.model.tables import Table
from tracekit.model.trace import Issue
from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.bundle_source import BundleSource

APP = Process(4711, "SampleApp", "/Applications/SampleApp.app/Contents/MacOS/SampleApp")
MAIN = Thread(0x5A00, APP, main=True)
WORKER = Thread(0x5A01, APP, "worker")
CLOCK = Col("time", "Timestamp", "XRRecordedEventTimestampTypeID", TIME)
STORES = "corespace/run1/core/stores"
SAMPLES = f"{STORES}/indexed-store-2/bulkstore"
"""The samples of `small_bundle`."""
UNIQUING = "corespace/run1/core/uniquing"
BINARY = UUID("11111111-2222-3333-4444-555555555555")
TEXT_AT = 0x1_0000_0000


class InMemory:
    """The files of a bundle in memory, as ``BundleFiles``."""

    name = "recording.trace"
    warnings: tuple[str, ...] = ()

    def __init__(self, files: Files) -> None:
        self._files = files

    def names(self) -> Iterable[str]:
        return self._files

    def size(self, name: str) -> int:
        return len(self._files[name]) if name in self._files else -1

    def open(self, name: str) -> BinaryIO:
        if name not in self._files:
            raise DamagedFileError(name, "is missing")
        return io.BytesIO(self._files[name])


def source_of(bundle: BundleWriter | Files, *counted: str) -> BundleSource:
    files = bundle.files() if isinstance(bundle, BundleWriter) else bundle
    return BundleSource(InMemory(files), "recording.trace", counted_schemas=counted)


def read(bundle: BundleWriter | Files | BundleSource, schema: str = "t", run: int = 1) -> Table:
    """Return the only table of that schema."""
    source = bundle if isinstance(bundle, BundleSource) else source_of(bundle)
    (table,) = source.tables(schema, run)
    return table


def new_run(bundle: BundleWriter, info: RunInfo | None = None) -> RunWriter:
    """Return a run of the app with its two threads, whose names are in its tables."""
    run = bundle.run(info or RunInfo(process=APP.name, pid=APP.pid), [APP], [MAIN, WORKER])
    run.process_tables()
    return run


def with_column(type_id: str, *values: Any, bits: int = 0, images: Iterable[Loaded] = ()) -> BundleWriter:
    """Return a bundle with a table `t` of times 0, 1, … and one column `value`; the app has loaded images."""
    bundle = BundleWriter()
    run = new_run(bundle)
    run.load(APP, *images)
    run.table("t", (CLOCK, Col("value", "Value", type_id, bits=bits)), list(enumerate(values)))
    return bundle


def with_stacks(*stacks: Any, images: Iterable[Loaded] = ()) -> BundleWriter:
    """Return a bundle whose table `t` has backtraces."""
    return with_column("XRBacktraceTypeID", *stacks, images=images)


def binary(*symbols: Symbol, **more: Any) -> Image:
    """Return the app's binary, of 0x8000 bytes of text."""
    fields = {"uuid": BINARY, "path": APP.path, "segments": (Segment("__TEXT", 0, 0x8000),), **more}
    return Image(symbols=symbols, **fields)


def loaded(*symbols: Symbol, address: int = TEXT_AT, **more: Any) -> Loaded:
    image = binary(*symbols, **more)
    return Loaded(image, image.at(address))


def app_stack(*pieces: Sequence[int] | None) -> Stack:
    return stack(APP, *pieces)


def profile_row(time_ns: int, *addresses: int, thread: Thread = MAIN) -> tuple[Any, ...]:
    """Return one sample of TIME_PROFILE."""
    return time_ns, thread, APP, 0, "Running", 1_000_000, app_stack(addresses[:1], addresses[1:])


def small_bundle() -> BundleWriter:
    """Return one run of three tables with symbols."""
    bundle = BundleWriter()
    run = new_run(bundle)
    names = Symbol(0x1000, 0x100, "_work", "work"), Symbol(0x2000, 0x100, "_main", "main")
    run.load(APP, loaded(*names))
    leaf, caller = TEXT_AT + 0x1011, TEXT_AT + 0x2020
    rows = [profile_row(number * 1_000_000, leaf, caller) for number in range(1, 21)]
    run.table("time-profile", TIME_PROFILE, rows, attributes={"target-pid": "SINGLE"})
    return bundle


def frames_of(table: Table, row: int = 0, name: str = "stack") -> list[dict[str, Any]]:
    """Return a row's stack as frames with their binary, leaf first."""
    stacks = table.stacks
    frames = stacks.frames.iloc[stacks.stack(table.rows[name].iloc[row])]
    records = frames.to_dict("records")
    for frame in records:
        binary_id = frame.pop("binary_id")
        frame["binary"] = stacks.binaries.iloc[binary_id].to_dict() if binary_id >= 0 else None
    return records


def symbols_of(table: Table, name: str = "value") -> list[list[str] | None]:
    """Return a stack column as lists of symbols, leaf first."""
    symbols = table.stacks.symbols
    rows = table.rows[name].tolist()
    return [None if row < 0 else symbols[table.stacks.stack(row)].tolist() for row in rows]


def entities_of(table: Table, name: str = "value") -> list[tuple[Any, ...] | None]:
    """Return a thread or process column as tuples of all their fields."""
    kind = next(column.kind for column in table.columns if column.mnemonic == name)
    frame = {"thread": table.threads, "process": table.processes}[kind]
    return [None if row < 0 else tuple(frame.iloc[row]) for row in table.rows[name].tolist()]


def issues_of(source: BundleSource, code: str, run: int | None = None) -> list[str]:
    """Return the messages of the issues with that code."""
    return [issue.message for issue in source.issues(run) if issue.code == code]


def codes(issues: Iterable[Issue]) -> list[str]:
    return [issue.code for issue in issues]


# Changing what a writer wrote -----------------------------------------------------------------------------


def changed(files: Files, name: str, change: Callable[[bytes], bytes]) -> Files:
    """Return the files with another content of one, compressed as it was."""
    packed = name.startswith("corespace/run")
    content = change(zlib.decompress(files[name]) if packed else files[name])
    return {**files, name: zlib.compress(content) if packed else content}


def without(files: Files, *names: str) -> Files:
    return {name: content for name, content in files.items() if name not in names}


def with_strings_changed(archive: bytes, strings: dict[str, Any]) -> bytes:
    """Return a keyed archive with some strings, each of which it stores once, replaced by other values."""
    document = plistlib.loads(archive)
    document["$objects"] = [
        strings.get(value, value) if isinstance(value, str) else value for value in document["$objects"]
    ]
    return plistlib.dumps(document, fmt=plistlib.FMT_BINARY, sort_keys=False)


def write_as(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


# Names that expand to gigabytes -------------------------------------------------------------------------------

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def cpp_bomb(levels: int) -> str:
    """Return a C++ name in which each template has the last one twice: 64 * 2^levels characters."""
    name = "__Z1f1AIiiE1BIS0_S0_E"
    for last in range(2, levels + 2):
        ref = f"S{_base(36, last)}_"
        name += f"S1_I{ref}{ref}E"
    return name


def rust_bomb(levels: int) -> str:
    """Return a Rust name in which each pair has the last one twice: 36 * 2^levels characters."""
    name, last = "INvC1a1fTiiE", 8
    for _ in range(levels):
        last, ref = len(name), f"B{_base(62, last - 1)}_"
        name += f"T{ref}{ref}E"
    return f"__R{name}E"


def _base(base: int, number: int) -> str:
    digits = _DIGITS if base == 36 else "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return (_base(base, number // base) if number >= base else "") + digits[number % base]
