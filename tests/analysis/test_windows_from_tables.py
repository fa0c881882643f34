"""Windows that tables give, which thread each belongs to, and which source goes first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evidence_support import (
    OTHER_APP,
    Interval,
    Signpost,
    ane,
    codes,
    core_ai,
    edges,
    foundation,
    known,
    manual,
    prediction,
    with_evidence,
)
from trace_support import ANE, BNNS, CALL, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.errors import UsageError
from tracekit.model.trace import Trace

QUIET: list[Sample] = [(0, "a", UI), (60, "a", UI)]
OP0, OP1 = "Net_main__Op0_AneInference", "Net_main__Op1_AneInference"


def trace_with(
    *rows: Interval, samples: list[Sample] = QUIET, signposts: list[Signpost] | None = None
) -> Trace:
    return with_evidence(trace_of(samples), rows, signposts or [])


def sources(analysis: Analysis) -> list[str]:
    return analysis.window_rows["source"].astype("str").tolist()


def calls(thread: str, start: int, end: int) -> list[Sample]:
    """A thread in a prediction call at every ms, and out of it before and after."""
    inside: list[Sample] = [(time, thread, CALL) for time in range(start, end)]
    return [(start - 1, thread, UI), *inside, (end, thread, UI)]


# Core ML ----------------------------------------------------------------------------------------------------


def test_core_ml() -> None:
    analysis = analyze(trace_with(prediction(20, 25), prediction(10, 14.5), prediction(30, 33, "Other")))
    rows = analysis.window_rows[["label", "model", "source", "basis", "pid", "first"]]
    assert edges(analysis) == [(10, 14.5), (20, 25), (30, 33)]
    assert rows.astype(object).to_numpy().tolist() == [
        ["Net", "Net", "coreml-os-signpost", "measured", 7, True],
        ["Net", "Net", "coreml-os-signpost", "measured", 7, False],
        ["Other", "Other", "coreml-os-signpost", "measured", 7, True],
    ]


def test_sub_models_of_a_pipeline_are_no_windows() -> None:
    rows = [
        prediction(10, 20, "Pipe"),
        prediction(11, 14, "Part", depth=1),
        prediction(15, 19, "Part", depth=1),
    ]
    assert edges(analyze(trace_with(*rows))) == [(10, 20)]


def test_a_prediction_without_a_name_or_a_length() -> None:
    analysis = analyze(trace_with(prediction(10, 20, ""), prediction(30, 30), prediction(45, 40)))
    assert edges(analysis) == [(10, 20)]
    assert analysis.window_rows["label"].tolist() == ["Prediction"]
    assert codes(analysis)["predictions-without-length"] == 2
    assert analysis.window_rows["model"].tolist() == [""]


def test_the_first_of_each_process() -> None:
    rows = [
        prediction(10, 11),
        prediction(20, 21, pid=OTHER_APP),
        prediction(30, 31),
        prediction(40, 41, pid=-1),
    ]
    analysis = analyze(trace_with(*rows))
    assert analysis.window_rows["pid"].tolist() == [7, OTHER_APP, 7, 7]
    assert analysis.window_rows["first"].tolist() == [True, True, False, False]


def test_foundation_models() -> None:
    analysis = analyze(trace_with(foundation(10, 20, "turn 1", "base"), foundation(30, 50, "turn 2", "base")))
    assert edges(analysis) == [(10, 20), (30, 50)]
    assert analysis.window_rows["label"].tolist() == ["turn 1", "turn 2"]
    assert analysis.window_rows["model"].tolist() == ["base", "base"]
    assert set(sources(analysis)) == {"ModelInferenceTable"}


def test_core_ai() -> None:
    rows = [
        core_ai(1, 5, "Specialization"),
        core_ai(5, 7, "Load"),
        core_ai(10, 20),
        core_ai(12, 18, depth=1),
        core_ai(30, 40, function="decode"),
    ]
    analysis = analyze(trace_with(*rows))
    assert edges(analysis) == [(10, 20), (30, 40)]
    assert analysis.window_rows["label"].tolist() == ["Scene::main", "Scene::decode"]
    assert analysis.window_rows["model"].tolist() == ["Scene", "Scene"]
    assert set(sources(analysis)) == {"ODIEProfile"}
    assert edges(analyze(trace_with(*rows), windows="coreai")) == [(10, 20), (30, 40)]


def test_an_inference_without_a_length() -> None:
    analysis = analyze(trace_with(core_ai(10, 20), core_ai(30, 30), core_ai(31, 31, "Load")))
    assert edges(analysis) == [(10, 20)]
    assert codes(analysis)["predictions-without-length"] == 1
    (text,) = [issue.message for issue in analysis.issues if issue.code == "predictions-without-length"]
    assert text == "1 prediction of ODIEProfile has no length and is left out."


def test_both_runtimes_at_once() -> None:
    """A call that Core ML passes to Core AI's runtime is one window."""
    rows = [prediction(10, 20), core_ai(30, 40), core_ai(11, 19, model="Net"), core_ai(15, 25, model="Net")]
    analysis = analyze(trace_with(*rows))
    assert edges(analysis) == [(10, 20), (15, 25), (30, 40)]
    assert edges(analyze(trace_with(*rows), windows="coreml")) == [(10, 20)]
    assert len(analyze(trace_with(*rows), windows="coreai").window_rows) == 3


