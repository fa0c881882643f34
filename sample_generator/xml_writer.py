"""Tables as `xctrace export` writes them: every value once with an `id`, afterwards as `<tag ref="…"/>`.

    <node xpath='//trace-toc[1]/run[1]/data[1]/table[11]'><schema name="time-profile">…</schema><row>…</row>
    <row><sample-time id="14" fmt="00:00.059.248">59248125</sample-time><thread ref="2"/>…</row>
    </node></trace-query-result>

Numbers are dense, start at 1 and rise in document order. They are shared by all kinds of elements and given
at every depth: a process first seen inside a thread is referred to by that number wherever it comes again.
Two elements are the same when type and value are, whatever they mean in their rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

DECLARATION = '<?xml version="1.0"?>\n'

NO_MATCH = f"{DECLARATION}<trace-query-result>\n</trace-query-result>\n"
"""What an XPath that selects nothing exports, with exit code 0: 65 bytes."""


@dataclass(frozen=True)
class Element:
    """One value of a table; `fmt` is what Instruments shows, `text` what it means."""

    tag: str
    fmt: str | None = None
    text: str | None = None
    children: tuple[Element, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    numbered: bool = True


SENTINEL = Element("sentinel", numbered=False)
"""NULL: the only cell that never has an id, a ref or a fmt."""


@dataclass(frozen=True)
class Schema:
    """A table's name and columns as (mnemonic, shown name, engineering type)."""

    name: str
    columns: tuple[tuple[str, str, str], ...]
    documentation: str | None = None

    def to_xml(self) -> str:
        columns = "".join(
            f"<col><mnemonic>{mnemonic}</mnemonic><name>{shown}</name>"
            f"<engineering-type>{kind}</engineering-type></col>"
            for mnemonic, shown, kind in self.columns
        )
        return f"<schema{_attributes(name=self.name, documentation=self.documentation)}>{columns}</schema>"


@dataclass
class Node:
    """One selected table: its place in the table of contents and its rows."""

    table_index: int
    rows: list[tuple[Element, ...]] = field(default_factory=list)


def query_result(schema: Schema, nodes: list[Node]) -> str:
    """Return the export of all tables of one schema; only the first node carries the schema."""
    ids = _Ids()
    parts = [DECLARATION, "<trace-query-result>\n"]
    for position, node in enumerate(nodes):
        parts.append(f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{node.table_index}]'>")
        if position == 0:
            parts.append(schema.to_xml())
        for row in node.rows:
            if len(row) != len(schema.columns):
                raise ValueError(f"{schema.name}: {len(row)} cells for {len(schema.columns)} columns")
            parts.append(f"<row>{''.join(map(ids.write, row))}</row>\n")
        parts.append("</node>")
    parts.append("</trace-query-result>\n")
    return "".join(parts)


def pretty(element: Element, depth: int = 0) -> str:
    """Return an element as a table of contents shows it: one per line, four spaces a level."""
    indent = "    " * depth
    start = f"{indent}<{element.tag}{_attributes(dict(element.attributes))}"
    if element.children:
        inner = "\n".join(pretty(child, depth + 1) for child in element.children)
        return f"{start}>\n{inner}\n{indent}</{element.tag}>"
    if element.text is None:
        return f"{start}/>"
    return f"{start}>{escape(element.text, quote=False)}</{element.tag}>"


class _Ids:
    """The numbers given so far in one document."""

    def __init__(self) -> None:
        self._ids: dict[Element, int] = {}

    def write(self, element: Element) -> str:
        if not element.numbered:
            return self._body(element, f"<{element.tag}")
        existing_id = self._ids.get(element)
        if existing_id is not None:
            return f'<{element.tag} ref="{existing_id}"/>'
        number = self._ids[element] = len(self._ids) + 1
        return self._body(element, f"<{element.tag}{_attributes(id=str(number), fmt=element.fmt)}")

    def _body(self, element: Element, start: str) -> str:
        start += _attributes(dict(element.attributes))
        if element.text is None and not element.children:
            return f"{start}/>"
        inner = escape(element.text or "", quote=False) + "".join(map(self.write, element.children))
        return f"{start}>{inner}</{element.tag}>"


def _attributes(pairs: dict[str, str] | None = None, **more: str | None) -> str:
    return "".join(
        f' {name}="{escape(value, quote=False).replace(chr(34), "&quot;")}"'
        for name, value in ((pairs or {}) | more).items()
        if value is not None
    )
