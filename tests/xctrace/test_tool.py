"""Finding xctrace, and asking short questions: small scripts play Xcode's tools."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tracekit.errors import UsageError, XctraceError
from tracekit.xctrace.tool import CommandResult, explain_failure, find_xctrace, require_xctrace, run_command

# Quoted by public projects (cmyr/cargo-instruments#86 among them).
NO_UTILITY = 'xcrun: error: unable to find utility "xctrace", not a developer tool or in PATH'
NEEDS_XCODE = (
    "xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory"
    " '/Library/Developer/CommandLineTools' is a command line tools instance"
)
LICENCE = (
    "You have not agreed to the Xcode license agreements. Please run 'sudo xcodebuild -license' from within a"
    " Terminal window to review and agree to the Xcode and Apple SDKs license."
)
NO_DIRECTORY = (
    "xcode-select: error: unable to get active developer directory, use"
    " `sudo xcode-select --switch path/to/Xcode.app` to set one (or see `man xcode-select`)"
)


def script(folder: Path, name: str, *lines: str) -> Path:
    """Write a program of the shell."""
    program = folder / name
    program.write_text("\n".join(("#!/bin/sh", *lines)) + "\n", "utf-8")
    program.chmod(0o755)
    return program


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with an Xcode's xctrace beside it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("DEVELOPER_DIR", raising=False)
    script(tmp_path, "xctrace", "exit 0")
    return folder


# Asking ---------------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_an_answer_has_both_streams_and_the_code() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(54)"
    answer = run_command([sys.executable, "-c", code])
    assert (answer.code, answer.output.split(), answer.error.split()) == (54, ["out"], ["err"])
    assert not answer.ok


@pytest.mark.integration
def test_a_command_that_does_not_end_is_stopped_in_time() -> None:
    began = time.monotonic()
    answer = run_command([sys.executable, "-c", "import time; time.sleep(60)"], 0.3)
    assert answer.code is None
    assert answer.last_lines == f"{sys.executable} did not answer within 0.3 s"
    assert time.monotonic() - began < 10


@pytest.mark.integration
def test_what_a_stopped_command_had_started_ends_with_it(tmp_path: Path) -> None:
    """swiftc, for one, works in processes of its own."""
    parent = script(tmp_path, "parent", 'sleep 60 & echo $! > "$0.child"', "sleep 60")
    assert run_command([str(parent)], 0.5).code is None
    child = Path(f"{parent}.child").read_text().strip()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)  # a killed process is a zombie until its new parent has noticed
        if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.integration
def test_a_question_never_waits_for_input() -> None:
    answer = run_command([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"], 10)
    assert answer.output.strip() == "''"


@pytest.mark.integration
def test_bytes_that_are_no_text_are_no_error() -> None:
    answer = run_command([sys.executable, "-c", r"import sys; sys.stdout.buffer.write(b'a\xff\xfeb')"])
    assert (answer.ok, answer.output) == (True, "a\ufffd\ufffdb")


@pytest.mark.integration
@pytest.mark.parametrize("command", [["/no/such/program"], ["/"], ["a\0b"]])
def test_a_command_that_cannot_be_started_is_an_answer_without_code(command: list[str]) -> None:
    answer = run_command(command)
    assert answer.code is None
    assert "could not be started" in answer.error


@pytest.mark.parametrize(
    ("answer", "last_lines"),
    [
        (CommandResult(1, "", "one\n\ntwo\n  three.\n"), "two three"),
        (CommandResult(1, "said on stdout\n"), "said on stdout"),
        (CommandResult(7), "exit code 7"),
    ],
)
def test_the_last_lines_are_those_of_the_messages(answer: CommandResult, last_lines: str) -> None:
    assert answer.last_lines == last_lines


# Finding --------------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_the_selected_xcodes_xctrace_is_found(mac: Path, tmp_path: Path) -> None:
    script(mac, "xcode-select", "echo /Applications/Xcode.app/Contents/Developer")
    script(mac, "xcrun", f'[ "$*" = "--find xctrace" ] && echo "{tmp_path}/xctrace"')
    tool = find_xctrace()
    assert tool is not None
    assert tool.path == str(tmp_path / "xctrace")


@pytest.mark.integration
def test_xcrun_does_not_run_where_no_developer_folder_is_selected(mac: Path, tmp_path: Path) -> None:
    """It would open macOS's dialog that offers to install the Command Line Tools."""
    script(mac, "xcode-select", f"echo '{NO_DIRECTORY.replace('`', '')}' >&2", "exit 2")
    script(mac, "xcrun", f": > {tmp_path}/xcrun-ran")
    assert find_xctrace() is None
    with pytest.raises(XctraceError, match=r"Install Xcode and select it"):
        require_xctrace()
    assert not (tmp_path / "xcrun-ran").exists()


