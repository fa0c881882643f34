"""A cache of bounded size for several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import cachetools

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """A least-recently-used cache of bounded total size that several threads may use.

    ``size`` measures a value in the unit of ``max_size``.
    """

    def __init__(self, max_size: int, size: Callable[[Value], int]) -> None:
        # A value larger than the whole cache is counted as filling it: it is cached alone instead of never.
        self._values: cachetools.LRUCache[Hashable, Value] = cachetools.LRUCache(
            max_size, getsizeof=lambda value: min(size(value), max_size)
        )
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key, made by ``make`` if it is not cached."""
        with self._lock:
            if key in self._values:
                return self._values[key]
        value = make()  # outside the lock, so that other keys are served; at worst two threads make the same
        with self._lock:
            # The first value stays, so that two threads that made it share one copy from now on.
            self._values.setdefault(key, value)
        return value

    def drop(self, is_stale: Callable[[Hashable], bool]) -> None:
        """Remove the values of the keys for which ``is_stale`` is true."""
        with self._lock:
            for key in list(filter(is_stale, self._values)):
                del self._values[key]
