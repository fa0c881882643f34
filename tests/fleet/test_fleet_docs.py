"""The first example of docs/fleet.md runs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracekit.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs" / "fleet.md"


@pytest.mark.integration
def test_the_first_example_runs_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_traces").symlink_to(DOCS.parents[1] / "sample_traces")
    monkeypatch.chdir(tmp_path)
    example = DOCS.read_text().split("```\n")[1]
    commands = [shlex.split(line)[1:] for line in example.splitlines() if line.startswith("tracekit ")]
    results = [CliRunner().invoke(main, command) for command in commands]
    assert [result.exit_code for result in results] == [0, 0, 0]
    assert results[0].output.splitlines()[0] == "results/: 30 recordings analyzed, 1 the same as others."
    assert len(results[0].output.splitlines()) == 3
    assert results[2].output.splitlines()[-1].split() == ["iPhone", "17", "6"]
