"""The table of ``tracekit watch`` on a terminal."""

from __future__ import annotations

import os
import sys
from io import StringIO
from pathlib import Path

import pytest
from log_streams import SERVED, call, entry
from rich.console import Console

from tracekit.cli.watch_table import draw_summary
from tracekit.live.stream_watch import StreamWatch
from tracekit.live.watch_summary import summarize_watch

CALLS = [
    line for i in range(5) for line in call(i * 20_000, i * 20_000 + 5_000, (i * 20_000 + 4_000, SERVED))
]
FALLEN = call(100_000, 105_000)


def draw(lines: list[bytes], width: int = 100) -> list[str]:
    watch = StreamWatch(["encode"])
    list(watch.feed(b"".join(lines)))
    list(watch.finish())
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(draw_summary(summarize_watch(watch), width))
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_table_has_a_row_and_a_strip_per_group() -> None:
    lines = draw(CALLS + FALLEN)
    assert lines[0] == "10:00:00.105   6 calls   0.0 calls/s   5 requests to the Neural Engine"
    assert lines[2].split()[:3] == ["encode", "App", "(812)"]
    strip = next(line for line in lines if line.startswith("encode      "))
    assert strip.endswith("█████·")
    text = " ".join(lines)
    assert "fell-back: encode 6 of App (812) has no request to the Neural Engine" in text


def test_the_strips_of_one_name_in_two_processes_have_their_numbers() -> None:
    other = call(0, 5_000, processID=900, processImagePath="/usr/bin/other", number=9)
    names = [line[:20].rstrip() for line in draw(CALLS + other) if line.endswith(("█", "·"))]
    assert names == ["encode (812)", "encode (900)"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    hostile = call(0, 5_000, processImagePath="/\x1b[2J" + "漢" * 100)
    lines = draw(CALLS + hostile, width)
    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)


def test_a_stream_without_calls_names_what_it_lacks() -> None:
    assert "No line of the log has come." in " ".join(draw([]))
    assert "No call: the stream has no intervals of signposts." in " ".join(draw([entry(0, SERVED)]))


@pytest.mark.integration
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals there")
def test_a_terminal_gets_the_table_one_bell_and_its_cursor_back(tmp_path: Path) -> None:
    import pty

    path = tmp_path / "saved.ndjson"
    path.write_bytes(b"".join(CALLS + FALLEN))
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "24"}
        command = ["watch", str(path), "--window-signpost", "encode", "--until", "fell-back"]
        os.execv(sys.executable, [sys.executable, "-m", "tracekit", *command])
    output = b""
    try:
        while block := os.read(terminal, 1 << 16):
            output += block
    except OSError:  # how Linux ends a pseudo-terminal
        pass
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert output.count(b"\a") == 1
    assert b"fell-back: encode 6" in output
    assert output.rindex(b"\x1b[?25h") > output.rindex(b"\x1b[?25l")