# ANE --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([ane(10, 12), ane(20, 22)], [(10, 12), (20, 22)]),
        ([ane(10, 12, OP0), ane(13, 15, OP1), ane(20, 22, OP0), ane(23, 26, OP1)], [(10, 15), (20, 26)]),
        # Rows need no order, and the same row twice is one.
        ([ane(13, 15, OP1), ane(20, 22, OP0), ane(10, 12, OP0), ane(10, 12, OP0)], [(10, 15), (20, 22)]),
        ([ane(10, 12), ane(10, 12, internal=True)], [(10, 12)]),
        # A segment that outlasts the one after it.
        ([ane(10, 19, OP0), ane(13, 15, OP1), ane(20, 22, OP0)], [(10, 19), (20, 22)]),
        # Models take their rounds apart.
        (
            [ane(10, 12, OP0), ane(11, 13, "Other_main__Op0_AneInference"), ane(14, 15, OP1)],
            [(10, 15), (11, 13)],
        ),
        # Compile, load and nested rows are no predictions.
        (
            [ane(1, 9, "Net_0123456789 Neural Engine Load"), ane(10, 12), ane(11, 12, OP1, depth=1)],
            [(10, 12)],
        ),
        ([ane(10, 12), ane(15, 15), ane(18, 17)], [(10, 12)]),
        ([ane(10, 12, "a"), ane(20, 22, "b"), ane(30, 32, "a")], [(10, 22), (30, 32)]),
    ],
)
def test_ane_rounds(rows: list[Interval], expected: list[tuple[float, float]]) -> None:
    analysis = analyze(trace_with(*rows))
    assert edges(analysis) == expected
    assert analysis.window_rows["basis"].unique().tolist() == ["measured"]
    assert codes(analysis)["windows-from-ane"] == 1


def test_ane_rounds_of_other_processes_are_no_windows() -> None:
    rows = [prediction(40, 50), ane(10, 12, "Photos_main__Op0_AneInference"), ane(41, 43)]
    assert edges(analyze(trace_with(*rows), windows="ane")) == [(41, 43)]


def test_what_ane_windows_leave_out_is_reported() -> None:
    samples: list[Sample] = [
        (9, "a", UI),
        (10, "a", CALL),
        (11, "a", BNNS),
        (12, "a", BNNS),
        (13, "a", ANE),
        (15, "a", UI),
    ]
    analysis = analyze(trace_with(ane(13, 14), samples=samples))
    assert edges(analysis) == [(13, 14)]
    assert codes(analysis)["inference-outside-windows"] == 2


# Which source -----------------------------------------------------------------------------------------------


