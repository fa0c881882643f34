"""A document that the accelerator does not support is read again by lxml from its start, wherever it came from."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from documents_support import document, node, schema
from xml_readers import described, outcome, pieces

from tracekit.errors import InputError
from tracekit.parsers.xml import accelerator, documents, stream
from tracekit.parsers.xml.documents import Documents, read_documents
from tracekit.parsers.xml.reader import DocumentReader, Parsed
from tracekit.parsers.xml.stream import DocumentStream, Spool

pytestmark = pytest.mark.skipif(
    not accelerator.is_compiled(), reason="installed without the compiled scanner"
)

ROWS = 3_000


def export(rows: int = ROWS, *, last: str = "") -> bytes:
    """A table, some 130 KB in size; ``last`` stands before the last row."""
    written = [f'<row><uint64 id="{number}">{number * 7}</uint64></row>\n' for number in range(1, rows + 1)]
    written.insert(-1, last)
    return document(node(schema("s", [("n", "uint64")]) + "".join(written))).encode()


SUPPORTED = export()
UNSUPPORTED = export(last="<!-- near the end -->")
DAMAGED = export(last='<row><uint64 ref="99999"/></row>')
CUT_OFF = UNSUPPORTED[:-100]
INPUTS = {"supported": SUPPORTED, "unsupported": UNSUPPORTED, "damaged": DAMAGED, "cut off": CUT_OFF}


@pytest.fixture(autouse=True)
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The files of spools, with little memory before them: at the end of each test, all are removed."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    files: list[Any] = []
    create = tempfile.TemporaryFile

    def temporary_file(*arguments: Any, **options: Any) -> Any:
        files.append(create(*arguments, **options))
        return files[-1]

    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(tempfile, "TemporaryFile", temporary_file)
    monkeypatch.setattr(stream, "_SPOOL_MEMORY_BYTES", 10_000)
    monkeypatch.setattr(stream, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(stream._CountingReader.next, "__defaults__", (4096,))
    yield files
    assert all(file.closed for file in files)
    assert os.listdir(folder) == []


@pytest.fixture
def read_by_lxml(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of bytes of each document that lxml reads."""
    sizes: list[int] = []
    feed, create = DocumentReader.feed, DocumentReader.__init__

    def counted(self: DocumentReader, data: bytes) -> None:
        sizes[-1] += len(data)
        feed(self, data)

    def created(self: DocumentReader, *arguments: Any) -> None:
        sizes.append(0)
        create(self, *arguments)

    monkeypatch.setattr(DocumentReader, "feed", counted)
    monkeypatch.setattr(DocumentReader, "__init__", created)
    return sizes


def from_file(data: bytes, folder: Path) -> list[Parsed]:
    path = folder / "x.xml"
    path.write_bytes(data)
    return read_documents(str(path))


def from_gzip(data: bytes, folder: Path) -> list[Parsed]:
    return from_file(gzip.compress(data, 1), folder)


def from_pipe(data: bytes, folder: Path) -> list[Parsed]:
    path = folder / "x.xml"
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb") as pipe:
            pipe.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return read_documents(str(path))
    finally:
        writer.join()


def from_stdin(data: bytes, folder: Path) -> list[Parsed]:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with os.fdopen(reading, "r") as pipe, mock.patch.object(sys, "stdin", pipe):
            return read_documents("-")
    finally:
        writer.join()


def from_redirected_stdin(data: bytes, folder: Path) -> list[Parsed]:
    path = folder / "x.xml"
    path.write_bytes(data)
    with path.open() as file, mock.patch.object(sys, "stdin", file):
        return read_documents("-")


WAYS = {
    "file": from_file,
    "gzip": from_gzip,
    "pipe": from_pipe,
    "standard input": from_stdin,
    "standard input from a file": from_redirected_stdin,
}
SPOOLED = ("pipe", "standard input")


@pytest.mark.integration
@pytest.mark.parametrize("content", INPUTS)
@pytest.mark.parametrize("way", WAYS)
def test_rows_and_errors_are_those_of_lxml(
    way: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spools: list[Any]
) -> None:
    def result(reader: str) -> Any:
        monkeypatch.setenv(accelerator.READER_VARIABLE, reader)
        (tmp_path / "x.xml").unlink(missing_ok=True)
        try:
            return [described(parsed, tables=True) for parsed in WAYS[way](INPUTS[content], tmp_path)]
        except InputError as error:
            return str(error), str(error.__class__)

    expected = result("lxml")
    assert not spools
    assert result("compiled") == expected
    assert isinstance(expected, list) == (content in ("supported", "unsupported"))
    assert bool(spools) == (way in SPOOLED)


@pytest.mark.parametrize("way", WAYS)
def test_lxml_reads_an_unsupported_document_whole_and_once(
    way: str, tmp_path: Path, read_by_lxml: list[int]
) -> None:
    (parsed,) = WAYS[way](UNSUPPORTED, tmp_path)
    assert len(parsed.nodes[0].cells) == ROWS  # type: ignore[union-attr]
    assert [size for size in read_by_lxml if size] == [len(UNSUPPORTED.rstrip())]


