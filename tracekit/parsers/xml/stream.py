"""The bytes of an export: opened, unpacked, cut into documents, and read a second time where that is needed.

A file may be gzip-compressed, may be standard input, and may hold several documents one after another (some
tools append one ``xctrace export`` to the next; ``id`` spaces are per document).
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Self

from tracekit.errors import InputError
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError, Limits
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.packed import ExportFile, PackedBytes, PackedExport
from tracekit.text import format_size

CHUNK_BYTES = 1 << 17
STDIN = "-"

_GZIP = b"\x1f\x8b"
_SPOOL_MEMORY_BYTES = 1 << 20
_LONG_BLANK_BYTES = 1 << 16
_MAX_BLANK_BYTES = 1 << 24  # more of it is a document, which its reader refuses

# '<' is escaped in text and attributes, so these byte strings are always markup, whatever the document says.
_BOUNDARY = re.compile(rb"</trace-query-result\s*>|</trace-toc\s*>|<\?xml[\s?]")
_BOUNDARY_BYTES = 64
_DECLARATION = re.compile(rb"<\?xml[\s?]")
_DECLARATION_BYTES = 6
_BLANK = re.compile(rb"(?:\s|\xef\xbb\xbf)*")
_EXPORT_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^<>]*\?>\s*)?<trace-(?:query-result|toc)[\s>]")
_HEAD_BYTES = 512


def is_export(path: Path) -> bool:
    """Return whether a file begins as xctrace writes exports; a compressed or an edited one may not."""
    with path.open("rb") as file:
        return _EXPORT_HEAD.match(file.read(_HEAD_BYTES)) is not None


@contextmanager
def open_bytes(
    export: ExportFile, progress: Progress | None = None, limits: Limits = DEFAULT_LIMITS
) -> Iterator[FileBytes]:
    """Yield an iterator over the unpacked bytes of a file in chunks.

    Raises ``InputError`` when the file cannot be read, is not a regular file or pipe, or is damaged where it
    is compressed, and ``LimitError`` when it unpacks to more than ``limits`` allow.
    """
    if isinstance(export, PackedExport):
        # A member has the size that the archive's directory states: more is not unpacked, and less is damage.
        if export.size_bytes > (max_bytes := limits.unpacked_bytes(export.stored_bytes)):
            raise LimitError(export.path, f"unpacks to more than {format_size(max_bytes)}")
        with PackedBytes(export) as packed:
            yield FileBytes(packed, export.path, progress, limits)
        return
    with _open_raw(export) as raw:
        yield FileBytes(raw, export, progress, limits)


@contextmanager
def _open_raw(path: str) -> Iterator[BinaryIO]:
    if path == STDIN:
        if sys.stdin is None:  # closed by the shell: tracekit … <&-
            raise InputError("standard input", "is closed.", "Name a file.")
        yield sys.stdin.buffer
        return
    try:
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise InputError(path, "this is not a file that holds an export.", "Give an exported .xml file.")
        with Path(path).open("rb") as raw:
            yield raw
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}.") from error


def measure_size(export: ExportFile) -> int | None:
    """Return the number of bytes to read of a file; None for a pipe and a missing file."""
    if isinstance(export, PackedExport):
        return export.size_bytes
    try:
        status = os.stat(0 if export == STDIN else export)  # noqa: PTH116 - 0 is standard input
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


class FileBytes:
    """Iterates over the unpacked bytes of an open file; a pipe cannot be rewound."""

    def __init__(
        self, raw: BinaryIO | PackedBytes, name: str, progress: Progress | None, limits: Limits
    ) -> None:
        self._raw = raw
        self._name = name
        self._limits = limits
        self._progress = progress
        self._done_bytes = 0
        self._most_stored_bytes = raw.stored_bytes if isinstance(raw, PackedBytes) else sys.maxsize
        self._total_bytes = raw.size_bytes if isinstance(raw, PackedBytes) else _measure_file(raw)
        self._start = raw.tell() if self._total_bytes is not None and raw.seekable() else None
        self._counting = counting = _CountingReader(raw)
        self._is_packed = counting.read_ahead(len(_GZIP)) == _GZIP
        self._chunks = self._read_unpacked(counting) if self._is_packed else self._read_plain(counting)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def stored_bytes(self) -> int:
        """Return the number of bytes read of the file itself, before unpacking."""
        return min(max(self._done_bytes, self._counting.done), self._most_stored_bytes)

    @property
    def can_rewind(self) -> bool:
        """True for a regular file; a pipe yields each byte once."""
        return self._start is not None

    def rewind(self, position: int) -> Iterator[bytes]:
        """Go back to a position in the unpacked bytes; return the bytes from there on."""
        assert self._start is not None
        if self._is_packed:
            self._raw.seek(self._start)
            self._chunks = _without_first(position, self._read_unpacked(_CountingReader(self._raw)))
        else:
            self._raw.seek(self._start + position)
            self._counting = _CountingReader(self._raw, position)
            self._chunks = self._read_plain(self._counting)
        return self

    def _read_plain(self, counting: _CountingReader) -> Iterator[bytes]:
        while chunk := counting.next():
            yield chunk
            self._report(counting.done)

    def _read_unpacked(self, counting: _CountingReader) -> Iterator[bytes]:
        try:
            with gzip.GzipFile(fileobj=io.BufferedReader(counting, CHUNK_BYTES), mode="rb") as unpacked:
                unpacked_bytes = 0
                while chunk := unpacked.read(CHUNK_BYTES):
                    unpacked_bytes += len(chunk)
                    # The size of a pipe is unknown: the bytes read so far count.
                    stored_bytes = min(counting.done, self._most_stored_bytes)
                    if unpacked_bytes > (max_bytes := self._limits.unpacked_bytes(stored_bytes)):
                        raise LimitError(self._name, f"unpacks to more than {format_size(max_bytes)}")
                    yield chunk
                    self._report(counting.done)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                self._name, f"is a damaged or cut-off gzip file ({error}).", "Compress it again."
            ) from error

    def _report(self, done_bytes: int) -> None:
        """Report progress, which does not go back while bytes are read a second time."""
        self._done_bytes = max(self._done_bytes, done_bytes)
        if self._progress:
            self._progress(self._done_bytes, self._total_bytes)


def _without_first(size: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if size < len(chunk):
            yield chunk[size:]
        size = max(size - len(chunk), 0)


def _measure_file(raw: BinaryIO) -> int | None:
    try:
        status = os.fstat(raw.fileno())
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


class _CountingReader(io.RawIOBase):
    """Counts the bytes taken from the file itself, before any unpacking, for the progress display."""

    def __init__(self, raw: BinaryIO | PackedBytes, position: int = 0) -> None:
        # read1: of a pipe, what has arrived already, so that it is parsed while more is written.
        self._read = getattr(raw, "read1", raw.read)
        self._ahead = b""
        self._read_bytes = position

    @property
    def done(self) -> int:
        """The number of bytes that were handed on."""
        return self._read_bytes - len(self._ahead)

    def read_ahead(self, size: int) -> bytes:
        """Return the first bytes without consuming them."""
        while len(self._ahead) < size and (data := self._read_next(CHUNK_BYTES)):
            self._ahead += data
        return self._ahead[:size]

    def next(self, size: int = CHUNK_BYTES) -> bytes:
        """Return the next bytes; none at the end."""
        if not self._ahead:
            return self._read_next(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def _read_next(self, size: int) -> bytes:
        data: bytes = self._read(size)
        self._read_bytes += len(data)
        return data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.next(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class SpoolFullError(Exception):
    """The disk has no room for a second copy of the input; the bytes read so far are still available."""


class Spool:
    """Bytes kept for a second reading: the first megabyte in memory, the others in a file without a name.

    The system removes that file when it is closed, also when the process is killed.
    """

    def __init__(self) -> None:
        # In this order: chunks in memory, then the file's first bytes, then the chunk that did not fit the
        # file.
        self._first_chunks: list[bytes] = []
        self._first_bytes = 0
        self._file: BinaryIO | None = None
        self._file_bytes = 0
        self._last_chunk = b""

    def append(self, data: bytes) -> None:
        """Keep bytes; raise ``SpoolFullError`` if these were kept but no more can be."""
        if self._file is None and self._first_bytes + len(data) <= _SPOOL_MEMORY_BYTES:
            self._first_chunks.append(data)
            self._first_bytes += len(data)
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - `close` closes it
            # An unbuffered file may take part of the bytes only; on an error, ``_last_chunk`` begins where it
            # stopped.
            remaining = memoryview(data)
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        except OSError as error:
            self._last_chunk = data
            raise SpoolFullError from error
        self._file_bytes += len(data)

    def replay(self) -> Iterator[bytes]:
        """Yield the bytes, then close the file."""
        yield from self._first_chunks
        if self._file is not None:
            self._file.seek(0)
            remaining = self._file_bytes
            while remaining and (data := self._file.read(min(remaining, CHUNK_BYTES))):
                remaining -= len(data)
                yield data
        if self._last_chunk:
            yield self._last_chunk
        self.close()

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()


class DocumentStream:
    """The bytes of an input whose current document can be read a second time from its start.

    ``rewind`` returns the bytes from a position on; without it, the bytes since ``mark`` are spooled. It is a
    context, at whose end the spool is removed.
    """

    def __init__(
        self, chunks: Iterator[bytes], rewind: Callable[[int], Iterator[bytes]] | None = None
    ) -> None:
        self._chunks = chunks
        self._rewind = rewind
        self._position = 0  # of the next byte
        self._marked_position = 0
        self._spool: Spool | None = None  # of the bytes since the mark
        self._replayed_spools: list[Spool] = []
        # The next bytes come from the first of these that is not empty: _pending, _replayed, _chunks.
        self._pending = b""
        self._replayed: Iterator[bytes] = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop_spool()
        for spool in self._replayed_spools:
            spool.close()

    def next(self) -> bytes:
        """Return the next bytes; none at the end. After ``mark``, it may raise ``SpoolFullError``."""
        # The order of the sources is the order of the bytes:
        #   put back │ replayed from a spool │ not read so far
        data = self._pending or next(self._replayed, b"") or next(self._chunks, b"")
        self._pending = b""
        self._position += len(data)
        if self._spool is not None and data:
            self._spool.append(data)
        return data

    def put_back(self, data: bytes) -> None:
        """Make the last bytes that were read the next ones again, and forget the mark."""
        self._drop_spool()
        self._pending = data + self._pending
        self._position -= len(data)

    def mark(self) -> None:
        """Remember the position for ``return_to_mark``."""
        self._drop_spool()
        self._marked_position = self._position
        if self._rewind is None:
            self._spool = Spool()

    def return_to_mark(self) -> None:
        """Return to the mark, and forget it."""
        if self._rewind is not None:
            self._chunks = self._rewind(self._marked_position)
            self._pending = b""
        elif self._spool is not None:
            # The spool of an earlier document may hold the first bytes of what comes after these.
            self._replayed = chain(self._spool.replay(), self._replayed)
            self._replayed_spools.append(self._spool)
            self._spool = None
        self._position = self._marked_position

    def _drop_spool(self) -> None:
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def skip_blank(self) -> bool:
        """Go to the next document; return False at the end of the input.

        White space and byte order marks before an XML declaration are dropped, because XML forbids them.
        Otherwise they stay, unless there are very many, so that errors count the lines before the document.
        """
        head = b""
        blank_bytes = dropped_bytes = 0
        while len(head) - blank_bytes < _DECLARATION_BYTES and (data := self.next()):
            head += data
            blank_bytes = _count_blank_bytes(head)
            if blank_bytes == len(head) > _LONG_BLANK_BYTES:
                if dropped_bytes > _MAX_BLANK_BYTES:
                    self.put_back(head)
                    return True
                dropped_bytes += len(head)
                head, blank_bytes = b"", 0
        is_dropped = _DECLARATION.match(head, blank_bytes) is not None or blank_bytes == len(head)
        self.put_back(head[blank_bytes:] if is_dropped else head)
        return blank_bytes < len(head)

    def read_document(self) -> Iterator[bytes]:
        """Yield the bytes up to the end of this document, or up to the declaration of another one."""
        tail = b""
        is_first = True
        while chunk := self.next():
            data = tail + chunk
            for match in _find_boundaries(data):
                is_declaration = match[0].startswith(b"<?")
                if is_declaration and is_first and match.start() == 0:
                    continue
                end = match.start() if is_declaration else match.end()
                self.put_back(data[end:])
                yield data[:end]
                return
            # A declaration or an end tag may be split between two chunks: its possible beginning is kept for
            # the next.
            end = _find_safe_end(data)
            piece, tail = data[:end], data[end:]
            if piece:
                is_first = False
                yield piece
        if tail:
            yield tail


def _find_boundaries(data: bytes) -> Iterator[re.Match[bytes]]:
    """Return the boundaries of documents. Few pieces have any: a search for fixed bytes first is faster."""
    if b"</trace-" in data or (b"?" in data and b"<?xml" in data):
        return _BOUNDARY.finditer(data)
    return iter(())


def _count_blank_bytes(data: bytes) -> int:
    """Return the number of bytes of white space and byte order marks at the beginning."""
    match = _BLANK.match(data)
    return match.end() if match else 0


def _find_safe_end(data: bytes) -> int:
    """Return the start of a tail that may be the first part of a boundary."""
    tail = data.rfind(b"<", max(0, len(data) - _BOUNDARY_BYTES))
    return len(data) if tail < 0 or b">" in data[tail:] else tail
