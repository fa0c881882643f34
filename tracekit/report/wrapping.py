"""Paragraphs of a width that terminals and tickets show well."""

from __future__ import annotations

import textwrap

_WIDTH = 100


def wrapped(text: str, indent: str) -> str:
    """Return ``text`` in lines; those after the first are indented further."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
