"""The group of commands: what is true of all of them."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any
from unittest import mock

import click
import pytest
from click.testing import CliRunner
from export_support import SAMPLES

from tracekit import cli

BROKEN = EntryPoints([EntryPoint("broken", "no_such_package:command", "tracekit.commands")])


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli.main, arguments)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_find_plugins", lambda: BROKEN)


@pytest.mark.usefixtures("broken")
def test_a_command_of_a_broken_package_takes_no_other_along() -> None:
    listed = run("--help")
    assert listed.exit_code == 0
    assert "broken         Cannot be loaded." in listed.output
    assert run("analyze", "--help").exit_code == 0


@pytest.mark.usefixtures("broken")
def test_a_missing_command_gives_the_reason() -> None:
    result = run("broken", "--anything", "x")
    assert result.exit_code == 3
    assert "Error: 'broken' cannot be loaded from no_such_package:command: No module named" in result.stderr


def test_too_little_memory_is_a_sentence() -> None:
    with mock.patch.object(click.Group, "invoke", side_effect=MemoryError):
        result = run("analyze", "x.xml")
    assert (result.exit_code, result.stderr) == (3, "Error: not enough memory for this input.\n")


@pytest.mark.parametrize("error", [ValueError("odd\x1b[2J"), EOFError("cut"), RecursionError()])
def test_a_defect_is_no_failed_requirement(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tracekit", "check", "x.xml"])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(cli, "_reduce_garbage_collection", lambda: None)
    with mock.patch.object(click.Group, "invoke", side_effect=error), pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 70
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert any(type(error).__name__ in line for line in lines)
    assert lines[-1] == "Error: this is a defect of tracekit. Please report it with the lines above."
    assert not any("\x1b" in line for line in lines)


def test_a_command_that_is_not_there_has_a_likely_name() -> None:
    result = run("analyse", "x.xml")
    assert result.exit_code == 2
    assert "analyze" in result.stderr


@pytest.mark.parametrize("name", ["My App.trace", "export.xml", "missing.tkpack"])
def test_a_recording_in_the_place_of_a_command_is_analyzed(name: str) -> None:
    result = run(name)
    assert result.exit_code == 3
    assert result.stderr == f"Error: {name}: does not exist. Check the path.\n"


def test_a_recording_alone_is_analyzed_with_its_options() -> None:
    recording = str(SAMPLES / "ane-e5rt-macos26")
    result = run(recording, "--format", "brief")
    assert result.exit_code == 0
    assert result.stdout == run("analyze", recording, "--format", "brief").stdout
