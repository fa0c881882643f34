"""Removal of home folders, and of names of users, volumes, the device and other processes, from texts.

Most texts contain none of the names. The letters and digits of all texts are searched at once; only texts
that may contain a name are searched in all spellings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any

import numpy as np
import pandas as pd

from tracekit.redact.folder_names import with_folders
from tracekit.redact.paths import is_system_library, iter_home_folders, iter_volumes
from tracekit.redact.spelling import (
    decode_spellings,
    join_as_written,
    join_letters,
    make_plain_spelling,
    split_into_batches,
)
from tracekit.redact.words import (
    DEVICE,
    OTHER_PROCESS,
    USER,
    VOLUME,
    ExactName,
    PrivateNames,
    Word,
    WordSet,
    build_word_sets,
)

HOME = "~"
_NO_TEXT = "\0"
"""Stands for a value that is not text in a composite cell: names do not continue across it."""
_ENDS_WITH_PID = re.compile(r"(?:\(|pid: )(\d{1,10})\)\Z")

_Span = tuple[int, int, str]
"""Start, end and replacement of a part of a text."""
_ORDER = (HOME, VOLUME, DEVICE, USER, OTHER_PROCESS)
"""Priority of replacements: where parts overlap, the earliest of these is written."""


class TextRewriter:
    """Rewrites texts. The process's own names stay, even if they contain another process's name."""

    def __init__(self, names: PrivateNames) -> None:
        self.names = names
        self._sets = build_word_sets(names)

    def rewrite_code(self, texts: Sequence[str]) -> list[str]:
        """Return rewritten names of functions; common and short words of code stay."""
        return _rewrite_texts(texts, self._sets.code)

    def rewrite_binaries(self, names: Sequence[str], paths: Sequence[str]) -> list[str]:
        """Return rewritten names of binaries; names of system libraries stay."""
        rewritten = _rewrite_texts(names, self._sets.binary)
        return [
            name if is_system_library(path, name) else new
            for name, path, new in zip(names, paths, rewritten, strict=True)
        ]

    def rewrite_own_names(self, texts: Sequence[str]) -> list[str]:
        """Return rewritten names of the own process; names of other processes in them stay."""
        return _rewrite_texts(texts, self._sets.own_name)

    def rewrite_texts(self, texts: Sequence[str]) -> list[str]:
        """Return rewritten texts."""
        return _rewrite_texts(texts, self._sets.text)

    def find_cell_spans(self, cells: Sequence[Any]) -> dict[int, list[_Span]]:
        """Return the spans to replace in the joined texts of cells, by position of the cell."""
        return _find_spans([join_parts(cell) for cell in cells], self._sets.text, cells)

    def rewrite_text(self, text: str) -> str:
        """Return one rewritten text, see ``rewrite_texts``."""
        return self.rewrite_texts([text])[0]


def _rewrite_texts(texts: Sequence[str], word_set: WordSet) -> list[str]:
    result = list(texts)
    for position, spans in _find_spans(texts, word_set).items():
        result[position] = _replace_spans(texts[position], spans)
    return result


def _find_spans(
    texts: Sequence[str], word_set: WordSet, cells: Sequence[Any] | None = None
) -> dict[int, list[_Span]]:
    """Return the spans to replace in each text, by position; texts without any are omitted.

    If ``cells`` are given, ``texts`` are their joined texts, and words end at the borders of cell parts.
    """
    spans: dict[int, list[_Span]] = {}
    for first_position, batch in split_into_batches(texts):
        for place, words in _find_words(batch, word_set).items():
            borders = frozenset[int]() if cells is None else _find_part_borders(cells[first_position + place])
            parts = _merge_spans(_iter_spans(batch[place], [*words, *word_set.own], borders))
            spans |= {first_position + place: parts} if parts else {}
    return spans


def _find_words(texts: Sequence[str], word_set: WordSet) -> dict[int, list[Word | ExactName]]:
    """Return the names that may occur in texts, by position (maybe none, for a home folder)."""
    if not any(texts):
        return {}
    letters, written = join_letters(texts), join_as_written(texts)
    words_at: dict[int, list[Word | ExactName]] = {place: [] for place in with_folders(texts, letters)}
    for word in word_set.words:
        for place in {place for spelling in letters for place in spelling.find_texts(word.letters)}:
            words_at.setdefault(place, []).append(word)
    for name in word_set.exact:
        for place in written.find_texts(name.name):
            words_at.setdefault(place, []).append(name)
    return words_at


def _iter_spans(text: str, words: Sequence[Word | ExactName], borders: frozenset[int]) -> Iterator[_Span]:
    versions = decode_spellings(text, borders)
    spans = [
        (*spelling.locate_in_text(start, end), word.replacement)
        for word in words
        for spelling in (versions if isinstance(word, Word) else [make_plain_spelling(text)])
        for start, end in word.find_spans(spelling)
    ]
    own = [(start, end) for start, end, replacement in spans if not replacement]
    for start, end, replacement in spans:
        is_own = replacement == OTHER_PROCESS and any(
            own_start <= start and end <= own_end for own_start, own_end in own
        )
        if replacement and not is_own:
            yield start, end, replacement
    for spelling in versions:
        for start, end, _ in iter_home_folders(spelling):
            yield *spelling.locate_in_text(start, end), HOME
        for start, end, _ in iter_volumes(spelling):
            yield *spelling.locate_in_text(start, end), VOLUME


def _replace_spans(text: str, spans: Sequence[_Span]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, replacement in spans:
        pieces += [text[position:start], replacement]
        position = end
    return "".join([*pieces, text[position:]])


def _merge_spans(spans: Iterator[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for start, end, replacement in sorted(spans):
        if merged and start < merged[-1][1]:
            previous_start, previous_end, previous_replacement = merged[-1]
            merged[-1] = (
                previous_start,
                max(previous_end, end),
                min(previous_replacement, replacement, key=_ORDER.index),
            )
        else:
            merged.append((start, end, replacement))
    return merged


def rewrite_cells(cells: pd.Series[Any], rewrite: Callable[[list[Any]], Sequence[Any]]) -> pd.Series[Any]:
    """Return a column with each distinct value rewritten once; unused categories are dropped."""
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
    """Return rewritten composite cells; a process or thread in them stays if its pid is in ``pids``."""
    cells = _rewrite_across_parts(rewriter, cells)
    texts = list(dict.fromkeys(text for cell in cells for text in _iter_texts(cell)))
    rewritten = dict(zip(texts, rewriter.rewrite_texts(texts), strict=True))

    def rewrite_part(piece: tuple[str, Any]) -> tuple[str, Any]:
        name, value = piece
        if isinstance(value, tuple):
            return name, tuple(map(rewrite_part, value))
        if not isinstance(value, str):
            return piece
        pid = _ENDS_WITH_PID.search(value) if name in ("process", "thread") else None
        return name, OTHER_PROCESS if pid and int(pid[1]) not in pids else rewritten[value]

    return [tuple(map(rewrite_part, cell)) for cell in cells]


def join_parts(cell: Any) -> str:
    """Return the texts of a composite cell as one text: a name may span several parts."""
    return "".join(_iter_texts(cell, _NO_TEXT))


def collect_part_texts(cell: Any) -> list[str]:
    """Return the texts of a composite cell, and, if there are several, also their joined text."""
    texts = list(_iter_texts(cell))
    return [*texts, join_parts(cell)] if len(texts) > 1 else texts


def _find_part_borders(cell: Any) -> frozenset[int]:
    """Return the positions in the joined text of a cell at which its parts begin."""
    return frozenset(accumulate(map(len, _iter_texts(cell, _NO_TEXT))))


def _rewrite_across_parts(rewriter: TextRewriter, cells: Sequence[Any]) -> list[Any]:
    """Return cells with names replaced that span several parts."""
    result = list(cells)
    spread = [position for position, cell in enumerate(cells) if len(list(islice(_iter_texts(cell), 2))) > 1]
    spans = rewriter.find_cell_spans([cells[position] for position in spread])
    for place, parts in spans.items():
        result[spread[place]] = _replace_cell_spans(cells[spread[place]], parts, 0)[0]
    return result


def _replace_cell_spans(cell: Any, spans: Sequence[_Span], position: int) -> tuple[Any, int]:
    """Return a cell with the spans replaced, and the end of its joined text, which begins at ``position``."""
    parts = []
    for name, value in cell:
        rewritten = value
        if isinstance(value, tuple):
            rewritten, position = _replace_cell_spans(value, spans, position)
        elif isinstance(value, str):
            end = position + len(value)
            # The replacement is written where a name begins, and what follows of it in other parts is cut.
            within = [
                (
                    max(start, position) - position,
                    min(span_end, end) - position,
                    text if start >= position else "",
                )
                for start, span_end, text in spans
                if start < end and span_end > position
            ]
            rewritten, position = _replace_spans(value, within), end
        else:
            position += len(_NO_TEXT)
        parts.append((name, rewritten))
    return tuple(parts), position


def _iter_texts(cell: Any, instead: str = "") -> Iterator[str]:
    """Yield the texts of a composite cell, and ``instead`` for each other value."""
    for _, value in cell:
        if isinstance(value, tuple):
            yield from _iter_texts(value, instead)
        elif isinstance(value, str):
            yield value
        elif instead:
            yield instead
