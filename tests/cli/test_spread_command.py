"""``tracekit spread``: of named runs, and of a dashboard's library."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from build_support import of_build, write_library
from click.testing import CliRunner, Result
from compare_support import INFO, recorded

from tracekit import Analysis
from tracekit.cli import main, noise, spread
from tracekit.errors import InputError

pytestmark = pytest.mark.integration

Run = Callable[..., Result]
CALLS = [10 + call * 1.37 % 3 for call in range(12)]
LEVELS = (1.0, 1.02, 0.97, 1.05, 0.99)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    recordings: dict[str, Analysis] = {
        f"run{number}": recorded([level * length for length in CALLS])
        for number, level in enumerate(LEVELS, start=1)
    }
    recordings |= {"few": recorded([10.0] * 3)}
    recordings |= {"newer": recorded([1.01 * length for length in CALLS], info=replace(INFO, os="27.0"))}
    for uuid, number, length in (
        ("A", 1, 10.0),
        ("A", 2, 10.2),
        ("A", 3, 9.9),
        ("B", 1, 30.0),
        ("B", 2, 30.5),
    ):
        recordings[f"{uuid}{number}"] = of_build(uuid, length)

    def analyse(inputs: tuple[str, ...], _options: Any) -> Analysis:
        (path,) = inputs
        if path not in recordings:
            raise InputError(path, "does not exist.")
        return recordings[path]

    for module in (noise, spread):
        monkeypatch.setattr(module, "analyse", analyse)
    return lambda *arguments: CliRunner().invoke(main, ["spread", *map(str, arguments)])


def test_runs_show_their_spread_and_what_a_gate_decides(run: Run) -> None:
    result = run("run1", "run2", "run3", "run4", "run5")
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "App: 5 runs show how much runs differ." in text
    assert "--run-noise p50=3% --run-noise p90=3% --run-noise mean=3%" in text
    assert "Net p50 11.2 ms 3 % 9.7 % 6.4 % 4.1 % 2.8 %" in text
    assert "With 4 degrees of freedom, the true spread may be 2.9 times as large" in text
    assert "The spread between sessions is not shown" in text


def test_its_command_is_one_that_compare_takes(run: Run) -> None:
    text = " ".join(run("run1", "run2", "run3", "run4", "run5").stdout.split())
    options = text.partition("tracekit compare BASE NEW ")[2].split(" ")[:6]
    assert options[::2] == ["--run-noise"] * 3
    result = CliRunner().invoke(main, ["compare", "nowhere", "nowhere", *options])
    assert "nowhere: does not exist" in result.stderr


def test_json_has_the_smallest_changes(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "spread.json"
    assert run("run1", "run2", "run3", "-o", output).exit_code == 0
    document = json.loads(output.read_text())
    assert document["schema"] == "tracekit-spread/1"
    ((program,), first) = document["programs"], document["programs"][0]["spreads"][0]
    assert (program["program"], program["builds"]) == ("App", 1)
    assert (first["model"], first["metric"], first["degrees_of_freedom"]) == ("Net", "p50", 2)
    assert list(first["smallest_changes"]) == ["3", "5", "10", "20"]
    assert sorted(first["smallest_changes"].values(), reverse=True) == list(
        first["smallest_changes"].values()
    )


def test_a_library_is_taken_apart_by_build(run: Run, tmp_path: Path) -> None:
    names = ("A1", "B1", "A2", "B2", "A3", "gone")
    library = write_library(tmp_path / "library", [(name, "Mac") for name in names])
    result = run(library, "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert "not used: 1 that cannot be read" in result.stderr
    (program,) = json.loads(result.stdout)["programs"]
    assert program["builds"] == 2
    assert {entry["degrees_of_freedom"] for entry in program["spreads"]} == {3}


def test_named_runs_of_two_builds_spread_around_their_own_means(run: Run) -> None:
    (program,) = json.loads(run("A1", "A2", "B1", "B2", "--format", "json").stdout)["programs"]
    assert program["builds"] == 2
    assert max(entry["spread"] for entry in program["spreads"]) < 0.02


def test_runs_of_several_systems_are_noted(run: Run) -> None:
    assert "note: the runs are of several devices or systems" not in run("run1", "run2").stderr
    stderr = run("run1", "run2", "newer").stderr
    assert "note: the runs are of several devices or systems" in stderr
    assert "27.0" in stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run1"], 2, "One recording shows no spread between runs"),
        (["run1", "run1"], 5, "no two different runs of a build"),
        (["few", "few"], 5, "no two different runs of a build"),
        (["run1", "gone"], 3, "gone: does not exist"),
        (["-", "-"], 2, "Standard input can be one of the recordings"),
    ],
)
def test_what_shows_no_spread_is_an_error(run: Run, arguments: list[str], code: int, message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_library_without_two_recordings_of_a_build(run: Run, tmp_path: Path) -> None:
    library = write_library(tmp_path / "library", [("A1", "Mac"), ("B1", "Mac")])
    result = run(library)
    assert result.exit_code == 5
    assert "no two recordings of one build" in result.stderr
    assert run(library, "run1").exit_code == 2
