"""Plans of Core AI: the compute plan, debug records, the specialization's output, manifests and bundles."""

from __future__ import annotations

import hashlib
import json
import plistlib
from pathlib import Path

import pytest
from plan_support import SHARED, problem_of, runs, write

from tracekit.mlmodels.plans import PlanMessage, PlannedRegion, read_plan
from tracekit.model.vocabulary import Engine

ANE, GPU, CPU = Engine.ANE, Engine.GPU, Engine.CPU
MODELS = SHARED / "models"
needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason="the collected models are not here")
ELEMENT = "Incompatible element type for ANE: expected fp16, f8E4M3, si8, ui8, si16, or ui16"

# The compute plan and debug records --------------------------------------------------------------------------


def test_a_compute_plan_with_names(tmp_path: Path) -> None:
    entries = [
        {"operation_id": 1, "devices": ["NEURAL_ENGINE"], "residency": "PLACED", "validation": []},
        {"operation_id": 2, "devices": ["GPU"], "residency": "PLACED", "validation": [ELEMENT]},
        {"operation_id": 3, "devices": ["UNKNOWN"], "residency": "NO DEVICE", "validation": []},
        {"operation_id": 4, "devices": ["CPU", "GPU"], "residency": "PLACED", "validation": []},
    ]
    document = {
        "entries": entries,
        "entry_count": 4,
        "device_histogram": {"GPU": 2},
        "operation_names": {"0": "coreai.graph", "1": "coreai.conv2d", "2": "coreai.cast", "5": "coreai.constant", "6": "coreai.reshape"},
        "operations_without_entry": [0, 5, 6],
    }  # fmt: skip
    plan = read_plan(write(tmp_path, "plan.json", json.dumps(document)))
    assert runs(plan) == [[("ANE", 1), ("GPU", 1), (None, 2)]]
    conv, cast, _, several = plan.functions[0].operations
    assert (conv.kind, conv.name) == ("coreai.conv2d", "1")
    assert cast.messages == (PlanMessage(ELEMENT, "ane"),)
    assert (several.engine, several.device) == (None, "CPU, GPU")
    assert plan.limits == (
        "The plan has several devices for 1 operation; no engine is taken for them.",
        "The plan has no entry for 1 further operation of the program: those for layout, and those that are"
        " fused into another, have none.",
    )
    assert plan.runtime == "Core AI"


def test_entries_without_names_may_be_constants(tmp_path: Path) -> None:
    entries = [
        {"operation_id": number, "devices": [device], "residency": "PLACED", "validation": []}
        for number, device in enumerate(("CPU", "NEURAL_ENGINE", "CPU"))
    ]
    plan = read_plan(write(tmp_path, "plan.json", json.dumps({"entries": entries, "device_histogram": {}})))
    assert runs(plan) == [[(None, 1), ("ANE", 1), (None, 1)]]
    assert "no engine is taken for 2 of its entries" in plan.limits[0]


def value(kind: str, content: object) -> dict[str, object]:
    return {kind: {"_0": content}}


def record_operation(
    numbers: list[int], *metadata: tuple[str, str], source: str = "", line: int = 0
) -> dict[str, object]:
    entries: list[dict[str, object]] = [
        {"key": "op_id", "value": value("dictionary", {"type": value("string", "coreai"), "value": value("integer", number)})}
        for number in numbers
    ]  # fmt: skip
    entries += [{"key": key, "value": value("string", text)} for key, text in metadata]
    locations = [{"fileName": "op_id", "line": 7}, {"fileName": source, "line": line}] if source else []
    return {"name": "x", "sourceLocations": locations, "metadatas": entries}


