"""Rules held against an asset that Apple's package for Linux writes; skipped where coreai-core is not installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from tracekit.mlmodels import read_model
from tracekit.mlmodels.rules.lint import lint_model
from tracekit.mlmodels.rules.rule_target import make_target

authoring = pytest.importorskip("coreai.authoring", reason="coreai-core is not installed")
pytestmark = pytest.mark.integration


def write_asset(path: Path, lowest: float, stride: int) -> None:
    """Write an attention without heads, and a convolution behind which silu stands."""
    from coreai.authoring.constant import constant
    from coreai.authoring.graph import graph

    def spec(*shape: int, name: str) -> Any:
        return Annotated[authoring.Value, authoring.TensorType(shape, np.float16, name=name)]

    scale = np.linspace(1, 2, 64 * 64).reshape(64, 64).astype(np.float16)
    mask = np.triu(np.full((64, 64), lowest), 1).astype(np.float16)
    size = (64 - 9) // stride + 1

    def main(x, i):  # type: ignore[no-untyped-def]
        scores = authoring.broadcasting_add(authoring.broadcasting_mul(x, constant(scale)), constant(mask))
        kernel = constant(np.ones((8, 1, 9, 9), np.float16))
        convolved = authoring.conv2d(i, kernel, [stride, stride], [1, 1], 1)
        return authoring.softmax(scores, -1), authoring.silu(convolved)

    results = tuple[spec(1, 64, 64, name="p"), spec(1, 8, size, size, name="c")]  # type: ignore[misc]
    inputs = {"x": spec(1, 64, 64, name="x"), "i": spec(1, 1, 64, 64, name="i")}
    main.__annotations__ = {**inputs, "return": results}
    module = authoring.Module.create()
    with module:
        graph(main)
    authoring.AIProgram(module).save_asset(path)


@pytest.mark.parametrize(
    ("lowest", "stride", "ids"),
    [(-np.inf, 5, ["OP12", "OP14", "SH06", "CV04", "CV06"]), (-40000.0, 4, ["OP14", "SH06", "CV04"])],
)
def test_masks_strides_and_kernels_are_read(
    tmp_path: Path, lowest: float, stride: int, ids: list[str]
) -> None:
    path = tmp_path / "Attention.aimodel"
    write_asset(path, lowest, stride)
    result = lint_model(read_model(path), make_target())
    assert [finding.rule.id for finding in result.findings] == ids
    places = [place for finding in result.findings for place in finding.places]
    sources = [place.source for place in places if place.role == "operation"]
    assert all(re.fullmatch(r"test_core_ai_assets\.py:\d+", source) for source in sources)
    assert result.unknown == {}
