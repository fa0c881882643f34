"""``tracekit fleet check``: what fails a build, what is open, and what has been accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fleet_rows import write_dataset
from fleets import EngineChange, Fleet, Step, Unmeasured, write_fleet

from tracekit.cli import main
from tracekit.fleet.dataset import open_dataset

pytestmark = pytest.mark.integration

PHONE = "iPhone 17 Pro 1"
SLOWER = Fleet(devices=1, builds=30, spread=0.01, steps=(Step("Encoder", PHONE, 25, 1.1),))
STEADY = Fleet(devices=1, builds=20, runs=3, spread=0.01)


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slower") / "results"
    write_fleet(folder, SLOWER)
    return folder


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steady") / "results"
    write_fleet(folder, STEADY)
    return folder


def run(results: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["fleet", "check", str(results), *arguments])


def test_a_change_fails_with_its_build_evidence_and_command(slower: Path) -> None:
    result = run(slower)
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "worse: Encoder on iPhone 17 Pro 1 (iPhone 17 Pro)" in text
    assert "from build 425" in text
    assert "Found at build 426, the next one." in text
    assert (
        "Settle it: tracekit record --app 424/Dictate.app --interleave 425/Dictate.app"
        " --device 'iPhone 17 Pro 1'"
    ) in text
    assert "Decoder on iPhone 17 Pro 1 (iPhone 17 Pro): p50 shows 5 % after 2 builds" in text


def test_an_earlier_build_is_judged_as_it_was_then(slower: Path) -> None:
    assert run(slower, "--build", "425").exit_code == 0
    assert run(slower, "--build", "426").exit_code == 1


def test_a_change_of_another_model_is_out_of_scope(slower: Path) -> None:
    assert run(slower, "--require", "no regressions in Decoder").exit_code == 0
    assert run(slower, "--require", "no regressions in Dec*").exit_code == 0
    assert run(slower, "--require", "no regressions in *coder").exit_code == 1
    assert run(slower, "--require", "no changes in Encoder").exit_code == 1


def test_an_accepted_change_fails_no_longer(tmp_path: Path) -> None:
    write_fleet(tmp_path / "results", SLOWER)
    assert run(tmp_path / "results", "--accept").exit_code == 0
    assert run(tmp_path / "results").exit_code == 0


def test_accepting_changes_leaves_other_requirements_as_they_are(tmp_path: Path) -> None:
    write_fleet(tmp_path / "results", SLOWER)
    required = ("--require", "no regressions", "--require", "p50 <= 5ms in Encoder")
    assert run(tmp_path / "results", "--accept", *required).exit_code == 1
    assert run(tmp_path / "results", "--require", "no regressions").exit_code == 0


def test_a_change_that_is_undone_is_closed(tmp_path: Path) -> None:
    steps = (Step("Encoder", PHONE, 20, 1.1), Step("Encoder", PHONE, 32, 1 / 1.1))
    write_fleet(tmp_path / "results", Fleet(devices=1, builds=40, spread=0.01, steps=steps))
    assert run(tmp_path / "results", "--build", "430").exit_code == 1
    assert run(tmp_path / "results").exit_code == 0


def test_a_faster_model_is_a_change_and_no_regression(tmp_path: Path) -> None:
    fleet = Fleet(devices=1, builds=30, spread=0.01, steps=(Step("Encoder", PHONE, 25, 0.9),))
    write_fleet(tmp_path / "results", fleet)
    assert run(tmp_path / "results").exit_code == 0
    assert run(tmp_path / "results", "--require", "no changes").exit_code == 1


def test_a_model_that_leaves_the_neural_engine_is_a_regression(tmp_path: Path) -> None:
    fleet = Fleet(devices=1, builds=12, engine_changes=(EngineChange("Decoder", PHONE, 11, "GPU"),))
    write_fleet(tmp_path / "results", fleet)
    result = run(tmp_path / "results", "--format", "json")
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)["changes"][0]["open"]
    assert (found["metric"], found["first_build"], found["found_at_build"]) == (
        "ANE used share",
        "411",
        "411",
    )
    assert (found["before"], found["after"]) == ([1, 1], [0, 0])


def test_too_few_builds_are_not_measurable(tmp_path: Path) -> None:
    write_fleet(tmp_path / "results", Fleet(devices=1, builds=3))
    result = run(tmp_path / "results")
    assert result.exit_code == 5
    assert "2 series of p50 with too few builds for a level" in " ".join(result.stdout.split())


def test_a_dataset_without_builds_is_not_measurable(tmp_path: Path) -> None:
    write_dataset(tmp_path / "results", recordings=[{"recording": "a", "state": "analyzed", "build": ""}])
    result = run(tmp_path / "results", "--require", "p50 <= 5ms in Encoder")
    assert result.exit_code == 5
    assert "no analyzed recording with a build" in result.stderr
    assert "--labels-from-name" in result.stderr


def test_devices_without_the_newest_build_are_listed_as_not_checked(tmp_path: Path) -> None:
    write_fleet(tmp_path / "results", Fleet(devices=2, builds=3))
    dataset = open_dataset(tmp_path / "results")
    last = {
        row["recording"]
        for row in dataset.open_table("recordings").to_table().to_pylist()
        if (row["device"], row["build"]) == (PHONE, "402")
    }
    dataset.replace(dataset.read_recording_ids() - last, {})
    result = run(tmp_path / "results")
    assert result.stdout.split("Not checked: no calls of the build that count\n")[1].splitlines()[:2] == [
        "  Decoder on iPhone 17 Pro 1 (iPhone 17 Pro)",
        "  Encoder on iPhone 17 Pro 1 (iPhone 17 Pro)",
    ]
    document = json.loads(run(tmp_path / "results", "--format", "json").stdout)
    assert [(entry["device"], entry["model"]) for entry in document["absent"]] == [
        (PHONE, "Decoder"),
        (PHONE, "Encoder"),
    ]
    assert json.loads(run(tmp_path / "results", "--format", "json", "--build", "401").stdout)["absent"] == []


@pytest.mark.parametrize(
    ("requirement", "code"),
    [
        ("p50 <= 30ms in Encoder", 0),
        ("p50 <= 5ms in Encoder", 1),
        ("p50 <= 5ms in Enc*", 1),
        ("warm max <= 30ms in Encoder", 0),
        ("max <= 15ms in Encoder", 1),
        ("p50 <= 10ms in Encoder", 5),
        ("ANE used share >= 60% in Encoder", 0),
        ("GPU used share >= 50% in Encoder", 1),
        ("calls >= 20 in Encoder", 0),
        ("p50 <= 30ms in Missing", 5),
    ],
)
def test_numbers_of_the_newest_build(steady: Path, requirement: str, code: int) -> None:
    result = run(steady, "--require", requirement)
    assert result.exit_code == code, result.stdout


def test_a_share_that_is_not_determined_is_not_measurable(tmp_path: Path) -> None:
    write_fleet(tmp_path / "results", Fleet(devices=1, builds=2, unmeasured=(Unmeasured(PHONE, 1, 2),)))
    result = run(tmp_path / "results", "--require", "ANE used share >= 90%")
    assert result.exit_code == 5
    assert "does not show if the ANE served its calls" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "requirement", ["no regresions", "ANE busy <= 3ms", "no finding fell-back", "no changes Encoder"]
)
def test_what_a_dataset_does_not_hold_is_a_usage_error(steady: Path, requirement: str) -> None:
    assert run(steady, "--require", requirement).exit_code == 2


def test_a_build_that_is_not_there_is_a_usage_error(steady: Path) -> None:
    result = run(steady, "--build", "9")
    assert result.exit_code == 2
    assert "There is no build 9 in the dataset; it has 410" in result.stderr
