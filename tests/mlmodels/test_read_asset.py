"""Core AI assets: bytecode written by Apple's package, against that package's own summaries and text."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tracekit.errors import InputError
from tracekit.mlmodels import read_model

ASSETS = Path(__file__).resolve().parents[3] / "shared" / "models" / "coreai"
pytestmark = pytest.mark.skipif(not ASSETS.is_dir(), reason="the collected models are not here")
NAMES = ["argsort_int32", "conv_softmax_fp16", "fp32_island"]


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_apples_summary(name: str) -> None:
    read = read_model(ASSETS / f"{name}.aimodel")
    summary = json.loads((ASSETS / f"{name}.summary.json").read_text())
    counts = Counter(item.kind for function in read.functions for item in function.operations)
    assert counts == dict(summary["operation_distribution"])
    assert [function.name for function in read.functions] == summary["functions"]
    assert [feature.name for feature in read.inputs] == [key for key, _ in summary["inputs"]]
    assert [feature.name for feature in read.outputs] == [key for key, _ in summary["outputs"]]


@pytest.mark.parametrize("name", NAMES)
def test_operations_of_the_graph_have_the_types_of_apples_text(name: str) -> None:
    text = (ASSETS / f"{name}.mlir.txt").read_text()
    spelled = {"f16": "fp16", "f32": "fp32", "si32": "int32", "ui32": "uint32", "i1": "bool"}
    expected = []
    for kind, types in re.findall(r"= coreai\.(\w+) .*: (?:\(.*\) -> )?tensor<([^>]*)>", text):
        *shape, dtype = types.split("x")
        expected.append((kind, spelled[dtype], tuple(map(int, shape))))
    read = read_model(ASSETS / f"{name}.aimodel")
    found = [
        (item.kind, item.outputs[0].type.dtype, item.outputs[0].type.shape)
        for item in read.functions[0].operations
        if not item.is_part and item.outputs[0].type is not None
    ]
    assert sorted(found) == sorted(expected)


def test_what_a_composite_is_made_of_does_not_count() -> None:
    read = read_model(ASSETS / "conv_softmax_fp16.aimodel")
    (function,) = read.functions
    assert [item.kind for item in function.computing()] == ["conv2d", "relu", "softmax", "reduce_mean"]
    assert "exp" in {item.kind for item in function.operations if item.is_part}


def test_operations_have_the_line_of_the_program_that_made_them() -> None:
    read = read_model(ASSETS / "argsort_int32.aimodel")
    (argsort,) = read.functions[0].computing()
    assert argsort.source == "t4.py:33"
    assert argsort.inputs[0] == ("", "x")


@pytest.mark.parametrize("end", [0, 3, 20, 100, 300, 600])
def test_bytecode_that_is_cut_off_is_refused(tmp_path: Path, end: int) -> None:
    data = (ASSETS / "argsort_int32.aimodel" / "main.mlirb").read_bytes()
    folder = tmp_path / "cut.aimodel"
    folder.mkdir()
    (folder / "main.mlirb").write_bytes(data[:end])
    with pytest.raises(InputError, match=r"cut\.aimodel: "):
        read_model(folder)
