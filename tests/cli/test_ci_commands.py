"""No line that a command prints is itself a command to the CI that runs it, whatever names a recording holds.

GitHub Actions: a line that begins with ``::``, after any whitespace, or that holds ``##[…]`` anywhere
(actions/runner, ActionCommand.cs). Azure Pipelines: ``##vso[…]`` anywhere (azure-pipelines-agent, Command.cs);
``##[error]`` and the like change its log. TeamCity: ``##teamcity[…]``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from export_support import SAMPLES, window, with_names
from hypothesis import given
from hypothesis import strategies as st
from trace_support import ANE, UI, trace_of

from tracekit import analyze, compare
from tracekit.cli import main, standard_error
from tracekit.report.document.text_printer import Page
from tracekit.text import escape_json, escape_spreadsheet_cell, printable, without_commands

pytestmark = pytest.mark.integration

SOURCE = SAMPLES / "fallback-midway-ios27"
MODEL, APP, FRAME = "::error file=a,line=1::owned", "##vso[task.setvariable variable=a]b", "::stop-commands::"
NAMES = [
    MODEL,
    APP,
    FRAME,
    "\u00a0::warning::z",
    "x ##[add-mask]y",
    "###[group]g",
    "##teamcity[buildStop]",
    "a-::error::b",
]

PARTS = [*":#[]- \u00a0\n\\ab", "::", "##", "##vso[", "error"]
pieces = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


def commands_in(text: str) -> list[str]:
    """Return the lines that a CI would run."""
    lines = re.split(r"\r\n|\r|\n", text)
    return [
        line
        for line in lines
        if line.lstrip().startswith("::") or re.search(r"##(\[|vso\[|teamcity\[)", line, re.ASCII)
    ]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a recording whose model, app and functions are named like commands."""
    folder = tmp_path_factory.mktemp("names") / "::error::recording"
    folder.mkdir()
    for path in SOURCE.glob("*.xml"):
        text = path.read_text("utf-8").replace("SpeechEncoder", MODEL).replace("SampleApp", APP)
        (folder / path.name).write_text(re.sub(r'(<frame id="\d+" name=")', rf"\1{FRAME}", text), "utf-8")
    return str(folder)


@given(pieces)
def test_no_text_is_a_command_and_a_second_pass_changes_nothing(text: str) -> None:
    safe = without_commands(text)
    assert commands_in(safe) == []
    assert without_commands(safe) == safe
    assert safe.replace("\\", "") == text.replace("\\", "")


@given(pieces, st.integers(20, 60))
def test_no_wrapping_brings_a_command_to_the_beginning_of_a_line(text: str, width: int) -> None:
    assert commands_in(without_commands(Page(width).wrap(printable(text), "  "))) == []


@given(pieces)
def test_json_keeps_its_value_and_a_cell_begins_no_command(text: str) -> None:
    document = escape_json(json.dumps([text]))
    assert (json.loads(document), commands_in(document)) == ([text], [])
    assert commands_in(escape_spreadsheet_cell(text)) == []


@pytest.mark.parametrize(
    "text", ["std::vector<int>::at", "a ::b", "## Heading", "C# [x]", "#[x]", "[##]", "", "--- \n+++"]
)
def test_other_text_stays(text: str) -> None:
    assert without_commands(text) == text


@pytest.mark.parametrize("name", NAMES)
def test_texts_of_the_library_hold_no_command(name: str) -> None:
    trace = with_names(trace_of([(0.0, "main", ANE), (1.0, "main", UI)]), name)
    analysis = analyze(trace, windows=[window(0, 1, name)])
    comparison = compare(analysis, analysis)
    texts = (analysis.to_text(), analysis.to_text(verbose=True), analysis.to_markdown(), analysis.to_json())
    compared = (comparison.to_text(), comparison.to_markdown(), comparison.to_json())
    for text in (*texts, *compared):
        assert commands_in(text) == []


@pytest.mark.integration
@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze"],
        ["analyze", "-v"],
        ["analyze", "--format", "json"],
        ["analyze", "--format", "jsonl"],
        ["report", "--format", "text", "-o", "-"],
        ["report", "--format", "markdown", "-o", "-"],
        ["report", "--format", "json", "-o", "-"],
        ["check", "--no-config", "--require", "p90 <= 0.001ms"],
        ["check", "--no-config", "--require", "p90 <= 0.001ms", "--format", "json"],
        ["check", "--no-config", "--require", "p90 <= 0.001ms", "--format", "junit"],
        ["compare", str(SOURCE)],
        ["compare", str(SOURCE), "--format", "markdown"],
        ["compare", str(SOURCE), "--format", "json"],
        ["tables"],
        ["tables", "--schema", "time-profile"],
        ["tables", "--schema", "time-profile", "--format", "csv"],
        ["tables", "--schema", "time-profile", "--format", "json"],
        ["tables", "--schema", "os-signpost", "--columns", "message", "--format", "csv"],
        ["export", "--to", "csv", "--table", "windows"],
        ["export", "--to", "folded"],
        ["export", "--to", "folded", "--root", ""],
        ["analyze", "--windows", "no-such-file"],
        ["analyze", "--process", "nobody"],
        ["tables", "--schema", "none"],
    ],
    ids=" ".join,
)
def test_a_command_prints_no_command_of_a_ci(
    recording: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A relative path begins with the folder's name, as the messages about it do.
    folder = Path(recording)
    monkeypatch.chdir(folder.parent)
    result = CliRunner().invoke(main, [arguments[0], folder.name, *arguments[1:]])
    assert result.exit_code in (0, 1, 2, 3, 5), result.output
    assert commands_in(result.output) == []
    assert result.exit_code > 1 or any(
        part in result.output for part in ("owned", "setvariable", "stop-comm")
    )


def test_annotations_of_github_stay_commands_and_hold_no_other(recording: str) -> None:
    arguments = ["check", recording, "--no-config", "--require", "p90 <= 0.001ms", "--format", "github"]
    lines = CliRunner().invoke(main, arguments).output.splitlines()
    assert lines[0].startswith("::error title=")
    assert all(re.match(r"::(error|warning|notice) title=[^:]*::", line) for line in lines)


def test_the_first_cell_of_a_csv_is_marked_and_the_others_are_exact(recording: str) -> None:
    arguments = ["export", recording, "--to", "csv", "--table", "windows"]
    rows = list(csv.DictReader(io.StringIO(CliRunner().invoke(main, arguments).stdout)))
    assert {row["label"].removeprefix("'") for row in rows if "owned" in row["label"]} == {MODEL}


def test_a_message_that_begins_with_a_name_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    standard_error.write_message("::error::a.trace is damaged.", "  ::stop-commands::x", "y ##vso[z]")
    shown = capsys.readouterr().err
    assert shown == "\\::error::a.trace is damaged.\n  \\::stop-commands::x\ny #\\#vso[z]\n"


@pytest.mark.parametrize("name", NAMES)
def test_an_argument_in_a_message_about_the_usage_is_no_command(name: str) -> None:
    for arguments in ([name], ["analyze", f"--{name}"], ["analyze", "x", "--run", name]):
        assert commands_in(CliRunner().invoke(main, arguments).output) == []
