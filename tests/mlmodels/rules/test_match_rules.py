"""Rules held against operations, and messages of plans: literal programs in, literal rule ids out."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from rule_examples import make_feature, make_function

from tracekit.errors import UsageError
from tracekit.mlmodels import Function, MLModel, read_model
from tracekit.mlmodels.rules import match_message, match_rules
from tracekit.mlmodels.rules.lint import lint_model
from tracekit.mlmodels.rules.rule_target import make_target


def find_ids(function: Function, **options: str) -> dict[int, list[str]]:
    matches = match_rules(function, **options)  # type: ignore[arg-type]
    return {position: [match.rule.id for match in found] for position, found in matches.items()}


def make_program(statements: str, path: str = "Model.mlpackage", **values: object) -> MLModel:
    functions = (make_function(statements),)
    return MLModel(Path(path), "ML Program", "specification 9", functions=functions, **values)  # type: ignore[arg-type]


def test_positions_are_those_of_all_operations_and_kinds_may_have_the_spelling_of_plans() -> None:
    function = make_function(
        "tensor<int32, []> a = const()[val = tensor<int32, []>(1)];"
        "tensor<fp16, [1, 8]> b = relu(x = x);"
        "tensor<fp16, [1, 8]> y = ios17.cumsum(x = b, axis = a);"
    )
    assert find_ids(function, chip="M4", os="macOS 27.0.1") == {2: ["OP03"]}


def test_a_rule_of_another_route_never_matches() -> None:
    # concat is refused by direct compilation alone, silu by Core AI alone.
    function = make_function(
        "tensor<fp16, [1, 8]> a = silu(x = x); tensor<fp16, [1, 8]> y = concat(values = a);"
    )
    assert find_ids(function) == {}
    assert find_ids(function, form="Core AI program") == {0: ["OP14"]}
    sliced = make_function(
        "tensor<fp16, [1, 8]> y = slice_by_index(x = x, begin = tensor<int32, [2]>([0, 4]));"
    )
    assert find_ids(sliced) == find_ids(sliced, form="Core AI program") == {}
    assert find_ids(sliced, route="direct compile") == {0: ["SH12"]}


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, ["SH02", "SH03"]),
        ({"chip": "M4"}, ["SH03"]),
        ({"chip": "h16g"}, ["SH03"]),
        ({"chip": "M4 Max"}, ["SH03"]),
        ({"chip": "A15"}, ["SH02", "SH03"]),
    ],
)
def test_a_chip_leaves_out_what_was_measured_on_others(options: dict[str, str], ids: list[str]) -> None:
    function = make_function("tensor<fp16, [1, 1, 1, 70000]> y = relu(x = x);")
    assert find_ids(function, **options) == {0: ids}


@pytest.mark.parametrize(
    ("system", "is_match"),
    [
        ("", True),
        ("macOS", True),
        ("macOS27", True),
        ("macOS 27.2", True),
        ("macOS 26", False),
        ("iOS 27", False),
    ],
)
def test_a_system_leaves_out_what_was_measured_on_others(system: str, is_match: bool) -> None:
    function = make_function("tensor<fp16, [1, 8]> y = cumsum(x = x);")
    assert bool(find_ids(function, os=system)) == is_match


@pytest.mark.parametrize(
    "options", [{"chip": "M9"}, {"chip": "h17"}, {"os": "Windows"}, {"chip": "\x1b[31m"}]
)
def test_a_chip_or_system_that_is_none_is_refused(options: dict[str, str]) -> None:
    function = make_function("tensor<fp16, [1, 8]> y = relu(x = x);")
    with pytest.raises(UsageError) as caught:
        match_rules(function, **options)  # type: ignore[arg-type]
    assert "\x1b" not in str(caught.value)


def test_operations_behind_one_of_the_same_rule_name_their_start() -> None:
    function = make_function(
        "tensor<fp32, [1, 8]> a = relu(x = x); tensor<fp32, [1, 8]> b = relu(x = a);"
        "tensor<fp16, [1, 8]> c = relu(x = b); tensor<fp32, [1, 8]> d = relu(x = c);"
        "tensor<fp32, [1, 8]> y = add(x = b, y = d);"
    )
    matches = match_rules(function)
    starts = {position: match.upstream for position, (match,) in matches.items()}
    assert starts == {0: None, 1: 0, 3: None, 4: 0}


def test_a_circle_of_values_ends() -> None:
    function = make_function(
        "tensor<fp16, [1, 8]> a = reshape(x = y); tensor<fp16, [1, 8]> y = reshape(x = a);"
    )
    gather = make_function(
        "tensor<fp16, [1, 8]> y = reshape(x = y); tensor<fp16, [1]> z = gather(x = x, indices = y);"
    )
    assert find_ids(function) == {}
    assert find_ids(gather) == {1: ["OP04"]}


@pytest.mark.parametrize(
    ("message", "rule_id"),
    [
        ("Unsupported tensor data type: int32", "DT03"),
        ("Tensor buffer live-in not created: Unsupported tensor data type: int32", "DT03"),
        ("Invalid output tensor format: fp32", "DT01"),
        ("Incompatible element type for ANE: expected fp16, f8E4M3, si8, ui8, si16, or ui16", "DT04"),
        (
            "Tensor dimensions N1D1C1H1W65537 are not within supported range, N[1-65536]D[1-65536]C[1-65536].",
            "SH03",
        ),
        (
            "Tensor dimensions N1D1C1H1W240000 are not within supported range,"
            " N[1-65536]D[1-16384]C[1-65536]H[1-16384]W[1-16384].",
            "SH02",
        ),
        ("Invalid Pool kernel width (15), must be [1-8] or 32.", "PL01"),
        ("Error: conv with large kernel does not meet decomposition preconditions", "CV03"),
        ("ANECompiler does not support range shape flexibility", "SH08"),
        ("Unsupported gather index type", "OP04"),
        ('Unsupported MIL operation "lstm"', "OP01"),
        ("Unsupported MIL operation ios17.cumsum", "OP03"),
        ("Unsupported MIL operation (hologram)", None),
        ('type int32 for "box_indices" is not supported. only support UInt16.', "OP06"),
        ("This platform doesn't support Neuron type kSin", "OP07"),
        ('Unable to resolve operation input "y".', "OP27"),
        ("Cannot support standalone slice_update", "OP21"),
        ("Weight file size exceeds the limit", "SZ01"),
        ("_ANECompiler : ANECCompile() FAILED", None),  # it gives no reason
        ("failed: ANE I/O op isn't a squeeze / expandDims", None),
        ("", None),
    ],
)
def test_a_message_of_a_plan_has_its_rule(message: str, rule_id: str | None) -> None:
    assert match_message(message) == rule_id


def write_weights(folder: Path, values: list[float]) -> None:
    """Write a file of weights with one constant at offset 64, as coremltools' StorageFormat.hpp describes it."""
    data = np.array(values, "<f2").tobytes()
    description = struct.pack("<IIQQ", 0xDEADBEEF, 1, len(data), 128) + bytes(40)
    (folder / "weights").mkdir(exist_ok=True)
    (folder / "weights" / "weight.bin").write_bytes(struct.pack("<II", 1, 2) + bytes(56) + description + data)


