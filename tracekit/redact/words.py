"""Private names as words to find: in which texts and spellings, and whether inside longer words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from tracekit.frozen import frozen
from tracekit.redact.common_words import COMMON, NO_PEOPLE, PRODUCT, RESERVED
from tracekit.redact.paths import is_component, is_in_absolute_path, is_in_path, is_in_system_path
from tracekit.redact.spelling import Spelling, fold_letters, fold_name, split_folded_words

OTHER_PROCESS, DEVICE, USER, VOLUME = "other-process", "device", "user", "volume"

_MIN_USER_LETTERS, _MIN_USER_LETTERS_IN_CODE = 3, 4
_MIN_USER_LETTERS_AT_ONE_END, _MIN_USER_LETTERS_INSIDE = 5, 8
_MIN_DEVICE_LETTERS = 4
_MIN_PROCESS_LETTERS, _MIN_PROCESS_LETTERS_IN_CODE = 4, 5
"""Minimum letters and digits of a name to be replaced in any spelling (docs/redaction.md)."""

# The words of a name may be apart by a few characters, or by none, as in host names. Slashes end a name.
_GAP = r"(?:[^\w\0/\\:;=<>\[\]{}|]|_){0,4}"
_LAST_ALPHABET = "\u0700"
"""Latin, Greek, Cyrillic, Hebrew, Arabic and their neighbours separate words; most scripts beyond do not."""


@frozen
class PrivateNames:
    """Names to replace. ``own`` are the process's own names, which stay even if they contain other names."""

    own: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    volumes: frozenset[str] = frozenset()


@frozen
class Word:
    """A name to find in any spelling; ``letters`` are its folded letters and digits."""

    letters: str
    name: str
    replacement: str
    """Empty for the process's own names, which stay."""
    is_whole: bool = False
    """True for a name that is not found in compounds: ``fseventsd`` does not match ``FSEventsD2F_server``."""
    is_component: bool = False
    """True for a name that is found only as a path component: ``max`` in ``/data/max/x``."""
    limits: int = 2
    """Required word boundaries: ``alicetool`` has one at ``alice``, ``challicenge`` has none."""
    limits_in_paths: int = 2
    """Required word boundaries in paths and file names."""
    is_file: bool = False
    """True where the texts are names of files, as those of binaries and of processes are."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The name in folded spellings: its words, and what may be between them."""
        text = fold_name(self.name)
        words = list(re.finditer(r"[^\W_]+", text))
        pieces = [words[0][0]]
        for previous_word, word in pairwise(words):
            pieces.append(f"(?:{re.escape(text[previous_word.end() : word.start()])}|{_GAP}){word[0]}")
        return re.compile("".join(pieces))

    def find_spans(self, spelling: Spelling) -> Iterator[tuple[int, int]]:
        """Yield start and end of the name in a spelling, except inside longer words."""
        position = 0
        while match := self.pattern.search(spelling.folded, position):
            start, end = match.span()
            position = start + 1
            if self.is_component:
                is_path = self.is_file or is_in_absolute_path(spelling, start)
                is_found = is_path and is_component(spelling, start, end)
            elif self.is_whole:
                is_found = _is_word_start(spelling, start) and not _is_in_compound(spelling.cased, start, end)
            else:
                end += _is_plural(spelling, end)  # "alices-mac", "alices"
                is_found = self._has_limits(spelling, start, end)
            if is_found and not (self.replacement == USER and is_in_system_path(spelling, start)):
                yield start, end

    def _has_limits(self, spelling: Spelling, start: int, end: int) -> bool:
        limits = _is_word_start(spelling, start) + _is_word_end(spelling, end)
        if limits < self.limits and self.replacement == USER:
            limits += _is_after_lib(spelling, start)
        if self.limits_in_paths <= limits < self.limits:
            return self.is_file or is_in_path(spelling, start, end)
        return limits >= self.limits


@frozen
class ExactName:
    """A name to find in its own spelling only, as a whole word."""

    name: str
    replacement: str

    def find_spans(self, spelling: Spelling) -> Iterator[tuple[int, int]]:
        """Yield start and end of the name in a text as it is."""
        for match in self.pattern.finditer(spelling.cased):
            yield match.span()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The name as a word."""
        return re.compile(rf"(?<!\w){re.escape(self.name)}(?!\w)")


@frozen
class WordSet:
    """The names to replace in one kind of text, and the process's own, which stay."""

    words: tuple[Word, ...] = ()
    own: tuple[Word, ...] = ()
    exact: tuple[ExactName, ...] = ()


@frozen
class WordSets:
    """The words to replace in each kind of text."""

    text: WordSet
    code: WordSet
    """For names of functions."""
    binary: WordSet
    own_name: WordSet
    """For names of the process itself."""


