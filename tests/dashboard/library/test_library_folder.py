"""The folder of a library: what is there is the truth, and what tracekit did not make stays."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from library_support import BUNDLE, ONE_READER, SUMMARY, XML, files_of_upload, opened, ready, tree, upload

from dashboard.errors import CatalogLocked, Conflict, LibraryFailed, NoSpace, NotFound
from dashboard.library import descriptions
from dashboard.library.catalog import Recording
from dashboard.library.library import Library
from dashboard.settings import Limits
from tracekit.errors import UsageError

CATALOG = "catalog.sqlite3"


def lose_catalog(folder: Path) -> None:
    for name in (CATALOG, f"{CATALOG}-wal", f"{CATALOG}-shm"):
        (folder / name).unlink(missing_ok=True)


def filled(folder: Path) -> list[Recording]:
    """A library of an upload with a verdict and texts, a deleted upload, and a local recording."""
    with opened(folder) as library:
        first = upload(library, "first.xml", XML)
        ready(library, first)
        library._catalog.change(first.id, verdict="Net ran on the Neural Engine", p50_ns=7, device="Mac")
        library.edit(first.id, name="renamed.xml", tags=["ios27", "b"], note="weeks of work")
        library.notes.put(first.id, "deadbeef01", 1, "look here")
        second = upload(library, "second.xml", XML)
        library.delete(second.id)
        third = library.add_file(BUNDLE)
        library.edit(third.id, tags=["local"])
        return everything(library)


def everything(library: Library) -> list[Recording]:
    return sorted(library.recordings() + library.recordings(deleted=True), key=lambda each: each.id)


# The catalog is an index -----------------------------------------------------------------------------------


def test_a_lost_catalog_is_made_from_the_folders(tmp_path: Path) -> None:
    before = filled(tmp_path)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        after = everything(library)
        assert [texts(each) for each in after] == [texts(each) for each in before]
        renamed = next(each for each in after if each.name == "renamed.xml")
        assert [note.text for note in library.notes.of(renamed.id)] == ["look here"]
        assert library.notices == [
            "The catalog was missing. It was made anew from the recordings' folders. 3 recordings were found:"
            f" {', '.join(each.name for each in after)}."
        ]
    with opened(tmp_path) as library:
        assert library.notices == []
        assert everything(library) == after


def texts(recording: Recording) -> tuple[object, ...]:
    return (
        recording.id,
        recording.name,
        recording.origin,
        recording.path,
        recording.added,
        recording.tags,
        recording.note,
        recording.deleted,
    )


def test_a_damaged_catalog_is_set_aside_and_made_anew(tmp_path: Path) -> None:
    before = filled(tmp_path)
    with (tmp_path / CATALOG).open("r+b") as file:
        file.write(os.urandom(4096))
    with opened(tmp_path) as library:
        assert [texts(each) for each in everything(library)] == [texts(each) for each in before]
        [aside] = tmp_path.glob("catalog-damaged-*.sqlite3")
        assert library.notices[0].startswith(
            f"The catalog was damaged. It was set aside as {aside.name} and made"
        )


@pytest.mark.parametrize("content", [b"hello" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_what_is_no_catalog_is_set_aside(tmp_path: Path, content: bytes) -> None:
    before = filled(tmp_path)
    lose_catalog(tmp_path)
    (tmp_path / CATALOG).write_bytes(content)
    with opened(tmp_path) as library:
        assert [texts(each) for each in everything(library)] == [texts(each) for each in before]
    [aside] = tmp_path.glob("catalog-damaged-*.sqlite3")
    assert aside.read_bytes() == content


def test_damage_inside_a_catalog_is_noticed(tmp_path: Path) -> None:
    """An older file restored beside a newer log, say: its header is right, and a page is not."""
    before = filled(tmp_path)
    place = tmp_path / CATALOG
    content = bytearray(place.read_bytes())
    content[4096 * 2 : 4096 * 2 + 2000] = b"\xff" * 2000
    place.write_bytes(content)
    with opened(tmp_path) as library:
        assert [texts(each) for each in everything(library)] == [texts(each) for each in before]
    assert len(list(tmp_path.glob("catalog-damaged-*"))) == 1


@pytest.mark.parametrize(
    "change", ["note = CAST(x'a5a5' AS TEXT)", "state = 'weighting'", "name = CAST(x'ff' AS TEXT)"]
)
def test_what_no_check_of_sqlite_finds_is_noticed(tmp_path: Path, change: str) -> None:
    before = filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / CATALOG)) as connection, connection:
        connection.execute(f"UPDATE recordings SET {change}")
    with opened(tmp_path) as library:
        assert [texts(each) for each in everything(library)] == [texts(each) for each in before]
    assert len(list(tmp_path.glob("catalog-damaged-*.sqlite3"))) == 1


def test_an_older_catalog_gets_what_came_since(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        edited, deleted = upload(library, "edited", XML), upload(library, "deleted", XML)
        purged = upload(library, "purged", XML)
        library.edit(purged.id, note="gone")
    backup = (tmp_path / CATALOG).read_bytes()
    with opened(tmp_path) as library:
        library.edit(edited.id, note="since", tags=["new"])
        library.delete(deleted.id)
        library.delete(purged.id)
        library.purge(purged.id)
        added = upload(library, "added", XML)
    lose_catalog(tmp_path)
    (tmp_path / CATALOG).write_bytes(backup)
    with opened(tmp_path) as library:
        assert {each.name for each in library.recordings()} == {"edited", "added"}
        again = library.recording(edited.id)
        assert (again.note, again.tags) == ("since", ("new",))
        assert {each.name for each in library.recordings(deleted=True)} == {"deleted", "purged"}
        assert library.notices == [
            "1 recording that was not in the catalog was found: added.",
            "The folders of recordings are gone. What the catalog held of them is now among the deleted"
            " recordings: purged.",
        ]
        assert library.recording(added.id).state == "waiting"
        assert library.recording(purged.id).note == "gone"


def test_a_library_of_an_earlier_version_gets_descriptions(tmp_path: Path) -> None:
    """Its local recordings had no folders before they were read."""
    before = filled(tmp_path)
    for path in tmp_path.rglob("about.json"):
        path.unlink()
    local = next(each for each in before if each.origin == "file")
    shutil.rmtree(tmp_path / "recordings" / local.id)
    (tmp_path / "tracekit-library.json").unlink()
    with closing(sqlite3.connect(tmp_path / CATALOG)) as connection, connection:
        connection.execute("PRAGMA user_version = 1")
        connection.execute("ALTER TABLE recordings DROP COLUMN stamp")
    with opened(tmp_path) as library:
        assert [texts(each) for each in everything(library)] == [texts(each) for each in before]
        assert library.notices == []
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert [texts(each) for each in everything(library)] == [texts(each) for each in before]


def test_uploads_of_an_earlier_version_survive_the_loss_of_its_catalog(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "name.xml", XML)
    (tmp_path / "recordings" / recording.id / "about.json").unlink()
    (tmp_path / "tracekit-library.json").unlink()
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        [found] = library.recordings()
        assert (found.id, found.name, found.size_bytes) == (
            recording.id,
            f"recording {recording.id[:8]}",
            len(XML),
        )


def test_analyses_survive_the_loss_of_the_catalog(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x.xml", XML)
        ready(library, recording)
        made, waiting = (library.analyses.request(recording.id, {"run": run}) for run in (2, 3))
        assert made is not None
        assert waiting is not None
        results = library._store.results(made.analysis)
        results.mkdir()
        (results / "summary.json").write_text(SUMMARY)
        library.analyses._variants.change(recording.id, made.id, state="ready")
        library.analyses.set_default(recording.id, made.id)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert [(each.id, each.options, each.state) for each in library.analyses.of(recording.id)] == [
            (made.id, {"run": 2}, "ready"),
            (waiting.id, {"run": 3}, "dropped"),
        ]
        assert library.recording(recording.id).default_variant == made.id


def test_a_dropped_analysis_stays_dropped_without_the_catalog(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x.xml", XML)
        ready(library, recording)
        library._catalog.change(recording.id, verdict="Net ran on the CPU")
        library.drop_results(recording.id)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        again = library.recording(recording.id)
        assert (again.state, again.verdict, again.is_dropped) == ("ready", "Net ran on the CPU", True)


# While a server runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["unlinked", "replaced"])
def test_a_server_whose_catalog_is_gone_acknowledges_nothing(tmp_path: Path, change: str) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
        copy = (tmp_path / CATALOG).read_bytes()
        (tmp_path / CATALOG).unlink()
        if change == "replaced":
            (tmp_path / "other").write_bytes(copy)
            (tmp_path / "other").rename(tmp_path / CATALOG)
        for use in (
            lambda: upload(library, "y", XML),
            lambda: library.edit(recording.id, note="lost?"),
            lambda: library.delete(recording.id),
            library.recordings,
        ):
            with pytest.raises(LibraryFailed, match=r"was removed or replaced while the dashboard ran"):
                use()
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        # The upload that was not acknowledged is finished as well: its bytes were here.
        assert {each.name for each in library.recordings()} == {"x", "y"}
        assert library.recording(recording.id).note == ""


@pytest.mark.skipif(os.name != "posix", reason="Windows does not let go of files in use")
def test_a_server_whose_folder_is_replaced_acknowledges_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with opened(folder) as library:
        recording = upload(library, "x", XML)
        folder.rename(tmp_path / "moved")
        for use in (
            lambda: upload(library, "y", XML),
            lambda: library.notes.put(recording.id, "deadbeef01", 1, "lost?"),
            lambda: library.edit(recording.id, note="lost?"),
        ):
            with pytest.raises(LibraryFailed, match=r"was moved or replaced while the dashboard ran"):
                use()
        with opened(folder) as second:  # a new library in its place
            assert second.recordings() == []
            with pytest.raises(LibraryFailed):
                library.delete(recording.id)
    with opened(tmp_path / "moved") as library:
        assert [each.name for each in library.recordings()] == ["x"]


def test_a_change_whose_description_cannot_be_written_is_none(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = upload(library, "x", XML)
    library.edit(recording.id, note="before", tags=["a"])

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(descriptions.os, "fsync", full)
    with pytest.raises(NoSpace, match=r"cannot be written: No space left on device\. Make room"):
        library.edit(recording.id, note="after", tags=["b"])
    monkeypatch.undo()
    again = library.recording(recording.id)
    assert (again.note, again.tags) == ("before", ("a",))
    assert tree(library._store.folder) == files_of_upload(recording.id)


# What is not tracekit's ------------------------------------------------------------------------------------

MINE = (
    "recordings/My.trace/Trace1.run/RunIssues.storedata",
    "recordings/notes.txt",
    f"recordings/{'A' * 31}/x",
    "uploads/photos/a.jpg",
    f"uploads/{'b' * 32}/a.jpg",
    "comparisons/paper/b.tex",
    "trash/old/c",
    f"trash/{'c' * 32}/d",
    "trash/removed-photos/e",
)


def put(folder: Path, *names: str) -> list[Path]:
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    return paths


def test_a_folder_that_is_no_library_is_refused_and_not_touched(tmp_path: Path) -> None:
    put(tmp_path, *MINE)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    with pytest.raises(
        UsageError, match=r"is not empty, and no library of tracekit\. Nothing in it was changed"
    ):
        Library(tmp_path)
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


def test_foreign_files_in_a_library_are_named_and_stay(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
    mine = put(tmp_path, *MINE, f"recordings/{recording.id}/mine.txt", "mine.txt")
    for _ in range(2):
        with opened(tmp_path, Limits(workers=0, deleted_seconds=0, unfinished_seconds=0)) as library:
            assert library.notices == [
                "The library's folder holds what tracekit did not make, does not read and leaves alone:"
                f" recordings/{'A' * 31}, recordings/My.trace, recordings/notes.txt, uploads/photos,"
                " comparisons/paper and 3 more."
            ]
    assert [path.read_text() for path in mine] == [path.name for path in mine]


@pytest.mark.parametrize("names", [(), (".DS_Store",), ("lost+found/",), ("lock",), ("catalog.sqlite3",)])
def test_an_empty_folder_or_a_library_of_an_earlier_version_is_taken(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    with opened(tmp_path) as library:
        assert library.recordings() == []
    assert json.loads((tmp_path / "tracekit-library.json").read_text()) == {
        "tracekit": "library",
        "version": 1,
    }


@pytest.mark.parametrize("name", [".git/config", ".zshrc", "lock", "catalogue.pdf"])
def test_a_folder_with_any_foreign_file_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, name, "recordings/x")
    with pytest.raises(UsageError, match="no library of tracekit"):
        Library(tmp_path)
    assert not (tmp_path / "tracekit-library.json").exists()


def test_a_library_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "tracekit-library.json").write_text('{"tracekit": "library", "version": 2}')
    with pytest.raises(UsageError, match=r"made by a newer tracekit \(format 2; this one has 1\)"):
        Library(tmp_path)


def test_a_foreign_file_keeps_the_folder_of_a_recording_made_here(library: Library) -> None:
    folder = library._store.recorded / "20260102-030405-0a1b2c3d"
    shutil.copytree(BUNDLE, folder / "a.trace")
    put(folder, "export.xml")
    recording = library.add_file(folder / "a.trace")
    library.delete(recording.id)
    library.purge(recording.id)
    assert [path.name for path in folder.iterdir()] == ["export.xml"]


@pytest.mark.parametrize(
    "path", ["recorded:../recordings", "recorded:20260102-030405-0a1b2c3d/..", "recorded:x/y", "/tmp/a/../b"]
)
def test_a_description_that_leads_elsewhere_removes_nothing(tmp_path: Path, path: str) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "mine", XML)
    folder = tmp_path / "recordings" / ("0" * 32)
    folder.mkdir()
    document = {
        "tracekit": "recording",
        "version": 1,
        "name": "x",
        "origin": "file",
        "size_bytes": 1,
        "added_us": 1,
    }
    (folder / "about.json").write_text(json.dumps(document | {"path": path, "deleted_us": 1}))
    with opened(tmp_path) as library:
        assert [each.name for each in library.recordings()] == ["mine"]
        assert "missing, damaged or of a newer tracekit" in library.notices[0]
        assert library._store.input(recording.id).is_dir()


# Requests at the same time ---------------------------------------------------------------------------------


def test_what_was_restored_meanwhile_is_not_removed(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = upload(library, "x", XML)
    library.delete(recording.id)
    remove = library._remove

    def restore_first(deleted: Recording) -> None:
        library.restore(deleted.id)
        remove(deleted)

    monkeypatch.setattr(library, "_remove", restore_first)
    with pytest.raises(Conflict, match="is not deleted"):
        library.purge(recording.id)
    assert library.recording(recording.id).deleted is None
    assert library._store.input(recording.id).is_dir()


def test_an_analysis_or_a_note_of_a_removed_recording_leaves_nothing(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = upload(library, "x", XML)
    found = library._catalog.find(recording.id)
    library.delete(recording.id)
    library.purge(recording.id)
    monkeypatch.setattr(library._catalog, "find", lambda _id: found)  # it was looked up before
    with pytest.raises(NotFound):
        library.analyses.request(recording.id, {"run": 2})
    with pytest.raises(NotFound):
        library.notes.put(recording.id, "deadbeef01", 1, "late")
    assert tree(library._store.folder) == []


def test_a_folder_of_analyses_without_a_recording_stops_no_start(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
        ready(library, recording)
        library.analyses.request(recording.id, {"run": 2})
    (tmp_path / "recordings" / recording.id).rename(tmp_path / "recordings" / ("0" * 32))
    (tmp_path / "recordings" / ("0" * 32) / "about.json").write_text("{}")
    with opened(tmp_path) as library:
        assert [each.id for each in library.recordings(deleted=True)] == [recording.id]


def test_an_upload_whose_end_was_interrupted_is_finished_by_the_same_request(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = library.uploads.begin("x.xml", len(XML))
    library.uploads.append(number, 0, io.BytesIO(XML), len(XML))
    add = library._catalog.add

    def locked(*_arguments: object) -> None:
        raise CatalogLocked("Another program")

    monkeypatch.setattr(library._catalog, "add", locked)
    sha256 = hashlib.sha256(XML).hexdigest()
    with pytest.raises(CatalogLocked):
        library.uploads.finish(number, sha256)
    monkeypatch.setattr(library._catalog, "add", add)
    assert library.uploads.finish(number, sha256).name == "x.xml"


def test_a_catalog_that_was_overwritten_in_its_place_writes_no_old_note(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
    backup = (tmp_path / CATALOG).read_bytes()
    with opened(tmp_path) as library:
        library.edit(recording.id, note="since")
        library._catalog.file.engine.dispose()
        (tmp_path / CATALOG).write_bytes(backup)
        with pytest.raises(LibraryFailed, match="start it again"):
            library.delete(recording.id)
    with opened(tmp_path) as library:
        assert library.recording(recording.id).note == "since"


def test_an_older_catalog_keeps_results_that_cannot_be_made_again(tmp_path: Path) -> None:
    export = tmp_path / "x.xml"
    export.write_bytes(XML)
    folder = tmp_path / "library"
    with opened(folder) as library:
        recording = library.add_file(export)
    backup = (folder / CATALOG).read_bytes()
    with opened(folder) as library:
        ready(library, recording)
        library._catalog.change(recording.id, verdict="Net ran on the CPU")
    export.unlink()
    lose_catalog(folder)
    (folder / CATALOG).write_bytes(backup)
    with opened(folder, ONE_READER) as library:
        assert library.recording(recording.id).state == "ready"
        assert library.result_path(recording.id, "summary.json").is_file()


# Folders that were moved, synchronised, or changed by hand -------------------------------------------------


def test_a_moved_library_finds_what_was_recorded_in_it(tmp_path: Path) -> None:
    with opened(tmp_path / "old") as library:
        place = library._store.recorded / "20260102-030405-0a1b2c3d" / "a.trace"
        shutil.copytree(BUNDLE, place)
        recording = library.add_file(place)
    (tmp_path / "old").rename(tmp_path / "new")
    with opened(tmp_path / "new") as library:
        moved = library.recording(recording.id)
        assert moved.path == str(tmp_path / "new" / "recorded" / place.parent.name / "a.trace")
        assert library.is_recorded(moved)


def test_a_recording_made_on_the_page_survives_the_loss_of_its_description(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        place = library._store.recorded / "20260102-030405-0a1b2c3d" / "a.trace"
        shutil.copytree(BUNDLE, place)
        recording = library.add_file(place)
    shutil.rmtree(tmp_path / "recordings" / recording.id)
    with opened(tmp_path, Limits(workers=0, deleted_seconds=0)) as library:
        assert [each.id for each in library.recordings()] == [recording.id]
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
        assert [each.id for each in library.recordings()] == [recording.id]
    elsewhere.rename(tmp_path / "unmounted")
    with opened(folder) as library:
        assert library.recording(recording.id).deleted is None
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
        assert library.recording(recording.id).name == "x"
        assert library.notes.of(recording.id) == []


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
        assert library.recording(recording.id).state == "waiting"


@pytest.mark.parametrize("text", ["{}", "[]", '{"notes": [{"id": 1}]}', "{"])
def test_damaged_notes_are_named_and_kept(library: Library, text: str) -> None:
    recording = upload(library, "x", XML)
    place = library._store.recording(recording.id) / "notes.json"
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
        assert {each.id: each.note for each in library.recordings()} == {theirs.id: "from there", ours.id: ""}


def test_a_folder_whose_name_changed_its_case_is_found(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
    folder = tmp_path / "recordings" / recording.id
    folder.rename(folder.with_name("moving"))
    folder.with_name("moving").rename(folder.with_name(recording.id.upper()))
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert [each.id for each in library.recordings()] == [recording.id]
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
        assert library.recording(recording.id).note == "mine"
        assert len(library.notices) == 1
    if is_newer:
        assert place.read_text() == text
        return
    assert [path.read_text() for path in place.parent.glob("about.json.damaged-*")] == [text]
    place.write_text(text)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert library.recordings() == []
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
        [found] = library.recordings()
        assert (found.name, found.note, found.tags) == ("a b\ufffd", "a\ufffdb", ("x" * 60,))
