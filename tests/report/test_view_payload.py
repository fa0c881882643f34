"""The block of bytes: aligned, deterministic, and able to carry any text."""

from __future__ import annotations

import base64
import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_support import decoded, inflated

from tracekit.report.viewmodel.payload import Arrays, Strings, packed

HOSTILE = [
    "",
    "</script>",
    "\0",
    "a\0",
    "\u202e",
    "]]>",
    '"\\\n',
    "\ud800",
    "x\udc80y",
    "\udbff\udfff",
    "😀",
    "\uffff",
]


def test_arrays_keep_their_type_and_values() -> None:
    arrays = Arrays()
    literal = {
        "u1": ([0, 255], "u8"),
        "i1": ([-128, 127], "i8"),
        "u2": ([0, 65535], "u16"),
        "u4": ([0, 2**32 - 1], "u32"),
        "i4": ([-(2**31), 2**31 - 1], "i32"),
        "f4": ([0.5, -0.25], "f32"),
        "f8": ([2.0**53, -0.1], "f64"),
    }
    names = {kind: arrays.add(np.array(values), kind) for kind, (values, _) in literal.items()}
    view = decoded(arrays.block({}))
    for kind, (values, type_) in literal.items():
        assert view.header["arrays"][names[kind]][0] == type_
        assert view.arrays[names[kind]].tolist() == values


@given(st.lists(st.lists(st.integers(0, 255), max_size=20), max_size=30))
def test_every_array_lies_aligned_within_the_block(contents: list[list[int]]) -> None:
    arrays = Arrays()
    names = [arrays.add(np.array(values), "u1") for values in contents]
    view = decoded(arrays.block({"x": "y" * len(contents)}))  # decoded holds alignment and edges
    assert [view.arrays[name].tolist() for name in names] == contents


@pytest.mark.parametrize("length", range(70, 110))
def test_the_header_may_be_of_any_length(length: int) -> None:
    arrays = Arrays()
    name = arrays.add(np.arange(3), "f8")
    assert decoded(arrays.block({"x": "-" * length})).arrays[name].tolist() == [0, 1, 2]


def test_equal_arrays_are_kept_once_and_others_are_not_mixed_up() -> None:
    arrays = Arrays()
    first = arrays.add(np.array([1, 2]), "u4")
    assert arrays.add(np.array([1, 2]), "u4") == first
    assert arrays.add(np.array([1, 2]), "i4") != first
    assert arrays.add(np.array([2, 1]), "u4") != first
    assert sorted(decoded(arrays.block({})).arrays) == ["a0", "a1", "a2"]


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "i4", "f4", "f8"])
@pytest.mark.parametrize("count", [100, 40_001])
def test_an_array_of_any_size_comes_out_as_it_went_in(kind: str, count: int) -> None:
    values = np.random.default_rng(1).integers(0, 250, count).astype(kind)
    arrays = Arrays()
    name = arrays.add(values, kind)
    view = decoded(arrays.block({}))
    assert view.arrays[name].dtype == np.dtype(f"<{kind}")
    assert np.array_equal(view.arrays[name], values)


def test_missing_numbers_stand_in_arrays_and_never_in_the_header() -> None:
    arrays = Arrays()
    name = arrays.add(np.array([1.0, np.nan]), "f8")
    assert np.isnan(decoded(arrays.block({})).arrays[name][1])
    with pytest.raises(ValueError, match="not JSON compliant"):
        arrays.block({"x": float("nan")})


def test_the_same_view_gives_the_same_text() -> None:
    def text() -> str:
        arrays = Arrays()
        arrays.add(np.arange(100), "f8")
        return packed(arrays.block({"b": 1, "a": 2}))

    assert text() == text()
    assert set(text()) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert base64.b64decode(text())[4:8] == bytes(4)  # the time of compression is no part of it


def test_what_is_packed_comes_out_again() -> None:
    assert inflated(packed(b"\0\x01" * 1000)) == b"\0\x01" * 1000
    assert gzip.decompress(base64.b64decode(packed(b""))) == b""


def test_a_text_has_one_number() -> None:
    strings = Strings()
    assert [strings.add("a"), strings.add("b"), strings.add("a")] == [0, 1, 0]
    assert strings.column(["b", "c", "b"]).tolist() == [1, 2, 1]
    assert strings.all == ["a", "b", "c"]
    assert strings.column([]).tolist() == []


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    strings = Strings()
    numbers = strings.column([text, "other"]).tolist()
    view = decoded(Arrays().block({"strings": strings.all}))
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # pairs become one
    assert [view.text(number) for number in numbers] == [expected, "other"]


def test_texts_that_differ_by_a_nul_stay_apart() -> None:
    strings = Strings()
    assert len(set(strings.column(["a", "a\0", "a\0\0"]).tolist())) == 3


def test_a_long_text_costs_its_own_length_once() -> None:
    """A column of short names beside one long one: no more memory than the texts themselves take."""
    names = [f"f{number}" for number in range(1_000)] + ["x" * 20_000]
    tracemalloc.start()
    try:
        Strings().column(names)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
