"""``tracekit analyze``: windows from tables, chosen as a user chooses them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from documents_support import document, node, one_table, schema, write

from tracekit.analysis.windows.choose import WINDOW_SOURCES
from tracekit.cli import main
from tracekit.cli.analyze import analyze_command

pytestmark = pytest.mark.integration  # analyses recordings

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
PARTITIONED = SAMPLES / "ane-intervals-macos26"
FALLBACK = SAMPLES / "fallback-midway-ios27"
LANGUAGE = SAMPLES / "foundation-models-macos27"
TOGETHER = SAMPLES / "concurrent-models-ios27"
ANE_COLUMNS = (
    ("start", "start-time"),
    ("duration", "duration"),
    ("event-label", "formatted-label"),
    ("state", "gpu-state"),
)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["analyze", *map(str, arguments)])


def words(*arguments: str | Path) -> str:
    """The text on one line."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def windows(*arguments: str | Path) -> list[dict[str, Any]]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    listed: list[dict[str, Any]] = json.loads(result.stdout)["windows"]
    return listed


def without_budgets(*arguments: str | Path) -> list[dict[str, Any]]:
    """Return the windows without what the samples of other threads add to: whether a pause is idle."""
    left_out = {"budget", "typical_id", "difference_ns", "difference"}
    return [{key: value for key, value in row.items() if key not in left_out} for row in windows(*arguments)]


@pytest.mark.parametrize(
    ("recording", "source", "count"),
    [
        (FALLBACK, "coreml", 12),
        (FALLBACK, "ane", 6),
        (FALLBACK, "stacks", 12),
        (FALLBACK, "run", 1),
        (PARTITIONED, "ane", 12),
        (LANGUAGE, "foundation-models", 3),
        (TOGETHER, "coreml", 14),
    ],
)
def test_each_source_of_windows(recording: Path, source: str, count: int) -> None:
    chosen = windows(recording, "--windows", source)
    names = {
        "coreml": {"coreml-os-signpost"},
        "ane": {"ane-hw-intervals", "ane-hw-intervals-internal"},
        "foundation-models": {"ModelInferenceTable"},
    }
    assert len(chosen) == count
    assert {window["source"] for window in chosen} <= names.get(source, {source})


@pytest.mark.parametrize(
    ("options", "recording", "truth_key"),
    [
        (("--windows", "coreml"), FALLBACK, "inferences"),
        (("--windows", "coreml"), TOGETHER, "inferences"),
        (("--windows", "stacks"), TOGETHER, "stack_windows"),
        (("--window-signpost", "encode"), PARTITIONED, "inferences"),
    ],
)
def test_edges_are_those_of_the_inferences(options: tuple[str, ...], recording: Path, truth_key: str) -> None:
    truth = json.loads((recording / "truth.json").read_text())[truth_key]
    edges = [(window["start_ns"], window["end_ns"]) for window in windows(recording, *options)]
    assert edges == sorted((window["start_ns"], window["end_ns"]) for window in truth)


def test_the_command_offers_every_source() -> None:
    (option,) = [window for window in analyze_command.params if window.name == "windows"]
    assert tuple(option.type.choices) == WINDOW_SOURCES  # type: ignore[attr-defined]


def test_the_best_source_is_taken_by_itself() -> None:
    assert {window["source"] for window in windows(FALLBACK)} == {"coreml-os-signpost"}
    assert {window["source"] for window in windows(PARTITIONED)} == {"signpost"}
    assert {window["source"] for window in windows(LANGUAGE)} == {"ModelInferenceTable"}


@pytest.mark.parametrize("source", ["coreml", "foundation-models"])
def test_a_source_that_is_not_there(source: str) -> None:
    result = run(PARTITIONED, "--windows", source)
    assert result.exit_code == 2
    assert f"--windows {source} finds nothing" in result.stderr


