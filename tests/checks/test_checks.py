"""Requirements against literal inferences: passed, failed, not measurable, and on what that rests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from compare_support import recorded
from evidence_support import core_ml, gpu, manual, mps, prediction, with_evidence
from hypothesis import given
from hypothesis import strategies as st
from trace_support import BNNS, LOAD, MS, trace_of

from tracekit import Analysis, analyze
from tracekit.checks.check import check
from tracekit.checks.evaluator import MetricEvaluator
from tracekit.checks.parser import parse_requirement
from tracekit.checks.results import CheckResult, MetricValue, choose_exit_code
from tracekit.model.columns import TRACKS
from tracekit.model.issue_codes import DAMAGE
from tracekit.model.trace import Issue

pytestmark = pytest.mark.integration

LENGTHS = [10.0, 12, 11, 13, 10, 12, 11, 14, 10, 12]


def judged(analysis: Analysis, text: str, forbids: bool = False) -> CheckResult:
    """Judge the recorded numbers, without intervals."""
    (result,) = check(analysis, [parse_requirement(text, forbids)], confidence=0)
    return result


def required(analysis: Analysis, text: str) -> str:
    return judged(analysis, text).outcome


def forbidden(analysis: Analysis, text: str) -> str:
    return judged(analysis, text, forbids=True).outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("p50 <= 11ms", "passed"),
        ("p50 < 11ms", "failed"),
        ("p50 == 11ms", "passed"),
        ("p50 != 11ms", "failed"),
        ("p90 >= 13ms", "passed"),
        ("p90 > 13ms", "failed"),
        ("max <= 14ms", "passed"),
        ("min >= 10.1ms", "failed"),
        ("mean <= 11.5ms", "passed"),
        ("first <= 10ms", "passed"),
        ("warm p50 <= 12ms", "passed"),
        ("warm p50 <= 11ms", "failed"),
        ("windows >= 10", "passed"),
        ("windows >= 11", "failed"),
        ("warm ANE busy <= 2ms", "passed"),
        ("ANE busy <= 1ms", "failed"),
        ("ANE busy share >= 15%", "passed"),
        ("ANE share == 1", "passed"),
        ("CPU share <= 0", "passed"),
        ("hand-offs <= 0", "passed"),
        ("segments per inference <= 1", "passed"),
        ("submissions per inference < 1", "failed"),
        ("issues clocks-disagree == 0", "passed"),
    ],
)
def test_numbers_of_ten_inferences(text: str, outcome: str) -> None:
    assert required(recorded(LENGTHS), text) == outcome


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("GPU busy <= 1ms", "no table measured the GPU"),
        ("CPU busy <= 1ms", "no table measured the CPU"),
        ("thermal <= fair", "the recording has no thermal state"),
        ("load <= 1s", "no load was recorded; it may have happened before the recording began"),
        ("p90 in Other <= 1ms", "no call has the model or label 'Other'; the calls have Net"),
        ("GPU waiting <= 1ms", "no data shows when a thread waited for the GPU"),
    ],
)
def test_what_the_recording_cannot_show_is_not_measurable(text: str, why: str) -> None:
    result = judged(recorded(LENGTHS), text)
    assert result.outcome == "not measurable"
    assert result.actual.missing.startswith(why)
    assert result.actual.low is None


@pytest.mark.integration
def test_the_worst_window_is_named() -> None:
    result = judged(recorded(LENGTHS), "p50 <= 8ms")
    assert result.actual.worst is not None
    # Seven windows and their holes of 10 ms come before the longest.
    assert (result.actual.worst.window, result.actual.worst.value) == (7, 14 * MS)
    assert result.actual.worst.start_ns == (20 + sum(LENGTHS[:7]) + 7 * 10) * MS
    assert (result.actual.windows, result.actual.basis) == (10, "measured")
    least = judged(recorded(LENGTHS), "p50 >= 50ms").actual.worst
    assert least is not None
    assert (least.window, least.value) == (0, 10 * MS)
    forbids = judged(recorded(LENGTHS), "p50 > 8ms", forbids=True).actual.worst
    assert forbids is not None
    assert forbids.window == 7


def test_the_worst_window_of_a_share_is_the_first_that_breaks_it() -> None:
    analysis = recorded(LENGTHS, "AAACAAACAA")
    high = judged(analysis, "ANE share >= 90%")
    assert (high.outcome, high.actual.low) == ("failed", 0.8)
    assert high.actual.worst is not None
    assert high.actual.worst.window == 3
    low = judged(analysis, "ANE share <= 10%").actual.worst
    assert low is not None
    assert low.window == 0


@pytest.mark.parametrize(
    ("requirement", "forbids", "window"),
    [
        ("ANE used share == 100%", False, 3),
        ("ANE used share != 100%", True, 3),
        ("CPU used share == 0%", False, 3),
        ("CPU used share != 0%", True, 3),
        ("ANE used share == 100%", True, 0),
    ],
)
def test_the_worst_window_of_an_exact_share(requirement: str, forbids: bool, window: int) -> None:
    worst = judged(recorded(LENGTHS, "AAACAAACAA"), requirement, forbids=forbids).actual.worst
    assert worst is not None
    assert worst.window == window


@pytest.mark.integration
def test_late_calls_are_a_share_with_its_interval() -> None:
    analysis = recorded([*LENGTHS, 20.0, 25.0] * 10)
    assert required(analysis, "calls > 16.7ms <= 20%") == "passed"
    assert required(analysis, "calls > 25ms <= 0%") == "passed"  # exactly 25 ms is in time
    (result,) = check(analysis, "calls > 16.7ms <= 15%")
    assert (result.outcome, result.actual.low) == ("open", pytest.approx(1 / 6))
    assert result.actual.interval == pytest.approx((0.110, 0.243), abs=0.001)  # Wilson, 20 of 120
    assert result.actual.worst is not None
    assert (result.actual.worst.window, result.actual.windows) == (11, 120)
    given_ranges = analyze(trace_of([(1.0, "main", BNNS)]), windows=[manual(0, 8)])
    assert required(given_ranges, "calls > 16.7ms <= 20%") == "not measurable"


def test_a_mixed_window_is_no_window_of_the_engine_but_uses_it() -> None:
    analysis = recorded([20.0] * 4, "AAXX")
    assert judged(analysis, "ANE share >= 0").actual.low == 0.5
    assert judged(analysis, "MIXED share >= 0").actual.low == 0.5
    assert required(analysis, "ANE used share == 100%") == "passed"
    assert judged(analysis, "CPU used share >= 0").actual.low == 0.5


@pytest.mark.integration
def test_windows_of_unknown_engine_leave_a_share_open() -> None:
    analysis = recorded([10.0] * 10, "AAAAAAAUUU")
    share = judged(analysis, "ANE share >= 80%")
    assert (share.outcome, share.actual.low, share.actual.high) == ("not measurable", 0.7, 1.0)
    assert share.actual.note == "the engine of 3 calls is unknown"
    assert required(analysis, "ANE share >= 70%") == "passed"
    assert required(analysis, "CPU share >= 40%") == "failed"
    assert required(analysis, "ANE share <= 60%") == "failed"
    assert required(analysis, "UNKNOWN share <= 10%") == "failed"
    assert required(recorded([10.0] * 3, "UUU", measured=False), "ANE share >= 80%") == "not measurable"


def test_windows_that_show_no_number_could_have_any() -> None:
    """Core ML reports the CPU's part only sometimes: no row is no zero."""
    trace = trace_of([(20.5 + index * 20, "main", BNNS) for index in range(10)])
    rows = [prediction(20 + index * 20, 30 + index * 20) for index in range(10)]
    rows += [core_ml(21 + index * 20, 24 + index * 20, "CPU", depth=1) for index in range(6)]
    analysis = analyze(with_evidence(trace, rows))
    busy = judged(analysis, "max CPU busy <= 5ms")
    assert (busy.outcome, busy.actual.note) == ("not measurable", "4 calls do not show it")
    assert required(analysis, "p50 CPU busy <= 2ms") == "failed"


