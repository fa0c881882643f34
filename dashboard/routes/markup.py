"""The report's markup as a tree, from which the browser builds elements without parsing markup.

The alternative, Dash components, is too slow: Dash takes more than a second for a page of some 1,500.
"""

from __future__ import annotations

from lxml import etree
from lxml import html as lxml_html

Tree = list["str | tuple[str, dict[str, str], Tree]"]
"""Texts, and elements as (name, attributes, children)."""

_ELEMENTS = frozenset(
    {"section", "h2", "h3", "p", "div", "span", "figure", "a", "br", "pre", "code", "details", "summary"}
    | {"table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "dl", "dt", "dd"}
    | {"strong", "b", "em", "small", "mark"}
)
_ATTRIBUTES = frozenset(
    {
        "id",
        "class",
        "role",
        "scope",
        "title",
        "tabindex",
        "colspan",
        "rowspan",
        "hidden",
        "open",
        "lang",
        "dir",
    }
)


def tree(markup: str) -> Tree:
    """Return markup of ``tracekit.report.html`` as a tree.

    Only the listed elements and attributes are kept, so no picture and no script; text stays text.
    """
    return _children(lxml_html.fragment_fromstring(markup, create_parent="div"))


def _children(element: etree._Element) -> Tree:
    nodes: Tree = [element.text] if element.text else []
    for child in element:
        if isinstance(child.tag, str) and child.tag in _ELEMENTS:
            pairs = ((str(name), str(value)) for name, value in child.attrib.items())
            attributes = {name: value for name, value in pairs if _is_allowed(name)}
            nodes.append((child.tag, attributes, _children(child)))
        if child.tail:
            nodes.append(child.tail)
    return nodes


def _is_allowed(attribute: str) -> bool:
    return attribute in _ATTRIBUTES or attribute.startswith("aria-")
