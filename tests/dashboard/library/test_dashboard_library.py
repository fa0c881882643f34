"""The library's list of recordings, and the inputs that it admits."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from library_support import BUNDLE, QUIET, SUMMARY, XML, environment, opened, tree, upload

from tracekit.errors import InputError, UsageError
from tracekit_dashboard.errors import Conflict, NoSpace, NotFound
from tracekit_dashboard.library.catalog import Recording, make_recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.outside_names import make_display_name
from tracekit_dashboard.settings import ServerLimits, Settings, find_default_folder

pytestmark = pytest.mark.slow


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "time-profile.xml"
    path.write_bytes(XML)
    return path


def as_if_read(library: Library, recording: Recording, verdict: str = "") -> None:
    results = library._store.results(recording.id)
    results.mkdir(parents=True)
    (results / "summary.json").write_text(SUMMARY)
    (results / "view.bin.gz").write_bytes(b"x")
    library._catalog.change(recording.id, state="ready", verdict=verdict)


# Files where they lie -------------------------------------------------------------------------------------


def test_a_local_recording_is_referenced_and_not_copied(library: Library) -> None:
    recording = library.add_file(BUNDLE)
    assert (recording.name, recording.origin, recording.state) == ("recording.trace", "file", "waiting")
    assert recording.path == str(BUNDLE)
    assert recording.size_bytes == sum(path.stat().st_size for path in BUNDLE.rglob("*") if path.is_file())
    assert tree(library._store.folder) == [f"recordings/{recording.id}/about.json"]


def test_the_same_file_unchanged_is_the_same_recording(
    library: Library, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = library.add_file(export)
    monkeypatch.chdir(export.parent)
    assert library.add_file(Path(export.name)) == recording
    link = export.with_name("link")
    link.symlink_to(export)
    assert library.add_file(link) == recording
    export.write_bytes(XML + b" ")
    assert library.add_file(export).id != recording.id
    assert len(library.list_recordings()) == 2


def test_adding_a_file_that_was_deleted_brings_it_back(library: Library, export: Path) -> None:
    recording = library.add_file(export)
    library.delete(recording.id)
    assert library.add_file(export) == recording
    assert library.list_recordings() == [recording]


def test_adding_a_file_that_failed_tries_again(library: Library, export: Path) -> None:
    recording = library.add_file(export)
    library._catalog.change(recording.id, state="failed", message="It was Tuesday.")
    assert library.add_file(export) == recording


def test_a_changed_or_vanished_file_is_reported(library: Library, export: Path) -> None:
    recording = library.add_file(export)
    as_if_read(library, recording)
    assert library.find_recording(recording.id).message == ""
    export.write_bytes(XML + b" ")
    assert "has changed since" in library.find_recording(recording.id).message
    export.unlink()
    assert "no longer in its place" in library.find_recording(recording.id).message
    with pytest.raises(InputError, match=r"time-profile\.xml: is not there"):
        library.retry(recording.id)
    assert library.find_view(recording.id).exists()
    export.write_bytes(XML)
    again = library.retry(recording.id)
    assert (again.state, again.message) == ("waiting", "")
    as_if_read(library, recording)
    assert library.find_recording(recording.id).message == ""


def test_a_bundle_with_another_run_has_changed(library: Library, tmp_path: Path) -> None:
    bundle = tmp_path / "X.trace"
    (bundle / "Trace1.run").mkdir(parents=True)
    (bundle / "form.template").write_bytes(b"x")
    recording = library.add_file(bundle)
    assert library.add_file(bundle) == recording
    (bundle / "Trace2.run").mkdir()
    assert library.add_file(bundle).id != recording.id


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_cannot_be_a_recording_is_not_added(library: Library, tmp_path: Path) -> None:
    (tmp_path / "text.trace").write_text("hello")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    for name, problem in (
        ("text.trace", "is no recording, whatever its name says"),
        ("loop", "cannot be read"),
        ("pipe", "is neither a file nor a folder"),
        ("nothing", "is not there"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(InputError) as refused:
            library.add_file(tmp_path / name)
        assert problem in str(refused.value)
        assert str(tmp_path) not in str(refused.value)
    assert library.list_recordings() == []


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes are Linux's")
def test_a_name_that_is_no_text_can_be_read(library: Library, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.xml"))
    path.write_bytes(XML)
    recording = library.add_file(path)
    assert recording.name == "\ufffd.xml"
    assert Path(library.find_recording(recording.id).path).read_bytes() == XML


# Finding --------------------------------------------------------------------------------------------------


def test_the_newest_stands_first(library: Library) -> None:
    for name in ("b", "a", "c"):
        upload(library, name, XML)
        time.sleep(0.001)
    assert [recording.name for recording in library.list_recordings()] == ["c", "a", "b"]


def test_notes_about_a_recording_are_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
        edited = library.edit(
            recording.id,
            name="  Before \x07 the\nfix ",
            tags=["slow", " Slow ", "", "B"],
            note="one\r\ntwo\x00 ",
        )
        assert (edited.name, edited.tags, edited.note) == (
            "Before \ufffd the fix",
            ("B", "slow"),
            "one\ntwo\ufffd",
        )
        assert library.edit(recording.id, name=" ", note="").name == "Before \ufffd the fix"
    with opened(tmp_path) as library:
        (reopened,) = library.list_recordings()
        assert (reopened.name, reopened.tags, reopened.note) == ("Before \ufffd the fix", ("B", "slow"), "")
        assert library.edit(reopened.id, tags=()).tags == ()


def test_search_looks_at_name_verdict_note_and_tags_for_every_word(library: Library) -> None:
    whisper, second = upload(library, "Whisper.trace", XML), upload(library, "other", XML)
    library._catalog.change(whisper.id, verdict="Submitted work to the ANE")
    library.edit(whisper.id, note="Größe 50% faster_now \\o/", tags=["release"])
    for words in ("whisper", "ANE", "ane WHISPER", "GRÖSSE", "50%", "r_n", "\\o", "rele", "  release  50% "):
        assert [recording.name for recording in library.list_recordings(words)] == ["Whisper.trace"], words
    for words in ("whisper gpu", "5%r", "w_isper", "%_%", "'; drop table recordings; --", "*"):
        assert library.list_recordings(words) == [], words
    assert len(library.list_recordings(" ")) == 2
    library.edit(second.id, tags=["release", "rel"])
    assert [recording.name for recording in library.list_recordings(tag="rel")] == ["other"]
    assert library.list_recordings("whisper", tag="rel") == []
    assert library.count_tags() == [("rel", 1), ("release", 2)]


def test_a_search_of_very_many_words_is_refused_before_it_reads(library: Library) -> None:
    upload(library, "Whisper.trace", XML)
    assert library.count("whisper " * 10_000) == 1  # the same word again is no further one
    with pytest.raises(UsageError, match=r"takes 30 words, and this one has 2,000\. Use fewer\."):
        library.list_recordings(" ".join(map(str, range(2_000))), count=50)


def test_half_a_character_in_a_search_or_tag_finds_nothing(library: Library) -> None:
    upload(library, "Whisper.trace", XML)
    assert (library.count("\ud83d"), library.count(tag="\ud83d")) == (0, 0)


@pytest.mark.parametrize("word", ["iphone17", "27.1", "damaged"])
def test_search_looks_at_device_system_and_what_failed(library: Library, word: str) -> None:
    for number, message in enumerate(
        ({"device": "iPhone17,1"}, {"system": "iOS 27.1"}, {"message": "Damaged."})
    ):
        library._catalog.add(replace(make_recording(f"{number:032x}", "x.xml", "upload", 1), **message))
    assert len(library.list_recordings(word)) == 1


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Foo.trace", "Foo.trace"),
        ("/home/me/Foo.trace/", "Foo.trace"),
        ("C:\\fakepath\\Foo.zip", "Foo.zip"),
        ("", "recording"),
        ("///", "recording"),
        ("<script>", "<script>"),
        ("x" * 1000, "x" * 200),
        ("a\u202eb\x1b[2J", "a\ufffdb\ufffd[2J"),
        ("\U0001f469\u200d\U0001f4bb\u00a0x", "\U0001f469\u200d\U0001f4bb x"),
    ],
)
def test_a_name_is_a_line_of_text(given: str, shown: str) -> None:
    assert make_display_name(given) == shown


# Deleting -------------------------------------------------------------------------------------------------


def test_deleting_can_be_undone(library: Library) -> None:
    recording = upload(library, "x", XML)
    as_if_read(library, recording, "It was the ANE.")
    library.edit(recording.id, tags=["t"])
    library.delete(recording.id)
    assert (library.list_recordings(), library.count_tags()) == ([], [])
    (deleted,) = library.list_recordings(deleted=True)
    assert deleted.deleted is not None
    with pytest.raises(NotFound, match="x was deleted"):
        library.find_view(recording.id)
    restored = library.restore(recording.id)
    assert (restored.state, restored.verdict, restored.tags) == ("ready", "It was the ANE.", ("t",))
    assert library.find_view(recording.id).read_bytes() == b"x"


def test_purging_leaves_nothing_of_ours_and_everything_of_the_user(library: Library, export: Path) -> None:
    for recording in (upload(library, "x", XML), library.add_file(export)):
        as_if_read(library, recording)
        library.edit(recording.id, tags=["t"])
        library.delete(recording.id)
        library.purge(recording.id)
        with pytest.raises(NotFound, match="There is no such recording"):
            library.find_recording(recording.id)
    assert (library.list_recordings(deleted=True), library.count_tags()) == ([], [])
    assert tree(library._store.folder) == []
    assert export.read_bytes() == XML


def test_what_was_deleted_long_ago_is_purged_at_the_next_start(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", XML)
        library.delete(recording.id)
    with opened(tmp_path, ServerLimits(workers=0, deleted_seconds=60)) as library:
        assert len(library.list_recordings(deleted=True)) == 1
    with opened(tmp_path, ServerLimits(workers=0, deleted_seconds=0)) as library:
        assert library.list_recordings(deleted=True) == []
    assert tree(tmp_path) == []


def test_what_was_recorded_here_is_purged_with_its_journal(library: Library, tmp_path: Path) -> None:
    """Two of one attempt: its folder stays until the second is purged."""
    folder = library._store.recorded / "20260102-030405-0a1b2c3d"
    for name in ("ane", "cpu"):
        shutil.copytree(BUNDLE, folder / f"{name}.trace")
        (folder / f"{name}.recording.json").write_text("{}")
    first, second = (library.add_file(folder / f"{name}.trace") for name in ("ane", "cpu"))
    library.delete(first.id)
    assert (folder / "ane.trace").exists()
    library.purge(first.id)
    assert sorted(path.name for path in folder.iterdir()) == ["cpu.recording.json", "cpu.trace"]
    library.delete(second.id)
    library.purge(second.id)
    assert not folder.exists()


def test_a_local_recording_stays_where_it_is_when_it_is_purged(library: Library, tmp_path: Path) -> None:
    place = shutil.copytree(BUNDLE, tmp_path / "recorded" / "mine" / "x.trace")
    recording = library.add_file(place)
    with pytest.raises(Conflict, match=r"x\.trace is not deleted\. Delete it first"):
        library.purge(recording.id)
    library.delete(recording.id)
    library.purge(recording.id)
    assert place.exists()


def test_nothing_can_be_done_with_what_is_not_there(library: Library) -> None:
    for use in (
        library.find_recording,
        library.edit,
        library.delete,
        library.restore,
        library.purge,
        library.cancel,
        library.retry,
        library.find_view,
    ):
        with pytest.raises(NotFound):
            use("0" * 32)


# Its folder -----------------------------------------------------------------------------------------------


def test_a_second_server_is_refused_with_the_reason(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(Conflict, match=rf"Another dashboard \(pid {os.getpid()}\) uses"):
        Library(tmp_path, QUIET)
    with opened(tmp_path) as library:
        assert library.list_recordings() == []


@pytest.mark.integration
def test_a_server_that_was_killed_locks_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, os; from pathlib import Path; from tracekit_dashboard.library.library import Library;"
        "library = Library(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment(), check=False)
    assert (tmp_path / "catalog.sqlite3").exists()
    with opened(tmp_path) as library:
        assert library.list_recordings() == []


def test_a_catalog_of_a_newer_tracekit_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        upload(library, "x", XML)
    with sqlite3.connect(tmp_path / "catalog.sqlite3") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"newer tracekit \(version 99; this one knows 2\)\. Update tracekit"
        ):
            Library(tmp_path, QUIET)
    assert len(tree(tmp_path)) == 2


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be used: Not a directory"):
        Library(tmp_path / "file" / "library", QUIET)


def test_a_full_disk_is_reported_and_the_library_lives_on(library: Library) -> None:
    recording = upload(library, "x", XML)
    with library._catalog.file.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(NoSpace, match="cannot be read or written: database or disk is full"):
        for number in range(200):
            library.edit(recording.id, note=f"{number}" * 9_000)
    assert library.find_recording(recording.id).name == "x"
    with library._catalog.file.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    assert library.edit(recording.id, note="again").note == "again"


def test_a_folder_of_any_name_holds_a_library(tmp_path: Path) -> None:
    folder = tmp_path / "a ?#%41 \u00e9 &x=y"
    with opened(folder) as library:
        upload(library, "x", XML)
    assert (folder / "catalog.sqlite3").exists()
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_others_of_the_machine_cannot_look_into_it(library: Library) -> None:
    upload(library, "x", XML)
    folder = library._store.folder
    for path in (
        folder,
        folder / "uploads",
        folder / "recordings",
        folder / "catalog.sqlite3",
        folder / "lock",
        folder / "lock.pid",
    ):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_the_pid_of_an_earlier_version_is_hidden_from_others(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    pid_file = tmp_path / "lock.pid"
    pid_file.write_text("123456789")
    pid_file.chmod(0o644)
    with opened(tmp_path):
        assert (pid_file.stat().st_mode & 0o777, pid_file.read_text()) == (0o600, str(os.getpid()))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("tracekit_dashboard.library.library", ("flask", "dash", "pandas")),
        ("tracekit_dashboard.jobs.workers.read", ("sqlalchemy",)),
    ],
)
def test_the_library_imports_no_web_and_a_worker_no_catalog(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {module}; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == 0


def test_a_closed_library_can_be_closed_again(tmp_path: Path) -> None:
    library = Library(tmp_path, QUIET)
    library.close()
    library.close()


def test_the_settings_have_a_place_for_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert find_default_folder() == Path("/data/tracekit")
    assert Settings(find_default_folder()).host == "127.0.0.1"
