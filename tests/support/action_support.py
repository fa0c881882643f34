"""Runs the steps of the action as a runner of GitHub does: its environment, its files, its Bash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "ci" / "action.yml"
TRACEKIT = Path(sys.executable).with_name("tracekit")
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
"""``shell: bash`` of GitHub Actions."""


@dataclass(frozen=True)
class StepResult:
    """What a step left: its exit code, its log, its outputs, its summary."""

    exit_code: int
    log: str
    outputs: dict[str, str]
    summary: str


def read_action() -> dict[str, Any]:
    return dict(yaml.safe_load(ACTION.read_text()))


def run_step(
    name: str, folder: Path, expressions: dict[str, str], action_path: Path = ACTION.parent
) -> StepResult:
    """Run a step of the action in a folder; ``expressions`` are the values of ``${{ … }}`` in its environment."""
    (step,) = [step for step in read_action()["runs"]["steps"] if step.get("id") == name]
    assert step["shell"] == "bash"
    files = {variable: folder.parent / variable for variable in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    environment = os.environ | {variable: str(file) for variable, file in files.items()}
    environment["GITHUB_ACTION_PATH"] = str(action_path)
    for variable, text in step["env"].items():
        (expression,) = re.fullmatch(r"\$\{\{ ([\w.-]+) \}\}", text).groups()
        environment[variable] = expressions[expression]
    process = subprocess.run(
        [*BASH, step["run"]], cwd=folder, env=environment, capture_output=True, check=False, timeout=120
    )
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    log = (process.stdout + process.stderr).decode()
    return StepResult(process.returncode, log, outputs, files["GITHUB_STEP_SUMMARY"].read_text())


def run_action(folder: Path, tracekit: Path = TRACEKIT, **inputs: str) -> StepResult:
    """Run the step that checks or compares, with the defaults of the action for the inputs that are not given."""
    texts = {name: declared.get("default", "") for name, declared in read_action()["inputs"].items()}
    texts |= {name.replace("_", "-"): text for name, text in inputs.items()}
    expressions = {f"inputs.{name}": text for name, text in texts.items()}
    return run_step("run", folder, expressions | {"steps.install.outputs.tracekit": str(tracekit)})
