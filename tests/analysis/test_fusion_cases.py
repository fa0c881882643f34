"""Cases in which the fusion of tables and stacks could claim too much, lose something, or mix things up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from evidence_support import (
    OTHER_APP,
    Interval,
    Signpost,
    State,
    ane,
    codes,
    core_ml,
    drawing,
    edges,
    gpu,
    known,
    manual,
    prediction,
    times,
    with_evidence,
)
from trace_support import ANE, BNNS, CALL, E5_WORKER, MS, UI, Sample, trace_of
from verdict_support import verdicts_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.errors import UsageError
from tracekit.model.vocabulary import Basis
from tracekit.report.analysis.json import to_dict

QUIET: list[Sample] = [(0, "a", UI), (60, "a", UI)]
COMPILE = "Net_0123456789 Neural Engine Compile"


def label(model: str, segment: int = 0) -> str:
    return f"{model}_main__Op{segment}_AneInference"


def run(rows: list[Interval], samples: list[Sample] | None = None, **options: Any) -> Analysis:
    return analyze(with_evidence(trace_of(QUIET if samples is None else samples), rows), **options)


def by_model(analysis: Analysis, what: str = "busy_ns") -> dict[str, dict[str, float]]:
    return {
        model: known(analysis, what, window) for window, model in enumerate(analysis.window_rows["model"])
    }


# Models keep apart ------------------------------------------------------------------------------------------


def test_a_model_that_never_was_on_the_ane_has_nothing_of_another_models_work() -> None:
    rows = [prediction(10, 20, "M"), prediction(10, 20, "N"), ane(12, 16, label("N"))]
    assert by_model(run(rows)) == {"M": {"ANE execute": 0}, "N": {"ANE execute": 4}}


def test_core_mls_rows_count_for_the_model_that_they_name() -> None:
    both = [prediction(10, 20, "M"), prediction(10, 20, "N")]
    on_cpu = by_model(run([*both, core_ml(11, 19, "CPU", "N")]))
    assert on_cpu["N"] == {"CPU execute": 8}
    assert on_cpu["M"].get("CPU execute", 0) == 0
    for request, key in [("GPU Request", "GPU wait"), ("Neural Engine Request", "ANE wait")]:
        waiting = by_model(run([*both, core_ml(11, 19, request, "N")]), "waiting_ns")
        assert waiting == {"M": {}, "N": {key: 8}}


def test_requests_of_a_sub_model_are_the_windows() -> None:
    analysis = run([prediction(10, 20, "Pipe"), core_ml(12, 16, "Neural Engine Request", "Sub", depth=1)])
    assert analysis.verdicts.names[0] == "ANE"
    assert known(analysis, "waiting_ns") == {"ANE wait": 4}


def test_a_sub_model_that_only_a_request_names_is_the_targets() -> None:
    request = core_ml(12, 16, "Neural Engine Request", "Sub", depth=1)
    rows = [prediction(10, 20, "Pipe"), request, ane(12, 16, label("Sub")), ane(17, 18, label("Pipe"))]
    analysis = run(rows)
    assert "ane-work-of-others" not in codes(analysis)
    assert known(analysis, "busy_ns") == {"ANE execute": 5}


def test_ane_windows_of_two_models_count_their_own_intervals() -> None:
    analysis = run([ane(10, 12, label("A")), ane(18, 20, label("A", 1)), ane(13, 17, label("B"))])
    assert by_model(analysis) == {"A": {"ANE execute": 4}, "B": {"ANE execute": 4}}


def test_an_ml_row_inside_an_unmarked_row_of_the_gpu_counts() -> None:
    analysis = run([drawing(10, 20), gpu(11, 15, depth=1)], windows=[manual(10, 20)])
    assert known(analysis, "busy_ns").get("GPU execute") == 4


# Whose the Neural Engine's work is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "counts"),
    [
        ([(time, "a", BNNS) for time in range(30)], False),  # it ran on the CPU, and no stack shows the ANE
        ([*[(time, "a", BNNS) for time in range(30)], (31, "a", ANE)], True),
        ([(time, "a", BNNS) for time in range(10)], True),  # too few to tell
        (
            [(time, "a", CALL) for time in range(200)],
            True,
        ),  # Core ML, no engine in sight: it may wait for the ANE
        ([(time, "a", UI) for time in range(200)], False),
        ([(time, "a", UI) for time in range(50)], True),
        ([(time, "a", None) for time in range(200)], True),  # no stacks, no word
    ],
)
def test_stacks_may_contradict_ane_work_for_the_target(samples: list[Sample], counts: bool) -> None:
    rows = [ane(2, 6, label("Somebodys"))]
    analysis = run(rows, samples, windows=[manual(0, 10)])
    assert known(analysis, "busy_ns").get("ANE execute") == (4 if counts else 0)
    assert ("ane-work-unclaimed" in codes(analysis)) is not counts
    assert times(analysis)["foreign_ns"] == (0 if counts else 4)
    sources = set(run(rows, samples).window_rows["source"])
    assert ("ane-hw-intervals" in sources) is counts
    assert set(run(rows, samples, windows="ane").window_rows["source"]) == {"ane-hw-intervals"}


# Windows ----------------------------------------------------------------------------------------------------


def test_the_order_of_rows_does_not_change_ane_windows() -> None:
    earlier, later = ane(6, 7, label("N")), ane(6, 7, label("N", 1))
    first, last = ane(0, 5, label("N")), ane(8, 9, label("N", 1))
    assert edges(run([first, earlier, later, last])) == edges(run([first, later, earlier, last]))


def test_a_hole_of_seconds_is_inside_no_inference() -> None:
    rows = [ane(0, 1, label("N")), ane(10_000, 10_001, label("N", 1))]
    assert edges(run(rows)) == [(0, 1), (10_000, 10_001)]


def test_a_call_of_another_process_is_not_lost() -> None:
    trace = trace_of([(2, "a", ANE), (3, "b", BNNS), (4, "b", BNNS)], processes={"b": 9})
    trace = with_evidence(replace(trace, info=replace(trace.info, pid=7)), [prediction(0, 10)])
    assert sorted(analyze(trace).window_rows["pid"]) == [7, 9]


def test_a_call_of_another_thread_is_not_lost() -> None:
    samples: list[Sample] = [(time, "a", ANE) for time in range(10)] + [
        (time, "b", BNNS) for time in range(4, 8)
    ]
    analysis = run([prediction(0, 10)], samples)
    verdicts_by_source = (
        analysis.window_rows["source"].tolist(),
        analysis.verdicts.names,
    )
    assert verdicts_by_source == (["coreml-os-signpost", "stacks"], ["ANE", "CPU"])


@pytest.mark.parametrize("samples", [[], [(5, "a", ANE)]])
def test_a_window_that_ends_before_it_starts_is_refused(samples: list[Sample]) -> None:
    with pytest.raises(UsageError, match="ends before it starts"):
        run([ane(0, 20)], samples, windows=[manual(10, 4)])


def test_an_unknown_source_of_windows_is_refused() -> None:
    with pytest.raises(UsageError, match="not a source of windows"):
        run([], windows="signposts")


def test_a_window_where_only_a_table_has_rows_is_not_outside() -> None:
    assert "window-outside" not in codes(run([ane(2, 6)], [(50, "a", UI)], windows=[manual(0, 10)]))


@pytest.mark.parametrize("name", ["s/c/[x]", "s//encode", "//encode"])
def test_a_signpost_from_the_list_can_be_typed_back(name: str) -> None:
    """Brackets in a name are no glob, and parts may be empty."""
    marks = [Signpost(0, 1, name), Signpost(2, 3, "s/c/x")]
    trace = with_evidence(trace_of(QUIET), signposts=marks)
    assert edges(analyze(trace, signposts=[name])) == [(0, 1)]


@pytest.mark.parametrize(
    ("samples", "options"),
    [
        ([(1, "w", E5_WORKER), (9, "w", E5_WORKER)], {"thread": "w"}),
        ([(1, "a", ANE), (9, "a", UI)], {"windows": []}),
    ],
)
def test_nothing_is_lost_without_a_window(samples: list[Sample], options: dict[str, Any]) -> None:
    analysis = analyze(trace_of(samples), **options)
    assert (len(analysis.window_rows), analysis.totals["samples"].sum()) == (0, 2)


def test_a_selected_thread_has_no_window_of_an_unknown_thread() -> None:
    samples: list[Sample] = [(1, "a", ANE), (1, "b", ANE), (9, "a", ANE), (9, "b", ANE)]
    analysis = run([prediction(0, 100)], samples, thread="a")
    assert (len(analysis.window_rows), analysis.totals["samples"].sum()) == (0, 2)


# Diagnostics ------------------------------------------------------------------------------------------------


def test_a_blocked_thread_is_no_request_that_core_ml_reported() -> None:
    trace = with_evidence(trace_of([(4, "a", ANE), (12, "a", UI)]), states=[State(5, 8, "Blocked")])
    second = verdicts_of(analyze(trace, windows=[manual(0, 5), manual(5, 10)]))[1]
    assert (second.verdict, "Core ML" in second.sentence) == ("UNKNOWN", False)


def test_a_request_alone_is_a_reason() -> None:
    (verdict,) = verdicts_of(run([core_ml(11, 15, "Neural Engine Request")], windows=[manual(10, 20)]))
    assert (verdict.verdict, verdict.sentence) == (
        "ANE",
        "submitted work to the ANE (a request that Core ML reported)",
    )
    assert verdict.why == "requests to the ANE took 4.0 ms (Core ML)"


def test_compiling_is_not_idle_and_is_reported() -> None:
    analysis = run([ane(11, 19, COMPILE)], windows=[manual(10, 20)])
    assert times(analysis)["idle_ns"] == 2
    why = "8.0 ms of compile and load were measured here, but no inference on an engine"
    assert (analysis.verdicts.names, verdicts_of(analysis)[0].why) == (["UNKNOWN"], why)
    assert analysis.headline.startswith("A model was compiled or loaded (measured)")


def test_the_cpu_may_work_where_core_ml_reports_none_of_it() -> None:
    samples: list[Sample] = [(1, "a", BNNS), (21, "a", BNNS), (22, "a", BNNS)]
    rows = [prediction(0, 10), core_ml(1, 3, "CPU"), prediction(20, 30)]
    windows = to_dict(run(rows, samples))["windows"]
    assert [window["engines"]["CPU"]["busy_ns"] for window in windows] == [2 * MS, None]


def test_choosing_the_process_does_not_change_what_the_gpu_did_for_it() -> None:
    rows = [gpu(1, 5, OTHER_APP)]
    every, chosen = (run(rows, windows=[manual(0, 10)], process=process) for process in (None, 7))
    assert to_dict(every)["windows"] == to_dict(chosen)["windows"]
    assert every.evidence == chosen.evidence


def test_waiting_that_two_calls_share_makes_no_segment() -> None:
    calls: list[Sample] = [(time, name, CALL) for name in "ab" for time in range(5)]
    ends: list[Sample] = [(5, "a", UI), (5, "b", UI), (1, "w", E5_WORKER), (4, "w", E5_WORKER)]
    analysis = analyze(trace_of([*calls, *ends]))
    assert [known(analysis, "waiting_ns", window) for window in (0, 1)] == [{}, {}]
    assert len(analysis.segments) == 0


def test_an_engine_that_only_a_call_before_waited_for_is_not_in_the_order() -> None:
    samples: list[Sample] = [(4, "a", ANE), (10, "a", BNNS), (11, "a", UI)]
    (verdict,) = verdicts_of(analyze(trace_of(samples), windows=[manual(6, 12)]))
    assert (verdict.verdict, verdict.order) == ("CPU", ("CPU",))


def test_the_engine_that_had_most_of_the_window_leads() -> None:
    samples: list[Sample] = [(float(time), "a", BNNS) for time in range(2, 52)]
    (verdict,) = verdicts_of(run([prediction(0, 60, "M"), ane(0.1, 0.3, label("M"))], samples))
    assert (
        verdict.sentence == "ran on the CPU (50 samples) with work on the ANE at the start (measured, 0.2 ms)"
    )


def test_two_places_are_no_end() -> None:
    samples: list[Sample] = [(2, "a", BNNS), (8, "a", BNNS), (20, "a", UI)]
    (verdict,) = verdicts_of(run([ane(0, 2), ane(4, 7)], samples, windows=[manual(0, 10)]))
    assert "with a CPU fallback in 2 places (" in verdict.sentence


def test_engines_at_once_are_not_in_turn() -> None:
    (verdict,) = verdicts_of(run([ane(10, 20), gpu(12, 14)], windows=[manual(10, 20)]))
    assert "with work on the GPU at the same time (" in verdict.sentence
    assert "ANE 10.0 ms ∥ GPU 2.0 ms" in verdict.why


# Sums -------------------------------------------------------------------------------------------------------


def test_windows_of_another_process_and_the_rest_are_the_whole() -> None:
    trace = with_evidence(trace_of(QUIET), [gpu(0, 10, pid=9), gpu(0, 4)], [Signpost(0, 20, "s/c/n", pid=9)])
    analysis = analyze(trace, signposts=["n"])
    assert analysis.attribution_rows["busy_ns"].sum() == analysis.totals["busy_ns"].sum()


def test_a_given_window_of_one_thread_counts_its_waiting_only() -> None:
    trace = trace_of([(0, "a", UI), (0, "b", ANE), (9, "b", UI)])
    windows = [Window(0, 10 * MS, "w", "manual", Basis.GIVEN, thread) for thread in (0, 1)]
    analysis = analyze(trace, windows=windows)
    assert [known(analysis, "waiting_ns", window) for window in (0, 1)] == [{}, {"ANE wait": 8}]


@pytest.mark.parametrize("tids", [[20, 30], [20, 10]])
def test_thread_states_find_their_thread_whatever_its_number(tids: list[int]) -> None:
    samples: list[Sample] = [(0, "a", ANE), (0, "b", UI), (1, "b", UI), (20, "a", ANE), (20, "b", UI)]
    trace = with_evidence(trace_of(samples), states=[State(1, 19, "Blocked", tid=20)])
    trace = replace(trace, threads=trace.threads.assign(tid=tids))
    analysis = analyze(trace, windows=[manual(0, 30)])
    assert known(analysis, "waiting_ns") == {"ANE wait": 18}
    assert analysis.attribution_rows["waiting_basis"].dropna().tolist() == ["measured"]
