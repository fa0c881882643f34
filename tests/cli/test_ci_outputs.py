"""Several outputs of one command for a CI: the step's summary, annotations of a comparison, the report beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tracekit.cli import main
from tracekit.cli.ci_outputs import append_step_summary
from tracekit.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
FALLBACK = str(ROOT / "sample_traces" / "fallback-midway-ios27")


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_summary_is_appended_and_holds_no_command(summary: Path) -> None:
    append_step_summary("## One")
    append_step_summary("::error::x\n##[group]y")
    assert summary.read_text() == "## One\n\\::error::x\n#\\#[group]y\n"


def test_a_summary_that_github_would_refuse_is_replaced_by_a_sentence(summary: Path) -> None:
    append_step_summary("x" * ((1 << 20) - 1))
    assert summary.stat().st_size == 1 << 20
    append_step_summary("y")
    assert summary.read_bytes()[1 << 20 :].startswith(b"The result of tracekit is too long for this summary")


def test_there_is_no_summary_outside_of_github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    append_step_summary("x")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "")
    append_step_summary("x")
    assert not list(tmp_path.iterdir())


def test_a_summary_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "summary.md"))
    with pytest.raises(
        UsageError, match=r"summary\.md \(GITHUB_STEP_SUMMARY\) cannot be written: No such file"
    ):
        append_step_summary("x")


@pytest.mark.integration
def test_a_comparison_is_annotated(summary: Path) -> None:
    result = run("compare", FALLBACK, FALLBACK, "--fail-on", "p90 > +10%", "--format", "github")
    assert result.exit_code == 5
    lines = result.stdout.splitlines()
    assert lines[0].startswith("::warning title=fail-on p90 > +10%25::p90 29.900 ms → 29.900 ms (+0.0 %25)")
    assert lines[1].startswith("::notice title=tracekit compare::BASE and NEW are the same recording.")
    assert {line.partition("::")[2].partition("::")[0] for line in lines[2:]} == {"notice title=caution"}
    assert summary.read_text().startswith("## Comparison\n\n? **No change in these recordings.**")


@pytest.mark.integration
def test_two_outputs_are_not_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (("check", FALLBACK, "--require", "max <= 1s"), ("compare", FALLBACK, FALLBACK)):
        both = run(*command, "-o", "x.json", "--report", "./x.json")
        assert (both.exit_code, "cannot hold both results" in both.output) == (2, True)
        assert run(*command, "--report", "-").exit_code == 2
        assert run(*command, "-o", "y.json", "--report", str(tmp_path / "none" / "x.html")).exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.integration
def test_markdown_of_a_check_follows_the_extension(tmp_path: Path) -> None:
    output = tmp_path / "check.md"
    assert run("check", FALLBACK, "--require", "max <= 1s", "-o", str(output)).exit_code == 0
    assert "- **passed** require max &lt;= 1s: max is 29.900 ms (measured, 12 calls)" in output.read_text()
