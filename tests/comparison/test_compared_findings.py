"""Findings of two sides, and the first sentences: better or worse, never more than the recordings show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from compare_support import recorded
from documents_support import strict
from evidence_support import Interval, ane, prediction, with_evidence
from trace_support import BNNS, CALL, UI, Sample, trace_of

from tracekit import Analysis, Comparison, analyze, compare
from tracekit.comparison.findings import choose_trend
from tracekit.comparison.result import FindingChange, FindingSide
from tracekit.report.comparison.decision import decide_outcome, describe_outcome
from tracekit.report.comparison.headline import sentence
from tracekit.report.comparison.markdown import to_markdown
from tracekit.report.comparison.models import describe_length_result
from tracekit.report.html.compare_page import to_html

pytestmark = pytest.mark.integration

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "tracekit-compare-1.schema.json").read_text("utf-8")
)
LENGTHS = [10.0, 12, 11, 13, 10, 12, 11, 14, 10, 12]
HALF = "A" * 5 + "C" * 5


def several(engines: str = "A" * 10, factor: float = 1.0, parts: tuple[str, ...] = ()) -> list[Analysis]:
    """Return three runs, whose lengths differ by 1 %."""
    each = parts or (engines,) * 3
    return [
        recorded([length * factor * run for length in LENGTHS], part)
        for run, part in zip((1, 1.01, 0.99), each, strict=True)
    ]


def placement(comparison: Comparison) -> FindingChange:
    (change,) = [change for change in comparison.findings if change.kind == "fell-back"]
    return change


def test_a_finding_of_every_run_of_new_has_appeared() -> None:
    comparison = compare(several(), several(HALF, 1.3))
    change = placement(comparison)
    assert (change.change, change.base.found, change.new.found, change.new.runs) == ("appeared", 0, 3, 3)
    text = sentence(comparison)
    assert text.startswith(
        "NEW is slower: Net p50 14.3 ms against 11.0 ms (+30 %, 98 % interval +26.1 … +34.0 %), p90"
    )
    new = "New finding (fell-back in 3 of 3 runs of NEW, in 0 of 3 runs of BASE): Net left the Neural Engine after"
    assert new in text
    assert (decide_outcome(comparison), describe_outcome(comparison)) == ("slower", ("▲", "Slower"))


def test_swapped_it_has_vanished() -> None:
    comparison = compare(several(HALF, 1.3), several())
    assert placement(comparison).change == "vanished"
    assert "Gone (fell-back in 3 of 3 runs of BASE, in 0 of 3 runs of NEW): Net left" in sentence(comparison)
    assert describe_outcome(comparison) == ("▼", "Faster")


def test_a_finding_of_one_run_is_counted_and_nothing_more() -> None:
    comparison = compare(several(), several(parts=(HALF, "A" * 10, "A" * 10)))
    assert (placement(comparison).change, placement(comparison).new.found) == ("on one side", 1)
    seen = "Seen on one side, as chance can do (fell-back in 1 of 3 runs of NEW, in 0 of 3 runs of BASE): Net"
    assert seen in sentence(comparison)
    assert decide_outcome(comparison) == "not shown"  # one run of three is no difference between the sides


def test_a_fallback_that_is_gone_is_good_news_first_and_without_a_warning() -> None:
    base, new = several("A" * 9 + "C"), several()
    comparison = compare(base, new)
    assert describe_outcome(comparison) == ("✓", "Finding gone")
    assert sentence(comparison).startswith(
        "Gone, which is better (fell-back in 3 of 3 runs of BASE, in 0 of 3 runs of NEW): Net left the Neural"
    )
    page = to_html(comparison, base[0], new[0])
    (finding,) = re.findall(r"<li class=.finding finding-gone..*?</li>", page)
    assert "severity-gone" in finding and "severity-warning" not in finding


def test_calls_that_are_all_on_the_cpu_are_not_better_for_leaving_no_engine() -> None:
    comparison = compare(several("A" * 6 + "C" * 4), several("C" * 10))
    assert placement(comparison).change == "vanished"
    assert decide_outcome(comparison) == "changed"
    assert "which is better" not in sentence(comparison)


def test_one_run_of_each_side_shows_no_finding_to_have_appeared_or_vanished() -> None:
    base, new = recorded(LENGTHS, "A" * 6 + "C" * 4), recorded(LENGTHS)
    for comparison, side, opposite in (
        (compare(base, new), "BASE", "NEW"),
        (compare(new, base), "NEW", "BASE"),
    ):
        assert placement(comparison).change == "on one side"
        assert decide_outcome(comparison) == "not shown"
        seen = f"Seen on one side, as chance can do (fell-back in {side}, not in {opposite}): Net left the Neural"
        assert seen in sentence(comparison)


def test_all_of_two_runs_against_none_of_two_may_be_chance() -> None:
    comparison = compare(several(HALF)[:2], several()[:2])
    assert placement(comparison).change == "on one side"


def test_an_outcome_rests_on_nothing_that_the_sentence_does_not_state() -> None:
    # No call of NEW shows its engine: that is another share of unknown engines, and none of the others.
    comparison = compare(recorded(LENGTHS), recorded(LENGTHS, "U" * 10))
    assert "Engines cannot be compared" in sentence(comparison)
    assert decide_outcome(comparison) == "not shown"


def test_the_same_on_both_sides_is_no_news() -> None:
    comparison = compare(several(HALF), several(HALF))
    assert placement(comparison).change == "on both sides"
    assert "Neural Engine after" not in sentence(comparison)


def left_engine(after: int, length: float, engines: str = "") -> Analysis:
    """Return ten calls of 10 ms on the Neural Engine, from ``after`` on the CPU and of another length."""
    rows: list[Interval] = []
    samples: list[Sample] = [(0, "a", UI)]
    for number in range(10):
        start, is_away = 20 + 40 * number, number >= after
        rows.append(prediction(start, start + (length if is_away else 10)))
        rows += [] if is_away else [ane(start + 1, start + 9)]
        stack = {"": BNNS if is_away else CALL, "-": CALL}[engines]
        samples += [(start + tick, "a", stack) for tick in range(1, 9)]
    return analyze(with_evidence(trace_of(samples), rows))


def test_a_finding_that_loses_more_time_in_every_run_grew() -> None:
    base, new = ([left_engine(5, length + more) for more in (0, 0.1, 0.2, 0.3)] for length in (12, 20))
    assert placement(compare(base, new)).change == "grew"
    assert placement(compare(new, base)).change == "shrank"
    # Three runs of one side are above three of the other by chance in one of ten comparisons.
    assert placement(compare(base[:3], new[:3])).change == "on both sides"
    assert placement(compare(base[:2], [base[2], new[0]])).change == "on both sides"


@pytest.mark.parametrize(
    ("runs", "sized", "trend"),
    [(4, 1, "grew"), (4, 2, "on both sides"), (5, 2, "grew"), (5, 6, "grew"), (5, 7, "on both sides")],
)
def test_findings_that_may_all_grow_share_the_level(runs: int, sized: int, trend: str) -> None:
    """Five runs are above five others in 2 of 252 orders: six such findings stay within 5 %."""
    base, new = (FindingSide(runs, runs, lost_ns=(level,) * runs) for level in (1e6, 2e6))
    assert choose_trend(base, new, False, sized) == trend


def test_a_side_that_cannot_show_a_finding_is_not_without_it() -> None:
    change = placement(compare(left_engine(5, 10), left_engine(5, 10, "-")))
    assert (change.change, change.new.unseen) == ("not comparable", 1)
    assert change.new.reason == "the engine of 5 of 10 calls is unknown"
    other = placement(compare(left_engine(5, 10), two_models(10, 20, "Other")))
    assert (other.change, other.new.reason) == ("not comparable", "the model does not run")


def test_one_run_per_side_is_about_these_recordings() -> None:
    comparison = compare(recorded(LENGTHS), recorded([length * 1.5 for length in LENGTHS], HALF))
    assert describe_outcome(comparison) == ("?", "Slower in these recordings")
    (lengths,) = comparison.first_sentence.lengths
    assert describe_length_result(lengths, comparison.min_change) == "? slower here"
    assert "Seen on one side, as chance can do (fell-back in NEW, not in BASE): Net left" in sentence(
        comparison
    )


def test_without_any_difference() -> None:
    comparison = compare(recorded(LENGTHS), recorded(LENGTHS))
    assert describe_outcome(comparison) == ("?", "No change in these recordings")
    assert describe_outcome(compare(several(), several(factor=1.005))) == ("?", "No difference shown")


def mixed(is_mixed: bool) -> Analysis:
    """Return calls on the Neural Engine, alone for 3 of 10 ms or together with the CPU for 7 of 10 ms."""
    rows: list[Interval] = []
    samples: list[Sample] = [(0, "a", UI)]
    for number in range(12):
        start = 20 + 20 * number
        rows += [prediction(start, start + 10), ane(start + 1, start + (8 if is_mixed else 4))]
        stack = BNNS if is_mixed else CALL
        samples += [(start + tick, "a", stack) for tick in range(1, 9)]
    return analyze(with_evidence(trace_of(samples), rows))


def test_calls_on_several_engines_are_not_read_as_less_work_of_one() -> None:
    text = sentence(compare(mixed(False), mixed(True)))
    assert "calls on the Neural Engine alone 100.0 % → 0.0 %" in text
    assert "on several engines 0.0 % → 100.0 %" in text
    assert "Busy share of a call: the Neural Engine 30.0 % → 70.0 %" in text


def two_models(first: float, second: float, name: str = "Net") -> Analysis:
    rows: list[Interval] = []
    for number in range(10):
        start = 20 + 100 * number
        wobble = 1 + 0.01 * (number % 3)
        rows += [prediction(start, start + first * wobble, model=name)]
        rows += [prediction(start + 50, start + 50 + second * wobble, model="Pose")]
    return analyze(with_evidence(trace_of([(0, "a", UI)]), rows))


def test_two_models_are_never_one_figure() -> None:
    base = [two_models(10 * run, 20 * run) for run in (1, 1.01, 0.99)]
    new = [two_models(13 * run, 20 * run) for run in (1, 1.01, 0.99)]
    comparison = compare(base, new)
    text = sentence(comparison)
    # 98 % each, so that both together leave 4 %.
    assert text.startswith("NEW is slower: Net p50 13.1 ms against 10.1 ms (+30 %, 99 % interval ")
    assert "No difference in length is shown: Pose p50 20.2 ms against 20.2 ms" in text
    assert decide_outcome(comparison) == "slower"
    opposite = compare(base, [two_models(13 * run, 15 * run) for run in (1, 1.01, 0.99)])
    assert decide_outcome(opposite) == "slower and faster"


def test_json_lists_findings_by_what_became_of_them() -> None:
    document = json.loads(compare(several(), several(HALF, 1.3)).to_json())
    jsonschema.validate(document, strict(SCHEMA))
    assert document["outcome"] == "slower"
    (entry,) = [entry for entry in document["findings"]["appeared"] if entry["kind"] == "fell-back"]
    assert entry["title"].startswith("Net left the Neural Engine after its 5th call")
    assert entry["new"] | {"lost_ns": []} == {"runs": 3, "found": 3, "unseen": 0, "reason": "", "lost_ns": []}


@pytest.mark.integration
def test_text_markdown_and_page_have_the_findings() -> None:
    base, new = recorded(LENGTHS), recorded([length * 1.5 for length in LENGTHS], HALF)
    comparison = compare(base, new)
    command = "tracekit record --app App --compute-units all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly"
    for text in (comparison.to_text(), to_markdown(comparison), to_html(comparison, base, new)):
        assert "Findings: gone, new and remaining" in text
        assert command in text
    assert "? **Slower in these recordings.** In these" in to_markdown(comparison)
    assert 'class="outcome outcome-slower"' in to_html(comparison, base, new)
