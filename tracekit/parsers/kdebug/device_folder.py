"""The folder of a recording of ``tracekit record --via pymobiledevice3``: its files, and the stream in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracekit.errors import InputError
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.limits import Limits
from tracekit.parsers.source import Source

DEVICE_STREAM, DEVICE_STACKSHOT = "stream.ktrace", "stackshot.json"
DEVICE_LOG, DEVICE_JOURNAL = "log.ndjson", "device.json"
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
