"""The documents of one export, each read by the accelerator if it can, or else by lxml from its start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from tracekit.errors import InputError
from tracekit.model.trace import STANDARD_INPUT
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError, Limits, require_at_most
from tracekit.parsers.source import Progress
from tracekit.parsers.xml.accelerator import AcceleratedReader, choose_reader
from tracekit.parsers.xml.index import DocumentIndex
from tracekit.parsers.xml.packed import ExportFile
from tracekit.parsers.xml.reader import DocumentReader, NotAnExportError, Parsed
from tracekit.parsers.xml.stream import STDIN, DocumentStream, SpoolFullError, open_bytes
from tracekit.parsers.xml.value_store import QueryResult
from tracekit.text import format_size

_MAX_UNSUPPORTED = 8
"""The number of documents that may be read twice; after them lxml reads all others at once."""


def read_documents(
    export: ExportFile, progress: Progress | None = None, limits: Limits = DEFAULT_LIMITS
) -> list[Parsed]:
    """Read every document of a file; raises what ``Documents.read`` does."""
    with open_bytes(export, progress, limits) as chunks:
        rewind = chunks.rewind if chunks.can_rewind else None
        name = STANDARD_INPUT if export == STDIN else str(export)
        return Documents(name, limits=limits, stored_bytes=chunks.stored_bytes).read(chunks, rewind)


class Documents:
    """Export documents, parsed while their bytes arrive; see ``DocumentReader`` for ``schema_names``."""

    def __init__(
        self,
        name: str,
        schema_names: Mapping[int, str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        stored_bytes: Callable[[], int] = lambda: sys.maxsize,
    ) -> None:
        """``stored_bytes`` returns the number of bytes read of the input itself, before unpacking.

        Without it, limits that depend on the size of the input do not apply.
        """
        self._name = name
        self._schema_names = schema_names
        self._limits = limits
        self._stored_bytes = stored_bytes
        self._is_unusual = False
        self._unusual_bytes = self._unusual_tags = 0
        self._tables = self._cells = 0  # in the documents before the current one
        self._reader = DocumentReader(name, schema_names)
        self._index = DocumentIndex()

    def read(
        self, chunks: Iterator[bytes], rewind: Callable[[int], Iterator[bytes]] | None = None
    ) -> list[Parsed]:
        """Read to the end and return every document; see ``DocumentStream`` for ``rewind``.

        Raises ``LimitError`` for more than the limits allow, and ``InputError`` for anything that is not a
        complete export, and when the number of parsed rows differs from the number in the bytes: no row is
        lost silently. Errors always come from lxml, so they are the same with and without the accelerator.
        """
        documents: list[Parsed] = []
        attempts = _MAX_UNSUPPORTED if choose_reader() == "compiled" else 0
        with DocumentStream(chunks, rewind) as stream:
            while stream.skip_blank():
                document: Parsed | None = self._read_accelerated(stream) if attempts else None
                if document is None:
                    # Limits the time of second readings, which for gzip begin at the start of the file.
                    attempts = max(attempts - 1, 0)
                    document = self._read_with_lxml(stream)
                documents.append(document)
                require_at_most(self._name, len(documents), self._limits.documents, "documents")
        if not documents:
            raise NotAnExportError(self._name, "is empty.", "Export the table, or save the text, again.")
        return documents

    def _read_accelerated(self, stream: DocumentStream) -> QueryResult | None:
        """Read one document with the accelerator; return None, at its start again, if it is unsupported."""
        stream.mark()
        reading = AcceleratedReader(self._schema_names)
        with suppress(SpoolFullError):
            while not (reading.ended or reading.unsupported):
                data = stream.next()
                if data:
                    reading.feed(data)
                    self._require_few(reading)
                    self._require_small(reading)
                else:
                    reading.close()
        if not reading.ended:
            self._is_unusual = True
            stream.return_to_mark()
            return None
        self._count_tables(reading)
        stream.put_back(reading.unread())
        return reading.build_document()

    def _read_with_lxml(self, stream: DocumentStream) -> Parsed:
        """Read one document with lxml."""
        self._reader, self._index = DocumentReader(self._name, self._schema_names), DocumentIndex()
        for piece in stream.read_document():
            self._index.feed(piece)
            self._reader.feed(piece)
            self._require_few(self._reader)
            if self._is_unusual:
                self._require_fast(piece)
        parsed = self._reader.close()
        self._count_tables(self._reader)
        # The index counts <row> in the bytes, and the parser counts rows of tables.
        if isinstance(parsed, QueryResult) and self._index.exact:
            parsed_rows = [len(node.cells) for node in parsed.nodes]
            counted_rows = [table.rows for table in self._index.tables]
            if parsed_rows != counted_rows:
                raise InputError(
                    self._name,
                    f"has {sum(counted_rows)} rows, and {sum(parsed_rows)} were read.",
                    "The file is damaged. If it is not, this is a defect of tracekit: please report it.",
                )
        return parsed

    def _require_few(self, reading: DocumentReader | AcceleratedReader) -> None:
        require_at_most(self._name, self._tables + reading.tables, self._limits.tables, "tables")
        require_at_most(self._name, reading.columns, self._limits.columns, "columns in a table")
        max_cells = self._limits.max_cells(self._stored_bytes())
        require_at_most(self._name, self._cells + reading.cells, max_cells, "cells in its tables")

    def _require_small(self, reading: AcceleratedReader) -> None:
        max_bytes = max(self._limits.value_bytes, 3 * self._stored_bytes())
        if reading.held_bytes > max_bytes:
            raise LimitError(self._name, f"holds more than {format_size(max_bytes)} of different values")

    def _require_fast(self, piece: bytes) -> None:
        """Raise ``LimitError`` once lxml has read more than it can read in reasonable time."""
        self._unusual_bytes += len(piece)
        self._unusual_tags += piece.count(b"<")
        max_bytes = max(self._limits.unusual_bytes, self._stored_bytes())
        max_tags = max(self._limits.unusual_tags, self._stored_bytes() // 8)
        if self._unusual_bytes > max_bytes:
            size = format_size(max_bytes)
            raise LimitError(self._name, f"is not as xctrace writes it, unpacks to more than {size}")
        if self._unusual_tags > max_tags:
            raise LimitError(self._name, f"is not as xctrace writes it, has more than {max_tags:,} tags")

    def _count_tables(self, reading: DocumentReader | AcceleratedReader) -> None:
        self._require_few(reading)
        self._tables += reading.tables
        self._cells += reading.cells

    def get_whole_tables(self) -> QueryResult:
        """Return the complete tables of a document that was cut off, or could not be read further."""
        with suppress(InputError):
            self._reader.flush()
        partial = self._reader.build_partial_result()
        # The index may be longer: it has the unfinished table, too.
        table_pairs = zip(partial.nodes, self._index.tables, strict=False)
        is_trusted = self._index.exact and not self._index.closed
        whole = [node for node, table in table_pairs if is_trusted and len(node.cells) == table.rows]
        return replace(partial, nodes=tuple(whole))
