"""Markup of the report as a tree, of which a browser makes elements without reading markup.

Dash components would be the other way; a page of some 1,500 of them takes Dash more than a second to show.
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

    Pictures, scripts, and whatever else such a section has no need of are left out; text stays text.
    """
    return _children(lxml_html.fragment_fromstring(markup, create_parent="div"))


def _children(element: etree._Element) -> Tree:
    found: Tree = [element.text] if element.text else []
    for child in element:
        if isinstance(child.tag, str) and child.tag in _ELEMENTS:
            kept = {str(name): str(value) for name, value in child.attrib.items() if _is_known(str(name))}
            found.append((child.tag, kept, _children(child)))
        if child.tail:
            found.append(child.tail)
    return found


def _is_known(attribute: str) -> bool:
    return attribute in _ATTRIBUTES or attribute.startswith("aria-")
