"""``--noise-from LIBRARY``: the spread between runs from a dashboard's library, in compare and check."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from build_support import INFO, of_build, write_library
from click.testing import CliRunner, Result

from tracekit import Analysis
from tracekit.cli import check, compare, main, noise
from tracekit.errors import InputError

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
Run = Callable[..., Result]


@pytest.fixture
def recordings() -> dict[str, Analysis]:
    """The recordings by the paths at which the commands find them."""
    builds = {f"{uuid}{number}": of_build(uuid, length) for uuid, number, length in BUILDS}
    return {"base": of_build("base", 10.1), "new": of_build("new", 12.0), **builds}


BUILDS = [("A", 1, 10.0), ("A", 2, 10.2), ("A", 3, 9.9), ("B", 1, 30.0), ("B", 2, 30.5), ("C", 1, 7.0)]


@pytest.fixture
def run(recordings: dict[str, Analysis], monkeypatch: pytest.MonkeyPatch) -> Run:
    def analyse(inputs: tuple[str, ...], _options: Any) -> Analysis:
        (path,) = inputs
        if path not in recordings:
            raise InputError(path, "does not exist.")
        return recordings[path]

    for module in (noise, compare, check):
        monkeypatch.setattr(module, "analyse", analyse)
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


def listed(folder: Path, *names: str, device: str = "Mac") -> Path:
    return write_library(folder / "library", [(name, device) for name in names])


def test_compare_takes_the_spread_within_builds(tmp_path: Path, run: Run) -> None:
    library = listed(tmp_path, "A1", "B1", "new", "A2", "C1", "B2", "A3", "gone")
    result = run("compare", "base", "new", "--noise-from", library)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "between 1 run of BASE and 1 of NEW and 5 for the noise (of 2 builds)" in text
    caution = "both sides and 5 more recordings of 2 builds, around the mean of each build, and assumed"
    assert caution in text
    assert result.stderr == (
        f"note: {library}: 5 recordings of 2 builds show the spread between runs. Not used: 1 judged here, or"
        " a copy; 1 that cannot be read (moved, changed or damaged); 1 without another recording of the same"
        " build.\n"
    )
    document = json.loads(run("compare", "base", "new", "--noise-from", library, "--format", "json").stdout)
    assert (document["noise_runs"], document["noise_builds"]) == (5, 2)
    assert document["groups"][0]["rows"][0]["tested"] == "between runs"


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_reports_name_the_builds(tmp_path: Path, run: Run, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    assert (
        run("compare", "base", "new", "--noise-from", listed(tmp_path, "A1", "A2"), "-o", out).exit_code == 0
    )
    assert "2 more recordings of one build" in " ".join(out.read_text().split())


def test_check_takes_the_spread_within_builds(tmp_path: Path, run: Run) -> None:
    library = listed(tmp_path, "A1", "B1", "A2", "B2", "A3")
    options = ("base", "--require", "p50 <= 20ms", "--noise-from", library)
    result = run("check", *options)
    assert (result.exit_code, "5 other recordings of 2 builds" in result.stdout) == (0, True)
    (checked,) = json.loads(run("check", *options, "--format", "json").stdout)["results"]
    assert "with the spread between runs of 5 other recordings of 2 builds" in checked["actual"]["note"]


def test_a_library_without_two_recordings_of_a_build_leaves_the_question_open(
    tmp_path: Path, run: Run, recordings: dict[str, Analysis]
) -> None:
    recordings["A2"] = of_build("A", 10.2, replace(INFO, os="14.0"))
    recordings["B2"] = of_build("", 30.5)
    library = listed(tmp_path, "A1", "A2", "B1", "B2", "C1")
    for command in (("compare", "base", "new"), ("check", "base", "--require", "p50 <= 20ms")):
        result = run(*command, "--noise-from", library)
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr == (
            f"Error: {library}: this library shows no spread between runs: it has no two further recordings of"
            " one build of App on Mac with 15.0 and the same models (Net). Not used: 3 without another recording"
            " of the same build; 1 of another program, device, system or set of models; 1 whose binary has no"
            " UUID. Record one build twice or more and add the recordings to the library, or give the spread by"
            " --run-noise.\n"
        )


def test_recordings_that_do_not_show_where_they_ran_match_nothing(
    tmp_path: Path, run: Run, recordings: dict[str, Analysis]
) -> None:
    for name in ("base", "new"):
        recordings[name] = of_build(name, 10.0, replace(INFO, device=""))
    result = run("compare", "base", "new", "--noise-from", listed(tmp_path, "A1", "A2"))
    assert result.exit_code == 5
    assert "which are without the name of the device, its model or its system." in result.stderr


def test_recordings_of_other_devices_are_not_read_and_of_this_one_the_newest(
    tmp_path: Path, run: Run, recordings: dict[str, Analysis], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = listed(tmp_path, "gone", "lost", device="Phone")
    result = run("compare", "base", "new", "--noise-from", other)
    assert (result.exit_code, "Not used: 2 of another device." in result.stderr) == (5, True)
    monkeypatch.setattr(noise, "_MAX_READ_RECORDINGS", 2)
    shutil.rmtree(other)
    result = run("compare", "base", "new", "--noise-from", listed(tmp_path, "gone", "A1", "A2"))
    assert (result.exit_code, "2 recordings of 1 build show" in result.stderr) == (0, True)
    assert "1 older than the newest" in result.stderr


def test_named_recordings_and_a_library_together(tmp_path: Path, run: Run) -> None:
    library = listed(tmp_path, "A1", "A2")
    noise_from = [part for name in ("B1", "B2", library) for part in ("--noise-from", name)]
    text = run("compare", "base", "new", *noise_from).stdout
    assert "4 for the noise (of 2 builds)" in " ".join(text.split())
    alone = run("compare", "base", "new", "--noise-from", "B1", "--noise-from", library)
    assert (alone.exit_code, "One recording shows no spread" in alone.stderr) == (2, True)


def test_a_catalog_that_is_none(tmp_path: Path, run: Run) -> None:
    (tmp_path / "catalog.sqlite3").write_bytes(b"garbage" * 99)
    result = run("compare", "base", "new", "--noise-from", tmp_path)
    assert result.exit_code == 3
    assert f"{tmp_path}: the library's catalog cannot be read (file is not a database)." in result.stderr


@pytest.mark.parametrize("cell", ["7", "NULL", "x'0041'"])
def test_a_catalog_with_cells_of_any_type(tmp_path: Path, run: Run, cell: str) -> None:
    library = listed(tmp_path, "new", "base", "C1", "A1", "A2")
    with closing(sqlite3.connect(library / "catalog.sqlite3")) as connection:
        connection.execute("CREATE TABLE forged AS SELECT * FROM recordings")
        connection.execute("DROP TABLE recordings")
        connection.execute("ALTER TABLE forged RENAME TO recordings")
        for row, column in enumerate(("id", "path", "device"), 1):
            connection.execute(f"UPDATE recordings SET {column} = {cell} WHERE rowid = {row}")
        connection.commit()
    result = run("compare", "base", "new", "--noise-from", library)
    assert (result.exit_code, result.exception) == (0, None), result.stderr
    assert "and 2 for the noise" in " ".join(result.stdout.split())


def test_files_and_uploads_of_a_library_are_found(tmp_path: Path) -> None:
    """With recordings on the disk: a file is where it was added, an upload in the library itself."""
    sample = SAMPLES / "foundation-models-macos27"
    library = write_library(tmp_path / "library", [(str(sample), "Synthetic Mac"), ("", "Synthetic Mac")])
    shutil.copytree(sample, library / "recordings" / f"{1:032x}" / "input")
    result = CliRunner().invoke(main, ["compare", str(sample), str(sample), "--noise-from", str(library)])
    assert result.exit_code == 5
    assert "Not used: 2 judged here, or a copy." in result.stderr
