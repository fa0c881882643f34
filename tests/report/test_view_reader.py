"""The test suite's own reader of ``tracekit-view/2``."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from view_support import block_of, decoded, sample_rows


def test_the_reader_reads_a_literal_block() -> None:
    header = {"arrays": {"x": ["u16", 64, 3]}, "strings": ["ä"]}
    view = decoded(block_of(header, bytes([1, 0, 2, 0, 255, 255, 0, 0])))
    assert view.arrays["x"].tolist() == [1, 2, 65535]
    assert view.text(0) == "ä"


def test_the_reader_undoes_planes() -> None:
    block = block_of(
        {"arrays": {"p": ["u16", 72, 3, "planes"]}, "x": "-" * 10}, bytes([1, 2, 3, 0, 0, 1, 0, 0])
    )
    assert len(block) == 80
    assert decoded(block).arrays["p"].tolist() == [1, 2, 259]


def test_the_reader_adds_up_the_steps_of_times() -> None:
    fields = {"count": 4, "of_lane": "l", "step": "s", "jump_row": "r", "jump_time": "t", "stack": "k"}
    arrays = {"l": ["u8", 400, 2], "s": ["u8", 408, 4], "r": ["u8", 416, 1], "t": ["f64", 424, 1]}
    header = {"samples": {**fields, "weight": 2, "number": 1}, "arrays": {**arrays, "k": ["u8", 432, 4]}}
    size = len(block_of(header))
    columns = bytes([2, 2, *[0] * 6, 5, 1, 0, 3, *[0] * 4, 2, *[0] * 7]) + struct.pack("<d", 7) + bytes(8)
    rows = sample_rows(decoded(block_of(header, bytes(400 - size) + columns)))
    assert (rows.lane, rows.time, rows.weight) == ([0, 0, 1, 1], [5, 6, 7, 10], [2, 2, 2, 2])


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
