"""The reference reader of export documents, streaming, on lxml: it decides whether input is an export.

``xctrace export --input X.trace --xpath '…/table[@schema="time-profile"]'`` writes::

    <?xml version="1.0"?>
    <trace-query-result>
    <node xpath='//trace-toc[1]/run[1]/data[1]/table[11]'><schema name="time-profile"><col>
    <mnemonic>time</mnemonic><name>Sample Time</name><engineering-type>sample-time</engineering-type></col>…
    </schema><row><sample-time id="1" fmt="00:00.497">497399291</sample-time>
    <thread id="2" fmt="…">…</thread><process ref="4"/><sentinel/>…</row>

A cell is the Nth child of ``<row>`` for the Nth ``<col>``; its tag is not its column (two columns may share a
tag, and the type ``any`` shows as another tag). Only the first ``<node>`` of a schema repeats ``<schema>``.
Ignored: white space, comments, ``fmt`` except for names, everything that is not ``<row>`` in a node.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from lxml import etree

from tracekit.errors import InputError
from tracekit.parsers.input_kinds import INPUTS
from tracekit.parsers.xml.index import parse_table_place
from tracekit.parsers.xml.store_builder import CellError, StoreBuilder
from tracekit.parsers.xml.toc import TableOfContents, read_toc
from tracekit.parsers.xml.value_store import ColumnDefinition, QueryResult, Schema, TableNode, make_array

MAX_ELEMENT_BYTES = 16 << 20
"""The most bytes without a finished row: bounds memory on input that is not an export. Real rows are a few
kilobytes, tables of contents some tens; 16 MB of empty elements make a tree of half a gigabyte."""

_HEAD_BYTES = 4096
_ROOTS = ("trace-query-result", "trace-toc")
_ROOT = re.compile(
    rb"(?:\s|\xef\xbb\xbf|<\?.*?\?>|<!--.*?-->|<![^\[>]*(?:\[.*?\])?\s*>)*<([A-Za-z_][\w.:-]*)", re.DOTALL
)
_PLACE = re.compile(r", line \d+, column \d+\Z")
_EVENT_TAGS = ("trace-query-result", "trace-toc", "node", "schema", "row")
_EXPORT_AGAIN = "The export was cut off: export the table again."

_PARSER_OPTIONS: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "remove_comments": True,
    "remove_pis": True,
}

Parsed: TypeAlias = QueryResult | TableOfContents
"""A finished document: a query result, or a table of contents."""


class NotAnExportError(InputError):
    """The input is empty, or is not an export of xctrace."""


class CutOffError(InputError):
    """The input is an export that ends before its root element does."""


class DocumentReader:
    """Reads one document from blocks of bytes: ``feed`` them, then ``close``.

    ``schema_names`` are the schemas of tables by their position in the table of contents, where that is
    known: xctrace writes a schema with its first table only, and tables of other schemas may come before its
    next. Raises ``InputError`` for anything that is not a well-formed, complete export.
    """

    def __init__(self, name: str, schema_names: Mapping[int, str] | None = None) -> None:
        self._name = name
        self._schema_names = schema_names or {}
        self._parser = etree.XMLPullParser(events=("start", "end"), tag=_EVENT_TAGS, **_PARSER_OPTIONS)
        # At first all bytes, which are not parsed yet; then the document's first bytes without white space.
        self._head = b""
        self._parsed_head = False
        self._builder = StoreBuilder()
        self._schemas: list[Schema] = []
        self._open: OpenNode | None = None
        self._nodes: list[TableNode] = []
        self._toc: TableOfContents | None = None
        self._bytes_since_row = 0
        self._cells = 0
        self.columns = 0
        """The number of columns of the widest table so far."""

    def feed(self, data: bytes) -> None:
        """Parse the next block; the first few are joined, so that errors can name the kind of input."""
        if not self._parsed_head:
            self._head += data
            if len(self._head) < _HEAD_BYTES:
                return
            data, self._parsed_head = self._head, True
            self._head = self._head.lstrip()[:_HEAD_BYTES]
        elif len(self._head) < _HEAD_BYTES:
            self._head = (self._head + data[:_HEAD_BYTES]).lstrip()[:_HEAD_BYTES]
        self._parse_block(data)

    @property
    def tables(self) -> int:
        """The number of tables so far, exported or listed, and of the runs of a table of contents."""
        listed_count = sum(1 + len(run.tables) for run in self._toc.runs) if self._toc else 0
        return max(len(self._nodes), len(self._schemas), listed_count)

    @property
    def cells(self) -> int:
        """The number of cells so far."""
        return self._cells + (len(self._open.cells) if self._open else 0)

    def flush(self) -> None:
        """Parse the first blocks if they were too few bytes to be parsed yet."""
        if not self._parsed_head:
            self._parsed_head = True
            self._parse_block(self._head)

    def _parse_block(self, data: bytes) -> None:
        self._bytes_since_row += len(data)
        if self._bytes_since_row > MAX_ELEMENT_BYTES:
            raise self._make_error(
                f"more than {MAX_ELEMENT_BYTES >> 20} MB came without a finished row.",
                "This is not what xctrace export writes.",
            )
        try:
            self._parser.feed(data)
        except etree.XMLSyntaxError as error:
            self._take_events()  # rows before this place may have a more specific problem
            raise self._make_syntax_error(error) from error
        self._take_events()

    def close(self) -> Parsed:
        """Return the finished document."""
        self.flush()
        try:
            root = self._parser.close()
        except etree.XMLSyntaxError as error:
            if (
                self._read_root_name() in _ROOTS
                and getattr(error, "code", 0) == etree.ErrorTypes.ERR_INTERNAL_ERROR
            ):
                # lxml reports an undefined entity this way, without a place.
                raise self._make_error("is not well-formed XML.", _EXPORT_AGAIN) from error
            if self._read_root_name() in _ROOTS:
                position_text = (
                    f" (after row {len(self._open)} of '{self._open.schema_name}')" if self._open else ""
                )
                raise CutOffError(
                    self._name, f"ends in the middle of the document{position_text}.", _EXPORT_AGAIN
                ) from error
            raise self._make_not_an_export_error() from error
        self._take_events()
        if self._toc is not None:
            return self._toc
        if root.tag != "trace-query-result":
            raise self._make_not_an_export_error()
        return self.build_partial_result()

    def build_partial_result(self) -> QueryResult:
        """Return the tables that ended so far."""
        return QueryResult(self._builder.build(), tuple(self._nodes))

    def _take_events(self) -> None:
        for event, element in self._parser.read_events():
            assert isinstance(element, etree._Element)
            if event == "start":
                self._start_element(element)
            elif element.tag == "row":
                self._end_row(element)
            elif element.tag == "schema":
                self._end_schema(element)
            elif element.tag == "node":
                self._end_node(element)
            elif element.tag == "trace-toc" and element.getparent() is None:
                self._toc = read_toc(element)

    def _start_element(self, element: etree._Element) -> None:
        if element.getparent() is None and element.getroottree().docinfo.internalDTD is not None:
            raise self._make_error("declares a document type, which no export does, and was not read.")
        if element.tag == "node":
            xpath = element.get("xpath", "")
            if "/detail" in xpath:
                raise self._make_error(
                    "holds a track detail (Allocations, Leaks or VM Tracker), which is a list without a"
                    " schema; tracekit reads tables.",
                    """Export one with --xpath '/trace-toc/run/data/table[@schema="time-profile"]'.""",
                )
            run, index = parse_table_place(xpath)
            self._open = OpenNode(run, index, find_schema_before(index, self._schemas, self._schema_names))

    def _end_schema(self, element: etree._Element) -> None:
        schema = read_schema(element)
        if self._open is None or schema is None:
            raise self._make_error("has a <schema> without a name, without columns, or outside a <node>.")
        self._schemas.append(schema)
        self.columns = max(self.columns, len(schema.columns))
        self._open.schema = schema

    def _end_row(self, row: etree._Element) -> None:
        node = self._open
        parent = row.getparent()
        if node is None or parent is None or parent.tag != "node":
            return
        if node.schema is None:
            raise self._make_error("has rows without a <schema> before them.", "Export the table again.")
        place = f"row {len(node) + 1} of '{node.schema.name}' (line {row.sourceline})"
        if len(row) != len(node.schema.columns):
            raise self._make_error(
                f"{place} has {len(row)} cells where the schema has {len(node.schema.columns)} columns.",
                "The file is damaged: export the table again.",
            )
        try:
            node.cells.extend([self._builder.add(cell) for cell in row])
        except CellError as error:
            raise self._make_error(
                f"{place}: {error}.", "The file is damaged: export the table again."
            ) from error
        # The tree would grow with the document: this row is emptied, and those before it are removed.
        row.clear()
        while row.getprevious() is not None:
            del parent[0]
        self._bytes_since_row = 0

    def _end_node(self, element: etree._Element) -> None:
        if self._open is not None:
            if self._open.schema is None:
                raise self._make_error("has a <node> without a <schema>.", "Export the table again.")
            self._cells += len(self._open.cells)
            self._nodes.append(self._open.finish())
        self._open = None
        element.clear()

    def _read_root_name(self) -> str:
        match = _ROOT.match(self._head)
        return match[1].decode("ascii", "replace") if match else ""

    def _make_not_an_export_error(self) -> InputError:
        root = self._read_root_name()
        if root.lower() == "html" or self._head.lstrip()[:14].lower() == b"<!doctype html":
            problem = "is a web page, not an export (a download that failed?)."
        elif root:
            problem = f"is XML with the root <{root[:40]}>, not an export of xctrace."
        else:
            from tracekit.parsers.foreign_files import DEVICE_ADVICE, DEVICE_READINGS, name_foreign_file

            foreign = name_foreign_file(self._name, self._head)
            if foreign == DEVICE_READINGS:
                return NotAnExportError(self._name, f"is {foreign}.", DEVICE_ADVICE)
            problem = (
                f"is {foreign}, which tracekit does not read."
                if foreign
                else "is not XML, and no text of a kind that tracekit reads."
            )
        return NotAnExportError(self._name, problem, f"It reads: {INPUTS}.")

    def _make_syntax_error(self, error: etree.XMLSyntaxError) -> InputError:
        if self._read_root_name() not in _ROOTS:
            return self._make_not_an_export_error()
        if "XML_PARSE_HUGE" in (error.msg or ""):  # libxml2 bounds the length of a text, depth, and entities
            return self._make_error(
                f"holds in line {error.lineno} a text or a nesting larger than any that xctrace writes."
            )
        reason = _PLACE.sub("", error.msg or "")
        return self._make_error(
            f"is not well-formed XML in line {error.lineno} ({reason}).", "Export the table again."
        )

    def _make_error(self, problem: str, advice: str = "") -> InputError:
        return InputError(self._name, problem, advice)


def make_parser() -> etree.XMLParser:
    """Return a parser for a single element, with the restrictions of ``DocumentReader``."""
    return etree.XMLParser(**_PARSER_OPTIONS)


def read_schema(element: etree._Element) -> Schema | None:
    """Return the schema that a ``<schema>`` declares; None without a name or columns."""
    columns = tuple(
        ColumnDefinition(
            column.findtext("mnemonic") or "",
            column.findtext("name") or "",
            column.findtext("engineering-type") or "",
        )
        for column in element.iterchildren("col")
    )
    name = element.get("name", "")
    return Schema(name, columns) if name and columns else None


def find_schema_before(
    index: int, schemas: Sequence[Schema], schema_names: Mapping[int, str]
) -> Schema | None:
    """Return the last schema before a table that has none; its name is the listed one if that is known."""
    name = schema_names.get(index)
    matches = [schema for schema in schemas if name in (None, schema.name)] or schemas
    return matches[-1] if matches else None


class OpenNode:
    """The ``<node>`` that is being read; its length is its number of rows."""

    def __init__(self, run: int, index: int, schema: Schema | None) -> None:
        self.run = run
        self.index = index
        self.schema = schema
        self.cells = array("i")

    def __len__(self) -> int:
        return len(self.cells) // len(self.schema.columns) if self.schema else 0

    @property
    def schema_name(self) -> str:
        """The schema's name, "" before there is one."""
        return self.schema.name if self.schema else ""

    def finish(self) -> TableNode:
        """Return the finished table."""
        assert self.schema is not None
        width = len(self.schema.columns)
        return TableNode(
            self.schema, self.run, self.index, make_array(self.cells, np.int32).reshape(-1, width)
        )
