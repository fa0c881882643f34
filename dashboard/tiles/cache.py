"""Caches of the sample routes: opened recordings, the masks of their filters, and finished tiles."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import cachetools

from dashboard.errors import NotFound
from dashboard.library.library import Library
from dashboard.tiles.chain import Step
from dashboard.tiles.filters import Term, row_mask
from dashboard.tiles.sample_columns import FOLDER, HEADER, Bools, SampleColumns, open_samples
from dashboard.tiles.transformed import TransformedTree, after, recorded

Value = TypeVar("Value")
_MAX_OPEN = 8
_MASK_BYTES = 64 << 20
_TREE_BYTES = 256 << 20
_MASK_OVERHEAD_BYTES = 1_000
"""Added to the size of each mask, so that the number of small masks is bounded as well."""


class SampleCache(Generic[Value]):
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


@dataclass(frozen=True)
class OpenRecording:
    """The samples of a recording; ``revision`` changes each time the recording is read."""

    revision: str
    samples: SampleColumns


class RecordingCache:
    """Opened recordings of a library, the sample masks of their filters, and their transformed call trees."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._open: SampleCache[SampleColumns] = SampleCache(_MAX_OPEN, lambda _samples: 1)
        self._masks: SampleCache[Bools | None] = SampleCache(
            _MASK_BYTES, lambda mask: _MASK_OVERHEAD_BYTES + (0 if mask is None else mask.nbytes)
        )
        self._trees: SampleCache[TransformedTree] = SampleCache(_TREE_BYTES, lambda tree: tree.nbytes)

    def get(self, recording_id: str) -> OpenRecording:
        """Return a recording's samples.

        Raises ``NotFound`` if it is deleted or not ready, or was read by a version with other files.
        """
        revision = ""
        try:
            folder = self._library.view_path(recording_id).with_name(FOLDER)
            name = self._library.recording(recording_id).name
            revision = f"{recording_id}-{_revision(folder)}"
            return OpenRecording(revision, self._open.get(revision, lambda: _opened(folder, name, revision)))
        finally:
            # Files that were removed occupy the disk as long as they are mapped.
            self._open.drop(lambda key: str(key).startswith(f"{recording_id}-") and key != revision)

    def tree(self, recording: OpenRecording, chain: tuple[Step, ...]) -> TransformedTree:
        """Return the call tree after a chain; the one before its last step is cached as well."""

        def make() -> TransformedTree:
            if not chain:
                return recorded(recording.samples)
            return after(self.tree(recording, chain[:-1]), chain[-1])

        return self._trees.get((recording.revision, chain), make)

    def mask(self, recording: OpenRecording, terms: tuple[Term, ...]) -> Bools | None:
        """Return the rows that a filter selects, None for all."""
        return self._masks.get((recording.revision, terms), lambda: row_mask(recording.samples, terms))


def _opened(folder: Path, name: str, revision: str) -> SampleColumns:
    samples = open_samples(folder, name)
    # Without this check, some of the files could be of the reading before the revision, others of it.
    if not revision.endswith(_revision(folder)):
        raise NotFound(f"{name} is being read again.")
    return samples


def _revision(folder: Path) -> str:
    """Return a text that differs between two readings of a recording."""
    try:
        status = (folder / HEADER).stat()
    except OSError:
        return "none"  # ``open_samples`` reports what is wrong
    return f"{status.st_ino:x}-{status.st_mtime_ns:x}"
