"""``tracekit check plan`` as a CI drives it: before anything is recorded."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from documents_support import SHARED, strict
from jsonschema import Draft202012Validator

from tracekit.cli import main

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "tracekit-check-1.schema.json").read_text())
GPU_ONLY = SHARED / "models" / "coreai_plan" / "manifest_h17c_gpu_only.plist"

OPERATIONS = [
    {"op": "ios17.conv", "name": "conv_1", "preferred": "Neural Engine", "weight": 0.6},
    {"op": "ios17.gather", "name": "gather_12", "preferred": "CPU", "weight": 0.1},
    {"op": "ios17.conv", "name": "conv_2", "preferred": "Neural Engine", "weight": 0.2},
    {"op": "ios17.cast", "name": "cast\x1b[2J::error::", "preferred": "", "weight": 0.1},
    {"op": "const", "name": "weights"},
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = {"schema": "tracekit-plan/1", "functions": {"main": OPERATIONS}}
    (tmp_path / "model.plan.json").write_text(json.dumps(document))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "plan", "model.plan.json", *arguments])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--require", "ANE regions >= 1"], 0),
        (["--require", "ops off ANE <= 2"], 0),
        (["--require", "ops off ANE <= 1"], 5),
        (["--require", "ops off ANE <= 0"], 1),
        (["--require", "ops off ANE <= 1", "--require", "ops off ANE <= 0"], 1),
        (["--forbid", "kind gather on CPU"], 1),
        (["--forbid", "GPU"], 5),
        (["--require", "ops of ANE <= 1"], 2),
        ([], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    assert run(*arguments).exit_code == code


def test_the_text_names_what_is_not_met() -> None:
    result = run("--require", "ops off ANE <= 0", "--require", "ops off ANE <= 1", "--require", "ops >= 4")
    assert result.stdout == (
        "plan model.plan.json: Of 3 requirements, 1 failed and 1 not measurable; 1 passed.\n\n"
        "FAILED          require ops off ANE <= 0\n"
        "                  ops off ANE is from 1 to 2 (anticipated, 4 operations of main): ios17.gather\n"
        "                    gather_12 (CPU)\n"
        "not measurable  require ops off ANE <= 1\n"
        "                  ops off ANE is from 1 to 2 (anticipated, 4 operations of main): ios17.cast\n"
        "                    cast\\x1b[2J::error:: (no engine stated)\n"
        "passed          require ops >= 4\n"
        "                  ops is 4 (anticipated, 4 operations of main)\n"
    )


def test_junit_has_failures_and_errors() -> None:
    result = run("--require", "ops off ANE <= 0", "--require", "transitions <= 2", "--junit", "plan.xml")
    assert result.exit_code == 1
    suites = ET.parse("plan.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("2", "1", "1")
    assert [case.get("name") for case in suites.iter("testcase")] == [
        "require ops off ANE <= 0",
        "require transitions <= 2",
    ]
    (error,) = suites.iter("error")
    assert error.get("type") == "not-measurable"
    assert (error.get("message") or "").startswith("transitions is from 2 to 3 (anticipated, 4 operations")


def test_annotations_are_escaped() -> None:
    result = run("--require", "ops on ANE >= 90%", "--require", "transitions <= 2", "--format", "github")
    lines = result.stdout.splitlines()
    assert lines[0].startswith(
        "::error title=require ops on ANE >= 90%25::ops on ANE is from 50.0 %25 to 75.0 %25"
    )
    assert lines[1].startswith("::warning title=require transitions <= 2::transitions is from 2 to 3")
    assert lines[2] == (
        "::notice title=tracekit check::plan model.plan.json: Of 2 requirements, 1 failed and 1 not"
        " measurable; 0 passed."
    )
    assert len(lines) == 3


def test_json_has_the_operations() -> None:
    result = run("--require", "kind gather on ANE", "--require", "op x on ANE", "--format", "json")
    document = json.loads(result.stdout)
    Draft202012Validator(strict(SCHEMA)).validate(document)
    first, second = document["results"]
    assert (first["outcome"], first["actual"]["basis"]) == ("failed", "anticipated")
    assert first["actual"]["plan"] == {
        "function": "main",
        "operations": 1,
        "unlisted": 0,
        "limits": [],
        "explained_by": [
            {
                "name": "gather_12",
                "kind": "ios17.gather",
                "engine": "CPU",
                "device": "CPU",
                "source": None,
                "messages": [],
            }
        ],
    }
    assert (second["outcome"], second["actual"]["missing"]) == (
        "not measurable",
        "the plan has no operation 'x'",
    )


def test_requirements_on_plans_have_a_table_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "tracekit.toml").write_text(
        "[check]\nrequire = ['p90 <= 8ms']\n[check.plan]\nrequire = ['ANE regions >= 1']\nforbid = ['GPU']\n"
    )
    result = run()
    assert result.exit_code == 5
    assert "require ANE regions >= 1" in result.stdout
    assert "p90" not in result.stdout
    (tmp_path / "tracekit.toml").write_text("[check.plan]\nrequires = []\n")
    assert "has an unknown key 'check.plan.requires'." in run().stderr
    (tmp_path / "tracekit.toml").write_text("[check]\nplan = 3\n")
    assert "'check.plan' is not a table. Write [check.plan]" in run().stderr
    (tmp_path / "tracekit.toml").write_text("[check]\nrequire = ['p90 <= 8ms']\n")
    assert "write a tracekit.toml with a table [check.plan]" in run().stderr


def test_a_recording_named_plan_is_reached_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("no recording")
    arguments = ["check", "./plan", "--require", "p90 <= 8ms"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 3
    assert "plan" in result.stderr
    # Without the folder it is the command, whose argument is missing.
    result = CliRunner().invoke(main, ["check", "plan", "--require", "p90 <= 8ms"])
    assert result.exit_code == 2
    assert "Missing argument 'PLAN'" in result.output


def test_the_help_has_an_example() -> None:
    for flag in ("-h", "--help"):
        result = CliRunner().invoke(main, ["check", "plan", flag])
        assert result.exit_code == 0
        assert "  tracekit check plan " in result.output.split("Options:")[0].split("Examples:")[1]


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("something else")
    result = CliRunner().invoke(main, ["check", "plan", "other", "--require", "ANE regions >= 1"])
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: other: is no plan of a kind that tracekit reads.")


@pytest.mark.skipif(not GPU_ONLY.exists(), reason="needs the collection of real files")
def test_a_gpu_only_plan_fails_without_a_recording() -> None:
    arguments = ["check", "plan", str(GPU_ONLY), "--require", "ANE regions >= 1"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "ANE regions is 0 (anticipated). The manifest" in result.stdout
