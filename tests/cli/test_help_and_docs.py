"""Help, README, docs, Makefile and the program stay in step."""

from __future__ import annotations

import importlib.metadata
import itertools
import re
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import tracekit
from tracekit.cli import main
from tracekit.report.recipes.registry import RECIPES

ROOT = Path(__file__).resolve().parents[2]
CONTEXT = click.Context(main)
COMMANDS = main.list_commands(CONTEXT)


def the_command(name: str) -> click.Command:
    command = main.get_command(CONTEXT, name)
    assert command
    return command


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_stands_in_the_readme(command: str) -> None:
    for flag in ("-h", "--help"):
        result = CliRunner().invoke(main, [command, flag])
        assert result.exit_code == 0
        assert (
            f"tracekit {command} " in result.output.split("Options:")[0].split("Usage:")[1].split("\n", 1)[1]
        )
    assert re.search(rf"`{command}\b", (ROOT / "README.md").read_text())


def test_the_list_of_commands_is_not_cut_short() -> None:
    assert "..." not in CliRunner().invoke(main, ["--help"]).output.split("Commands:")[1]


@pytest.mark.parametrize("arguments", [["--help"], ["recipe", "--help"]])
def test_help_ends_with_every_question_of_the_registry(arguments: list[str]) -> None:
    text = (
        CliRunner().invoke(main, arguments).output.split("Questions (tracekit recipe NAME MyApp.trace):")[1]
    )
    listed = [line.split(maxsplit=1) for line in text.strip().splitlines()]
    assert listed == [[recipe.name, recipe.question] for recipe in RECIPES]


def with_subcommands() -> dict[str, click.Command]:
    commands = {name: the_command(name) for name in COMMANDS}
    for name, group in list(commands.items()):
        if isinstance(group, click.Group):
            context = click.Context(group)
            for part in group.list_commands(context):
                command = group.get_command(context, part)
                assert command
                commands[f"{name} {part}"] = command
    return commands


ALL_COMMANDS = with_subcommands()


@pytest.mark.parametrize("name", sorted(ALL_COMMANDS.keys() - set(COMMANDS)))
def test_every_subcommand_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(main, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert f"  tracekit {name} " in result.output.split("Options:")[0].split("Examples:")[1]


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_every_option_explains_itself(command: str) -> None:
    for parameter in ALL_COMMANDS[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_options_in_the_docs_exist() -> None:
    options = {o for c in ALL_COMMANDS.values() for p in c.params for o in p.opts} | {
        "--help",
        "--version",
    }
    elsewhere = {"--toc", "--xpath", "--output", "--input", "--check", "--editable", "--uuid"}
    elsewhere |= {
        "--archive",
        "--style",
        "--info",
        "--debug",
        "--signpost",
        "--subsystem",
        "--mode",
    }  # of log
    elsewhere |= {"--ops", "--json", "--detailed"}  # of coreml-cli
    elsewhere |= {"--nworkers", "--nthreads", "--memory-limit"}  # of dask worker
    elsewhere |= {"--out"}  # of pyidevice
    elsewhere |= {"--no-index", "--find-links", "--upgrade"}  # of pip
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        mentioned = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", path.read_text()))
        assert mentioned <= options | elsewhere, path.name


def test_the_version_is_the_packages_version() -> None:
    assert importlib.metadata.version("coreml-tracekit") == tracekit.__version__  # made from the package's
    assert CliRunner().invoke(main, ["--version"]).output == f"tracekit {tracekit.__version__}\n"
    assert f"## {tracekit.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_has_its_reason() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    reasons = (ROOT / "CONTRIBUTING.md").read_text().split("## Dependencies")[1]
    extras = itertools.chain(*project["optional-dependencies"].values())
    for requirement in [*project["dependencies"], *extras]:
        assert requirement.startswith("coreml-tracekit[") or re.split(r"[<>=]", requirement)[0] in reasons


def test_every_make_target_is_documented() -> None:
    targets = re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    documented = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(targets) > 6
    for target in set(targets) - {"help", "setup"}:
        assert f"`make {target}`" in documented


def test_links_lead_somewhere() -> None:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
            if not target.startswith("http"):
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_readme_shows_what_the_program_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = re.findall(
        r"\$ tracekit analyze X\.trace\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    monkeypatch.chdir(ROOT / "sample_traces")  # commands name the recording as it was given
    written = CliRunner(env={"COLUMNS": ""}).invoke(main, ["analyze", "fallback-midway-ios27"]).stdout
    place = 0
    for part in shown.split("…\n"):
        place = written.index(part, place)  # in order, with nothing between the lines of a part


def test_a_typo_in_a_command_is_wrong_usage() -> None:
    result = CliRunner().invoke(main, ["analyse"])
    assert result.exit_code == 2
    assert "No such command" in result.output
