"""Chance that falls alike on every version of Python: of `random`, only `random()` itself is promised to."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Dice:
    """Repeatable random numbers."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def below(self, limit: int) -> int:
        return int(self._random() * limit)

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return [items[place] for _, place in sorted((self._random(), place) for place in range(len(items)))]
