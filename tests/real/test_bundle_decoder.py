"""Every table of every run against a decoder of its own, written here from the format's description."""

from __future__ import annotations

import io
import plistlib
import re
import struct
import tarfile
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents_support import SHARED
from real_bundles import (
    ALL_ONES,
    BUNDLES,
    FINDER,
    PLAIN_NUMBERS,
    ROWS,
    RUNS,
    SIGNPOST,
    TEXTS,
    UNFINISHED,
    UNIPROF,
    WEBKIT,
    opened,
    run_of,
    table,
    tables,
)

from tracekit.detect import open_source
from tracekit.model.tables import Column, Table

pytestmark = pytest.mark.integration


@cache
def raw_files(bundle: str) -> dict[str, bytes]:
    path = BUNDLES / bundle
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            return {name: packed.read(name) for name in packed.namelist() if is_real(name)}
    with tarfile.open(path) as packed:
        members = [member for member in packed if member.isfile() and is_real(member.name)]
        return {member.name: packed.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def is_real(name: str) -> bool:
    return not name.endswith("/") and "__MACOSX" not in name and "/._" not in f"/{name}"


def unarchived(data: bytes) -> Any:
    """An NSKeyedArchiver's root as dicts and lists."""
    objects = plistlib.loads(data)["$objects"]

    def value(reference: Any) -> Any:
        entry = objects[reference.data] if isinstance(reference, plistlib.UID) else reference
        if isinstance(entry, list):
            return [value(item) for item in entry]
        if not isinstance(entry, dict):
            return entry
        if "NS.string" in entry:
            return entry["NS.string"]
        if "NS.objects" in entry:
            elements = value(entry["NS.objects"])
            return (
                dict(zip(value(entry["NS.keys"]), elements, strict=True)) if "NS.keys" in entry else elements
            )
        return {key: value(item) for key, item in entry.items() if key != "$class"}

    return value(plistlib.loads(data)["$top"]["root"])


class RawRun:
    """One run's rows, straight from the files: strings, lists of numbers, and the rows of each store."""

    def __init__(self, bundle: str, run: int) -> None:
        part = f"/corespace/run{run}/core/"
        self.files = {
            name.partition(part)[2]: data for name, data in raw_files(bundle).items() if part in name
        }
        self.strings = plistlib.loads(
            re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"\xef\xbf\xbd", self.file("uniquing/strings"))
        )
        self.types = unarchived(self.file("uniquing/EngineeringTypes.etypes"))
        self.lists = {
            kind: [self.file(f"uniquing/{kind}/integeruniquer.{part}") for part in ("index", "data")]
            for kind in ("arrayUniquer", "typedArrayUniquer")
        }
        stores = {int(m[1]) for name in self.files if (m := re.match(r"stores/indexed-store-(\d+)/", name))}
        self.stores = [RawStore(self, f"stores/indexed-store-{number}") for number in sorted(stores)]

    def file(self, name: str) -> bytes:
        return zlib.decompress(self.files[name])

    def list_of(self, ref: int, kind: str = "arrayUniquer") -> tuple[int, ...]:
        index, data = self.lists[kind]
        offset, block = struct.unpack_from("<2I", index, 40 + 8 * ref)
        start = offset + block * struct.unpack_from("<I", index, 28)[0]
        (count,) = struct.unpack_from("<I", data, start)
        return struct.unpack_from(f"<{count}Q", data, start + 4)

    def typed(self, ref: int) -> tuple[Any, ...]:
        """The values of a composite cell, those of composite parts as tuples."""
        pairs = self.list_of(ref, "typedArrayUniquer")
        return tuple(self.part(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True))

    def part(self, kind: int, value: int) -> Any:
        name = self.types[kind].removeprefix("XR").removesuffix("TypeID")
        if name == "OSLogMetadata":
            return self.typed(value)
        return self.strings[value] if name in TEXTS else value

    def process(self, ref: int) -> int | None:
        return self.list_of(ref)[0] if ref != 0xFFFF_FFFF else None

    def thread(self, ref: int) -> tuple[int, int | None]:
        tid, process = self.list_of(ref)
        return tid, self.process(process)


