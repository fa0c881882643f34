"""Write where Core ML anticipates that each operation of a model will run. Made by ``tracekit plan``.

    xcrun coremlcompiler compile Model.mlpackage .
    pip install coremltools                    (8 or later; macOS 14.4 or later)
    python coreml_plan.py Model.mlmodelc cpuAndNeuralEngine > plan.json
    tracekit plan plan.json

The second argument is one of all (the default), cpuAndNeuralEngine, cpuAndGPU, cpuOnly. Nothing is predicted,
but the model is compiled for this Mac, which can take minutes.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coremltools

UNITS = {"all": "ALL", "cpuAndNeuralEngine": "CPU_AND_NE", "cpuAndGPU": "CPU_AND_GPU", "cpuOnly": "CPU_ONLY"}
DEVICES = {"MLCPUComputeDevice": "CPU", "MLGPUComputeDevice": "GPU", "MLNeuralEngineComputeDevice": "ANE"}


def main(path: Path, units: str = "all") -> None:
    """Print the plan of a compiled model."""
    if units not in UNITS:
        sys.exit(f"{units} is none of {', '.join(UNITS)}.")
    plan = coremltools.models.compute_plan.MLComputePlan.load_from_path(
        str(path), getattr(coremltools.ComputeUnit, UNITS[units])
    )
    structure = plan.model_structure
    if structure.program is not None:
        functions = {
            name: list(list_operations(plan, function.block))
            for name, function in structure.program.functions.items()
        }
    elif structure.neuralnetwork is not None:
        functions = {"main": [describe_layer(plan, layer) for layer in structure.neuralnetwork.layers]}
    else:
        sys.exit(f"{path} is no ML program and no neural network; of a pipeline, name one of its models.")
    document = {
        "schema": "tracekit-plan/1",
        "model": path.stem,
        "model_sha256": hash_model(path),
        "compute_units": units,
        "os_build": run("sw_vers", "-buildVersion"),
        "chip": run("sysctl", "-n", "machdep.cpu.brand_string"),
        "functions": functions,
    }
    json.dump(document, sys.stdout, indent=1)


def list_operations(plan: Any, block: Any) -> Iterator[dict[str, Any]]:
    """Yield the operations of a block, each before those of the blocks in it."""
    for operation in block.operations:
        cost = plan.get_estimated_cost_for_mlprogram_operation(operation)
        bindings = [binding for argument in operation.inputs.values() for binding in argument.bindings]
        yield {
            "op": operation.operator_name,
            "inputs": [binding.name for binding in bindings if binding.name],
            "outputs": [output.name for output in operation.outputs],
            **describe_usage(plan.get_compute_device_usage_for_mlprogram_operation(operation)),
            **({} if cost is None else {"weight": cost.weight}),
        }
        for inner in operation.blocks:
            yield from list_operations(plan, inner)


def describe_layer(plan: Any, layer: Any) -> dict[str, Any]:
    """Return a layer of a neural network; Core ML estimates no costs for these."""
    return {
        "op": layer.type,
        "name": layer.name,
        "inputs": list(layer.input_names),
        "outputs": list(layer.output_names),
        **describe_usage(plan.get_compute_device_usage_for_neuralnetwork_layer(layer)),
    }


def describe_usage(usage: Any) -> dict[str, Any]:
    """Return the devices; nothing where Core ML states none, as for constants."""
    if usage is None:
        return {}
    supported = [name_device(device) for device in usage.supported_compute_devices]
    return {"preferred": name_device(usage.preferred_compute_device), "supported": supported}


def name_device(device: Any) -> str:
    """Return CPU, GPU or ANE, or the name of a class that is none of them."""
    return DEVICES.get(type(device).__name__, type(device).__name__)


def hash_model(path: Path) -> str:
    """Return the SHA-256 of the program's text, or of what describes another model."""
    files = [file for file in (path / "model.mil", path / "coremldata.bin") if file.is_file()]
    return hashlib.sha256(files[0].read_bytes()).hexdigest() if files else ""


def run(*words: str) -> str:
    """Return the output of a command of the system."""
    return subprocess.check_output(words, text=True).strip()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *sys.argv[2:])
