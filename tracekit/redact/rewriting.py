"""Removal of home folders, and of names of users, volumes, the device and other processes, from texts.

Most texts have none of the names: the letters and digits of all are searched at once, and only a text that
may have a name is looked at in all its spellings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any

import numpy as np
import pandas as pd

from tracekit.redact.folder_names import with_folders
from tracekit.redact.paths import home_folders, is_system_library, volumes
from tracekit.redact.spelling import as_written, batches, letters_of_texts, plain, spellings
from tracekit.redact.words import (
    DEVICE,
    OTHER_PROCESS,
    USER,
    VOLUME,
    ExactName,
    Names,
    Word,
    WordSet,
    word_sets,
)

HOME = "~"
_NO_TEXT = "\0"
"""A value that is no text, between two texts of a composite cell: no name goes on across it."""
_ENDS_WITH_PID = re.compile(r"(?:\(|pid: )(\d{1,10})\)\Z")

_Span = tuple[int, int, str]
"""Start, end and replacement of a part of a text."""
_ORDER = (HOME, VOLUME, DEVICE, USER, OTHER_PROCESS)
"""Of parts that overlap, the replacement that comes first here is written."""


class TextRewriter:
    """Rewrites texts; the own names stay even where they contain another process's name."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._sets = word_sets(names)

    def in_code(self, texts: Sequence[str]) -> list[str]:
        """Return names of functions rewritten: common and short words of code stay."""
        return _rewritten(texts, self._sets.code)

    def of_binaries(self, names: Sequence[str], paths: Sequence[str]) -> list[str]:
        """Return names of binaries rewritten; those of the system's libraries stay."""
        rewritten = _rewritten(names, self._sets.binary)
        return [
            name if is_system_library(path, name) else new
            for name, path, new in zip(names, paths, rewritten, strict=True)
        ]

    def of_own(self, texts: Sequence[str]) -> list[str]:
        """Return names of the own process rewritten; names of other processes in them stay."""
        return _rewritten(texts, self._sets.own_name)

    def everywhere(self, texts: Sequence[str]) -> list[str]:
        """Return texts rewritten."""
        return _rewritten(texts, self._sets.text)

    def spans_of_cells(self, cells: Sequence[Any]) -> dict[int, list[_Span]]:
        """Return the parts to replace of cells, joined, by the position of each cell that has some."""
        return _spans_of([joined_parts(cell) for cell in cells], self._sets.text, cells)

    def text(self, text: str) -> str:
        """Return one text rewritten, see ``everywhere``."""
        return self.everywhere([text])[0]


def _rewritten(texts: Sequence[str], chosen: WordSet) -> list[str]:
    result = list(texts)
    for position, spans in _spans_of(texts, chosen).items():
        result[position] = _replaced(texts[position], spans)
    return result


def _spans_of(
    texts: Sequence[str], chosen: WordSet, cells: Sequence[Any] | None = None
) -> dict[int, list[_Span]]:
    """Return the parts to replace of each text that has some, by its position.

    Where the texts are those of ``cells``, words have limits at the borders of the cells' parts.
    """
    spans: dict[int, list[_Span]] = {}
    for first, batch in batches(texts):
        for place, words in _words_at(batch, chosen).items():
            borders = frozenset[int]() if cells is None else _borders(cells[first + place])
            parts = _merged(_spans(batch[place], [*words, *chosen.own], borders))
            spans |= {first + place: parts} if parts else {}
    return spans


def _words_at(texts: Sequence[str], chosen: WordSet) -> dict[int, list[Word | ExactName]]:
    """Return the names that may be in texts, and none for a home folder or volume, by the text's position."""
    if not any(texts):
        return {}
    letters, written = letters_of_texts(texts), as_written(texts)
    words_at: dict[int, list[Word | ExactName]] = {place: [] for place in with_folders(texts, letters)}
    for word in chosen.words:
        for place in {place for spelling in letters for place in spelling.places(word.letters)}:
            words_at.setdefault(place, []).append(word)
    for name in chosen.exact:
        for place in written.places(name.name):
            words_at.setdefault(place, []).append(name)
    return words_at


def _spans(text: str, words: Sequence[Word | ExactName], borders: frozenset[int]) -> Iterator[_Span]:
    versions = spellings(text, borders)
    spans = [
        (*spelling.span(start, end), word.replacement)
        for word in words
        for spelling in (versions if isinstance(word, Word) else [plain(text)])
        for start, end in word.places(spelling)
    ]
    own = [(start, end) for start, end, replacement in spans if not replacement]
    for start, end, replacement in spans:
        is_own = replacement == OTHER_PROCESS and any(first <= start and end <= last for first, last in own)
        if replacement and not is_own:
            yield start, end, replacement
    for spelling in versions:
        for start, end, _ in home_folders(spelling):
            yield *spelling.span(start, end), HOME
        for start, end, _ in volumes(spelling):
            yield *spelling.span(start, end), VOLUME