def test_a_scope_is_a_model_or_a_label_with_stars() -> None:
    analysis = recorded([10.0, 30.0] * 5, models=["Net", "Big Net"] * 5)
    assert judged(analysis, "windows >= 0 in Net").actual.low == 5
    assert judged(analysis, "windows >= 0 in *Net").actual.low == 10
    assert judged(analysis, "windows >= 0 in 'Big *'").actual.low == 5
    assert judged(analysis, "windows >= 0 in [NB]*").actual.low == 0  # a bracket is a bracket
    assert required(analysis, "p90 <= 10ms in Net") == "passed"
    assert required(analysis, "p90 <= 10ms") == "failed"
    assert required(analysis, "windows >= 1 in Other") == "failed"


@pytest.mark.parametrize(
    ("text", "low"),
    [
        ("warm ANE share >= 0", 0.75),
        ("ANE share >= 0", 0.6),
        ("warm ANE used share >= 0", 0.75),
        ("warm CPU samples share >= 0", 6 / 9),
        ("warm mean hand-offs >= 0", 0.0),
        ("warm ANE busy share >= 0", 0.15),
    ],
)
def test_warm_leaves_the_first_windows_out_of_every_number_of_windows(text: str, low: float) -> None:
    result = judged(recorded([10.0] * 5, "CCAAA"), text)
    assert result.actual.low == pytest.approx(low)
    assert result.actual.windows == (4 if "warm" in text else 5)


