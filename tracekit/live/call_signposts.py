"""The signposts that are calls: those that a user names, else those known to hold one run of a model each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

from tracekit.errors import UsageError
from tracekit.model.vocabulary import CALL_SIGNPOSTS

_PARTS = 3


class CallSignposts:
    """Decides by subsystem, category and name.

    A pattern is ``subsystem/category/name``, with globs. Fewer parts are the last ones, or the first ones:
    ``encode`` is any signpost of that name, ``com.example.app/*`` everything of a subsystem.
    Raises ``UsageError`` for more parts, or an empty one.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.is_chosen = bool(patterns)
        self._expressions = [
            [re.compile(translate(glob)) for glob in globs]
            for pattern in patterns
            for globs in _complete(pattern)
        ]
        self.matches = lru_cache(maxsize=512)(self._match)

    def _match(self, subsystem: str, category: str, name: str) -> bool:
        if not self.is_chosen:
            return (subsystem, name) in CALL_SIGNPOSTS
        parts = (subsystem, category, name)
        return any(
            all(expression.fullmatch(part) for expression, part in zip(globs, parts, strict=True))
            for globs in self._expressions
        )


def _complete(pattern: str) -> list[list[str]]:
    globs = pattern.split("/")
    if len(globs) > _PARTS or not all(globs):
        raise UsageError(
            f"'{pattern}' is not a valid signpost pattern. Write subsystem/category/name, or a part of it:"
            " name, category/name, subsystem/*; * stands for any text."
        )
    anything = ["*"] * (_PARTS - len(globs))
    return [[*anything, *globs], [*globs, *anything]] if anything else [globs]