class RawStore:
    """One store's rows: a dict of mnemonic to values, None where the value is all ones."""

    def __init__(self, run: RawRun, folder: str) -> None:
        root = ET.fromstring(run.file(f"{folder}/schema.xml"))
        self.schema = root.get("name", "")
        described = unarchived(run.file(f"{folder}/bulkstore_descriptor"))["$0"]
        fields = sorted((field["$0"] for field in described["_fields"]), key=lambda field: field["_index"])
        self.count = described["_props"]["next_event_id"]
        parts = ["time", "category1", "category2"]
        if fields[0]["_type"] == 6:
            parts.insert(1, "duration")
        names = parts + [field["_name"] for field in fields[1:]]
        codes = ("QQII" if fields[0]["_type"] == 6 else "QII") + "".join(
            "_IQ"[f["_type"]] for f in fields[1:]
        )
        self.row = struct.Struct(f"<{codes}")
        assert fields[0]["_type"] in (6, 7)
        assert self.row.size == described["_maxEventSize"]
        self.types = {
            column.get("mnemonic", ""): column.get("engineeringType") for column in root.iter("column")
        }
        self.columns: dict[str, list[int | None]] = {}
        if not self.count:
            return
        data = run.file(f"{folder}/bulkstore")
        magic, version, _, start, width = struct.unpack_from("<5I", data)
        assert (magic, version, width) == (0x1234_0A0A, 3, self.row.size)
        end = start + self.count * width
        assert not any(data[end:])  # no row after the last
        rows = sorted(self.row.iter_unpack(data[start:end]), key=lambda row: row[0])
        values = dict(zip(names, zip(*rows, strict=True), strict=True))
        for column in root.iter("column"):
            topology = re.fullmatch(
                r"XR(?:TraceRelative)?(\w+?)(?:stamp)?FieldID", column.get("topologyField", "")
            )
            name = topology[1].lower() if topology else column.get("mnemonic", "")
            none = {"I": 2**32 - 1, "Q": ALL_ONES}[codes[names.index(name)]]
            self.columns[column.get("mnemonic", "")] = [None if v == none else v for v in values[name]]

    def decoded(self, column: Column, run: RawRun) -> list[Any]:
        raw = self.columns.get(column.mnemonic, [])
        if column.kind == "float":
            return [None if number is None else (number - (2**63 - 1)) / 1e9 for number in raw]
        if self.types[column.mnemonic] == "XRAnyTypeID" and column.kind == "text":
            return [None if number is None else str(*run.typed(number)) for number in raw]
        if column.kind == "text":
            high = 32 if column.engineering_type == "thread-name" else 0
            return [None if number is None else run.strings[number >> high] for number in raw]
        if self.types[column.mnemonic] == "XRReturnLocationTypeID":  # (uuid, offset)
            return [
                None if number is None else (run.list_of(number >> 32), number & 0xFFFF_FFFF)
                for number in raw
            ]
        reads = {"thread": run.thread, "process": run.process, "ints": run.list_of, "parts": run.typed}
        read = reads.get(column.kind)
        return raw if read is None else [None if number is None else read(number) for number in raw]


@cache
def raw_run(bundle: str, run: int) -> RawRun:
    return RawRun(bundle, run)


def plain(table: Table, column: Column) -> list[Any]:
    """A column as ``RawStore.decoded`` gives it."""
    values = table.rows[column.mnemonic]
    if column.kind == "thread":
        threads = [*zip(table.threads["tid"].tolist(), table.threads["pid"].tolist(), strict=True), None]
        return [threads[row] for row in values.tolist()]
    if column.kind == "process":
        pids = [*table.processes["pid"].tolist(), None]
        return [pids[row] for row in values.tolist()]
    if column.kind == "int":
        numbers = values.to_numpy(object, na_value=None).tolist()
        if column.engineering_type in PLAIN_NUMBERS:
            return [None if number == ALL_ONES else number for number in numbers]
        return numbers
    if column.kind == "parts":
        return [None if cell is None else values_of(cell) for cell in values.tolist()]
    return [None if cell is None or cell != cell else cell for cell in values.tolist()]


