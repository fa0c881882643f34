"""An accelerator for whole documents of the XML that ``xctrace`` writes, on the compiled scanner.

``_scanner`` fills the value store from the bytes of rows; this module handles the rare parts: the document's
head, the starts of tables, and their schemas, which lxml parses as small documents of their own. At the first
unsupported byte it gives up the whole document. So damaged and unusual documents are read by one reader
only, ``reader.DocumentReader``, and this one raises no errors.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from lxml import etree

from tracekit.errors import UsageError
from tracekit.parsers.xml.index import parse_table_place
from tracekit.parsers.xml.reader import (
    MAX_ELEMENT_BYTES,
    OpenNode,
    find_schema_before,
    make_parser,
    read_schema,
)
from tracekit.parsers.xml.value_store import (
    BinaryColumns,
    FmtColumns,
    FrameColumns,
    QueryResult,
    Schema,
    TableNode,
    ValueStore,
)


def _import_scanner() -> Any:
    try:
        from tracekit.parsers.xml import _scanner
    except ImportError:  # installed without a compiler
        return None
    return _scanner


_scanner = _import_scanner()

READER_VARIABLE = "TRACEKIT_XML_READER"
"""The reader of exports: "lxml", "compiled", or unset for the compiled one if it is installed."""

_MAX_HEAD_BYTES = 3 << 15  # before the first row begins, so that other input than exports is refused soon
_SLICE_BYTES = 1 << 20
_ROOT = re.compile(
    rb"""(?:<\?xml version=(["'])1\.0\1(?: encoding=(["'])(?:UTF|utf)-8\2)? ?\?>)?[ \t\n]*"""
    rb"<trace-query-result>"
)
_UNSUPPORTED = re.compile(rb"<[!?]|xmlns|.<(?:row|node|schema|trace-)", re.DOTALL)


def is_compiled() -> bool:
    """Return whether the compiled scanner is installed."""
    return _scanner is not None


def choose_reader() -> str:
    """Return the reader of exports, "compiled" or "lxml"; raise ``UsageError`` for an unavailable one."""
    name = os.environ.get(READER_VARIABLE, "")
    if name not in ("", "lxml", "compiled"):
        raise UsageError(f"{READER_VARIABLE} is '{name}'; it can be lxml or compiled.")
    if name == "compiled" and _scanner is None:
        raise UsageError(
            f"{READER_VARIABLE} is 'compiled', and tracekit was installed without its compiled scanner."
        )
    return name or ("lxml" if _scanner is None else "compiled")


class AcceleratedReader:
    """Reads one document from blocks of bytes, provided that it is what ``xctrace`` writes.

    ``feed`` until it has ``ended`` (``build_document`` has the tables, ``unread`` what came after them), or
    is ``unsupported``, which makes its results unusable. ``close`` when there are no more bytes.
    """

    def __init__(self, schema_names: Mapping[int, str] | None = None) -> None:
        """See ``DocumentReader`` for ``schema_names``."""
        self._schema_names = schema_names or {}
        # A random seed: the strings of a document cannot be chosen to collide in the scanner's hash table.
        self._scan = _scanner.Scanner(secrets.randbits(63))
        self._has_root = False
        self._open: OpenNode | None = None
        self._has_own_schema = False
        self._schemas: list[Schema] = []
        self._nodes: list[TableNode] = []
        self._bytes_since_row = 0
        self._row_began = False
        self._cells = 0
        self.columns = 0
        """The number of columns of the widest table so far."""
        self.ended = False
        self.unsupported = False

    def feed(self, data: bytes) -> None:
        """Read the next block; not after the end."""
        view = memoryview(data)
        for start in range(0, len(data), _SLICE_BYTES):
            piece = view[start : start + _SLICE_BYTES]
            self._scan.feed(piece)
            if not (self.ended or self.unsupported):
                self._read_rows(len(piece))

    def _read_rows(self, new_bytes: int) -> None:
        """Read the complete elements; give up after too many bytes without a row."""
        rows_before = self._scan.all_rows
        if self._scan.is_ready:
            self._read_elements()
        self._bytes_since_row += new_bytes
        if self._scan.all_rows > rows_before:
            self._bytes_since_row = 0
        self.unsupported |= not self.ended and (
            self._bytes_since_row > MAX_ELEMENT_BYTES // 2
            or (not self._scan.all_rows and self._scan.unread_bytes > _MAX_HEAD_BYTES and not self._has_row())
        )

    def _has_row(self) -> bool:
        """Return True if a row began in the head; it ends much later where it spells out a deep stack."""
        if not self._row_began:
            head = self._scan.unread()[:_MAX_HEAD_BYTES]
            self._row_began = _ROOT.match(head) is not None and b"<row>" in head
        return self._row_began

    def close(self) -> None:
        """Read the last bytes: afterwards the document has ``ended``, or is ``unsupported``."""
        if not (self.ended or self.unsupported):
            self._read_elements(final=True)
            self.unsupported = not self.ended

    def unread(self) -> bytes:
        """Return the bytes after the document's end."""
        unread: bytes = self._scan.unread()
        return unread

    def build_document(self) -> QueryResult:
        """Return the document that ended; nothing can be fed afterwards."""
        return QueryResult(_build_store(self._scan), tuple(self._nodes))

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        count: int = self._scan.all_rows
        return count

    @property
    def tables(self) -> int:
        """The number of tables so far."""
        return max(len(self._nodes), len(self._schemas))

    @property
    def cells(self) -> int:
        """The number of cells so far."""
        width = len(self._open.schema.columns) if self._open is not None and self._open.schema else 0
        open_rows: int = self._scan.rows
        return self._cells + open_rows * width

    @property
    def held_bytes(self) -> int:
        """The memory of the values so far."""
        size: int = getattr(self._scan, "held_bytes", 0)  # 0: compiled before there was this limit
        return size

    def _read_elements(self, *, final: bool = False) -> None:
        """Read all complete elements."""
        while (markup := self._scan.run(final)) != _scanner.MORE:
            if not self._handle_markup(markup):
                self.unsupported = True
                return
            self._scan.take()
            if self.ended:
                return

    # Rows are scanned by the compiled part; the rare markup between them is parsed by lxml here. Each element
    # has one place, and any other markup makes the document unsupported, to be read again by lxml alone:
    #   <trace-query-result>  { <node>  [ <schema> ]  rows…  </node> }  </trace-query-result>
    def _handle_markup(self, markup: int) -> bool:
        """Handle the markup between rows; return False where that is not supported."""
        if markup == _scanner.ROOT:
            return self._begin_document()
        if markup == _scanner.NODE:
            return self._begin_node()
        if markup == _scanner.SCHEMA:
            return self._read_schema()
        if markup == _scanner.NODE_END:
            return self._end_node()
        return markup == _scanner.END and self._end_document()

    def _begin_document(self) -> bool:
        is_first, self._has_root = not self._has_root, True
        return is_first and _ROOT.fullmatch(self._scan.peek()) is not None

    def _begin_node(self) -> bool:
        element = _parse_markup(self._scan.peek()[:-1] + b"/>")
        if not self._has_root or self._open is not None or element is None:
            return False
        xpath = element.get("xpath", "")
        run, index = parse_table_place(xpath)
        self._open = OpenNode(run, index, find_schema_before(index, self._schemas, self._schema_names))
        self._begin_rows(own_schema=False)
        return "/detail" not in xpath

    def _read_schema(self) -> bool:
        element = _parse_markup(self._scan.peek())
        schema = None if element is None else read_schema(element)
        if self._open is None or schema is None or self._scan.rows or self._has_own_schema:
            return False
        self._schemas.append(schema)
        self.columns = max(self.columns, len(schema.columns))
        self._open.schema = schema
        self._begin_rows(own_schema=True)
        return True

    def _begin_rows(self, *, own_schema: bool) -> None:
        assert self._open is not None
        self._has_own_schema = own_schema
        self._scan.begin_rows(len(self._open.schema.columns) if self._open.schema else 0)

    def _end_node(self) -> bool:
        if self._open is None or self._open.schema is None:
            return False
        width = len(self._open.schema.columns)
        cells = np.frombuffer(self._scan.end_rows(), np.int32).reshape(-1, width)
        self._cells += cells.size
        self._nodes.append(TableNode(self._open.schema, self._open.run, self._open.index, cells))
        self._open = None
        return True

    def _end_document(self) -> bool:
        self.ended = self._has_root and self._open is None
        return self.ended


def _parse_markup(markup: bytes) -> etree._Element | None:
    """Return an element that was cut out of the document; None if its meaning may depend on the rest."""
    if _UNSUPPORTED.search(markup):
        return None
    try:  # as deep as in the document, for libxml2 bounds depth
        return etree.fromstring(
            b"<trace-query-result><node>%b</node></trace-query-result>" % markup, make_parser()
        )[0][0]
    except etree.XMLSyntaxError:
        return None


def _build_store(scan: Any) -> ValueStore:
    tags, strings = tuple(scan.tags()), tuple(scan.strings())
    slots, fmts, frames, binaries, children = scan.columns()
    i32 = np.int32
    tag, form, value = map(np.frombuffer, slots, (np.uint8, np.uint8, np.uint64))
    return ValueStore(
        tags=tags,
        strings=strings,
        tag=tag,
        form=form,
        value=value,
        fmts=FmtColumns(*map(np.frombuffer, fmts, (i32, i32))),
        children=np.frombuffer(children, i32),
        frames=FrameColumns(*map(np.frombuffer, frames, (i32, i32, np.uint64, np.bool_, i32, i32, i32))),
        binaries=BinaryColumns(*map(np.frombuffer, binaries, (i32, i32, i32, i32, i32, np.uint64))),
    )
