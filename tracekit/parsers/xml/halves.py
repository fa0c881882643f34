"""A large export read by two scanners at once: one from its beginning on, one from a row in its middle on.

Ids are dense, so the first id that the later scanner meets tells how many values come before it. Until both
are done that is a guess: the first one must end just where the later one began, with as many values, and what
the later one refers to must be the kinds of elements that the first one has there. Else the first one reads
on, and nothing is lost but time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO

from tracekit.parsers.source import Progress
from tracekit.parsers.xml.scanner import ScanningReader
from tracekit.parsers.xml.store import QueryResult
from tracekit.parsers.xml.stream import CHUNK_BYTES, GZIP, STDIN, is_blank

LEAST_BYTES = 1 << 25
"""Smaller files are read as quickly by one."""

_WINDOW_BYTES = 1 << 20
_FIRST_ID = re.compile(rb' id="([1-9]\d{0,9})"')
_ELEMENT_BYTES = 8  # of the shortest one with an id


class Halves:
    """One file and where its later half begins: at the byte ``offset``, with ``slot`` for the next id."""

    def __init__(self, path: str, offset: int, slot: int) -> None:
        self._path = path
        self._status = Path(path).stat()
        self._size = self._status.st_size
        self._offset = offset
        self._slot = slot
        self._later: _Later | None = None
        self._progress: Progress | None = None

    @classmethod
    def of(cls, path: str) -> Halves | None:
        """Return the halves of a file; None where one scanner is to read it all."""
        with suppress(OSError):
            # On macOS, whoever opens /dev/stdin again shares its position with the other reader.
            status = None if path == STDIN or path.startswith("/dev/") else Path(path).stat()
            if status is None or not stat.S_ISREG(status.st_mode) or status.st_size < LEAST_BYTES:
                return None
            with Path(path).open("rb") as raw:
                if raw.read(len(GZIP)) == GZIP:
                    return None
                raw.seek(status.st_size // 2)
                window = raw.read(_WINDOW_BYTES)
            at = window.find(b"<row>")
            found = _FIRST_ID.search(window, at) if at >= 0 else None
            offset = status.st_size // 2 + at
            if found and 1 < int(found[1]) <= offset // _ELEMENT_BYTES:
                return cls(path, offset, int(found[1]))
        return None

    def told(self, progress: Progress | None) -> Progress | None:
        """Return what the reader of the first half is to call: it counts the bytes of both."""
        self._progress = progress
        if progress is None:
            return None

        def both(done: int, total: int | None) -> None:
            progress(min(done + (self._later.done if self._later else 0), self._size), total)

        return both

    def read(
        self, first: ScanningReader, chunks: Iterator[bytes]
    ) -> tuple[QueryResult | None, Iterator[bytes]]:
        """Return the document, if it was read in two; else None, and what ``first`` is to be fed now."""
        later: _Later | None = None
        left = self._offset
        try:
            for chunk in chunks:
                first.feed(chunk[:left])
                if len(chunk) >= left or first.ended or first.strange:
                    chunks = chain(filter(None, [chunk[left:]]), chunks)
                    break
                left -= len(chunk)
                if later is None and first.in_rows:
                    later = self._begin(first)
            if later is not None and _is_reached(first) and later.is_joined(first):
                if self._progress:
                    self._progress(self._size, self._size)
                return first.so_far(), chunks
        finally:
            if later is not None:
                later.stop()
        self._later = None
        return None, chunks

    def _begin(self, first: ScanningReader) -> _Later:
        self._later = later = _Later(self._path, self._status, self._offset)
        with suppress(MemoryError, RuntimeError):  # no memory, or no thread: it is not needed
            later.start(first.going_on_at(self._slot))
        return later


def _is_reached(first: ScanningReader) -> bool:
    """Return whether all before the later half was read."""
    return first.in_rows and not (first.ended or first.strange) and not first.rest().strip(b" \t\n")


class _Later:
    """Reads the later half in a thread of its own."""

    def __init__(self, path: str, status: os.stat_result, offset: int) -> None:
        self._path, self._status, self._offset = path, status, offset
        self._stopped = Event()
        self._thread: Thread | None = None
        self._reader: ScanningReader | None = None
        self.done = 0  # bytes

    def start(self, reader: ScanningReader) -> None:
        thread = Thread(target=self._read, args=(reader,))
        thread.start()
        self._thread, self._reader = thread, reader

    def is_joined(self, first: ScanningReader) -> bool:
        """Wait for the end, and put the two together; False when that cannot be."""
        if self._thread is None or self._reader is None:
            return False
        self._thread.join()
        return self._reader.ended and not self._reader.strange and first.absorb(self._reader)

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _read(self, reader: ScanningReader) -> None:
        with (
            suppress(OSError, MemoryError),
            Path(self._path).open("rb") as raw,
        ):  # then the first one reads on
            if _identity(os.fstat(raw.fileno())) == _identity(self._status):
                self._feed(reader, raw)

    def _feed(self, reader: ScanningReader, raw: BinaryIO) -> None:
        raw.seek(self._offset)
        while not (self._stopped.is_set() or reader.ended or reader.strange):
            data = raw.read(CHUNK_BYTES)
            if data:
                reader.feed(data)
                self.done += len(data)
            else:
                reader.close()
        if not is_blank(reader.rest() + raw.read(CHUNK_BYTES)):
            reader.strange = True  # another document follows


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is written, or another takes its place."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
