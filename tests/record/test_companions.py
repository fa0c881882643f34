"""Tools that watch the Mac beside a recording: their commands, files and ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracekit.errors import UsageError
from tracekit.record import companions
from tracekit.record.companions import (
    Companions,
    build_companion_commands,
    check_companions,
    describe_abandoned_files,
    parse_companions,
)

pytestmark = pytest.mark.integration

WRITER = "#!/bin/sh\necho $$ > pid\ntrap '' TERM INT\nwhile echo line; do sleep 0.02; done\n"
"""A tool that takes no signal, as one of root takes none of its user's."""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of commands, the first to be found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return folder


def tool(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in ("bin", "pid"))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]


def waits_for(condition: object) -> None:
    deadline = time.monotonic() + 5
    while not condition() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.01)
    assert condition()  # type: ignore[operator]


def test_only_what_needs_root_is_started_by_sudo_and_never_with_a_question() -> None:
    power, log = build_companion_commands(("power", "log"), 10, is_root=False)
    assert power[:3] == ["sudo", "-n", "powermetrics"]
    assert power[power.index("-n", 3) + 1] == str((10 + 900) * 5), "so many samples of 200 ms, then it ends"
    assert log[:4] == ["log", "stream", "--style", "ndjson"]
    assert log[log.index("--timeout") + 1] == "16m"
    assert build_companion_commands(("power",), 10, is_root=True)[0][0] == "powermetrics"


def test_a_list_of_tools() -> None:
    assert parse_companions("power, log,power") == ("power", "log")
    with pytest.raises(UsageError, match="--with: 'gpu' is none of power, log"):
        parse_companions("power,gpu")


def test_sudo_that_would_ask_for_a_password_is_an_error_before_recording(tools: Path) -> None:
    tool(tools, "powermetrics", "#!/bin/sh\n")
    tool(tools, "sudo", "#!/bin/sh\necho a password is required >&2; exit 1\n")
    with pytest.raises(
        UsageError, match=r"needs root, and tracekit asks for no password\. Run sudo -v first"
    ):
        check_companions(("power",), [Path("x.trace")], replace=False, is_root=False)
    tool(tools, "sudo", '#!/bin/sh\n[ "$*" = "-n -l powermetrics" ]\n')
    check_companions(("power",), [Path("x.trace")], replace=False, is_root=False)


