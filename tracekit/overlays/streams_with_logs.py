"""Kernel streams and the logs recorded with them: one in the other's file, or both in a folder.

The stream is opened with its log laid over it, or what can be read of the two, with an issue about the rest.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tracekit.errors import InputError
from tracekit.overlays.overlaid_source import OverlaidSource
from tracekit.overlays.overlay_texts import open_texts
from tracekit.parsers.bundle.bundle_files import BundleFiles
from tracekit.parsers.kdebug.device_files import DEVICE_LOG, DEVICE_STREAM
from tracekit.parsers.kdebug.device_folder import note_unread, open_device_stream, unpack_device_files
from tracekit.parsers.kdebug.kdebug_source import open_kernel_recording
from tracekit.parsers.limits import Limits
from tracekit.parsers.source import Progress, Source


def open_kernel_file(path: str, name: str, limits: Limits) -> Source:
    """Open a stream of events with its own log, or a stackshot."""
    recording = open_kernel_recording(Path(path), name, limits)
    events, log = recording.events, recording.log
    if events is None:
        assert log is not None and recording.problem is not None
        return note_unread(log, "the stream of events", recording.problem)
    if log is None:
        return events
    try:
        return OverlaidSource(events, [log])
    except InputError as error:
        return note_unread(events, log.name, error)


def open_device_recording(folder: Path, name: str, limits: Limits, progress: Progress | None) -> Source:
    """Open a folder that ``record --via`` wrote."""
    stream, log = folder / DEVICE_STREAM, folder / DEVICE_LOG
    try:
        source = open_device_stream(folder, name, limits)
    except (OSError, InputError) as error:
        if not log.is_file():
            raise
        (text,) = open_texts([log], limits, progress)
        return note_unread(text, stream.name, error)
    if not log.is_file():
        return source
    try:
        return OverlaidSource(source, open_texts([log], limits, progress))
    except InputError as error:
        return note_unread(source, log.name, error)


def open_archived_device_recording(
    path: str, files: BundleFiles, limits: Limits, progress: Progress | None
) -> Source:
    """Open such a folder in an archive; its files are on the disk only meanwhile."""
    with TemporaryDirectory(prefix="tracekit-", ignore_cleanup_errors=True) as place:
        unpack_device_files(path, files, Path(place), limits)
        return open_device_recording(Path(place), files.name, limits, progress)
