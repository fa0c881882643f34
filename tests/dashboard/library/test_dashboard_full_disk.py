"""A full disk: every step reports it, nothing is left behind, and with more room the step succeeds."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from library_support import CONTENT, ROOT, append, files_of_upload, received, send, tree

from tracekit_dashboard.errors import NoSpace
from tracekit_dashboard.library import slices
from tracekit_dashboard.library.library import Library

UNSHARE = shutil.which("unshare")


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def quota(*_: Any, **__: Any) -> Any:
    raise OSError(errno.EDQUOT, "Disk quota exceeded")


@pytest.mark.parametrize("problem", [full, quota])
@pytest.mark.parametrize(
    ("owner", "name"), [(Path, "mkdir"), (Path, "write_text"), (os, "write"), (Path, "rename")]
)
def test_an_upload_that_cannot_be_begun_leaves_nothing(
    owner: Any, name: str, problem: Any, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, problem)
    with pytest.raises(NoSpace, match="disk is full"):
        library.uploads.begin("x", len(CONTENT))
    monkeypatch.undo()
    assert list(library._store.uploads.iterdir()) == []


@pytest.mark.parametrize(
    ("owner", "name"),
    [(os, "open"), (os, "write"), (os, "fsync"), (slices, "write_offset")],
)
def test_a_slice_that_finds_no_room_is_reported_and_sent_again(
    owner: Any, name: str, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    append(library, number, 0, CONTENT[:1000])
    monkeypatch.setattr(owner, name, full)
    with pytest.raises(NoSpace, match="the upload continues where it stopped"):
        append(library, number, 1000, CONTENT[1000:2000])
    monkeypatch.undo()
    assert library.uploads.find_offset(number) == 1000
    send(library, number, CONTENT)
    assert received(library, library.uploads.finish(number).id) == CONTENT


@pytest.mark.parametrize("name", ["mkdir", "rename"])
def test_an_upload_that_cannot_be_finished_can_be_finished_later(
    name: str, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    send(library, number, CONTENT)
    monkeypatch.setattr(Path, name, full)
    with pytest.raises(NoSpace):
        library.uploads.finish(number)
    monkeypatch.undo()
    assert received(library, library.uploads.finish(number).id) == CONTENT


def test_without_room_in_the_catalog_an_upload_can_be_finished_later(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    send(library, number, CONTENT)

    def no_room(*_: Any) -> None:
        raise NoSpace("The catalog cannot be written.")

    monkeypatch.setattr(library._catalog, "add", no_room)
    with pytest.raises(NoSpace):
        library.uploads.finish(number)
    monkeypatch.undo()
    recording = library.uploads.finish(number)
    assert tree(library._store.folder) == files_of_upload(recording.id)


@pytest.mark.integration
@pytest.mark.skipif(UNSHARE is None, reason="only Linux lets us have a small disk")
@pytest.mark.parametrize(
    ("kilobytes", "message"),
    [
        (100, "start: NoSpace: The catalog of recordings cannot be"),
        (150, "upload: NoSpace: The library's disk"),
        (260, "failed: Camera.zip could not be read to its end: No space left on device."),
    ],
)
def test_a_disk_that_is_really_too_small(kilobytes: int, message: str, tmp_path: Path) -> None:
    program = ROOT / "tests" / "support" / "full_disk.py"
    path = os.pathsep.join([str(ROOT), str(program.parent)])
    command = [str(UNSHARE), "-rm", sys.executable, str(program), str(tmp_path), str(kilobytes)]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip("mounting a disk is not permitted here")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(message)
    assert lines[-2:] == ["ready: ", "left: []"]  # once the disk has grown
    assert all(line == "left: []" for line in lines if line.startswith("left"))