@pytest.mark.parametrize("pattern", ["encode", "Inference/*", "org.example.*/Inference/enc?de"])
def test_signposts_by_pattern(pattern: str) -> None:
    chosen = windows(PARTITIONED, "--window-signpost", pattern)
    assert (len(chosen), {window["basis"] for window in chosen}) == (13, {"measured"})


@pytest.mark.parametrize("pattern", ["decode", "a/b/c/d", "Inference/"])
def test_a_pattern_that_names_nothing_lists_what_there_is(pattern: str) -> None:
    result = run(PARTITIONED, "--window-signpost", pattern)
    assert result.exit_code == 2
    assert (
        "org.example.SampleApp/Inference/encode (13)" in result.stderr or "Write subsystem" in result.stderr
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--windows", "stacks", "--window", "1ms-2ms"),
        ("--windows", "stacks", "--window-signpost", "encode"),
        ("--window", "1ms-2ms", "--window-signpost", "encode"),
        ("--windows-csv", "windows.csv", "--windows", "run"),
    ],
)
def test_windows_are_given_in_one_way(options: tuple[str, ...]) -> None:
    result = run(PARTITIONED, *options)
    assert result.exit_code == 2
    assert "Choose calls in one way" in result.stderr


def test_a_thread_has_its_own_windows() -> None:
    every = windows(TOGETHER, "--windows", "coreml")
    chosen = windows(TOGETHER, "--windows", "coreml", "--thread", "0x5a3a")
    assert chosen
    assert [window["start_ns"] for window in chosen] == [
        window["start_ns"] for window in every if window["thread"] and "0x5a3a" in window["thread"]
    ]


@pytest.mark.parametrize(
    "options", [("--process", "SampleApp"), ("--process", "4711"), ("--thread", "0x5a1d")]
)
def test_choosing_what_is_the_only_one_changes_no_window(options: tuple[str, ...]) -> None:
    for source in (("--windows", "ane"), ("--window-signpost", "encode")):
        assert without_budgets(PARTITIONED, *source, *options) == without_budgets(PARTITIONED, *source)


def test_a_process_has_the_windows_of_its_table() -> None:
    assert len(windows(FALLBACK, "--process", "SampleApp")) == 12


@pytest.mark.parametrize(
    ("recording", "sentence"),
    [
        (
            PARTITIONED,
            "SpeechEncoder left the Neural Engine after its 7th call (at 518 ms) and came back with its 9th. The"
            " call between ran on the CPU: 38.0 ms of CPU work (sampled), 43.9 ms against 34.9 ms per call.",
        ),
        (
            TOGETHER,
            "Detector and SpeechEncoder ran on the Neural Engine in all 14 calls.",
        ),
        (
            FALLBACK,
            "SpeechEncoder left the Neural Engine after its 6th call (at 265 ms). The 6 calls since ran on the"
            " CPU: 22.7 ms of CPU work each (measured), 12 % slower (28.9 ms against 25.9 ms).",
        ),
    ],
)
def test_the_first_sentence(recording: Path, sentence: str) -> None:
    assert words(recording).startswith(sentence)


def test_the_fallback_for_good_is_measured_on_both_engines() -> None:
    text = words(FALLBACK, "-v")
    assert "ANE busy [1] CPU busy waiting (inferred)" in text
    assert "a ANE: measured in the table ane-hw-intervals;" in text
    assert "sampled while running its code: BNNSGraphContextExecute_v2" in text
    assert "2 of 11 Neural Engine intervals (8.3 ms of inference) fit none" in text


def test_the_text_lists_hand_offs_and_the_first_call() -> None:
    text = words(PARTITIONED, "--window-signpost", "encode")
    assert "in the order ANE → CPU → ANE" in text
    assert "measured in the table ane-hw-intervals-internal" in text
    assert "* the first of its model or entry point, which may be cold" in text
    assert "warm p50 warm p90 verdicts" in text
    assert "thermal state nominal, fair from" in text
    assert "waiting (measured)" in words(PARTITIONED, "--window-signpost", "encode", "-v")
    assert "Compile and load, counted apart from inferences: ANE compile 152 ms (measured)" in text


