"""Filters select the same samples on the server and on the page, which parses them: shared cases, and its own code."""

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

from dashboard.tiles.filters import Term, terms_of
from tracekit.errors import UsageError

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
    *(
        "call:1",
        "call:2-3",
        'call:"1 of a"',
        "call:a",
        "window:0",
        "window:1-3",
        "window:a",
        "window:0,2-5,x",
        "window:inf",
        "engine:",
        "std::x",
        '"',
        ",",
    ),
]


TERM = '["", ["a"], false]'


@pytest.mark.parametrize(("text", "terms", "rows"), CASES["keeps"])
def test_what_a_filter_keeps(text: str, terms: list[Any], rows: list[int] | None, tmp_path: Path) -> None:
    samples = literal(tmp_path / "samples", CASES)
    mask = kept(samples, [Term(key, tuple(values), is_negated) for key, values, is_negated in terms])
    order = samples["call"].tolist()  # every sample of the cases is a call of its own
    fitting = None if mask is None else sorted(row for row, fits in zip(order, mask, strict=True) if fits)
    assert fitting == rows, text


def test_the_terms_of_a_request() -> None:
    assert terms_of("") == terms_of("[]") == ()
    assert terms_of(f"[{TERM}, {TERM}]") == (Term("", ("a",), False),) * 2
    assert terms_of('[["engine", ["ane", "\\ud800"], true]]') == (Term("engine", ("ane", "\ud800"), True),)


@pytest.mark.parametrize(
    "document",
    [
        *("engine:ane", "{}", "null", "1", '"a"', "[1]", "[[]]", "[{}]", f"{TERM}", "NaN", "9" * 9_000),
        *(
            "[" * 9_000,
            '[["", ["a"]]]',
            '[["", ["a"], false, 1]]',
            '[["", [], false]]',
            '[["", [""], false]]',
        ),
        *('[["", "a", false]]', '[["", [1], false]]', '[["", ["a"], 0]]'),
    ],
)
def test_what_is_no_list_of_terms_is_refused(document: str) -> None:
    with pytest.raises(UsageError, match=r"^A filter is a list of terms as JSON"):
        terms_of(document)


def test_other_keys_and_too_much_are_refused() -> None:
    for key in ('"color"', "1", "[]", '"Engine"'):
        with pytest.raises(UsageError, match=r"keys thread, engine, phase, binary, call, window\.$"):
            terms_of(f"[{TERM}]".replace('""', key))
    assert len(terms_of(",".join([TERM] * 200).join("[]"))) == 200
    with pytest.raises(UsageError, match="no more than 200 words"):
        terms_of(",".join([TERM] * 201).join("[]"))
    terms_of(f"[{TERM}]".replace('"a"', f'"{"a" * 2_000}"'))
    for document in (f"[{TERM}]".replace('"a"', f'"{"a" * 2_001}"'), " " * 20_001):
        with pytest.raises(UsageError, match="no more than 2,000 characters"):
            terms_of(document)


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
    for text, (terms, numbers) in zip(texts, page_rows(tmp_path, analysis, texts), strict=True):
        mask = kept(samples, terms_of(terms))
        matches[text] = (
            None if mask is None else sorted(r for r, fits in zip(rows, mask, strict=True) if fits)
        )
        expected[text] = None if numbers is None else sorted(of_page[number] for number in numbers)
    assert matches == expected
    some = [value for value in matches.values() if value is not None and 0 < len(value) < len(rows)]
    assert len(some) > 20


def page_rows(folder: Path, analysis: Analysis, texts: list[str]) -> list[Any]:
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
    answers: list[Any] = json.loads(done.stdout)
    return answers
