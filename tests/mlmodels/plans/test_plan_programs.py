"""The programs that make a plan on a Mac, against stand-ins of the interfaces that they use.

The stand-ins follow coremltools 9.0 (``models/compute_plan.py``, ``models/compute_device.py``), coreai-core
1.0.0b3 and coreai-torch 0.4.3 (``debugging/compute_plan.py``). Nothing here has run on a Mac.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from plan_support import runs, write

from tracekit.mlmodels.plans import read_plan
from tracekit.mlmodels.plans.programs import PROGRAMS, read_program
from tracekit.model.vocabulary import COMPUTE_UNITS, Engine

Run = Callable[..., str]


class MLCPUComputeDevice: ...


class MLGPUComputeDevice: ...


class MLNeuralEngineComputeDevice: ...


class MLNewComputeDevice: ...


def usage(preferred: object, *supported: object) -> SimpleNamespace:
    return SimpleNamespace(preferred_compute_device=preferred, supported_compute_devices=list(supported))


def argument(*names: str | None) -> SimpleNamespace:
    return SimpleNamespace(bindings=[SimpleNamespace(name=name, value=None) for name in names])


def operation(kind: str, output: str, *blocks: object, **inputs: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(
        operator_name=kind, inputs=inputs, outputs=[SimpleNamespace(name=output)], blocks=list(blocks)
    )


CONST = operation("const", "w")
ADD = operation("ios17.add", "i", x=argument("c"))
CONV = operation("ios17.conv", "c", x=argument("x"), weight=argument("w", None))
COND = operation("cond", "y", SimpleNamespace(operations=[ADD]))
LAYER = SimpleNamespace(name="fc", type="innerProduct", input_names=["x"], output_names=["y"])

CPU, GPU, ANE = MLCPUComputeDevice(), MLGPUComputeDevice(), MLNeuralEngineComputeDevice()
USAGES = {"c": usage(ANE, CPU, ANE), "y": usage(CPU, CPU), "i": usage(MLNewComputeDevice(), GPU)}
COSTS = {"c": 0.75, "y": 0.25}


class ComputePlan:
    """``MLComputePlan``: what is known of an operation by its first output."""

    loaded: tuple[str, str] = ("", "")

    def __init__(self, structure: SimpleNamespace) -> None:
        self.model_structure = structure

    def get_compute_device_usage_for_mlprogram_operation(self, item: SimpleNamespace) -> object:
        return USAGES.get(item.outputs[0].name)

    def get_estimated_cost_for_mlprogram_operation(self, item: SimpleNamespace) -> object:
        name = item.outputs[0].name
        return SimpleNamespace(weight=COSTS[name]) if name in COSTS else None

    def get_compute_device_usage_for_neuralnetwork_layer(self, layer: SimpleNamespace) -> object:
        return usage(GPU, GPU, CPU)


def program(*functions: tuple[str, list[SimpleNamespace]]) -> SimpleNamespace:
    blocks = {name: SimpleNamespace(block=SimpleNamespace(operations=items)) for name, items in functions}
    return SimpleNamespace(program=SimpleNamespace(functions=blocks), neuralnetwork=None, pipeline=None)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the Python program for Core ML on a model of a structure; return what it prints."""

    def start(structure: SimpleNamespace, *arguments: str) -> str:
        def load_from_path(path: str, units: object) -> ComputePlan:
            assert path == arguments[0]
            assert isinstance(units, str)
            return ComputePlan(structure)

        module = ModuleType("coremltools")
        loader = SimpleNamespace(MLComputePlan=SimpleNamespace(load_from_path=load_from_path))
        module.models = SimpleNamespace(compute_plan=loader)  # type: ignore[attr-defined]
        names = ("ALL", "CPU_AND_NE", "CPU_AND_GPU", "CPU_ONLY")
        module.ComputeUnit = SimpleNamespace(**{name: name for name in names})  # type: ignore[attr-defined]
        output = io.StringIO()
        monkeypatch.setitem(sys.modules, "coremltools", module)
        monkeypatch.setattr(sys, "argv", ["coreml_plan.py", *arguments])
        monkeypatch.setattr(sys, "stdout", output)
        monkeypatch.setattr(
            subprocess,
            "check_output",
            lambda words, text: "26A434\n" if words[0] == "sw_vers" else "Apple M4\n",
        )
        runpy.run_path(str(write(tmp_path, "program.py", read_program("python"))), run_name="__main__")
        return output.getvalue()

    return start


def test_the_python_program_writes_what_is_read(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "Net.mlmodelc/model.mil", b"program(1.0)")
    structure = program(("main", [CONST, CONV, COND]), ("other", [CONV]))
    text = run(structure, str(tmp_path / "Net.mlmodelc"), "cpuAndNeuralEngine")
    plan = read_plan(write(tmp_path, "plan.json", text))
    assert (plan.model, plan.compute_units, plan.os_build, plan.chip) == (
        "Net",
        "cpuAndNeuralEngine",
        "26A434",
        "Apple M4",
    )
    assert plan.model_sha256 == hashlib.sha256(b"program(1.0)").hexdigest()
    assert runs(plan) == [[("ANE", 1), ("CPU", 1), (None, 1)], [("ANE", 1)]]
    const, conv, cond, add = plan.functions[0].operations
    assert const.is_constant
    assert const.device == ""
    assert (conv.kind, conv.inputs, conv.outputs, conv.cost_share) == ("ios17.conv", ("x", "w"), ("c",), 0.75)
    assert conv.supported == frozenset((Engine.CPU, Engine.ANE))
    assert (cond.kind, add.kind) == ("cond", "ios17.add")  # an operation, then what is in it
    assert (add.engine, add.device, add.cost_share) == (None, "MLNewComputeDevice", None)


