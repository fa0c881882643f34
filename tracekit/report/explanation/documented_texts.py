"""The texts of findings and issues, from ``docs/findings.md``, which an installed package holds as a copy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

_ROOM = Path(__file__).resolve().parents[1]
_PLACES = (_ROOM / "findings.md", _ROOM.parents[1] / "docs" / "findings.md")
"""Of an installed package, and of a checkout."""
_FINDING = re.compile(r"^### (\S+)\n\n(.+?)(?=\n#|\Z)", re.MULTILINE | re.DOTALL)
_ISSUE = re.compile(r"^\| (`.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
_CODE = re.compile(r"`([\w-]+)`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKUP = re.compile(r"\*\*|`")

Texts: TypeAlias = Mapping[str, tuple[str, ...]]
"""Paragraphs by name."""


def read_findings() -> Texts:
    """Return the paragraphs about each kind of finding."""
    return _read_page()[0]


def read_issues() -> Texts:
    """Return the paragraphs about each issue code."""
    return _read_page()[1]


def find_paragraphs(name: str) -> tuple[str, ...]:
    """Return the paragraphs about a finding or an issue, without markup; none for other names."""
    findings, issues = _read_page()
    return tuple(_MARKUP.sub("", text) for text in findings.get(name, issues.get(name, ())))


def remove_links(text: str) -> str:
    """Return a text with the words of its links alone: the pages are not where it is read."""
    return _LINK.sub(r"\1", text)


@cache
def _read_page() -> tuple[Texts, Texts]:
    text = remove_links(next(path for path in _PLACES if path.is_file()).read_text("utf-8"))
    findings, _, issues = text.partition("\n## Issues\n")
    return {kind: _split_paragraphs(body) for kind, body in _FINDING.findall(findings)}, _read_rows(issues)


def _split_paragraphs(body: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in body.split("\n\n"))


def _read_rows(issues: str) -> Texts:
    texts: dict[str, tuple[str, ...]] = {}
    for codes, meaning, advice in _ISSUE.findall(issues):
        paragraphs = [_write_sentence(meaning), _write_sentence(f"To do: {advice}") if advice else ""]
        for code in _CODE.findall(codes):
            texts[code] = (*texts.get(code, ()), *filter(None, paragraphs))
    return texts


def _write_sentence(text: str) -> str:
    """Return a table's cell as a sentence."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
