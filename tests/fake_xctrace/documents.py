"""The documents that `export` writes, put together from stored exports.

Every stored export numbers its elements from 1; one answer has one numbering, so that ids change, and a
node whose elements refer to an earlier node of its export that was not requested gets copies of them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from lxml import etree

from fake_xctrace.bundles import SAMPLES

EMPTY = b'<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'
"""The answer to a query without a match, 65 bytes (mattmireles/mamba-asr-mps)."""

_NODE = re.compile(
    rb"<node xpath=['\"]//trace-toc\[1\]/run\[(\d+)\]/data\[1\]/table\[(\d+)\]['\"]>(<schema .*?</schema>)?(.*?)</node>",
    re.DOTALL,
)
_NUMBER = re.compile(rb'(<[\w.:-]+ (id|ref)=")(\d+)"')
_RUN = re.compile(rb"<run number=\"(\d+)\"")
_RUNS = re.compile(rb"<trace-toc>\s*(.*?)\s*</trace-toc>", re.DOTALL)


class _Node(NamedTuple):
    """One table of a stored export."""

    document: Path
    position: int
    schema: bytes
    rows: bytes


def contents(runs: list[Path]) -> bytes:
    """Return the table of contents; the runs of later folders are numbered on."""
    first, *later = [(run / "toc.xml").read_bytes() for run in runs]
    count = len(_RUN.findall(first))
    for text in later:
        body = b"\n    ".join(_RUNS.findall(text))
        for number in _RUN.findall(body):
            count += 1
            body = body.replace(b'<run number="%s"' % number, b'<run number="%d"' % count, 1)
        first = first.replace(b"</trace-toc>", b"    %s\n</trace-toc>" % body)
    return first


def answer(runs: list[Path], query: str, schemas_once: bool = True) -> tuple[bytes, set[str]]:
    """Return the result of a query and the schemas in it; raise ValueError when it is no XPath."""
    tree = etree.fromstring(contents(runs)).getroottree()
    try:
        result = tree.xpath(query)
    except etree.XPathError as error:
        raise ValueError(str(error)) from error
    items = result if isinstance(result, list) else []
    selected = [item for item in items if isinstance(item, etree._Element)]
    if not selected:
        return EMPTY, set()
    writer = _Writer(runs, schemas_once)
    for element in selected:
        writer.add(element)
    return writer.document(), writer.schemas


class _Writer:
    """A result document: its nodes in the order of the table of contents, numbered together."""

    def __init__(self, runs: list[Path], schemas_once: bool) -> None:
        self._runs = [(run, number) for run in runs for number in range(1, 1 + _count(run))]
        self._parts: list[bytes] = []
        self._numbers: dict[Path, dict[bytes, int]] = {}
        self._last = 0
        self._schemas_once = schemas_once
        self._previous = ""
        self.schemas: set[str] = set()

    def document(self) -> bytes:
        return (
            b'<?xml version="1.0"?>\n<trace-query-result>\n'
            + b"".join(self._parts)
            + b"</trace-query-result>\n"
        )

    def add(self, element: Any) -> None:
        path = _path(element)
        inside = self._table(element) if element.tag == "table" else etree.tostring(element, with_tail=False)
        self._parts.append(b"<node xpath='%s'>%s</node>" % (path.encode(), inside))

    def _table(self, element: Any) -> bytes:
        """Only the first node of a schema has the `<schema>` (Jiang020609 os_signpost, Xcode 26.3).

        No public file shows whether it is repeated after a table of another schema.
        """
        name = element.get("schema")
        run = element.getparent().getparent()
        folder, number = self._runs[run.getparent().index(run)]
        node = _stored(folder).get((number, element.getparent().index(element) + 1))
        has_schema = name in self.schemas if self._schemas_once else name == self._previous
        schema = b"" if has_schema else node.schema if node else _schema(name, folder)
        self._previous = name
        self.schemas.add(name)
        return schema + (self._renumbered(node) if node else b"")

    def _renumbered(self, node: _Node) -> bytes:
        new_numbers = self._numbers.setdefault(node.document, {})
        numbers = _NUMBER.findall(node.rows)
        defined = new_numbers.keys() | {number for _, kind, number in numbers if kind == b"id"}
        complete = all(number in defined for _, _, number in numbers)
        rows = node.rows if complete else _with_copies(node, set(new_numbers))

        def renumbered(match: re.Match[bytes]) -> bytes:
            if match[2] == b"id":
                self._last += 1
                new_numbers[match[3]] = self._last
            return b'%s%d"' % (match[1], new_numbers[match[3]])

        return _NUMBER.sub(renumbered, rows)


def _count(run: Path) -> int:
    return len(_RUN.findall((run / "toc.xml").read_bytes()))


def _path(element: Any) -> str:
    """Return the positional path of an element in xctrace's notation."""
    steps = []
    while element is not None:
        parent = element.getparent()
        same = [child for child in parent if child.tag == element.tag] if parent is not None else [element]
        steps.append(f"{element.tag}[{same.index(element) + 1}]")
        element = parent
    return "//" + "/".join(reversed(steps))


@cache
def _stored(folder: Path) -> dict[tuple[int, int], _Node]:
    """Return the stored tables of a folder by run and position."""
    nodes: dict[tuple[int, int], _Node] = {}
    for path in sorted(folder.glob("*.xml")):
        schema = b""
        for position, match in enumerate(_NODE.finditer(path.read_bytes())):
            schema = match[3] or schema
            nodes[int(match[1]), int(match[2])] = _Node(path, position, schema, match[4])
    return nodes


@cache
def _schema(name: str, folder: Path) -> bytes:
    """Return the schema of a table without a stored export: that of another table, or a made-up one."""
    for path in (*folder.glob(f"{name}.xml"), *sorted(SAMPLES.glob(f"*/{name}.xml"))):
        match = _NODE.search(path.read_bytes())
        if match and match[3]:
            return match[3]
    column = "<col><mnemonic>time</mnemonic><name>Timestamp</name><engineering-type>event-time</engineering-type></col>"
    return f"<schema name={quoteattr(name)}>{column}</schema>".encode()


def _with_copies(node: _Node, defined: set[bytes]) -> bytes:
    """Return the rows of a node, with copies of the elements in other nodes that they refer to."""
    root = etree.fromstring(node.document.read_bytes(), etree.XMLParser(huge_tree=True))
    originals = {element.get("id"): element for element in root.iter() if element.get("id")}
    written = {number.decode() for number in defined}
    rows = [child for child in root.findall("node")[node.position] if child.tag == "row"]
    return b"".join(etree.tostring(_whole(row, originals, written)) for row in rows)


def _whole(element: Any, originals: dict[str, Any], written: set[str]) -> Any:
    number = element.get("id") or element.get("ref")
    if number in written:
        copy = etree.Element(element.tag, ref=number)
        copy.tail = element.tail
        return copy
    source = originals[number] if element.get("ref") else element
    if number:
        written.add(number)
    copy = etree.Element(source.tag, dict(source.attrib))
    copy.text, copy.tail = source.text, element.tail
    copy.extend(_whole(child, originals, written) for child in source)
    return copy
