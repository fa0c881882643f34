"""Progress shows on a terminal's stderr while a long input is read, and nowhere else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from documents_support import one_table

from tracekit.cli import output
from tracekit.detect import open_source
from tracekit.parsers.progress import format_remaining


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


def test_what_remains_is_estimated_from_the_rate_so_far() -> None:
    assert format_remaining(1, 100, 60.0) == "" and format_remaining(50, 100, 2.9) == ""  # too early to know
    assert format_remaining(50, None, 60.0) == "" and format_remaining(0, 0, 60.0) == ""
    assert format_remaining(25, 100, 4.0) == "about 15 s left"
    assert format_remaining(10, 100, 60.0) == "about 9 min left"
    assert (
        format_remaining(90, 100, 9.0)
        == format_remaining(100, 100, 9.0)
        == format_remaining(101, 100, 9.0)
        == ""
    )


def test_an_estimate_is_shown_and_begins_anew_with_the_next_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Terminal()
    clock = iter([0.0, 4.0, 5.0, 10.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr("sys.stderr", stream)
    with output.Progress("Reading") as progress:
        for done in (25, 10, 50):
            progress(done, 100)
    lines = [line.strip() for line in stream.getvalue().split("\r\x1b[K") if line]
    assert lines == ["Reading: 25 %, about 15 s left", "Reading: 10 %", "Reading: 50 %, about 5 s left"]


def test_several_files_have_one_progress(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.xml").write_text(
            one_table(name, [("time", "event-time")], "<event-time>1</event-time>")
        )
    reports: list[tuple[int, int | None]] = []
    source = open_source(tmp_path, lambda done, total: reports.append((done, total)))
    for name in ("a", "b"):
        list(source.tables(name))
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert reports[-1] == (size, size) and {total for _, total in reports} == {size}


def test_a_pipe_has_no_end_and_shows_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    clock = iter([0.0, 2.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr("sys.stderr", stream)
    with output.Progress("Reading") as progress:
        progress(34_000_000, None)
    assert stream.getvalue().startswith("\r\x1b[KReading: 34 MB ")