@pytest.mark.parametrize("way", WAYS)
def test_of_several_documents_only_the_unsupported_ones_are_read_again(
    way: str, tmp_path: Path, read_by_lxml: list[int]
) -> None:
    small = export(10, last="<!-- -->")
    data = SUPPORTED + small + UNSUPPORTED + b"\n" + SUPPORTED + small + small + SUPPORTED
    parsed = WAYS[way](data, tmp_path)
    rows = [len(read.nodes[0].cells) for read in parsed]  # type: ignore[union-attr]
    assert rows == [ROWS, 10, ROWS, ROWS, 10, 10, ROWS]
    unsupported = [len(text.rstrip()) for text in (small, UNSUPPORTED, small, small)]
    assert [size for size in read_by_lxml if size] == unsupported


@pytest.mark.integration
@pytest.mark.parametrize("sizes", [(1 << 20,), (50_000,), (999,), (64, 3)])
def test_a_spool_that_reaches_into_the_next_document_is_read_in_order(sizes: tuple[int, ...]) -> None:
    small = export(5, last="<!-- -->")
    data = (small * 3 + SUPPORTED + small) * 2 + UNSUPPORTED
    assert outcome(data, "compiled", sizes) == outcome(data, "lxml", sizes)


def test_after_several_unsupported_documents_all_others_are_read_once(
    tmp_path: Path, read_by_lxml: list[int]
) -> None:
    small = export(10, last="<!-- -->")
    created = mock.Mock(wraps=documents.AcceleratedReader)
    with mock.patch.object(documents, "AcceleratedReader", created):
        assert len(from_file(small * 30, tmp_path)) == 30
    assert created.call_count == documents._MAX_UNSUPPORTED
    assert len([size for size in read_by_lxml if size]) == 30


@pytest.mark.parametrize("way", ["file", "gzip"])
def test_progress_does_not_run_backwards(way: str, tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    data = SUPPORTED + UNSUPPORTED + SUPPORTED
    path.write_bytes(gzip.compress(data, 1) if way == "gzip" else data)
    reports: list[tuple[int, int | None]] = []
    read_documents(str(path), lambda done, total: reports.append((done, total)))
    size = path.stat().st_size
    assert reports == sorted(reports)
    assert reports[-1] == (size, size)
    assert {total for _, total in reports} == {size}


def test_a_supported_document_from_a_file_is_read_once(tmp_path: Path, spools: list[Any]) -> None:
    with mock.patch.object(stream.FileBytes, "rewind", side_effect=AssertionError):
        from_file(SUPPORTED, tmp_path)
    assert not spools


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, InputError("x", "y")])
def test_the_spool_is_removed_when_reading_is_interrupted(error: Any, spools: list[Any]) -> None:
    def chunks() -> Iterator[bytes]:
        yield from pieces(SUPPORTED[:-1000], (4096,))
        assert spools and not spools[0].closed
        raise error

    with pytest.raises(error if isinstance(error, type) else type(error)):
        Documents("x").read(chunks())
    assert spools[0].closed


def test_the_spool_is_removed_when_the_second_reading_is_interrupted(spools: list[Any]) -> None:
    with (
        mock.patch.object(DocumentReader, "feed", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        Documents("x").read(pieces(UNSUPPORTED, (4096,)))
    assert spools[0].closed


@pytest.mark.skipif(sys.platform != "linux", reason="/proc names open files")
def test_the_spool_has_no_name_while_it_is_used(spools: list[Any]) -> None:
    """So nothing stays behind, also when the process is killed."""
    spool = Spool()
    spool.append(b"x" * 20_000)
    assert "(deleted)" in os.readlink(f"/proc/self/fd/{spools[0].fileno()}")
    assert b"".join(spool.replay()) == b"x" * 20_000


def full_disk(room: int) -> Callable[..., Any]:
    """A temporary file on a disk with that many free bytes, of which it takes a part of a write."""

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            free = room - self.tell()
            if not free:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(memoryview(data)[:free])

    def create(*_: Any, **__: Any) -> Any:
        if not room:
            raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")
        return Full(tempfile.mkstemp()[0], "w+b")

    return create


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 1, 4096, 50_000])
@pytest.mark.parametrize("content", INPUTS)
def test_without_room_for_a_spool_lxml_reads_from_the_start(
    room: int, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = INPUTS[content]
    expected = outcome(data, "lxml", (4096,))
    monkeypatch.setattr(tempfile, "TemporaryFile", full_disk(room))
    assert outcome(data, "compiled", (4096,)) == expected
    for name in os.listdir(tempfile.gettempdir()):
        os.unlink(os.path.join(tempfile.gettempdir(), name))


def test_a_spool_does_not_fill_memory() -> None:
    spool = Spool()
    tracemalloc.start()
    try:
        for _ in range(1000):
            spool.append(bytes(10_000))
        replayed = sum(map(len, spool.replay()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert replayed == 10_000_000
    assert peak < 500_000


def test_a_stream_returns_to_its_mark() -> None:
    for rewind in (None, lambda position: pieces(b"0123456789"[position:], (3,))):
        with DocumentStream(pieces(b"0123456789", (3,)), rewind) as source:
            assert source.next() == b"012"
            source.put_back(b"12")
            source.mark()
            assert [source.next() for _ in range(2)] == [b"12", b"345"]
            source.return_to_mark()
            assert b"".join(iter(source.next, b"")) == b"123456789"
