"""Slices arrive, in whatever state connections, tabs, disks and servers are."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from library_support import XML, opened, send, tree, upload, upload_folder

from dashboard.errors import Conflict, NoSpace, NotFound, TooLarge
from dashboard.library.library import Library
from dashboard.library.store import Store
from dashboard.settings import Limits
from tracekit.errors import InputError, UsageError

CONTENT = XML + bytes(range(256)) * 40


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with opened(tmp_path / "library") as made:
        yield made


def received(library: Library, recording_id: str) -> bytes:
    return (library._store.input(recording_id) / "recording").read_bytes()


def append(library: Library, number: str, offset: int, piece: bytes) -> int:
    return library.uploads.append(number, offset, io.BytesIO(piece), len(piece))


# As it should be ------------------------------------------------------------------------------------------


def test_slices_become_a_recording_that_waits(library: Library) -> None:
    recording = upload(library, "Foo.trace.zip", CONTENT, 1000)
    assert (recording.name, recording.origin, recording.state) == ("Foo.trace.zip", "upload", "waiting")
    assert recording.size_bytes == len(CONTENT)
    assert received(library, recording.id) == CONTENT
    assert library.recordings() == [recording]
    assert library.uploads.unfinished() == []


def test_the_name_on_the_disk_is_ours(library: Library) -> None:
    recording = upload(library, "../../etc/\u202epasswd\x00\ud800", CONTENT)
    assert recording.name == "\ufffdpasswd\ufffd\ufffd"
    assert tree(library._store.folder) == [f"recordings/{recording.id}/input/recording"]


def test_a_folder_is_one_row_of_bytes(library: Library) -> None:
    files = [
        ("X.trace/form.template", b"abc"),
        ("X.trace/empty", b""),
        ("X.trace/corespace/run1/a", b"0123456789"),
        ("X.trace/corespace/run1/b", b"xyz"),
        ("X.trace/last", b""),
    ]
    row = b"".join(content for _, content in files)
    for slice_bytes in (1, 2, 5, 100):
        number = library.uploads.begin("X.trace", files=[(path, len(content)) for path, content in files])
        send(library, number, row, slice_bytes)
        recording = library.uploads.finish(number, hashlib.sha256(row).hexdigest())
        place = library._store.input(recording.id)
        assert {path: (place / path).read_bytes() for path, _ in files} == dict(files)


def test_a_large_upload_takes_no_memory(library: Library) -> None:
    size, step = 96 << 20, 8 << 20
    number = library.uploads.begin("x", size)

    class Endless:
        def read(self, size: int, /) -> bytes:
            return b"<" * size

    tracemalloc.start()
    for at in range(0, size, step):
        library.uploads.append(number, at, Endless(), step)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert library.uploads.offset(number) == size
    assert peak < 8 << 20


# Connections ----------------------------------------------------------------------------------------------


def test_a_stream_that_ends_early_leaves_what_came(library: Library) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    assert library.uploads.append(number, 0, io.BytesIO(CONTENT[:700]), 5000) == 700
    send(library, number, CONTENT)
    assert received(library, library.uploads.finish(number).id) == CONTENT


def test_a_stream_that_breaks_off_leaves_what_came(library: Library) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            if not data:
                raise ConnectionResetError
            return data

    number = library.uploads.begin("x", len(CONTENT))
    assert library.uploads.append(number, 0, Broken(CONTENT[:700]), 5000) == 700


@pytest.mark.parametrize("offset", [0, 699, 701, -1])
def test_a_slice_at_the_wrong_offset_changes_nothing(library: Library, offset: int) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    append(library, number, 0, CONTENT[:700])
    with pytest.raises(Conflict, match=f"stands at 700, not at {offset}"):
        append(library, number, offset, b"different")
    send(library, number, CONTENT)
    assert received(library, library.uploads.finish(number).id) == CONTENT


def test_more_than_was_announced_is_refused(library: Library) -> None:
    number = library.uploads.begin("x", 700)
    with pytest.raises(Conflict, match="announced with 700 bytes"):
        append(library, number, 0, CONTENT[:701])
    assert library.uploads.offset(number) == 0


def test_a_slice_has_its_limit(tmp_path: Path) -> None:
    with opened(tmp_path, Limits(workers=0, free_disk_bytes=0, slice_bytes=600)) as library:
        number = library.uploads.begin("x", 700)
        with pytest.raises(TooLarge):
            append(library, number, 0, CONTENT[:601])
        assert append(library, number, 0, CONTENT[:600]) == 600


def test_two_tabs_with_the_same_file_do_not_disturb_one_another(library: Library) -> None:
    first = library.uploads.begin("Foo.zip", len(CONTENT))
    second = library.uploads.begin("Foo.zip", len(CONTENT))
    for at in range(0, len(CONTENT), 1000):
        append(library, first, at, CONTENT[at : at + 1000])
        append(library, second, at, CONTENT[at : at + 1000])
    library.uploads.cancel(first)
    assert received(library, library.uploads.finish(second).id) == CONTENT


def test_two_tabs_on_one_upload_never_mix_their_bytes(library: Library) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    reading, go_on = threading.Event(), threading.Event()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            reading.set()
            assert go_on.wait(10)
            return super().read(size)

    slow = threading.Thread(target=library.uploads.append, args=(number, 0, Slow(CONTENT[:1000]), 1000))
    slow.start()
    assert reading.wait(10)
    with pytest.raises(Conflict, match="Another request"):
        append(library, number, 0, CONTENT[:2000])
    go_on.set()
    slow.join()
    assert library.uploads.offset(number) == 1000


# Finishing ------------------------------------------------------------------------------------------------


def test_an_incomplete_upload_cannot_be_finished(library: Library) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    append(library, number, 0, CONTENT[:700])
    with pytest.raises(Conflict, match="700 of 10,"):
        library.uploads.finish(number)
    assert library.uploads.offset(number) == 700


def test_finishing_again_gives_the_same_recording(library: Library) -> None:
    recording = upload(library, "x", CONTENT)
    assert library.uploads.finish(recording.id) == recording
    assert library.recordings() == [recording]


def test_bytes_that_are_not_those_that_were_sent_are_not_kept(library: Library) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    send(library, number, CONTENT)
    with pytest.raises(Conflict, match="did not arrive as it was sent"):
        library.uploads.finish(number, hashlib.sha256(CONTENT + b"!").hexdigest())
    assert tree(library._store.folder) == []
    number = library.uploads.begin("x", len(CONTENT))
    send(library, number, CONTENT)
    assert library.uploads.finish(number, hashlib.sha256(CONTENT).hexdigest().upper()).state == "waiting"


def test_a_cancelled_upload_leaves_nothing(library: Library) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    append(library, number, 0, CONTENT[:700])
    library.uploads.cancel(number)
    assert tree(library._store.folder) == []
    for use in (
        lambda: library.uploads.offset(number),
        lambda: append(library, number, 700, b"x"),
        lambda: library.uploads.finish(number),
        lambda: library.uploads.cancel(number),
    ):
        with pytest.raises(NotFound):
            use()


@pytest.mark.parametrize(
    "number", ["", "..", "../../etc/passwd", "A" * 32, "0" * 31, "0" * 33, "0" * 32 + "\n"]
)
def test_what_is_no_id_names_nothing(library: Library, number: str) -> None:
    store = library._store
    for use in (library.uploads.offset, library.uploads.finish, library.uploads.cancel, library.recording):
        with pytest.raises(NotFound):
            use(number)
    with pytest.raises(NotFound):
        append(library, number, 0, b"x")
    for place in (store.recording, store.input, store.results, store.upload):
        with pytest.raises(NotFound):
            place(number)


# A server that ends at any moment -------------------------------------------------------------------------


def test_an_upload_goes_on_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        number = library.uploads.begin("Foo.zip", len(CONTENT))
        append(library, number, 0, CONTENT[:700])
    with opened(tmp_path) as library:
        assert [(one.name, one.offset) for one in library.uploads.unfinished()] == [("Foo.zip", 700)]
        send(library, number, CONTENT)
        assert received(library, library.uploads.finish(number).id) == CONTENT


def test_bytes_that_were_not_brought_to_the_disk_for_good_do_not_count(tmp_path: Path) -> None:
    """A power failure in a slice can leave a longer file, of anything."""
    with opened(tmp_path) as library:
        number = library.uploads.begin("x", len(CONTENT))
        append(library, number, 0, CONTENT[:700])
        with (library._store.upload(number) / "input" / "recording").open("ab") as file:
            file.write(bytes(50_000))
    with opened(tmp_path) as library:
        assert library.uploads.offset(number) == 700
        send(library, number, CONTENT)
        assert received(library, library.uploads.finish(number).id) == CONTENT


@pytest.mark.parametrize("step", ["catalog.add", "uploads._forget"])
def test_a_server_that_ends_while_it_finishes_does_so_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    class Ended(BaseException):
        pass

    def end(*_arguments: object) -> None:
        raise Ended

    with opened(tmp_path) as library:
        number = library.uploads.begin("Foo.zip", len(CONTENT))
        send(library, number, CONTENT)
        target = library._catalog if step == "catalog.add" else library.uploads
        monkeypatch.setattr(target, step.split(".")[1], end)
        with pytest.raises(Ended):
            library.uploads.finish(number)
    with opened(tmp_path) as library:
        assert [one.name for one in library.recordings()] == ["Foo.zip"]
        assert library.uploads.finish(number).id == number
        assert received(library, number) == CONTENT
        assert tree(tmp_path) == [f"recordings/{number}/input/recording"]


def test_what_a_server_left_that_can_not_go_on_is_collected(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", CONTENT)
        lost = library.uploads.begin("x", 700)
        (library._store.upload(lost) / "offset").unlink()
    for left in (
        f"uploads/new-{'a' * 32}/about.json",  # begun, not yet renamed
        f"uploads/{'b' * 32}/input/recording",  # its plan was removed first
        f"uploads/{'e' * 32}/offset",
        f"recordings/{'c' * 32}/input/recording",  # purged halfway
        f"recordings/{recording.id}/work-1234/results/view.bin.gz",  # of a worker
        f"trash/{'d' * 32}/x/y",
    ):
        (tmp_path / left).parent.mkdir(parents=True)
        (tmp_path / left).write_bytes(b"x")
    with opened(tmp_path):
        assert tree(tmp_path) == [f"recordings/{recording.id}/input/recording"]


def test_an_upload_that_is_left_alone_for_a_day_is_removed(library: Library) -> None:
    old, new = library.uploads.begin("old", 700), library.uploads.begin("new", 700)
    append(library, old, 0, CONTENT[:600])
    mark = library._store.upload(old) / "offset"
    day_ago = mark.stat().st_mtime - 24 * 3600 - 1
    os.utime(mark, (day_ago, day_ago))
    library.uploads.remove_stale()
    assert [one.id for one in library.uploads.unfinished()] == [new]
    with pytest.raises(NotFound, match="left alone for too long"):
        append(library, old, 600, b"x")


# Room -----------------------------------------------------------------------------------------------------


def test_ten_gigabytes_are_refused_before_a_byte_is_sent(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "free_bytes", lambda _store: 9_000_000_000)
    with pytest.raises(NoSpace, match=r"no room for 10\.0 GB: it can take 9\.0 GB"):
        library.uploads.begin("x", 10_000_000_000)
    library.uploads.begin("x", 8_000_000_000)
    with pytest.raises(NoSpace, match=r"2\.0 GB beside the other uploads: it can take 1\.0 GB"):
        library.uploads.begin("y", 2_000_000_000)
    assert len(library.uploads.unfinished()) == 1


def test_a_claim_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path, Limits(workers=0, upload_bytes=1_000_000_000)) as library:
        with pytest.raises(TooLarge, match=r"has 10\.0 GB; at most 1\.0 GB are taken"):
            library.uploads.begin("x", 10_000_000_000)
        with pytest.raises(TooLarge):
            library.uploads.begin("x", files=[("a", 10**9), ("b", 1)])
        with pytest.raises(TooLarge):
            library.uploads.begin("x", 10**40)
        with pytest.raises(UsageError):
            library.uploads.begin("x", -1)
        with pytest.raises(UsageError):
            library.uploads.begin("x", files=[("a", 10), ("b", -5)])
        assert tree(tmp_path) == []


def test_so_many_uploads_at_once_and_so_many_files_in_one(tmp_path: Path) -> None:
    limits = Limits(workers=0, free_disk_bytes=0, unfinished_uploads=2, upload_files=3)
    with opened(tmp_path, limits) as library:
        with pytest.raises(TooLarge, match="4 files; at most 3"):
            library.uploads.begin("x", files=[(f"x/{n}", 1) for n in range(4)])
        library.uploads.begin("x", 1)
        library.uploads.begin("x", files=[(f"x/{n}", 1) for n in range(3)])
        with pytest.raises(TooLarge, match="too many unfinished uploads"):
            library.uploads.begin("x", 1)


def test_a_disk_that_fills_up_leaves_an_upload_that_can_go_on(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    append(library, number, 0, CONTENT[:1000])
    write = os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) > 100:
            return write(descriptor, bytes(data)[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NoSpace, match="disk is full"):
        append(library, number, 1000, CONTENT[1000:1250])
    monkeypatch.undo()
    assert library.uploads.offset(number) == 1000
    send(library, number, CONTENT)
    assert received(library, library.uploads.finish(number).id) == CONTENT


def test_a_disk_that_others_filled_refuses_the_next_slice(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    monkeypatch.setattr(Store, "free_bytes", lambda _store: 999)
    with pytest.raises(NoSpace):
        append(library, number, 0, CONTENT[:1000])
    assert append(library, number, 0, CONTENT[:999]) == 999


# What it is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"PK\x03\x04", id="zip"),
        pytest.param(b"\x1f\x8b\x08", id="gzip"),
        pytest.param(b"BZh9", id="bzip2"),
        pytest.param(b"\xfd7zXZ\x00", id="xz"),
        pytest.param(b"name".ljust(257, b"\0") + b"ustar", id="tar"),
        pytest.param(b"\xef\xbb\xbf\n <?xml", id="xml"),
        pytest.param("\ufeff<?xml".encode("utf-16-le"), id="xml-utf-16"),
    ],
)
def test_a_recording_is_known_by_its_first_bytes(library: Library, head: bytes) -> None:
    assert upload(library, "holiday.jpg", head.ljust(700, b"\0"), 100).state == "waiting"


@pytest.mark.parametrize(
    "content", [b"\xff\xd8\xff\xe0" * 300, b"hello", b"%PDF-1.7" + bytes(600), b"PK\x05\x06"]
)
def test_anything_else_is_refused_whatever_its_name_says(library: Library, content: bytes) -> None:
    number = library.uploads.begin("Foo.trace.zip", len(content))
    with pytest.raises(InputError, match=r"Foo\.trace\.zip: is no recording, whatever its name says"):
        send(library, number, content, 300)
    assert tree(library._store.folder) == []


def test_an_empty_file_is_what_some_browsers_make_of_a_bundle(library: Library) -> None:
    with pytest.raises(InputError, match=r"Foo\.trace: is empty.*Compress"):
        library.uploads.begin("Foo.trace", 0)
    with pytest.raises(InputError, match="is empty"):
        library.uploads.begin("Foo.trace", files=[])


# Names in a folder ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        (["X.trace/../../x"], "'X.trace/../../x' in it leads out of its folder; nothing was taken"),
        ([".."], "leads out"),
        (["X.trace/./x"], "leads out"),
        (["X.trace//x"], "leads out"),
        (["X.trace/"], "leads out"),
        (["/etc/passwd"], "absolute"),
        (["C:/x"], "absolute"),
        (["c:x"], "absolute"),
        ([""], "absolute name or none"),
        (["X.trace\\..\\x"], "backslash"),
        (["X.trace/a\0b"], "'X.trace/a\ufffdb' in it has a character"),
        (["X.trace/a\nb"], "character"),
        (["X.trace/a\ud800"], "character"),
        (["X.trace/x:stream"], "character"),
        (["X.trace/NUL"], "keep for themselves"),
        (["com1.xml"], "keep for themselves"),
        (["X.trace/x."], "keep for themselves"),
        (["X.trace/x "], "keep for themselves"),
        (["X.trace/" + "x" * 241], "too long"),
        (["X.trace/" + "\u00e9" * 121], "too long"),
        (["/".join(["x" * 100] * 10)], "too long"),
        (["/".join(["x"] * 25)], "too deep"),
        (["X.trace/a", "X.trace/a"], "stands beside 'X.trace/a'"),
        (["X.trace/a", "X.trace/A"], "'X.trace/A' in it stands beside 'X.trace/a'"),
        (["X.trace/stra\u00dfe", "X.trace/STRASSE"], "stands beside"),
        (["X.trace/\u00e9", "X.trace/e\u0301"], "stands beside"),
        (["X.trace/run/a", "X.trace/Run/b"], "differs from 'X.trace/run' in case only"),
        (["X.trace/a", "X.trace/a/b"], "a file and a folder at once"),
        (["X.trace/a/b", "X.trace/A"], "a file and a folder at once"),
    ],
)
def test_names_that_cannot_lie_on_every_disk_are_refused(
    library: Library, paths: list[str], why: str
) -> None:
    with pytest.raises(InputError) as refused:
        library.uploads.begin("X.trace", files=[(path, 5) for path in paths])
    assert why in str(refused.value)
    assert "Zip the recording" in str(refused.value)
    assert tree(library._store.folder) == []


def test_names_of_real_bundles_are_taken(library: Library) -> None:
    paths = [
        "X Y (1).trace/Trace1.run/RunIssues.storedata",
        "X Y (1).trace/corespace/run1/core/stores/indexed-store-1/schema.xml",
        "X Y (1).trace/.DS_Store",
        "X Y (1).trace/\u30c8\u30ec\u30fc\u30b9",
        "X Y (1).trace/console.xml",  # begins like a reserved name
    ]
    recording = upload_folder(library, "X Y (1).trace", [(path, b"x") for path in paths])
    assert tree(library._store.input(recording.id)) == sorted(paths)


def test_a_link_on_the_disk_is_not_followed(library: Library, tmp_path: Path) -> None:
    """Should one ever get there: nothing of ours makes any."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    number = library.uploads.begin("x", 700)
    place = library._store.upload(number) / "input"
    place.mkdir()
    (place / "recording").symlink_to(outside)
    with pytest.raises(UsageError, match="cannot be written"):
        append(library, number, 0, CONTENT[:700])
    assert outside.read_bytes() == b"mine"
