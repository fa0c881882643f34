"""Core ML specifications: literal messages in, literal operations out; real models against their makers' counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from proto_support import array_feature, ints_value, message, model, operation, program, tensor_type

from tracekit.errors import InputError
from tracekit.mlmodels import Feature, Operation, Value, ValueType, read_model

SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
needs_models = pytest.mark.skipif(not SHARED.is_dir(), reason="the collected models are not here")

FP16, FP32 = 65552, 65568
PIPELINE, NETWORK, PROGRAM, TREE = 202, 500, 502, 402


def write(folder: Path, data: bytes, name: str = "Tagger.mlmodel") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_program_is_read_with_its_types_wiring_and_short_constants(tmp_path: Path) -> None:
    conv = operation("conv", ("c", tensor_type(10, 1, 8, None)), "conv_0", x="x", strides=ints_value(2, 2))
    cast = operation("cast", ("y", tensor_type(11, 1, 8)), x="c", dtype="fp32_name")
    description = [(1, array_feature("x", FP16, 1, 8, 4)), (10, array_feature("y", FP32, 1, 8))]
    read = read_model(write(tmp_path, model(PROGRAM, program(conv, cast), *description)))
    assert (read.form, read.version) == ("ML Program", "specification 8")
    assert read.inputs == (Feature("x", ValueType("fp16", (1, 8, 4), "array")),)
    (function,) = read.functions
    assert (function.name, function.opset, function.outputs) == ("main", "CoreML7", ("y",))
    assert function.inputs == (Value("x", ValueType("fp16", (1, 8, None))),)
    assert function.operations == (
        Operation(
            "conv",
            "conv_0",
            (("x", "x"),),
            (Value("c", ValueType("fp16", (1, 8, None))),),
            {"strides": (2, 2)},
        ),
        Operation("cast", "", (("x", "c"), ("dtype", "fp32_name")), (Value("y", ValueType("fp32", (1, 8))),)),
    )


def test_constants_are_no_operations_that_compute(tmp_path: Path) -> None:
    constant = operation("const", ("axis", tensor_type(23)))
    relu = operation("relu", ("y", tensor_type(10, 1)), x="x")
    read = read_model(write(tmp_path, model(PROGRAM, program(constant, relu))))
    (function,) = read.functions
    assert [item.kind for item in function.operations] == ["const", "relu"]
    assert [item.kind for item in function.computing()] == ["relu"]


def test_a_network_is_read_with_the_parameters_that_placement_depends_on(tmp_path: Path) -> None:
    kernel = message((1, 8), (20, b"\x03\x03"), (40, b"\x02\x02"))
    layers = [
        message((1, "dilated"), (2, "x"), (3, "c"), (100, kernel)),
        message((1, "mine"), (2, "c"), (3, "y"), (500, message((10, "Swish")))),
        message((1, "new"), (2, "y"), (3, "z"), (1999, message())),
    ]
    read = read_model(write(tmp_path, model(NETWORK, message(*((1, layer) for layer in layers)), version=4)))
    operations = read.functions[0].operations
    assert [(item.kind, item.name) for item in operations] == [
        ("convolution", "dilated"),
        ("custom", "mine"),
        ("layer 1999", "new"),  # of a newer version: counted, not dropped
    ]
    assert operations[0].attributes == {"outputChannels": 8, "kernelSize": (3, 3), "dilationFactor": (2, 2)}
    assert operations[1].attributes == {"className": "Swish"}


def test_the_stages_of_a_pipeline_are_models_with_names(tmp_path: Path) -> None:
    network = model(NETWORK, message((1, message((1, "a"), (130, message())))))
    trees = model(TREE, message())
    stages = message((1, network), (1, trees), (2, "embed"), (2, "classify"))
    read = read_model(write(tmp_path, model(PIPELINE, stages)))
    assert read.form == "pipeline"
    assert [(name, stage.form) for name, stage in read.stages] == [
        ("embed", "neural network"),
        ("classify", "treeEnsembleClassifier"),
    ]
    assert [item.kind for function in read.iter_functions() for item in function.computing()] == [
        "activation"
    ]


def test_flexible_shapes_and_states_are_read(tmp_path: Path) -> None:
    enumerated = message((21, message()))
    state = message((1, "cache"), (3, message((8, message((1, message((1, 64), (2, FP16))))))))
    description = [
        (1, array_feature("x", FP16, 1, 8, more=enumerated)),
        (1, array_feature("r", FP16, 1, 8, more=message((31, message())))),
        (13, state),
    ]
    read = read_model(write(tmp_path, model(PROGRAM, program(), *description)))
    assert [feature.flexible for feature in read.inputs] == ["enumerated", "range"]
    assert read.states == (Feature("cache", ValueType("fp16", (64,), "state")),)


def test_a_package_names_its_specification_and_never_a_file_outside(tmp_path: Path) -> None:
    package = tmp_path / "Tagger.mlpackage"
    inner = package / "Data" / "com.apple.CoreML"
    (inner / "weights").mkdir(parents=True)
    (inner / "weights" / "weight.bin").write_bytes(bytes(1000))
    specification = model(PROGRAM, program(operation("relu", ("y", tensor_type(10, 1)), x="x")))
    (inner / "model.mlmodel").write_bytes(specification)
    (tmp_path / "other.mlmodel").write_bytes(specification)

    def name(path: str) -> None:
        items = {"a": {"path": path}}
        text = json.dumps({"itemInfoEntries": items, "rootModelIdentifier": "a"})
        (package / "Manifest.json").write_text(text)

    name("com.apple.CoreML/model.mlmodel")
    read = read_model(package)
    assert (read.path, read.weight_file_bytes) == (package, 1000)
    name("../../other.mlmodel")
    with pytest.raises(InputError, match=r"names a file outside of the package"):
        read_model(package)
    for no_name in ("a\ud800.mlmodel", "a\0.mlmodel"):
        name(no_name)
        with pytest.raises(InputError, match=r"names no file|cannot be read"):
            read_model(package)


@needs_models
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("nn/segments_SUSU.mlmodel", {"convolution": 2, "custom": 2}),
        ("mil/stateful.mlpackage", {"read_state": 1, "add": 1, "write_state": 1}),
        ("mil/sdpa_ios18.mlpackage", {"scaled_dot_product_attention": 1}),
    ],
)
def test_real_models_have_the_operations_of_their_makers(name: str, counts: dict[str, int]) -> None:
    read = read_model(SHARED / name)
    found = Counter(item.kind for function in read.functions for item in function.computing())
    assert {kind: found[kind] for kind in counts} == counts


@pytest.mark.parametrize(
    ("dtype", "data", "values"),
    [
        (10, b"\x00\x3e\x00\xfc\x00", (1.5, float("-inf"))),  # fp16; a last byte is no number
        (21, b"\x01\xff", (1, -1)),
        (32, b"\x02\x01\xff\xff", (258, 65535)),
        (99, b"\x01\xff", ()),
    ],
)
def test_constants_in_bytes_are_little_endian_numbers(
    tmp_path: Path, dtype: int, data: bytes, values: tuple[float, ...]
) -> None:
    packed = message((1, message((7, message((1, data))))))
    constant = message((2, tensor_type(dtype, len(values))), (3, packed))
    relu = operation("relu", ("y", tensor_type(10, 1)), x="x", alpha=constant)
    (function,) = read_model(write(tmp_path, model(PROGRAM, program(relu)))).functions
    assert function.operations[0].attributes["alpha"] == values
