"""The spellings of a text: escapes decoded, case and accents folded, each mapped back to the text.

A name is recognised in ``\\/Users\\/alice``, ``%2FUsers%2Falice``, ``&#x2F;``, ``\\u002f``, in another case,
composed or decomposed, and in any of these inside another. Names are matched in folded spellings, but
characters of the text itself are replaced: a spelling maps each folded character to those it came from.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray

_MAX_DECODING_ROUNDS = 6
"""Maximum depth of nested escapes; deeper nesting is not decoded."""
_MAX_CHARACTERS_WITHOUT_INDEX = 1 << 14
"""Shorter texts are searched for each name directly, without the index of byte groups."""
_BATCH_CHARACTERS = 1 << 21
"""Number of characters that are searched together."""
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
_PLAIN_BY_CODE = {ord(letter): make_plain_spelling for letter, make_plain_spelling in _PLAIN_LETTERS.items()}

Decoded = Iterator[tuple[str, int, int]]
"""Characters, each with start and end of the escape that it was decoded from."""


@frozen
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
    """Positions in ``folded`` that always separate words, whatever the characters."""

    def locate_in_text(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text that ``folded[start:end]`` came from."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def decode_spellings(text: str, borders: frozenset[int] = frozenset()) -> list[Spelling]:
    """Return the spellings of a text: as it is, and after each round of decoding its escapes.

    ``borders`` are positions in the text that separate words.
    """
    if _is_plain(text):
        return [Spelling(text.lower(), text, limits=borders)]
    pieces = [(character, position, position + 1) for position, character in enumerate(text)]
    folded = [_fold_pieces(pieces, borders)]
    for _ in range(_MAX_DECODING_ROUNDS):
        decoded = _decode_once(pieces)
        if len(decoded) == len(pieces):
            break
        pieces = decoded
        folded.append(_fold_pieces(pieces, borders))
    return folded


@frozen
class JoinedTexts:
    """Many texts as one, each ending at a NUL, so that the few texts with a name are found in one search."""

    joined_text: str
    positions: IntArray
    """The position of each text in the caller's sequence."""

    @cached_property
    def _starts(self) -> IntArray:
        codes = np.frombuffer(self.joined_text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return np.append(0, np.flatnonzero(codes == 0) + 1)

    @cached_property
    def _pieces(self) -> BoolArray:
        """Groups of four bytes that occur: rules out most names without searching for them."""
        occurs = np.zeros(1 << 20, np.bool_)
        occurs[_hash_groups(self.joined_text)] = True
        return occurs

    def find_texts(self, name: str) -> list[int]:
        """Return the positions of the texts that contain a name."""
        if (
            len(self.joined_text) > _MAX_CHARACTERS_WITHOUT_INDEX
            and not self._pieces[_hash_groups(name)].all()
        ):
            return []
        found = []
        start = self.joined_text.find(name)
        while start >= 0:
            found.append(start)
            start = self.joined_text.find(name, start + 1)
        rows = np.unique(np.searchsorted(self._starts, found, "right") - 1)
        places: list[int] = self.positions[rows].tolist()
        return places


def split_into_batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield texts in batches that stay small when joined, each with the position of its first text."""
    batch_start = size = 0
    for position, text in enumerate(texts):
        size += len(text)
        if size > _BATCH_CHARACTERS:
            yield batch_start, texts[batch_start : position + 1]
            batch_start, size = position + 1, 0
    yield batch_start, texts[batch_start:]


def make_plain_spelling(text: str) -> Spelling:
    """Return the spelling of a text without folding."""
    return Spelling(text, text)


def join_as_written(texts: Sequence[str]) -> JoinedTexts:
    """Return joined texts without folding."""
    positions = np.arange(len(texts))
    return JoinedTexts(_join_texts(texts, positions), positions)


def join_letters(texts: Sequence[str]) -> list[JoinedTexts]:
    """Return the joined, folded letters and digits of texts, for each spelling of ``decode_spellings``.

    A name that is in a spelling of a text is also, without its spaces and punctuation, in these letters.
    """
    escaped = np.array([not _is_plain(text) for text in texts], np.bool_)
    plain, positions = np.flatnonzero(~escaped), np.flatnonzero(escaped)
    letters = [JoinedTexts(_join_texts(texts, plain).lower().translate(_DELETED), plain)]
    joined_text = _join_texts(texts, positions)
    for _ in range(_MAX_DECODING_ROUNDS if len(positions) else 0):
        letters.append(JoinedTexts(_keep_letters(joined_text), positions))
        decoded = _ESCAPE.sub(_decode_match, joined_text)
        if decoded == joined_text:
            break
        joined_text = decoded
    return letters


def fold_name(name: str) -> str:
    """Return a name folded as in ``Spelling.folded``, without decoding escapes."""
    return _fold_pieces([(character, 0, 1) for character in name]).folded


def split_folded_words(name: str) -> list[str]:
    """Return the folded words of a name: ``Jo’s Mac`` and ``jo-s-mac`` have the same."""
    return re.findall(r"[^\W_]+", fold_name(name))


def fold_letters(name: str) -> str:
    """Return the folded letters and digits of a name, as in ``join_letters``."""
    return "".join(split_folded_words(name))


def _is_plain(text: str) -> bool:
    may_escape = "\\" in text or "%" in text or "&" in text
    return text.isascii() and not (may_escape and _ESCAPE.search(text))


def _join_texts(texts: Sequence[str], positions: IntArray) -> str:
    return "\0".join(texts[position].replace("\0", " ") for position in positions.tolist())


def _keep_letters(joined_text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", joined_text).casefold().translate(_PLAIN_BY_CODE)
    return _NOT_ALPHANUMERIC.sub("", unicodedata.normalize("NFKD", decomposed))


def _hash_groups(text: str) -> npt.NDArray[np.int32]:
    """Return each group of four bytes as a number of 20 bits; different groups may share a number."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8).astype(np.int32) & 31
    return data[:-3] | data[1:-2] << 5 | data[2:-1] << 10 | data[3:] << 15


def _decode_match(match: re.Match[str]) -> str:
    return "".join(character for character, _, _ in _decode(match)).replace("\0", " ")


def _fold_pieces(pieces: Sequence[tuple[str, int, int]], borders: frozenset[int] = frozenset()) -> Spelling:
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
    """Return the folded characters of a character, each with its cased form; none for a combining mark."""
    if character.isascii():
        return ((character.lower(), character),)
    letters = []
    for part in unicodedata.normalize("NFKD", character):
        if unicodedata.category(part) in ("Mn", "Me", "Cf"):
            continue
        plain = unicodedata.normalize("NFKD", part.casefold().translate(_PLAIN_BY_CODE))
        letters += [(letter, part) for letter in plain if unicodedata.category(letter) not in ("Mn", "Me")]
    return tuple(letters)


def _decode_once(pieces: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
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
    """Yield the decoded characters of an escape; an invalid escape is returned unchanged."""
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
    """Yield the characters of UTF-8 bytes; an invalid byte stays escaped."""
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
