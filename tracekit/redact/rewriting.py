"""Removal of home folders, the device's name and other processes' names from texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

OTHER_PROCESS = "other-process"
DEVICE = "device"

_HOME = re.compile(r"""(?:/Users|/home)/(?!Shared(?![^/\s]))[^/\s:;,"'<>|()\[\]{}]+""")
_ENDS_WITH_PID = re.compile(r"(?:\(|pid: )(\d{1,10})\)\Z")


@dataclass(frozen=True)
class TextRewriter:
    """Rewrites texts; ``own_names`` stay even where they contain one of ``other_names``."""

    own_names: frozenset[str] = frozenset()
    other_names: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()

    def without_homes(self, texts: Sequence[str]) -> list[str]:
        """Return texts with ``~`` for each home folder: for names of code, which may have any word."""
        return [_HOME.sub("~", text) if "/" in text else text for text in texts]

    def of_own(self, texts: Sequence[str]) -> list[str]:
        """Return names of the own process without home folders and devices; other names in them stay."""
        return self._replaced(self.without_homes(texts), frozenset(), self.devices - self.own_names)

    def everywhere(self, texts: Sequence[str]) -> list[str]:
        """Return texts without home folders, and without devices and other processes as whole words."""
        return self._replaced(self.without_homes(texts), self.other_names, self.devices)

    def text(self, text: str) -> str:
        """Return one text rewritten, see ``everywhere``."""
        return self.everywhere([text])[0]

    def _replaced(self, texts: list[str], other_names: frozenset[str], devices: frozenset[str]) -> list[str]:
        everything = "\0".join(texts)
        # Hundreds of processes run and few are mentioned: one search in all texts together finds those few.
        present = {name for name in (*other_names, *devices) if name in everything}
        if not present:
            return texts
        # Longest first: "App Helper" must not become "other-process Helper".
        own_present = {name for name in self.own_names if name in everything}
        longest_first = sorted(present | own_present, key=len)[::-1]
        words = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")

        def replacement(match: re.Match[str]) -> str:
            if match[0] in self.own_names:
                return match[0]
            return DEVICE if match[0] in devices else OTHER_PROCESS

        return [words.sub(replacement, text) for text in texts]


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


def _texts(cell: Any) -> Iterator[str]:
    for _, value in cell:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from _texts(value)
