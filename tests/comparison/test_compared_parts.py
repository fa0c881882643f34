"""The parts of calls on two sides: literal work in calls, and which part grew, by how much, with its interval."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from compare_support import recorded
from documents_support import strict
from evidence_support import Interval, ane, prediction, with_evidence
from trace_support import CALL, UI, Sample, trace_of

from tracekit import Analysis, Comparison, analyze, compare
from tracekit.comparison.result import ModelParts
from tracekit.report.comparison.decision import describe_outcome
from tracekit.report.comparison.headline import sentence
from tracekit.report.html.compare_page import to_html

pytestmark = pytest.mark.integration

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "tracekit-compare-1.schema.json").read_text("utf-8")
)


def worked(on_engine: float, on_host: int, spread: float = 0.0, model: str = "Net") -> Analysis:
    """Return twelve calls: on the Neural Engine for some ms, then in Core ML on their thread for some more."""
    rows: list[Interval] = []
    samples: list[Sample] = [(0, "a", UI)]
    for number in range(12):
        start, engine_ms = 20 + 40 * number, on_engine + spread + 0.01 * (number % 3)
        end = start + engine_ms + on_host
        rows += [prediction(start, end, model=model), ane(start, start + engine_ms)]
        samples += [(start + engine_ms + 0.5 + tick, "a", CALL) for tick in range(on_host)]
    return analyze(with_evidence(trace_of(samples), rows))


def several(on_engine: float, on_host: int) -> list[Analysis]:
    return [worked(on_engine, on_host, spread) for spread in (0.0, 0.02, -0.02)]


def parts_of(comparison: Comparison) -> ModelParts:
    (model,) = comparison.parts
    return model


def grown(comparison: Comparison) -> list[tuple[str, Any, str]]:
    return [
        (str(change.part), round((change.row.difference or 0) / 1e6, 1), change.row.judgement)
        for change in parts_of(comparison).parts
    ]


def test_the_part_that_grew_most_comes_first_and_the_parts_sum_to_the_call() -> None:
    comparison = compare(several(6, 4), several(6.5, 9))
    assert grown(comparison)[:2] == [("runtime", 5.0, "higher"), ("ANE", 0.5, "higher")]
    model = parts_of(comparison)
    for side in ("base", "new"):
        total = sum(getattr(change.row, side).value for change in model.parts)
        assert total == pytest.approx(getattr(model.whole, side).value, rel=1e-3)
    low, high = model.parts[0].row.low, model.parts[0].row.high
    assert low is not None and high is not None
    assert 0 < low <= model.parts[0].row.difference <= high  # type: ignore[operator]
    assert model.level == pytest.approx(1 - 0.05 / len(model.parts))


def test_the_sentence_after_the_answer_names_the_part() -> None:
    text = sentence(compare(several(6, 4), several(6.5, 9)))
    assert "Calls of Net are 5.50 ms longer on average after the first; 5.00 ms of it is ML runtime." in text
    back = sentence(compare(several(6.5, 9), several(6, 4)))
    assert "Calls of Net are 5.50 ms shorter on average after the first; 5.00 ms of it is ML runtime." in back


def test_a_part_that_grew_more_than_the_call_is_not_a_part_of_its_growth() -> None:
    text = sentence(compare(several(9, 4), several(6, 9)))
    assert (
        "Calls of Net are 2.00 ms longer on average after the first: ML runtime +5.00 ms, less what" in text
    )


def test_a_call_of_the_same_length_may_be_divided_otherwise() -> None:
    comparison = compare([worked(9, 4)], [worked(4, 9)])
    assert describe_outcome(comparison) == ("?", "Changed in these recordings")
    division = "The time of Net's calls is divided otherwise in these recordings: "
    assert f"{division}Neural Engine 9.01 ms → 4.01 ms, ML runtime 3.50 ms → 8.50 ms on average." in sentence(
        comparison
    )


def test_a_part_that_changed_by_less_than_what_counts_is_no_news() -> None:
    comparison = compare([worked(9, 4)], [worked(9.05, 4)])
    assert parts_of(comparison).parts[0].row.judgement == "higher in these recordings"
    assert "divided otherwise" not in sentence(comparison)


def test_calls_without_a_model_do_not_hide_the_models() -> None:
    base, new = (
        recorded([10.0, 12, 11, 13, 10, 12, length, length], models=["Net"] * 6 + [""] * 2)
        for length in (20.0, 90.0)
    )
    text = sentence(compare(base, new))
    assert "Net p50 is the same" in text and text.endswith("This leaves out calls without a model.")


def test_one_side_without_samples_has_no_parts_to_compare() -> None:
    base = recorded([10.0, 12, 11, 13, 10, 12])
    new = recorded([10.0, 12, 11, 13, 10, 12], measured=False)
    comparison = compare(base, new)
    assert parts_of(comparison).missing == (
        "a table of the ANE and samples in BASE and samples in NEW show the parts of a call"
    )
    assert "not comparable, a table of the ANE" in comparison.to_text().replace("\n", " ").replace("  ", " ")


def test_models_of_one_side_have_no_parts_and_two_models_are_apart() -> None:
    assert compare([worked(6, 4)], [worked(6, 9, model="Other")]).parts == ()


def test_each_model_has_a_table_below_its_name_and_the_one_that_changed_most_comes_first() -> None:
    base, new = (
        recorded(
            [10.0, 12, 11, 13, 10, 12, 20.0, 22, 21, length, length, length], models=["A"] * 6 + ["B"] * 6
        )
        for length in (22.0, 32.0)
    )
    comparison = compare(base, new)
    assert [model.model for model in comparison.parts] == ["A", "B"]
    text = comparison.to_text()
    assert text.index("\nParts of a call") < text.index("\nB\n") < text.index("\nA\n")
    page = to_html(comparison, base, new)
    assert re.findall(r'<details class="folded-part"><summary><h3>(.*?)</h3>', page) == ["A"]


def test_json_has_the_parts() -> None:
    document = json.loads(compare(several(6, 4), several(6.5, 9)).to_json())
    jsonschema.validate(document, strict(SCHEMA))
    (model,) = document["parts"]
    assert (model["model"], model["missing"]) == ("Net", None)
    assert [part["part"] for part in model["parts"]][:2] == ["runtime", "ANE"]
    assert model["parts"][0]["row"]["judgement"] == "higher"
    assert model["whole"]["metric"] == "length"