def test_without_a_warm_window_there_is_no_warm_number() -> None:
    result = judged(recorded([10.0]), "warm ANE share >= 0")
    assert (result.outcome, result.actual.missing) == ("not measurable", "there is no warm call")


@pytest.mark.integration
def test_a_share_is_known_as_the_verdicts_that_it_counts() -> None:
    analysis = recorded([10.0] * 4, "AACC")
    shares = {name: judged(analysis, f"{name} share >= 0").actual for name in ("ANE", "CPU", "GPU")}
    assert {name: share.basis for name, share in shares.items()} == {
        "ANE": "measured",
        "CPU": "sampled",
        "GPU": "measured and sampled",
    }
    assert {name: share.note for name, share in shares.items()} == {
        "ANE": "",
        "CPU": "",
        "GPU": "no table measured the GPU",
    }
    mixed = recorded([20.0] * 4, "X" * 4)
    assert judged(mixed, "CPU used share >= 0").actual.basis == "sampled"
    assert judged(mixed, "ANE used share >= 0").actual.basis == "measured"


def test_segments_per_inference_need_an_engine_that_was_measured_and_single_inferences() -> None:
    unmeasured = judged(recorded([10.0] * 4, measured=False), "segments per inference <= 1")
    assert unmeasured.outcome == "not measurable"
    assert unmeasured.actual.missing.startswith("no table measured the ANE")
    several = judged(recorded([10.0] * 4, windows="stacks"), "segments per inference <= 1")
    assert several.outcome == "not measurable"
    assert "no call is a single inference" in several.actual.missing


def test_inferences_without_a_submission_meet_an_upper_limit_and_are_noted() -> None:
    result = judged(recorded([10.0] * 4, "ACCA"), "segments per inference <= 1")
    assert (result.outcome, result.actual.high) == ("passed", 1)
    assert result.actual.note == "2 calls made no submission to the Neural Engine"


def test_hand_offs_have_a_note_on_engines_that_no_table_measured() -> None:
    note = judged(recorded([10.0] * 4), "hand-offs <= 0").actual.note
    assert note == "no table measured the GPU and the CPU"


@pytest.mark.parametrize("code", sorted(DAMAGE))
def test_damage_is_an_error_whatever_its_severity(code: str) -> None:
    result = judged(recorded(LENGTHS, issues=(Issue("warning", code, "a file"),)), "errors == 0")
    assert (result.outcome, result.actual.note) == ("failed", code)


def test_a_doubt_is_no_error() -> None:
    assert (
        required(recorded(LENGTHS, issues=(Issue("warning", "null-values", "x"),)), "errors == 0") == "passed"
    )


def test_first_is_the_slowest_of_the_models_firsts() -> None:
    analysis = recorded([50.0, 90.0, 10.0, 10.0], models=["Net", "Big", "Net", "Big"])
    assert judged(analysis, "first <= 1s").actual.low == 90 * MS
    assert judged(analysis, "first <= 1s in Net").actual.low == 50 * MS
    assert judged(analysis, "warm max <= 1s").actual.low == 10 * MS


def test_forbidden_engines() -> None:
    analysis = recorded([10.0] * 4, "AACA")
    result = judged(analysis, "CPU execute in Net", forbids=True)
    assert (result.outcome, result.actual.low, result.actual.basis) == ("failed", 1, "sampled")
    assert result.actual.worst is not None
    assert (result.actual.worst.window, result.actual.worst.start_ns) == (2, 60 * MS)
    assert forbidden(analysis, "CPU copy") == "passed"
    assert forbidden(analysis, "ANE execute") == "failed"
    assert forbidden(analysis, "CPU in Other") == "not measurable"


@pytest.mark.integration
def test_no_sample_of_an_engine_that_only_tables_show_proves_nothing() -> None:
    analysis = recorded([10.0] * 4)
    assert forbidden(analysis, "GPU") == "passed"  # host samples would have shown who called it
    execute = judged(analysis, "GPU execute", forbids=True)
    assert execute.outcome == "not measurable"
    assert "host samples never show the GPU at work" in execute.actual.missing
    assert forbidden(recorded([10.0] * 4, "CCCC"), "ANE") == "passed"
    assert forbidden(recorded([10.0] * 4, "UUUU"), "CPU") == "not measurable"


