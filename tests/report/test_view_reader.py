"""The test suite's own reader of ``tracekit-view/1``."""

from __future__ import annotations

from typing import Any

import pytest
from view_support import block_of, decoded


def test_the_reader_reads_a_literal_block() -> None:
    header = {"arrays": {"x": ["u16", 64, 3]}, "strings": ["ä"]}
    view = decoded(block_of(header, bytes([1, 0, 2, 0, 255, 255, 0, 0])))
    assert view.arrays["x"].tolist() == [1, 2, 65535]
    assert view.text(0) == "ä"


def test_the_reader_undoes_planes_and_differences() -> None:
    entries = {"p": ["u16", 112, 3, "planes"], "d": ["u16", 120, 3, "planes delta"]}
    block = block_of({"arrays": entries, "x": "-" * 10}, bytes([1, 2, 3, 0, 0, 1, 0, 0]) * 2)
    assert len(block) == 128
    view = decoded(block)
    assert view.arrays["p"].tolist() == [1, 2, 259]
    assert view.arrays["d"].tolist() == [1.0, 3.0, 262.0]


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (["u8", 33, 1], "not aligned"),
        (["u8", 0, 1], "overlaps"),
        (["u8", 40, 9], "beyond the block"),
        (["f64", 40, 2], "beyond the block"),
    ],
)
def test_the_reader_refuses_a_place_that_is_wrong(place: list[Any], says: str) -> None:
    block = block_of({"arrays": {"x": place}}, bytes(8))
    assert len(block) == 40 or len(block) == 48
    with pytest.raises(AssertionError, match=says):
        decoded(block)


def test_the_reader_refuses_numbers_that_are_no_json() -> None:
    with pytest.raises(AssertionError, match="NaN is no JSON"):
        decoded(block_of({"arrays": {}, "x": float("nan")}))
