"""``tracekit lint`` and ``tracekit rules`` as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from tracekit.cli import main

STATEMENTS = """
    tensor<fp16, [1, 8]> a = relu(x = x)[name = string("first")];
    tensor<fp16, [1, 8]> b = cumsum(x = a)[name = string("sum {mark}")];
    tensor<fp32, [1, 8]> c = softmax(x = b)[name = string("wide")];
    tensor<fp32, [1, 8]> d = relu(x = c)[name = string("wider")];
"""

# The parts of the SARIF 2.1.0 schema (OASIS) that a log of one run with results has, closed to other keys.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
ARTIFACT = {
    "type": "object",
    "required": ["uri"],
    "properties": {"uri": {"type": "string", "pattern": r"^[!-~]+$"}},
}
PHYSICAL = {
    "type": "object",
    "additionalProperties": False,
    "required": ["artifactLocation"],
    "properties": {
        "artifactLocation": ARTIFACT,
        "region": {"type": "object", "properties": {"startLine": {"type": "integer", "minimum": 1}}},
    },
}
LOGICAL = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}},
}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"physicalLocation": PHYSICAL, "logicalLocations": {"type": "array", "items": LOGICAL}},
}
RULE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": TEXT,
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}},
    },
}
DRIVER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "semanticVersion": {"type": "string"},
        "rules": {"type": "array", "items": RULE, "uniqueItems": True},
    },
}
RESULT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": TEXT,
        "locations": {"type": "array", "items": LOCATION},
    },
}
RUN = {
    "type": "object",
    "additionalProperties": False,
    "required": ["tool"],
    "properties": {
        "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}},
        "automationDetails": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"id": {"type": "string", "minLength": 1}},
        },
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
        "properties": {"type": "object"},
    },
}
SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN},
    },
}


def write_model(folder: Path, mark: str = "1", statements: str = STATEMENTS, name: str = "Tagger") -> Path:
    path = folder / f"{name}.mlmodelc"
    path.mkdir()
    head = "program(1.0)\n{ func main<ios17>(tensor<fp16, [1, 8]> x) {"
    (path / "model.mil").write_text(f"{head}{statements.replace('{mark}', mark)}}} -> (d); }}\n")
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def read_json(text: str) -> Any:
    return json.loads(text)


def test_findings_are_grouped_by_rule_with_places_evidence_and_source(tmp_path: Path) -> None:
    result = run("lint", str(write_model(tmp_path)), "--chip", "M4", "--os", "macOS27")
    text = " ".join(result.output.split())
    assert result.exit_code == 0
    assert "2 rules match in 3 places: " in text
    assert (
        "rules held against 4 operations. Model Tagger.mlmodelc (ML Program) Rules about M4, macOS 27" in text
    )
    assert "DT01 32-bit floats inside the model (leaves the engine)" in text
    assert "wide softmax gives fp32 [1, 8]; 1 operation behind it" in text
    assert "sum 1 cumsum gives fp16 [1, 8] Evidence measured (Core ML): M4, macOS 27.0.1" in text
    assert "Against it cumsum is native by direct compilation (sbryngelson/ane-guide" in text
    assert "Where an operation runs is anticipated by a plan and observed in a recording." in text


def test_hints_fail_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = str(write_model(tmp_path))
    assert run("lint", path).exit_code == 0
    assert run("lint", path, "--fail-on", "wrong-numbers").exit_code == 0
    failed = run("lint", path, "--fail-on", "wrong-numbers", "--fail-on", "leaves")
    assert failed.exit_code == 1
    assert "--fail-on wrong-numbers, leaves: 2 rules (DT01, OP03) in Tagger.mlmodelc." in failed.output
    assert run("lint", path, "--fail-on", "leaves", "--ignore", "DT", "--ignore", "OP03").exit_code == 0


def test_json_has_every_place_and_what_is_not_covered(tmp_path: Path) -> None:
    output = tmp_path / "lint.json"
    assert run("lint", str(write_model(tmp_path)), "--chip", "A17", "-o", str(output)).exit_code == 0
    document = read_json(output.read_text())
    assert document["schema"] == "tracekit-lint/1"
    assert document["target"] == {"chip": "A17", "system": None, "system_version": None, "units": None}
    assert document["routes"] == ["Core ML"]
    assert "OP03" in document["left_out"]
    (finding,) = document["findings"]
    assert (finding["rule"], finding["effect"]) == ("DT01", "leaves")
    assert [(place["name"], place["position"], place["follows_from"]) for place in finding["places"]] == [
        ("wide", 2, None),
        ("wider", 3, "wide"),
    ]
    assert finding["claims"][0]["sources"][0] == "apple/coremltools:docs-guides/source/typed-execution.md"


def test_sarif_has_the_required_shape_and_is_the_same_each_time(tmp_path: Path) -> None:
    path = write_model(tmp_path, name="Tagger ü")
    outputs = [tmp_path / "a.sarif", tmp_path / "b.sarif"]
    for output in outputs:
        assert run("lint", str(path), "-o", str(output)).exit_code == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    log = read_json(outputs[0].read_text())
    jsonschema.Draft202012Validator(SARIF).validate(log)
    (sarif_run,) = log["runs"]
    rules = [rule["id"] for rule in sarif_run["tool"]["driver"]["rules"]]
    assert rules == ["DT01", "OP03"]
    assert [(item["ruleId"], rules[item["ruleIndex"]]) for item in sarif_run["results"]] == [
        ("DT01", "DT01"),
        ("DT01", "DT01"),
        ("OP03", "OP03"),
    ]
    location = sarif_run["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"].endswith("/Tagger%20%C3%BC.mlmodelc")
    assert location["logicalLocations"] == [{"fullyQualifiedName": "wide", "kind": "operation"}]


def test_several_models_are_linted_each_once_and_a_file_in_one_stands_for_it(tmp_path: Path) -> None:
    tagger, plain = write_model(tmp_path), write_model(tmp_path, statements="", name="Plain")
    inner = [str(tagger / "model.mil"), str(tagger / "metadata.json"), str(plain)]
    result = run("lint", *inner, "--fail-on", "leaves")
    assert result.exit_code == 1
    assert re.findall(r"^ *Model +(\S+)", result.output, re.MULTILINE) == [
        "Tagger.mlmodelc",
        "Plain.mlmodelc",
    ]
    assert "--fail-on leaves: 2 rules (DT01, OP03) in Tagger.mlmodelc." in result.output


def test_sarif_has_a_run_with_a_category_for_each_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(Path(), name="A b")
    write_model(Path(), name="C")
    result = run("lint", "A b.mlmodelc", "C.mlmodelc/model.mil", "--format", "sarif")
    log = read_json(result.output)
    jsonschema.Draft202012Validator(SARIF).validate(log)
    assert [sarif_run["automationDetails"]["id"] for sarif_run in log["runs"]] == [
        "A%20b.mlmodelc/",
        "C.mlmodelc/",
    ]


def test_json_holds_one_model(tmp_path: Path) -> None:
    models = [str(write_model(tmp_path, name=name)) for name in "AB"]
    result = run("lint", *models, "--format", "json")
    assert result.exit_code == 2
    assert "JSON holds one model" in result.output


@pytest.mark.parametrize("file_format", ["text", "markdown", "json", "sarif"])
def test_names_in_a_model_are_escaped(tmp_path: Path, file_format: str) -> None:
    path = write_model(tmp_path, mark="\x1b[31m\u202e|<b>\n##vso[task]")
    result = run("lint", str(path), "--format", file_format)
    assert result.exit_code == 0
    assert not any(sign in result.output for sign in ("\x1b", "\u202e", "##vso["))
    if file_format == "markdown":
        assert "<b>" not in result.output


def test_markdown_is_chosen_by_the_extension(tmp_path: Path) -> None:
    output = tmp_path / "lint.md"
    assert run("lint", str(write_model(tmp_path)), "-o", str(output)).exit_code == 0
    assert "| wide | softmax |" in output.read_text()


def test_a_model_without_a_match_states_that_this_is_no_result(tmp_path: Path) -> None:
    path = write_model(tmp_path, statements="tensor<fp16, [1, 8]> d = relu(x = x);")
    text = " ".join(run("lint", str(path)).output.split())
    assert "No rule matches: " in text
    assert "Rules are hints, each with its evidence." in text


def test_unknown_operations_are_named(tmp_path: Path) -> None:
    path = write_model(tmp_path, statements="tensor<fp16, [1, 8]> d = hologram(x = x);")
    text = " ".join(run("lint", str(path)).output.split())
    assert "1 operation of kinds that no rule can be about, because they are not known: hologram (1)." in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--chip", "M9"), "'M9' names no chip.\n  Chips: M1, M2, M3, M4, "),
        (("--chip", "h17"), "h17 is the name of several engines. Name the chip: M5, A18."),
        (("--os", "BeOS"), "'BeOS' names no system. Write it as macOS27, macOS 26.6 or iOS 18."),
        (("--select", "QQ"), "'QQ' begins the id of no rule."),
        (("--units", "gpu"), "'gpu' is not one of"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = run("lint", str(write_model(tmp_path)), *options)
    assert result.exit_code == 2
    assert message in result.output


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.mlmodel").write_text("hello")
    result = run("lint", str(tmp_path / "notes.mlmodel"))
    assert result.exit_code == 3
    assert "notes.mlmodel" in result.output


# tracekit rules ---------------------------------------------------------------------------------------------


def test_rules_of_models_and_of_stacks_are_listed() -> None:
    result = run("rules")
    assert result.exit_code == 0
    lines = [line.split() for line in result.output.splitlines()]
    assert ["CV03", "A", "kernel", "that", "is", "too", "large", "leaves", "the", "engine"] in lines
    assert any(line[:1] == ["plumbing.wait"] for line in lines)


def test_a_rule_is_explained_with_its_evidence_for_and_against() -> None:
    text = " ".join(run("rules", "sh09").output.split())
    assert text.startswith("SH09 An input with a list of shapes")
    assert "Checked on inputs, outputs and states; flexible (kind = enumerated)" in text
    assert (
        "Against it a list of shapes is the recommended way (apple/coremltools:docs-guides/source/faqs.md)"
        in text
    )


def test_a_rule_that_no_file_shows_gives_the_reason() -> None:
    text = " ".join(run("rules", "SZ02").output.split())
    assert "No model file shows it: no size is known from which on it happens: a plan shows it." in text


def test_a_rule_about_stacks_is_explained() -> None:
    text = " ".join(run("rules", "ane.validation").output.split())
    assert "which does not show placement" in text
    assert "Source apple/coremltools#932" in text


def test_rules_are_data() -> None:
    document = read_json(run("rules", "--format", "json").output)
    assert document["schema"] == "tracekit-rules/1"
    assert len(document["models"]) >= 79
    (rule,) = read_json(run("rules", "PL01", "--format", "json").output)["models"]
    assert rule["claims"][0]["conditions"] == [
        {"test": "number", "parameter": "kernel_sizes", "index": -1, "none_of": [1, 2, 3, 4, 5, 6, 7, 8, 32]}
    ]


def test_a_rule_that_is_none_is_refused_with_similar_names() -> None:
    result = run("rules", "CV30")
    assert result.exit_code == 2
    assert "No rule has the name 'CV30'. Similar names: CV0" in result.output


def test_explain_has_rules_as_well() -> None:
    result = run("explain", "CV03")
    assert result.exit_code == 0
    assert result.output.startswith("CV03 A kernel that is too large")
