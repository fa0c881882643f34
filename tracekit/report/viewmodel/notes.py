"""Notes that people pin to a time of a recording."""

from __future__ import annotations

from collections.abc import Iterable

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.text import format_ms, printable

MAX_NOTES = 200
"""More notes than this are no longer read, and would fill the command that writes a report."""
MAX_NOTE_LETTERS = 500


@frozen
class Note:
    """A text of one line at a time since the start of the run."""

    time_ns: int
    text: str


def note_line(text: str) -> str:
    """Return the text of a note as one line; raise ``UsageError`` if that is empty or too long."""
    line = printable(" ".join(text.split()))
    if not line:
        raise UsageError("A note has no text.")
    if len(line) > MAX_NOTE_LETTERS:
        raise UsageError(f"A note has at most {MAX_NOTE_LETTERS} letters, and this one has {len(line):,}.")
    return line


def parse_notes(pairs: Iterable[tuple[str, str]]) -> tuple[Note, ...]:
    """Return the notes of pairs such as ``("12.5ms", "first slow call")``, in order of time.

    Raises ``UsageError`` for an invalid time or text, and for too many notes.
    """
    from tracekit.analysis.windows.window import (
        parse_time,
    )  # the library reads the limits above, without pandas

    notes = [Note(parse_time(time), note_line(text)) for time, text in pairs]
    if len(notes) > MAX_NOTES:
        raise UsageError(f"A report has at most {MAX_NOTES} notes, and these are {len(notes):,}.")
    return tuple(sorted(notes, key=lambda note: note.time_ns))


def check_notes(notes: Iterable[Note], duration_ns: int) -> None:
    """Raise ``UsageError`` for a note behind the end of the run."""
    for note in notes:
        if note.time_ns > duration_ns:
            raise UsageError(
                f"The note '{note.text}' is at {format_ms(note.time_ns)}, and the run ends at"
                f" {format_ms(duration_ns)}."
            )
