"""Findings about operations off the Neural Engine, and about plans that calls do not follow."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from evidence_support import ane, gpu, prediction
from join_support import CUT, FIRST, calls_of, model_of, plan_of
from trace_support import MS

from tracekit import Analysis, analyze, check
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.model_join.joined_model import JoinLimit
from tracekit.mlmodels.plans import Plan
from tracekit.report.wording.findings import FindingText, finding_text
from tracekit.report.wording.findings.text import SENTENCES
from tracekit.report.wording.joins import _LIMITS, PLAN_LIMITS, describe_limits

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "tracekit-analysis-1.schema.json").read_text()
)
MESSAGE = "run-time indices are not taken"


def kinds(analysis: Analysis) -> list[str]:
    about = ("operators-left", "plan-not-followed", "partly-on-engine")
    return [finding.kind for finding in analysis.findings if finding.kind in about]


def only(analysis: Analysis, kind: str) -> tuple[Finding[Any], FindingText]:
    (finding,) = [entry for entry in analysis.findings if entry.kind == kind]
    return finding, finding_text(finding, analysis.trace.info)


def test_operations_that_cut_each_call() -> None:
    analysis = calls_of(CUT, on_cpu=[8, 9], plans=[plan_of("AACCA", {2: MESSAGE})])
    finding, text = only(analysis, "operators-left")
    assert kinds(analysis) == ["operators-left"]  # in place of partly-on-engine
    assert (finding.severity, finding.confidence, finding.lost_ns) == ("warning", "certain", 4 * 8 * MS)
    assert (
        text.title
        == "2 of 5 operations of Net leave the Neural Engine and cut each call into 2 pieces there: op_2 and op_3."
    )
    assert text.cost == (
        "Per call, 8.00 ms pass between the pieces without the engine (measured, median, 40 % of the typical call)."
        f' op_2: the plan: "{MESSAGE}"; op_3 follows it.'
    )
    assert text.detail == "Anticipated by net.mil; observed in 4 of 4 calls."
    assert text.basis == "Measured: 8 rows of ane-hw-intervals."


def test_without_a_plan_the_pieces_are_all_that_is_known() -> None:
    assert kinds(calls_of(CUT, on_cpu=[8])) == ["partly-on-engine"]
    assert kinds(calls_of(CUT, on_cpu=[8], models=[model_of(["conv"])])) == ["partly-on-engine"]


def test_one_operation_and_its_line() -> None:
    model = model_of(["conv", "relu", "add"], sources={1: "net.py:118"})
    _, text = only(calls_of(CUT, models=[model], plans=[plan_of("ACA", {1: MESSAGE})]), "operators-left")
    assert (
        text.title
        == "1 of 3 operations of Net leaves the Neural Engine and cuts each call into 2 pieces there: op_1."
    )
    assert f'op_1 (net.py:118): the plan: "{MESSAGE}".' in text.cost


def test_many_operations_are_counted() -> None:
    _, text = only(calls_of(CUT, plans=[plan_of("A" + "C" * 1000 + "A")]), "operators-left")
    assert text.title.startswith("1,000 of 1,002 operations of Net leave")
    assert text.title.endswith(": op_1, op_2, op_3 and 997 more.")


def test_what_no_call_shows_is_the_plans_alone() -> None:
    """The part after the only piece is seen nowhere: no sample, no interval."""
    finding, text = only(calls_of([(2.0, 18.0, FIRST)], plans=[plan_of("AC")]), "operators-left")
    assert (finding.confidence, finding.severity, finding.lost_ns) == ("possible", "info", None)
    assert text.title == "By its plan, 1 of 2 operations of Net leaves the Neural Engine: op_1."
    assert text.lost == ""


def test_a_part_beside_the_only_piece_is_seen_on_stacks() -> None:
    analysis = calls_of([(8.0, 18.0, FIRST)], on_cpu=[1, 2, 3, 4, 5], plans=[plan_of("CA", {0: "no"})])
    finding, text = only(analysis, "operators-left")
    assert kinds(analysis) == ["operators-left"]
    assert (finding.confidence, finding.lost_ns) == ("certain", None)
    assert text.title == "1 of 2 operations of Net leaves the Neural Engine: op_0."


def test_a_plan_without_the_engine() -> None:
    gone = [prediction(199, 202), ane(200, 201, FIRST)]
    analysis = calls_of([], on_gpu=[(2, 18)], further=gone, plans=[plan_of("GGG", {0: MESSAGE})])
    finding, text = only(analysis, "operators-left")
    assert finding.severity == "warning"
    assert text.title == "As its plan has it, none of the 3 operations of Net is on the Neural Engine."
    assert MESSAGE in text.cost


def test_a_plan_without_the_engine_is_a_note_where_none_is_requested() -> None:
    gone = [prediction(199, 202), ane(200, 201, FIRST)]
    plan = plan_of("GGG")
    finding, _ = only(
        calls_of([], on_gpu=[(2, 18)], further=gone, plans=[plan], compute_units="cpuAndGPU"),
        "operators-left",
    )
    assert finding.severity == "info"


def test_calls_that_do_not_follow_the_plan() -> None:
    gone = [prediction(199, 202), ane(200, 201, FIRST)]
    analysis = calls_of([], on_gpu=[(2, 18)], further=gone, plans=[plan_of("AACA")])
    finding, text = only(analysis, "plan-not-followed")
    assert kinds(analysis) == ["plan-not-followed"]
    assert (finding.severity, finding.confidence) == ("warning", "certain")
    assert text.title == (
        "The plan of Net anticipates 3 of 4 operations on the Neural Engine, but 4 of 5 calls ran on the GPU."
    )


def test_calls_with_another_number_of_pieces() -> None:
    analysis = calls_of(CUT, on_cpu=[8], plans=[plan_of("ACACA")])
    finding, text = only(analysis, "plan-not-followed")
    assert finding.severity == "info"
    assert (
        text.title
        == "The plan of Net anticipates 3 pieces per call on the Neural Engine, but calls usually have 2 pieces."
    )
    assert "partly-on-engine" in kinds(analysis)  # which piece is which segment is not known


def test_a_plan_that_is_followed_is_no_finding() -> None:
    assert kinds(calls_of([(2.0, 18.0, FIRST)], plans=[plan_of("AAA")])) == []


@pytest.mark.parametrize("plan", [plan_of("???"), plan_of("A")])
def test_a_plan_without_the_engine_of_an_operation_or_with_nothing_off_it(plan: Plan) -> None:
    assert "operators-left" not in kinds(calls_of(CUT, on_cpu=[8], plans=[plan]))


def test_without_the_engines_table_only_the_plan_is_known() -> None:
    finding, text = only(calls_of([], on_cpu=[8, 9], plans=[plan_of("ACA")]), "operators-left")
    assert finding.confidence == "possible"
    assert text.title == "By its plan, 1 of 3 operations of Net leaves the Neural Engine: op_1."
    assert "pieces" not in text.title + text.cost


def test_a_plan_for_another_chip_is_named_and_no_certainty() -> None:
    trace = calls_of(CUT, on_cpu=[8]).trace
    mac = replace(trace, info=replace(trace.info, model="Mac14,2"))
    finding, text = only(analyze(mac, plans=[plan_of("ACA", chip="H16G")]), "operators-left")
    assert finding.confidence == "likely"
    assert "The plan is for another chip (H16G) than the recording's." in text.cost


def test_calls_of_which_some_ran_elsewhere_are_counted() -> None:
    gone = [prediction(200 + 30 * n, 220 + 30 * n) for n in range(2)]
    more = [gpu(202 + 30 * n, 218 + 30 * n) for n in range(2)]
    _, text = only(calls_of(CUT, further=[*gone, *more], plans=[plan_of("ACA")]), "operators-left")
    assert text.title.startswith(
        "1 of 3 operations of Net leaves the Neural Engine and cuts 4 of 6 calls into"
    )


def test_a_gate_without_a_plan_is_not_measurable() -> None:
    requirement = ["no finding operators-left"]
    (result,) = check(calls_of(CUT, on_cpu=[8]), requirement)
    assert result.outcome == "not measurable"
    (result,) = check(calls_of(CUT, on_cpu=[8], plans=[plan_of("ACA")]), requirement)
    assert result.outcome == "failed"
    (result,) = check(calls_of([(2.0, 18.0, FIRST)], plans=[plan_of("AAA")]), requirement)
    assert result.outcome == "passed"


def test_every_limit_has_a_sentence() -> None:
    written = {*_LIMITS, *PLAN_LIMITS, "pieces-differ", "calls-differ", "not-on-engine"}
    assert written == set(get_args(JoinLimit))
    assert {"operators-left", "plan-not-followed"} <= set(SENTENCES)


def test_hostile_texts_are_printable_and_cut() -> None:
    plan = plan_of("ACA", {1: "\x1b[31m" + "x" * 5000 + "\u202e"})
    analysis = calls_of(CUT, on_cpu=[8], plans=[plan])
    joined = analysis.joined_models[0]
    assert list(describe_limits(joined)) == []
    for text in (analysis.to_text(), analysis.to_markdown(), analysis.to_html()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert len(max(analysis.to_text().splitlines(), key=len)) < 200


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        {"plans": [plan_of("AAA")]},
        {"plans": [plan_of("???")]},
        {"plans": [plan_of("ACACA")]},
        {"plans": [replace(plan_of("A"), functions=())]},
        {"models": [model_of(["conv", "add"])]},
        {"models": [model_of([])]},
        {"plans": [plan_of("C" * 500)]},
        {"models": [replace(model_of(["conv"]), functions=())]},
    ],
)
def test_every_join_is_printed(options: dict[str, Any]) -> None:
    analysis = calls_of(CUT, on_cpu=[8], **options)
    for text in (
        analysis.to_text(),
        analysis.to_text(verbose=True),
        analysis.to_markdown(),
        analysis.to_html(),
    ):
        assert "the Neural Engine" in text
    jsonschema.validate(json.loads(analysis.to_json()), SCHEMA)
