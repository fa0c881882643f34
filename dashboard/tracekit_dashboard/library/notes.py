"""Notes pinned to times of a recording: a small file beside its results, which reading it again leaves alone.

recordings/<id>/notes.json    {"notes": [{"id", "time_ns", "text"}]}, replaced as a whole
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.report.viewmodel.notes import MAX_NOTE_LETTERS, MAX_NOTES
from tracekit_dashboard.errors import Conflict, NoSpace, NotFound
from tracekit_dashboard.library.outside_names import make_one_line
from tracekit_dashboard.library.slices import sync_folder

_FILE = "notes.json"
_ID = re.compile(r"[0-9a-f]{8,32}")


@dataclass(frozen=True)
class PinnedNote:
    """A note with the id that the page gave it; ``text`` is other people's."""

    id: str
    time_ns: int
    text: str


class PinnedNotes:
    """The notes of all recordings; safe to use from several threads. ``folder_of`` raises ``NotFound``."""

    def __init__(self, folder_of: Callable[[str], Path]) -> None:
        self._folder_of = folder_of
        self._lock = threading.Lock()

    def list_notes(self, recording_id: str) -> list[PinnedNote]:
        """Return a recording's notes in order of time."""
        place = self._folder_of(recording_id) / _FILE
        if not place.is_file():
            return []
        try:
            notes = [PinnedNote(**note) for note in json.loads(place.read_bytes())["notes"]]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise Conflict(
                f"The notes of this recording ({_FILE} in its folder of the library) are damaged."
                " Rename that file to begin anew."
            ) from error
        return sorted(notes, key=lambda note: (note.time_ns, note.id))

    def put(self, recording_id: str, note_id: str, time_ns: int, text: str) -> PinnedNote:
        """Add a note, or change the one of that id; raise ``UsageError`` for an invalid note."""
        line = make_one_line(text)
        if not _ID.fullmatch(note_id):
            raise NotFound("There is no such note.")
        if not line or len(line) > MAX_NOTE_LETTERS:
            raise UsageError(f"A note has 1 to {MAX_NOTE_LETTERS} letters, and this one has {len(line):,}.")
        note = PinnedNote(note_id, time_ns, line)
        with self._lock:
            notes = {existing_note.id: existing_note for existing_note in self.list_notes(recording_id)}
            notes[note_id] = note
            if len(notes) > MAX_NOTES:
                raise Conflict(f"A recording has at most {MAX_NOTES} notes. Delete one first.")
            self._write_notes(recording_id, notes.values())
        return note

    def remove(self, recording_id: str, note_id: str) -> None:
        """Remove a note; without it, do nothing."""
        with self._lock:
            notes = self.list_notes(recording_id)
            remaining = [note for note in notes if note.id != note_id]
            if len(remaining) < len(notes):
                self._write_notes(recording_id, remaining)

    def _write_notes(self, recording_id: str, notes: Iterable[PinnedNote]) -> None:
        folder = self._folder_of(recording_id)
        draft = folder / f"{_FILE}.draft"
        document = {"notes": [asdict(note) for note in notes]}
        try:
            with draft.open("w", encoding="utf-8") as file:
                json.dump(document, file, ensure_ascii=True)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(folder / _FILE)
            sync_folder(folder)
        except FileNotFoundError:
            raise NotFound("There is no such recording: it was removed.") from None
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise NoSpace(f"The note could not be kept: {error.strerror or 'the disk failed'}.") from error
