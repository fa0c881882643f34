"""The spellings of a text: escapes decoded, case and accents folded, each with the way back to the text.

A name is recognised in ``\\/Users\\/alice``, ``%2FUsers%2Falice``, ``&#x2F;``, ``\\u002f``, in another case,
composed or decomposed, and in any of these inside another. Names are matched in folded spellings, and what is
replaced are characters of the text itself: a spelling maps every folded character to those it was made of.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import BoolArray, IntArray

_ROUNDS = 6
"""Escapes inside escapes are decoded this often; text that is not decoded by then is not read by anybody."""
_SMALL = 1 << 14
"""Up to so many characters are searched for each name without further ado."""
_BATCH = 1 << 21
"""Characters of texts that are searched together."""
_ESCAPE = re.compile(
    r"(?P<bytes>(?:%[0-9a-fA-F]{2})+|(?:\\+x[0-9a-fA-F]{2})+|(?:\\+[0-3][0-7]{2})+)"
    r"|(?P<units>(?:\\+u[0-9a-fA-F]{4}|%u[0-9a-fA-F]{4})+)"
    r"|\\+u\{(?P<point>[0-9a-fA-F]{1,6})\}"
    r"|\\+U(?P<long>[0-9a-fA-F]{8})"
    r"|\\+(?P<plain>[^\w\\\0])"
    r"|(?P<entity>&(?:\#[0-9]{1,7};?|\#[xX][0-9a-fA-F]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};))"
)
_UNIT = re.compile(r"(?:\\+|%)u([0-9a-fA-F]{4})")
_BYTE = re.compile(r"%(..)|\\+x(..)|\\+([0-3][0-7]{2})")
_NOT_ALPHANUMERIC = re.compile(r"[^\w\0]+|_+")
_DELETED = {code: None for code in range(1, 128) if not chr(code).isalnum()}
# Letters with a stroke and joined letters have no decomposition, and host names are spelled without them;
# two of Unicode's apostrophes count as letters.
_PLAIN_LETTERS = {
    "ʼ": "'",
    "ʻ": "'",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "æ": "ae",
    "œ": "oe",
    "ı": "i",
    "ð": "d",
    "þ": "th",
    "ħ": "h",
}
_PLAIN_BY_CODE = {ord(letter): plain for letter, plain in _PLAIN_LETTERS.items()}

Decoded = Iterator[tuple[str, int, int]]
"""Characters with the start and the end of the escape that each was made of."""


@dataclass(frozen=True)
class Spelling:
    """One spelling of a text.

    ``folded`` and ``cased`` have one character each for the same piece of the text, ``cased`` in its own
    case. ``starts`` and ``ends`` are the limits of these pieces; None where each piece is one character.
    """

    folded: str
    cased: str
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    limits: frozenset[int] = frozenset()
    """Positions in ``folded`` at which a word ends and another one begins, whatever the characters."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the text that ``folded[start:end]`` was made of."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def spellings(text: str, borders: frozenset[int] = frozenset()) -> list[Spelling]:
    """Return the spellings of a text: as it is, and after each round of decoding its escapes.

    At ``borders``, positions in the text, words have limits.
    """
    if _is_plain(text):
        return [Spelling(text.lower(), text, limits=borders)]
    pieces = [(character, position, position + 1) for position, character in enumerate(text)]
    folded = [_folded(pieces, borders)]
    for _ in range(_ROUNDS):
        decoded = _decoded_once(pieces)
        if len(decoded) == len(pieces):
            break
        pieces = decoded
        folded.append(_folded(pieces, borders))
    return folded


