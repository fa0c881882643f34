"""The recordings that come with the package, and the command that shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import tracekit
import tracekit_dashboard.command
from tracekit.cli import main
from tracekit.report.analysis.json import to_json
from tracekit.samples import SAMPLE_RECORDINGS, SampleRecording

ROOT = Path(__file__).resolve().parents[2]


def analysis_of(path: Path) -> tracekit.Analysis:
    return tracekit.analyze(tracekit.open_trace(path))


@pytest.mark.parametrize("sample", SAMPLE_RECORDINGS, ids=lambda sample: sample.path.stem)
def test_a_sample_is_its_source_packed(sample: SampleRecording) -> None:
    """``make samples`` packs it again when the recording or the format has changed."""
    packed, source = (
        json.loads(to_json(analysis_of(path)))
        for path in (sample.path, ROOT / "sample_traces" / sample.source)
    )
    for part in ("windows", "engines"):
        assert packed[part] == source[part]


def test_the_descriptions_of_the_samples_are_true() -> None:
    left, slow = (analysis_of(sample.path) for sample in SAMPLE_RECORDINGS)
    assert list(left.windows.verdict) == ["ANE"] * 6 + ["CPU"] * 6
    assert "BNNSGraphContextExecute_v2" in left.to_text()
    assert "2 of 11 Neural Engine intervals" in left.to_text()
    assert set(slow.windows.verdict) == {"ANE"}
    text = " ".join(slow.to_text().split())
    kinds = re.findall(r"\((\w+(?:-\w+)+)\) Costs", text)
    assert kinds == [
        "work-beside-calls", "gaps-in-calls", "load-per-call", "main-thread-blocked", "engine-contention"
    ]  # fmt: skip
    for words in (
        "Calls of Tagger idle for 12.0 ms of 30.9 ms (median)",
        "Tagger is loaded again before each of the 5 calls after its first",
        "The main thread is blocked by calls of Classifier",
        "fits no model of this app, during 3 of 10 calls of Segmenter",
    ):
        assert words in text


def test_without_a_browser_both_analyses_are_printed() -> None:
    result = CliRunner().invoke(main, ["demo", "--no-browser"])
    assert result.exit_code == 0
    assert result.stdout.startswith("Two recordings come with tracekit. They are made up")
    for sample in SAMPLE_RECORDINGS:
        assert result.stdout.count(f"======== {sample.path.name}") == 1
        assert f"tracekit report {sample.path} -o {sample.path.stem}.html" in result.stdout


def test_without_the_packages_of_the_dashboard_they_are_printed_with_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracekit_dashboard.command, "PACKAGES", ("dash", "no_such_package"))
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0
    assert "note: The dashboard needs packages that are not installed: no_such_package." in result.stderr
    assert "coreml-tracekit" in result.stderr or "[dashboard]" in result.stderr
    assert "======== ThreeModels.tkpack" in result.stdout


def test_the_dashboard_opens_with_both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("tracekit_dashboard.settings.find_default_folder", lambda: tmp_path)
    monkeypatch.setattr("webbrowser.open", opened.append)

    def serve(listener: object, settings: object, library: object, ready: object) -> None:
        opened.extend(recording.name for recording in library.list_recordings())  # type: ignore[attr-defined]
        listener.close()  # type: ignore[attr-defined]

    monkeypatch.setattr("tracekit_dashboard.server.serve", serve)
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0, result.stderr
    assert sorted(opened) == ["SpeechEncoder.tkpack", "ThreeModels.tkpack"]
    assert "========" not in result.stdout
