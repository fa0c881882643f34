"""Writes a Core AI asset with Apple's package for Linux: an attention without heads, a convolution before silu.

    python make_attention_asset.py PATH LOWEST STRIDE

A program and no module: the Python that has ``coreai-core`` runs it, which is another than the one of the tests.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from coreai import authoring
from coreai.authoring.constant import constant
from coreai.authoring.graph import graph


def make_type(*shape: int, name: str) -> Any:
    """Annotate a half-precision tensor with its name."""
    return Annotated[authoring.Value, authoring.TensorType(shape, np.float16, name=name)]


def write_asset(path: Path, lowest: float, stride: int) -> None:
    """Write the asset: ``lowest`` fills the mask above its diagonal, ``stride`` moves the 9 × 9 kernel."""
    scale = np.linspace(1, 2, 64 * 64).reshape(64, 64).astype(np.float16)
    mask = np.triu(np.full((64, 64), lowest), 1).astype(np.float16)
    size = (64 - 9) // stride + 1

    def main(x, i):  # type: ignore[no-untyped-def]
        scores = authoring.broadcasting_add(authoring.broadcasting_mul(x, constant(scale)), constant(mask))
        kernel = constant(np.ones((8, 1, 9, 9), np.float16))
        convolved = authoring.conv2d(i, kernel, [stride, stride], [1, 1], 1)
        return authoring.softmax(scores, -1), authoring.silu(convolved)

    results = tuple[make_type(1, 64, 64, name="p"), make_type(1, 8, size, size, name="c")]  # type: ignore[misc]
    inputs = {"x": make_type(1, 64, 64, name="x"), "i": make_type(1, 1, 64, 64, name="i")}
    main.__annotations__ = {**inputs, "return": results}
    module = authoring.Module.create()
    with module:
        graph(main)
    authoring.AIProgram(module).save_asset(path)


write_asset(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
