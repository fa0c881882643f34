"""Requests that meet one another, or a catalog that was replaced: nothing that was acknowledged is lost."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest
from library_support import ONE_READER, XML, opened, ready, tree, upload
from lost_catalog_support import CATALOG, lose_catalog

from tracekit_dashboard.errors import CatalogLocked, Conflict, LibraryFailed, NotFound
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library


def test_what_was_restored_meanwhile_is_not_removed(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = upload(library, "x", XML)
    library.delete(recording.id)
    remove = library._remove_recording

    def restore_first(deleted: Recording) -> None:
        library.restore(deleted.id)
        remove(deleted)

    monkeypatch.setattr(library, "_remove_recording", restore_first)
    with pytest.raises(Conflict, match="is not deleted"):
        library.purge(recording.id)
    assert library.find_recording(recording.id).deleted is None
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
        assert [each.id for each in library.list_recordings(deleted=True)] == [recording.id]


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
        assert library.find_recording(recording.id).note == "since"


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
        assert library.find_recording(recording.id).state == "ready"
        assert library.find_result(recording.id, "summary.json").is_file()
