"""Export documents through the compiled scanner, as far as they are what ``xctrace`` writes.

``_scan`` fills the value store from the bytes of rows; here lies what is rare: the document's head, the
starts of tables, and their schemas, which lxml parses as small documents of their own. At the first thing
that the scanner does not know, ``hand_over`` gives a ``DocumentReader`` that stands at the same place with
the same content, and takes the bytes from there on. So damaged and unusual documents are judged, and
refused, by one reader only.
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
from tracekit.parsers.xml.reader import (
    MAX_ELEMENT_BYTES,
    DocumentReader,
    OpenNode,
    parser,
    read_schema,
    schema_before,
)
from tracekit.parsers.xml.store import (
    BinaryColumns,
    FmtColumns,
    FrameColumns,
    Node,
    QueryResult,
    Schema,
    ValueStore,
)
from tracekit.parsers.xml.stream import NodeCount, table_place


def _import() -> Any:
    try:
        from tracekit.parsers.xml import _scan
    except ImportError:  # installed without a compiler
        return None
    return _scan


_scan = _import()

READER_VARIABLE = "TRACEKIT_XML_READER"
"""Set to "lxml" or "compiled" to have exports read by that; else by the compiled scanner, if it is there."""

_MAX_HELD_BYTES = 1 << 20  # without a finished row in it, this is for lxml
_MAX_FIRST_BYTES = 3 << 15  # the same before the first row: what writes garbage is to be stopped soon
_SLICE_BYTES = 1 << 20
_ROOT = re.compile(
    rb"""(?:<\?xml version=(["'])1\.0\1(?: encoding=(["'])(?:UTF|utf)-8\2)? ?\?>)?[ \t\n]*"""
    rb"<trace-query-result>"
)
_DECLARATION = re.compile(rb"(?:\s|\xef\xbb\xbf)*<\?xml[\s?]")
_UNUSUAL = re.compile(rb"<[!?]|xmlns|.<(?:row|node|schema|trace-)", re.DOTALL)


def is_compiled() -> bool:
    """Return whether the compiled scanner is installed."""
    return _scan is not None


def reader_in_use() -> str:
    """Return what reads exports, "compiled" or "lxml"; raise ``UsageError`` for one that is not there."""
    wanted = os.environ.get(READER_VARIABLE, "")
    if wanted not in ("", "lxml", "compiled"):
        raise UsageError(f"{READER_VARIABLE} is '{wanted}'; it can be lxml or compiled.")
    if wanted == "compiled" and _scan is None:
        raise UsageError(
            f"{READER_VARIABLE} is 'compiled', and tracekit was installed without its compiled scanner."
        )
    return wanted or ("lxml" if _scan is None else "compiled")


class ScanningReader:
    """Reads one document from blocks of bytes, as long as it is what ``xctrace`` writes.

    ``feed`` until ``ended`` (then ``so_far`` is the document and ``rest`` what came after it) or ``strange``
    (then ``hand_over``). ``close`` when there is nothing more.
    """

    def __init__(self, name: str, listed: Mapping[int, str] | None = None) -> None:
        self._name = name
        self._listed = listed or {}
        self._scanner = _scan.Scanner(secrets.randbits(63))
        self._head = b""
        self._leading_lines = 0
        self._node = b""  # the start tag of the open table …
        self._node_lines = 0  # … and how many newlines are before it
        self._has_own_schema = False
        self._open: OpenNode | None = None
        self._continues: OpenNode | None = None  # the open table of the reader that this one goes on from
        self._schemas: list[Schema] = []
        self._nodes: list[Node] = []
        self._bytes_since_row = 0
        self.ended = False
        self.strange = False

    def feed(self, data: bytes) -> None:
        """Take the next block."""
        self._bytes_since_row += len(data)
        if self._bytes_since_row > MAX_ELEMENT_BYTES:
            self.strange = True
        view = memoryview(data)
        for at in range(0, len(data), _SLICE_BYTES):
            if self.ended or self.strange:
                self._scanner.feed(view[at:])
                return
            self._scanner.feed(view[at : at + _SLICE_BYTES])
            if self._scanner.ready():
                before = self._scanner.rows_ever
                self._run()
                if self._scanner.rows_ever > before:
                    self._bytes_since_row = 0
            most = _MAX_HELD_BYTES if self._scanner.rows_ever else _MAX_FIRST_BYTES
            self.strange = self.strange or self._scanner.waiting() > most

    def close(self) -> None:
        """Read what was held back for more to come: afterwards the document ``ended``, or is ``strange``."""
        if not (self.ended or self.strange):
            self._run(final=True)
            self.strange = not self.ended

    def rest(self) -> bytes:
        """Return what was fed and not read."""
        rest: bytes = self._scanner.rest()
        return rest

    def so_far(self) -> QueryResult:
        """Return the tables that ended; nothing can be fed afterwards."""
        return QueryResult(_store_of(self._scanner), tuple(self._nodes))

    def counts(self) -> list[NodeCount]:
        """Return the rows of each table, of the open one so far."""
        counts = [NodeCount(node.schema.name, node.run, node.index, len(node.cells)) for node in self._nodes]
        if self._open is not None:
            name = self._open.schema.name if self._open.schema else None
            counts.append(NodeCount(name, self._open.run, self._open.index, self._scanner.rows))
        return counts

    def going_on_at(self, slot: int) -> ScanningReader:
        """Return a reader for what follows from a later row of the open table on; ``slot`` is the next id."""
        later = ScanningReader(self._name, self._listed)
        later._scanner = _scan.Scanner(secrets.randbits(63), slot)
        later._head, later._node, later._schemas = self._head, self._node, list(self._schemas)
        later._continues = self._open
        if self._open is not None:
            later._open = OpenNode(self._open.run, self._open.index, self._open.schema)
            later._begin_rows(own=self._has_own_schema)
        return later

    def absorb(self, later: ScanningReader) -> bool:
        """Take over what ``later``, of ``going_on_at``, read to the document's end: this one ``ended``, too.

        Returns False, with nothing changed, when that does not fit what was read here.
        """
        table, *others = later._nodes
        if later._continues is not self._open or not self._scanner.absorb(
            later._scanner, table.cells.reshape(-1)
        ):
            return False
        self._end_node()
        self._nodes += others
        self.ended = True
        return True

    @property
    def in_rows(self) -> bool:
        """Whether rows of a table were read that has not ended."""
        return self._open is not None and self._scanner.rows > 0

    @property
    def begun(self) -> bool:
        """Whether any markup was read."""
        return bool(self._head)

    def hand_over(self) -> DocumentReader:
        """Return a reader that has read what this one has; it is to be fed ``rest`` and what follows."""
        reader = DocumentReader(self._name, self._listed)
        rest = self.rest()
        lines = self._scanner.lines
        if self._open is not None:
            self._open.cells.frombytes(self._scanner.end_rows())
        if self._head or not _DECLARATION.match(rest):  # white space before that is dropped
            before = b"\n" * self._leading_lines + self._head
            before += _newlines(self._node_lines - before.count(b"\n")) + self._node
            before += _newlines(lines - before.count(b"\n"))
            reader.resume(before, self.so_far(), self._schemas, self._open)
        reader.count(self._bytes_since_row - len(rest))
        return reader

    def _run(self, *, final: bool = False) -> None:
        """Read on until there is nothing whole to be read."""
        while (found := self._scanner.run(final)) != _scan.MORE:
            if not self._understand(found):
                self.strange = True
                return
            self._scanner.take()
            if self.ended:
                return

    def _understand(self, found: int) -> bool:
        """Take in what the scanner stopped at; return whether it is what stands there in every export."""
        if found == _scan.ROOT:
            return self._root()
        if found == _scan.NODE:
            return self._begin_node()
        if found == _scan.SCHEMA:
            return self._schema()
        if found == _scan.NODE_END:
            return self._end_node()
        return found == _scan.END and self._end()

    def _root(self) -> bool:
        head = self._scanner.peek()
        if self._head or not _ROOT.fullmatch(head):
            return False
        if head.startswith(b"<?xml"):
            self._scanner.forget_lines()
        self._leading_lines = self._scanner.lines
        self._head = head
        return True

    def _begin_node(self) -> bool:
        tag = self._scanner.peek()
        element = _parsed(tag[:-1] + b"/>")
        if not self._head or self._open is not None or element is None:
            return False
        xpath = element.get("xpath", "")
        run, index = table_place(xpath)
        self._node, self._node_lines = tag, self._scanner.lines
        self._open = OpenNode(run, index, schema_before(index, self._schemas, self._listed))
        self._begin_rows()
        return "/detail" not in xpath

    def _schema(self) -> bool:
        element = _parsed(self._scanner.peek())
        schema = None if element is None else read_schema(element)
        if self._open is None or schema is None or self._scanner.rows or self._has_own_schema:
            return False
        self._schemas.append(schema)
        self._open.schema = schema
        self._begin_rows(own=True)
        return True

    def _begin_rows(self, *, own: bool = False) -> None:
        assert self._open is not None
        self._has_own_schema = own
        self._scanner.begin_rows(len(self._open.schema.columns) if self._open.schema else 0)

    def _end_node(self) -> bool:
        if self._open is None or self._open.schema is None:
            return False
        width = len(self._open.schema.columns)
        cells = np.frombuffer(self._scanner.end_rows(), np.int32).reshape(-1, width)
        self._nodes.append(Node(self._open.schema, self._open.run, self._open.index, cells))
        self._open = None
        self._node = b""
        return True

    def _end(self) -> bool:
        self.ended = bool(self._head) and self._open is None
        return self.ended


def _parsed(markup: bytes) -> etree._Element | None:
    """Return an element that stands alone; None when it holds what may mean something elsewhere."""
    if _UNUSUAL.search(markup):
        return None
    try:  # as deep as in the document, for libxml2 bounds depth
        return etree.fromstring(
            b"<trace-query-result><node>%b</node></trace-query-result>" % markup, parser()
        )[0][0]
    except etree.XMLSyntaxError:
        return None


def _newlines(count: int) -> bytes:
    """Return so many newlines, none if negative; libxml2 refuses a text of ten megabytes."""
    whole, left = divmod(max(count, 0), 1_000_000)
    return (b"\n" * 1_000_000 + b"<x/>") * whole + b"\n" * left


def _store_of(scanner: Any) -> ValueStore:
    tags, strings = tuple(scanner.tags()), tuple(scanner.strings())
    slots, fmts, frames, binaries, children = scanner.columns()
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
