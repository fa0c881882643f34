"""A large export read by two scanners at once: one from its beginning on, one from a row in its middle on.

Ids are dense, so the first id that the later scanner meets tells how many values come before it. Until both
are done that is a guess: the first one must end just where the later one began, with as many values, and what
the later one refers to must be the kinds of elements that the first one has there. Else the first one reads
on, and nothing is lost but time.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from threading import Event

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

    def __init__(self, path: str, size: int, offset: int, slot: int) -> None:
        self._path = path
        self._size = size
        self._offset = offset
        self._slot = slot
        self._later_done = 0
        self._progress: Progress | None = None
        self._stop = Event()

    @classmethod
    def of(cls, path: str) -> Halves | None:
        """Return the halves of a file; None where one scanner is to read it all."""
        with suppress(OSError):
            status = None if path == STDIN else Path(path).stat()
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
                return cls(path, status.st_size, offset, int(found[1]))
        return None

    def told(self, progress: Progress | None) -> Progress | None:
        """Return what the reader of the first half is to call: it counts the bytes of both."""
        self._progress = progress
        if progress is None:
            return None
        return lambda done, total: progress(min(done + self._later_done, self._size), total)

    def read(
        self, first: ScanningReader, chunks: Iterator[bytes]
    ) -> tuple[QueryResult | None, Iterator[bytes]]:
        """Return the document, if it was read in two; else None, and what ``first`` is to be fed now."""
        later: Future[ScanningReader] | None = None
        left = self._offset
        with ThreadPoolExecutor(1) as pool:
            try:
                for chunk in chunks:
                    first.feed(chunk[:left])
                    if len(chunk) >= left or first.ended or first.strange:
                        chunks = chain(filter(None, [chunk[left:]]), chunks)
                        break
                    left -= len(chunk)
                    if later is None and first.in_rows:
                        later = pool.submit(self._read_later, first.going_on_at(self._slot))
                if later is not None and self._is_reached(first) and self._join(first, later.result()):
                    if self._progress:
                        self._progress(self._size, self._size)
                    return first.so_far(), chunks
            finally:
                self._stop.set()
        return None, chunks

    def _is_reached(self, first: ScanningReader) -> bool:
        """Return whether all before the later half was read."""
        return first.in_rows and not (first.ended or first.strange) and is_blank(first.rest())

    def _join(self, first: ScanningReader, later: ScanningReader) -> bool:
        return later.ended and not later.strange and first.absorb(later)

    def _read_later(self, reader: ScanningReader) -> ScanningReader:
        with suppress(OSError):  # the first one reads on, and tells
            self._feed(reader)
        return reader

    def _feed(self, reader: ScanningReader) -> None:
        with Path(self._path).open("rb") as raw:
            raw.seek(self._offset)
            while not (self._stop.is_set() or reader.ended or reader.strange):
                data = raw.read(CHUNK_BYTES)
                if data:
                    reader.feed(data)
                    self._later_done += len(data)
                else:
                    reader.close()
            if not is_blank(reader.rest() + raw.read(CHUNK_BYTES)):
                reader.strange = True  # another document follows
