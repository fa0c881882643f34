"""Notes pinned to times: kept beside the results, bounded, and part of reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_library import READY, FakeLibrary

from tracekit.errors import UsageError
from tracekit_dashboard.errors import Conflict, NotFound
from tracekit_dashboard.jobs import download_jobs
from tracekit_dashboard.jobs.download_formats import FORMATS
from tracekit_dashboard.library.notes import PinnedNotes

FIRST, SECOND = "0123abcd", "fedc9876"


@pytest.fixture
def notes(tmp_path: Path) -> PinnedNotes:
    (tmp_path / "r").mkdir()
    return PinnedNotes(lambda recording: tmp_path / recording)


def test_notes_are_added_changed_and_removed_and_survive_a_restart(
    tmp_path: Path, notes: PinnedNotes
) -> None:
    notes.put("r", SECOND, 9, "later")
    notes.put("r", FIRST, 5, "  first\n<b>slow\u202e</b> call ")
    notes.put("r", SECOND, 7, "changed")
    again = PinnedNotes(lambda recording: tmp_path / recording)
    assert [(note.time_ns, note.text) for note in again.list_notes("r")] == [
        (5, "first <b>slow\N{REPLACEMENT CHARACTER}</b> call"),
        (7, "changed"),
    ]
    again.remove("r", FIRST)
    again.remove("r", FIRST)
    assert [note.id for note in notes.list_notes("r")] == [SECOND]
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["notes.json"]
    assert notes.list_notes("another") == []


def test_what_is_no_note_is_refused_and_changes_nothing(
    notes: PinnedNotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.put("r", FIRST, 5, "x" * 500)
    for text in ("", " \n", "x" * 501):
        with pytest.raises(UsageError, match="1 to 500 letters"):
            notes.put("r", SECOND, 5, text)
    for name in ("../../up", "ABCDEF12", "", "0123abcd\n"):
        with pytest.raises(NotFound):
            notes.put("r", name, 5, "text")
    monkeypatch.setattr("tracekit_dashboard.library.notes.MAX_NOTES", 1)
    notes.put("r", FIRST, 6, "changed")
    with pytest.raises(Conflict, match="at most 1 notes"):
        notes.put("r", SECOND, 5, "one too many")
    assert [(note.time_ns, note.text) for note in notes.list_notes("r")] == [(6, "changed")]
    (tmp_path / "r" / "notes.json").write_text("{")
    with pytest.raises(Conflict, match="damaged"):
        notes.list_notes("r")


def test_a_report_has_the_notes_and_with_others_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeLibrary(tmp_path)
    made: list[tuple[str, tuple[str, ...]]] = []

    def make(_self: Any, _job: Any, _analysis: str, output: Path, _format: Any, options: Any) -> None:
        made.append((output.name, options))

    monkeypatch.setattr(download_jobs.Downloads, "_make_file", make)
    library.downloads.find_or_make(READY, FORMATS["html"])
    library.notes.put(READY, FIRST, 5_000_000, "--since here")
    library.downloads.find_or_make(READY, FORMATS["html"])
    library.downloads.find_or_make(READY, FORMATS["windows"])
    library.queue.close()
    assert made[0] == ("html.html", ())
    assert made[1][0].startswith("html-") and made[1][0].endswith(".html")
    assert made[1][1] == ("--note-at", "5000000ns", "--since here")
    assert made[2] == ("windows.windows.csv", ())
