"""Plans of Core ML: analytics.mil, the programs' JSON, and the forms of known tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plan_support import ANALYTICS, SHARED, problem_of, runs, write

from tracekit.mlmodels.plans import PlanMessage, PlannedOperation, read_plan
from tracekit.model.vocabulary import Engine

ANE, GPU, CPU = Engine.ANE, Engine.GPU, Engine.CPU
PLANS = SHARED / "models" / "plans"
needs_plans = pytest.mark.skipif(not PLANS.is_dir(), reason="the collected plans are not here")


def write_json(folder: Path, document: object) -> Path:
    return write(folder, "plan.json", json.dumps(document))


def test_analytics_have_backends_costs_and_messages(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, "analytics.mil", ANALYTICS))
    assert (plan.form, plan.runtime, plan.chip, plan.os_build) == ("analytics.mil", "Core ML", "", "")
    (main,) = plan.functions
    assert main.overheads_ms == {"Launch_ane_ms": 0.125}
    conv, topk, relu, gelu = main.operations
    assert conv == PlannedOperation(
        kind="conv",
        name="conv_0",
        engine=ANE,
        device="ane",
        supported=frozenset((ANE, GPU, CPU)),
        cost_share=0.25,
        estimated_ms={"ane": 0.25, "bnns": 1.0},
        inputs=("x",),
        outputs=("a",),
    )
    assert topk.messages == (PlanMessage('Unsupported "topk"', "ane"), PlanMessage("no", "mps_graph"))
    assert (topk.engine, topk.device, topk.supported, topk.cost_share) == (
        CPU,
        "bnns",
        frozenset((CPU,)),
        0.5,
    )
    assert (relu.engine, relu.cost_share) == (GPU, 0.25)
    # A word without a known engine stays a word, and a missing list is no empty one.
    assert (gelu.engine, gelu.device, gelu.supported, gelu.cost_share) == (None, "jit_call", None, None)
    assert runs(plan) == [[("ANE", 1), ("CPU", 1), ("GPU", 1), (None, 1)]]


def test_the_cache_s_path_names_chip_and_build(tmp_path: Path) -> None:
    place = "com.apple.e5rt.e5bundlecache/26A434/AB/CD.bundle/H16G.bundle/analytics.mil"
    path = write(tmp_path, place, ANALYTICS)
    for named in (path, path.parent, tmp_path):
        plan = read_plan(named)
        assert (plan.chip, plan.os_build, plan.path) == ("H16G", "26A434", path)
    assert read_plan(write(tmp_path / "x", "26A434/ab.bundle/analytics.mil", ANALYTICS)).chip == ""


def test_a_folder_of_several_plans_names_them(tmp_path: Path) -> None:
    write(tmp_path, "a/analytics.mil", ANALYTICS)
    write(tmp_path, "b/analytics.mil", ANALYTICS)
    assert problem_of(tmp_path) == "holds 2 plans: a/analytics.mil, b/analytics.mil; name one of them."


def test_the_json_of_the_programs(tmp_path: Path) -> None:
    operations = [
        {"op": "const", "outputs": ["w"]},
        {"op": "ios17.conv", "inputs": ["x", "w"], "outputs": ["c"], "preferred": "ANE", "supported": ["CPU", "ANE"], "weight": 0.75},
        {"op": "ios17.cast", "out": "y", "preferred": "CPU", "supported": [], "weight": 0.25},
        {"op": "ios17.new", "preferred": "NPU2"},
    ]  # fmt: skip
    document = {
        "schema": "tracekit-plan/1",
        "model": "Net",
        "model_sha256": "ab",
        "compute_units": "all",
        "os_build": "26A434",
        "chip": "Apple M4",
        "functions": {"main": operations, "prefill": [{"op": "relu", "preferred": "GPU"}]},
    }
    plan = read_plan(write_json(tmp_path, document))
    assert (plan.model, plan.model_sha256, plan.compute_units) == ("Net", "ab", "all")
    assert (plan.os_build, plan.chip) == ("26A434", "Apple M4")
    assert runs(plan) == [[("ANE", 1), ("CPU", 1), (None, 1)], [("GPU", 1)]]
    weight, conv, cast, new = plan.functions[0].operations
    assert weight.is_constant
    assert (conv.inputs, conv.outputs, conv.supported) == (("x", "w"), ("c",), frozenset((CPU, ANE)))
    assert (cast.outputs, cast.supported, cast.cost_share) == (("y",), frozenset(), 0.25)
    assert (new.engine, new.device, new.supported) == (None, "NPU2", None)
    document["schema"] = "tracekit-plan/2"
    assert problem_of(write_json(tmp_path, document)) == (
        "has the schema 'tracekit-plan/2'; tracekit-plan/1 is read."
    )


def test_the_json_of_coremltools(tmp_path: Path) -> None:
    def info(function: str, output: str, preferred: object, cost: float | None) -> dict[str, object]:
        components = [
            {"program": {}},
            {"programFunction": {"data": {"name": function}}},
            {"programBlock": {"data": {"index": -1}}},
            {"programOperation": {"data": {"outputName": output}}},
        ]
        usage = {"preferred": preferred, "supported": [{"cpu": {}}, {"neuralEngine": {"totalCoreCount": 16}}]}
        return {"deviceUsage": usage, "estimatedCost": cost, "path": {"components": components}}

    infos = [
        info("main", "c1", {"neuralEngine": {"totalCoreCount": 16}}, 0.5),
        info("main", "c2", {"cpu": {}}, None),
        info("other", "c1", {"gpu": {}}, 0.5),
    ]
    plan = read_plan(write_json(tmp_path, {"infos": infos}))
    assert [function.name for function in plan.functions] == ["main", "other"]
    assert runs(plan) == [[("ANE", 1), ("CPU", 1)], [("GPU", 1)]]
    first = plan.functions[0].operations[0]
    assert (first.name, first.outputs, first.supported) == ("c1", ("c1",), frozenset((CPU, ANE)))
    assert first.cost_share == 0.5


def test_both_files_of_core_ml_profiler(tmp_path: Path) -> None:
    table = [
        {"op_number": 1, "operatorName": "ios17.conv", "cost": 0.9, "preferred_device": "ANE", "supported_devices": "CPU, GPU, ANE", "operator_id": "c", "ane_msg": ""},
        {"op_number": 2, "operatorName": "ios17.cast", "cost": 0.1, "preferred_device": "CPU", "supported_devices": "CPU", "ane_msg": "fp32"},
    ]  # fmt: skip
    plan = read_plan(write_json(tmp_path, table))
    assert runs(plan) == [[("ANE", 1), ("CPU", 1)]]
    conv, cast = plan.functions[0].operations
    assert (conv.name, conv.supported, conv.messages) == ("c", frozenset((CPU, GPU, ANE)), ())
    assert cast.messages == (PlanMessage("fp32", "ane"),)
    inner = {"operatorName": "add", "preferred_device": "GPU", "cost": 0.1}
    outer = {
        "operatorName": "cond",
        "preferred_device": "CPU",
        "cost": 0.2,
        "inputs": [{"name": "x", "bindings": ["a", "b"]}],
        "outputs": [{"name": "y"}],
        "blocks": [{"operations": [inner]}],
    }
    nested = {"main": {"block": {"operations": [outer]}}, "f": {"block": {"operations": []}}}
    plan = read_plan(write_json(tmp_path, nested))
    assert runs(plan) == [[("CPU", 1), ("GPU", 1)], []]
    assert (plan.functions[0].operations[0].inputs, plan.functions[0].operations[0].outputs) == (
        ("a", "b"),
        ("y",),
    )


def test_the_json_of_coreml_cli(tmp_path: Path) -> None:
    detailed = {
        "supported_backends": ["bnns", "classic_cpu"],
        "validation_messages": {"ane": "Unsupported tensor data type: int32"},
        "estimated_runtime_ms": {"bnns": 0.5},
    }
    operations = [
        {"name": "c", "type": "ios17.conv", "device": "ane", "cost_percent": 99.0},
        {"name": "g", "type": "ios17.gather", "device": "cpu", "cost_percent": 1.0, "detailed": detailed},
        {"name": "u", "type": "ios17.u", "device": "unknown", "cost_percent": 0.0},
    ]
    result = {"compute_units": "all", "summary": {}, "operations": operations}
    document = {"hardware": {"chip": "Apple M4 Pro"}, "models": [{"model_name": "Net", "results": [result]}]}
    plan = read_plan(write_json(tmp_path, document))
    assert (plan.chip, plan.model, plan.compute_units) == ("Apple M4 Pro", "Net", "all")
    assert runs(plan) == [[("ANE", 1), ("CPU", 1), (None, 1)]]
    assert [item.cost_share for item in plan.functions[0].operations] == [0.99, 0.01, 0.0]
    assert plan.functions[0].operations[1].messages == (
        PlanMessage("Unsupported tensor data type: int32", "ane"),
    )
    document["models"][0]["results"] = [result, result]  # type: ignore[index]
    assert problem_of(write_json(tmp_path, document)).startswith("holds 2 plans; write one model")
    document["models"] = [{"fallback": {}}]
    assert problem_of(write_json(tmp_path, document)).startswith("holds no operations; write it with --ops")


def test_costs_without_devices_state_no_placement(tmp_path: Path) -> None:
    operations = [{"index": 4, "type": "conv", "cost": 0.9}, {"index": 1, "type": "cast", "cost": 0.1}]
    document = {"model": "m", "total_cost": 1, "total_ops": 2, "with_device": 2, "no_device": 0, "operations": operations}  # fmt: skip
    plan = read_plan(write_json(tmp_path, document))
    assert [(item.kind, item.engine) for item in plan.functions[0].operations] == [
        ("cast", None),
        ("conv", None),
    ]
    assert plan.limits == ("ane-costplan writes costs alone: it states no device for any operation.",)


LOG_ENTRY = """2024-08-03 09:09:29.128 tool[1:2] at /Users/x/com.apple.e5rt.e5bundlecache/23F79/AA/BB.bundle/H13G.bundle/analytics.mil:9:12, {{
    BackendSupport =     {{
        ane = 1;
        "classic_cpu" = 1;
    }};
    DebugName = "{kind}:9:12";
    EstimatedRunTime =     {{
        {device} = "0.5";
    }};
    OpIndex = {index};
    OpPath =     (
                {{
            Type = Program;
        }},
                {{
            Name = main;
            Type = Function;
        }},
                {{
            Type = Block;
        }},
                {{
            Output = "{output}";
            Type = Operation;
        }}
    );
    OpType = "{kind}";
    SelectedBackend = "\\"{device}\\"";
    ValidationMessages =     {{
        {message}
    }};
}}
"""


def test_a_log_of_the_segmentation_is_put_in_order(tmp_path: Path) -> None:
    text = LOG_ENTRY.format(kind="ios17.conv", index=1, output="c", device="ane", message="")
    text += LOG_ENTRY.format(
        kind="ios17.cast", index=0, output="x", device="bnns", message='ane = "Say \\"fp32\\"";'
    )
    plan = read_plan(write(tmp_path, "dump.txt", text))
    assert (plan.chip, plan.os_build) == ("H13G", "23F79")
    cast, conv = plan.functions[0].operations
    assert (cast.kind, cast.engine, cast.outputs) == ("ios17.cast", CPU, ("x",))
    assert cast.messages == (PlanMessage('Say "fp32"', "ane"),)
    assert (conv.engine, conv.supported, conv.cost_share) == (ANE, frozenset((ANE, CPU)), 0.5)
    assert problem_of(write(tmp_path, "cut.txt", text[:-120])) == (
        "reaches no further than an operation: it is cut off."
    )


def test_lines_of_a_compute_plan(tmp_path: Path) -> None:
    text = (
        "x operation ios17.mul, device <MLCPUComputeDevice: 0x6000036e8170>, cost 4.5%\n"
        "x operation ios17.conv, device <MLNeuralEngineComputeDevice: 0x6000036ec0e0>, cost 50%\n"
        "x operation ios17.conv, device <MLNewComputeDevice: 0x6000036ec0e0>, cost 1%\n"
    )
    plan = read_plan(write(tmp_path, "lines.txt", text))
    assert runs(plan) == [[("CPU", 1), ("ANE", 1), (None, 1)]]
    assert plan.functions[0].operations[0].cost_share == 0.045
    assert plan.functions[0].operations[2].device == "MLNewComputeDevice"


def test_lines_of_espresso_s_log(tmp_path: Path) -> None:
    text = (
        "2026-01-01 12:00:00.1 Db app[1:2] [com.apple.espresso:espresso] Unsupported op 3 (ios18.cast): Unsupported tensor data type: int32\n"
        "2026-01-01 12:00:00.2 Db app[1:2] [com.apple.espresso:espresso] Unsupported op 3 (ios18.cast): Unsupported tensor data type: int32\n"
        "2026-01-01 12:00:00.3 Db app[1:2] [com.apple.espresso:espresso] Unsupported op <private> (ios18.topk): no\n"
        "noise\n"
    )
    plan = read_plan(write(tmp_path, "log.txt", text))
    cast, topk = plan.functions[0].operations
    assert (cast.kind, cast.name, cast.engine) == ("ios18.cast", "3", None)
    assert cast.messages == (PlanMessage("Unsupported tensor data type: int32", "ane", 2),)
    assert topk.messages == (PlanMessage("no", "ane"),)
    assert any("<private>" in limit for limit in plan.limits)
    line = json.dumps(
        {"timestamp": "x", "eventMessage": 'Unsupported op 7 (cast): no "int32"', "category": "y"}
    )
    (cast,) = read_plan(write(tmp_path, "log.ndjson", line + "\n")).functions[0].operations
    assert (cast.name, cast.messages) == ("7", (PlanMessage('no "int32"', "ane"),))
    cost = "[CostModelFeature],conv_1,x,ios18.conv,gFlopCnt,2.5,totalMB,4,Runtime,0.054,Bound:Memory\n"
    plan = read_plan(write(tmp_path, "costs.txt", cost + cost))
    (conv,) = plan.functions[0].operations
    assert (conv.name, conv.kind, conv.estimated_ms, conv.engine) == (
        "conv_1",
        "ios18.conv",
        {"": 0.054},
        None,
    )
    plan = read_plan(write(tmp_path, "both.txt", text + cost))
    assert len(plan.functions[0].operations) == 2
    assert "the estimates are left out" in plan.limits[1]


@needs_plans
@pytest.mark.parametrize("name", ["without_compute_plan_output.txt", "without_compute_plan_2.csv"])
def test_real_segments_are_those_of_their_source(name: str) -> None:
    """MobilenetEdgeTPU on an M1: a move of a buffer and three operations in fp32, the model, one cast.

    The move is no operation of the model; the sums are of the text itself.
    """
    plan = read_plan(PLANS / "freedomtan" / name)
    assert runs(plan) == [[("CPU", 3), ("ANE", 114), ("CPU", 1)]]
    messages = [item.messages for item in plan.functions[0].operations if item.messages]
    assert sorted(texts[0].text for texts in messages) == [
        "Invalid input tensor format: fp32",
        "Invalid output tensor format: fp32",
        "Invalid output tensor format: fp32",
        "Invalid output tensor format: fp32",
        "Unsupported tensor format: fp32.",
    ]


@needs_plans
def test_both_forms_of_a_real_plan_agree() -> None:
    log = read_plan(PLANS / "freedomtan" / "without_compute_plan_output.txt").functions[0]
    table = read_plan(PLANS / "freedomtan" / "without_compute_plan_2.csv").functions[0]
    assert [(item.kind, item.engine) for item in log.operations] == [
        (item.kind, item.engine) for item in table.operations
    ]


@needs_plans
@pytest.mark.parametrize(
    ("name", "count", "kind", "text"),
    [
        ("conv_k17", 1, "conv", "Error: conv with large kernel does not meet decomposition preconditions"),
        ("max_pool_k15", 1, "max_pool", "Invalid Pool kernel width (15), must be [1-8] or 32."),
        (
            "crop_resize",
            1,
            "crop_resize",
            'type int32 for "box_indices" is not supported. only support UInt16.',
        ),
        ("gather_dyn", 7, "gather", "Unsupported gather index type"),
    ],
)
def test_real_analytics_of_an_m4(name: str, count: int, kind: str, text: str) -> None:
    """The oracle of the engines is ``support.tsv``, which their source made with ``MLComputePlan``; moves at the border do not count."""
    plan = read_plan(PLANS / "m4_macos27" / f"{name}.mil")
    assert runs(plan) == [[("CPU", count)]]
    (operation,) = [item for item in plan.functions[0].operations if item.kind == kind]
    assert operation.messages == (PlanMessage(text, "ane"),)
    rows = (line.split("\t") for line in (PLANS / "m4_macos27" / "support.tsv").read_text().splitlines()[1:])
    supports_ane = {probe: ane == "1" for probe, ane, *_ in rows}
    assert (ANE in (operation.supported or ())) is supports_ane[name] is False
