"""Slices arrive, in whatever state connections, tabs, disks and servers are."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest
from kdebug_files import sample, write_version_2
from library_support import CONTENT, append, files_of_upload, opened, received, send, tree, upload
from thread_support import SAMPLE_TEXT

from tracekit.errors import UsageError
from tracekit_dashboard.errors import Conflict, NotFound, TooLarge
from tracekit_dashboard.library import slices
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.settings import ServerLimits

# As it should be ------------------------------------------------------------------------------------------


def test_slices_become_a_recording_that_waits(library: Library) -> None:
    recording = upload(library, "Foo.trace.zip", CONTENT, 1000)
    assert (recording.name, recording.origin, recording.state) == ("Foo.trace.zip", "upload", "waiting")
    assert recording.size_bytes == len(CONTENT)
    assert received(library, recording.id) == CONTENT
    assert library.list_recordings() == [recording]
    assert library.uploads.list_unfinished() == []


def test_the_name_on_the_disk_is_ours(library: Library) -> None:
    recording = upload(library, "../../etc/\u202epasswd\x00\ud800", CONTENT)
    assert recording.name == "\ufffdpasswd\ufffd\ufffd"
    assert tree(library._store.folder) == files_of_upload(recording.id)


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
    for index in range(0, size, step):
        library.uploads.append(number, index, Endless(), step)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert library.uploads.find_offset(number) == size
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
    with pytest.raises(Conflict, match=f"continues at byte 700, not at byte {offset}"):
        append(library, number, offset, b"different")
    send(library, number, CONTENT)
    assert received(library, library.uploads.finish(number).id) == CONTENT


def test_more_than_was_announced_is_refused(library: Library) -> None:
    number = library.uploads.begin("x", 700)
    with pytest.raises(Conflict, match="announced with 700 bytes"):
        append(library, number, 0, CONTENT[:701])
    assert library.uploads.find_offset(number) == 0


def test_a_slice_has_its_limit(tmp_path: Path) -> None:
    with opened(tmp_path, ServerLimits(workers=0, free_disk_bytes=0, slice_bytes=600)) as library:
        number = library.uploads.begin("x", 700)
        with pytest.raises(TooLarge):
            append(library, number, 0, CONTENT[:601])
        assert append(library, number, 0, CONTENT[:600]) == 600


def test_two_tabs_with_the_same_file_do_not_disturb_one_another(library: Library) -> None:
    first = library.uploads.begin("Foo.zip", len(CONTENT))
    second = library.uploads.begin("Foo.zip", len(CONTENT))
    for index in range(0, len(CONTENT), 1000):
        append(library, first, index, CONTENT[index : index + 1000])
        append(library, second, index, CONTENT[index : index + 1000])
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
    assert library.uploads.find_offset(number) == 1000


# Finishing ------------------------------------------------------------------------------------------------


def test_an_incomplete_upload_cannot_be_finished(library: Library) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    append(library, number, 0, CONTENT[:700])
    with pytest.raises(Conflict, match="700 of 10,"):
        library.uploads.finish(number)
    assert library.uploads.find_offset(number) == 700


def test_finishing_again_gives_the_same_recording(library: Library) -> None:
    recording = upload(library, "x", CONTENT)
    assert library.uploads.finish(recording.id) == recording
    assert library.list_recordings() == [recording]


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
        lambda: library.uploads.find_offset(number),
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
    for use in (
        library.uploads.find_offset,
        library.uploads.finish,
        library.uploads.cancel,
        library.find_recording,
    ):
        with pytest.raises(NotFound):
            use(number)
    with pytest.raises(NotFound):
        append(library, number, 0, b"x")
    for place in (store.recording_folder, store.input, store.results, store.upload):
        with pytest.raises(NotFound):
            place(number)


def test_a_finished_upload_is_one_of_which_all_has_arrived(library: Library) -> None:
    """A tab may miss the end of its upload: another tab sent it, or the response was lost."""
    recording = upload(library, "x", CONTENT)
    assert library.uploads.find_offset(recording.id) == len(CONTENT)
    with pytest.raises(Conflict, match=f"finished, at {len(CONTENT)}"):
        append(library, recording.id, 700, CONTENT[700:800])
    assert library.uploads.finish(recording.id).id == recording.id
    library.delete(recording.id)
    library.purge(recording.id)
    with pytest.raises(NotFound, match="no such upload"):
        library.uploads.find_offset(recording.id)


# A server that ends at any moment -------------------------------------------------------------------------


def test_an_upload_goes_on_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        number = library.uploads.begin("Foo.zip", len(CONTENT))
        append(library, number, 0, CONTENT[:700])
    with opened(tmp_path) as library:
        assert [(upload.name, upload.offset) for upload in library.uploads.list_unfinished()] == [
            ("Foo.zip", 700)
        ]
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
        assert library.uploads.find_offset(number) == 700
        send(library, number, CONTENT)
        assert received(library, library.uploads.finish(number).id) == CONTENT


@pytest.mark.parametrize("step", ["catalog.add", "uploads._forget_upload"])
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
        assert [recording.name for recording in library.list_recordings()] == ["Foo.zip"]
        assert library.uploads.finish(number).id == number
        assert received(library, number) == CONTENT
        assert tree(tmp_path) == files_of_upload(number)


def test_what_a_server_left_unfinished_is_collected(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = upload(library, "x", CONTENT)
    for left in (
        f"uploads/new-{'a' * 32}/about.json",  # begun, not yet renamed
        f"recordings/{recording.id}/work-0123abcd/results/view.bin.gz",  # of a worker
        f"comparisons/{recording.id}-{'c' * 32}/read",  # of a recording that was purged
        "comparisons/work-0123abcd/worker.log",
        f"trash/removed-{'d' * 32}/x/y",
    ):
        (tmp_path / left).parent.mkdir(parents=True)
        (tmp_path / left).write_bytes(b"x")
    with opened(tmp_path):
        assert tree(tmp_path) == files_of_upload(recording.id)


def test_an_upload_that_is_left_alone_for_a_day_is_removed(library: Library) -> None:
    old, new = library.uploads.begin("old", 700), library.uploads.begin("new", 700)
    append(library, old, 0, CONTENT[:600])
    mark = library._store.upload(old) / "offset"
    day_ago = mark.stat().st_mtime - 24 * 3600 - 1
    os.utime(mark, (day_ago, day_ago))
    library.uploads.remove_stale()
    assert [upload.id for upload in library.uploads.list_unfinished()] == [new]
    with pytest.raises(NotFound, match="idle for too long"):
        append(library, old, 600, b"x")


def test_many_small_files_are_synced_together_before_the_offset_moves(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    write_offset = slices.write_offset

    def noted_offset(folder: Path, offset: int) -> None:
        synced.append("offset")
        write_offset(folder, offset)

    files = [(f"{n % 7}/{n}.xml", n % 2) for n in range(100)]
    number = library.uploads.begin("F", files=files)
    monkeypatch.setattr(os, "fsync", lambda _number: synced.append("a file"))
    monkeypatch.setattr(slices, "find_file_system_sync", lambda: lambda _folder: synced.append("all"))
    monkeypatch.setattr(slices, "write_offset", noted_offset)
    append(library, number, 0, bytes(50))
    assert synced == ["all", "offset"]
    synced.clear()
    recording = library.uploads.finish(number)
    assert synced[0] == "all"  # the empty ones
    assert len(list(library._store.input(recording.id).rglob("*.xml"))) == 100


def test_where_files_cannot_be_synced_together_each_is(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(slices, "find_file_system_sync", lambda: None)
    monkeypatch.setattr(os, "fsync", synced.append)
    number = library.uploads.begin("F", files=[(f"{n}.xml", 1) for n in range(20)])
    append(library, number, 0, bytes(20))
    assert len(synced) == 20


def test_files_whose_sync_fails_are_sent_again(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(slices, "find_file_system_sync", lambda: fail)
    number = library.uploads.begin("F", files=[(f"{n}.xml", 1) for n in range(20)])
    with pytest.raises(UsageError, match="cannot be written: Input/output error"):
        append(library, number, 0, bytes(20))
    assert library.uploads.find_offset(number) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux syncs a file system")
def test_linux_syncs_a_file_system(tmp_path: Path) -> None:
    sync = slices.find_file_system_sync()
    assert sync is not None
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "none")


def test_a_stream_of_the_kernel_is_a_recording(library: Library) -> None:
    recording = upload(library, "x.ktrace", write_version_2(sample(0, [0x1000])), 200)
    assert recording.state == "waiting"


def test_a_text_of_another_tool_is_a_recording(library: Library) -> None:
    """A text is recognised by its content, whatever its name, also where it comes in small slices."""
    content = SAMPLE_TEXT.encode()
    recording = upload(library, "dump", content, 200)
    assert (recording.name, recording.state) == ("dump", "waiting")
    assert received(library, recording.id) == content
