"""Prompts, answers and other private text are printed only with --private."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from documents_support import column, one_table, read_table, write

from tracekit.cli import main
from tracekit.redact.private_cells import hide_private

INFERENCES = one_table(
    "ModelInferenceTable",
    [
        ("start", "start-time"),
        ("model-request-id", "string"),
        ("prompt", "string"),
        ("response", "string"),
        ("content", "string"),
        ("prompt-tokens", "string"),
        ("reasoning", "formatted-label"),  # no such column is known
        ("instructions", "uint64"),
    ],
    '<start-time id="1">5</start-time><string id="2">R-1</string><string id="3">Who killed Laura Palmer</string>'
    '<string id="4">Bob\n</string><string id="5" fmt=""></string><string id="6">9</string>'
    '<formatted-label id="7" fmt="x"><narrative-text id="8">Leland, </narrative-text><uint64-hex-lowercase id="9">'
    '255</uint64-hex-lowercase></formatted-label><uint64 id="10">1</uint64>',
    '<start-time id="11">6</start-time><string id="12">R-2</string><string ref="3"/><sentinel/><sentinel/>'
    '<string id="13">8</string><sentinel/><uint64 ref="10"/>',
    '<start-time id="14">7</start-time><string id="15">R-3</string><string id="16">Who killed Cooper, Dale?</string>'
    '<string id="17">B</string><string ref="5"/><sentinel/><formatted-label ref="7"/><sentinel/>',
)
WORDS = ("Laura", "Cooper", "Bob", "Leland")
FORMATS = ("text", "csv", "json", "parquet")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["tables", *arguments])


@pytest.fixture
def inferences(tmp_path: Path) -> str:
    return write(tmp_path, INFERENCES)


def rows_of(path: str, name: str, *arguments: str) -> list[dict[str, Any]]:
    result = run(path, "--schema", name, "--format", "json", *arguments)
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return rows


def test_prompts_and_answers_are_hidden(inferences: str) -> None:
    result = run(inferences, "--schema", "ModelInferenceTable", "--format", "csv")
    assert list(csv.reader(io.StringIO(result.stdout)))[1:] == [
        [
            "5",
            "R-1",
            "<private, 23 characters>",
            "<private, 4 characters>",
            "",
            "9",
            "<private, 12 characters>",
            "1",
        ],
        ["6", "R-2", "<private, 23 characters>", "", "", "8", "", "1"],
        [
            "7",
            "R-3",
            "<private, 24 characters>",
            "<private, 1 character>",
            "",
            "",
            "<private, 12 characters>",
            "",
        ],
    ]
    assert (
        result.stderr
        == "note: private columns are hidden: prompt, response, reasoning. Show them with --private.\n"
    )


def test_hidden_cells_keep_their_form(inferences: str) -> None:
    first, second, _ = rows_of(inferences, "ModelInferenceTable")
    assert first["prompt"] == "<private, 23 characters>"
    assert first["reasoning"] == [{"type": "string", "value": "<private, 12 characters>"}]
    assert (first["content"], first["instructions"]) == ("", 1)
    assert (second["response"], second["content"], second["reasoning"]) == (None, None, None)
    shown = json.loads(
        run(inferences, "--schema", "ModelInferenceTable", "--format", "json", "--private").stdout
    )
    hidden = json.loads(run(inferences, "--schema", "ModelInferenceTable", "--format", "json").stdout)
    assert hidden["columns"] == shown["columns"]


@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_prints_a_prompt_without_private(inferences: str, format_: str, tmp_path: Path) -> None:
    output = tmp_path / "output"
    chosen = ("--schema", "ModelInferenceTable", "--format", format_, "-o", str(output), "--force")

    def written(*arguments: str) -> str:
        assert run(inferences, *chosen, *arguments).exit_code == 0
        return str(pq.read_table(output).to_pylist()) if format_ == "parquet" else output.read_text()

    hidden, shown = written(), written("--private")
    assert not any(word in hidden for word in WORDS)
    assert hidden.count("<private, 23 characters>") == 2
    assert all(word in shown for word in WORDS)


def test_what_is_not_printed_is_not_noted(inferences: str) -> None:
    chosen = (inferences, "--schema", "ModelInferenceTable", "--columns")
    assert "are hidden: prompt. Show" in run(*chosen, "prompt,start").stderr
    assert run(*chosen, "start,content").stderr == ""
    assert run(*chosen, "prompt", "--limit", "0").stderr == ""
    assert run(*chosen, "prompt", "--private").stderr == ""


def test_a_table_keeps_no_word_behind_its_cells(tmp_path: Path) -> None:
    clear = read_table(tmp_path, INFERENCES, "ModelInferenceTable")
    table, names = hide_private(clear)
    assert names == ("prompt", "response", "reasoning")
    assert table.rows["prompt"].cat.categories.tolist() == [
        "<private, 23 characters>",
        "<private, 24 characters>",
    ]
    assert table.columns == clear.columns
    assert table.rows.dtypes.astype(str).tolist() == clear.rows.dtypes.astype(str).tolist()
    assert column(clear, "prompt")[2] == "Who killed Cooper, Dale?"


def test_only_the_cells_of_the_printed_rows_are_in_the_output(inferences: str) -> None:
    assert [row["prompt"] for row in rows_of(inferences, "ModelInferenceTable", "--limit", "1")] == [
        "<private, 23 characters>"
    ]


def test_an_unknown_table_with_a_prompt_is_private_too(tmp_path: Path) -> None:
    columns = [
        ("response", "string"),
        ("arguments", "uint64-array"),
        ("state", "string"),
        ("message", "string"),
    ]
    cells = (
        '<string id="1">Bob</string><uint64-array id="2">12 345</uint64-array><string id="3">done</string>'
        '<string id="4">Hi</string>'
    )
    path = write(tmp_path, one_table("TranscriptTable", columns, cells))
    assert rows_of(path, "TranscriptTable") == [
        {
            "response": "<private, 3 characters>",
            "arguments": "<private, 6 characters>",
            "state": "done",
            "message": "Hi",
        }
    ]


def test_other_tables_are_not_touched(tmp_path: Path) -> None:
    columns = [("message", "string"), ("content", "string"), ("instructions", "string")]
    path = write(
        tmp_path, one_table("odd", columns, '<string id="1">a</string><string ref="1"/><string ref="1"/>')
    )
    result = run(path, "--schema", "odd", "--format", "csv")
    assert result.stdout == "message,content,instructions\na,a,a\n"
    assert result.stderr == ""


def test_messages_that_foundation_models_log_are_hidden(tmp_path: Path) -> None:
    columns = [("time", "event-time"), ("subsystem", "subsystem"), ("message", "os-log-metadata")]
    message = '<os-log-metadata id="{}" fmt="x"><string id="{}">{}</string></os-log-metadata>'
    framework_row = (
        '<event-time id="1">1</event-time><subsystem id="2">com.apple.FoundationModels</subsystem>'
    )
    app_row = '<event-time id="5">2</event-time><subsystem id="6">org.example.app</subsystem>'
    path = write(
        tmp_path,
        one_table(
            "os-log",
            columns,
            framework_row + message.format(3, 4, "Laura"),
            app_row + message.format(7, 8, "Leo"),
        ),
    )
    assert run(path, "--schema", "os-log", "--columns", "message", "--format", "csv").stdout.splitlines() == [
        "message",
        '"<private, 5 characters>"',
        "Leo",
    ]
    assert "Laura" in run(path, "--schema", "os-log", "--private").stdout


PRIVATE_COLUMNS = {
    "FMEventTable": {"message"},
    "InstructionsTable": {"instruction", "plot-label"},
    "ModelInferenceTable": {"plot-label", "prompt", "response", "instruction", "instructions"},
    "ModelLoadingTable": set(),
    "RequestTable": {"first-prompt", "plot-label"},
    "SessionTable": {"first-prompt", "plot-label"},
    "ToolTable": set(),  # the export has no row
}


@pytest.mark.parametrize("name", sorted(PRIVATE_COLUMNS))
def test_real_exports_show_no_words(shared: Path, name: str) -> None:
    folder = shared / "traces" / "xml" / "sforteln__xctrace-query-mcp-server"
    path = str(folder / f"schema-table__{name}.xml")
    clear, hidden = rows_of(path, name, "--private"), rows_of(path, name)
    assert len(clear) == len(hidden)
    differing = {key for a, b in zip(clear, hidden, strict=True) for key in a if a[key] != b[key]}
    assert differing == PRIVATE_COLUMNS[name]
    words = {row[key] for row in clear for key in differing}
    for format_ in ("text", "csv", "json"):
        output = run(path, "--schema", name, "--format", format_).output
        assert not any(word in output for word in words)


def test_tokens_of_an_answer_that_signposts_hold_are_hidden(tmp_path: Path) -> None:
    columns = [
        ("time", "event-time"),
        ("name", "signpost-name"),
        ("subsystem", "subsystem"),
        ("message", "os-log-metadata"),
    ]
    package = '<subsystem id="9{}">com.apple.coreai-models.performance</subsystem>'
    message = '<os-log-metadata id="5{}" fmt="x"><string id="6{}">{}</string></os-log-metadata>'
    named = '<event-time id="1{}">1</event-time><signpost-name id="2{}">{}</signpost-name>'
    rows = [
        named.format(number, number, name) + package.format(number) + message.format(number, number, text)
        for number, (name, text) in enumerate([("TokenGeneration", "Token 3: Laura"), ("Extend", "step=3")])
    ]
    path = write(tmp_path, one_table("os-signpost", columns, *rows))
    arguments = ("--schema", "os-signpost", "--columns", "message", "--format", "csv")
    assert run(path, *arguments).stdout.splitlines() == ["message", '"<private, 14 characters>"', "step=3"]
    assert "Laura" in run(path, *arguments, "--private").stdout
