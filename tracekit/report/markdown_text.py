"""Other people's text in Markdown: shown as it is, whatever it holds."""

from __future__ import annotations

import html
import re

from tracekit.export.text import printable

_MARKUP = re.compile(r"[\\`*_{}\[\]|~]|[@#](?=\w)|(?<=http):|(?<=https):|(?<=ftp):|(?<=www)\.", re.IGNORECASE)


def plain(text: object) -> str:
    """Return ``text`` as Markdown that shows it as it is."""
    return _MARKUP.sub(_escaped, html.escape(printable(str(text)), quote=False))


def _escaped(found: re.Match[str]) -> str:
    # Mentions and references are found after Markdown is read, so nothing but a break in the text stops them.
    character = found[0]
    if character in "@#":
        return f"{character}<!-- -->"
    return f"&#{ord(character)};" if character in ":." else f"\\{character}"