def test_delegates_are_read_as_apple_reads_them(tmp_path: Path) -> None:
    symbol = record_operation([9])
    symbol["metadatas"].append({"key": "symbol", "value": value("dictionary", {})})  # type: ignore[attr-defined]
    program = {
        "identifier": "odix_op_id",
        "operations": [
            record_operation([number], source="/a/model.py", line=10 + number) for number in range(4)
        ]
        + [symbol],
    }
    delegate = {
        "identifier": "MPSGraph_optimized_op_id",
        "operations": [
            record_operation([0, 1], ("residency", "ANE"), ("residency", "GPU")),  # the first counts
            record_operation([2], ("residency", "GPU"), ("ane_validation_message", ELEMENT)),
            record_operation([3]),  # without a residency nothing is placed
        ],
    }
    plan = read_plan(write(tmp_path, "debug.json", json.dumps([program, delegate])))
    assert [(item.name, item.engine, item.source) for item in plan.functions[0].operations] == [
        ("0", ANE, "model.py:10"),
        ("1", ANE, "model.py:11"),
        ("2", GPU, "model.py:12"),
        ("3", None, "model.py:13"),
    ]
    assert plan.limits[0].startswith("No delegate states a device for 1 operation of the program.")
    assert plan.functions[0].operations[2].messages == (PlanMessage(ELEMENT, "ane"),)
    bnns = {"identifier": "bnns_op_id", "operations": [record_operation([0])]}
    plan = read_plan(write(tmp_path, "bnns.json", json.dumps([program, bnns])))
    assert plan.functions[0].operations[0].engine is CPU


def test_records_without_delegates_state_no_placement(tmp_path: Path) -> None:
    program = {"identifier": "odix_op_id", "operations": [record_operation([0])]}
    plan = read_plan(write(tmp_path, "debug.json", json.dumps([program])))
    assert runs(plan) == [[(None, 1)]]
    assert "no placement" in plan.limits[0]


@needs_models
def test_real_records_without_delegates() -> None:
    plan = read_plan(MODELS / "coreai" / "conv_softmax_fp16.debug_infos.json")
    assert {item.engine for item in plan.functions[0].operations} == {None}
    assert {item.source for item in plan.functions[0].operations} == {"t4.py:16", "t4.py:18"}


# The specialization's output ---------------------------------------------------------------------------------

OUTPUT = f"""warning: loc(fused<#x<string<"_to_copy_3">>>["op_id":17:0, "/home/u/models/model.py":290:12, "ane_validation_message"("{ELEMENT}")]): not placed
warning: loc(fused<#x<string<"_to_copy_3">>>["op_id":17:0, "/home/u/models/model.py":290:12, "ane_validation_message"("{ELEMENT}")]): not placed
warning: loc("model.py":333:4): failed: ANE I/O op isn't a squeeze / expandDims
Download failed: timeout
2026-10-01 10:00:00 Error:

 ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1, statusdict={{
    CompiledInputSourceFileName = "/tmp/x/extend_1_ANE_region_1_0.bc.mlir";
    ErrorList =     (
        CompilationFailure
    );
    NetworkStatusList =     (
    );
}}
 ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1, statusdict={{
    ErrorList = ();
}}
Error Domain=com.apple.appleneuralengine.compiler Code=1 "_ANECompiler : ANECCompile() FAILED"
    "Compiler internal error: failed create split by input channel, graph is changed
     - From NEFUSED_CONV Layer: "main"
MPSGraph_Delegate: Delegate init (URL) with resource file:///Users/u/Library/Caches/coreai-cache/26A434/app/{"ab" * 32}/{"CD" * 32}/model.aimodelx/
CoreAIDelegates.AIModelError.incompatibleCompiledAssetArchitecture(device: "h17c", asset: ["h17g"])
"""


def test_the_output_of_a_specialization(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, "stderr.txt", OUTPUT))
    copy, other = plan.functions[0].operations
    assert (copy.name, copy.source, copy.engine) == ("_to_copy_3", "model.py:290", None)
    assert copy.messages == (PlanMessage(ELEMENT, "ane", 2),)
    assert (other.source, other.messages) == (
        "model.py:333",
        (PlanMessage("ANE I/O op isn't a squeeze / expandDims", "ane"),),
    )
    assert [(item.text, item.device) for item in plan.messages] == [
        (
            'ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1, CompiledInputSourceFileName = "extend_1_ANE_region_1_0.bc.mlir", ErrorList = (CompilationFailure)',
            "ane",
        ),
        ("ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1, ErrorList = ()", "ane"),
        ("_ANECompiler : ANECCompile() FAILED", "ane"),
        ("Compiler internal error: failed create split by input channel, graph is changed", ""),
        ('incompatibleCompiledAssetArchitecture(device: "h17c", asset: ["h17g"])', ""),
    ]
    assert (plan.runtime, plan.chip, plan.os_build, plan.model) == ("Core AI", "h17c", "26A434", "ab" * 32)


