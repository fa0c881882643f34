"""Inputs of jobs that make something of ready recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tracekit_dashboard.errors import Conflict
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.notes import PinnedNotes
from tracekit_dashboard.library.reading_results import SUMMARY


class ReadyRecordings(Protocol):
    """The methods of ``Library`` that downloads and comparisons use."""

    @property
    def notes(self) -> PinnedNotes:
        """The notes pinned to times of recordings."""

    def find_recording(self, recording_id: str) -> Recording:
        """Return a recording, with a message if its file has changed since it was read."""

    def find_results(self, recording_id: str) -> Path:
        """Return the folder of the results; raise ``NotFound`` if the recording is deleted or not ready."""

    def build_arguments(self, analysis_id: str) -> list[str]:
        """Return the arguments with which a command makes the analysis of that id."""

    def note_results(self, recording_id: str) -> None:
        """Enter the size of a recording's results, to which a download was added."""


def require_unchanged(library: ReadyRecordings, recording_id: str, done_with: str) -> Recording:
    """Return a recording whose file is as it was read; raise ``Conflict`` if the file has changed.

    ``done_with`` is a participle, for the sentence: "compared".
    """
    recording = library.find_recording(recording_id)
    if recording.origin == "file" and recording.message:
        raise Conflict(
            f"{recording.name} cannot be {done_with}: its file is gone, or has changed since it was read."
            " Put it back, or read it again."
        )
    return recording


def read_revision(library: ReadyRecordings, recording_id: str) -> str:
    """Return a text that changes when a recording is read again."""
    status = (library.find_results(recording_id) / SUMMARY).stat()
    return f"{status.st_ino} {status.st_mtime_ns}"
