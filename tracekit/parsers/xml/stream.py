"""Bytes of an export: opened, unpacked, cut into documents, and counted, without parsing them.

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
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tracekit.errors import InputError
from tracekit.parsers.source import Progress

CHUNK_BYTES = 1 << 17
STDIN = "-"
GZIP = b"\x1f\x8b"

# '<' is escaped in text and attributes, so these byte strings are always markup, whatever the document says.
_BOUNDARY = re.compile(rb"</trace-query-result\s*>|</trace-toc\s*>|<\?xml[\s?]")
BOUNDARY_BYTES = 64
_TOKEN = re.compile(
    rb"<(?:row[\s/>]|node\b[^<>]*>|schema\b[^<>]*>|trace-toc[\s>]|!|\?(?!xml[\s?])|/trace-(?:query-result|toc)\s*>"
    rb"|trace-query-result\s*/>)"
)
_TOKEN_BYTES = 1 << 16
_SCHEMA_NAME = re.compile(rb"""\sname\s*=\s*["']([^"']*)["']""")
_RUN_AND_TABLE = re.compile(r"/run\[(\d{1,9})\].*?/table\[(\d{1,9})\]")
_XPATH = re.compile(rb"""\sxpath\s*=\s*(?:"([^"]*)"|'([^']*)')""")


@contextmanager
def open_bytes(path: str, progress: Progress | None = None) -> Iterator[Iterator[bytes]]:
    """Yield an iterator over the unpacked bytes of ``path`` ("-" is standard input) in chunks.

    Raises ``InputError`` when the file cannot be read, is not a regular file or pipe, or is a damaged gzip.
    """
    with _open_raw(path) as raw:
        yield _chunks(raw, path, progress)


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


def _chunks(raw: BinaryIO, name: str, progress: Progress | None) -> Iterator[bytes]:
    total = _size(raw)
    counted = _CountingReader(raw)
    start = counted.first(2)
    if start != GZIP:
        while chunk := counted.next():
            yield chunk
            if progress:
                progress(counted.done, total)
        return
    try:
        with gzip.GzipFile(fileobj=io.BufferedReader(counted, CHUNK_BYTES), mode="rb") as unpacked:
            while chunk := unpacked.read(CHUNK_BYTES):
                yield chunk
                if progress:
                    progress(counted.done, total)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            name, f"is a damaged or cut-off gzip file ({error}).", "Compress it again."
        ) from error


def _size(raw: BinaryIO) -> int | None:
    try:
        status = os.fstat(raw.fileno())
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


class _CountingReader(io.RawIOBase):
    """Counts the bytes taken from the file itself, before any unpacking, for the progress display."""

    def __init__(self, raw: BinaryIO) -> None:
        self._read = getattr(raw, "read1", raw.read)  # of a pipe, what is there: it is parsed while it comes
        self._held = b""
        self._taken = 0

    @property
    def done(self) -> int:
        """How many bytes were handed on."""
        return self._taken - len(self._held)

    def first(self, size: int) -> bytes:
        """Return the first bytes, which come again."""
        while len(self._held) < size and (data := self._take(CHUNK_BYTES)):
            self._held += data
        return self._held[:size]

    def next(self, size: int = CHUNK_BYTES) -> bytes:
        """Return the next bytes; none at the end."""
        if not self._held:
            return self._take(size)
        data, self._held = self._held[:size], self._held[size:]
        return data

    def _take(self, size: int) -> bytes:
        data: bytes = self._read(size)
        self._taken += len(data)
        return data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.next(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def split_documents(chunks: Iterator[bytes], *, fresh: bool = True) -> Iterator[tuple[bool, bytes]]:
    """Yield (starts a new document, bytes): the same bytes, cut between one document and the next.

    White space between documents is dropped. A boundary that lies across two chunks is found as well.
    Without ``fresh`` the first bytes are the middle of a document.
    """
    held = b""
    for chunk in chunks:
        data = held + chunk
        at = 0
        for match in _BOUNDARY.finditer(data):
            declaration = match.group().startswith(b"<?")
            cut = match.start() if declaration else match.end()
            piece = data[at:cut]
            at = cut
            if not is_blank(piece):
                yield fresh, piece
            fresh = True
        keep = max(at, _safe_end(data))
        if fresh and keep - at < BOUNDARY_BYTES:  # too short to tell a byte order mark from a document
            keep = at
        piece, held = data[at:keep], data[keep:]
        if piece and not (fresh and is_blank(piece)):
            yield fresh, piece
            fresh = False
    if held and not (fresh and is_blank(held)):
        yield fresh, held


def is_blank(piece: bytes) -> bool:
    """Return whether there is only white space, or a byte order mark."""
    return not piece.replace(b"\xef\xbb\xbf", b"").strip()


def _safe_end(data: bytes) -> int:
    """Return where a tail begins that may hold the first part of a boundary."""
    tail = data.rfind(b"<", max(0, len(data) - BOUNDARY_BYTES))
    return len(data) if tail < 0 or b">" in data[tail:] else tail


@dataclass
class NodeCount:
    """What the byte scan found of one ``<node>``."""

    schema: str | None
    run: int = 1
    index: int = 0
    rows: int = 0


@dataclass
class Scan:
    """Counts a document's tables and rows from its bytes alone: a fast index, and a check on the parser."""

    nodes: list[NodeCount] = field(default_factory=list)
    is_toc: bool = False
    exact: bool = True
    """False when the bytes may deceive: comments, instructions, CDATA, two bytes a character."""
    closed: bool = False
    """True when the root element was closed: the document was not cut off."""
    _held: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the same document."""
        self.exact = self.exact and b"\0" not in data
        data = self._held + data
        end = data.rfind(b"<")
        end = len(data) if end < 0 or len(data) - end > _TOKEN_BYTES or b">" in data[end:] else end
        self._held = data[end:]
        for match in _TOKEN.finditer(data, 0, end):
            self._take(match.group())

    def _take(self, token: bytes) -> None:
        if token.startswith(b"<row"):
            if self.nodes:
                self.nodes[-1].rows += 1
        elif token.startswith(b"<node"):
            xpath = _XPATH.search(token)
            text = (xpath[1] or xpath[2] or b"").decode("utf-8", "replace") if xpath else ""
            run, index = table_place(text)
            self.nodes.append(NodeCount(self.nodes[-1].schema if self.nodes else None, run, index))
        elif token.startswith(b"<schema"):
            name = _SCHEMA_NAME.search(token)
            if self.nodes and name:
                self.nodes[-1].schema = name[1].decode("utf-8", "replace")
        elif token.startswith((b"</trace-", b"<trace-query-result")):
            self.closed = True
        elif token.startswith(b"<trace-toc"):
            self.is_toc = True
        else:
            self.exact = False


def table_place(xpath: str) -> tuple[int, int]:
    """Return (run, table) of ``//trace-toc[1]/run[1]/data[1]/table[14]``; (1, 0) when it names no table."""
    place = _RUN_AND_TABLE.search(xpath)
    return (int(place[1]), int(place[2])) if place else (1, 0)


def scan_file(path: str) -> list[Scan]:
    """Return one ``Scan`` per document of the file."""
    scans: list[Scan] = []
    with open_bytes(path) as chunks:
        for fresh, data in split_documents(chunks):
            if fresh:
                scans.append(Scan())
            scans[-1].feed(data)
    return scans