MASKED = """program(1.0) {{ func main<ios18>(tensor<fp16, [1, 100]> x) {{
    tensor<fp16, [100]> m = const()[val = tensor<fp16, [100]>(BLOBFILE(path = string("{path}"), offset = uint64({offset})))];
    tensor<fp16, [1, 100]> s = add(x = x, y = m);
    tensor<fp16, [1, 100]> y = softmax(x = s);
}} -> (y); }}"""


@pytest.mark.parametrize(
    ("lowest", "path", "offset", "is_match"),
    [
        (-np.inf, "@model_path/weights/weight.bin", 64, True),
        (-40000.0, "@model_path/weights/weight.bin", 64, False),
        (-np.inf, "@model_path/weights/weight.bin", 65, False),  # no description of a constant
        (-np.inf, "@model_path/weights/weight.bin", 1 << 70, False),
        (-np.inf, "@model_path/../../secret/weight.bin", 64, False),
        (-np.inf, "@model_path/weights/absent.bin", 64, False),
    ],
)
def test_a_mask_in_the_file_of_weights_is_read(
    tmp_path: Path, lowest: float, path: str, offset: int, is_match: bool
) -> None:
    model = tmp_path / "deep" / "Attention.mlmodelc"
    model.mkdir(parents=True)
    write_weights(model, [0.0] * 99 + [lowest])
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "weight.bin").write_bytes((model / "weights" / "weight.bin").read_bytes())
    (model / "model.mil").write_text(MASKED.format(path=path, offset=offset))
    result = lint_model(read_model(model), make_target())
    assert ("OP12" in [finding.rule.id for finding in result.findings]) == is_match