@dataclass(frozen=True)
class Joined:
    """Many texts as one, each ending at a NUL, in which the few texts with a name are found at once."""

    joined: str
    positions: IntArray
    """The position of each text among those that were given."""

    @cached_property
    def _starts(self) -> IntArray:
        codes = np.frombuffer(self.joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        return np.append(0, np.flatnonzero(codes == 0) + 1)

    @cached_property
    def _pieces(self) -> BoolArray:
        """Which groups of four bytes occur: hundreds of names are ruled out without a search for each."""
        occurs = np.zeros(1 << 20, np.bool_)
        occurs[_groups(self.joined)] = True
        return occurs

    def places(self, name: str) -> list[int]:
        """Return the positions of the texts that contain a name."""
        if len(self.joined) > _SMALL and not self._pieces[_groups(name)].all():
            return []
        found = []
        start = self.joined.find(name)
        while start >= 0:
            found.append(start)
            start = self.joined.find(name, start + 1)
        rows = np.unique(np.searchsorted(self._starts, found, "right") - 1)
        places: list[int] = self.positions[rows].tolist()
        return places


def batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield texts in batches that stay small when joined, each with the position of its first text."""
    first = size = 0
    for position, text in enumerate(texts):
        size += len(text)
        if size > _BATCH:
            yield first, texts[first : position + 1]
            first, size = position + 1, 0
    yield first, texts[first:]


def plain(text: str) -> Spelling:
    """Return a text as it is, nothing folded."""
    return Spelling(text, text)


def as_written(texts: Sequence[str]) -> Joined:
    """Return texts joined as they are."""
    positions = np.arange(len(texts))
    return Joined(_joined(texts, positions), positions)


def letters_of_texts(texts: Sequence[str]) -> list[Joined]:
    """Return the folded letters and digits of texts joined, for each of their ``spellings``.

    A name that is in a spelling of a text is also, without its spaces and punctuation, in these letters.
    """
    escaped = np.array([not _is_plain(text) for text in texts], np.bool_)
    plain, positions = np.flatnonzero(~escaped), np.flatnonzero(escaped)
    letters = [Joined(_joined(texts, plain).lower().translate(_DELETED), plain)]
    joined = _joined(texts, positions)
    for _ in range(_ROUNDS if len(positions) else 0):
        letters.append(Joined(_squashed(joined), positions))
        decoded = _ESCAPE.sub(_decoded, joined)
        if decoded == joined:
            break
        joined = decoded
    return letters


def folded(name: str) -> str:
    """Return a name as ``Spelling.folded`` has it, its escapes as they are."""
    return _folded([(character, 0, 1) for character in name]).folded


def words_of(name: str) -> list[str]:
    """Return the folded words of a name: ``Jo’s Mac`` and ``jo-s-mac`` have the same."""
    return re.findall(r"[^\W_]+", folded(name))


def letters_of(name: str) -> str:
    """Return the folded letters and digits of a name, as ``letters_of_texts`` has those of texts."""
    return "".join(words_of(name))


def _is_plain(text: str) -> bool:
    may_escape = "\\" in text or "%" in text or "&" in text
    return text.isascii() and not (may_escape and _ESCAPE.search(text))


def _joined(texts: Sequence[str], positions: IntArray) -> str:
    return "\0".join(texts[position].replace("\0", " ") for position in positions.tolist())


def _squashed(joined: str) -> str:
    decomposed = unicodedata.normalize("NFKD", joined).casefold().translate(_PLAIN_BY_CODE)
    return _NOT_ALPHANUMERIC.sub("", unicodedata.normalize("NFKD", decomposed))


def _groups(text: str) -> npt.NDArray[np.int32]:
    """Return each group of four bytes as a number of 20 bits; different groups may share a number."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8).astype(np.int32) & 31
    return data[:-3] | data[1:-2] << 5 | data[2:-1] << 10 | data[3:] << 15


def _decoded(match: re.Match[str]) -> str:
    return "".join(character for character, _, _ in _decode(match)).replace("\0", " ")


def _folded(pieces: Sequence[tuple[str, int, int]], borders: frozenset[int] = frozenset()) -> Spelling:
    folded: list[str] = []
    cased: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for character, start, end in pieces:
        letters = _fold(character)
        if not letters and ends:  # a mark belongs to the letter before it
            ends[-1] = end
        for plain, original in letters:
            folded.append(plain)
            cased.append(original)
            starts.append(start)
            ends.append(end)
    limits = frozenset(position for position, start in enumerate(starts) if start in borders)
    return Spelling("".join(folded), "".join(cased), starts, ends, limits)


@lru_cache(maxsize=10_000)
def _fold(character: str) -> tuple[tuple[str, str], ...]:
    """Return the folded characters of one, each with the character in its own case; none for a mark."""
    if character.isascii():
        return ((character.lower(), character),)
    letters = []
    for part in unicodedata.normalize("NFKD", character):
        if unicodedata.category(part) in ("Mn", "Me", "Cf"):
            continue
        plain = unicodedata.normalize("NFKD", part.casefold().translate(_PLAIN_BY_CODE))
        letters += [(letter, part) for letter in plain if unicodedata.category(letter) not in ("Mn", "Me")]
    return tuple(letters)


def _decoded_once(pieces: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    text = "".join(character for character, _, _ in pieces)
    decoded: list[tuple[str, int, int]] = []
    position = 0
    for match in _ESCAPE.finditer(text):
        decoded += pieces[position : match.start()]
        decoded += [
            (character, pieces[start][1], pieces[end - 1][2]) for character, start, end in _decode(match)
        ]
        position = match.end()
    return decoded + pieces[position:]


def _decode(match: re.Match[str]) -> Decoded:
    """Yield what an escape stands for; an escape that stands for nothing comes back as it is."""
    start, end = match.span()
    if match["bytes"]:
        yield from _decode_bytes(match)
    elif match["units"]:
        yield from _decode_units(match)
    elif code := match["point"] or match["long"]:
        yield (chr(int(code, 16)), start, end) if int(code, 16) <= 0x10FFFF else ("?", start, end)
    elif match["plain"]:
        yield match["plain"], start, end
    else:
        text = html.unescape(match["entity"])
        if text == match["entity"]:
            yield from ((character, start + place, start + place + 1) for place, character in enumerate(text))
        else:
            yield from ((character, start, end) for character in text)


def _decode_bytes(match: re.Match[str]) -> Decoded:
    """Yield the characters of bytes in UTF-8; a byte that is none stays as it is written."""
    escapes = [
        (int(byte[1] or byte[2] or "0", 16) if byte[3] is None else int(byte[3], 8), *byte.span())
        for byte in _BYTE.finditer(match.string, *match.span())
    ]
    position = 0
    while position < len(escapes):
        lead, start, end = escapes[position]
        length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        group = escapes[position : position + length]
        try:
            character = bytes(byte for byte, _, _ in group).decode()
        except UnicodeDecodeError:
            yield from ((match.string[place], place, place + 1) for place in range(start, end))
            position += 1
            continue
        yield character, start, group[-1][2]
        position += length


def _decode_units(match: re.Match[str]) -> Decoded:
    """Yield the characters of UTF-16 units; two halves of a pair are one character."""
    units = [(chr(int(unit[1], 16)), *unit.span()) for unit in _UNIT.finditer(match.string, *match.span())]
    position = 0
    while position < len(units):
        character, start, end = units[position]
        position += 1
        if "\ud800" <= character < "\udc00" and position < len(units):
            second = units[position]
            pair = (character + second[0]).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            if len(pair) == 1:
                character, end = pair, second[2]
                position += 1
        yield character, start, end