def test_windows_without_a_sample_are_counted_in_the_note() -> None:
    bare = recorded([10.0] * 4, "AAAA")
    samples = bare.trace.samples.iloc[:1]
    fewer = analyze(replace(bare.trace, samples=samples, counters=pd.DataFrame(index=samples.index)))
    assert judged(fewer, "CPU", forbids=True).actual.note == "3 calls without a host sample"


def test_a_window_of_an_unknown_engine_may_hold_what_is_forbidden() -> None:
    result = judged(recorded([10.0] * 4, "AAAU"), "CPU", forbids=True)
    assert (result.outcome, result.actual.note) == ("not measurable", "the engine of 1 call is unknown")


def test_a_forbidden_number_is_a_requirement_turned_round() -> None:
    analysis = recorded(LENGTHS)
    assert forbidden(analysis, "p90 > 13ms") == "passed"
    assert forbidden(analysis, "p90 >= 13ms") == "failed"
    assert forbidden(analysis, "GPU busy > 1ms") == "not measurable"


@pytest.mark.integration
def test_lengths_that_are_no_finding_are_not_measurable() -> None:
    trace = trace_of([(index + 0.5, "main", BNNS) for index in range(50)])
    user_windows = judged(analyze(trace, windows=[manual(0, 8)]), "p90 <= 8ms")
    assert (
        user_windows.actual.missing == "the ranges are user-supplied, so their lengths are not measurements"
    )
    whole = judged(analyze(trace, windows="run"), "p90 <= 8ms")
    assert whole.actual.missing == "the only range is the whole run, so no call has a length"
    assert required(analyze(trace, windows="run"), "windows == 1") == "not measurable"
    assert required(analyze(trace, windows="run"), "CPU share == 100%") == "passed"


@pytest.mark.integration
def test_no_window_and_one_window() -> None:
    none = analyze(trace_of([]))
    assert judged(none, "p90 <= 8ms").actual.missing == "there is no call"
    assert required(none, "windows >= 1") == "failed"
    assert forbidden(none, "CPU") == "not measurable"
    assert required(recorded([10.0]), "p99 <= 10ms") == "passed"


def test_windows_of_several_bases_have_no_common_length() -> None:
    """One call on a stack that no prediction of Core ML touches, beside one that Core ML reports."""
    trace = trace_of([(100.5 + index, "main", BNNS) for index in range(10)])
    analysis = analyze(with_evidence(trace, [prediction(20, 30)]))
    assert set(analysis.window_rows["basis"]) == {"measured", "inferred"}
    result = judged(analysis, "p90 <= 1s")
    assert (
        result.actual.missing == "some calls are inferred and some measured, which one number cannot combine"
    )
    assert required(analysis, "p90 <= 1s in Net") == "passed"


@pytest.mark.integration
def test_a_percentile_that_is_the_largest_value_has_a_note() -> None:
    assert judged(recorded(LENGTHS), "p99 <= 20ms").actual.note == "of 10 calls, p99 is the largest"
    assert judged(recorded(LENGTHS), "p90 <= 20ms").actual.note == ""


@pytest.mark.integration
def test_loading() -> None:
    analysis = recorded(LENGTHS, load=8)
    assert (judged(analysis, "load <= 8ms").outcome, judged(analysis, "load <= 8ms").actual.basis) == (
        "passed",
        "measured",
    )
    assert required(analysis, "load <= 7.9ms") == "failed"
    assert required(analysis, "load <= 8ms in Net") == "passed"
    sampled = analyze(
        trace_of(
            [
                *((index + 0.5, "main", LOAD) for index in range(5)),
                *((index + 20.5, "main", BNNS) for index in range(9)),
            ]
        )
    )
    assert (judged(sampled, "load <= 5ms").outcome, judged(sampled, "load <= 5ms").actual.basis) == (
        "passed",
        "sampled",
    )


def test_a_sampled_load_belongs_to_no_model() -> None:
    samples = [
        *((index + 0.5, "main", LOAD) for index in range(5)),
        *((index + 30.5, "main", BNNS) for index in range(9)),
    ]
    analysis = analyze(with_evidence(trace_of(samples), [prediction(30, 40)]))
    assert required(analysis, "load <= 5ms") == "passed"
    assert (
        judged(analysis, "load <= 5ms in Net").actual.missing
        == "only samples show a load, and they do not name the model"
    )