def _replaced(text: str, spans: Sequence[_Span]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, replacement in spans:
        pieces += [text[position:start], replacement]
        position = end
    return "".join([*pieces, text[position:]])


def _merged(spans: Iterator[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for start, end, replacement in sorted(spans):
        if merged and start < merged[-1][1]:
            first, last, before = merged[-1]
            merged[-1] = first, max(last, end), min(before, replacement, key=_ORDER.index)
        else:
            merged.append((start, end, replacement))
    return merged


def rewrite_cells(cells: pd.Series[Any], rewrite: Callable[[list[Any]], Sequence[Any]]) -> pd.Series[Any]:
    """Return a column with its distinct values rewritten, each once; unused categories are dropped."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        used = cells.cat.remove_unused_categories()
        numbers, words = pd.factorize(np.array(rewrite(used.cat.categories.tolist()), dtype=object))
        codes = np.append(numbers, -1)[used.cat.codes.to_numpy()]
        names = pd.Index(words, dtype="str")
        return pd.Series(pd.Categorical.from_codes(codes, categories=names), cells.index)
    codes, distinct = pd.factorize(cells)
    rewritten = pd.Series([*rewrite(list(distinct)), None], dtype=object)
    return pd.Series(rewritten.to_numpy()[codes], cells.index, dtype=object)


def rewrite_parts(rewriter: TextRewriter, pids: frozenset[int], cells: Sequence[Any]) -> list[Any]:
    """Return composite cells rewritten; a process or thread named in them stays if its pid is in ``pids``."""
    cells = _rewritten_across(rewriter, cells)
    texts = list(dict.fromkeys(text for cell in cells for text in _texts(cell)))
    rewritten = dict(zip(texts, rewriter.everywhere(texts), strict=True))

    def part(piece: tuple[str, Any]) -> tuple[str, Any]:
        name, value = piece
        if isinstance(value, tuple):
            return name, tuple(map(part, value))
        if not isinstance(value, str):
            return piece
        pid = _ENDS_WITH_PID.search(value) if name in ("process", "thread") else None
        return name, OTHER_PROCESS if pid and int(pid[1]) not in pids else rewritten[value]

    return [tuple(map(part, cell)) for cell in cells]


def joined_parts(cell: Any) -> str:
    """Return the texts of a composite cell as one: a name may begin in one part and end in the next."""
    return "".join(_texts(cell, _NO_TEXT))


def texts_of_parts(cell: Any) -> list[str]:
    """Return the texts of a composite cell, each and, where there are several, as one."""
    texts = list(_texts(cell))
    return [*texts, joined_parts(cell)] if len(texts) > 1 else texts


def _borders(cell: Any) -> frozenset[int]:
    """Return the positions in the joined text of a cell at which its parts begin."""
    return frozenset(accumulate(map(len, _texts(cell, _NO_TEXT))))


def _rewritten_across(rewriter: TextRewriter, cells: Sequence[Any]) -> list[Any]:
    """Return cells without the names that are spread over several parts."""
    result = list(cells)
    spread = [position for position, cell in enumerate(cells) if len(list(islice(_texts(cell), 2))) > 1]
    spans = rewriter.spans_of_cells([cells[position] for position in spread])
    for place, parts in spans.items():
        result[spread[place]] = _without_spans(cells[spread[place]], parts, 0)[0]
    return result


def _without_spans(cell: Any, spans: Sequence[_Span], position: int) -> tuple[Any, int]:
    """Return a cell whose joined text begins at ``position`` without spans, and the end of that text."""
    parts = []
    for name, value in cell:
        rewritten = value
        if isinstance(value, tuple):
            rewritten, position = _without_spans(value, spans, position)
        elif isinstance(value, str):
            end = position + len(value)
            # The replacement is written where a name begins, and what follows of it in other parts is cut.
            within = [
                (
                    max(start, position) - position,
                    min(last, end) - position,
                    text if start >= position else "",
                )
                for start, last, text in spans
                if start < end and last > position
            ]
            rewritten, position = _replaced(value, within), end
        else:
            position += len(_NO_TEXT)
        parts.append((name, rewritten))
    return tuple(parts), position


def _texts(cell: Any, instead: str = "") -> Iterator[str]:
    """Yield the texts of a composite cell, and ``instead`` for each other value."""
    for _, value in cell:
        if isinstance(value, tuple):
            yield from _texts(value, instead)
        elif isinstance(value, str):
            yield value
        elif instead:
            yield instead
