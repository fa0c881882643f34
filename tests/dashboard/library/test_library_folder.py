"""The folder of a library: what tracekit did not make stays, and a folder that is no library is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from library_support import BUNDLE, XML, opened, upload
from lost_catalog_support import filled

from tracekit.errors import UsageError
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.settings import ServerLimits

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
        UsageError, match=r"is not empty and is not a tracekit library\. Nothing in it was changed"
    ):
        Library(tmp_path)
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


def test_foreign_files_in_a_library_are_named_and_stay(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
    mine = put(tmp_path, *MINE, f"recordings/{recording.id}/mine.txt", "mine.txt")
    for _ in range(2):
        with opened(tmp_path, ServerLimits(workers=0, deleted_seconds=0, unfinished_seconds=0)) as library:
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
        assert library.list_recordings() == []
    assert json.loads((tmp_path / "tracekit-library.json").read_text()) == {
        "tracekit": "library",
        "version": 1,
    }


@pytest.mark.parametrize("name", [".git/config", ".zshrc", "lock", "catalogue.pdf"])
def test_a_folder_with_any_foreign_file_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, name, "recordings/x")
    with pytest.raises(UsageError, match="is not a tracekit library"):
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
        assert [each.name for each in library.list_recordings()] == ["mine"]
        assert "missing, damaged or of a newer tracekit" in library.notices[0]
        assert library._store.input(recording.id).is_dir()
