"""``tracekit plan`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from tracekit.cli import main

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "tracekit-plan-report-1.schema.json").read_text("utf-8")
)
SAMPLE = Path(__file__).parents[2] / "sample_traces" / "operators-leave-macos27"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"


def operation(engine: str | None, **more: object) -> dict[str, object]:
    return {"op": "conv", **({"preferred": engine} if engine else {}), **more}


def write_plan(folder: Path, *engines: str | None, **functions: list[dict[str, object]]) -> Path:
    path = folder / "plan.json"
    listed = functions or {"main": [operation(engine) for engine in engines]}
    path.write_text(json.dumps({"schema": "tracekit-plan/1", "chip": "Apple M4", "functions": listed}))
    return path


def show(path: Path, *options: str) -> str:
    result = CliRunner().invoke(main, ["plan", str(path), *options])
    assert result.exit_code == 0, result.output
    return result.output


def headline(path: Path) -> str:
    """Return the first sentences, on one line."""
    return " ".join(line.strip() for line in show(path).split("  Form")[0].splitlines()[1:])


@pytest.mark.parametrize(
    ("engines", "expected"),
    [
        ("AAA", "All 3 operations are anticipated on the Neural Engine: 1 segment."),
        ("ACACA", "2 of 5 operations are anticipated off the Neural Engine, in 2 places: 5 segments."),
        ("AGCA", "2 of 4 operations are anticipated off the Neural Engine, in 1 place: 4 segments."),
        ("AC", "1 of 2 operations is anticipated off the Neural Engine, in 1 place: 2 segments."),
        ("CGC", "None of 3 operations is anticipated on the Neural Engine: 1 on the GPU and 2 on the CPU, in 3 segments."),
        ("A?A", "2 of 3 operations are anticipated on the Neural Engine: 3 segments. The plan states no engine for 1 operation."),
        ("A?C", "1 of 3 operations is anticipated off the Neural Engine, in 1 place: 3 segments. The plan states no engine for 1 operation."),
        ("C??", "None of 3 operations is anticipated on the Neural Engine: 1 on the CPU, in 2 segments. The plan states no engine for 2 operations."),
        ("A", "The one operation is anticipated on the Neural Engine."),
        ("G", "The one operation is anticipated off the Neural Engine: 1 on the GPU."),
        ("??", "The plan states no engine for any of its 2 operations."),
        ("", "The file states no placement."),
    ],
)  # fmt: skip
def test_the_first_sentence_counts_what_is_stated(tmp_path: Path, engines: str, expected: str) -> None:
    words = {"A": "ANE", "G": "GPU", "C": "CPU", "?": None}
    assert headline(write_plan(tmp_path, *(words[letter] for letter in engines))) == expected


def test_functions_are_counted_together_and_listed_apart(tmp_path: Path) -> None:
    functions = {"prefill": [operation("ANE"), operation("CPU")], "decode": [operation("CPU")]}
    path = write_plan(tmp_path, **functions)
    assert headline(path) == (
        "2 of 3 operations in 2 functions are anticipated off the Neural Engine, in 2 places: 3 segments."
    )
    rows = [
        line.split() for line in show(path).splitlines() if line.strip().startswith(("prefill", "decode"))
    ]
    assert rows == [
        ["prefill", "1", "Neural", "Engine", "1", "conv", "conv"],
        ["prefill", "2", "CPU", "1", "conv", "conv"],
        ["decode", "1", "CPU", "1", "conv", "conv"],
    ]


def test_costs_and_unknown_words_are_shown(tmp_path: Path) -> None:
    functions = {"main": [operation("ANE", weight=0.25), operation("CPU", weight=0.75), operation("NPU2")]}
    text = show(write_plan(tmp_path, **functions))
    assert "25.0 %" in text and "75.0 %" in text
    assert "No engine is known for the plan's word 'NPU2' (1 operation)." in text
    assert "It states no cost for 1 operation; shares leave them out." in text
    assert "Not stated  system, compute units and model" in text


ANALYTICS = """program(1.3)
{
    func main<ios18>(tensor<fp16, [8]> x) [Launch_ane_ms = fp64(0x1p-3), Launch_bnns_ms = fp64(0x0p+0), Src_ane_Dest_bnns_ms = fp64(0x1p-2), Src_bnns_Dest_ane_ms = fp64(0x1p-2), Src_bnns_Dest_jit_call_ms = fp64(0x1p+1)] {
            tensor<fp16, [8]> a = conv(x = x)[BackendSupport = list<string, 2>(["bnns", "ane"]), SelectedBackend = string("ane"), name = string("c")];
            tensor<int32, [8]> b = cast(x = a)[BackendSupport = list<string, 2>(["bnns", "unsupported"]), SelectedBackend = string("bnns"), ValidationMessage = dict<string, string>({{"ane", "Unsupported tensor data type: int32"}}), name = string("t")];
            tensor<int32, [8]> d = add(x = b)[BackendSupport = list<string, 2>(["bnns", "ane"]), SelectedBackend = string("bnns"), name = string("s")];
        } -> (d);
}
"""


def test_reasons_are_the_runtime_s_words(tmp_path: Path) -> None:
    path = tmp_path / "analytics.mil"
    path.write_text(ANALYTICS)
    text = " ".join(show(path).split())
    assert "“Unsupported tensor data type: int32”: 1 operation; cast t" in text
    assert (
        "No reason stated; the Neural Engine is among the engines that support them: 1 operation; add s"
        in text
    )
    assert (
        "1 transition between engines. Beside the operations, the plan estimates 125 µs for each launch on the"
        " Neural Engine and 250 µs for each change to it or from it."
    ) in text
    assert "A plan states what the runtime anticipates" in text
    assert "observed" not in text


def test_the_output_of_a_specialization_names_the_line_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "stderr.txt"
    line = 'warning: loc("model.py":290:12): "ane_validation_message"("Incompatible element type for ANE")\n'
    path.write_text(
        line * 3 + " ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1, statusdict={\n}\n"
    )
    assert headline(path) == (
        "Operations were refused for the Neural Engine 3 times, for 1 reason, and 1 failure was reported."
        " Where operations will run is not stated."
    )
    text = " ".join(show(path).split())
    assert "“Incompatible element type for ANE”: 3 times; model.py:290" in text
    assert "ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1" in text


@pytest.mark.parametrize(
    ("bytecode", "expected"),
    [
        (b"ML\xefR f_ANE_region_0_0 f_ANE_region_1_0 f_GPU_region_0", "2 regions are anticipated on the Neural Engine and 1 on the GPU."),
        (b"ML\xefR f_ANE_region_0_0", "1 region is anticipated on the Neural Engine."),
        (b"ML\xefR f_GPU_region_0 f_GPU_region_1", "No region is anticipated on the Neural Engine; 2 on the GPU."),
        (b"packed f_GPU_region_0", "The file names regions: 1 on the GPU. It does not show whether there are others."),
    ],
)  # fmt: skip
def test_regions_are_counted_by_engine(tmp_path: Path, bytecode: bytes, expected: str) -> None:
    package = tmp_path / "Net.aimodelc" / "x.mpsgraphpackage"
    package.mkdir(parents=True)
    (package / "specialized_model_0.mpsgraph").write_bytes(bytecode)
    assert headline(tmp_path / "Net.aimodelc") == expected


def test_json_follows_its_schema(tmp_path: Path) -> None:
    (tmp_path / "analytics.mil").write_text(ANALYTICS)
    document = json.loads(show(tmp_path, "--format", "json"))
    jsonschema.validate(document, SCHEMA)
    assert document["counts"] == {
        "operations": 3, "on_ane": 1, "off_ane": 2, "unstated": 0, "places": 1, "segments": 2, "transitions": 1,
    }  # fmt: skip
    assert document["functions"][0]["operations"][1]["messages"] == [
        {"text": "Unsupported tensor data type: int32", "device": "ane", "count": 1}
    ]
    assert [item["anticipated_engine"] for item in document["functions"][0]["segments"]] == ["ANE", "CPU"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collected plans are not here")
@pytest.mark.parametrize(
    "name",
    ["plans/freedomtan/without_compute_plan_2.csv", "coreai_plan/manifest_h17c_gpu_only.plist", "coreai_plan/placement_lines.txt"],
)  # fmt: skip
def test_json_of_real_plans_follows_its_schema(name: str) -> None:
    jsonschema.validate(json.loads(show(SHARED / name, "--format", "json")), SCHEMA)


HOSTILE = "\x1b[31mred\x1b[0m <script>alert(1)</script> | **bold** [x](http://a) `c` \u202e\n::error::x"


def test_names_and_messages_are_other_people_s_text(tmp_path: Path) -> None:
    entry = {
        "operatorName": HOSTILE,
        "operator_id": HOSTILE,
        "preferred_device": "CPU",
        "cost": 1,
        "ane_msg": HOSTILE,
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps([entry]))
    text = show(path)
    assert "\x1b" not in text and "\u202e" not in text
    assert not any(line.startswith("::error") for line in text.splitlines())
    markdown = show(path, "--format", "markdown")
    assert "<script>" not in markdown
    assert "**bold**" not in markdown
    assert json.loads(show(path, "--format", "json"))["functions"][0]["operations"][0]["name"] == HOSTILE


@pytest.mark.parametrize("name", ["analytics.mil", "e5/analytics.mil"])
def test_analyze_names_the_command_for_a_plan(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(ANALYTICS)
    named = path if "/" not in name else path.parent
    result = CliRunner().invoke(main, ["analyze", str(named)])
    assert result.exit_code == 3
    assert "is a plan and no recording" in result.output
    assert f"tracekit plan {named}" in result.output


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("Net.mlmodelc/model.mil", "program(1.0)\n{}"),
        ("Net.mlmodelc/coremldata.bin", "x"),
        ("Net.mlpackage/Manifest.json", "{}"),
        ("Net.aimodel/main.mlirb", "x"),
        ("Net.mlmodel", "x"),
        ("model.mil", "program(1.0)\n{}"),
    ],
)
def test_analyze_names_the_commands_for_a_model(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    named = path.parent if path.parent.suffix else path
    result = CliRunner().invoke(main, ["analyze", str(named)])
    assert result.exit_code == 3
    assert "is a model and no recording" in result.output
    assert f"tracekit model {named}; or" in result.output
    assert f"tracekit analyze RECORDING --model {named}" in result.output


def test_analyze_names_the_command_for_an_output(tmp_path: Path) -> None:
    path = tmp_path / "stderr.txt"
    path.write_text('warning: loc("m.py":1:2): "ane_validation_message"("no")\n')
    result = CliRunner().invoke(main, ["analyze", str(path)])
    assert result.exit_code == 3
    assert "the output of a specialization" in result.output


def test_the_rules_of_the_reasons_state_what_to_change(tmp_path: Path) -> None:
    (path,) = SAMPLE.rglob("analytics.mil")
    parts = show(path).split("What to change")[1].split("What the plan does not show")[0]
    text = " ".join(parts.split())
    assert text.startswith("OP04, 1 operation Look up embeddings outside of the model")
    assert "DT01, 1 operation Convert with compute_precision=FLOAT16;" in text
    assert "tracekit lint MODEL" in text
    assert text.endswith(f"tracekit analyze RECORDING --model MODEL --plan {path}")
    assert "What to change" not in show(write_plan(tmp_path, "ANE", "ANE"))


@pytest.mark.parametrize(
    ("name", "words"),
    [("Net.mlmodelc", "is a model and no plan"), ("x.trace", "is a recording and no plan"), ("x", "a folder without a plan")],
)  # fmt: skip
def test_what_is_no_plan_is_named(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).mkdir()
    result = CliRunner().invoke(main, ["plan", str(tmp_path / name)])
    assert result.exit_code == 3
    assert words in result.output


def test_a_plan_or_a_program_is_named(tmp_path: Path) -> None:
    for arguments in ([], [str(write_plan(tmp_path, "ANE")), "--write-program", "swift"]):
        result = CliRunner().invoke(main, ["plan", *arguments])
        assert result.exit_code == 2
        assert "one of the two" in result.output
    result = CliRunner().invoke(main, ["plan", "--write-program", "swift", "--format", "json"])
    assert result.exit_code == 2


@pytest.mark.parametrize("word", ["swift", "python", "coreai"])
def test_a_program_is_written_as_it_is_in_the_package(tmp_path: Path, word: str) -> None:
    output = tmp_path / "program"
    result = CliRunner().invoke(main, ["plan", "--write-program", word, "-o", str(output)])
    assert result.exit_code == 0
    assert "tracekit plan plan.json" in output.read_text()


def test_moves_at_the_border_are_no_operations_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "analytics.mil"
    path.write_text(
        """program(1.3)
