"""Core AI assets: bytecode written by Apple's package, against that package's own summaries and text."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tracekit.errors import InputError
from tracekit.mlmodels import read_model
from tracekit.mlmodels.weights import read_lowest

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


def test_short_constants_have_their_values_and_long_ones_their_place() -> None:
    read = read_model(ASSETS / "conv_softmax_fp16.aimodel")
    (function,) = read.functions
    values = {
        item.name: item.attributes for item in function.operations if item.is_constant and not item.is_part
    }
    # As Apple's text has them: dense<3>, dense<1> twice, a resource of 8 x 16 x 3 x 3 values in fp16.
    assert [values[name].get("val") for name in ("%1", "%2", "%4", "%5")] == [(3,), 1, (1, 1), 1]
    blob = values["%3"]["blob"]
    assert isinstance(blob, tuple)
    assert (blob[0], blob[2]) == ("main.mlirb", 8 * 16 * 3 * 3 * 2)
    assert read.weight_folder == ASSETS / "conv_softmax_fp16.aimodel"
    lowest = read_lowest(read.weight_folder, blob, "fp16")
    assert lowest is not None
    assert -10 < lowest < 0  # random weights


@pytest.mark.parametrize("end", [0, 3, 20, 100, 300, 600])
def test_bytecode_that_is_cut_off_is_refused(tmp_path: Path, end: int) -> None:
    data = (ASSETS / "argsort_int32.aimodel" / "main.mlirb").read_bytes()
    folder = tmp_path / "cut.aimodel"
    folder.mkdir()
    (folder / "main.mlirb").write_bytes(data[:end])
    with pytest.raises(InputError, match=r"cut\.aimodel: "):
        read_model(folder)
