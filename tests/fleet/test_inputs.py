"""Inputs name recordings: files, folders, globs, lists and addresses; exports of one folder are one recording."""

from __future__ import annotations

import zipfile
from pathlib import Path

import fsspec
import pytest
from thread_support import SAMPLE_TEXT

from tracekit.errors import InputError, UsageError
from tracekit.fleet import stores
from tracekit.fleet.dataset import create_dataset
from tracekit.fleet.recording_inputs import find_recordings


def names(inputs: list[str], base: Path) -> list[tuple[str, list[str]]]:
    return [
        (str(Path(matches.address).relative_to(base)), [Path(member).name for member in matches.members])
        for matches in find_recordings(inputs)
    ]


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "a" / "Shop.trace" / "nested.trace").mkdir(parents=True)
    (tmp_path / "a" / "README.md").write_text("no recording")
    (tmp_path / "exports").mkdir()
    for name in ("toc.xml", "time-profile.xml.gz", "truth.json", ".hidden.xml"):
        (tmp_path / "exports" / name).write_text("{}")
    with zipfile.ZipFile(tmp_path / "b.trace.zip", "w") as archive:
        archive.writestr("b.trace/form.template", "")
    (tmp_path / "dump.txt").write_text(SAMPLE_TEXT)
    (tmp_path / "x.dSYM").mkdir()
    (tmp_path / "x.dSYM" / "y.xml").write_text("<a/>")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "z.xml").write_text("<a/>")
    return tmp_path


def test_a_folder_is_searched_for_recordings(lab: Path) -> None:
    assert sorted(names([str(lab)], lab)) == [
        ("a/Shop.trace", []),
        ("b.trace.zip", []),
        ("dump.txt", []),
        ("exports", ["time-profile.xml.gz", "toc.xml"]),
    ]


def test_a_recording_that_is_named_twice_is_one(lab: Path) -> None:
    (lab / "link.zip").symlink_to(lab / "b.trace.zip")
    inputs = [str(lab / "b.trace.zip"), str(lab / "*.zip"), f"{lab}/a/../b.trace.zip"]
    assert names(inputs, lab) == [("b.trace.zip", [])]


def test_a_glob_and_a_list_name_inputs(lab: Path) -> None:
    (lab / "lists").mkdir()
    (lab / "lists" / "nightly.txt").write_text("# nightly\n\n../a\n../dump.txt\n")
    assert names([str(lab / "**" / "*.trace")], lab) == [
        ("a/Shop.trace", []),
        ("a/Shop.trace/nested.trace", []),
    ]
    assert [Path(matches.address).name for matches in find_recordings([f"@{lab}/lists/nightly.txt"])] == [
        "Shop.trace",
        "dump.txt",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.trace", "does not exist"),
        ("*.nothing", "holds no recording"),
        ("empty", "holds no recording"),
        ("@missing.txt", "The list .*missing.txt cannot be read"),
    ],
)
def test_an_input_without_a_recording_is_refused(lab: Path, name: str, message: str) -> None:
    (lab / "empty").mkdir()
    given = f"@{lab}/{name[1:]}" if name.startswith("@") else str(lab / name)
    with pytest.raises(UsageError, match=message):
        find_recordings([given])


def test_a_dataset_of_results_is_not_searched(lab: Path) -> None:
    create_dataset(lab / "results")
    (lab / "results" / "x.xml").write_text("<a/>")
    assert "results" not in {name for name, _ in names([str(lab)], lab)}


@pytest.fixture
def store() -> str:
    files = fsspec.filesystem("memory")
    files.store.clear()
    for name in (
        "lab/Shop.trace/form.template",
        "lab/Shop.trace/Trace1.run/RunIssues.storedata",
        "lab/Shop.trace.labels.json",
        "lab/b.trace.zip",
        "lab/exports/toc.xml",
        "lab/exports/time-profile.xml",
        "lab/notes.pdf",
    ):
        files.pipe(f"/{name}", b"0123456789")
    return "memory://lab"


def test_an_address_is_searched_like_a_folder(store: str) -> None:
    matches = find_recordings([store])
    assert [(each.address, len(each.members), each.sidecar) for each in matches] == [
        ("memory://lab/Shop.trace", 2, "memory://lab/Shop.trace.labels.json"),
        ("memory://lab/b.trace.zip", 0, ""),
        ("memory://lab/exports", 2, ""),
    ]
    assert [each.address for each in find_recordings(["memory://lab/*.zip"])] == ["memory://lab/b.trace.zip"]


def test_a_recording_in_a_store_is_copied_with_its_folders(store: str, tmp_path: Path) -> None:
    (bundle,) = find_recordings(["memory://lab/Shop.trace"])
    copy = stores.copy_to(tmp_path, bundle.address, bundle.members, 1000)
    assert copy == tmp_path / "Shop.trace"
    files = sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file())
    assert files == ["Trace1.run/RunIssues.storedata", "form.template"]
    with pytest.raises(InputError, match=r"Shop\.trace: has more than 15 bytes"):
        stores.copy_to(tmp_path / "small", bundle.address, bundle.members, 15)


def test_a_name_that_leads_out_of_its_folder_is_not_copied(store: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leads out of its folder"):
        stores.copy_to(tmp_path, "memory://lab/exports", ["memory://lab/exports/../../../x"], 1000)
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_cannot_be_read_is_refused(store: str) -> None:
    with pytest.raises(UsageError, match="memory://lab/none does not exist"):
        find_recordings(["memory://lab/none"])
    with pytest.raises(UsageError, match=r"nosuchstore://x cannot be (opened|listed)"):
        find_recordings(["nosuchstore://x"])


def test_an_empty_file_with_the_name_of_a_recording_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.trace.zip").write_bytes(b"")
    (tmp_path / "notes.zip").write_bytes(b"")
    assert names([str(tmp_path)], tmp_path) == [("a.trace.zip", [])]