def build_word_sets(names: PrivateNames) -> WordSets:
    """Return the words to find. Short and common names are searched in fewer kinds of text and spellings."""
    own_letters = set(map(fold_letters, names.own))

    def select_names(candidates: Iterable[str], min_letters: int) -> set[str]:
        return {
            name for name in candidates
            if len(letters := fold_letters(name)) >= min_letters and letters not in own_letters
            and not letters.isdigit() and not _is_common(name)
        }  # fmt: skip

    processes, processes_in_code = (
        select_names(names.others, min_letters)
        for min_letters in (_MIN_PROCESS_LETTERS, _MIN_PROCESS_LETTERS_IN_CODE)
    )
    devices = {name for name in names.devices if _is_personal(name) and fold_letters(name) not in own_letters}
    places = (
        *_build_words(devices, DEVICE),
        *_build_words(filter(_is_personal_volume, names.volumes), VOLUME),
    )
    users, users_in_code = (
        select_names(names.users, min_letters)
        for min_letters in (_MIN_USER_LETTERS, _MIN_USER_LETTERS_IN_CODE)
    )
    path_only_users = {
        name for name in names.users - users if _is_person(name) and fold_letters(name) not in own_letters
    }
    in_files = (
        *places,
        *_iter_user_words(users, is_file=True),
        *_iter_component_words(path_only_users, is_file=True),
    )
    own = _build_words(names.own, "")
    others_in_code = _build_words(processes_in_code, OTHER_PROCESS, is_whole=True)
    exact_devices = _build_exact_names(names.devices - devices - names.own, DEVICE)
    return WordSets(
        text=WordSet(
            (
                *places,
                *_iter_user_words(users),
                *_iter_component_words(path_only_users),
                *_build_words(processes, OTHER_PROCESS),
            ),
            own,
            (*exact_devices, *_build_exact_names(names.others - names.own, OTHER_PROCESS)),
        ),
        code=WordSet((*places, *_iter_user_words(users_in_code), *others_in_code), own),
        binary=WordSet((*in_files, *others_in_code), own),
        own_name=WordSet(in_files, exact=exact_devices),
    )


def _build_words(names: Iterable[str], replacement: str, is_whole: bool = False) -> tuple[Word, ...]:
    letters_and_names = ((fold_letters(name), name) for name in sorted(names))
    return tuple(Word(letters, name, replacement, is_whole) for letters, name in letters_and_names if letters)


def _iter_user_words(names: Iterable[str], is_file: bool = False) -> Iterator[Word]:
    """Yield the words of users. Longer names need fewer word boundaries: chance matches are rarer."""
    for word in _build_words(names, USER):
        limits = 0 if len(word.letters) >= _MIN_USER_LETTERS_INSIDE else 2
        in_paths = min(limits, 1) if len(word.letters) >= _MIN_USER_LETTERS_AT_ONE_END else 2
        yield replace(word, limits=limits, limits_in_paths=in_paths, is_file=is_file)


def _iter_component_words(names: Iterable[str], is_file: bool = False) -> Iterator[Word]:
    """Yield the words of users whose names are too short or too common to be searched outside paths."""
    return (replace(word, is_component=True, is_file=is_file) for word in _build_words(names, USER))


def _build_exact_names(names: Iterable[str], replacement: str) -> tuple[ExactName, ...]:
    return tuple(ExactName(name, replacement) for name in sorted(names) if name.casefold() not in RESERVED)


def _is_common(name: str) -> bool:
    return name.casefold() in COMMON or fold_letters(name) in COMMON


def _is_personal(device: str) -> bool:
    """Return True for a device name that has more than product words and is long enough to search."""
    is_product = all(word in PRODUCT or word.isdigit() for word in split_folded_words(device))
    return not is_product and len(fold_letters(device)) >= _MIN_DEVICE_LETTERS and not _is_common(device)


def _is_personal_volume(name: str) -> bool:
    """Return True for a volume's name of several words: one word may be that of a project or a disk."""
    words = split_folded_words(name)
    is_plain = all(word in COMMON or word in PRODUCT or word.isdigit() for word in words)
    return len(words) > 1 and not is_plain and _is_personal(name)


def _is_person(user: str) -> bool:
    return user.casefold() not in NO_PEOPLE and not fold_letters(user).isdigit()


def _is_plural(spelling: Spelling, end: int) -> bool:
    has_s = spelling.folded[end : end + 1] == "s"
    return has_s and not _is_word_end(spelling, end) and _is_word_end(spelling, end + 1)


def _is_after_lib(spelling: Spelling, start: int) -> bool:
    """Return True at ``alice`` of ``libalice.dylib``."""
    return spelling.folded[max(start - 3, 0) : start] == "lib" and _is_word_start(spelling, start - 3)


def _is_word_start(spelling: Spelling, start: int) -> bool:
    r"""Return True at ``alice`` of ``my_alice``, ``myAlice``, ``2alice``, ``\nalice``, not of ``malice``."""
    cased = spelling.cased
    is_after_escape = start > 1 and cased[start - 2] == "\\" and cased[start - 1] in "abefnrtv0"
    return not start or is_after_escape or start in spelling.limits or _is_limit(cased, start)


def _is_word_end(spelling: Spelling, end: int) -> bool:
    return end >= len(spelling.cased) or end in spelling.limits or _is_limit(spelling.cased, end)


def _is_in_compound(cased: str, start: int, end: int) -> bool:
    return cased[max(start - 1, 0) : start].isalnum() or cased[end : end + 1].isalnum()


def _is_limit(cased: str, position: int) -> bool:
    """Return True if a word can end before ``position``, and another one begin there."""
    character_before, character_after = cased[position - 1], cased[position]
    if character_before.isdigit() and character_after.isdigit():
        return False
    if not (_is_alphabetic(character_before) and _is_alphabetic(character_after)):
        return True
    # "aliceKit" and "ALICEKit" have a limit before the K; "Alice" has none inside.
    return character_after.isupper() and (
        character_before.islower() or cased[position + 1 : position + 2].islower()
    )


def _is_alphabetic(character: str) -> bool:
    return character.isalpha() and character < _LAST_ALPHABET
