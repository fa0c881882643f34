"""The catalog is an index of the folders: one that is lost, damaged, older or replaced costs nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from library_support import SUMMARY, XML, files_of_upload, opened, ready, tree, upload
from lost_catalog_support import CATALOG, everything, filled, lose_catalog, texts

from tracekit_dashboard.errors import LibraryFailed, NoSpace
from tracekit_dashboard.library import descriptions
from tracekit_dashboard.library.library import Library

pytestmark = pytest.mark.slow


def test_a_lost_catalog_is_made_from_the_folders(tmp_path: Path) -> None:
    before = filled(tmp_path)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        after = everything(library)
        assert [texts(each) for each in after] == [texts(each) for each in before]
        renamed = next(each for each in after if each.name == "renamed.xml")
        assert [note.text for note in library.notes.list_notes(renamed.id)] == ["look here"]
        assert library.notices == [
            "The catalog was missing. It was made anew from the recordings' folders. 3 recordings were found:"
            f" {', '.join(each.name for each in after)}."
        ]
    with opened(tmp_path) as library:
        assert library.notices == []
        assert everything(library) == after


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
        assert {each.name for each in library.list_recordings()} == {"edited", "added"}
        again = library.find_recording(edited.id)
        assert (again.note, again.tags) == ("since", ("new",))
        assert {each.name for each in library.list_recordings(deleted=True)} == {"deleted", "purged"}
        assert library.notices == [
            "1 recording that was not in the catalog was found: added.",
            "The folders of recordings are gone. What the catalog held of them is now among the deleted"
            " recordings: purged.",
        ]
        assert library.find_recording(added.id).state == "waiting"
        assert library.find_recording(purged.id).note == "gone"


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
        [found] = library.list_recordings()
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
        assert [
            (each.id, each.options, each.state) for each in library.analyses.list_variants(recording.id)
        ] == [
            (made.id, {"run": 2}, "ready"),
            (waiting.id, {"run": 3}, "dropped"),
        ]
        assert library.find_recording(recording.id).default_variant == made.id


def test_a_dropped_analysis_stays_dropped_without_the_catalog(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x.xml", XML)
        ready(library, recording)
        library._catalog.change(recording.id, verdict="Net ran on the CPU")
        library.drop_results(recording.id)
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        again = library.find_recording(recording.id)
        assert (again.state, again.verdict, again.is_dropped) == ("ready", "Net ran on the CPU", True)


def test_a_new_library_whose_first_start_was_interrupted_misses_no_catalog(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        assert library.notices == []


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
            library.list_recordings,
        ):
            with pytest.raises(LibraryFailed, match=r"was removed or replaced while the dashboard ran"):
                use()
    lose_catalog(tmp_path)
    with opened(tmp_path) as library:
        # The upload that was not acknowledged is finished as well: its bytes were here.
        assert {each.name for each in library.list_recordings()} == {"x", "y"}
        assert library.find_recording(recording.id).note == ""


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
            assert second.list_recordings() == []
            with pytest.raises(LibraryFailed):
                library.delete(recording.id)
    with opened(tmp_path / "moved") as library:
        assert [each.name for each in library.list_recordings()] == ["x"]


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
    again = library.find_recording(recording.id)
    assert (again.note, again.tags) == ("before", ("a",))
    assert tree(library._store.folder) == files_of_upload(recording.id)
