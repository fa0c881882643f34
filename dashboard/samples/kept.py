"""What was computed or opened a moment ago, up to so many bytes of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by key, those used last; ``size`` is how much of ``most`` one takes. Safe between threads."""

    def __init__(self, most: int, size: Callable[[Value], int]) -> None:
        self._most, self._size = most, size
        self._held: OrderedDict[Hashable, Value] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key; it is made where it is not there."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()  # not under the lock: others go on; at worst two make the same
        with self._lock:
            if key not in self._held:
                self._held[key] = made
                self._total += self._size(made)
            while self._total > self._most and len(self._held) > 1:
                self._total -= self._size(self._held.popitem(last=False)[1])
        return made

    def drop(self, unwanted: Callable[[Hashable], bool]) -> None:
        """Forget the values of some keys."""
        with self._lock:
            for key in [one for one in self._held if unwanted(one)]:
                self._total -= self._size(self._held.pop(key))
