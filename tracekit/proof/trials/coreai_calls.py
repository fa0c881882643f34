"""Make a small Core AI model and call it: a program that a trial records. Needs Apple's package coreai-core.

    python coreai_calls.py FOLDER CALLS

FOLDER is a whole path. A compiled model beside the one that is made (``probe.aimodelx``) is called instead.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import numpy as np
from coreai import authoring
from coreai.authoring import TensorType, Value
from coreai.authoring.graph_builder import GraphOp
from coreai.runtime import AIModel, NDArray

SHAPE = (1, 64, 64, 64)


def write_model(path: Path) -> None:
    """Write a model of two operations, which any engine takes."""
    module = authoring.Module.create()
    with module:
        types = {"input_types": [TensorType(SHAPE, np.float16)._to_mlir()], "result_types": []}
        graph = GraphOp("main", **types, input_names=["x"], result_names=[])
        with graph.block:
            value = authoring.softmax(authoring.relu(Value._from_mlir(graph.arguments[0])), np.int32(1))
        graph.outputs_spec = [("y", value._to_mlir())]
    authoring.AIProgram(module).save_asset(path)


async def call_model(path: Path, calls: int) -> None:
    """Load the model and call its function."""
    model = await AIModel.load(path)
    function: Any = model.load_function("main")
    inputs = {"x": NDArray(np.zeros(SHAPE, np.float16))}
    for _ in range(calls):
        await function(inputs)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    asset, compiled = folder / "probe.aimodel", folder / "probe.aimodelx"
    if not asset.exists():
        write_model(asset)
    asyncio.run(call_model(compiled if compiled.exists() else asset, int(sys.argv[2])))
    sys.stdout.write(f"{sys.argv[2]} calls\n")
