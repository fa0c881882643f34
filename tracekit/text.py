"""Text for terminals: aligned columns, and nothing from a trace that could drive the terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

_PARAGRAPH_WIDTH = 100
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def printable(text: str) -> str:
    """Return ``text`` with control, bidirectional and line-breaking characters spelt out (``\\x1b``).

    So are the code points that are no characters (``\\uffff``), which no XML document may hold.
    """
    if text.isprintable():
        return text
    return "".join(_spell(c) if unicodedata.category(c) in _HIDDEN or _is_none(c) else c for c in text)


def _is_none(character: str) -> bool:
    point = ord(character)
    return point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF


def _spell(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def clip(text: str, width: int) -> str:
    """Return ``text`` cut to ``width`` characters, an ellipsis showing the cut."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def align(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], indent: str = ""
) -> str:
    """Return lines of two-space separated columns; ``right`` says which are right-aligned."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    lines = []
    for row in (header, *rows):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append(f"{indent}{'  '.join(cells)}".rstrip())
    return "\n".join(lines)


def wrap(text: str, indent: str) -> str:
    """Return ``text`` wrapped to a width that terminals and tickets show well, with a hanging indent."""
    return textwrap.fill(
        text,
        _PARAGRAPH_WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def plural(count: int, noun: str) -> str:
    """Return ``1 sample``, ``2 samples``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