@pytest.mark.integration
def test_hand_offs_of_a_window_that_shows_no_engine_are_not_known() -> None:
    assert required(recorded([20.0] * 4, "AAAU"), "hand-offs <= 0") == "not measurable"
    assert required(recorded([20.0] * 4, "AAXU"), "hand-offs <= 0") == "failed"


@pytest.mark.integration
def test_thermal_states() -> None:
    analysis = recorded(LENGTHS)
    rows = {"time_ns": [0, 3 * MS], "name": ["Thermal state"] * 2, "unit": ["level"] * 2, "value": [0.0, 2.0]}
    tracks = pd.DataFrame(rows).astype(dict(TRACKS.required))
    hot = analyze(replace(analysis.trace, tracks=tracks))
    result = judged(hot, "thermal <= fair")
    assert (result.outcome, result.actual.note) == ("failed", "serious from 0.003 s")
    assert required(hot, "thermal <= serious") == "passed"
    assert forbidden(hot, "thermal == serious") == "failed"


def test_issues_by_severity_and_code() -> None:
    issues = (Issue("warning", "interval-open", "lost", 7), Issue("error", "table-damaged", "damaged"))
    analysis = recorded(LENGTHS, issues=issues)
    further = len(analysis.issues) - 2
    assert judged(analysis, "issues == 0").actual.low == 2 + further
    assert judged(analysis, "errors == 0").actual.low == 1
    assert judged(analysis, "issues interval-open == 0").actual.low == 7
    assert required(analysis, "issues error == 1") == "passed"


@pytest.mark.integration
def test_host_samples_are_shared_out_over_all_windows_together() -> None:
    analysis = recorded([10.0, 10.0], "AC")
    share = judged(analysis, "CPU samples share <= 50%")
    assert (share.actual.low, share.actual.basis, share.outcome) == (
        pytest.approx(6 / 7),
        "sampled",
        "failed",
    )
    assert required(recorded([10.0], "U"), "CPU samples share <= 50%") == "not measurable"


def test_samples_in_cycles_are_no_time() -> None:
    analysis = analyze(trace_of([(index + 0.5, "main", BNNS, 1000) for index in range(20)], "cycles"))
    result = judged(analysis, "CPU samples <= 3ms")
    assert result.actual.missing == "samples are weighted in cycles, not in time"
    assert required(analysis, "CPU samples share == 100%") == "passed"


def test_exit_codes() -> None:
    assert choose_exit_code([]) == choose_exit_code(["passed", "passed"]) == 0
    assert choose_exit_code(["passed", "not measurable"]) == 5
    assert choose_exit_code(["not measurable", "failed", "passed"]) == 1


@pytest.mark.integration
def test_ten_thousand_requirements_evaluate_each_metric_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = []
    original = MetricEvaluator._evaluate_per_window

    def count(self: MetricEvaluator, *arguments: Any) -> MetricValue:
        evaluated.append(arguments)
        return original(self, *arguments)

    monkeypatch.setattr(MetricEvaluator, "_evaluate_per_window", count)
    analysis = recorded(LENGTHS)
    results = check(analysis, [parse_requirement(f"p90 <= {limit}ms") for limit in range(10_000)])
    # Of ten calls, the order statistics bound the p90 from below, by 12 ms, and not from above.
    assert [result.outcome for result in results] == ["failed"] * 12 + ["open"] * 9988
    assert len(evaluated) == 1


@pytest.mark.integration
@given(st.lists(st.integers(5, 60), min_size=1, max_size=15), st.integers(5, 60))
def test_a_requirement_and_its_opposite_never_both_hold(lengths: list[int], limit: int) -> None:
    analysis = recorded([float(length) for length in lengths])
    assert {required(analysis, f"p90 <= {limit}ms"), required(analysis, f"p90 > {limit}ms")} == {
        "passed",
        "failed",
    }
    assert required(analysis, f"p90 <= {limit}ms") == forbidden(analysis, f"p90 > {limit}ms")


def test_work_that_mpsgraph_may_have_passed_on_is_no_evidence_against_the_neural_engine() -> None:
    """Without the Neural Engine's own rows, MPSGraph's count for the GPU, but may stand for both."""
    trace = trace_of([(1.0, "main", None)])
    passed_on = analyze(with_evidence(trace, [mps(1, 8)]), windows=[manual(0, 10)])
    assert required(passed_on, "ANE share >= 80%") == "not measurable"
    assert required(passed_on, "ANE used share >= 80%") == "not measurable"
    assert required(passed_on, "GPU share >= 80%") == "passed"
    on_the_gpu = analyze(with_evidence(trace, [gpu(1, 8)]), windows=[manual(0, 10)])
    assert required(on_the_gpu, "ANE share >= 80%") == "failed"