@pytest.mark.integration
def test_a_message_is_found_wherever_a_long_line_is_cut(tmp_path: Path) -> None:
    piece = 1 << 20  # the length at which lines are cut
    for shift in range(0, 120, 7):
        begin = f'warning: loc("model.py":290:12 {"x" * (piece - 100 + shift)} '
        text = f'{begin}"ane_validation_message"("{ELEMENT}") {"y" * 3000}\nwarning: loc("b.py":1:1) none\n'
        plan = read_plan(write(tmp_path, "stderr.txt", text))
        (operation,) = plan.functions[0].operations
        assert (operation.source, operation.messages) == ("model.py:290", (PlanMessage(ELEMENT, "ane"),))


def test_warnings_without_a_message_show_nothing(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, "stderr.txt", 'warning: loc("a.py":1:1): unused\n' * 10))
    assert (plan.functions, plan.messages) == ((), ())
    assert plan.limits[0].startswith("The text has no message about the Neural Engine. That shows nothing")


def test_core_ml_s_own_failure_is_of_core_ml(tmp_path: Path) -> None:
    line = (
        "E5RT encountered an STL exception. msg = MILCompilerForANE error: failed to compile ANE model using"
        " ANEF. Error=_ANECompiler : ANECCompile() FAILED.\n"
    )
    plan = read_plan(write(tmp_path, "stderr.txt", line))
    assert plan.runtime == "Core ML"
    assert plan.messages == (PlanMessage("_ANECompiler : ANECCompile() FAILED", "ane"),)


@needs_models
def test_the_shapes_of_real_messages_are_read() -> None:
    plan = read_plan(MODELS / "coreai_plan" / "placement_lines.txt")
    assert [item.messages[0].text for item in plan.functions[0].operations] == [
        ELEMENT,
        "ANE I/O op isn't a squeeze / expandDims",
    ]
    assert len(plan.messages) == 4


# Manifests and bundles ---------------------------------------------------------------------------------------


def make_manifest(*, binaries: dict[str, object], preferred: int = 2) -> dict[str, object]:
    descriptor = {
        "entryFunctionName": "main_x",
        "deviceDescriptor": [0, 40, "h17c"],
        "compilationDescriptor": {"preferredDevice": preferred, "allowedComputeDevices": 7},
    }
    package = {
        "ANERegionsHash": {
            "h17c": f"AB_{('' if binaries else hashlib.sha256(b'').hexdigest().upper()) or 'CD'}"
        },
        "Binary File Resources": binaries,
        "GPU adapter present": "NO",
        "Optimized Modules": {
            json.dumps([json.dumps(descriptor)]): {"File Name": "specialized_model_0.mpsgraph"}
        },
    }
    return {"Package Version": {"7.0.63": package}}


@pytest.mark.parametrize("form", [plistlib.FMT_XML, plistlib.FMT_BINARY])
def test_a_manifest_states_the_chip_and_the_setting(tmp_path: Path, form: plistlib.PlistFormat) -> None:
    path = write(tmp_path, "manifest.plist", plistlib.dumps(make_manifest(binaries={}), fmt=form))
    plan = read_plan(path)
    assert (plan.chip, plan.ane_regions) == ("h17c", 0)
    assert plan.compute_units == "preferredDevice 2 (the Neural Engine), allowedComputeDevices 7"
    assert [function.name for function in plan.functions] == ["main_x"]
    packed = make_manifest(binaries={"0": {"File Name": "binary_0.llir.bundle"}}, preferred=1)
    plan = read_plan(write(tmp_path, "manifest.plist", plistlib.dumps(packed, fmt=form)))
    # Binaries are no regions: how many there are is in other files, and what 1 stands for is not known.
    assert (plan.ane_regions, plan.compute_units) == (None, "preferredDevice 1, allowedComputeDevices 7")


