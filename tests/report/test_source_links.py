"""The line of a call in which its thread was sampled most, and the commands that open it on a Mac."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import tracekit
from tracekit.cli import main
from tracekit.report.document.blocks import Command
from tracekit.report.source_links import SourceLine, find_source_line, list_mac_commands
from tracekit.samples import SAMPLE_RECORDINGS

LINE = SourceLine("/Users/me/My App/Sources/Encoder.swift", 214, "Encoder.prediction(input:)", 5, 6)
FALLBACK = Path(__file__).resolve().parents[2] / "sample_traces" / "fallback-midway-ios27"


def analysis_of(path: Path) -> tracekit.Analysis:
    return tracekit.analyze(tracekit.open_trace(path))


def test_the_innermost_known_line_with_most_samples() -> None:
    left, _ = (sample.path for sample in SAMPLE_RECORDINGS)
    line = find_source_line(analysis_of(left), 7)
    assert line == SourceLine(
        "/Users/sample/SampleApp/Sources/SpeechEncoder.swift", 214, "SpeechEncoder.prediction(input:)", 5, 5
    )
    assert line.describe() == (
        "SpeechEncoder.swift, line 214, in SpeechEncoder.prediction(input:): 5 of 5 samples of the calling thread"
        " (the innermost line that is known)"
    )


@pytest.mark.parametrize(("path", "is_known"), [("/src/a.swift", True), ("-x", False), ("a.swift", False)])
def test_a_path_that_is_no_absolute_one_is_left_out(path: str, is_known: bool, tmp_path: Path) -> None:
    """It could be taken for an option, and leads nowhere."""
    for file in FALLBACK.glob("*.xml"):
        text = re.sub(r"<path([^>]*)>/Users/sample/[^<]*</path>", rf"<path\1>{path}</path>", file.read_text())
        (tmp_path / file.name).write_text(text)
    line = find_source_line(analysis_of(tmp_path), 7)
    assert (line is not None and line.path == path) is is_known


def test_the_commands_of_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert list_mac_commands(LINE, "My.trace") == (
        Command("xed --line 214 '/Users/me/My App/Sources/Encoder.swift'"),
        Command("open -a Instruments My.trace"),
    )
    assert list_mac_commands(None, "a.tracekit.zip") == ()
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert list_mac_commands(LINE, "My.trace") == ()


def test_show_prints_the_line_and_on_a_mac_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["show", "call:SpeechEncoder/8", str(SAMPLE_RECORDINGS[0].path)]
    assert "xed" not in CliRunner().invoke(main, arguments).stdout
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    printed = CliRunner().invoke(main, arguments).stdout
    assert "SpeechEncoder.swift, line 214" in printed
    assert "xed --line 214 /Users/sample/SampleApp/Sources/SpeechEncoder.swift" in printed
