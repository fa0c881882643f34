"""One recording at a time: a second process is refused, and nothing but an empty lock file is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracekit.errors import XctraceError
from tracekit.record.lock import hold_recorder_lock

pytestmark = pytest.mark.integration

NOTE, LOCK = (
    f"tracekit-{os.getuid() if hasattr(os, 'getuid') else 0}-mac.{kind}" for kind in ("holder", "lock")
)
HOLDER = """
import sys
from pathlib import Path
from tracekit.record.lock import hold_recorder_lock
with hold_recorder_lock(sys.argv[1], Path("first.trace")):
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, here and in child processes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def holder(device: str = "") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its standard input ends."""
    command = [sys.executable, "-c", HOLDER, device]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "holds\n"
        try:
            yield child
        finally:
            assert child.stdin is not None
            child.stdin.close()
            child.wait(20)


def take(device: str = "") -> None:
    with hold_recorder_lock(device, Path("second.trace")):
        pass


def test_a_second_recorder_is_refused_with_the_name_of_the_first() -> None:
    with holder() as first, pytest.raises(XctraceError) as caught:
        take()
    assert str(caught.value) == (
        f"Another tracekit is recording (pid {first.pid}, into first.trace). Only one recording at a time can"
        " profile this Mac or device. Wait until it ends, or stop it with Ctrl-C in its terminal."
    )


def test_within_one_process_the_second_is_refused_too() -> None:
    with (
        hold_recorder_lock("", Path("a.trace")),
        pytest.raises(XctraceError, match=f"pid {os.getpid()}, into a.trace"),
    ):
        take()


def test_the_refused_one_does_not_take_the_lock_away() -> None:
    with holder():
        for _ in range(2):
            with pytest.raises(XctraceError, match="is recording"):
                take()


def test_another_device_can_be_recorded_meanwhile() -> None:
    with holder(), hold_recorder_lock("00008101-000D482C1E78001E", Path("x.trace")):
        take("another")


def test_nothing_is_left_when_it_is_done(folder: Path) -> None:
    with hold_recorder_lock("", Path("a.trace")):
        assert names(folder) == [NOTE, LOCK]
    assert names(folder) == [LOCK]
    assert (folder / LOCK).stat().st_size == 0
    with pytest.raises(RuntimeError), hold_recorder_lock("", Path("a.trace")):
        raise RuntimeError
    assert names(folder) == [LOCK]


def test_after_a_holder_was_killed_the_next_one_records(folder: Path) -> None:
    with holder() as first:
        first.send_signal(signal.SIGKILL)
        first.wait(20)
        assert names(folder) == [NOTE, LOCK], "it could not clean up"
        take()
    assert names(folder) == [LOCK]


def test_a_stale_note_is_replaced(folder: Path) -> None:
    (folder / NOTE).write_text(" (pid 1, into " + "x" * 3000 + ")")
    with hold_recorder_lock("", Path("b.trace")), pytest.raises(XctraceError) as caught:
        take()
    assert "x" * 10 not in str(caught.value)


def test_of_many_that_try_at_once_one_has_it(folder: Path) -> None:
    """Each takes and releases it many times; a file shows whether two were ever inside together."""
    code = """
import os, sys
from pathlib import Path
from tracekit.errors import XctraceError
from tracekit.record.lock import hold_recorder_lock
inside = Path(sys.argv[1])
for _ in range(int(sys.argv[2])):
    try:
        with hold_recorder_lock("", Path("x.trace")):
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            inside.unlink()
    except XctraceError:
        pass
"""
    command = [
        sys.executable,
        "-c",
        code,
        str(folder / "inside"),
        "300" if os.environ.get("TRACEKIT_COMPLETE_TESTS") else "60",
    ]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [child.communicate(timeout=60)[1] for child in children]
    assert [child.returncode for child in children] == [0, 0, 0], errors


def test_a_link_in_the_locks_place_is_not_followed(folder: Path) -> None:
    (folder / LOCK).symlink_to(folder / "victim")
    with pytest.raises(XctraceError):
        take()
    assert not (folder / "victim").exists()


def test_a_link_in_the_notes_place_is_not_followed(folder: Path) -> None:
    (folder / NOTE).symlink_to(folder / "victim")
    with hold_recorder_lock("", Path("a.trace")), pytest.raises(XctraceError, match=r"into a\.trace"):
        take()
    assert not (folder / "victim").exists()
