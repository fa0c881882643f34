"""Text for a terminal: as wide as it is, and in colour."""

from __future__ import annotations

import os
import shutil
import sys

from tracekit.cli.output import write_output
from tracekit.frozen import compile_later

_PIPED_WIDTH = 80
_MIN_WIDTH, _MAX_WIDTH = 40, 400
_BOLD, _NOT_BOLD, _NO_COLOR = "\x1b[1m", "\x1b[22m", "\x1b[39m"
_COLORS = {
    "ANE": 32,
    "Neural Engine": 32,
    "GPU": 33,
    "CPU": 94,
    "MIXED": 35,
    "UNKNOWN": 90,
    "warning": 33,
    "error": 31,
}
"""Engines as in the pages: green, orange, blue."""
_WORDS = compile_later(r"\b(?:ANE|Neural Engine|GPU|CPU|MIXED|UNKNOWN)\b|\b(?:warning|error)(?=: )")


def measure_text_width(output: str) -> int:
    """Return the width for text: that of COLUMNS, else of the terminal; 80 in a pipe or a file."""
    is_terminal = output == "-" and sys.stdout is not None and sys.stdout.isatty()
    if not is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        return _PIPED_WIDTH
    width = shutil.get_terminal_size((_PIPED_WIDTH, 24)).columns
    return min(max(width, _MIN_WIDTH), _MAX_WIDTH)


def write_text(text: str, output: str, force: bool) -> None:
    """Write text; in colour on a terminal."""
    write_output(color_text(text) if output == "-" and _has_color() else text, output, force)


def color_text(text: str) -> str:
    """Return text with its first paragraph bold, and the engines and severities in their colours.

    Only escape sequences are added, after the layout: without them the text is the same.
    """
    headline, gap, remaining_text = text.partition("\n\n")
    return f"{_BOLD}{_paint_words(headline)}{_NOT_BOLD}{gap}{_paint_words(remaining_text)}"


def _paint_words(text: str) -> str:
    return _WORDS.sub(lambda match: f"\x1b[{_COLORS[match[0]]}m{match[0]}{_NO_COLOR}", text)


def _has_color() -> bool:
    """Return whether standard output is a terminal that shows colours, and NO_COLOR is not set."""
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return False
    # The old console of Windows shows escape sequences as text.
    return os.environ.get("TERM") != "dumb" and (sys.platform != "win32" or "WT_SESSION" in os.environ)
