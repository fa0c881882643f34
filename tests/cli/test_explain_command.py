"""``tracekit explain`` as a user runs it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.findings.find import KINDS, MORE_FINDINGS
from tracekit.cli import main
from tracekit.columns.frames import FRAMES
from tracekit.errors import EXIT_CODES, TracekitError
from tracekit.fleet.schema import TABLES
from tracekit.model.issue_codes import ISSUE_CODES
from tracekit.model.vocabulary import Basis, Engine
from tracekit.report.explanation.explain import explain, list_names


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


@pytest.mark.slow
def test_each_kind_and_each_code_is_explained() -> None:
    for name in (*KINDS, MORE_FINDINGS, *ISSUE_CODES):
        assert all(section.blocks for section in explain(name)), name


@pytest.mark.parametrize(
    ("name", "heading", "text"),
    [
        ("ANE_busy_ns", "ANE_busy_ns (column)", "analysis.windows  work of the ANE for the inference"),
        (
            "ane_busy_ns",
            "ane_busy_ns (column)",
            "Time that the ANE certainly worked for the call",
        ),
        ("5", "5 (exit code)", "A requirement cannot be measured in this recording."),
        ("hand_over", "hand_over (part of a call's budget)", "Basis     inferred"),
        ("SAMPLED", "sampled (basis of a number)", "host time is never the time of the Neural Engine"),
        ("mixed", "MIXED (engine)", "no majority decides"),
        ("ane.submit", "ane.submit", "Confidence  A: seen in a real stack"),
        ("dt01", "DT01 32-bit floats inside the model", "Effect      leaves the engine (Core ML)"),
    ],
)
def test_each_subject_is_explained_in_any_case(name: str, heading: str, text: str) -> None:
    lines = run(name).output.splitlines()
    assert heading in lines
    assert text in "\n".join(lines) or text in " ".join("\n".join(lines).split())


def test_a_name_of_two_subjects_has_both() -> None:
    output = run("copy").output
    assert [line for line in output.splitlines() if line.startswith("copy")] == [
        "copy (part of a call's budget)",
        "copy (column)",
    ]


def test_every_declared_name_is_explained() -> None:
    names = set(list_names())
    assert {str(part) for part in BudgetPart} | {str(basis) for basis in Basis} <= names
    assert {str(engine) for engine in Engine} | {str(code) for code in EXIT_CODES} <= names
    assert {name for frame in FRAMES.values() for name, _ in frame.select("frame")} <= names
    assert {name for table in TABLES.values() for name in table} <= names


def test_each_exit_code_of_an_error_has_its_meaning() -> None:
    codes = {kind.exit_code for kind in (TracekitError, *TracekitError.__subclasses__())}
    assert codes < set(EXIT_CODES)
    help_text = " ".join(CliRunner().invoke(main, ["--help"]).output.split())
    assert all(f"{code} {EXIT_CODES[code].summary}" in help_text for code in codes)


def test_the_words_of_a_budget_are_explained_as_they_are_printed() -> None:
    assert run("hand-over").output == run("hand_over").output
    assert run("neural engine").output == run("ANE").output


@pytest.mark.parametrize("name", ["", " ", "fell\x1bback"])
def test_no_name_and_a_hostile_one_are_refused(name: str) -> None:
    result = run(name)
    assert result.exit_code == 2
    assert f"has the name '{name}'".replace("\x1b", "\\x1b") in result.output


def test_a_name_with_a_mistake() -> None:
    result = run("fel-back")
    assert result.exit_code == 2
    assert "Similar names: fell-back" in result.output
