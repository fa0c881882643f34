"""SARIF of a lint: the model and the line of the program are locations; other people's names are escaped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tracekit.mlmodels import Function, MLModel, Operation, Value, ValueType
from tracekit.mlmodels.rules.lint import lint_model
from tracekit.mlmodels.rules.rule_target import make_target
from tracekit.report.models.sarif import to_sarif


def write(source: str, path: str = "models/Tagger.aimodel", name: str = "y") -> dict[str, Any]:
    """Return the one result of an asset with one operation in fp32."""
    value = Value(name, ValueType("fp32", (1, 8)))
    operation = Operation("gelu", name, (("", "x"),), (value,), source=source)
    function = Function("main", (), (), (operation,))
    model = MLModel(Path(path), "Core AI program", "asset 2.0", functions=(function,))
    (result,) = json.loads(to_sarif(lint_model(model, make_target())))["runs"][0]["results"]
    return dict(result)


def test_the_line_of_the_program_is_a_location_behind_the_model() -> None:
    model, line = write("model.py:290")["locations"]
    assert model["physicalLocation"]["artifactLocation"]["uri"] == "models/Tagger.aimodel"
    assert line == {
        "physicalLocation": {"artifactLocation": {"uri": "model.py"}, "region": {"startLine": 290}}
    }


def test_a_source_that_is_no_line_is_no_location() -> None:
    for source in ("", "model.py", "model.py:0", "model.py:99999999999", ":3:"):
        assert len(write(source)["locations"]) == 1, source


def test_an_absolute_path_is_the_address_of_a_file_and_names_are_escaped() -> None:
    result = write("a b\x1b.py:3", "/tmp/My Model.aimodel", "y\x1b[31m")
    uris = [place["physicalLocation"]["artifactLocation"]["uri"] for place in result["locations"]]
    assert uris == ["file:///tmp/My%20Model.aimodel", "a%20b%1B.py"]
    assert "\x1b" not in json.dumps(result, ensure_ascii=False)


def test_only_evidence_of_the_models_own_route_is_in_its_log() -> None:
    value = Value("y", ValueType("fp16", (1, 8, 64, 64)))
    operation = Operation("scaled_dot_product_attention", "y", (("attn_mask", "x"),), (value,))
    model = MLModel(
        Path("A.mlpackage"), "ML Program", "9", functions=(Function("main", (), (), (operation,)),)
    )
    text = to_sarif(lint_model(model, make_target()))
    assert '"id": "OP13"' in text
    assert "M4 Max" not in text  # where the mask is ignored by direct compilation
