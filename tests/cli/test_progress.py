"""Progress shows on a terminal's stderr while a long input is read, and nowhere else."""

from __future__ import annotations

import io

import pytest

from tracekit.cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: list[float]) -> str:
    """Return the text that is written while 0, 25, 50 … % are reported at those moments."""
    clock = iter([0.0, *seconds])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr("sys.stderr", stream)
    with output.Progress("Reading") as progress:
        for step in range(len(seconds)):
            progress(25 * step, 100)
    return stream.getvalue()


def test_a_long_input_shows_its_share_and_clears_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), [0.1, 1.5, 1.6, 3.0])
    assert text == "\r\x1b[KReading: 25 % \r\x1b[KReading: 75 % \r\x1b[K"


def test_a_short_input_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), [0.1, 0.2, 0.9]) == ""


def test_a_log_file_gets_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), [2.0, 4.0]) == ""


def test_a_pipe_has_no_end_and_shows_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    clock = iter([0.0, 2.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr("sys.stderr", stream)
    with output.Progress("Reading") as progress:
        progress(34_000_000, None)
    assert stream.getvalue().startswith("\r\x1b[KReading: 34 MB ")
