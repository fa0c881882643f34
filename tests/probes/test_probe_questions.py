"""Questions as text: the probes that they are, and what is refused."""

from __future__ import annotations

import pytest

from tracekit.errors import UsageError
from tracekit.probes.probe_question import Probe, compute_area_ratio, count_flops, list_probes
from tracekit.probes.probed_operators import OPERATORS


def test_all_combinations_are_asked_once_with_a_control_per_shape() -> None:
    probes = list_probes(["max_pool:kernel=2+13,shape=64x32x32+128x64x64", "max_pool:kernel=13", "sin"])
    assert [probe.name for probe in probes] == [
        "control_64x32x32",
        "control_128x64x64",
        "max_pool_kernel2_stride1_fp16_64x32x32",
        "max_pool_kernel13_stride1_fp16_64x32x32",
        "max_pool_kernel2_stride1_fp16_128x64x64",
        "max_pool_kernel13_stride1_fp16_128x64x64",
        "sin_fp16_128x64x64",
    ]
    assert probes[3] == Probe(probes[3].name, "max_pool", (64, 32, 32), "fp16", {"kernel": 13, "stride": 1})
    assert (probes[3].control, probes[0].is_control) == ("control_64x32x32", True)


def test_the_convolutions_of_the_default_shape_are_of_a_gigaflop() -> None:
    assert count_flops((128, 64, 64)) == 1_207_959_552


def test_strides_and_scales_change_the_size_of_what_follows() -> None:
    (_, strided, scaled) = list_probes(["avg_pool:stride=2", "upsample_nearest:scale=4"])
    assert (compute_area_ratio(strided), compute_area_ratio(scaled)) == (0.25, 16.0)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operation_can_be_asked_by_its_name(name: str) -> None:
    assert [probe.operator for probe in list_probes([name])] == ["control", name]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("", "'' is no operation that a probe can ask about"),
        ("lstm", "'lstm' is no operation that a probe can ask about. Operations: conv, max_pool"),
        ("sin:kernel=3", "'kernel' is no key of sin, which has dtype, shape"),
        ("max_pool:kernel", "'kernel' in 'max_pool:kernel' is not key=value"),
        ("max_pool:kernel=", "is not key=value"),
        ("max_pool:kernel=0", "kernel=0 of max_pool is not between 1 and 64"),
        ("max_pool:kernel=1e9", "'1e9' is no number of a probe"),
        ("max_pool:kernel=٣", "is no number of a probe"),
        ("conv:kernel=16", "A convolution of 16 × 16 is not asked: of 16 × 16, compiling took minutes"),
        ("conv:kernel=14+17", "A convolution of 14 × 14 is not asked"),
        ("conv:kernel=33,dilation=64", "conv reaches over 2049 pixels, more than twice an input of (64, 64)"),
        ("sin:dtype=int8", "'int8' is no data type of a probe: fp16, fp32"),
        ("sin:shape=1x2", "'1x2' is no shape: channels, height and width"),
        ("sin:shape=1024x4096x4096", "is too large"),
        ("sin:shape=0x8x8", "is no shape"),
        (
            "max_pool:kernel=" + "+".join(map(str, range(1, 65))) + ",stride=1+2+3+4",
            "need 256 probes; at most 200",
        ),
    ],
)
def test_what_is_no_question_is_a_sentence(question: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        list_probes([question])
    assert sentence in str(caught.value)
