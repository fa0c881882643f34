"""Two plans of a model: what moved, what has no counterpart, and plans that are of different models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from documents_support import SHARED, strict
from jsonschema import Draft202012Validator

from tracekit.cli import main
from tracekit.mlmodels.plans import Plan, PlanMessage, PlannedFunction, PlannedOperation, PlannedRegion
from tracekit.mlmodels.plans.differences import EngineTotal, compare_plans, total_engines
from tracekit.model.vocabulary import Engine
from tracekit.report.document.blocks import Headline
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.plans.differences_document import build_differences

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "tracekit-plan-differences-1.schema.json").read_text())
ANE, GPU, CPU = Engine.ANE, Engine.GPU, Engine.CPU
ENGINES = {"A": ANE, "G": GPU, "C": CPU, "?": None}
KINDS = ["conv", "relu", "gather", "conv", "softmax"]


def function(
    engines: str, kinds: Sequence[str] = KINDS, prefix: str = "v", name: str = "main", **facts: Any
) -> PlannedFunction:
    """Return a chain of operations by their engines, such as ``AACAA``, each with an equal cost."""
    operations = (
        PlannedOperation(
            kind,
            f"{prefix}{index}",
            ENGINES[letter],
            cost_share=1 / len(kinds),
            inputs=(f"{prefix}{index - 1}",),
            outputs=(f"{prefix}{index}",),
            **(facts if kind == "gather" else {}),
        )
        for index, (letter, kind) in enumerate(zip(engines, kinds, strict=True))
    )
    return PlannedFunction(name, tuple(operations))


def plan(*functions: PlannedFunction, **facts: Any) -> Plan:
    return Plan(Path("x.mil"), "analytics.mil", "Core ML", functions, **facts)


def headline(base: Plan, new: Plan) -> str:
    block = build_differences(compare_plans(base, new))[0].blocks[0]
    assert isinstance(block, Headline)
    return block.text


def write(base: Plan, new: Plan, width: int = 200) -> str:
    return print_text(build_differences(compare_plans(base, new)), Page(width))


def test_what_moved_has_both_engines_the_cost_and_the_reason_now() -> None:
    message = PlanMessage("indices are not constant", "ane")
    base = plan(function("AAAAA"), chip="H16G")
    moved = function("AACAA", prefix="other_", messages=(message,), source="model.py:290")
    differences = compare_plans(base, plan(moved, chip="H17G"))
    (pair,) = differences.functions[0].moved
    assert (pair.base.name, pair.new.name) == ("v2", "other_2")
    assert (pair.base.engine, pair.new.engine) == (ANE, CPU)
    text = print_text(build_differences(differences), Page(200))
    assert text.splitlines()[1] == (
        "1 of 5 operations in both plans moved: 1 from the Neural Engine to the CPU."
    )
    assert "x.mil (analytics.mil, H16G)" in text
    assert "x.mil (analytics.mil, H17G)" in text
    assert (
        "gather other_2: Neural Engine → CPU; 20.0 % of the cost; “indices are not constant” (model.py:290)"
    ) in text
    table = [
        line.split()
        for line in text.splitlines()
        if line.startswith(("Neural Engine", "CPU", "together", "  "))
    ]
    assert ["CPU", "0", "→", "1", "0", "→", "1", "0.0", "%", "→", "20.0", "%"] in table
    assert ["together", "5", "1", "→", "3"] in table


def test_nothing_is_called_unmoved_that_a_plan_does_not_state() -> None:
    assert headline(plan(function("AAAAA")), plan(function("AA?AA"))) == (
        "None of the 4 operations in both plans moved. For 1 more, a plan states no engine."
    )


def test_operations_without_a_counterpart_are_named() -> None:
    new = function("ACAAAA", ["conv", "cast", "relu", "gather", "conv", "softmax"], "n")
    text = write(plan(function("AAAAA")), plan(new))
    assert text.splitlines()[1] == (
        "None of the 5 operations in both plans moved. 1 operation of NEW has no counterpart."
    )
    assert "NEW alone: 1 operation: cast n1" in text


def test_ambiguous_operations_are_not_compared() -> None:
    layer = ["norm", "linear", "gelu"]
    base = plan(function("A" * 12, layer * 4, "a"))
    new = plan(function("C" * 9, layer * 3, "b"))
    assert headline(base, new) == ("12 of BASE and 9 of NEW cannot be told apart, and are not compared.")


def test_plans_of_different_models_are_recognised() -> None:
    base = plan(function("A" * 12, ["norm", "linear", "gelu"] * 4))
    new = plan(function("C" * 13, [*["conv", "bn", "relu6"] * 4, "softmax"]))
    assert headline(base, new) == (
        "These are plans of different models, or of conversions with little in common: 0 of 12 operations match."
    )
    assert "Moved in the plans" not in write(base, new)
    assert compare_plans(base, new).are_different_models
    assert not compare_plans(base, base).are_different_models


def test_functions_are_matched_by_name_and_the_last_ones_whatever_it_is() -> None:
    base = plan(function("AAAAA", name="main_9we"), function("CCCCC", name="shared"))
    new = plan(function("CCCCC", name="shared"), function("CAAAA", name="main_x1Q"))
    differences = compare_plans(base, new)
    assert [(item.base.name, item.new.name) for item in differences.functions] == [
        ("shared", "shared"),
        ("main_9we", "main_x1Q"),
    ]
    assert [len(item.moved) for item in differences.functions] == [0, 1]
    several = compare_plans(plan(function("AAAAA", name="a"), function("AAAAA", name="b")), new)
    assert (several.functions, several.only_base, several.only_new) == (
        (),
        ("a", "b"),
        ("shared", "main_x1Q"),
    )


def test_totals_of_an_engine() -> None:
    assert total_engines(plan(function("AACA?"))) == [
        EngineTotal(ANE, 3, 2, pytest.approx(0.6)),
        EngineTotal(CPU, 1, 1, pytest.approx(0.2)),
        EngineTotal(None, 1, 1, pytest.approx(0.2)),
    ]


def test_plans_of_regions_have_no_operations_to_compare() -> None:
    regions = PlannedFunction("main", regions=(PlannedRegion("main_ANE_region_0", ANE),))
    assert headline(plan(regions, ane_regions=1), plan(ane_regions=0)) == (
        "At least one of the plans lists no operations, so that none can be compared."
        " Regions for the Neural Engine: 1 in BASE and 0 in NEW."
    )
    assert "not shown in NEW" in headline(plan(regions, ane_regions=1), plan(function("AAAAA")))


# The command ------------------------------------------------------------------------------------------------


def write_plan(path: Path, devices: Sequence[str], prefix: str) -> None:
    operations = [
        {"op": kind, "name": f"{prefix}{index}", "preferred": device, "inputs": [f"{prefix}{index - 1}"]}
        | {"outputs": [f"{prefix}{index}"], "weight": 0.2}
        for index, (kind, device) in enumerate(zip(KINDS, devices, strict=True))
    ]
    path.write_text(json.dumps({"schema": "tracekit-plan/1", "functions": {"main": operations}}))


def test_the_command_writes_text_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_plan(tmp_path / "old.json", ["ANE"] * 5, "a")
    write_plan(tmp_path / "new.json", ["ANE", "ANE", "GPU", "ANE", ""], "b")
    result = CliRunner().invoke(main, ["plan", "new.json", "--against", "old.json"])
    assert result.exit_code == 0
    assert "1 of 4 operations in both plans moved: 1 from the Neural Engine to the GPU." in result.stdout
    result = CliRunner().invoke(main, ["plan", "new.json", "--against", "old.json", "--format", "json"])
    document = json.loads(result.stdout)
    Draft202012Validator(strict(SCHEMA)).validate(document)
    (matched,) = document["functions"]
    assert [pair["moved"] for pair in matched["matched"]] == [False, False, True, False, None]
    assert matched["matched"][2]["base"]["name"] == "a2"
    assert matched["matched"][2]["new"]["anticipated_engine"] == "GPU"
    assert matched["matched_by"] == "graph"
    assert document["are_different_models"] is False


def test_a_program_is_no_plan_to_compare(tmp_path: Path) -> None:
    write_plan(tmp_path / "old.json", ["ANE"] * 5, "a")
    arguments = ["plan", "--write-program", "swift", "--against", str(tmp_path / "old.json")]
    assert CliRunner().invoke(main, arguments).exit_code == 2


def test_two_outputs_of_a_specialization_are_not_called_those_of_different_models(tmp_path: Path) -> None:
    paths = [tmp_path / "old.txt", tmp_path / "new.txt"]
    line = 'warning: loc("m.py":{}:2): "ane_validation_message"("no")\n'
    for path, places in zip(paths, ((1,), (1,)), strict=True):
        path.write_text("".join(line.format(place) for place in places))
    arguments = ["plan", str(paths[1]), "--against", str(paths[0])]
    text = " ".join(CliRunner().invoke(main, arguments).stdout.split())
    assert "For 1 operation in both plans, a plan states no engine." in text
    for path, places in zip(paths, ((1, 2), (3, 4)), strict=True):
        path.write_text("".join(line.format(place) for place in places))
    text = " ".join(CliRunner().invoke(main, arguments).stdout.split())
    assert "The operations cannot be compared: 0 of 2 operations match" in text
    assert "different models" not in text
    assert "Without a counterpart" not in text
    document = json.loads(CliRunner().invoke(main, [*arguments, "--format", "json"]).stdout)
    assert document["are_different_models"] is False


FREEDOMTAN = SHARED / "models" / "plans" / "freedomtan"


@pytest.mark.skipif(not FREEDOMTAN.is_dir(), reason="needs the collection of real files")
def test_two_forms_of_one_real_model_match() -> None:
    paths = [
        str(FREEDOMTAN / name) for name in ("without_compute_plan_2.csv", "without_compute_plan_output.txt")
    ]
    result = CliRunner().invoke(main, ["plan", paths[0], "--against", paths[1]])
    assert "None of the 118 operations in both plans moved." in result.stdout
    assert "no values between operations: these are matched by kind" in " ".join(result.stdout.split())