@pytest.mark.integration
def test_developer_dir_selects_where_nothing_else_is_selected(
    mac: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(mac, "xcode-select", "exit 2")
    script(mac, "xcrun", '[ "$DEVELOPER_DIR" = /Beta.app ] && ' + f'echo "{tmp_path}/xctrace"')
    monkeypatch.setenv("DEVELOPER_DIR", "/Beta.app")
    tool = find_xctrace()
    assert tool is not None
    assert tool.path == str(tmp_path / "xctrace")


@pytest.mark.integration
def test_a_path_from_xcrun_must_exist(mac: Path) -> None:
    script(mac, "xcrun", "echo /no/such/xctrace")
    assert find_xctrace() is None


def test_an_xctrace_in_the_path_is_taken_where_there_is_no_xcrun(mac: Path) -> None:
    program = script(mac, "xctrace", "exit 0")
    tool = find_xctrace()
    assert tool is not None
    assert tool.path == str(program)


def test_a_named_xctrace_is_used_whatever_is_selected(
    mac: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(mac, "xcrun", "exit 72")
    monkeypatch.chdir(tmp_path)
    assert require_xctrace("xctrace").path == str(tmp_path / "xctrace")


def test_a_named_xctrace_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-xctrace: there is no such file"):
        require_xctrace(str(tmp_path / "no-xctrace"))


def test_a_named_file_that_cannot_be_run_is_no_xctrace(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(XctraceError, match=r"text is not an executable program\. Name the xctrace"):
        require_xctrace(str(tmp_path / "text"))


def test_a_named_folder_is_no_xctrace(tmp_path: Path) -> None:
    """Folders have the mode of execution, too: `--xctrace /Applications/Xcode.app`."""
    (tmp_path / "Xcode.app").mkdir()
    with pytest.raises(XctraceError, match=r"Xcode\.app is not an executable program"):
        require_xctrace(str(tmp_path / "Xcode.app"))


def test_without_any_tool_of_xcode_the_error_advises_to_install_it(mac: Path) -> None:
    with pytest.raises(XctraceError, match=r"xctrace was not found: it comes with Xcode, on a Mac"):
        require_xctrace()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("message", "code", "expected"),
    [
        (NO_UTILITY, 72, "Only the Command Line Tools are selected"),
        (NEEDS_XCODE, 1, "Only the Command Line Tools are selected"),
        (LICENCE, 69, "sudo xcodebuild -license"),
        ("xcrun: error: something new", 1, "xctrace does not work: xcrun: error: something new. Select"),
    ],
)
def test_what_xcrun_refuses_is_explained(mac: Path, message: str, code: int, expected: str) -> None:
    script(mac, "xcrun", f"cat <<'END' >&2\n{message}\nEND", f"exit {code}")
    (mac / "cat").symlink_to("/bin/cat")
    with pytest.raises(XctraceError) as caught:
        require_xctrace()
    assert expected in str(caught.value)


def test_an_xctrace_that_does_not_answer_points_to_the_doctor() -> None:
    assert explain_failure(CommandResult(None, error="/x/xctrace did not answer within 60 s")) == (
        "xctrace does not work: /x/xctrace did not answer within 60 s. Run tracekit doctor to check the installation."
    )
