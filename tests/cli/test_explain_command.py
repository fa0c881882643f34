"""``tracekit explain`` as a user runs it."""

from __future__ import annotations

from click.testing import CliRunner, Result

from tracekit.analysis.findings.find import KINDS, MORE_FINDINGS
from tracekit.cli import main
from tracekit.model.issue_codes import ISSUE_CODES
from tracekit.report.explanation.explain import explain


def run(name: str) -> Result:
    return CliRunner().invoke(main, ["explain", name])


def test_a_finding_is_explained_without_markup() -> None:
    result = run("no-symbols")
    assert result.exit_code == 0
    assert "Half of the stacks or more have addresses only." in result.output
    assert "name the functions with `--symbols`" in " ".join(result.output.split())
    assert "symbols.md" not in result.output


def test_an_issue_is_explained_with_what_to_do() -> None:
    result = run("recording-unfinished")
    assert "The recording was not saved to its end" in result.output
    assert "To do: record again" in " ".join(result.output.split())


def test_each_kind_and_each_code_is_explained() -> None:
    for name in (*KINDS, MORE_FINDINGS, *ISSUE_CODES):
        assert all(section.blocks for section in explain(name)), name


def test_a_name_with_a_mistake() -> None:
    result = run("fel-back")
    assert result.exit_code == 2
    assert "Similar names: fell-back" in result.output
