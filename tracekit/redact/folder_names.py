"""The users and volumes that the paths in texts name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracekit.redact.paths import HOMES, VOLUMES, first_word, home_folders, volumes
from tracekit.redact.spelling import Joined, batches, letters_of_texts, spellings

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://[^\s\"'<>]*\Z")
_URL_REACH = 200


def users_and_volumes_in(texts: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the users whose home folders texts name, whole and the first word of each, and the volumes."""
    users: set[str] = set()
    named: set[str] = set()
    for _, batch in batches(texts):
        for position in with_folders(batch, letters_of_texts(batch)):
            for spelling in spellings(batch[position]):
                for start, _, name in home_folders(spelling):
                    if not _URL.search(spelling.folded[max(start - _URL_REACH, 0) : start]):
                        users |= {name, first_word(name)}
                named |= {name for _, _, name in volumes(spelling)}
    return users, named


def with_folders(texts: Sequence[str], letters: Sequence[Joined]) -> list[int]:
    """Return the positions of texts that may name a home folder or a volume.

    ``letters`` are those of the texts.
    """
    places = {place for spelling in letters for root in (*HOMES, VOLUMES) for place in spelling.places(root)}
    return [place for place in sorted(places) if _may_have_slash(texts[place])]


def _may_have_slash(text: str) -> bool:
    return any(character in text for character in "/\\%&") or not text.isascii()
