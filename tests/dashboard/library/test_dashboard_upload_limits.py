"""Uploads that are refused: too large, no recording, names that lead elsewhere."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest
from library_support import CONTENT, append, opened, received, send, tree, upload, upload_folder

from tracekit.errors import InputError, UsageError
from tracekit_dashboard.errors import NoSpace, TooLarge
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.store import Store
from tracekit_dashboard.settings import ServerLimits

pytestmark = pytest.mark.integration

# Room -----------------------------------------------------------------------------------------------------


def test_ten_gigabytes_are_refused_before_a_byte_is_sent(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "measure_free_bytes", lambda _store: 9_000_000_000)
    with pytest.raises(NoSpace, match=r"no room for 10\.0 GB: it can take 9\.0 GB"):
        library.uploads.begin("x", 10_000_000_000)
    library.uploads.begin("x", 8_000_000_000)
    with pytest.raises(NoSpace, match=r"2\.0 GB beside the other uploads: it can take 1\.0 GB"):
        library.uploads.begin("y", 2_000_000_000)
    assert len(library.uploads.list_unfinished()) == 1


def test_announced_bytes_that_are_not_sent_shut_no_visitor_out(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "measure_free_bytes", lambda _store: 9_000_000_000)
    idle = library.uploads.begin("x", 8_000_000_000)
    with pytest.raises(NoSpace):
        library.uploads.begin("y", 2_000_000_000)
    before = time.time() - 400
    os.utime(library._store.upload(idle) / "offset", (before, before))
    library.uploads.begin("y", 2_000_000_000)
    assert [
        round(upload.idle_seconds, -2) for upload in library.uploads.list_unfinished() if upload.id == idle
    ] == [400]


def test_a_claim_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path, ServerLimits(workers=0, upload_bytes=1_000_000_000)) as library:
        with pytest.raises(TooLarge, match=r"has 10\.0 GB; the limit is 1\.0 GB"):
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
    limits = ServerLimits(workers=0, free_disk_bytes=0, unfinished_uploads=2, upload_files=3)
    with opened(tmp_path, limits) as library:
        with pytest.raises(TooLarge, match="4 files; the limit is 3"):
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
    assert library.uploads.find_offset(number) == 1000
    send(library, number, CONTENT)
    assert received(library, library.uploads.finish(number).id) == CONTENT


def test_a_disk_that_others_filled_refuses_the_next_slice(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    monkeypatch.setattr(Store, "measure_free_bytes", lambda _store: 999)
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
def test_anything_else_is_refused_whatever_its_name(library: Library, content: bytes) -> None:
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
        ([""], "absolute path or empty"),
        (["X.trace\\..\\x"], "backslash"),
        (["X.trace/a\0b"], "'X.trace/a\ufffdb' in it has a character"),
        (["X.trace/a\nb"], "character"),
        (["X.trace/a\ud800"], "character"),
        (["X.trace/x:stream"], "character"),
        (["X.trace/NUL"], "reserve"),
        (["com1.xml"], "reserve"),
        (["X.trace/x."], "reserve"),
        (["X.trace/x "], "reserve"),
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
