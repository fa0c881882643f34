"""Attempts to record, as a server runs them."""

from __future__ import annotations

from pathlib import Path

from library_support import wait_for

from tracekit_dashboard.library.library import Library
from tracekit_dashboard.recording.attempts import Attempts
from tracekit_dashboard.recording.request import RecordingRequest
from tracekit_dashboard.recording.state import AttemptState

APP = RecordingRequest("running", "SampleApp", 4215, seconds=0.2)
LONG = RecordingRequest("running", "SampleApp", 4215, seconds=60)


def desk_of(library: Library, tmp_path: Path) -> Attempts:
    made = Attempts(tmp_path / "library", library, min_free_bytes=0)
    made.resume()
    return made


def state_of(desk: Attempts, attempt: str) -> AttemptState:
    return next(candidate.state for candidate in desk.list_attempts() if candidate.id == attempt)


def until(desk: Attempts, attempt: str, phase: str) -> AttemptState:
    wait_for(lambda: not desk.list_attempts() or state_of(desk, attempt).phase == phase)
    return state_of(desk, attempt)


def until_recording(desk: Attempts, attempt: str) -> AttemptState:
    """Wait until there is a bundle: whatever stops xctrace from then on, it saves."""
    state = until(desk, attempt, "recording")
    wait_for(lambda: any((desk._folder / attempt).glob("*.trace")))
    return state


def until_opened(desk: Attempts, attempt: str) -> tuple[str, ...]:
    wait_for(lambda: desk.find_opened(attempt) is not None)
    recording_ids = desk.find_opened(attempt)
    assert recording_ids is not None
    return recording_ids


def recorded(tmp_path: Path) -> list[str]:
    """Return the names of all files of attempts, without their ids."""
    folder = tmp_path / "library" / "recorded"
    return sorted(path.name for attempt in folder.iterdir() for path in attempt.iterdir())
