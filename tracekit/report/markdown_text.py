"""Other people's text in Markdown: shown as it is, whatever it holds.

Apart from both Markdown reports, so that one module decides what is escaped.
"""

from __future__ import annotations

import html
import re

from tracekit.text import printable

_LINKS = r"(?i:(?<=http):(?=//)|(?<=https):(?=//)|(?<=ftp):(?=//)|(?<=www)\.)"
_FOUND_LATER = r"[@#](?=\w)|(?<=\bGH)-(?=\d)|:(?=[a-z0-9_+-]+:)|\$"
_MARKUP = re.compile(rf"[\\`*_{{}}\[\]|~]|{_LINKS}|{_FOUND_LATER}")


def plain(text: object) -> str:
    """Return ``text`` as Markdown that shows it as it is."""
    return _MARKUP.sub(_escaped, html.escape(printable(str(text)), quote=False))


def _escaped(match: re.Match[str]) -> str:
    # GitHub looks for mentions, references and emoji after Markdown is read: nothing but a break in the text
    # stops them. Formulas and links are found while it is read, where an entity is no such character.
    character = match[0]
    if character == "$":
        return "&#36;<!-- -->"
    if character == "." or (character == ":" and match.string.startswith("//", match.end())):
        return f"&#{ord(character)};"
    return f"{character}<!-- -->" if character in "@#-:" else f"\\{character}"


def code(text: str) -> str:
    """Return ``text`` as a span of code, which shows it as it is."""
    shown = printable(text)
    # The fence is longer than any run of backticks in the text; blanks keep one at its edge apart.
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}" if longest else f"{fence}{shown}{fence}"