def test_the_best_source_goes_first() -> None:
    samples = calls("a", 40, 43)
    analyses = []
    rows = [prediction(10, 20), foundation(12, 20, "turn", "base"), ane(11, 15)]
    for left in range(4):
        analysis = analyze(trace_with(*rows[left:], samples=samples))
        analyses.append((sources(analysis)[0], edges(analysis)))
    assert analyses == [
        ("coreml-os-signpost", [(10, 20), (40, 43)]),
        ("ModelInferenceTable", [(12, 20), (40, 43)]),
        ("ane-hw-intervals", [(11, 15), (40, 43)]),
        ("stacks", [(40, 43)]),
    ]


def test_any_source_can_be_requested() -> None:
    trace = trace_with(
        prediction(10, 20), foundation(12, 20, "turn", "b"), ane(11, 15), samples=calls("a", 40, 43)
    )
    verdicts = {
        source: edges(analyze(trace, windows=source))
        for source in ("coreml", "foundation-models", "ane", "stacks")
    }  # type: ignore[arg-type]
    assert verdicts == {
        "coreml": [(10, 20)],
        "foundation-models": [(12, 20)],
        "ane": [(11, 15)],
        "stacks": [(40, 43)],
    }
    assert edges(analyze(trace, windows="run")) == [(39, 44)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "coreml",
            "literal has no row of a prediction in coreml-os-signpost, so --windows coreml finds nothing.",
        ),
        ("coreai", "literal has no row of an inference in ODIEProfile, so --windows coreai finds nothing"),
        ("foundation-models", "literal has no row in ModelInferenceTable, so --windows foundation-models"),
        (
            "ane",
            "literal has no interval of an inference in ane-hw-intervals, so --windows ane finds nothing.",
        ),
    ],
)
def test_a_source_that_is_not_there(source: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        analyze(trace_with(ane(1, 9, "Net_0123456789 Neural Engine Load")), windows=source)  # type: ignore[arg-type]


def test_calls_that_no_measured_window_touches_are_windows_too() -> None:
    samples = [*calls("a", 10, 13), *calls("a", 20, 24)]
    analysis = analyze(trace_with(prediction(9.5, 13.5), samples=samples))
    assert list(zip(edges(analysis), sources(analysis), strict=True)) == [
        ((9.5, 13.5), "coreml-os-signpost"),
        ((20, 24), "stacks"),
    ]
    assert codes(analysis) == {"windows-from-stacks-too": 1}
    assert codes(analyze(trace_with(prediction(9.5, 13.5), samples=samples), windows="coreml")) == {
        "calls-outside-windows": 1
    }


# Threads ----------------------------------------------------------------------------------------------------


def owners(samples: list[Sample], *rows: Interval) -> list[str]:
    trace = trace_with(*rows, samples=samples)
    analysis = analyze(trace, windows="coreml")
    names = [*trace.threads["name"].tolist(), "no thread"]
    return [names[row] for row in analysis.window_rows["thread_id"].tolist()]


def test_a_window_gets_the_thread_whose_calls_it_holds() -> None:
    row = prediction(10, 20)
    assert owners(calls("a", 10, 20), row) == ["a"]
    assert owners([*calls("a", 10, 20), *calls("b", 14, 16)], row) == ["a"]
    # Two that cover it alike, or none that covers half of it.
    assert owners([*calls("a", 10, 20), *calls("b", 10, 20)], row) == ["no thread"]
    assert owners([*calls("a", 10, 20), *calls("b", 11, 20)], row) == ["no thread"]
    assert owners([*calls("a", 10, 20), *calls("b", 12, 20)], row) == ["no thread"]
    assert owners([*calls("a", 10, 20), *calls("b", 13, 20)], row) == ["a"]
    assert owners(calls("a", 10, 14), row) == ["no thread"]
    assert owners(calls("a", 10, 15), row) == ["a"]
    assert owners([(10, "a", BNNS), (18, "a", BNNS), (21, "a", UI)], row) == ["a"]
    assert owners([(12, "a", UI)], row) == ["no thread"]


def test_a_window_gets_no_thread_of_another_process() -> None:
    trace = trace_with(prediction(10, 20, pid=OTHER_APP), samples=calls("a", 10, 20))
    assert analyze(trace, windows="coreml").window_rows["thread_id"].tolist() == [-1]


def test_concurrent_predictions_each_get_their_own_samples() -> None:
    a: list[Sample] = [(9, "a", UI), *[(time, "a", ANE) for time in range(10, 16)], (16, "a", UI)]
    b: list[Sample] = [(12, "b", UI), *[(time, "b", BNNS) for time in range(13, 21)], (21, "b", UI)]
    analysis = analyze(trace_with(prediction(10, 16, "A"), prediction(13, 21, "B"), samples=[*a, *b]))
    assert analysis.window_rows["model"].tolist() == ["A", "B"]
    assert [known(analysis, "sampled_ns", window) for window in (0, 1)] == [
        {"ANE dispatch": 6},
        {"CPU execute": 8},
    ]
    assert analysis.verdicts.names == ["ANE", "CPU"]


def test_work_in_two_windows_without_a_thread_is_counted_in_none() -> None:
    samples: list[Sample] = [(12, "w", BNNS), (30, "w", UI)]
    analysis = analyze(trace_with(prediction(10, 20, "A"), prediction(11, 20, "B"), samples=samples))
    assert analysis.verdicts.names == ["UNKNOWN", "UNKNOWN"]
    assert known(analysis, "sampled_ns", -1) == {"CPU execute": 1, "OTHER": 1}
    assert codes(analysis)["worker-samples-shared"] == 1


def test_a_selected_thread_keeps_its_windows_only() -> None:
    samples = [*calls("a", 10, 20), *calls("b", 30, 40)]
    trace = trace_with(prediction(10, 20), prediction(30, 40), prediction(50, 55), samples=samples)
    assert edges(analyze(trace, thread="b", windows="coreml")) == [(30, 40)]
    assert edges(analyze(trace, thread="b", windows=[manual(0, 5)])) == [(0, 5)]
    assert edges(analyze(trace, windows="coreml")) == [(10, 20), (30, 40), (50, 55)]


def test_a_selected_process_keeps_its_windows_only() -> None:
    rows = [prediction(10, 20), prediction(30, 40, pid=OTHER_APP)]
    trace = with_evidence(trace_of([(1, "a", UI), (2, "b", UI)], processes={"b": OTHER_APP}), rows)
    assert edges(analyze(trace, process=OTHER_APP)) == [(30, 40)]
    assert edges(analyze(trace, process=7)) == [(10, 20)]


# Signposts --------------------------------------------------------------------------------------------------

MARKS = [
    Signpost(10, 20, "com.app/Inference/encode"),
    Signpost(20, 24, "com.app/Inference/decode"),
    Signpost(26, 27, "com.app/Draw/encode", tid=9),
    Signpost(30, 31, "com.other/Inference/Encode", pid=OTHER_APP),
    Signpost(40, 41, "com.app/Inference/open", kind="begin"),
    Signpost(45, 45, "com.app/Inference/empty"),
    Signpost(46, 46, "com.app/Inference/event", kind="event"),
]


def matched(*patterns: str) -> list[tuple[float, float]]:
    return edges(analyze(trace_with(signposts=MARKS), signposts=patterns))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("com.app/Inference/encode", [(10, 20)]),
        ("Inference/encode", [(10, 20)]),
        ("encode", [(10, 20), (26, 27)]),
        ("Encode", [(30, 31)]),
        ("*ncode", [(10, 20), (26, 27), (30, 31)]),
        ("[eE]ncode", [(10, 20), (26, 27), (30, 31)]),
        ("Inference/*", [(10, 20), (20, 24), (30, 31)]),
        ("com.app/*/*", [(10, 20), (20, 24), (26, 27)]),
        ("com.app/*", [(10, 20), (20, 24), (26, 27)]),
        ("com.app/Inference", [(10, 20), (20, 24)]),
        ("com?app/Inf*/?ncode", [(10, 20)]),
    ],
)
def test_signpost_patterns(pattern: str, expected: list[tuple[float, float]]) -> None:
    assert matched(pattern) == expected


