"""Compiled Core ML models: MIL text and espresso's JSON."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import pytest

from tracekit.errors import InputError
from tracekit.mlmodels import Value, ValueType, read_model
from tracekit.report.models.json import to_json

SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
needs_models = pytest.mark.skipif(not SHARED.is_dir(), reason="the collected models are not here")

TEXT = """program(1.0)
[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"coremlc-version", "3500.32.1"}})]
{
    func main<ios17>(tensor<fp16, [1, ?]> x) [Launch_ane_ms = fp64(0x1p-3)] {
            tensor<int32, [2]> s = const()[name = tensor<string, []>("s"), val = tensor<int32, [2]>([2, 2])];
            tensor<fp16, [4]> w = const()[val = tensor<fp16, [4]>(BLOBFILE(path = string("w.bin"), offset = uint64(64)))];
            tensor<fp16, [1, 8]> c = ios17.conv(strides = s, weight = w, x = x)[name = string("a \\"b\\"")];
            tensor<fp16, [1]> p, tensor<int32, [1]> q = topk(values = (c, s), k = int32(-3))[cost = fp64(0x1.8p+1)];
        } -> (p, q);
}
"""


def test_numbers_beyond_a_float_are_infinite_and_json_has_them_as_text(tmp_path: Path) -> None:
    text = TEXT.replace("fp64(0x1.8p+1)", "fp64(-0x1p+9999)").replace("int32(-3)", "fp16(-inf)")
    model = read_model(compiled(tmp_path, model__mil=text))
    assert model.functions[0].operations[-1].attributes == {"k": -inf, "cost": -inf}
    document = json.loads(to_json(model), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert document["functions"][0]["operations"][-1]["attributes"] == {"k": "-inf", "cost": "-inf"}


def test_a_number_with_two_points_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has '0x1\.8\.8p\+1' where a number belongs"):
        read_model(compiled(tmp_path, model__mil=TEXT.replace("0x1.8p+1", "0x1.8.8p+1")))


def compiled(folder: Path, **files: str) -> Path:
    path = folder / "Tagger.mlmodelc"
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return path


def test_a_program_text_is_read_with_names_types_and_values(tmp_path: Path) -> None:
    (function,) = read_model(compiled(tmp_path, model__mil=TEXT)).functions
    assert (function.name, function.opset, function.outputs) == ("main", "ios17", ("p", "q"))
    assert function.inputs == (Value("x", ValueType("fp16", (1, None))),)
    strides, weights, conv, topk = function.operations
    assert (strides.kind, strides.name, strides.attributes) == ("const", "s", {"val": (2, 2)})
    assert weights.attributes == {"blob": ("w.bin", 64)}  # the values are in another file
    assert (conv.kind, conv.name) == ("ios17.conv", 'a "b"')
    assert conv.inputs == (("strides", "s"), ("weight", "w"), ("x", "x"))
    assert topk.inputs == (("values", "c"), ("values", "s"))
    assert topk.attributes == {"k": -3, "cost": 3.0}
    assert [value.name for value in topk.outputs] == ["p", "q"]


def test_a_text_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    """One that ended within a function's header was read without an end."""
    path = compiled(tmp_path)
    for end in range(TEXT.index("} -> (p")):
        (path / "model.mil").write_text(TEXT[:end])
        with pytest.raises(InputError):
            read_model(path)


def test_a_hexadecimal_number_that_is_none_is_refused(tmp_path: Path) -> None:
    text = TEXT.replace("uint64(64)", "uint64(0x..p1)")
    assert text != TEXT
    with pytest.raises(InputError, match="where a number belongs"):
        read_model(compiled(tmp_path, model__mil=text))


def test_a_statement_without_a_result_is_read(tmp_path: Path) -> None:
    text = (
        "program(1.0) { func main<ios18>(tensor<fp16, [1, 8]> x, state<tensor<fp16, [1, 8]>> cache) {"
        ' write_state(data = x, input = cache)[name = string("keep")];'
        " tensor<fp16, [1, 8]> y = read_state(input = cache); } -> (y); }"
    )
    (function,) = read_model(compiled(tmp_path, model__mil=text)).functions
    write, read = function.operations
    assert (write.kind, write.name, write.outputs) == ("write_state", "keep", ())
    assert write.inputs == (("data", "x"), ("input", "cache"))
    assert read.inputs == (("input", "cache"),)


def test_counts_of_the_metadata_that_disagree_are_a_limit(tmp_path: Path) -> None:
    def read(counts: dict[str, int], name: str) -> tuple[str, ...]:
        folder = tmp_path / name
        folder.mkdir()
        metadata = json.dumps([{"mlProgramOperationTypeHistogram": counts, "specificationVersion": 8}])
        return read_model(compiled(folder, model__mil=TEXT, metadata__json=metadata)).limits

    assert read({"Ios17.conv": 1, "Topk": 1}, "same") == ()
    assert read({"Ios17.conv": 1, "Topk": 3}, "other") == (
        "Its metadata counts 4 operations, 2 were read; they differ in topk (3 and 1).",
    )


def test_a_compiled_network_has_layers_shapes_and_what_enters_and_leaves(tmp_path: Path) -> None:
    layers = [
        {"name": "c", "type": "convolution", "bottom": "image", "top": "f", "K": 3, "weights": {"W": 1}},
        {"name": "s", "type": "softmax", "bottom": "f", "top": "out"},
    ]
    shapes = {"layer_shapes": {"f": {"n": 1, "k": 8, "h": 4, "w": 2}}}
    path = compiled(
        tmp_path,
        model__espresso__net=json.dumps({"layers": layers}),
        model__espresso__shape=json.dumps(shapes),
    )
    (function,) = read_model(path).functions
    assert [value.name for value in function.inputs] == ["image"]
    assert function.outputs == ("out",)
    assert [item.kind for item in function.operations] == ["convolution", "softmax"]
    assert function.operations[0].outputs == (Value("f", ValueType("", (1, 8, 4, 2))),)
    assert function.operations[0].attributes == {"K": 3}


def test_a_packed_network_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = compiled(tmp_path, model__espresso__net="pbze....")
    with pytest.raises(InputError, match="in a packed form"):
        read_model(path)


def test_the_stages_of_a_compiled_pipeline_are_its_folders(tmp_path: Path) -> None:
    path = compiled(tmp_path, coremldata__bin="x")
    for number in range(2):
        (path / f"model{number}").mkdir()
        (path / f"model{number}" / "model.mil").write_text(TEXT)
    assert [name for name, _ in read_model(path).stages] == ["model0", "model1"]


@needs_models
@pytest.mark.parametrize("name", ["add_model", "silero-vad-unified-256ms"])
def test_real_compiled_models_agree_with_the_counts_in_their_metadata(name: str) -> None:
    read = read_model(SHARED / "real" / f"{name}.mlmodelc")
    assert read.stated_counts
    assert sum(read.stated_counts.values()) == sum(1 for _ in read.functions[0].computing())
    assert read.limits == ()
