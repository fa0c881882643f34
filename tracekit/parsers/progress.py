"""Progress of a long reading: several files as one, and the time that remains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands import this module, and pandas comes with that one
    from tracekit.parsers.source import Progress

_MIN_ELAPSED_SECONDS = 3.0
_MIN_SHARE_DONE = 0.03
_MIN_REMAINING_SECONDS = 2.0
_ROUNDED_TO_SECONDS = 5


class SeveralFiles:
    """The progress of files that are read one after another, as a share of all their bytes."""

    def __init__(self, progress: Progress, sizes_bytes: Sequence[int | None]) -> None:
        self._progress = progress
        self._done_bytes = [0] * len(sizes_bytes)
        known = [size for size in sizes_bytes if size is not None]
        self._total_bytes = sum(known) if len(known) == len(sizes_bytes) else None

    def make_progress(self, number: int) -> Progress:
        """Return the callback for the progress of the file with that number, from 0."""

        def report(done: int, _total: int | None) -> None:
            self._done_bytes[number] = done
            self._progress(sum(self._done_bytes), self._total_bytes)

        return report


def format_remaining(done: int, total: int | None, elapsed_seconds: float) -> str:
    """Return ``about 20 s left``, from the rate so far; "" while that is uncertain, or for a short time."""
    if not total or elapsed_seconds < _MIN_ELAPSED_SECONDS or done < _MIN_SHARE_DONE * total:
        return ""
    seconds = elapsed_seconds * (total - done) / done
    if seconds < _MIN_REMAINING_SECONDS:
        return ""
    if seconds < 60:
        return f"about {_ROUNDED_TO_SECONDS * math.ceil(seconds / _ROUNDED_TO_SECONDS)} s left"
    return f"about {math.ceil(seconds / 60)} min left"
