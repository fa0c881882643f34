"""A report as its parsed elements, for tests of what stands in the markup."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from view_support import (
    View,
    decoded,
    inflated,
)

VOID = {"meta", "br", "hr", "link", "img", "input"}
LOADING = {
    "src",
    "href",
    "srcset",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "ping",
    "xlink:href",
}


@dataclass
class Parsed(HTMLParser):
    """The document's elements in order, with the texts inside."""

    structure: list[Any] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.structure.append((len(self.open), name, tuple(key for key, _ in attrs)))
        self.attributes += [(name, key, value or "") for key, value in attrs]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open, f"</{name}> ends nothing"
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self.open), data))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    handle_pi = unknown_decl = handle_comment

    def text(self, inside: str = "body") -> str:
        return "".join(data for path, data in self.texts if inside in path and "script" not in path)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


def parsed(text: str) -> Parsed:
    """Parse a report; every element must be closed where it ought to be."""
    document = Parsed()
    document.feed(text)
    document.close()
    assert document.open == []
    return document


def loading_attributes(document: Parsed) -> list[tuple[str, str, str]]:
    return [(tag, key, value) for tag, key, value in document.attributes if key in LOADING]


def view_in(text: str) -> View:
    (data,) = re.findall(r'<script type="application/octet-stream" id="tracekit-data">([^<]*)</script>', text)
    return decoded(inflated(data))


def section_of(text: str, name: str) -> str:
    """The words of one section, blanks joined."""
    (inside,) = re.findall(rf'<section id="{name}".*?</section>', text, re.DOTALL)
    return " ".join(" ".join(data for _, data in parsed(inside).texts).split())
