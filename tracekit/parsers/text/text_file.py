"""A text file of unknown encoding as lines, read once and never held as a whole."""

from __future__ import annotations

import codecs
import gzip
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.parsers.limits import LimitError, Limits
from tracekit.parsers.source import Progress

STDIN = "-"
HEAD_BYTES = 64 << 10
"""The beginning of a file by which its kind is recognised."""
_GZIP = b"\x1f\x8b"
_MAX_LINE_BYTES = 16 << 20
"""Chosen limit: the longest line of a known text is a crash report's JSON of some megabytes."""
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@frozen
class TextPlace:
    """Where a text is: a path ("-" is standard input), and with ``member`` a file of the zip there."""

    path: str
    name: str
    """The name shown to people."""
    member: str = ""

    def open(self) -> IO[bytes]:
        """Return the text's bytes, unpacked; the caller closes it."""
        if self.path == STDIN:
            return cast("IO[bytes]", sys.stdin.buffer)
        if self.member:
            # The zip may be closed before its member, which shares the file.
            with zipfile.ZipFile(self.path) as archive:
                return archive.open(self.member)
        file = Path(self.path).open("rb")  # noqa: SIM115 - closed by the caller
        if file.read(2) == _GZIP:
            file.close()  # a GzipFile closes the file that it opened itself, and no other
            return cast("IO[bytes]", gzip.GzipFile(self.path, "rb"))
        file.seek(0)
        return file

    def read_head(self) -> bytes:
        """Return the first bytes; standard input is peeked at. Damaged data is not a text."""
        if self.path == STDIN:
            peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
            return bytes(peek(HEAD_BYTES)[:HEAD_BYTES]) if peek is not None else b""
        try:
            with self.open() as file:
                return file.read(HEAD_BYTES)
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
            return b""

    def get_max_bytes(self, limits: Limits) -> int:
        """Return the limit on the unpacked size; a file that is not compressed has none."""
        if self.path == STDIN:
            return limits.unpacked_bytes(0)
        with Path(self.path).open("rb") as stored:
            if stored.read(2) != _GZIP and not self.member:
                return sys.maxsize
            return limits.unpacked_bytes(stored.seek(0, 2))


@frozen
class TextFile:
    """A text of a recognised kind, with its encoding and the limits on it."""

    place: TextPlace
    encoding: str
    limits: Limits
    progress: Progress | None = None

    @property
    def name(self) -> str:
        """The name shown to people."""
        return self.place.name

    def open(self) -> IO[bytes]:
        """Return the file's bytes, unpacked; the caller closes it."""
        return self.place.open()

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the text as UTF-8 in blocks of about a megabyte. Raises as ``iter_lines``."""
        budget = self.place.get_max_bytes(self.limits)
        with self.open() as file:
            if self.encoding == "utf-8":
                yield from _read_blocks(self, file, budget)
                return
            decoder = codecs.getincrementaldecoder(self.encoding)(errors="replace")
            for block in _read_blocks(self, file, budget):
                yield decoder.decode(block).encode(errors="replace")

    def iter_line_blocks(self) -> Iterator[bytes]:
        """Yield the text in blocks that end with the end of a line. Raises as ``iter_lines``."""
        remainder = b""
        for block in self.iter_blocks():
            end = block.rfind(b"\n") + 1
            if end:
                yield remainder + block[:end]
                remainder = block[end:]
            else:
                remainder += block
            if len(remainder) > _MAX_LINE_BYTES:
                raise LimitError(self.name, f"has a line of more than {_MAX_LINE_BYTES:,} characters")
        if remainder:
            yield remainder

    def iter_lines(self) -> Iterator[str]:
        """Yield the lines without their ends (LF, CRLF); bytes outside the encoding become U+FFFD.

        Raises ``LimitError`` for a line that is too long for a text, and for a compressed file that
        unpacks to too much, and ``InputError`` where the compressed data is damaged.
        """
        decoder = codecs.getincrementaldecoder(self.encoding)(errors="replace")
        budget = self.place.get_max_bytes(self.limits)
        remainder = ""
        with self.open() as file:
            for block in _read_blocks(self, file, budget):
                text = remainder + decoder.decode(block)
                *whole, remainder = text.split("\n")
                for line in whole:
                    yield line.removesuffix("\r")
                if len(remainder) > _MAX_LINE_BYTES:
                    raise LimitError(self.name, f"has a line of more than {_MAX_LINE_BYTES:,} characters")
        remainder += decoder.decode(b"", final=True)
        if remainder:
            yield remainder.removesuffix("\r")


def detect_encoding(head: bytes) -> str:
    """Return the encoding of a text by its first bytes: UTF-16 by its marks or its zeros, else UTF-8."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[:4096]
    if len(sample) > 3 and sample[1::2].count(0) > len(sample) * 0.4:
        return "utf-16-le"
    if len(sample) > 3 and sample[::2].count(0) > len(sample) * 0.4:
        return "utf-16-be"
    return "utf-8"


def _read_blocks(file: TextFile, opened: IO[bytes], budget: int) -> Iterator[bytes]:
    done = 0
    while True:
        try:
            block = opened.read(1 << 20)
        except (EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(file.name, f"is compressed and damaged: {error}.") from error
        if not block:
            return
        done += len(block)
        if done > budget:
            raise LimitError(file.name, f"unpacks to more than {budget:,} bytes")
        if file.progress:
            file.progress(done, None)
        yield block
