"""The command that adds an extra fits the way in which this copy was installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli  # noqa: F401 - the made-up search path hides packages that were not imported before

from tracekit.errors import UsageError
from tracekit.installation import format_install_command, list_namesakes, require_packages
from tracekit.record.doctor import examine
from tracekit_dashboard.command import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHON = "/envs/ml/bin/python"


class Environment:
    """A made-up environment: the metadata of its distributions, and the receipts in its folder."""

    def __init__(self, folder: Path) -> None:
        self.prefix, self.packages = folder, folder / "site-packages"
        self.packages.mkdir()

    def add(self, name: str = "coreml-tracekit", version: str = "0.1.0", **files: str) -> None:
        info = self.packages / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        for file, text in {"METADATA": metadata, **files}.items():
            (info / file.replace("_json", ".json").replace("_txt", ".txt")).write_text(text)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    environment = Environment(tmp_path)
    monkeypatch.setattr(sys, "path", [str(environment.packages)])
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", PYTHON)
    monkeypatch.setenv("PATH", "/usr/bin")
    return environment


def origin(url: str, **facts: Any) -> str:
    return json.dumps({"url": url, **facts})


def test_pip_of_this_python_is_named(environment: Environment) -> None:
    environment.add(INSTALLER="pip\n")
    assert format_install_command("png") == f"{PYTHON} -m pip install 'coreml-tracekit[png]'"


def test_a_python_that_comes_first_on_the_search_path_is_named_shortly(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.add(INSTALLER="pip\n")
    (tmp_path / "python").write_text("#!/bin/sh\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert format_install_command("png") == "python -m pip install 'coreml-tracekit[png]'"


@pytest.mark.parametrize(
    ("direct_url", "target"),
    [
        (origin("file:///src/trace%20kit", dir_info={"editable": True}), "--editable '/src/trace kit[png]'"),
        (origin("file:///src/tracekit", dir_info={}), "'coreml-tracekit[png] @ file:///src/tracekit'"),
        (
            origin("file:///dl/coreml_tracekit-0.1.0-py3-none-any.whl", archive_info={}),
            "'coreml-tracekit[png] @ file:///dl/coreml_tracekit-0.1.0-py3-none-any.whl'",
        ),
        (
            origin(
                "https://example.org/t.git",
                vcs_info={"vcs": "git", "commit_id": "a1", "requested_revision": "v1"},
            ),
            "'coreml-tracekit[png] @ git+https://example.org/t.git@v1'",
        ),
        (
            origin(
                "https://example.org/all.git", vcs_info={"vcs": "git", "commit_id": "a1"}, subdirectory="t"
            ),
            "'coreml-tracekit[png] @ git+https://example.org/all.git@a1#subdirectory=t'",
        ),
    ],
)
def test_the_source_of_this_copy_is_named_again(
    direct_url: str, target: str, environment: Environment
) -> None:
    environment.add(INSTALLER="pip\n", direct_url_json=direct_url)
    assert format_install_command("png") == f"{PYTHON} -m pip install {target}"


def test_uv_names_the_environment(environment: Environment) -> None:
    environment.add(INSTALLER="uv")
    assert format_install_command("mcp") == f"uv pip install --python {PYTHON} 'coreml-tracekit[mcp]'"


def test_a_tool_of_uv_keeps_its_extras(environment: Environment) -> None:
    environment.add(INSTALLER="uv")
    receipt = environment.prefix / "uv-receipt.toml"
    receipt.write_text(
        '[tool]\nrequirements = [{ name = "coreml-tracekit", extras = ["png"] }, { name = "x" }]\n'
    )
    assert format_install_command("mcp") == "uv tool install 'coreml-tracekit[mcp,png]'"


@pytest.mark.parametrize(
    ("installed", "extras"),
    [("coreml-tracekit", "mcp"), ("coreml-tracekit[png, pprof]==0.1", "mcp,png,pprof")],
)
def test_a_program_of_pipx_keeps_its_extras(installed: str, extras: str, environment: Environment) -> None:
    environment.add(INSTALLER="pip\n")
    metadata = environment.prefix / "pipx_metadata.json"
    metadata.write_text(
        json.dumps({"main_package": {"package": "coreml-tracekit", "package_or_url": installed}})
    )
    assert format_install_command("mcp") == f"pipx install --force 'coreml-tracekit[{extras}]'"


def test_a_formula_of_homebrew_gives_way_to_pipx(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.add(INSTALLER="pip\n")
    monkeypatch.setattr(sys, "prefix", "/opt/homebrew/Cellar/coreml-tracekit/0.1.0/libexec")
    assert format_install_command("png") == (
        "brew uninstall coreml-tracekit && brew install pipx && pipx install 'coreml-tracekit[png]'"
    )


@pytest.mark.usefixtures("environment")
def test_a_checkout_on_the_search_path_is_named_itself() -> None:
    assert format_install_command("png") == f"{PYTHON} -m pip install --editable '{ROOT}[png]'"


def test_other_distributions_with_the_package_are_listed(environment: Environment) -> None:
    environment.add(top_level_txt="tracekit\ntracekit_dashboard\n")
    environment.add("tracekit", "0.3.1", RECORD="tracekit/__init__.py,,\ntracekit/core.py,,\n")
    environment.add("dashboard", "0.0.6", top_level_txt="dashboard\n")
    environment.add("llm-tracekit", "2.9.0", RECORD="llm_tracekit/__init__.py,,\n")
    # Where the backport importlib_metadata was imported, a distribution has the files that exist.
    (environment.packages / "tracekit").mkdir()
    (environment.packages / "tracekit" / "__init__.py").touch()
    assert list_namesakes() == ["tracekit 0.3.1"]


def test_the_doctor_warns_of_a_namesake(environment: Environment) -> None:
    environment.add(top_level_txt="tracekit\n")
    environment.add("tracekit", "0.3.1", top_level_txt="tracekit\n")
    check = examine("0.1.0", system="linux")[0]
    assert (check.name, check.state) == ("tracekit", "warning")
    assert check.finding.endswith(", in one environment with tracekit 0.3.1")
    assert check.advice.endswith("\nuv tool install coreml-tracekit")


def test_the_packages_of_an_extra_are_named_with_the_command(environment: Environment) -> None:
    environment.add(INSTALLER="pip\n")
    (environment.packages / "dash.py").write_text("")
    names = ["dash", "absent_database", "absent_server"]  # a package that another test imported is found
    with pytest.raises(UsageError) as caught:
        require_packages("The dashboard", names, "dashboard")
    assert str(caught.value) == (
        "The dashboard needs packages that are not installed: absent_database, absent_server."
        f" Install them with: {PYTHON} -m pip install 'coreml-tracekit[dashboard]'"
    )
    require_packages("The dashboard", ["dash"], "dashboard")


def test_the_dashboard_requires_what_its_extra_has() -> None:
    extra = PROJECT["optional-dependencies"]["dashboard"]
    assert [re.split(r"[<>=]", requirement)[0] for requirement in extra] == list(PACKAGES)


def test_every_extra_that_is_named_exists() -> None:
    texts = [
        path.read_text() for folder in ("tracekit", "dashboard") for path in (ROOT / folder).rglob("*.py")
    ]
    named = {name for text in texts for name in re.findall(r"format_install_command\(['\"](\w+)", text)}
    assert {"png", "mcp", "fleet", "probe"} <= named <= set(PROJECT["optional-dependencies"])


@pytest.mark.integration
def test_nothing_names_the_other_program_of_the_registry() -> None:
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    wrong = re.compile(r"""(pip|pipx|tool) install (--?\S+ )*['"]?(tracekit|dashboard)\b""")
    texts = [
        (name, (ROOT / name).read_text("utf-8", "replace"))
        for name in files
        if name.endswith((".py", ".md", ".toml", ".sh", ".yml", ".ipynb", "Makefile"))
    ]
    assert len(texts) > 500
    assert [
        name for name, text in texts if wrong.search(text) and Path(name).name != Path(__file__).name
    ] == []
