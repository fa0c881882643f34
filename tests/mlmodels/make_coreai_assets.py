"""Writes Core AI assets with Apple's package for Linux, and that package's summaries of them: an oracle.

    python make_coreai_assets.py FOLDER

A program and no module: it runs in a Python of its own, which has ``coreai-core``, because the package needs
a newer numpy than tracekit asks for, and its native code ends the process at a damaged file. It writes an asset per
operation and data type, two that are compiled (``.aimodelx``), and ``summaries.json``.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from coreai import authoring as ai
from coreai.authoring import TensorType, Value
from coreai.authoring.graph_builder import GraphOp

SHAPE = (1, 4, 8, 8)
UNARY = (
    "abs_", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "gelu", "log", "relu", "round_",
    "rsqrt", "sigmoid", "silu", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "divide", "floor_divide", "maximum", "minimum", "modulo", "pow_", "equal", "greater", "not_equal",
    "broadcasting_add", "broadcasting_mul", "broadcasting_sub", "broadcasting_divide", "broadcasting_maximum",
)  # fmt: skip
REDUCTIONS = ("reduce_max", "reduce_mean", "reduce_min", "reduce_product", "reduce_sum")


def u32(*values: int) -> Any:
    return np.array(values, dtype=np.uint32)


def i32(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: ai.argmax(x, np.int32(1)),
    "argsort": lambda x: ai.argsort(x, np.int32(1), np.bool_(False), np.bool_(True)),
    "batch_matmul": lambda x: ai.batch_matmul(x, x),
    "cast": lambda x: ai.cast(x, np.float32),
    "concat": lambda x: ai.concat(np.int32(1), [x, x]),
    "expand_dims": lambda x: ai.expand_dims(x, i32(0)),
    "reshape": lambda x: ai.reshape(x, u32(1, 4, 64)),
    "reverse": lambda x: ai.reverse(x, i32(1)),
    "shrink_dims": lambda x: ai.shrink_dims(x, i32(0)),
    "slice_": lambda x: ai.slice_(x, i32(0, 0, 0, 0), i32(1, 2, 4, 4), i32(1, 1, 1, 1)),
    "softmax": lambda x: ai.softmax(x, np.int32(1)),
    "sort": lambda x: ai.sort(x, np.int32(1), np.bool_(False), np.bool_(True)),
    "tile": lambda x: ai.tile(x, u32(1, 2, 1, 1)),
    "transpose": lambda x: ai.transpose(x, u32(0, 2, 3, 1)),
    "where": lambda x: ai.where(ai.greater(x, x), x, x),
    "get_shape": ai.get_shape,
}


FLOATING = (*UNARY, "softmax", "reduce_mean")
"""Operations that the package refuses for integers; of the unary ones all but a few."""
OF_INTEGERS = ("abs_", "relu", "round_")
COMPILED = ("relu", "softmax", "concat")


def operations() -> dict[str, Callable[[Any], Any]]:
    makers: dict[str, Callable[[Any], Any]] = dict(OTHERS)
    for name in UNARY:
        makers[name] = getattr(ai, name)
    for name in BINARY:
        makers[name] = with_itself(getattr(ai, name))
    for name in REDUCTIONS:
        makers[name] = along_an_axis(getattr(ai, name))
    return makers


def with_itself(make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda x: make(x, x)


def along_an_axis(make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda x: make(x, i32(1))


def data_types(name: str) -> dict[str, Any]:
    """Three data types that the package accepts for an operation, by tracekit's names."""
    is_floating = name in FLOATING and name not in OF_INTEGERS
    return {"fp16": np.float16, "fp32": np.float32} | (
        {"bf16": ai.bfloat16} if is_floating else {"int32": np.int32}
    )


def build(make: Callable[[Any], Any], dtype: Any) -> Any:
    """Build a program of one graph; its result types are those that the package infers."""
    module = ai.Module.create()
    with module:
        graph = GraphOp(
            "main",
            input_types=[TensorType(SHAPE, dtype)._to_mlir()],
            result_types=[],
            input_names=["x"],
            result_names=[],
        )
        with graph.block:
            value = make(Value._from_mlir(graph.arguments[0]))._to_mlir()
        graph.outputs_spec = [("y", value)]
    return ai.AIProgram(module)


def write_all(folder: Path) -> dict[str, Any]:
    """Write the assets and return the package's summaries by the name of the asset."""
    summaries = {}
    for name, make in operations().items():
        for dtype_name, dtype in data_types(name).items():
            asset = build(make, dtype).save_asset(folder / f"{name}-{dtype_name}.aimodel")
            summary = asset.summary()
            summaries[f"{name}-{dtype_name}"] = {
                "functions": list(summary.function_names),
                "inputs": [[key, str(value)] for key, value in summary.function_inputs("main")],
                "outputs": [[key, str(value)] for key, value in summary.function_outputs("main")],
                "counts": dict(summary.operation_distribution),
            }
            if name in COMPILED and dtype_name == "fp16":
                compiled = folder / f"{name}-{dtype_name}.aimodelx"
                compiled.mkdir()
                asset._write_odix(compiled, enable_debug_info=True)
    return summaries


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "summaries.json").write_text(json.dumps(write_all(target)))
