"""Private names as words to find: in which texts, in which spellings, and where they are parts of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tracekit.redact.common_words import COMMON, PRODUCT, RESERVED
from tracekit.redact.spelling import Spelling, folded, letters_of, words_of

OTHER_PROCESS, DEVICE, USER = "other-process", "device", "user"

_LEAST_USER, _LEAST_USER_IN_CODE = 3, 4
_LEAST_DEVICE = 4
_LEAST_PROCESS, _LEAST_PROCESS_IN_CODE = 4, 5
"""Letters and digits of a name that is replaced in any spelling. The rules are described in docs/guide.md."""

# The words of a name may be apart by a few characters, or by none, as in host names. Slashes end a name.
_GAP = r"(?:[^\w\0/\\:;=<>\[\]{}|]|_){0,4}"
_LAST_ALPHABET = "\u0700"
"""Latin, Greek, Cyrillic, Hebrew, Arabic and their neighbours separate words; most scripts beyond do not."""


@dataclass(frozen=True)
class Names:
    """Names to replace. ``own`` are the process's own, which stay where another's is a part of them."""

    own: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Word:
    """A name to find in any spelling; ``letters`` are its folded letters and digits."""

    letters: str
    name: str
    replacement: str
    """Empty for the process's own names, which stay."""
    is_whole: bool = False
    """True for a name that is no part of a compound: ``fseventsd`` is not in ``FSEventsD2F_server``."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The name in folded spellings: its words, and what may be between them."""
        text = folded(self.name)
        words = list(re.finditer(r"[^\W_]+", text))
        pieces = [words[0][0]]
        for before, word in pairwise(words):
            pieces.append(f"(?:{re.escape(text[before.end() : word.start()])}|{_GAP}){word[0]}")
        return re.compile("".join(pieces))

    def places(self, spelling: Spelling) -> Iterator[tuple[int, int]]:
        """Yield start and end of the name in a spelling, wherever it is no part of a longer word."""
        position = 0
        while match := self.pattern.search(spelling.folded, position):
            start, end = match.span()
            position = start + 1
            if not _begins_word(spelling, start):
                continue
            if self.is_whole:
                if not _is_in_compound(spelling.cased, start, end):
                    yield start, end
            elif _ends_word(spelling, end):
                yield start, end
            elif spelling.folded[end : end + 1] == "s" and _ends_word(spelling, end + 1):
                yield start, end + 1  # "alices-mac", "alices"


@dataclass(frozen=True)
class ExactName:
    """A name to find in its own spelling only, as a whole word."""

    name: str
    replacement: str

    def places(self, spelling: Spelling) -> Iterator[tuple[int, int]]:
        """Yield start and end of the name in a text as it is."""
        for match in self.pattern.finditer(spelling.cased):
            yield match.span()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The name as a word."""
        return re.compile(rf"(?<!\w){re.escape(self.name)}(?!\w)")


@dataclass(frozen=True)
class WordSet:
    """The names to replace in one kind of text, and the process's own, which stay."""

    words: tuple[Word, ...] = ()
    own: tuple[Word, ...] = ()
    exact: tuple[ExactName, ...] = ()


@dataclass(frozen=True)
class WordSets:
    """The words to replace in texts, in names of code, and in the names of the process itself."""

    text: WordSet
    code: WordSet
    own_name: WordSet


def word_sets(names: Names) -> WordSets:
    """Return the words to find. Short and common names are found in fewer texts and spellings than others."""
    own_letters = set(map(letters_of, names.own))

    def chosen(candidates: Iterable[str], least: int) -> set[str]:
        return {
            name for name in candidates
            if len(letters := letters_of(name)) >= least and letters not in own_letters
            and not letters.isdigit() and not _is_common(name)
        }  # fmt: skip

    users, processes = chosen(names.users, _LEAST_USER), chosen(names.others, _LEAST_PROCESS)
    devices = {name for name in names.devices if _is_personal(name) and letters_of(name) not in own_letters}
    own = _words(names.own, "")
    private = (*_words(devices, DEVICE), *_words(users, USER))
    exact_devices = _exact(names.devices - devices - names.own, DEVICE)
    return WordSets(
        text=WordSet(
            (*private, *_words(processes, OTHER_PROCESS)),
            own,
            (*exact_devices, *_exact(names.others - names.own, OTHER_PROCESS)),
        ),
        code=WordSet(
            (
                *_words(devices, DEVICE),
                *_words(chosen(users, _LEAST_USER_IN_CODE), USER),
                *_words(chosen(processes, _LEAST_PROCESS_IN_CODE), OTHER_PROCESS, is_whole=True),
            ),
            own,
        ),
        own_name=WordSet(private, exact=exact_devices),
    )


def _words(names: Iterable[str], replacement: str, is_whole: bool = False) -> tuple[Word, ...]:
    named = ((letters_of(name), name) for name in sorted(names))
    return tuple(Word(letters, name, replacement, is_whole) for letters, name in named if letters)


def _exact(names: Iterable[str], replacement: str) -> tuple[ExactName, ...]:
    return tuple(ExactName(name, replacement) for name in sorted(names) if name.casefold() not in RESERVED)


def _is_common(name: str) -> bool:
    return name.casefold() in COMMON or letters_of(name) in COMMON


def _is_personal(device: str) -> bool:
    """Return True for a device's name that is more than a product's, and long enough to be a word."""
    is_product = all(word in PRODUCT or word.isdigit() for word in words_of(device))
    return not is_product and len(letters_of(device)) >= _LEAST_DEVICE and not _is_common(device)


def _begins_word(spelling: Spelling, start: int) -> bool:
    r"""Return True at ``alice`` of ``my_alice``, ``myAlice``, ``2alice``, ``\nalice``, not of ``malice``."""
    cased = spelling.cased
    is_after_escape = start > 1 and cased[start - 2] == "\\" and cased[start - 1] in "abefnrtv0"
    return not start or is_after_escape or start in spelling.limits or _is_limit(cased, start)


def _ends_word(spelling: Spelling, end: int) -> bool:
    return end >= len(spelling.cased) or end in spelling.limits or _is_limit(spelling.cased, end)


def _is_in_compound(cased: str, start: int, end: int) -> bool:
    return cased[max(start - 1, 0) : start].isalnum() or cased[end : end + 1].isalnum()


def _is_limit(cased: str, position: int) -> bool:
    """Return True if a word can end before ``position``, and another one begin there."""
    before, after = cased[position - 1], cased[position]
    if before.isdigit() and after.isdigit():
        return False
    if not (_is_alphabetic(before) and _is_alphabetic(after)):
        return True
    # "aliceKit" and "ALICEKit" have a limit before the K; "Alice" has none inside.
    return after.isupper() and (before.islower() or cased[position + 1 : position + 2].islower())


def _is_alphabetic(character: str) -> bool:
    return character.isalpha() and character < _LAST_ALPHABET
