"""The benchmarks run, and what they measure is done in columns: no Python per row, interval or window."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import shutil
import subprocess
import sys
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from browser_support import BROWSERS
from click.testing import CliRunner
from documents_support import python_calls
from text_support import codes, per_thread, trace_of_text

from tracekit.cli import main
from tracekit.fleet.questions.registry import QUESTIONS

pytestmark = pytest.mark.integration

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
FUSION = runpy.run_path(str(BENCHMARKS / "fusion.py"))
sys.path.append(str(BENCHMARKS))
growth, shapes, findings, browser, spindump, budget, language_models = map(
    importlib.import_module,
    ("growth", "shapes", "findings", "browser", "spindump", "budget", "language_models"),
)


def calls_of_fusion(samples: int, intervals: int, windows: int) -> int:
    """Return the number of Python function calls of one fusion."""
    trace = FUSION["synthetic"](samples, intervals, windows)
    labels = FUSION["label_samples"](trace, FUSION["load_rules"](None))
    FUSION["fuse"](trace, labels)
    # The least of a few: a coverage tool's own calls end as the lines become known to it.
    return min(python_calls(lambda: FUSION["fuse"](trace, labels)) for _ in range(3))


@pytest.mark.parametrize("larger", [(40_000, 2_000, 200), (10_000, 8_000, 200), (10_000, 2_000, 800)])
def test_the_work_of_python_does_not_grow_with_rows(larger: tuple[int, int, int]) -> None:
    assert calls_of_fusion(*larger) < 1.2 * calls_of_fusion(10_000, 2_000, 200)


@pytest.mark.parametrize("shape", growth.TARGETS)
def test_every_shape_is_a_recording_that_can_be_read(shape: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, shapes.SHAPES[shape](tmp_path, 20))
    assert result.exit_code == 0, result.output


def test_the_generated_spindump_is_a_report_of_so_many_threads(tmp_path: Path) -> None:
    trace = trace_of_text(tmp_path, "".join(spindump.report(20)))
    assert set(per_thread(trace).values()) == {101}
    assert len(trace.threads) == 20
    assert codes(trace) == set()


def test_a_missed_target_is_named() -> None:
    times = [10.0, 90.0, 20.0, 30.0, 40.0]
    assert browser.timed(times, (30, 90))["missed"] == []
    assert browser.timed(times, (29, None))["missed"] == ["p50"]
    assert browser.timed(times, (29, 89))["missed"] == ["p50", "p95"]


@pytest.mark.parametrize(
    ("seconds", "mib", "problem"),
    [
        ([1, 2, 3, 5], [100, 200, 300, 500], ""),
        ([1, 2, 5, 17], [100] * 4, "one moment: CPU grows with the size to the 2.00"),
        ([1, 1, 1, 1], [100, 200, 500, 1500], "one moment: memory grows with the size to the 1.90"),
        ([1, 1.1, 1.2, 1.4], [100, 900, 1800, 2500], "one moment: 2500 MiB, more than 1536"),
    ],
)
def test_growth_beyond_its_targets_fails(
    seconds: list[float], mib: list[float], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = cycle(zip(seconds, mib, strict=True))
    monkeypatch.setattr(growth, "written", lambda *_: [])
    monkeypatch.setattr(growth, "_RUNS", 1)
    monkeypatch.setattr(growth, "cost_of", lambda _: next(costs))
    monkeypatch.setattr(growth, "TARGETS", {"one moment": growth.Target(40)})
    monkeypatch.setattr(sys, "argv", ["growth.py", "--shapes", "one moment"])
    with pytest.raises(SystemExit, match=problem) if problem else nullcontext():
        growth.main()


def test_growth_that_only_another_program_caused_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = iter([(1, 100), (2, 100), (5, 100), (17, 100), *[(2, 100)] * 3, (5, 100)])
    monkeypatch.setattr(growth, "written", lambda *_: [])
    monkeypatch.setattr(growth, "_RUNS", 1)
    monkeypatch.setattr(growth, "cost_of", lambda _: next(costs))
    monkeypatch.setattr(growth, "TARGETS", {"one moment": growth.Target(40)})
    figure = growth.measure("one moment", 1)
    assert (figure["cpu_seconds"], figure["problems"]) == ([2, 2, 5], [])


@pytest.mark.parametrize(("added", "is_above"), [(0.09, False), (0.11, True)])
def test_findings_that_add_more_than_a_tenth_fail(
    added: float, is_above: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = {"windows": 1, "analysis_seconds": 1.0, "findings_seconds": added, "added": added}
    monkeypatch.setattr(findings, "synthetic", lambda *sizes: FUSION["synthetic"](10, 10, 2))
    monkeypatch.setattr(findings, "measure", lambda *_: figure)
    monkeypatch.setattr(sys, "argv", ["findings.py"])
    with pytest.raises(SystemExit, match="more than 10%") if is_above else nullcontext():
        findings.main()


def test_findings_of_many_models_are_measured() -> None:
    figure = findings.measure(FUSION["synthetic"](100, 20, 30), are_models=True)
    assert figure["windows"] == 30
    assert figure["findings"] > 0


@pytest.mark.parametrize(("seconds", "is_above"), [(0.59, False), (0.61, True)])
def test_budgets_that_take_longer_than_their_target_fail(
    seconds: float, is_above: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = budget.measure(100, 20, 30)
    assert figure["calls"] == 30
    monkeypatch.setattr(budget, "measure", lambda *_: figure | {"budget_seconds": seconds})
    monkeypatch.setattr(sys, "argv", ["budget.py"])
    with pytest.raises(SystemExit, match=r"at most 0\.6 s") if is_above else nullcontext():
        budget.main()


@pytest.mark.parametrize("valgrind", [None, "/usr/bin/valgrind"])
@pytest.mark.parametrize(("added", "is_above"), [(0.04, False), (0.06, True)])
def test_a_view_of_language_models_that_adds_more_than_its_target_fails(
    added: float, is_above: bool, valgrind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What decides is the count of instructions, where there is one.
    figures = {"added": 1.0, "instructions_added": added} if valgrind else {"added": added}
    monkeypatch.setattr(language_models.shutil, "which", lambda _: valgrind)
    monkeypatch.setattr(language_models, "measure", lambda _, counts: {"tokens": 1, **figures})
    monkeypatch.setattr(sys, "argv", ["language_models.py"])
    with pytest.raises(SystemExit, match="more than 5%") if is_above else nullcontext():
        language_models.main()


def test_the_view_of_language_models_is_measured_by_commands_and_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(language_models, "_TOKENS", 20)
    monkeypatch.setattr(language_models, "_RUNS", 1)
    figures = language_models.measure(2, counts=False)
    assert figures["tokens"] == 40
    assert min(figures["seconds_with"], figures["seconds_without"], figures["memory_seconds_with"]) > 0


def run(program: str, tmp_path: Path, *arguments: str) -> Any:
    """Return the figures of a benchmark that drives a browser, on tiny input."""
    out = tmp_path / "out.json"
    command = [sys.executable, str(BENCHMARKS / f"{program}.py"), *arguments, "--out", str(out)]
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), "")
    environment = {**os.environ, "CHROMIUM": chromium}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())[program]


@pytest.mark.integration
def test_the_start_of_two_versions_is_measured_in_turns(tmp_path: Path) -> None:
    figures = run("start", tmp_path, "--runs", "1", "--against", str(BENCHMARKS.parent))
    assert figures["modules"] == figures["other_modules"] > 100
    assert min(figures["cpu_seconds"], figures["other_cpu_seconds"], figures["ratio"]) > 0


@pytest.mark.integration
def test_every_question_and_the_history_are_measured(tmp_path: Path) -> None:
    figures = run("fleet_questions", tmp_path, "--scale", "0.01")
    assert (figures["recordings"], figures["calls"]) == (489, 48_000)
    assert figures["cpu_seconds"].keys() == {"list of questions", *QUESTIONS, "History"}
    assert all(seconds > 0 for seconds in figures["cpu_seconds"].values())


def test_an_upload_is_measured_in_three_ways(tmp_path: Path, browser: Any) -> None:
    figures = run("dashboard_upload", tmp_path, "--megabytes", "9")
    assert all(figures[name]["mb_per_s"] > 0 for name in ("page", "client", "copy"))
    assert sys.platform != "linux" or figures["page"]["memory_mb"] < figures["target_memory_mb"]


def test_the_page_of_a_large_recording_is_measured(tmp_path: Path, browser: Any) -> None:
    small = (
        "--stacks",
        "300",
        "--windows",
        "20",
        "--repetitions",
        "1",
        "--steps",
        "1",
        "--only",
        "first,wheel,click",
    )
    (figures,) = run("dashboard_page", tmp_path, "--samples", "121000", *small)
    counts = {name: figures[name]["count"] for name in ("first", "loaded", "zoom", "pan", "click")}
    assert counts["first"] == 1
    assert all(0 < count <= 12 for count in counts.values()), counts


@pytest.mark.integration
def test_the_benchmark_of_reading_runs_on_tiny_exports(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    program = Path(__file__).resolve().parents[1] / "benchmarks" / "scan.py"
    sizes = ["--megabytes", "0.05", "--large", "0", "--samples", "200", "--more-samples", "400"]
    command = [sys.executable, str(program), *sizes, "--repeat", "1", "--out", str(out)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures = json.loads(out.read_text())["scan"]
    assert len(printed.splitlines()) == len(figures) + 2
    assert "times as long as analysis of 200 samples" in printed
    assert figures[0]["times_yardstick"] == 1
    assert all(row["seconds"] > 0 and row["peak_mib"] > 0 for row in figures)
