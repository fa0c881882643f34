"""An index of documents from their bytes alone: tables and numbers of rows, without parsing them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tracekit.frozen import compile_later
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits, require_at_most
from tracekit.parsers.xml.packed import ExportFile
from tracekit.parsers.xml.stream import DocumentStream, open_bytes

# '<' is escaped in text and attributes, so these byte strings are markup, unless `exact` is false.
_TOKEN = compile_later(
    rb"<(?:row[\s/>]|node\b[^<>]*>|schema\b[^<>]*>|trace-toc[\s>]|!|\?(?!xml[\s?])|/trace-(?:query-result|toc)\s*>"
    rb"|trace-query-result\s*/>)"
)
_OTHER_TOKENS = (b"<node", b"<schema", b"<trace-", b"</trace-", b"<!", b"<?")
"""The beginnings of all tokens but rows."""
_ROW_ENDS = np.isin(np.arange(256), list(b" \t\n\r\f\v/>"))
_BEGINS_OTHER = np.zeros((256, 256), bool)
"""Marks the two bytes after the "<" of each token."""
for _token in _OTHER_TOKENS:
    _BEGINS_OTHER[_token[1], _token[2] if len(_token) > 2 else slice(None)] = True
_MIN_CELLS_PER_ROW = 5  # tables of many rows have more columns
_MAX_TOKEN_BYTES = 1 << 16
_SCHEMA_NAME = compile_later(rb"""\sname\s*=\s*["']([^"']*)["']""")
_RUN_AND_TABLE = compile_later(r"/run\[(\d{1,9})\].*?/table\[(\d{1,9})\]")
_XPATH = compile_later(rb"""\sxpath\s*=\s*(?:"([^"]*)"|'([^']*)')""")


@dataclass
class IndexedTable:
    """A ``<node>``: its place in the recording, its schema, and its number of rows."""

    schema: str | None
    run: int = 1
    index: int = 0
    rows: int = 0


@dataclass
class DocumentIndex:
    """The tables of one document and their rows: a fast list, and a check on the parser."""

    tables: list[IndexedTable] = field(default_factory=list)
    is_toc: bool = False
    exact: bool = True
    """False where the bytes may mislead: comments, instructions, CDATA, two bytes a character."""
    closed: bool = False
    """True when the root element was closed: the document was not cut off."""
    rows: int = 0
    """In all tables."""
    _tail: bytes = b""

    def feed(self, data: bytes) -> None:
        """Count the next bytes of the same document."""
        self.exact = self.exact and b"\0" not in data
        data = self._tail + data
        end = data.rfind(b"<")
        end = len(data) if end < 0 or len(data) - end > _MAX_TOKEN_BYTES or b">" in data[end:] else end
        self._tail = data[end:]
        rows = _count_plain_rows(data[:end])
        if rows is None:
            for match in _TOKEN.finditer(data, 0, end):
                self._count_token(match.group())
        elif self.tables:
            self.tables[-1].rows += rows
            self.rows += rows

    def _count_token(self, token: bytes) -> None:
        if token.startswith(b"<row"):
            if self.tables:
                self.tables[-1].rows += 1
                self.rows += 1
        elif token.startswith(b"<node"):
            xpath = _XPATH.search(token)
            text = (xpath[1] or xpath[2] or b"").decode("utf-8", "replace") if xpath else ""
            run, index = parse_table_place(text)
            # A <node> without a <schema> repeats the one before it.
            self.tables.append(IndexedTable(self.tables[-1].schema if self.tables else None, run, index))
        elif token.startswith(b"<schema"):
            name = _SCHEMA_NAME.search(token)
            if self.tables and name:
                self.tables[-1].schema = name[1].decode("utf-8", "replace")
        elif token.startswith((b"</trace-", b"<trace-query-result")):
            self.closed = True
        elif token.startswith(b"<trace-toc"):
            self.is_toc = True
        else:
            self.exact = False


def _count_plain_rows(data: bytes) -> int | None:
    """Return the number of rows in bytes without any other token; None if other tokens are possible.

    Most bytes of a long document are its cells: as arrays, their tags take a fifth of the time of a pattern.
    """
    codes = np.frombuffer(data + bytes(len(b"row>")), np.uint8)
    tags = np.flatnonzero(codes == ord("<"))
    first_codes, second_codes = codes[tags + 1], codes[tags + 2]
    for other in tags[_BEGINS_OTHER[first_codes, second_codes]].tolist():
        if data.startswith(_OTHER_TOKENS, other):
            return None
    rows = tags[(first_codes == ord("r")) & (second_codes == ord("o"))]
    return int(np.count_nonzero((codes[rows + 3] == ord("w")) & _ROW_ENDS[codes[rows + 4]]))


def parse_table_place(xpath: str) -> tuple[int, int]:
    """Return (run, table) of ``//trace-toc[1]/run[1]/data[1]/table[14]``; (1, 0) when it names no table."""
    place = _RUN_AND_TABLE.search(xpath)
    return (int(place[1]), int(place[2])) if place else (1, 0)


def index_file(export: ExportFile, limits: Limits = DEFAULT_LIMITS) -> list[DocumentIndex]:
    """Return one index per document of the file; raises ``LimitError`` for too many documents or tables."""
    indexes: list[DocumentIndex] = []
    tables = rows = 0  # in the documents before the current one
    path = str(export)
    with open_bytes(export, limits=limits) as chunks:
        stream = DocumentStream(chunks)
        while stream.skip_blank():
            index = DocumentIndex()
            indexes.append(index)
            require_at_most(path, len(indexes), limits.documents, "documents")
            for piece in stream.read_document():
                index.feed(piece)
                require_at_most(path, tables + len(index.tables), limits.tables, "tables")
                max_rows = limits.max_cells(chunks.stored_bytes()) // _MIN_CELLS_PER_ROW
                require_at_most(path, rows + index.rows, max_rows, "rows in its tables")
            tables += len(index.tables)
            rows += index.rows
    return indexes
