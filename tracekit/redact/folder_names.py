"""Users and volumes that occur in the paths of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracekit.redact.paths import HOMES, VOLUMES, iter_home_folders, iter_volumes, take_first_word
from tracekit.redact.spelling import JoinedTexts, decode_spellings, join_letters, split_into_batches

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://[^\s\"'<>]*\Z")
_URL_REACH = 200


def find_users_and_volumes(texts: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the users of home folders in texts (full names and first words), and the volumes."""
    users: set[str] = set()
    volume_names: set[str] = set()
    for _, batch in split_into_batches(texts):
        for position in with_folders(batch, join_letters(batch)):
            for spelling in decode_spellings(batch[position]):
                for start, _, name in iter_home_folders(spelling):
                    if not _URL.search(spelling.folded[max(start - _URL_REACH, 0) : start]):
                        users |= {name, take_first_word(name)}
                volume_names |= {name for _, _, name in iter_volumes(spelling)}
    return users, volume_names


def with_folders(texts: Sequence[str], letters: Sequence[JoinedTexts]) -> list[int]:
    """Return the positions of texts that may name a home folder or a volume.

    ``letters`` are those of the texts.
    """
    places = {
        place for spelling in letters for root in (*HOMES, VOLUMES) for place in spelling.find_texts(root)
    }
    return [place for place in sorted(places) if _may_have_slash(texts[place])]


def _may_have_slash(text: str) -> bool:
    return any(character in text for character in "/\\%&") or not text.isascii()