def values_of(parts: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
    return tuple(values_of(value) if isinstance(value, tuple) else value for _, value in parts)


@pytest.mark.parametrize(("bundle", "run"), RUNS)
def test_every_table_has_every_row(shared: Path, bundle: str, run: int) -> None:
    stored = Counter((store.schema, store.count) for store in raw_run(bundle, run).stores)
    listed = run_of(bundle, run).tables
    assert Counter((info.schema, info.row_count) for info in listed) == stored
    read = [table for schema in {info.schema for info in listed} for table in tables(bundle, schema, run)]
    assert Counter((table.schema, len(table)) for table in read) == stored
    assert (len(read), sum(len(table) for table in read)) == ROWS[bundle, run]


@pytest.mark.parametrize(("bundle", "run"), RUNS)
def test_every_cell_equals_an_independent_decoder(shared: Path, bundle: str, run: int) -> None:
    """Every column of every table but stacks: numbers, text, times, processes, threads, composite values."""
    raw = raw_run(bundle, run)
    compared = 0
    for schema in {store.schema for store in raw.stores}:
        stores = [store for store in raw.stores if store.schema == schema]
        for decoded, store in zip(tables(bundle, schema, run), stores, strict=True):
            for column in decoded.columns:
                if column.kind == "stack":
                    continue
                assert plain(decoded, column) == store.decoded(column, raw), (schema, column.mnemonic)
                compared += len(decoded)
    assert compared > 3 * ROWS[bundle, run][1]


@pytest.mark.parametrize(
    ("run", "column"),
    [(1, "timeout"), (1, "other-arg"), (2, "timeout"), (2, "other-arg"), (2, "runloop-pointer")],
)
def test_all_ones_are_a_number(shared: Path, run: int, column: str) -> None:
    """An export of the same table shows 2^64-1 as a uint64 and an address, and no cell without a value."""
    export = open_source(
        SHARED / "traces/xml/sforteln__xctrace-query-mcp-server/schema-table__runloop-events.xml"
    )
    (exported,) = export.tables("runloop-events")
    decoded = table(WEBKIT, "runloop-events", run)
    assert (exported.rows[column] == ALL_ONES).any()
    assert not exported.rows[column].isna().any()
    assert not decoded.rows[column].isna().any()


@pytest.mark.parametrize(
    ("bundle", "form"),
    [*product([UNIPROF, FINDER, SIGNPOST, UNFINISHED], ["folder", "zip", "tar"]), (WEBKIT, "zip")],
)
def test_folder_zip_and_tar_are_read_the_same(shared: Path, tmp_path: Path, bundle: str, form: str) -> None:
    folder = opened(bundle)
    source = open_source(packed_as(form, raw_files(bundle), tmp_path), via="native")
    assert source.toc() == folder.toc()
    for run in folder.toc():
        for schema in {info.schema for info in run.tables}:
            again = tuple(source.tables(schema, run.info.run))
            pairs = zip(again, tables(bundle, schema, run.info.run), strict=True)
            assert all(same(*pair) for pair in pairs), schema
    assert sorted(map(str, source.issues())) == sorted(map(str, folder.issues()))


def packed_as(form: str, files: dict[str, bytes], folder: Path) -> Path:
    if form == "folder":
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return next(folder.iterdir())
    path = folder / f"packed.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for name, data in files.items():
                zipped.writestr(name, data)
        return path
    with tarfile.open(path, "w") as tarred:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tarred.addfile(member, io.BytesIO(data))
    return path


def same(first: Table, second: Table) -> bool:
    assert (first.columns, first.attributes, first.run) == (second.columns, second.attributes, second.run)
    assert np.array_equal(first.stacks.offsets, second.stacks.offsets)
    assert np.array_equal(first.stacks.frame_ids, second.stacks.frame_ids)
    frames = [
        (first.rows, second.rows),
        (first.threads, second.threads),
        (first.processes, second.processes),
        (first.stacks.frames, second.stacks.frames),
        (first.stacks.binaries, second.stacks.binaries),
    ]
    return all(left.equals(right) for left, right in frames)