def test_a_missing_tool_and_a_file_in_the_way_are_named(tools: Path) -> None:
    with pytest.raises(UsageError, match="powermetrics was not found; it is a part of macOS"):
        check_companions(("power",), [Path("x.trace")], replace=False, is_root=True)
    tool(tools, "powermetrics", "#!/bin/sh\n")
    Path("x.power.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"x\.power\.txt exists and will not be overwritten without --force"):
        check_companions(("power",), [Path("x.trace")], replace=False, is_root=True)
    check_companions(("power",), [Path("x.trace")], replace=True, is_root=True)


def test_a_tool_that_takes_no_signal_ends_with_its_pipe(tools: Path, tmp_path: Path) -> None:
    tool(tools, "powermetrics", WRITER)
    with Companions(("power",), tmp_path / "x.trace", 1, is_root=True) as running:
        waits_for(lambda: Path("pid").exists() and Path("pid").read_text().strip())
        pid = int(Path("pid").read_text())
        kept, problems = running.keep(tmp_path / "x.trace")
    assert ([path.name for path in kept], problems) == (["x.power.txt"], [])
    assert set((tmp_path / "x.power.txt").read_text().split()) == {"line"}
    waits_for(lambda: not is_running(pid))
    assert files(tmp_path) == ["x.power.txt"]


def test_a_killed_tracekit_leaves_no_tool_behind_and_a_file_that_is_named(
    tools: Path, tmp_path: Path
) -> None:
    tool(tools, "powermetrics", WRITER.replace("echo line", "head -c 20000 /dev/zero"))
    program = (
        "import time; from pathlib import Path; from tracekit.record.companions import Companions\n"
        "with Companions(('power',), Path('x.trace'), 1, is_root=True): time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        waits_for(lambda: any(path.stat().st_size for path in tmp_path.glob(".tracekit-power.x.*")))
        assert describe_abandoned_files(tmp_path) == []  # it is being written
        child.kill()
    pid = int(Path("pid").read_text())
    waits_for(lambda: not is_running(pid))
    (left,) = tmp_path.glob(".tracekit-*")
    ((sentence, rename, join),) = describe_abandoned_files(tmp_path, tmp_path / "x.trace")
    assert f"{left} is what powermetrics wrote beside x.trace, until tracekit was killed (" in sentence
    assert rename == f"  mv -n {left} {tmp_path / 'x.power.txt'}"
    assert join == f"  tracekit analyze {tmp_path / 'x.trace'} --with {tmp_path / 'x.power.txt'}"
    assert describe_abandoned_files(tmp_path, tmp_path / "y.trace") == []
    assert left.exists()


def test_only_files_of_a_killed_tracekit_are_named(tmp_path: Path) -> None:
    for name in (
        ".tracekit-log.abcdefgh",
        ".tracekit-log.x.abcdefgh",
        ".tracekit-gpu.x.abcdefgh",
        ".tracekit-log.x",
    ):
        (tmp_path / name).write_text("x" if name != ".tracekit-log.x.abcdefgh" else "")
    (tmp_path / ".tracekit-log.dir.abcdefgh").mkdir()
    (tmp_path / ".tracekit-log.link.abcdefgh").symlink_to(tmp_path / ".tracekit-log.abcdefgh")
    os.mkfifo(tmp_path / ".tracekit-log.pipe.abcdefgh")
    earlier, empty = describe_abandoned_files(tmp_path)
    assert earlier == (
        f"note: {tmp_path}/.tracekit-log.abcdefgh is what log wrote for a tracekit that was killed (1 bytes)."
        " Delete it, or keep it:",
        f"  mv -n {tmp_path}/.tracekit-log.abcdefgh {tmp_path}/recording.log.ndjson",
    )
    assert empty == (
        f"note: {tmp_path}/.tracekit-log.x.abcdefgh is what log wrote beside x.trace, until tracekit was killed:"
        " nothing. Delete it.",
    )
    assert describe_abandoned_files(tmp_path / "none") == []


def test_a_tool_that_fails_is_named_with_its_last_words(tools: Path, tmp_path: Path) -> None:
    tool(tools, "log", "#!/bin/sh\necho 'log: you must be an admin' >&2; exit 64\n")
    with Companions(("log",), tmp_path / "x.trace", 1, is_root=True) as running:
        waits_for(lambda: running._running[0]._process.poll() is not None)
        kept, problems = running.keep(tmp_path / "x.trace")
    assert (kept, files(tmp_path)) == ([], [])
    assert problems == ["--with log: it ended by itself with code 64: log: you must be an admin."]


def test_what_a_tool_writes_is_bounded(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companions, "_MAX_OUTPUT_BYTES", 1000)
    tool(tools, "log", "#!/bin/sh\nexec yes\n")
    with Companions(("log",), tmp_path / "x.trace", 1, is_root=True) as running:
        waits_for(lambda: running._running[0]._process.poll() is not None)
        kept, problems = running.keep(tmp_path / "x.trace")
    assert "it was cut off at" in problems[0]
    assert all(path.stat().st_size <= 1000 for path in kept)


def test_tools_of_a_recording_that_was_not_made_leave_nothing(tools: Path, tmp_path: Path) -> None:
    tool(tools, "log", "#!/bin/sh\nexec yes\n")
    with pytest.raises(KeyboardInterrupt), Companions(("log",), tmp_path / "x.trace", 1, is_root=True):
        raise KeyboardInterrupt
    assert files(tmp_path) == []
