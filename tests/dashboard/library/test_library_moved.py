"""Folders of a library that were moved, synchronised, linked or changed by hand."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from library_support import BUNDLE, XML, opened, ready, upload
from lost_catalog_support import lose_catalog

from tracekit_dashboard.errors import Conflict
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.settings import ServerLimits

pytestmark = pytest.mark.integration


def test_a_moved_library_finds_what_was_recorded_in_it(tmp_path: Path) -> None:
    with opened(tmp_path / "old") as library:
        place = library._store.recorded / "20260102-030405-0a1b2c3d" / "a.trace"
        shutil.copytree(BUNDLE, place)
        recording = library.add_file(place)
    (tmp_path / "old").rename(tmp_path / "new")
    with opened(tmp_path / "new") as library:
        moved = library.find_recording(recording.id)
        assert moved.path == str(tmp_path / "new" / "recorded" / place.parent.name / "a.trace")
        assert library.is_recorded(moved)


def test_a_recording_made_on_the_page_survives_the_loss_of_its_description(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        place = library._store.recorded / "20260102-030405-0a1b2c3d" / "a.trace"
        shutil.copytree(BUNDLE, place)
        recording = library.add_file(place)
    shutil.rmtree(tmp_path / "recordings" / recording.id)
    with opened(tmp_path, ServerLimits(workers=0, deleted_seconds=0)) as library:
        assert [each.id for each in library.list_recordings()] == [recording.id]
        assert place.is_dir()


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_recording_on_another_disk_is_linked(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with opened(folder) as library:
        recording = upload(library, "x", XML)
    place, elsewhere = folder / "recordings" / recording.id, tmp_path / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    lose_catalog(folder)
    with opened(folder) as library:
        assert [each.id for each in library.list_recordings()] == [recording.id]
    elsewhere.rename(tmp_path / "unmounted")
    with opened(folder) as library:
        assert library.find_recording(recording.id).deleted is None
        assert library.notices == ["The folders of recordings cannot be reached: x."]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
@pytest.mark.parametrize("name", ["about.json", "results/summary.json", "notes.json"])
def test_a_pipe_in_the_place_of_a_file_holds_up_nothing(tmp_path: Path, name: str) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
        ready(library, recording)
    place = tmp_path / "recordings" / recording.id / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    with opened(tmp_path) as library:
        assert library.find_recording(recording.id).name == "x"
        assert library.notes.list_notes(recording.id) == []


@pytest.mark.parametrize("facts", ['{"verdict": {}}', '{"samples": 1e400}', '{"verdict": "\\ud800"}', "[]"])
def test_a_summary_of_another_machine_stops_no_start(tmp_path: Path, facts: str) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
        ready(library, recording)
    place = tmp_path / "recordings" / recording.id / "results" / "summary.json"
    changed = json.loads(facts)
    place.write_text(json.dumps(json.loads(place.read_text()) | changed) if changed else facts)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert library.find_recording(recording.id).state == "waiting"


@pytest.mark.parametrize("text", ["{}", "[]", '{"notes": [{"id": 1}]}', "{"])
def test_damaged_notes_are_named_and_kept(library: Library, text: str) -> None:
    recording = upload(library, "x", XML)
    place = library._store.recording_folder(recording.id) / "notes.json"
    place.write_text(text)
    with pytest.raises(Conflict, match=r"are damaged\. Rename that file"):
        library.notes.put(recording.id, "deadbeef01", 1, "new")
    assert place.read_text() == text


def test_recordings_of_another_machine_are_added(tmp_path: Path) -> None:
    with opened(tmp_path / "there") as library:
        theirs = upload(library, "theirs", XML)
        library.edit(theirs.id, note="from there")
    with opened(tmp_path / "here") as library:
        ours = upload(library, "ours", XML)
    shutil.copytree(tmp_path / "there" / "recordings", tmp_path / "here" / "recordings", dirs_exist_ok=True)
    with opened(tmp_path / "here") as library:
        assert {each.id: each.note for each in library.list_recordings()} == {
            theirs.id: "from there",
            ours.id: "",
        }


def test_a_folder_whose_name_changed_its_case_is_found(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
    folder = tmp_path / "recordings" / recording.id
    folder.rename(folder.with_name("moving"))
    folder.with_name("moving").rename(folder.with_name(recording.id.upper()))
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert [each.id for each in library.list_recordings()] == [recording.id]
        assert library._store.input(recording.id).is_dir()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{" * 100_000,
        '{"tracekit": "recording", "version": 2}',
        '{"tracekit": "recording", "version": 1, "name": 7}',
        '{"tracekit": "recording", "version": 1, "name": "x", "origin": "http", "path": "", "size_bytes": 1, "added_us": 1}',
        '{"tracekit": "recording", "version": 1, "name": "x", "origin": "file", "path": "a\\u0000b", "size_bytes": 1, "added_us": 1}',
        '{"tracekit": "recording", "version": 1, "name": "x", "origin": "file", "path": "\\ud800", "size_bytes": 1, "added_us": 1}',
        '{"tracekit": "recording", "version": 1, "name": "x", "origin": "upload", "path": "", "size_bytes": 1e99, "added_us": 1}',
        '{"tracekit": "recording", "version": 1, "name": "x", "origin": "upload", "path": "", "size_bytes": 1, "added_us": 4000000000000000000}',
    ],
)
def test_a_description_that_cannot_be_read_is_named_and_kept(tmp_path: Path, text: str) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
        library.edit(recording.id, note="mine")
    place = tmp_path / "recordings" / recording.id / "about.json"
    place.write_text(text)
    is_newer = '"version": 2' in text
    with opened(tmp_path) as library:  # the catalog has what it said
        assert library.find_recording(recording.id).note == "mine"
        assert len(library.notices) == 1
    if is_newer:
        assert place.read_text() == text
        return
    assert [path.read_text() for path in place.parent.glob("about.json.damaged-*")] == [text]
    place.write_text(text)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert library.list_recordings() == []
        assert recording.id in library.notices[-1]
        assert "missing, damaged or of a newer tracekit" in library.notices[-1]
    assert place.read_text() == text


def test_the_text_of_a_description_is_other_peoples(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
    place = tmp_path / "recordings" / recording.id / "about.json"
    document = json.loads(place.read_text())
    document |= {"name": "../a\nb\u202e", "note": "a\x1bb", "tags": ["x" * 99, "X" * 99], "engines": "7"}
    place.write_text(json.dumps(document))
    with opened(tmp_path) as library:
        [found] = library.list_recordings()
        assert (found.name, found.note, found.tags) == ("a b\ufffd", "a\ufffdb", ("x" * 60,))
