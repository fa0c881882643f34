"""The recordings whose samples are being looked at: opened once, and closed when others are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dashboard.errors import NotFound
from dashboard.library.library import Library
from dashboard.samples.columns import FOLDER, HEADER, Bools, Samples, open_samples
from dashboard.samples.filters import parse_filter, row_mask
from dashboard.samples.kept import Kept

_MOST_OPEN = 8
_MASK_BYTES = 64 << 20
_ROOM_PER_MASK = 1_000
"""Also of a small mask, lest there are any number of them."""


@dataclass(frozen=True)
class Open:
    """An opened recording; ``stamp`` differs for each time that a recording was read."""

    stamp: str
    samples: Samples


class Shelf:
    """Opened recordings of a library, and which of their samples filters want."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._open: Kept[Samples] = Kept(_MOST_OPEN, lambda _samples: 1)
        self._masks: Kept[Bools | None] = Kept(
            _MASK_BYTES, lambda mask: _ROOM_PER_MASK + (0 if mask is None else mask.nbytes)
        )

    def take(self, recording_id: str) -> Open:
        """Return a recording's samples; raise ``NotFound`` when it is deleted, not ready or read before."""
        stamp = ""
        try:
            folder = self._library.view_path(recording_id).with_name(FOLDER)
            name = self._library.recording(recording_id).name
            stamp = f"{recording_id}-{_told(folder)}"
            return Open(stamp, self._open.get(stamp, lambda: _opened(folder, name, stamp)))
        finally:  # files that were removed take room on the disk for as long as they are open
            self._open.drop(lambda key: str(key).startswith(recording_id) and key != stamp)

    def mask(self, taken: Open, text: str) -> Bools | None:
        """Return which rows a filter wants, None for all."""
        terms = tuple(parse_filter(text))
        return self._masks.get((taken.stamp, terms), lambda: row_mask(taken.samples, terms))


def _opened(folder: Path, name: str, stamp: str) -> Samples:
    samples = open_samples(folder, name)
    if not stamp.endswith(_told(folder)):  # half of the files may be of one reading, half of the next
        raise NotFound(f"{name} is being read again.")
    return samples


def _told(folder: Path) -> str:
    """Return what differs between two readings of a recording."""
    try:
        found = (folder / HEADER).stat()
    except OSError:
        return "none"  # what opens it says what is wrong
    return f"{found.st_ino:x}-{found.st_mtime_ns:x}"