def test_the_python_program_reads_neural_networks(run: Run, tmp_path: Path) -> None:
    network = SimpleNamespace(program=None, neuralnetwork=SimpleNamespace(layers=[LAYER]), pipeline=None)
    plan = read_plan(write(tmp_path, "plan.json", run(network, str(tmp_path / "Old.mlmodelc"))))
    (layer,) = plan.functions[0].operations
    assert (layer.kind, layer.name, layer.engine, layer.inputs) == ("innerProduct", "fc", Engine.GPU, ("x",))
    assert (plan.compute_units, plan.model_sha256) == ("all", "")


def test_the_python_program_refuses_in_words(run: Run, tmp_path: Path) -> None:
    pipeline = SimpleNamespace(program=None, neuralnetwork=None, pipeline=object())
    for arguments, words in (((), "is no ML program"), (("gpu",), "gpu is none of all, cpuAndNeuralEngine")):
        with pytest.raises(SystemExit) as caught:
            run(pipeline, str(tmp_path / "P.mlmodelc"), *arguments)
        assert words in str(caught.value.code)


def test_the_core_ai_program_writes_what_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[object] = []

    class CoreAIPlan:
        @classmethod
        async def from_program(cls, program: object, options: object) -> CoreAIPlan:
            calls.extend((program, options))
            return cls()

        def to_dict(self, program: object) -> dict[str, object]:
            entry = {"operation_id": 3, "devices": ["NEURAL_ENGINE"], "residency": "PLACED", "validation": []}
            return {"entries": [entry], "device_histogram": {}, "operation_names": {3: "coreai.conv2d"}}

    def add_module(name: str, **content: object) -> None:
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)

    kinds = SimpleNamespace(neural_engine=lambda: "ane", gpu=lambda: "gpu", cpu=lambda: "cpu")
    options = SimpleNamespace(from_preferred_compute_unit_kind=lambda kind: f"prefer {kind}")
    add_module("coreai")
    add_module(
        "coreai.authoring", AIModelAsset=SimpleNamespace(load=lambda path: SimpleNamespace(program=path.name))
    )
    add_module("coreai.runtime", ComputeUnitKind=kinds, SpecializationOptions=options)
    add_module("coreai_torch")
    add_module("coreai_torch.debugging")
    add_module("coreai_torch.debugging.compute_plan", ComputePlan=CoreAIPlan)
    output = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["coreai_plan.py", str(tmp_path / "Net.aimodel"), "gpu"])
    monkeypatch.setattr(sys, "stdout", output)
    runpy.run_path(str(write(tmp_path, "program.py", read_program("coreai"))), run_name="__main__")
    assert calls == ["Net.aimodel", "prefer gpu"]
    plan = read_plan(write(tmp_path, "plan.json", output.getvalue()))
    assert [(item.kind, item.engine) for item in plan.functions[0].operations] == [
        ("coreai.conv2d", Engine.ANE)
    ]


# Swift cannot run here: what its text writes is held to the Python program, whose output is read above. ------


def quoted_keys(text: str) -> set[str]:
    return set(re.findall(r'"(\w+)":', text)) | set(re.findall(r'entry\["(\w+)"\]', text))


def test_the_swift_program_writes_the_same_keys(run: Run, tmp_path: Path) -> None:
    document = json.loads(run(program(("main", [CONV])), str(tmp_path / "Net.mlmodelc")))
    written = set(document) | set(document["functions"]["main"][0]) | {"main", "name"}
    settings = {"all", "cpuAndNeuralEngine", "cpuAndGPU", "cpuOnly"}
    assert quoted_keys(read_program("swift")) - settings == written - {"main"}
    assert set(COMPUTE_UNITS) == settings


def test_the_swift_program_uses_published_interfaces_alone() -> None:
    """Members as CoreML's Swift interface has them: https://developer.apple.com/documentation/coreml/mlcomputeplan-1w21n."""
    text = read_program("swift")
    for name in (
        "MLComputePlan.load(contentsOf: url, configuration: configuration)",
        "plan.modelStructure",
        "plan.deviceUsage(for: operation)",
        "plan.estimatedCost(of: operation)",
        "plan.deviceUsage(for: layer)",
        "usage.preferred",
        "usage.supported",
        "case .program(let program)",
        "case .neuralNetwork(let network)",
    ):
        assert name in text
    assert text.count("{") == text.count("}")
    assert text.count("(") == text.count(")")
    imports = re.findall(r"^import (\w+)$", text, re.MULTILINE)
    assert imports == ["CoreML", "CryptoKit", "Foundation"]


@pytest.mark.parametrize("word", PROGRAMS)
def test_a_program_begins_with_how_to_run_it(word: str) -> None:
    text = read_program(word)
    assert "tracekit plan plan.json" in text[:800]
    assert "tracekit." not in text  # it needs no tracekit