def test_several_patterns_choose_once_each() -> None:
    assert matched("encode", "com.app/Inference/*") == [(10, 20), (20, 24), (26, 27)]


@pytest.mark.parametrize("pattern", ["decod", "com.app/encode", "open", "empty", "event"])
def test_a_pattern_that_names_nothing_lists_what_there_is(pattern: str) -> None:
    with pytest.raises(UsageError) as error:
        matched("encode", pattern)
    text = str(error.value)
    ends = " 1 event of it lacks the other end in this recording." if pattern == "open" else ""
    start = f"literal has no signpost interval '{pattern}' (subsystem/category/name).{ends} It has "
    assert text.startswith(start)
    assert "com.app/Inference/encode (1)" in text
    assert "com.app/Draw/encode (1)" in text
    assert "open" not in text.partition(" It has ")[2]


def test_a_long_list_is_cut() -> None:
    marks = [Signpost(index, index + 1, f"s/c/n{index}") for index in range(15)]
    with pytest.raises(UsageError, match="and 3 more"):
        analyze(trace_with(signposts=marks), signposts=["q"])


def test_patterns_that_are_none() -> None:
    for pattern in ("", "a/b/c/d", "a//b", "/"):
        with pytest.raises(UsageError, match="is not a valid signpost pattern"):
            matched(pattern)
    with pytest.raises(UsageError, match="literal has no signpost intervals, so 'x' matches none"):
        analyze(trace_with(), signposts=["x"])


