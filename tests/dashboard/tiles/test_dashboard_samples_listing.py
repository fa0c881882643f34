"""Samples one by one in order of time, and the stacks behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples_support import (
    FAR,
    MS,
    Analysis,
    SampleColumns,
    analyze,
    kept,
    many,
    opened,
    rows_of,
    stack_names,
    terms_in,
    trace_of,
)
from trace_support import ANE, BNNS, UI

from dashboard.errors import NotFound
from dashboard.tiles import sample_list as module
from dashboard.tiles.sample_list import listed, stack_document
from dashboard.tiles.sample_selection import SampleSelection
from tracekit.errors import UsageError
from tracekit.model.vocabulary import ENGINES, PHASES

ALL = SampleSelection(-FAR, FAR)


def pages(samples: SampleColumns, selection: SampleSelection, count: int) -> list[dict[str, Any]]:
    listed_rows, after = [], ""
    for _ in range(2_000):
        answer = listed(samples, selection, after, count)
        assert len(answer["rows"]) <= count
        assert answer["rows"] or not after, "a page that was announced is empty"
        listed_rows += answer["rows"]
        after = answer["next"]
        if after is None:
            assert answer["selected"] == len(listed_rows)
            return listed_rows
    raise AssertionError("it does not end")


def slow(analysis: Analysis) -> list[tuple[Any, ...]]:
    expected_rows = []
    for row in rows_of(analysis):
        names = stack_names(analysis, row.stack)
        rule = -1 if row.stack < 0 else int(analysis.labels.classification.rule[row.stack])
        expected_rows.append(
            (
                row.time,
                row.lane,
                str(ENGINES[row.engine]),
                None if row.phase < 0 else str(PHASES[row.phase]),
                row.weight,
                row.stack,
                *(names[0] if names else (None, None)),
                "" if rule < 0 else analysis.rules[rule].id,
            )
        )
    return expected_rows


@pytest.mark.integration
@pytest.mark.parametrize("count", [1, 7, 100, 1_000])
def test_every_sample_comes_once_in_order_of_time(count: int, tmp_path: Path) -> None:
    analysis = many(300)
    rows = pages(opened(tmp_path, analysis), ALL, count)
    names = ("time_ns", "lane", "engine", "phase", "weight", "stack", "leaf", "binary", "rule")
    listed_rows = [tuple(row[name] for name in names) for row in rows]
    assert [row[0] for row in listed_rows] == sorted(row[0] for row in listed_rows)
    assert sorted(map(repr, listed_rows)) == sorted(map(repr, slow(analysis)))


def test_samples_of_one_time_are_not_lost_between_pages(tmp_path: Path) -> None:
    rows: list[Any] = [(1, f"t{index % 3}", [ANE, UI, None][index % 3 - index % 2]) for index in range(40)]
    samples = opened(tmp_path, analyze(trace_of([*rows, (0, "t0", UI), (2, "t2", UI)])))
    for count in (1, 2, 39, 40, 41, 42):
        listed_rows = pages(samples, ALL, count)
        assert [row["time_ns"] for row in listed_rows] == [0, *[MS] * 40, 2 * MS]


@pytest.mark.parametrize("piece", [3, 1 << 16])
def test_a_selection_s_samples(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE_ROWS", piece)
    samples = opened(tmp_path, many())
    mask = np.array(kept(samples, terms_in("engine:ane")))
    listed_rows = pages(samples, SampleSelection(100 * MS, 300 * MS, frozenset({0, 2}), mask), 11)
    everything = pages(samples, ALL, 1_000)
    assert listed_rows == [
        row
        for row in everything
        if 100 * MS <= row["time_ns"] < 300 * MS and row["lane"] in (0, 2) and row["engine"] == "ANE"
    ]
    assert len(listed_rows) > 20


def test_a_page_shows_the_number_of_rows(tmp_path: Path) -> None:
    samples = opened(tmp_path, many())
    answer = listed(samples, SampleSelection(0, 200 * MS), "", 10)
    time = samples.time[:]
    assert (answer["selected"], answer["total"]) == (int(((time >= 0) & (time < 200 * MS)).sum()), 600)
    assert listed(samples, SampleSelection(0, 0), "", 10) == {
        "rows": [],
        "next": None,
        "selected": 0,
        "total": 600,
    }


@pytest.mark.parametrize("after", ["x", "1", "1_", "_1", "1_1_1", "1.5_2", "9" * 40 + "_1", "1_-1", "१_१"])
def test_a_cursor_that_is_none_is_refused(after: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="after is not"):
        listed(opened(tmp_path, many(5)), ALL, after, 10)


def test_a_cursor_of_nowhere_does_no_harm(tmp_path: Path) -> None:
    samples = opened(tmp_path, many(50))
    far = "9" * 18
    assert listed(samples, ALL, f"{far}_{far}", 10)["rows"] == []
    assert len(listed(samples, ALL, f"-{far}_{far}", 100)["rows"]) == 50


def test_a_stack_with_what_decided_it(tmp_path: Path) -> None:
    analysis = analyze(trace_of([(0, "main", BNNS), (1, "main", UI)]))
    samples = opened(tmp_path, analysis)
    stack = stack_document(samples, 0)
    assert stack["frames"] == [tuple(reversed(frame.split(" | "))) for frame in BNNS]
    assert (stack["engine"], stack["phase"], stack["above"], stack["below"]) == ("CPU", "execute", 0, 0)
    (rule,) = (rule for rule in analysis.rules if rule.id == stack["rule"])
    assert stack["frames"][stack["deciding"]][0].startswith("BNNS")
    assert stack["why"] == rule.means != ""
    plain = stack_document(samples, 1)
    assert (plain["deciding"], plain["rule"], plain["why"], plain["phase"]) == (-1, "", "", None)


@pytest.mark.parametrize(("depth", "above"), [(0, 0), (300, 100), (999, 604)])
def test_of_a_deep_stack_the_part_around_the_deciding_frame(depth: int, above: int, tmp_path: Path) -> None:
    deep = [f"App | step{number}" for number in range(1_000)]
    stack = (*deep[:depth], *BNNS, *deep[depth:])
    document = stack_document(opened(tmp_path, analyze(trace_of([(0, "main", stack)]))), 0)
    assert (len(document["frames"]), document["above"]) == (400, above)
    assert document["above"] + 400 + document["below"] == len(stack)
    assert document["frames"][document["deciding"]][0] == "BNNSFilterApply"


@pytest.mark.parametrize("number", [-1, 2, 10**17])
def test_a_stack_that_is_not_there(number: int, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such stack"):
        stack_document(opened(tmp_path, analyze(trace_of([(0, "a", BNNS), (1, "a", UI)]))), number)


def test_an_empty_stack_has_no_leaf(tmp_path: Path) -> None:
    samples = opened(tmp_path, analyze(trace_of([(0, "a", ())])))
    (row,) = listed(samples, ALL, "", 5)["rows"]
    assert (row["stack"], row["leaf"], row["binary"]) == (0, None, None)
    assert stack_document(samples, 0)["frames"] == []
