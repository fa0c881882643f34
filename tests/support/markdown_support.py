"""Markdown as GitHub reads it: what a reader sees, what would format, and the cells of tables."""

from __future__ import annotations

import html
import re

PUNCTUATION = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"
_ESCAPE = re.compile(rf"<!-- -->|\\({PUNCTUATION})|(&#?\w+;)")
BREAK = "<!-- -->"


def shown(text: str) -> str:
    """Return a line as a reader sees it, without markup."""
    return _ESCAPE.sub(lambda match: match[1] or html.unescape(match[2] or ""), text)


def formats(text: str) -> list[str]:
    """Return what GitHub would not show as it stands: markup, and whatever it looks for in the text that it rendered."""
    bare = _ESCAPE.sub("", text)
    markup = re.findall(r"[\\`*_\[\]|<>~]", bare)
    markup += re.findall(r"(?i)(?:https?|ftp)://|www\.\w", text)
    for piece in map(shown, text.split(BREAK)):
        markup += re.findall(r"(?<!\w)@\w+|\w@\w+|#\d+|\bGH-\d+|:[a-z0-9_+-]*[a-z+][a-z0-9_+-]*:", piece)
    markup += re.findall(r"(?<!\\)\$[^\s<&]+\$", text)
    return markup


def tables(text: str) -> list[list[list[str]]]:
    """Each table as its rows of cells, split at bars that are not escaped."""
    parsed: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith(" |")
            parsed[-1].append([cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]])
        elif parsed[-1]:
            parsed.append([])
    return [table for table in parsed if table]
