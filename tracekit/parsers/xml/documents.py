"""The documents of one export, read by the compiled scanner as far as it can, and by lxml from there on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from tracekit.errors import InputError
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.halves import Halves
from tracekit.parsers.xml.reader import DocumentReader, NotAnExportError, Parsed
from tracekit.parsers.xml.scanner import ScanningReader, reader_in_use
from tracekit.parsers.xml.store import QueryResult
from tracekit.parsers.xml.stream import BOUNDARY_BYTES, STDIN, Scan, is_blank, open_bytes, split_documents

_MOST_TURNS = 8
"""How often the scanner is asked anew, in a file of many documents, after one that it left to lxml."""


def read_documents(path: str, progress: Progress | None = None) -> list[Parsed]:
    """Read every document of a file ("-" is standard input); raises what ``Documents.read`` does."""
    documents = Documents("standard input" if path == STDIN else path)
    halves = Halves.of(path) if reader_in_use() == "compiled" else None
    with open_bytes(path, halves.told(progress) if halves else progress) as chunks:
        return documents.read(chunks) if halves is None else documents.read_halves(halves, chunks)


class Documents:
    """Export documents, parsed while their bytes arrive; see ``DocumentReader`` for ``listed``."""

    def __init__(self, name: str, listed: Mapping[int, str] | None = None) -> None:
        self._name = name
        self._listed = listed
        self._reader = DocumentReader(name, listed)
        self._scan = Scan()
        self._scanning: ScanningReader | None = None

    def read(self, chunks: Iterator[bytes]) -> list[Parsed]:
        """Read to the end and return every document.

        Raises ``InputError`` for anything that is not a complete export, and when the rows that were parsed
        are not as many as the bytes show: no row is ever lost in silence.
        """
        finished: list[Parsed] = []
        turns = _MOST_TURNS if reader_in_use() == "compiled" else 0
        following: Iterator[bytes] | None = chunks
        while following is not None:
            begun = False
            if turns:
                turns -= 1
                following, begun = self._scan_documents(following, finished)
            following = self._parse_documents(following, finished, begun, one=turns > 0)
        if not finished:
            raise NotAnExportError(self._name, "is empty.", "Export the table again.")
        return finished

    def read_halves(self, halves: Halves, chunks: Iterator[bytes]) -> list[Parsed]:
        """As ``read``, with two scanners at once while the file is what they guess."""
        self._scanning = ScanningReader(self._name, self._listed)
        document, chunks = halves.read(self._scanning, chunks)
        return self.read(chunks) if document is None else [document]

    def _parse_documents(
        self, chunks: Iterator[bytes], finished: list[Parsed], begun: bool, *, one: bool
    ) -> Iterator[bytes] | None:
        """Read documents with lxml, or only ``one``; return the bytes that are left for the scanner.

        ``begun`` says that the bytes go on in the document that the reader is in.
        """
        pieces = split_documents(chunks, fresh=not begun)
        for fresh, data in pieces:
            if fresh and begun:
                finished.append(self._finish())
                self._reader, self._scan = DocumentReader(self._name, self._listed), Scan()
                if one:
                    return chain([data], (piece for _, piece in pieces))
            begun = True
            self._scan.feed(data)
            self._reader.feed(data)
        if begun:
            finished.append(self._finish())
        return None

    def _scan_documents(
        self, chunks: Iterator[bytes], finished: list[Parsed]
    ) -> tuple[Iterator[bytes], bool]:
        """Read documents with the compiled scanner for as long as it can.

        Returns the bytes from there on, and whether these begin in the middle of a document.
        """
        blank = b""
        for chunk in chain(chunks, [b""]):  # nothing: the end
            data = chunk
            while True:
                if self._scanning is None:
                    data = blank + data
                    blank = b""
                    if is_blank(data):  # its lines count, as in `split_documents`, unless it is long
                        blank = data if len(data) < BOUNDARY_BYTES else b""
                        break
                    self._scanning = ScanningReader(self._name, self._listed)
                self._scanning.feed(data)
                if not chunk:
                    self._scanning.close()
                if self._scanning.strange:
                    begun = self._scanning.begun
                    return chain([self._hand_over()], chunks), begun
                if not self._scanning.ended:
                    break
                finished.append(self._scanning.so_far())
                data = self._scanning.rest()
                self._scanning = None
        return iter(()), False

    def _hand_over(self) -> bytes:
        """Let the reference reader go on where the scanner is; return what it is to be fed first."""
        assert self._scanning is not None
        scanning, self._scanning = self._scanning, None
        self._scan = Scan(scanning.counts())
        rest = scanning.rest()
        self._reader = scanning.hand_over()
        return rest

    def whole_tables(self) -> QueryResult:
        """Return the tables that came whole of a document that was cut off, or could not be read further."""
        with suppress(InputError):
            if self._scanning is not None:
                rest = self._hand_over()
                self._scan.feed(rest)
                self._reader.feed(rest)
            self._reader.flush()
        came = self._reader.so_far()
        counted = zip(came.nodes, self._scan.nodes, strict=False)  # the scan knows the unfinished one, too
        trusted = self._scan.exact and not self._scan.closed
        whole = [node for node, seen in counted if trusted and len(node.cells) == seen.rows]
        return replace(came, nodes=tuple(whole))

    def _finish(self) -> Parsed:
        parsed = self._reader.close()
        if isinstance(parsed, QueryResult) and self._scan.exact:
            parsed_rows = [len(node.cells) for node in parsed.nodes]
            seen_rows = [node.rows for node in self._scan.nodes]
            if parsed_rows != seen_rows:
                raise InputError(
                    self._name,
                    f"{sum(seen_rows)} rows stand in the file and {sum(parsed_rows)} were read.",
                    "The file is damaged; if it is not, this is a defect of tracekit: please report it.",
                )
        return parsed
