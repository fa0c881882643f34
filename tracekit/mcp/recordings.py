"""``RecordingStore``: the recordings that a client opened, within the folders that it may read."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from tracekit.analysis import analyze
from tracekit.analysis.result import Analysis
from tracekit.errors import UsageError
from tracekit.load import open_trace
from tracekit.text import clip, printable

_MOST_ANALYSES = 4
"""Analyses in memory; others are made again when they are needed."""
_MOST_RECORDINGS = 1_000
_MOST_FILES = 20_000
_WIDTH = 120
Stamp = tuple[int, int, int]
"""The number of files, their size in bytes, and the latest time of change."""


@dataclass(frozen=True)
class OpenedRecording:
    """A recording: its ``name`` below an allowed folder, its analysis, and whether it has changed since."""

    id: str
    name: str
    path: Path
    analysis: Analysis
    has_changed: bool = False


class RecordingStore:
    """The recordings of one server. Every path is resolved, links too, and must lie in an allowed folder."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [folder.resolve() for folder in folders]
        self._ids: dict[Path, str] = {}
        self._analyses: OrderedDict[str, tuple[Stamp, Analysis]] = OrderedDict()
        self._lock = RLock()

    @property
    def opened(self) -> dict[str, str]:
        """The names of the opened recordings by id."""
        with self._lock:
            return {identifier: self.name(path) for path, identifier in self._ids.items()}

    def resolve(self, text: str) -> Path:
        """Return an existing path in an allowed folder. Raises ``UsageError`` for any other."""
        if not text or "\0" in text:
            raise UsageError("A path is the name of a recording in one of the allowed folders.")
        for folder in self.folders:
            try:
                path = Path(os.path.realpath(folder / text))
                if path.is_relative_to(folder) and path.exists():
                    return path
            except (OSError, ValueError):  # too long for the system, or no text that names a file
                continue
        names = ", ".join(printable(folder.name) for folder in self.folders)
        raise UsageError(
            f"{clip(printable(text), _WIDTH)!r} is not in an allowed folder ({names}). "
            "Next: open with a path relative to one of them."
        )

    def name(self, path: Path) -> str:
        """Return a path relative to its allowed folder: no absolute path leaves the server."""
        folder = next(folder for folder in self.folders if path.is_relative_to(folder))
        relative = path.relative_to(folder)
        return printable(str(relative) if relative.parts else folder.name)

    def hide_folders(self, text: str) -> str:
        """Return a message with the names of allowed folders in place of their paths."""
        for folder in sorted(self.folders, key=lambda folder: -len(str(folder))):
            text = text.replace(str(folder), folder.name)
        return text

    def open(self, text: str) -> OpenedRecording:
        """Return the recording of a path, or of an id; it is read again where its files changed."""
        with self._lock:
            paths = {identifier: path for path, identifier in self._ids.items()}
            path = paths.get(text) or self.resolve(text)
            if Path(os.path.realpath(path)) != path:
                raise UsageError(f"{self.name(path)} has become a link. Next: open another recording.")
            if path not in self._ids and len(self._ids) >= _MOST_RECORDINGS:
                raise UsageError(
                    f"{_MOST_RECORDINGS:,} recordings are open, which is the most. Next: restart the server."
                )
            identifier = self._ids.setdefault(path, f"r{len(self._ids) + 1}")
            stamp = self._compute_stamp(path)
            stored = self._analyses.get(identifier)
            has_changed = stored is not None and stored[0] != stamp
            if stored is None or has_changed:
                try:
                    analysis = analyze(open_trace(path))
                except Exception:
                    if stored is None:
                        del self._ids[path]
                    raise
                self._analyses[identifier] = (stamp, analysis)
            self._analyses.move_to_end(identifier)
            while len(self._analyses) > _MOST_ANALYSES:
                self._analyses.popitem(last=False)
            return OpenedRecording(
                identifier, self.name(path), path, self._analyses[identifier][1], has_changed
            )

    def _compute_stamp(self, path: Path) -> Stamp:
        try:
            return _compute_stamp(path)
        except OSError as error:
            raise UsageError(
                f"{self.name(path)} cannot be read any more: {error.strerror}. Next: open another recording."
            ) from error


def _compute_stamp(path: Path) -> Stamp:
    """Return what changes with the files of a recording; of very many files, those first in order count."""
    if not path.is_dir():
        status = path.stat()
        return 1, status.st_size, status.st_mtime_ns
    count = size_bytes = latest_ns = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            status = os.lstat(Path(folder) / name)
            count, size_bytes = count + 1, size_bytes + status.st_size
            latest_ns = max(latest_ns, status.st_mtime_ns)
            if count >= _MOST_FILES:
                return count, size_bytes, latest_ns
    return count, size_bytes, latest_ns
