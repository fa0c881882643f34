"""``tracekit model`` as a user runs it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracekit.cli import main

TEXT = """program(1.0)
{
    func main<ios17>(tensor<fp16, [1, 8]> x) {
            tensor<fp16, [1, 8]> a = relu(x = x)[name = string("first")];
            tensor<fp16, [1, 8]> b = relu(x = a)[name = string("second")];
            tensor<fp32, [1, 8]> c = cast(x = b, dtype = string("fp32"))[name = string("third")];
        } -> (c);
}
"""


def compile_model(folder: Path) -> Path:
    path = folder / "Tagger.mlmodelc"
    path.mkdir()
    (path / "model.mil").write_text(TEXT)
    return path


def test_a_model_is_summarized_as_text(tmp_path: Path) -> None:
    path = compile_model(tmp_path)
    result = CliRunner().invoke(main, ["model", str(path)])
    assert result.exit_code == 0
    assert "ML Program with 3 operations of 2 kinds." in result.output
    assert [line.split() for line in result.output.splitlines()[-2:]] == [
        ["relu", "2", "fp16"],
        ["cast", "1", "fp32"],
    ]


def test_json_has_every_operation(tmp_path: Path) -> None:
    path, output = compile_model(tmp_path), tmp_path / "operations.json"
    assert CliRunner().invoke(main, ["model", str(path), "-o", str(output)]).exit_code == 0
    document = json.loads(output.read_text())
    assert document["schema"] == "tracekit-model/1"
    assert document["operation_counts"][0] == {"kind": "relu", "count": 2, "dtypes": {"fp16": 2}}
    operations = document["functions"][0]["operations"]
    assert [item["name"] for item in operations] == ["first", "second", "third"]
    assert operations[2]["attributes"] == {"dtype": "fp32"}
    assert operations[1]["inputs"] == [{"parameter": "x", "value": "a"}]


def test_markdown_is_chosen_by_the_extension(tmp_path: Path) -> None:
    path, output = compile_model(tmp_path), tmp_path / "model.md"
    assert CliRunner().invoke(main, ["model", str(path), "-o", str(output)]).exit_code == 0
    assert "| relu | 2 | fp16 |" in output.read_text()


@pytest.mark.parametrize("command", ["model", "lint", "plan"])
@pytest.mark.parametrize("name", ["My App.trace", "exports", "time-profile.xml"])
def test_a_recording_is_named_with_the_command_that_shows_it(tmp_path: Path, command: str, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".xml"):
        path.write_text('<?xml version="1.0"?>\n<trace-query-result>\n<node/></trace-query-result>')
    else:
        path.mkdir()
    if name == "exports":
        (path / "toc.xml").write_text('<?xml version="1.0"?>\n<trace-toc><run number="1"/></trace-toc>')
    result = CliRunner().invoke(main, [command, str(path)])
    assert result.exit_code == 3
    noun = "plan" if command == "plan" else "model"
    assert f"is a recording and no {noun}. " in result.output
    assert result.output.rstrip().endswith(f"its calls: {shlex.join(['tracekit', 'analyze', str(path)])}")


def test_what_is_no_model_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    result = CliRunner().invoke(main, ["model", str(tmp_path / "notes.txt")])
    assert result.exit_code == 3
    assert "is no model" in result.stderr
    assert ".mlpackage" in result.stderr


def test_names_of_operations_are_escaped(tmp_path: Path) -> None:
    path = compile_model(tmp_path)
    (path / "model.mil").write_text(TEXT.replace("cast(", "ca\u202est("))
    result = CliRunner().invoke(main, ["model", str(path)])
    assert "\u202e" not in result.output + result.stderr
