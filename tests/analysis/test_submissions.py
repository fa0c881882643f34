"""Submissions per inference: how many, which segments, the gaps, and what cannot be counted."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evidence_support import Interval, ane, core_ai, manual, prediction, with_evidence
from hypothesis import given
from hypothesis import strategies as st
from trace_support import MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.engines.submissions import SEPARATOR, ModelSubmissions, summarize_submissions
from tracekit.analysis.ownership.owners import Owner
from tracekit.report import wording
from tracekit.report.html.sections import sections
from tracekit.report.viewmodel.view import Extras
from tracekit.report.wording.submissions import format_names

QUIET: list[Sample] = [(0, "a", UI), (60, "a", UI)]


def op(start: float, end: float, number: int = 1, model: str = "Net") -> Interval:
    return ane(start, end, f"{model}_main__Op{number}_AneInference Prediction")


def region(start: float, end: float, number: int, function: str = "main") -> Interval:
    return ane(start, end, f"{function}_ANE_region_0_{number}")


def analysis_of(*rows: Interval, **options: Any) -> Analysis:
    return analyze(with_evidence(trace_of(QUIET), rows), **options)


def counted(analysis: Analysis, *names: str) -> list[tuple[Any, ...]]:
    rows = analysis.submissions[list(names)].astype(object)
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in rows.to_numpy().tolist()]


def summary(analysis: Analysis) -> tuple[ModelSubmissions, ...]:
    return summarize_submissions(analysis.window_rows, analysis.submissions)


def test_submissions_of_an_inference() -> None:
    """Three segments in 10–20: 11–12, 13–16 and, overlapping it, 15–17; then a hole to 19–19.5."""
    analysis = analysis_of(
        prediction(10, 20), op(11, 12, 1), op(13, 16, 3), op(15, 17, 5), op(19, 19.5, 1), op(25, 26)
    )
    names = ("submissions", "segments", "covered_ns", "longest_ns", "gaps_ns", "longest_gap_ns", "names")
    assert counted(analysis, *names) == [
        (4, 3, 5.5 * MS, 3 * MS, 3 * MS, 2 * MS, SEPARATOR.join(("Op1", "Op3", "Op5")))
    ]


def test_a_submission_is_of_the_call_that_it_is_work_of() -> None:
    analysis = analysis_of(prediction(10, 20), prediction(20, 30), op(9, 12), op(17, 21), op(28, 31))
    assert counted(analysis, "submissions", "covered_ns") == [(2, 5 * MS), (1, 2 * MS)]


def test_a_call_has_no_number_where_a_submission_is_contested() -> None:
    # It begins in one call, and most of it lies in the next.
    analysis = analysis_of(prediction(10, 20), prediction(20, 30), op(18, 23), op(25, 27), prediction(40, 50))
    assert counted(analysis, "submissions", "covered_ns") == [(None, None), (None, None), (0, 0)]
    assert analysis.times["contested_ns"].tolist() == [2 * MS, 3 * MS, 0]


def test_a_row_that_is_there_twice_is_one_submission() -> None:
    analysis = analysis_of(prediction(10, 20), op(11, 12), op(11, 12), ane(13, 14, "Net_main__Op1 Load"))
    assert counted(analysis, "submissions") == [(1,)]


def test_an_inference_without_a_submission_is_a_measured_zero() -> None:
    analysis = analysis_of(prediction(10, 20), prediction(30, 40), op(11, 12))
    assert counted(analysis, "submissions", "segments", "longest_ns") == [(1, 1, MS), (0, 0, 0)]


@pytest.mark.parametrize(
    ("labels", "segments"),
    [
        (["Net_0123456789ab main Neural Engine Prediction"], 1),
        (["Net_0123456789ab main Neural Engine Prediction"] * 2, None),
        (["Net_main__Op1_AneInference", "Net_0123456789ab Neural Engine Prediction"], None),
    ],
)
def test_labels_without_segments(labels: list[str], segments: int | None) -> None:
    rows = [ane(11 + number, 11.5 + number, label) for number, label in enumerate(labels)]
    assert counted(analysis_of(prediction(10, 20), *rows), "submissions", "segments") == [
        (len(labels), segments)
    ]


@pytest.mark.parametrize("options", [{"windows": [manual(10, 20)]}, {"windows": "run"}])
def test_windows_that_are_no_single_inference_have_no_submissions(options: dict[str, Any]) -> None:
    analysis = analysis_of(op(11, 12), **options)
    assert counted(analysis, "submissions", "segments") == [(None, None)]
    assert summary(analysis) == ()


def test_windows_of_the_engines_own_rows() -> None:
    """Without names, each row is a window, so that a count of one would say nothing."""
    named = analysis_of(op(11, 12, 1), op(13, 14, 3), op(21, 22, 1))
    assert counted(named, "submissions", "segments") == [(2, 2), (1, 1)]
    label = "Net_0123456789ab main Neural Engine Prediction"
    assert counted(analysis_of(ane(11, 12, label), ane(13, 14, label)), "segments") == [(None,), (None,)]


def test_inferences_of_one_model_at_once_are_not_separable() -> None:
    rows = [prediction(10, 20), prediction(15, 25), prediction(30, 40), op(16, 17), op(31, 32)]
    assert counted(analysis_of(*rows), "submissions") == [(None,), (None,), (1,)]


def test_inferences_of_two_models_at_once() -> None:
    """Labels that name the model separate them; a label without a model could be of either."""
    rows = [prediction(10, 20), core_ai(12, 22), op(13, 14), region(15, 16, 0), region(17, 18, 1)]
    assert counted(analysis_of(*rows), "submissions") == [(1,), (2,)]
    shared = [prediction(10, 20, "A"), prediction(12, 22, "B"), prediction(30, 40, "A")]
    rows = [*shared, ane(13, 14, "unlike any"), ane(31, 32, "unlike any")]
    assert counted(analysis_of(*rows), "submissions") == [(None,), (None,), (1,)]


def test_the_summary_of_a_model() -> None:
    """Three of four inferences have two submissions, the other one."""
    rows = []
    for start in (10, 20, 30, 40):
        rows += [prediction(start, start + 8), op(start + 1, start + 3, 1)]
        rows += [op(start + 4, start + 7, 3)] if start != 30 else []
    (model,) = summary(analysis_of(*rows))
    assert (model.model, model.windows) == ("Net", 4)
    assert (model.submissions, model.segments) == (((2, 3), (1, 1)), ((2, 3), (1, 1)))
    assert (model.names, model.unlike) == (("Op1", "Op3"), 2)
    assert (model.longest_ns, model.gaps_ns, model.longest_gap_ns) == (3 * MS, MS, MS)
    assert model.covered == 5 / 8


def test_inferences_that_left_the_engine_are_counted_apart() -> None:
    rows = [
        prediction(10, 20),
        prediction(20, 30),
        prediction(30, 40),
        op(11, 12),
        prediction(41, 50, "Other"),
    ]
    (model,) = summary(analysis_of(*rows))
    assert (model.windows, model.without, model.first_without) == (3, 2, 1)
    assert (model.submissions, model.unlike, model.longest_ns) == (((1, 1),), None, MS)
    assert wording.submission_rows([model])[0][2] == "1 in 1, none in 2"
    assert wording.submission_notes([model], np.arange(1, 4)) == [
        "Net: 2 of 3 inferences made no submission to the Neural Engine; call 2 is the first."
    ]


@pytest.mark.parametrize(
    ("numbers", "absent"),
    [((0, 1, 2), ()), ((0, 2, 5), ("0.1", "0.3", "0.4")), ((3,), ("0.0", "0.1", "0.2")), ((0, 4711), ())],
)
def test_region_numbers_that_jump(numbers: tuple[int, ...], absent: tuple[str, ...]) -> None:
    rows = [region(11 + place, 11.5 + place, number) for place, number in enumerate(numbers)]
    (model,) = summary(analysis_of(core_ai(10, 20), *rows))
    assert model.absent == absent


def test_regions_that_differ_in_both_numbers_show_no_jump() -> None:
    rows = [core_ai(10, 20), ane(11, 12, "main_ANE_region_0_0"), ane(13, 14, "main_ANE_region_2_1")]
    (model,) = summary(analysis_of(*rows))
    assert (model.names, model.absent) == (("region 0.0", "region 2.1"), ())


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 50), st.integers(1, 9), st.sampled_from([1, 3, 5])), max_size=12, unique=True
    ),
    edges=st.lists(st.integers(0, 60), min_size=2, max_size=6, unique=True),
)
def test_windows_side_by_side_share_out_the_submissions(
    rows: list[tuple[int, int, int]], edges: list[int]
) -> None:
    """Each row counts in one call at most, none is lost, and amounts fit the call."""
    edges = sorted(edges)
    calls = [prediction(start, end) for start, end in pairwise(edges)]
    ops = [op(start, start + length, number) for start, length, number in rows]
    analysis = analysis_of(*calls, *ops, op(200, 201))
    frame = analysis.submissions
    owners = analysis.measured.assignment
    works = owners.owner >= 0
    assert sum(owners.is_owner(owner).sum() for owner in Owner) == works.sum()
    assert sorted(owners.owned_row.tolist()) == np.flatnonzero(owners.is_owner(Owner.CALL)).tolist()
    assert int(frame["submissions"].sum()) <= len(set(rows)) + 1
    lengths = (analysis.window_rows["end_ns"] - analysis.window_rows["start_ns"]).to_numpy(np.int64)
    assert (frame["covered_ns"].fillna(0).to_numpy(np.int64) <= lengths).all()
    assert (frame["longest_gap_ns"] <= frame["gaps_ns"]).all()
    assert (frame["segments"] <= frame["submissions"]).all()


# What is written about them --------------------------------------------------------------------------------


def cut_model() -> Analysis:
    """Five inferences in three regions, of which one lacks the last; region 1 is never there."""
    rows: list[Interval] = []
    for start in (0, 10, 20, 30, 40):
        numbers = (0, 2) if start == 20 else (0, 2, 3)
        rows += [core_ai(start, start + 8)]
        rows += [region(start + 1 + 2 * place, start + 2 + 2 * place, n) for place, n in enumerate(numbers)]
    return analysis_of(*rows)


def test_the_words_about_submissions() -> None:
    models = cut_model().submission_summary
    assert wording.submission_rows(models) == [
        [
            *("Scene", "5", "3 in 4, 2 in 1", "3 in 4, 2 in 1: region 0.0, region 0.2, region 0.3"),
            *("1.00 ms", "2.00 ms", "38 %"),
        ]
    ]
    assert wording.submission_notes(models, np.arange(1, 7)) == [
        "Scene: 4 of 5 inferences with submissions made 3, such as call 2; call 3 is the first with another"
        " number.",
        "Scene: the region numbers jump. No submission of region 0.1 was recorded: it may have run on another"
        " engine.",
    ]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([f"region 0.{number}" for number in range(13)], "region 0.0 … 0.12"),
        (["region 0", "region 1", "region 2"], "region 0 … 2"),
        (["Op1", "Op3"], "Op1, Op3"),
        (["encode region 0.0", "encode region 0.1"], "encode region 0.0, 0.1"),
        (["Op1", "Op2", "Op4", "Op5", "Op7"], "Op1, Op2, Op4, Op5 and 1 more"),
        ([], ""),
        (["x" * 100], "x" * 43 + "…"),
        (["Op" + "9" * 5000], None),
    ],
)
def test_names_of_segments(names: list[str], text: str | None) -> None:
    written = format_names(names)
    assert len(written) < 100
    assert text is None or written == text


def test_every_form_of_a_report_has_the_submissions() -> None:
    analysis = cut_model()
    assert "3 in 4, 2 in 1: region 0.0, region 0.2, region 0.3" in analysis.to_text(verbose=True)
    assert "| Scene | 5 | 3 in 4, 2 in 1 |" in analysis.to_markdown()
    assert "call 3 is the first with another number" in sections(analysis, Extras())["submissions"]
    document = json.loads(analysis.to_json())
    assert document["windows"][1]["submissions"] == {
        "count": 3,
        "segments": 3,
        "names": ["region 0.0", "region 0.2", "region 0.3"],
        "covered_ns": 3 * MS,
        "longest_ns": MS,
        "gaps_ns": 2 * MS,
        "longest_gap_ns": MS,
    }
    (model,) = document["submissions"]
    assert (model["submissions"], model["unlike"], model["absent"]) == ({"3": 4, "2": 1}, 2, ["0.1"])
    assert analysis.windows["ANE_segments"].tolist() == [3, 3, 2, 3, 3]


def test_a_report_without_submissions() -> None:
    analysis = analysis_of(prediction(10, 20))
    assert "submissions" not in analysis.to_text(verbose=True) + analysis.to_markdown()
    assert json.loads(analysis.to_json())["submissions"] == []
    assert analysis.windows["ANE_submissions"].isna().all()
