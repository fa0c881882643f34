"""HTML elements from Python: everything that is not ``Html`` is text, and escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tracekit.text import clip, printable

_LONGEST_TEXT = 4_000
_VOID = frozenset({"meta", "br", "hr", "link", "img"})


class Html(str):
    """Markup made by this module, which is inserted as it is."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element.

    An attribute with the value None or False is left out; a trailing underscore of its name is dropped,
    others become hyphens (``class_``, ``aria_label``). Very long text is cut; ``Html`` never is.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            attribute = key.removesuffix("_").replace("_", "-")
            text = value if isinstance(value, Html) else escape(_text(value))
            parts.append(attribute if value is True else f'{attribute}="{text}"')
    opening = f"<{' '.join(parts)}>"
    return Html(opening) if name in _VOID else Html(f"{opening}{join(children)}</{name}>")


def join(children: Sequence[object]) -> Html:
    """Return children one after the other; None is left out."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(_text(child), quote=False)
            for child in children
            if child is not None
        )
    )


def _text(value: object) -> str:
    return "\n".join(map(printable, clip(str(value), _LONGEST_TEXT).split("\n")))


def table(
    header: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[bool], caption: str
) -> Html:
    """Return a table, or nothing without rows; ``numbers`` marks the right-aligned columns."""
    if not rows:
        return Html("")
    kinds = ["number" if number else None for number in numbers]
    head = tag(
        "tr", *(tag("th", name, scope="col", class_=kind) for name, kind in zip(header, kinds, strict=True))
    )
    body = [
        tag("tr", *(tag("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    return tag(
        "div",
        tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body)),
        class_="table-scroll",
        tabindex="0",
        role="region",
        aria_label=f"{caption}, table",
    )


def badge(engine: str) -> Html:
    """Return an engine's name in its colour."""
    return tag("span", engine, class_=f"engine engine-{engine.lower()}")
