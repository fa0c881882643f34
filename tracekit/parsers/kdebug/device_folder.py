"""The folder of a recording of ``tracekit record --via pymobiledevice3``: its files, and the stream in it."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tracekit.errors import InputError
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError
from tracekit.parsers.kdebug.device_files import DEVICE_LOG, DEVICE_STACKSHOT, DEVICE_STREAM
from tracekit.parsers.limits import LimitError, Limits
from tracekit.parsers.source import Source
from tracekit.text import format_size

_FILES = (DEVICE_STREAM, DEVICE_STACKSHOT, DEVICE_LOG)
_BLOCK_BYTES = 1 << 20
_SAMPLED_EVENT = "the Neural Engine's driver traced an event"


class _NotedSource:
    """A source with one issue more. Implements ``Source``."""

    def __init__(self, source: Source, issue: Issue) -> None:
        self.name, self.has_toc = source.name, source.has_toc
        self._source, self._issue = source, issue

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self._source.toc()

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        return self._source.tables(schema, run)

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        return (*self._source.issues(run), self._issue)


def note_unread(source: Source, file: str, error: Exception) -> Source:
    """Return the source with an issue about a file beside it that is left out, and why."""
    problem = str(getattr(error, "problem", error)).rstrip(".")
    return _NotedSource(source, Issue("warning", "file-skipped", f"{file} is left out: it {problem}"))


def unpack_device_files(archive: str, files: BundleFiles, folder: Path, limits: Limits) -> None:
    """Write a recording in an archive into a folder. Raises ``LimitError`` and ``InputError``."""
    max_bytes = left_bytes = limits.unpacked_bytes(Path(archive).stat().st_size)
    for name in (name for name in _FILES if name in files.names()):
        try:
            with files.open(name) as packed, (folder / name).open("wb") as file:
                while block := packed.read(_BLOCK_BYTES):
                    left_bytes -= len(block)
                    if left_bytes < 0:
                        raise LimitError(archive, f"unpacks to more than {format_size(max_bytes)}")
                    file.write(block)
        except (DamagedFileError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            problem = getattr(error, "problem", "cannot be unpacked")
            raise InputError(f"{archive}/{name}", f"{problem}.", "Make the archive again.") from error


def open_device_stream(folder: Path, name: str, limits: Limits) -> Source:
    """Return the stream, with its stackshot if that is there and can be read. Raises as its reader does."""
    from tracekit.parsers.kdebug.kdebug_source import open_kernel_recording

    def open_stream(stackshot: Path | None = None) -> Source:
        stream = folder / DEVICE_STREAM
        recording = open_kernel_recording(stream, name, limits, stackshot, _SAMPLED_EVENT)
        if recording.problem:
            raise recording.problem
        assert recording.events is not None
        return recording.events

    stackshot = folder / DEVICE_STACKSHOT
    if not stackshot.is_file():
        return open_stream()
    try:
        return open_stream(stackshot)
    except (OSError, InputError) as error:
        return note_unread(open_stream(), stackshot.name, error)
