"""Filters select the same samples on the server and on the page: shared cases, and the page's own code."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from browser_support import missing
from samples_support import (
    ROOT,
    Analysis,
    exact,
    in_order,
    kept,
    literal,
    many,
    opened,
    recording,
    view_block,
)

from dashboard.tiles.filters import parse_filter

CASES = json.loads((ROOT / "tests" / "filter_cases.json").read_text("utf-8"))
WORDS = [
    *("main", "App", "MLModel", "libBNNS", '"a b"', "t1", "0x", "espresso,app", "x", "__", "(less)"),
    *("thread:t", "thread:1", "thread:null", "thread:main,1", "binary:espresso", "binary:App,ANE", "binary:"),
    *(
        "engine:a",
        "engine:cpu,gpu",
        "engine:other",
        "engine:none",
        "phase:w",
        "phase:none",
        "phase:exec,idle",
    ),
    *("window:0", "window:1-3", "window:a", "window:0,2-5,x", "window:inf", "engine:", "std::x", '"', ","),
]


@pytest.mark.parametrize(("text", "terms"), CASES["terms"])
def test_the_grammar(text: str, terms: list[Any]) -> None:
    assert [[term.key, list(term.values), term.is_negated] for term in parse_filter(text)] == terms


@pytest.mark.parametrize(("text", "rows"), CASES["keeps"])
def test_what_a_filter_keeps(text: str, rows: list[int] | None, tmp_path: Path) -> None:
    samples = literal(tmp_path / "samples", CASES)
    mask = kept(samples, text)
    order = samples["call"].tolist()  # every sample of the cases is a call of its own
    fitting = None if mask is None else sorted(row for row, fits in zip(order, mask, strict=True) if fits)
    assert fitting == rows


def filters(seed: int, count: int) -> list[str]:
    dice = random.Random(seed)
    terms = [
        [("-" if dice.random() < 0.3 else "") + word for word in dice.choices(WORDS, k=dice.randint(1, 3))]
        for _ in range(count)
    ]
    return [" ".join(term) for term in terms]


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["literal", "ane-e5rt-macos26", "cpu-profile-ane-macos26", "two-at-once-macos13"]
)
def test_the_page_keeps_the_same_samples(name: str, tmp_path: Path) -> None:
    analysis = many() if name == "literal" else recording(name)
    samples = opened(tmp_path, analysis)
    texts = filters(7, 150)
    rows = list(in_order(samples))
    view = exact(analysis)
    sample_header = view.header["samples"]
    columns = [view.arrays[sample_header[column]].tolist() for column in ("time", "lane", "kind", "node")]
    of_page = [(t, lane, kind >> 4, kind & 15, node) for t, lane, kind, node in zip(*columns, strict=True)]
    assert sorted(of_page) == sorted(rows)
    matches, expected = {}, {}
    for text, numbers in zip(texts, page_rows(tmp_path, analysis, texts), strict=True):
        mask = kept(samples, text)
        matches[text] = (
            None if mask is None else sorted(r for r, fits in zip(rows, mask, strict=True) if fits)
        )
        expected[text] = None if numbers is None else sorted(of_page[number] for number in numbers)
    assert matches == expected
    some = [value for value in matches.values() if value is not None and 0 < len(value) < len(rows)]
    assert len(some) > 20


def page_rows(folder: Path, analysis: Analysis, texts: list[str]) -> list[list[int] | None]:
    node = shutil.which("node") or missing("node is not installed: the page's filter is not compared")
    (folder / "view").write_bytes(view_block(analysis, full=True))
    (folder / "texts.json").write_text(json.dumps(texts))
    command = [
        node,
        str(Path(__file__).with_name("filter_rows.mjs")),
        str(folder / "view"),
        str(folder / "texts.json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    answers: list[list[int] | None] = json.loads(done.stdout)
    return answers
