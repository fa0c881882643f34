"""docs/fleet.md lists the tables as the schema declares them, and its first example runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracekit.cli import main
from tracekit.fleet.schema import PLACE, TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs" / "fleet.md"


def listed(heading: str) -> dict[str, str]:
    section = DOCS.read_text().split(f"\n### {heading}\n")[1].split("\n#")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))


def test_the_columns_of_every_row_are_documented() -> None:
    assert listed("Every table") == {name: column.meaning for name, column in PLACE.items()}


@pytest.mark.parametrize("table", TABLES)
def test_each_table_is_documented(table: str) -> None:
    columns = {name: column.meaning for name, column in TABLES[table].items() if name not in PLACE}
    assert listed(f"`{table}`") == columns


@pytest.mark.integration
def test_the_first_example_runs_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_traces").symlink_to(DOCS.parents[1] / "sample_traces")
    monkeypatch.chdir(tmp_path)
    example = DOCS.read_text().split("```\n")[1]
    commands = [shlex.split(line)[1:] for line in example.splitlines() if line.startswith("tracekit ")]
    results = [CliRunner().invoke(main, command) for command in commands]
    assert [result.exit_code for result in results] == [0, 0, 0]
    assert results[0].output.splitlines()[0] == "results/: 28 recordings analyzed, 1 the same as others."
    assert len(results[0].output.splitlines()) == 3
    assert results[2].output.splitlines()[-1].split() == ["iPhone", "17", "6"]