[buildInfo = dict<string, string>({{"coremlc-version", "3600.25.2"}})]
{
    func main<ios18>(tensor_buffer<fp16, shape=[8], strides=[1]> x) {
            tensor<fp16, [8]> a = tensor_buffer_to_tensor<ios17>(input = x)[EstimatedRuntime = dict<string, fp64>({{"bnns", 3.0}}), SelectedBackend = string("bnns")];
            tensor<fp16, [8]> b = relu(x = a)[EstimatedRuntime = dict<string, fp64>({{"ane", 1.0}}), SelectedBackend = string("ane"), name = string("relu_0")];
            tensor<fp16, [8]> c = gelu(x = b)[EstimatedRuntime = dict<string, fp64>({{"ane", 1.0}}), SelectedBackend = string("ane"), name = string("gelu_0")];
            tensor_buffer<fp16, shape=[8], strides=[1]> d = tensor_to_tensor_buffer<ios17>(input = c)[SelectedBackend = string("bnns")];
        } -> (d);
}
"""
    )
    text = " ".join(show(path).split())
    assert "All 2 operations are anticipated on the Neural Engine: 1 segment." in text
    assert "1 Neural Engine 2 100.0 %" in text
    assert "Not counted: 2 moves of buffers at the border of the program" in text
    assert "tensor_buffer" not in text
    gate = ["check", "plan", str(path), "--require", "ops off ANE == 0"]
    assert CliRunner().invoke(main, gate).exit_code == 0
