"""``tracekit watch`` as a user runs it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from log_streams import FAILED, PREAMBLE, SERVED, call, entry

from tracekit.cli import main
from tracekit.parsers.text.log_objects import MAX_LINE_BYTES
from tracekit.record.companions import build_watch_command

CALLS = [
    line for i in range(5) for line in call(i * 20_000, i * 20_000 + 5_000, (i * 20_000 + 4_000, SERVED))
]
FALLEN = [line for i in range(5, 7) for line in call(i * 20_000, i * 20_000 + 5_000)]
UNREADABLE = (
    "standard input: has no line of JSON that is an entry of a log. Stream or export the log as lines:"
)
TRACEKIT = [sys.executable, "-m", "tracekit", "watch"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved.ndjson"
    path.write_bytes(PREAMBLE + b"".join(CALLS + FALLEN))
    return path


def watch(*arguments: object, text: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["watch", *map(str, arguments)], input=text)


def test_a_saved_stream_is_a_line_per_call(saved: Path) -> None:
    result = watch(saved, "--window-signpost", "encode")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "10:00:00.005  App (812)  encode 1  5.00 ms  ANE  1 request in the log"
    assert lines[5] == "10:00:00.105  App (812)  encode 6  5.00 ms  ?    no request in the log"
    assert lines[6] == (
        "10:00:00.105  ! fell-back: encode 6 of App (812) has no request to the Neural Engine in the log;"
        " the 5 calls before it had."
    )
    assert len(lines) == 8
    assert result.stderr == (
        "encode of App (812): 7 calls, median 5.00 ms; Neural Engine in 5 (requests in the log), not visible in 2.\n"
    )


def test_until_stops_at_the_first_and_exits_with_1(saved: Path) -> None:
    result = watch(saved, "--window-signpost", "encode", "--until", "fell-back")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith("10:00:00.105  ! fell-back: encode 6 ")
    assert "6 calls" in result.stderr


def test_a_stream_that_could_not_show_it_exits_with_5(tmp_path: Path) -> None:
    path = tmp_path / "few.ndjson"
    path.write_bytes(b"".join(FALLEN))
    result = watch(path, "--window-signpost", "encode", "--until", "fell-back", "--until", "requests-failed")
    assert result.exit_code == 5
    assert "Nothing in this stream could have shown fell-back or requests-failed." in result.stderr
    path.write_bytes(b"".join(CALLS))
    assert watch(path, "--window-signpost", "encode", "--until", "fell-back").exit_code == 0


def test_a_stream_without_chosen_calls_names_its_signposts(saved: Path) -> None:
    result = watch(saved)
    assert (result.exit_code, result.stdout) == (0, "")
    assert (
        "The stream has com.example.app/inference/encode (7). Name it with --window-signpost."
        in result.stderr
    )
    assert "5 requests to the Neural Engine in the log." in result.stderr


def test_a_choice_without_a_call_is_named_with_what_the_stream_has(saved: Path) -> None:
    result = watch(saved, "--window-signpost", "decode")
    assert result.stderr.startswith(
        "No call of decode ended. The stream has com.example.app/inference/encode (7)."
    )
    result = watch(saved, "--process", "Other")
    assert result.stderr == (
        "No call: the process Other has no intervals of signposts in this stream; others have 14 signposts.\n"
    )


def test_the_kept_lines_are_read_by_analyze(saved: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.ndjson"
    assert watch(saved, "--window-signpost", "encode", "--keep", kept).exit_code == 0
    result = CliRunner().invoke(main, ["analyze", str(kept), "--window-signpost", "encode"])
    assert result.stdout.startswith("encode ran on the Neural Engine in 5 of 7 calls (by the log)")
    assert watch(saved, "--keep", kept).exit_code == 2  # exists
    assert watch(saved, "--keep", kept, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "text", "code", "message"),
    [
        (["missing.ndjson"], None, 3, "missing.ndjson: cannot be read: No such file or directory."),
        (["."], None, 3, "is a folder"),
        (["-", "--window-signpost", "a//b"], b"", 2, "'a//b' is not a valid signpost pattern."),
        (["x", "--command", "y"], None, 2, "--command stands in the place of FILE"),
        (["--command", "'"], None, 2, "No closing quotation"),
        (["--command", "/no/such/program"], None, 2, "/no/such/program cannot be started"),
        (["-"], b'[{"eventMessage": "x"},{}]\n', 3, UNREADABLE),
        (["-"], b"\0" * (MAX_LINE_BYTES + 1), 3, UNREADABLE),
        (["-"], random.Random(5).randbytes(100_000), 3, UNREADABLE),
        (["-", "--until", "fell-back"], b'{"a": 1}\n{"count":0,"finished":1}\n', 3, UNREADABLE),
        (["-"], b"", 3, "standard input: is empty. Stream or export the log as lines"),
        (["--command", "echo no device"], None, 3, "The stream has: no device Error: echo no device: has no"),
        (["-", "--until", "lunch"], b"", 2, "'lunch' is not one of"),
    ],
)
@pytest.mark.integration
def test_what_cannot_be_watched_is_refused(
    arguments: list[str], text: bytes | None, code: int, message: str
) -> None:
    result = subprocess.run(
        [*TRACEKIT, *arguments], input=text or b"", capture_output=True, timeout=60, check=False
    )
    assert result.returncode == code
    assert message in " ".join(result.stderr.decode().split())
    assert b"Traceback" not in result.stderr


def test_lines_that_cannot_be_read_end_no_stream_that_has_others(saved: Path) -> None:
    saved.write_bytes(random.Random(5).randbytes(100_000) + b"\n" + saved.read_bytes())
    result = watch(saved, "--window-signpost", "encode")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 8)
    assert "lines of other text" in result.stderr


def test_a_log_without_an_entry_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "saved.ndjson"
    path.write_bytes(PREAMBLE)
    result = watch(path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("No call: the stream has no intervals of signposts.")


@pytest.mark.integration
def test_a_program_that_fails_is_named_behind_what_it_showed(saved: Path) -> None:
    script = f"cat {saved}; echo 'log: no store' >&2; exit 64"
    result = watch("--command", f'sh -c "{script}"', "--window-signpost", "encode")
    assert result.exit_code == 3
    assert len(result.stdout.splitlines()) == 8
    assert "Error: sh: ended with exit code 64: log: no store." in result.stderr


@pytest.mark.integration
def test_other_text_of_a_stream_drives_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "bad.ndjson"
    path.write_bytes(b"\x1b]0;owned\x07::error::x\n" + b"".join(call(0, 5_000, processImagePath="/\x1b[2J")))
    result = watch(path, "--window-signpost", "encode")
    assert "\x1b" not in result.stdout + result.stderr
    assert "The stream has: \\x1b]0;owned\\x07::error::x" in result.stderr


@pytest.mark.integration
def test_a_file_that_grows_is_followed_and_may_begin_again(tmp_path: Path) -> None:
    path = tmp_path / "growing.ndjson"
    path.write_bytes(b"".join(CALLS[:7])[:-20])
    command = [*TRACEKIT, str(path), "--follow", "--window-signpost", "encode", "--until", "fell-back"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline().endswith(b"ANE  1 request in the log\n")
        with path.open("ab") as file:
            file.write(b"".join(CALLS[:7])[-20:] + b"".join(CALLS[7:]))
        for _ in range(4):
            child.stdout.readline()
        replacement = tmp_path / "next.ndjson"
        replacement.write_bytes(b"".join(FALLEN))
        replacement.replace(path)
        output, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 1
    assert b"fell-back: encode 6 " in output
    assert b"growing.ndjson began again." in errors


@pytest.mark.integration
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another signal there")
def test_ctrl_c_ends_the_watch_and_its_program(saved: Path) -> None:
    program = f'sh -c "cat {saved}; exec sleep 600"'
    child = subprocess.Popen(
        [*TRACEKIT, "--command", program, "--window-signpost", "encode", "--until", "requests-failed"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    for _ in range(7):
        child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 0
    assert b"encode of App (812): 7 calls" in errors


@pytest.mark.integration
def test_a_reader_that_stops_reading_holds_up_nothing(tmp_path: Path) -> None:
    """The pipe of the output is full after some hundred lines; the fall back ends the watch all the same."""
    count = 12_000
    lines = [
        line for i in range(count) for line in call(i * 8_000, i * 8_000 + 5_000, (i * 8_000 + 4_000, SERVED))
    ]
    lines += call(count * 8_000, count * 8_000 + 5_000)
    lines.append(entry(count * 8_000 + 60_000, SERVED))
    kept = tmp_path / "kept.ndjson"
    child = subprocess.Popen(
        [*TRACEKIT, "-", "--window-signpost", "encode", "--until", "fell-back", "--keep", str(kept)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    child.stdin.write(b"".join(lines))  # returns because the watch takes them all
    child.stdin.close()
    child.stdin = None
    output, errors = child.communicate(timeout=60)
    assert child.returncode == 1
    assert f"fell-back: encode {count + 1:,} ".encode() in output
    assert b" calls not printed: the output was read too slowly." in errors


@pytest.mark.integration
def test_a_reader_that_went_away_holds_up_nothing() -> None:
    """Behind a closed pipe more calls and findings come than wait to be printed."""
    lines = [
        line
        for i in range(5_000)
        for line in call(i * 20_000, i * 20_000 + 5_000, (i * 20_000 + 4_000, SERVED if i % 4 else FAILED))
    ]
    child = subprocess.Popen(
        [*TRACEKIT, "-", "--window-signpost", "encode"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    _, errors = child.communicate(b"".join(lines), timeout=60)
    assert b"encode of App (812): 5,000 calls" in errors
    assert b"Traceback" not in errors


def test_the_command_for_a_mac_quotes_the_process() -> None:
    command = build_watch_command('My "App"\\')
    assert command[:5] == ["log", "stream", "--style", "ndjson", "--signpost"]
    assert command[-1].endswith('OR (eventType == signpostEvent AND process == "My \\"App\\"\\\\")')
