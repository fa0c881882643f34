"""The scripts of the action, run in Bash with the files that GitHub gives to a step. Never run on GitHub itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from action_support import ACTION, ROOT, StepResult, read_action, run_action, run_step

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("bash") is None, reason="the action runs in Bash"),
]

SAMPLES = ROOT / "sample_traces"
FALLBACK = str(SAMPLES / "fallback-midway-ios27")
ENGINE = str(SAMPLES / "ane-e5rt-macos26")
HOSTILE = "-x $(touch owned) `touch owned` 'a\" * ;touch owned; ${PATH} %0A ::error::b \\"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


def arguments_of(workspace: Path, **inputs: str) -> list[str]:
    """Return the arguments that the action gives to tracekit."""
    stub = executable(workspace.parent / "stub", '#!/bin/sh\nprintf "%s\\0" "$@" > ../arguments\n')
    assert run_action(workspace, stub, **inputs).exit_code == 0
    return (workspace.parent / "arguments").read_text().split("\0")[:-1]


# Exit codes -------------------------------------------------------------------------------------------------


def test_a_requirement_that_is_met_passes_with_summary_and_report(workspace: Path) -> None:
    result = run_action(
        workspace, recordings=FALLBACK, requirements="max <= 1s\nmin >= 1ms", report="out/report.html"
    )
    assert (result.exit_code, result.outputs) == (0, {"exit-code": "0", "report": "out/report.html"})
    assert "::notice title=tracekit check::fallback-midway-ios27, run 1: 2 requirements passed." in result.log
    assert "::error" not in result.log
    assert "- **passed** require max &lt;= 1s: max is 29.900 ms" in result.summary
    assert (workspace / "out" / "report.html").read_text().startswith("<!doctype html>")


def test_a_requirement_that_is_broken_fails_the_step(workspace: Path) -> None:
    result = run_action(workspace, recordings=FALLBACK, requirements="max <= 1ms", junit="check.xml")
    assert (result.exit_code, result.outputs) == (1, {"exit-code": "1", "report": ""})
    assert result.log.startswith("::error title=require max <= 1ms::max is 29.900 ms")
    assert "- **FAILED** require max" in result.summary
    assert 'failures="1" errors="0"' in (workspace / "check.xml").read_text()


@pytest.mark.parametrize(("choice", "exit_code"), [("", 5), ("pass", 0), ("fail", 1)])
def test_an_open_requirement_is_5_unless_the_workflow_decides(
    workspace: Path, choice: str, exit_code: int
) -> None:
    result = run_action(workspace, recordings=FALLBACK, requirements="ANE share >= 80%", open=choice)
    assert (result.exit_code, result.outputs["exit-code"]) == (exit_code, str(exit_code))
    assert "::warning title=require ANE share >= 80%25::ANE share is 50.0 %25" in result.log


def test_what_is_not_measurable_stays_5(workspace: Path) -> None:
    result = run_action(workspace, recordings=ENGINE, requirements="ANE busy <= 1ms", open="pass")
    assert (result.exit_code, result.outputs["exit-code"]) == (5, "5")
    assert "::warning title=require ANE busy <= 1ms::not measurable: " in result.log
    assert "- **not measurable** require ANE busy" in result.summary


def test_an_unreadable_recording_is_3_and_leaves_no_report(workspace: Path) -> None:
    (workspace / "notes.trace").write_text("hello")
    result = run_action(workspace, recordings="notes.trace", requirements="max <= 1s", report="report.html")
    assert (result.exit_code, result.outputs) == (3, {"exit-code": "3"})
    assert "notes.trace" in result.log
    assert not (workspace / "report.html").exists()


def test_a_base_compares(workspace: Path) -> None:
    inputs = {"base": ENGINE, "recordings": FALLBACK, "options": "--strict", "report": "comparison.html"}
    result = run_action(workspace, **inputs, fail_on="ANE share < -5 points")
    assert (result.exit_code, result.outputs["report"]) == (1, "comparison.html")
    assert "::error title=fail-on ANE share < -5 points::" in result.log
    assert "::notice title=tracekit compare::" in result.log
    assert result.summary.startswith("## Comparison\n")
    assert "compared" in (workspace / "comparison.html").read_text()
    assert run_action(workspace, **inputs, fail_on="ANE share < -90 points").exit_code == 0


# Inputs -----------------------------------------------------------------------------------------------------


def test_each_line_of_a_check_is_one_argument(workspace: Path) -> None:
    assert arguments_of(
        workspace,
        recordings="a b.trace\r\n\n*.trace\n",
        requirements="p90 <= 8ms\n  \nANE share >= 80% in 'My Model'",
        forbid="GPU",
        config="ci/x.toml",
        open="pass",
        options="--run-noise=2%\n--process=My App",
        report="r.html",
        junit="j.xml",
    ) == [
        "check",
        "--also=*.trace",
        "--require=p90 <= 8ms",
        "--require=ANE share >= 80% in 'My Model'",
        "--forbid=GPU",
        "--config=ci/x.toml",
        "--junit=j.xml",
        "--open=pass",
        "--report=r.html",
        "--run-noise=2%",
        "--process=My App",
        "--format=github",
        "--force",
        "--",
        "a b.trace",
    ]


def test_each_line_of_a_comparison_is_one_argument(workspace: Path) -> None:
    assert arguments_of(workspace, base="b1\n-b2", recordings="n1\nn2", fail_on="p90 > +10%\nload > +1s") == [
        "compare",
        "--base=-b2",
        "--fail-on=p90 > +10%",
        "--fail-on=load > +1s",
        "--format=github",
        "--force",
        "--",
        "b1",
        "n1",
        "n2",
    ]


def test_hostile_text_is_data(workspace: Path) -> None:
    shutil.copytree(FALLBACK, workspace / HOSTILE)
    inputs = {"recordings": HOSTILE, "report": f"{HOSTILE}.html"}
    checked = run_action(workspace, **inputs, requirements="max <= 1s")
    compared = run_action(workspace, **inputs, base=HOSTILE)
    refused = run_action(workspace, **inputs, requirements=HOSTILE, options=HOSTILE)
    assert [result.exit_code for result in (checked, compared, refused)] == [0, 0, 2]
    assert checked.outputs["report"] == f"{HOSTILE}.html"
    assert (workspace / f"{HOSTILE}.html").is_file()
    assert not list(workspace.parent.rglob("owned"))
    for result in (checked, compared, refused):
        assert not any(line.startswith("::error") for line in result.log.splitlines())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"recordings": " \n"}, "The input recordings is empty."),
        ({"recordings": "a", "fail_on": "p90 > +1%"}, "The input fail-on is for comparisons: give a base"),
        (
            {"recordings": "a", "base": "b", "requirements": "p90 <= 1s"},
            "The input requirements is for checks",
        ),
        ({"recordings": "a", "base": "b", "junit": "x.xml"}, "The input junit is for checks"),
        ({"recordings": "a", "report": "x\nexit-code=0"}, "The inputs report and junit are one path each."),
    ],
)
def test_inputs_that_do_not_go_together_are_refused(
    workspace: Path, inputs: dict[str, str], message: str
) -> None:
    result: StepResult = run_action(workspace, **inputs)
    assert (result.exit_code, result.outputs) == (2, {"exit-code": "2"})
    assert f"::error title=tracekit action::{message}" in result.log


# The action -------------------------------------------------------------------------------------------------


def test_no_text_of_a_workflow_becomes_part_of_a_command() -> None:
    action = read_action()
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)


def test_every_input_and_output_is_used_and_documented() -> None:
    action = read_action()
    steps = str(action["runs"]["steps"])
    documented = (ROOT / "docs" / "ci.md").read_text()
    for name in action["inputs"]:
        assert f"inputs.{name} " in steps, name
        assert f"`{name}`" in documented, name
    for name in action["outputs"]:
        assert f"printf '{name}=%s" in (ACTION.parent / "run.sh").read_text(), name


def test_tracekit_is_installed_once_into_an_environment_beside_the_action(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    copy = tmp_path / "a b" / "ci"
    shutil.copytree(ACTION.parent, copy)
    python = executable(
        tmp_path / "python",
        '#!/bin/sh\necho "$@" >> ../calls\n'
        'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; else touch "${0%python}tracekit"; fi\n',
    )
    for _ in range(2):
        result = run_step("install", workspace, {"steps.python.outputs.python-path": str(python)}, copy)
        assert (result.exit_code, result.outputs) == (
            0,
            {"tracekit": str(tmp_path / "a b" / ".venv-action" / "bin" / "tracekit")},
        )
    root = os.fspath(tmp_path / "a b")
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"-m venv {root}/.venv-action",
        f"-m pip install --quiet --disable-pip-version-check {root}",
    ]
