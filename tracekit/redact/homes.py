"""Home folders in texts, and the users that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracekit.redact.spelling import Joined, Spelling, batches, letters_of_texts, spellings

_SLASHES = r"[/\\]+(?:\.[/\\]+)*"
_NAME = r"""[^/\\\0\s:;,"'’”»<>|()\[\]{}?&=#*$`!]+"""
# A longer name, with spaces or apostrophes, is recognised by the slash after it: "/Users/jo smith/x".
_LONG_NAME = rf"""{_NAME}[^/\\\0\n:;"<>|()\[\]{{}}?=#*$`]{{0,60}}[\w.-](?=[/\\])"""
_HOME = re.compile(rf"[/\\](?P<root>users|home){_SLASHES}(?:(?P<long>{_LONG_NAME})|(?P<name>{_NAME}))")
_START = re.compile(_NAME)
_MOST_SPACES = 3
_ROOTS = ("users", "home")
_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://[^\s\"'<>]*\Z")
_URL_REACH = 200


def home_folders(spelling: Spelling) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and user of each home folder in a spelling; ``/Users/Shared`` is nobody's."""
    for match in _HOME.finditer(spelling.folded):
        root, end = match.span("root")[0], match.end()
        name = match["name"] or match["long"]
        if match["long"] and name.count(" ") > _MOST_SPACES:  # a sentence, and a slash in it
            name = _first_word(name)
            end = match.start("long") + len(name)
        # Linux distinguishes case, and "/Contents/Home/lib" is a part of Java.
        is_root = match["root"] == "users" or spelling.cased[root : root + 4] == "home"
        if is_root and name != "shared" and name.strip(".~"):
            yield match.start(), end, name


def users_in(texts: Sequence[str]) -> set[str]:
    """Return the names of the users whose home folders texts name: whole, and the first word of each."""
    users: set[str] = set()
    for _, batch in batches(texts):
        for position in with_homes(batch, letters_of_texts(batch)):
            for spelling in spellings(batch[position]):
                for start, _, name in home_folders(spelling):
                    if not _URL.search(spelling.folded[max(start - _URL_REACH, 0) : start]):
                        users |= {name, _first_word(name)}
    return users


def with_homes(texts: Sequence[str], letters: Sequence[Joined]) -> list[int]:
    """Return the positions of texts that may name a home folder; ``letters`` are those of the texts."""
    places = {place for spelling in letters for root in _ROOTS for place in spelling.places(root)}
    return [place for place in sorted(places) if _may_have_slash(texts[place])]


def _may_have_slash(text: str) -> bool:
    return any(character in text for character in "/\\%&") or not text.isascii()


def _first_word(name: str) -> str:
    start = _START.match(name)
    return start[0] if start else name
