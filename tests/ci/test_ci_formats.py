"""The YAML of docs/ci.md, the action and the hook against published schemas, and the commands of each example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from action_support import ACTION, ROOT, TRACEKIT
from click.testing import CliRunner

from tracekit.cli import main

pytestmark = pytest.mark.integration  # the linters are processes of their own

DOCS = (ROOT / "docs" / "ci.md").read_text()
HOOKS = ROOT / ".pre-commit-hooks.yaml"
MODEL = (
    "program(1.0)\n{ func main<ios17>(tensor<fp16, [1, 8]> x) {\n"
    '    tensor<fp32, [1, 8]> d = softmax(x = x)[name = string("wide")];\n} -> (d); }\n'
)
"""A 32-bit float inside the model: rule DT01, which leaves the engine."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)


def yaml_blocks(key: str) -> Iterator[str]:
    return (text for text in blocks("yaml") if key in yaml.safe_load(text))


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def require_program(name: str) -> Path:
    """Return a development tool of this environment; skip without it, and fail where CI must have it."""
    program = Path(sys.executable).with_name(name)
    if not program.exists():
        assert not os.environ.get("TRACEKIT_COMPLETE_TESTS"), f"CI must have {name}"
        pytest.skip(f"{name} is not installed")
    return program


def find_violations(schema: str, path: Path) -> str:
    """Return what a published schema forbids in a file; "" where it is valid."""
    result = run(require_program("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", path)
    return "" if result.returncode == 0 else result.stdout


# Schemas ----------------------------------------------------------------------------------------------------


def test_the_action_is_valid_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    assert find_violations("github-actions", ACTION) == ""
    damaged = tmp_path / "action.yml"
    damaged.write_text(ACTION.read_text().replace("      shell: bash\n", ""))
    assert find_violations("github-actions", damaged) != ""


@pytest.mark.parametrize(
    ("schema", "key", "count"), [("github-workflows", "jobs", 2), ("gitlab-ci", "engines", 1)]
)
def test_the_examples_are_valid(tmp_path: Path, schema: str, key: str, count: int) -> None:
    examples = list(yaml_blocks(key))
    assert len(examples) == count
    for text in examples:
        path = tmp_path / "example.yml"
        path.write_text(text)
        assert find_violations(schema, path) == ""


def test_the_hook_and_its_example_are_valid(tmp_path: Path) -> None:
    pre_commit = require_program("pre-commit")
    (example,) = yaml_blocks("repos")
    path = tmp_path / "config.yaml"
    path.write_text(example)
    for kind, file in (("manifest", HOOKS), ("config", path)):
        assert run(pre_commit, f"validate-{kind}", file, PRE_COMMIT_HOME=str(tmp_path)).returncode == 0
    path.write_text(HOOKS.read_text().replace("language: python\n", ""))
    assert run(pre_commit, "validate-manifest", path, PRE_COMMIT_HOME=str(tmp_path)).returncode == 1


def test_the_example_of_the_action_gives_inputs_that_it_has() -> None:
    (text,) = (text for text in yaml_blocks("jobs") if "./tracekit/ci" in text)
    (step,) = (
        step for step in yaml.safe_load(text)["jobs"]["engines"]["steps"] if step["uses"] == "./tracekit/ci"
    )
    assert step["with"].keys() <= yaml.safe_load(ACTION.read_text())["inputs"].keys()


def test_each_example_takes_what_is_not_published_from_the_checkout() -> None:
    assert re.findall(r"pip install ([^' \n]+)", DOCS) == ["./tracekit"] * 3
    for text in yaml_blocks("jobs"):
        steps = next(iter(yaml.safe_load(text)["jobs"].values()))["steps"]
        assert steps[0]["with"] == {"submodules": True}
    assert not re.search(r"\b(OWNER|REPO|REF)\b", DOCS)


def test_the_hook_of_the_example_is_the_one_that_others_install() -> None:
    (example,) = yaml_blocks("repos")
    (hook,) = yaml.safe_load(example)["repos"][0]["hooks"]
    (installed,) = yaml.safe_load(HOOKS.read_text())
    alike = ("id", "name", "entry", "files", "require_serial")
    assert [hook[key] for key in alike] == [installed[key] for key in alike]


def test_no_block_is_left_unchecked() -> None:
    assert [len(blocks(language)) for language in ("yaml", "groovy", "sh")] == [4, 1, 1]
    assert DOCS.count("```") == 2 * 6


# Commands ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the examples expect it: two packs, models, and a tracekit that Jenkins installed."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "runs").mkdir()
    for name, sample in (("base", "ane-e5rt-macos26"), ("today", "fallback-midway-ios27")):
        pack = folder / "runs" / f"{name}.tracekit.zip"
        arguments = ["pack", str(ROOT / "sample_traces" / sample), "-o", str(pack)]
        assert CliRunner().invoke(main, arguments).exit_code == 0
    for name in ("A", "B b"):
        write_model(folder / "Models" / f"{name}.mlmodelc")
    (folder / ".tracekit" / "bin").mkdir(parents=True)
    (folder / ".tracekit" / "bin" / "tracekit").symlink_to(TRACEKIT)
    return folder


def write_model(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "model.mil").write_text(MODEL)
    (path / "metadata.json").write_text("[]")


COMMANDS = re.findall(
    r"^ *(?:- (?:run: )?)?((?:\.tracekit/bin/)?tracekit (?:check|compare|lint) .*)$", DOCS, re.MULTILINE
)


def test_each_example_has_its_command() -> None:
    assert [command.split()[1] for command in COMMANDS] == ["check", "compare", "lint", "check", "check"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are those of a shell")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_docs_ends_with_the_code_and_the_files_that_it_names(
    checkout: Path, command: str
) -> None:
    files = re.findall(r"(?:--junit|--report|-o) (\S+)", command)
    for name in files:
        (checkout / name).unlink(missing_ok=True)
    path = f"{TRACEKIT.parent}{os.pathsep}{os.environ['PATH']}"
    result = run("bash", "-c", command, cwd=checkout, PATH=path)
    assert result.returncode == (0 if " lint " in command else 5), result.stderr
    assert all((checkout / name).stat().st_size for name in files)


# The hook ---------------------------------------------------------------------------------------------------


def test_the_hook_lints_each_model_of_the_committed_files_once(tmp_path: Path) -> None:
    pre_commit = require_program("pre-commit")
    if shutil.which("git") is None:
        pytest.skip("pre-commit needs git")
    repository = tmp_path / "repository"
    for name in ("Models/A.mlmodelc", "B b.mlmodelc"):
        write_model(repository / name)
    (repository / "model.mil").write_text("outside of any model")
    (hook,) = yaml.safe_load(HOOKS.read_text())
    local: dict[str, Any] = hook | {"entry": f"{TRACEKIT} lint", "language": "system", "verbose": True}
    config = {"repos": [{"repo": "local", "hooks": [local]}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    run("git", "init", "--quiet", cwd=repository)
    run("git", "add", "--all", cwd=repository)
    home = str(tmp_path / "home")
    result = run(pre_commit, "run", "--all-files", cwd=repository, PRE_COMMIT_HOME=home)
    assert (result.returncode, re.findall(r"^ *Model +(.*)\.mlmodelc", result.stdout, re.MULTILINE)) == (
        0,
        ["B b", "A"],
    )
    local["args"] = ["--fail-on", "leaves"]
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    result = run(pre_commit, "run", "--all-files", cwd=repository, PRE_COMMIT_HOME=home)
    assert result.returncode == 1
    assert "--fail-on leaves: 1 rule (DT01) in B b.mlmodelc." in result.stdout