def test_a_signpost_window() -> None:
    analysis = analyze(trace_with(signposts=MARKS), signposts=["com.app/*/*"])
    rows = analysis.window_rows[["label", "source", "basis", "pid", "thread_id", "model", "first"]]
    assert rows.astype(object).to_numpy().tolist() == [
        ["encode", "signpost", "measured", 7, 0, "", True],
        ["decode", "signpost", "measured", 7, 0, "", True],
        ["encode", "signpost", "measured", 7, -1, "", False],
    ]


def test_the_text_of_a_message_stays_out() -> None:
    analysis = analyze(trace_with(signposts=MARKS), signposts=["encode"])
    assert "what a user said" not in f"{analysis.window_rows.to_string()} {analysis.summary}"


def test_nested_signposts_both_count() -> None:
    samples: list[Sample] = [(11, "a", BNNS), (14, "a", BNNS), (30, "a", UI)]
    marks = [Signpost(10, 20, "s/c/outer"), Signpost(13, 16, "s/c/inner")]
    trace = trace_with(ane(11, 12), ane(13, 15), ane(15.5, 18), samples=samples, signposts=marks)
    analysis = analyze(trace, signposts=["s/c/*"])
    assert [known(analysis, "sampled_ns", window) for window in (0, 1)] == [
        {"CPU execute": 2, "ANE execute": 0},
        {"CPU execute": 1, "ANE execute": 0},
    ]
    # The last row begins in the inner interval, and most of it is work of the outer one.
    assert [known(analysis, "busy_ns", window)["ANE execute"] for window in (0, 1)] == [5.5, 2]
    assert analysis.times["contested_ns"].tolist() == [0, 0]


def test_a_signpost_without_a_thread_gets_the_callers() -> None:
    trace = trace_with(samples=calls("a", 10, 20), signposts=[Signpost(10, 20, "s/c/n", tid=-1)])
    assert analyze(trace, signposts=["n"]).window_rows["thread_id"].tolist() == [0]


def test_signposts_go_before_any_other_source() -> None:
    trace = trace_with(prediction(10, 20), signposts=MARKS)
    assert sources(analyze(trace, signposts=["decode"])) == ["signpost"]
    assert sources(analyze(trace)) == ["coreml-os-signpost"]


# The rest ---------------------------------------------------------------------------------------------------


def test_the_run_is_as_long_as_its_rows_where_there_is_no_sample() -> None:
    trace = with_evidence(trace_of([]), [ane(5, 8)], [Signpost(1, 90, "s/c/n")])
    assert edges(analyze(trace, windows="run")) == [(0, 90)]
    assert edges(analyze(trace_of([]), windows="run")) == [(0, 1 / MS)]


def test_the_runs_duration_goes_before_its_rows() -> None:
    trace = trace_with(ane(5, 8))
    trace = replace(trace, info=replace(trace.info, duration_ns=100 * MS))
    assert edges(analyze(trace, windows="run")) == [(0, 100)]
