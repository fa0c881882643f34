"""The examples of rules as models: statements of MIL text, whatever the form, with features and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracekit.mlmodels import Feature, Function, MLModel, ValueType
from tracekit.mlmodels.mil_text import read_program
from tracekit.mlmodels.rules.lint import lint_model
from tracekit.mlmodels.rules.match import match_rules
from tracekit.mlmodels.rules.rule import RuleExample
from tracekit.mlmodels.rules.rule_target import make_target


def make_function(statements: str, outputs: str = "y") -> Function:
    """Return the function of some statements, whose input is ``x``."""
    (function,) = read_program(
        f"program(1.0) {{ func main<ios18>(tensor<fp16, [1, 8]> x) {{ {statements} }} -> ({outputs}); }}"
    )
    return function


def make_model(example: RuleExample) -> MLModel:
    """Return the model of an example."""
    return MLModel(
        Path("Example.mlpackage"),
        example.form,
        "specification 9",
        inputs=tuple(map(make_feature, example.inputs)),
        outputs=tuple(map(make_feature, example.outputs)),
        states=tuple(map(make_feature, example.states)),
        functions=(make_function(example.mil),),
        weight_file_bytes=example.weight_bytes,
    )


def make_feature(entry: Mapping[str, object]) -> Feature:
    """Return an input, an output or a state."""
    shape = entry["shape"]
    assert isinstance(shape, tuple | list)
    value_type = ValueType(str(entry["dtype"]), tuple(shape), "array")
    return Feature(str(entry["name"]), value_type, str(entry.get("flexible", "")))


def find_matches(rule_id: str, example: RuleExample) -> list[str]:
    """Return the names of what a rule matches in its example: outputs of operations, features, roles."""
    model = make_model(example)
    if example.route:
        operations = model.functions[0].operations
        matches = match_rules(model, chip=example.chip, route=example.route)
        return [
            operations[position].outputs[0].name
            for position, found in matches.items()
            if any(match.rule.id == rule_id for match in found)
        ]
    result = lint_model(model, make_target(example.chip, "", example.units))
    return [
        place.name if place.role not in ("model", "setting") else place.role
        for finding in result.findings
        if finding.rule.id == rule_id
        for place in finding.places
    ]