def test_the_text_lists_work_of_other_processes_and_lengths_per_model() -> None:
    text = words(TOGETHER)
    assert "4 of 18 Neural Engine intervals (12.3 ms of inference) fit none" in text
    assert "Latency (all calls of the run;" in text


def test_a_request_to_a_language_model_is_no_claim_about_an_engine() -> None:
    text = words(LANGUAGE)
    assert text.startswith("No engine is visible in the 3 calls of org.example.fm.")
    assert "SECRETPROMPT" not in text


def test_an_export_of_the_neural_engines_table_alone(tmp_path: Path) -> None:
    rows = [
        f'<start-time id="{index}">{start}</start-time><duration id="{index + 1}">{length}</duration>'
        f'<formatted-label id="{index + 2}"><string id="{index + 3}">Net_main__Op0_AneInference</string></formatted-label>'
        f'<gpu-state id="{index + 4}">Active</gpu-state>'
        for index, start, length in [(1, 1_000_000, 2_000_000), (11, 5_000_000, 2_500_000)]
    ]
    path = write(tmp_path, one_table("ane-hw-intervals", ANE_COLUMNS, *rows))
    assert words(path).startswith(
        "Net ran on the Neural Engine in both calls: 2.50 ms per call, from the engine's first interval to its last."
    )
    assert [window["model"] for window in windows(path)] == ["Net", "Net"]


def test_a_sliver_of_a_window_is_not_nothing() -> None:
    assert "94.3 ms (<1 %)" in words(FALLBACK, "--window", "0ms-99s", "-v")
    assert "136 ms (<1 %)" in words(FALLBACK, "--window", "0ms-99s", "-v")


def test_empty_and_absent_tables_are_distinguished(tmp_path: Path) -> None:
    shutil.copy(FALLBACK / "time-profile.xml", tmp_path)
    write(tmp_path, document(node(schema("ane-hw-intervals", ANE_COLUMNS))), "ane.xml")
    document_ = json.loads(run(tmp_path, "--format", "json").stdout)
    states = {evidence["source"]: evidence["state"] for evidence in document_["evidence"]}
    assert (states["ane-hw-intervals"], states["coreml-os-signpost"]) == ("empty", "absent")
    assert document_["engines"]["ANE"]["busy_ns"] is None


def test_windows_may_all_overlap(tmp_path: Path) -> None:
    lines = "\n".join(f"{number},{10**10 - number}" for number in range(300))
    csv = write(tmp_path, f"start_ns,end_ns\n{lines}", "w.csv")
    result = run(SAMPLES / "gpu-mpsgraph-macos15", "--windows-csv", csv)
    assert result.exit_code == 0, result.stderr


def requested_findings(*arguments: str | Path) -> list[str]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    findings = json.loads(result.stdout)["findings"]
    return [finding["title"] for finding in findings if finding["kind"] == "not-on-requested-engine"]


def test_the_compute_units_are_an_option_or_those_of_the_journal(tmp_path: Path) -> None:
    sample = SAMPLES / "gpu-mpsgraph-macos15-bundle" / "recording.trace"
    bundle = Path(shutil.copytree(sample, tmp_path / "app.trace"))
    assert not requested_findings(bundle)
    command = ["xctrace", "record", "--env", "TRACEKIT_COMPUTE_UNITS=cpuOnly", "--launch", "--", "App"]
    (tmp_path / "app.recording.json").write_text(json.dumps({"runs": [{"command": command}]}))
    (title,) = requested_findings(bundle)
    assert title.endswith("ran on the GPU in 12 of 12 calls, although cpuOnly excludes it.")
    assert not requested_findings(bundle, "--compute-units", "cpuandgpu")
