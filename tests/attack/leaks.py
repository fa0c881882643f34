"""The search for private names in an output: everything in it is decoded by the standard library and compared."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

_ROUNDS = 8
_ESCAPE = re.compile(r"(?:\\+x[0-9a-fA-F]{2})+|(?:\\+[0-3][0-7]{2})+|(?:\\+u[0-9a-fA-F]{4})+|\\+(?=[^\w\s])")


def leaks(output: str, names: Iterable[str]) -> list[str]:
    """Return the names that an output has in its letters and digits, as written or decoded."""
    versions = {_letters(output), _letters(_decoded(output))}
    return [name for name in names if any(_letters(name) in letters for letters in versions)]


def _letters(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(filter(str.isalnum, decomposed))


def _decoded(text: str) -> str:
    for _ in range(_ROUNDS):
        decoded = _ESCAPE.sub(_unescaped, html.unescape(unquote(text)))
        if decoded == text:
            break
        text = decoded
    return text


def _unescaped(match: re.Match[str]) -> str:
    escape = match[0]
    if units := re.findall(r"u([0-9a-fA-F]{4})", escape):
        return b"".join(int(unit, 16).to_bytes(2, "big") for unit in units).decode("utf-16-be", "replace")
    if pairs := re.findall(r"x([0-9a-fA-F]{2})", escape):
        return bytes(int(pair, 16) for pair in pairs).decode("utf-8", "replace")
    if triples := re.findall(r"[0-3][0-7]{2}", escape):
        return bytes(int(triple, 8) for triple in triples).decode("utf-8", "replace")
    return ""
