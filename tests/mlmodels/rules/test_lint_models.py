"""Real models and models of one operation, made by Apple's tools: the rules that they must and must not match."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.mlmodels import read_model
from tracekit.mlmodels.rules.lint import lint_model
from tracekit.mlmodels.rules.rule_target import make_target

SHARED = Path(__file__).resolve().parents[4] / "shared" / "models"
pytestmark = [
    pytest.mark.skipif(not SHARED.is_dir(), reason="the collected models are not here"),
    pytest.mark.integration,
]
FOLDERS = ("mil", "nn", "probes", "real", "real_mil", "coreai")
KINDS = (".mlpackage", ".mlmodel", ".mlmodelc", ".mil", ".aimodel")
MODELS = sorted(path for folder in FOLDERS for path in (SHARED / folder).glob("*") if path.suffix in KINDS)

EXPECTED = {
    "mil/conv_k17": ["CV03"],
    "mil/conv_fp32": ["DT01"],
    "mil/conv_dilated2": ["CV01"],
    "mil/conv_dilated8": ["CV01"],
    "mil/lstm": ["DT01", "OP01"],
    "mil/gru": ["DT01", "OP01"],
    "mil/rnn": ["DT01", "OP01"],
    "mil/flex_rangedim": ["SH08"],
    "mil/flex_enumerated": ["SH09"],
    "mil/maxpool_k15": ["PL01"],
    "mil/cumsum": ["OP03"],
    "mil/band_part": ["OP03"],
    "mil/scatter": ["OP03"],
    "mil/crop_resize": ["OP06"],
    "mil/gather_embedding": ["OP04"],
    "mil/argmax": ["DT03"],
    "mil/topk": ["OP08"],
    "mil/sin_cos": ["OP07"],
    "mil/sdpa_ios18": ["OP13"],
    "mil/linear_3d": ["OP18"],
    "probes/lstm": ["OP01"],
    "probes/cumsum": ["OP03"],
    "probes/max_pool_k15": ["PL01"],
    "probes/sin": ["OP07"],
    "probes/conv_dil2": ["CV01"],
    "nn/lstm": ["OP01"],
    "nn/bilstm": ["OP01"],
    "nn/gru": ["OP01"],
    "nn/simple_rnn": ["OP01"],
    "nn/custom": ["OP02"],
    "nn/segments_SUSU": ["OP02"],
    "nn/nms": ["OP09"],
    "nn/add_broadcastable": ["NN01"],
    "nn/concat_nd": ["NN01"],
    "coreai/fp32_island": ["DT01", "OP18"],
    "coreai/argsort_int32": ["DT04", "OP08"],
}
CLEAN = """
    mil/conv mil/conv1d mil/conv3d mil/conv_transpose mil/conv_w_int8 mil/conv_w_palettized4 mil/concat mil/gelu
    mil/softmax mil/layer_norm_ch mil/instance_norm mil/add_bcast_C11 mil/mul_bcast_se mil/gather mil/gather_nd
    mil/reshape_rank5 mil/stateful mil/upsample_nn_x4 mil/pad_reflect mil/transpose_nhwc mil/matmul_bmm
    mil/conv_dynamic_weight probes/control probes/gather_static probes/max_pool_k8 probes/mul_se
    probes/upsample4 nn/conv nn/conv_dilated2 nn/pool_k2_s2 nn/add nn/multiply nn/concat nn/softmax
    nn/upsample_x2 real/add_model coreai/conv_softmax_fp16
"""


def lint(name: str) -> list[str]:
    """Return the ids of the rules that a model matches, in the order of ids."""
    (path,) = (path for path in MODELS if f"{path.parent.name}/{path.stem}" == name)
    result = lint_model(read_model(path), make_target())
    assert result.unknown == {}
    return sorted(finding.rule.id for finding in result.findings)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_model_is_held_against_the_rules_and_has_no_unknown_kind(path: Path) -> None:
    result = lint_model(read_model(path), make_target("M4", "macOS27", "all"))
    assert result.unknown == {}
    assert result.operations > 0


@pytest.mark.parametrize("name", EXPECTED)
def test_models_match_the_rules_that_they_were_made_for(name: str) -> None:
    assert lint(name) == EXPECTED[name]


@pytest.mark.parametrize("name", CLEAN.split())
def test_models_that_are_supported_match_nothing(name: str) -> None:
    assert lint(name) == []


def test_a_real_model_alternates_between_engines() -> None:
    ids = lint("real/silero-vad-unified-256ms")
    assert ids == ["DT01", "OP01", "SZ04"]