def test_unknown_kinds_are_counted_and_named() -> None:
    model = make_program(
        "tensor<fp16, [1, 8]> a = hologram(x = x); tensor<fp16, [1, 8]> b = hologram(x = a);"
        "tensor<fp16, [1, 8]> y = ios18.relu(x = b);"
    )
    result = lint_model(model, make_target())
    assert result.unknown == {"hologram": 2}
    assert result.operations == 3


def test_the_stages_of_a_pipeline_are_held_against_rules_of_their_own_route() -> None:
    program = make_program("tensor<fp16, [1, 8]> y = lstm(x = x);")
    network = MLModel(
        Path("b"), "neural network", "4", functions=(make_function("tensor<fp16, [1]> y = custom(x = x);"),)
    )
    pipeline = MLModel(Path("P.mlmodel"), "pipeline", "9", stages=(("embed", program), ("decide", network)))
    places = [
        (f.rule.id, place.path) for f in lint_model(pipeline, make_target()).findings for place in f.places
    ]
    assert places == [("OP01", "embed"), ("OP02", "decide")]


def test_rules_are_chosen_by_their_ids() -> None:
    model = make_program("tensor<fp32, [1, 8]> y = lstm(x = x);")

    def lint(select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> list[str]:
        return [finding.rule.id for finding in lint_model(model, make_target(), select, ignore).findings]

    assert lint() == ["DT01", "OP01"]
    assert lint(select=("op",)) == ["OP01"]
    assert lint(ignore=("OP01",)) == ["DT01"]
    assert lint(select=("DT", "OP"), ignore=("DT01",)) == ["OP01"]
    with pytest.raises(UsageError, match="'QQ' begins the id of no rule"):
        lint(select=("QQ",))


def test_compute_units_without_the_engine_leave_its_rules_out() -> None:
    model = make_program("tensor<fp32, [1, 8]> y = lstm(x = x);")
    result = lint_model(model, make_target("", "", "cpuAndGPU"))
    assert [finding.rule.id for finding in result.findings] == ["CU02"]
    assert {"DT01", "OP01"} <= set(result.left_out)


def test_the_gravest_effect_comes_first() -> None:
    inputs = (make_feature({"name": "x", "dtype": "fp16", "shape": [1, 8], "flexible": "range"}),)
    statements = (
        "tensor<fp16, [2]> m = const()[val = tensor<fp16, [2]>([0.0, -inf])];"
        "tensor<fp16, [1, 2]> l = linear(x = x); tensor<fp16, [1, 2]> c = cumsum(x = l);"
        "tensor<fp16, [1, 2]> s = add(x = c, y = m); tensor<fp16, [1, 2]> y = softmax(x = s);"
    )
    result = lint_model(make_program(statements, inputs=inputs), make_target())
    assert [(finding.rule.id, finding.effect) for finding in result.findings] == [
        ("OP12", "wrong-numbers"),
        ("SH08", "graph-leaves"),
        ("OP03", "leaves"),
        ("OP18", "information"),
    ]