@needs_models
def test_a_real_manifest_that_asked_for_the_neural_engine_and_has_none() -> None:
    plan = read_plan(MODELS / "coreai_plan" / "manifest_h17c_gpu_only.plist")
    assert (plan.chip, plan.ane_regions) == ("h17c", 0)
    assert plan.compute_units.startswith("preferredDevice 2 (the Neural Engine)")


def make_bundle(folder: Path, bytecode: bytes, *, binaries: dict[str, object] | None = None) -> Path:
    root = folder / "coreai-cache" / "26A434" / "app" / ("ab" * 32) / ("CD" * 32) / "model.aimodelx"
    package = "main-this-delegates/MPSGraph/mpsExecutable.mpsgraphpackage"
    write(root, f"{package}/specialized_model_1.mpsgraph", bytecode)
    write(root, f"{package}/manifest.plist", plistlib.dumps(make_manifest(binaries=binaries or {})))
    write(root, "main-this.odix", b"odix")
    return root


def test_regions_are_counted_once_wherever_they_are_named(tmp_path: Path) -> None:
    bytecode = b"ML\xefR\0main_x_0_ANE_region_0_0\0main_x_0_GPU_region_0\0main_x_0_ANE_region_1_0\0@main_x_0_ANE_region_0_0\0"
    root = make_bundle(tmp_path, bytecode)
    binary = "main-this-delegates/MPSGraph/mpsExecutable.mpsgraphpackage/binary_0.llir.bundle"
    write(root, f"{binary}/main_x_0_ANE_region_0_0.bc/h17c/main_x_0_ANE_region_0_0.mlir.bc", b"")
    for named in (root, tmp_path, root / "main-this-delegates/MPSGraph/mpsExecutable.mpsgraphpackage"):
        plan = read_plan(named)
        (function,) = plan.functions
        assert function.name == "main_x"
        assert function.regions == (
            PlannedRegion("main_x_0_ANE_region_0_0", ANE),
            PlannedRegion("main_x_0_ANE_region_1_0", ANE),
            PlannedRegion("main_x_0_GPU_region_0", GPU),
        )
        assert (plan.ane_regions, plan.chip, plan.os_build, plan.model) == (2, "h17c", "26A434", "ab" * 32)


def test_a_bundle_without_regions_of_the_neural_engine(tmp_path: Path) -> None:
    plan = read_plan(make_bundle(tmp_path, b"ML\xefR\0placement.region_type<GPU>\0"))
    assert plan.ane_regions == 0
    assert [region for function in plan.functions for region in function.regions] == [
        PlannedRegion("placement.region_type<GPU>", GPU)
    ]


def test_a_delegate_of_the_cpu_is_a_region(tmp_path: Path) -> None:
    root = make_bundle(tmp_path, b"ML\xefR main_x_ANE_region_0_0")
    write(root, "main-this-delegates/BNNS/bnns.ir", b"ir")
    regions = [region for function in read_plan(root).functions for region in function.regions]
    assert PlannedRegion("BNNS", CPU) in regions


def test_regions_in_file_names_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        "Net.aimodelc/MPSGraph/x.mpsgraphpackage/b.llir.bundle/f_ANE_region_0_0.bc/h18p/f.mlir.bc",
        b"",
    )
    plan = read_plan(tmp_path / "Net.aimodelc")
    assert plan.functions[0].regions == (PlannedRegion("f_ANE_region_0_0", ANE),)
    assert plan.ane_regions == 1


def test_a_cache_of_several_models_names_them(tmp_path: Path) -> None:
    for name in ("A.aimodelx", "B.aimodelx"):
        write(tmp_path, f"{name}/x.mpsgraphpackage/specialized_model_0.mpsgraph", b"x_ANE_region_0_0")
    assert problem_of(tmp_path) == "holds 2 plans: A.aimodelx, B.aimodelx; name one of them."
