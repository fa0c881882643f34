"""Columns of texts, and JSON of them, against the same for one text at a time."""

from __future__ import annotations

import json

import numpy as np
from export_support import HOSTILE

from tracekit.report.json_layout import Layout, quoted, quoted_texts
from tracekit.report.wording.texts import content, digits, joined, listed, spelled, texts_of


def test_a_row_without_a_part_is_an_empty_text() -> None:
    parts = [texts_of(["a", None, None]), texts_of(["b", "→", None])]
    assert listed(parts, "; ").to_pylist() == ["a; b", "→", ""]
    assert listed(parts, "").to_pylist() == ["ab", "→", ""]
    assert joined(parts[0], " ", parts[1]).to_pylist() == ["a b", None, None]


def test_strings_are_quoted_as_one_by_one() -> None:
    texts = [HOSTILE, "plain", '"', "\\", "→ ∥ µ … –", "\x7f", "é", "\U0010ffff", ""]
    assert quoted_texts(texts_of([*texts, None])).to_pylist() == [*map(quoted, texts), "null"]


def test_numbers_beyond_64_bits() -> None:
    assert digits(np.array([2**70, -1], object)).to_pylist() == [str(2**70), "-1"]
    assert spelled(np.array([-1, 7, -1]), hex).to_pylist() == ["-0x1", "0x7", "-0x1"]


def test_objects_are_laid_out_as_json_does_it() -> None:
    items, edges = texts_of(["1", "2", "3"]), np.array([0, 2, 2, 3])
    documents = [{"a": values, "b": None} for values in ([1, 2], [], [3])]
    for layout, indent, separators in (
        (Layout(is_indented=True), 2, None),
        (Layout(is_indented=False), None, (",", ":")),
    ):
        objects = layout.objects({"a": layout.arrays(items, edges, 1), "b": "null"}, 0, suffix="\n")
        lines = "".join(f"{json.dumps(each, indent=indent, separators=separators)}\n" for each in documents)
        assert content(objects).decode() == lines
