"""Measured time: which rows count for a window, and for how much of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evidence_support import (
    APP,
    OTHER_APP,
    Interval,
    ane,
    codes,
    core_ai,
    core_ml,
    drawing,
    gpu,
    known,
    manual,
    mps,
    prediction,
    shares,
    times,
    with_evidence,
)
from trace_support import BNNS, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.analysis.engines.ownership import find_owner
from tracekit.model.vocabulary import Engine, Phase
from tracekit.report.analysis.json import to_dict

QUIET: list[Sample] = [(0, "a", UI), (25, "a", UI)]
OURS, THEIRS = "Net_main__Op0_AneInference", "Photos_main__Op0_AneInference"
COMPILE = "Net_0123456789ab Neural Engine Compile"
LOAD = "Net_0123456789ab Neural Engine Load"


def busy(*rows: Interval, window: tuple[float, float] = (10, 20)) -> dict[str, float]:
    trace = with_evidence(trace_of(QUIET), rows)
    return known(analyze(trace, windows=[manual(*window)]), "busy_ns")


def by_model(*rows: Interval) -> dict[str, float]:
    """Model of windows of Core ML or Core AI → the ANE's busy time in them."""
    analysis = analyze(with_evidence(trace_of(QUIET), rows))
    sums: dict[str, float] = {}
    for window, model in enumerate(analysis.window_rows["model"].tolist()):
        sums[model] = sums.get(model, 0) + known(analysis, "busy_ns", window)["ANE execute"]
    return sums


# How much of the rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([ane(12, 15)], 3),
        ([ane(5, 12)], 2),
        ([ane(18, 25)], 2),
        ([ane(5, 25)], 10),
        ([ane(12, 15), ane(12, 15)], 3),
        ([ane(12, 15), ane(14, 17)], 5),
        ([ane(12, 15), ane(15, 17)], 5),
        ([ane(12, 18), ane(13, 14, depth=1)], 6),
        ([ane(12, 15), ane(12, 15, internal=True)], 3),
        ([ane(0, 10), ane(20, 30)], 0),
        ([ane(12, 13), ane(16, 18, "another_main__Op3_AneInference")], 3),
    ],
)
def test_busy_is_the_union_cut_to_the_window(rows: list[Interval], expected: float) -> None:
    assert busy(*rows) == {"ANE execute": expected}


def test_a_nested_row_without_the_row_around_it_is_not_lost() -> None:
    assert busy(ane(12, 15, depth=1)) == {"ANE execute": 3}


def test_rows_without_length_measure_nothing() -> None:
    """A table without lengths of its intervals does not show that an engine was idle."""
    assert busy(ane(15, 15)) == {}


def test_windows_that_overlap_each_count_an_interval() -> None:
    trace = with_evidence(trace_of(QUIET), [ane(12, 18)])
    analysis = analyze(trace, windows=[manual(10, 16), manual(14, 30)])
    assert [known(analysis, "busy_ns", window) for window in (0, 1, -1)] == [
        {"ANE execute": 4},
        {"ANE execute": 4},
        {"ANE execute": 0},
    ]


# Phases -----------------------------------------------------------------------------------------------------


def test_load_and_compile_are_phases_of_their_own() -> None:
    rows = [ane(10, 13, COMPILE), ane(13, 14, LOAD), ane(15, 19, "Net_0123456789ab Neural Engine Prediction")]
    assert busy(*rows) == {"ANE execute": 4, "ANE compile": 3, "ANE load": 1}


def test_the_json_does_not_count_compile_as_busy() -> None:
    trace = with_evidence(trace_of(QUIET), [ane(10, 13, COMPILE), ane(15, 19)])
    (window,) = to_dict(analyze(trace, windows=[manual(10, 20)]))["windows"]
    numbers = window["engines"]["ANE"]
    assert numbers["busy_ns"] == 4 * MS
    assert numbers["phases"]["compile"]["busy_ns"] == 3 * MS
    assert window["times"]["preparing_ns"] == 3 * MS


def test_compile_and_load_do_not_add_up_where_they_overlap() -> None:
    trace = with_evidence(trace_of(QUIET), [ane(10, 15, COMPILE), ane(12, 16, LOAD), ane(16, 20)])
    actual = times(analyze(trace, windows=[manual(10, 20)]))
    assert (actual["preparing_ns"], actual["preparing_basis"], actual["busy_ns"]) == (6, "measured", 4)


def test_an_idle_row_is_no_work() -> None:
    parked = replace(ane(12, 15), phase=Phase.IDLE)
    assert busy(parked) == {"ANE execute": 0}


def test_what_mpsgraph_handed_to_the_ane_counts_once() -> None:
    """The parser gives the twin of an ANE row the engine ANE and no phase: it is no measurement of the GPU."""
    twin = replace(mps(12, 15), engine=Engine.ANE, phase=None)
    assert busy(ane(12, 15), twin) == {"ANE execute": 3}
    assert busy(ane(12, 15), twin, mps(30, 31)) == {"ANE execute": 3, "GPU execute": 0}


def test_core_mls_requests_are_no_work_of_the_engine() -> None:
    rows = [core_ml(10, 20, "Neural Engine Request"), core_ml(10, 20, "GPU Request")]
    assert busy(*rows) == {}
    assert busy(core_ml(12, 15, "CPU"), *rows) == {"CPU execute": 3}


def test_what_an_app_encodes_is_no_work_of_the_gpu() -> None:
    row = replace(gpu(12, 15), phase=Phase.DISPATCH, source="metal-application-intervals")
    assert busy(row) == {}


def test_gpu_work_without_an_ml_mark() -> None:
    assert busy(drawing(12, 15), gpu(16, 17)) == {"GRAPHICS": 3, "GPU execute": 1}


# Zero and missing -------------------------------------------------------------------------------------------


def test_zero_where_a_table_measured_and_missing_where_none_did() -> None:
    samples: list[Sample] = [(12, "a", BNNS)]
    window = [manual(10, 20)]
    assert shares(analyze(trace_of(samples), windows=window), "busy_ns") == {"CPU execute": None}
    trace = with_evidence(trace_of(samples), [ane(30, 40), gpu(30, 40)])
    actual = shares(analyze(trace, windows=window), "busy_ns")
    assert actual == {"ANE execute": 0, "GPU execute": 0, "CPU execute": None}


@pytest.mark.parametrize(
    ("row", "ane_busy", "gpu_busy"),
    [
        (ane(30, 40), 0, None),
        (ane(30, 40, COMPILE), 0, None),
        (gpu(30, 40), None, 0),
        (gpu(30, 40, pid=OTHER_APP), None, 0),
        (drawing(30, 40), None, None),  # nothing in it can show a model at work
        (mps(30, 40), None, 0),
        (prediction(30, 40), None, None),
        (core_ml(30, 40, "Neural Engine Request"), None, None),
    ],
)
def test_json_zero_and_null(row: Interval, ane_busy: int | None, gpu_busy: int | None) -> None:
    document = to_dict(analyze(with_evidence(trace_of(QUIET), [row]), windows=[manual(10, 20)]))
    engines = document["windows"][0]["engines"]
    assert (engines["ANE"]["busy_ns"], engines["GPU"]["busy_ns"]) == (ane_busy, gpu_busy)
    assert engines["CPU"]["busy_ns"] is None


# Whose work -------------------------------------------------------------------------------------------------


def test_gpu_rows_of_other_processes_are_left_out() -> None:
    assert busy(gpu(10, 18, pid=OTHER_APP), gpu(15, 17)) == {"GPU execute": 2}
    assert busy(drawing(10, 18, pid=OTHER_APP), gpu(15, 17)) == {"GPU execute": 2}


def test_mps_rows_without_a_process_are_the_targets() -> None:
    assert busy(mps(12, 15)) == {"GPU execute": 3}
    assert busy(mps(12, 15, pid=OTHER_APP)) == {"GPU execute": 0}
    assert busy(mps(12, 15), gpu(14, 16)) == {"GPU execute": 4}


def test_two_processes_of_one_name_are_distinguished_by_pid() -> None:
    trace = trace_of([(0, "a", BNNS), (9, "a", BNNS), (20, "b", BNNS)], processes={"b": OTHER_APP})
    trace = replace(trace, threads=trace.threads.assign(process="App"))
    trace = with_evidence(trace, [gpu(0, 1), gpu(20, 20.5, pid=OTHER_APP)])
    analysis = analyze(trace)
    pids = analysis.window_rows["pid"].tolist()
    assert [(pid, known(analysis, "busy_ns", window)) for window, pid in enumerate(pids)] == [
        (7, {"GPU execute": 1}),
        (7, {"GPU execute": 0}),
        (OTHER_APP, {"GPU execute": 0.5}),
    ]


def test_labels_of_other_models_are_left_out_and_counted() -> None:
    trace = with_evidence(trace_of(QUIET), [prediction(10, 20), ane(12, 15, OURS), ane(13, 19, THEIRS)])
    analysis = analyze(trace)
    assert known(analysis, "busy_ns") == {"ANE execute": 3}
    assert times(analysis)["foreign_ns"] == 6
    assert codes(analysis)["ane-work-of-others"] == 1
    (text,) = [issue.message for issue in analysis.issues if issue.code == "ane-work-of-others"]
    assert text.startswith("1 of 2 Neural Engine intervals (6.0 ms of inference) fit none")


def test_nothing_is_foreign_where_core_ml_names_no_model() -> None:
    for rows in ([], [prediction(10, 20, model="")]):
        trace = with_evidence(trace_of(QUIET), [*rows, ane(12, 15, OURS), ane(13, 19, THEIRS)])
        analysis = analyze(trace, windows=[manual(10, 20)])
        assert known(analysis, "busy_ns") == {"ANE execute": 7}
        assert times(analysis)["foreign_ns"] == 0
        assert codes(analysis) == {"ane-process-unknown": 2}


def test_nothing_is_foreign_where_no_label_fits() -> None:
    trace = with_evidence(trace_of(QUIET), [prediction(10, 20, "Resnet"), ane(12, 15), ane(13, 19, THEIRS)])
    analysis = analyze(trace, windows=[manual(10, 20)])
    assert known(analysis, "busy_ns") == {"ANE execute": 7}
    assert times(analysis)["foreign_ns"] == 0
    assert codes(analysis) == {"ane-labels-unmatched": 2}


def test_no_diagnostic_where_every_label_fits() -> None:
    trace = with_evidence(trace_of(QUIET), [prediction(10, 20), ane(12, 15)])
    assert codes(analyze(trace)) == {}


def test_a_models_window_counts_only_its_intervals() -> None:
    a, b = "A_main__Op0_AneInference", "B_main__Op0_AneInference"
    rows = [prediction(10, 20, "A"), prediction(10, 20, "B"), ane(11, 13, a), ane(13, 19, b)]
    assert by_model(*rows) == {"A": 2, "B": 6}


def test_a_pipelines_sub_models_are_the_targets_and_count_in_any_window() -> None:
    rows = [
        prediction(10, 20, "Pipe"),
        prediction(11, 15, "Part", depth=1),
        ane(12, 14, "Part_main__Op0_AneInference"),
        ane(16, 17, "Pipe_main__Op0_AneInference"),
    ]
    assert by_model(*rows) == {"Pipe": 3}
    assert codes(analyze(with_evidence(trace_of(QUIET), rows))) == {}


REGION = "main_ANE_region_0_0"


def test_core_ais_names_claim_rows_beside_core_mls() -> None:
    rows = [
        *(prediction(10, 20), core_ai(30, 40)),
        *(ane(12, 14), ane(31, 34, "Scene_main__Op1_AneInference Prediction"), ane(36, 39, THEIRS)),
    ]
    analysis = analyze(with_evidence(trace_of(QUIET), rows))
    assert by_model(*rows) == {"Net": 2, "Scene": 3}
    assert codes(analysis)["ane-work-of-others"] == 1
    (text,) = [issue.message for issue in analysis.issues if issue.code == "ane-work-of-others"]
    assert "fit none of this app's Core ML or Core AI models" in text


def test_a_functions_name_alone_needs_the_time_of_that_function() -> None:
    rows = [
        *(prediction(10, 20), core_ai(30, 40), ane(12, 14)),
        *(ane(31, 33, REGION), ane(41, 43, REGION), ane(34, 35, "decode_ANE_region_0_0")),
    ]
    assert by_model(*rows) == {"Net": 2, "Scene": 2}
    assert codes(analyze(with_evidence(trace_of(QUIET), rows)))["ane-work-of-others"] == 2


def test_a_function_of_two_models_is_of_the_one_at_work() -> None:
    rows = [core_ai(10, 20, model="A"), core_ai(30, 40, model="B"), core_ai(35, 50, model="A")]
    rows += [ane(11, 12, REGION), ane(31, 33, REGION), ane(36, 39, REGION)]
    # At 36 both models run their main: the row counts in neither call.
    assert by_model(*rows) == {"A": 1, "B": 2}
    analysis = analyze(with_evidence(trace_of(QUIET), rows))
    assert analysis.times["contested_ns"].tolist() == [0, 3 * MS, 3 * MS]
    assert codes(analysis)["intervals-contested"] == 1


@pytest.mark.parametrize(
    ("label", "code", "expected"),
    [
        # Core AI's regions fit, Core ML's table is empty: a label of the other kind cannot be checked.
        (REGION, {"ane-process-unknown": 1}, {"Scene": 2}),
        # No label fits at all: the names differ, and nothing is excluded.
        ("entry_0_ANE_region_0_0", {"ane-labels-unmatched": 2}, {"Scene": 2 + 4}),
    ],
)
def test_labels_of_two_compilers_are_compared_apart(
    label: str, code: dict[str, int], expected: dict[str, int]
) -> None:
    rows = [core_ai(30, 40), ane(31, 33, label), ane(35, 39, THEIRS)]
    analysis = analyze(with_evidence(trace_of(QUIET), rows))
    assert codes(analysis) == code
    assert by_model(*rows) == expected


def test_a_label_that_names_no_model_is_of_no_model_where_regions_name_theirs() -> None:
    rows = [core_ai(30, 40), ane(31, 33, REGION), ane(35, 39, "Neural Engine Prediction")]
    assert by_model(*rows) == {"Scene": 2}


def test_a_region_whose_function_is_called_like_a_part_of_a_pipeline() -> None:
    """It is the target's; the other label fits nothing of Core ML's, so the two name models differently."""
    rows = [
        *(prediction(10, 20, "Pipe"), prediction(11, 12, "main", depth=1), core_ai(30, 40)),
        *(ane(31, 33, REGION), ane(35, 39, "Neural Engine Prediction")),
    ]
    assert by_model(*rows) == {"Pipe": 0, "Scene": 2 + 4}
    assert codes(analyze(with_evidence(trace_of(QUIET), rows))) == {"ane-labels-unmatched": 1}


def test_a_row_that_an_mps_row_repeats_is_of_its_process() -> None:
    rows = [
        *(prediction(10, 20), ane(12, 14)),
        *(ane(15, 16, "entry_0_ANE_region_0_0", pid=APP), ane(17, 19, THEIRS, pid=OTHER_APP)),
    ]
    trace = with_evidence(trace_of(QUIET), rows)
    analysis = analyze(trace)
    assert known(analysis, "busy_ns") == {"ANE execute": 3}
    assert times(analysis)["foreign_ns"] == 2
    assert codes(analysis) == {}


@pytest.mark.parametrize(
    ("label", "owner"),
    [
        ("Net", "Net"),
        ("Net_main__Op0_AneInference", "Net"),
        ("Net_big_0123456789 Neural Engine Load", "Net_big"),
        ("Net.Neural Engine Load", "Net"),
        ("Network_main__Op0", None),
        ("net_main__Op0", None),
        ("my Net", None),
        ("", None),
        ("_", None),
    ],
)
def test_owner_of_a_label(label: str, owner: str | None) -> None:
    assert find_owner(label, {"Net", "Net_big"}) == owner


# Times of a window ------------------------------------------------------------------------------------------


def test_overlap_and_idle() -> None:
    """ANE 12–15, GPU 14–17, the thread on the CPU 17–18 and 19–20 (its sample would last beyond the end)."""
    trace = trace_of([(17, "a", UI), (19, "a", UI, 3 * MS)])
    analysis = analyze(with_evidence(trace, [ane(12, 15), gpu(14, 17)]), windows=[manual(10, 20)])
    actual = times(analysis)
    assert (actual["busy_ns"], actual["overlap_ns"], actual["idle_ns"]) == (5, 1, 3)


def test_overlap_is_not_known_from_one_engine() -> None:
    trace = with_evidence(trace_of(QUIET), [ane(12, 15)])
    actual = times(analyze(trace, windows=[manual(10, 20)]))
    assert "overlap_ns" not in actual
    assert actual["busy_ns"] == 3


def test_idle_is_not_known_without_samples_or_without_time() -> None:
    counted = trace_of([(12, "a", UI)], unit="cycles")
    for trace in (trace_of([]), counted):
        analysis = analyze(with_evidence(trace, [ane(12, 15)]), windows=[manual(10, 20)])
        assert "idle_ns" not in times(analysis)


# Rows that cannot be right ----------------------------------------------------------------------------------


def longest(start_ns: int, end_ns: int) -> Analysis:
    trace = with_evidence(trace_of(QUIET), [ane(0, 1)])
    edges = {"start_ns": start_ns, "end_ns": end_ns}
    intervals = trace.intervals.assign(**edges).astype(dict.fromkeys(edges, "int64"))
    return analyze(replace(trace, intervals=intervals), windows=[manual(10, 20), manual(30, 2**62 / MS)])


def test_an_interval_of_2_to_the_62() -> None:
    analysis = longest(0, 2**62)
    amounts = dict(
        zip(analysis.attribution_rows["window_id"], analysis.attribution_rows["busy_ns"], strict=True)
    )
    assert amounts[0] == 10 * MS
    assert amounts[1] == 2**62 - 30 * MS
    assert analysis.totals["busy_ns"].sum() == 2**62


def test_an_interval_that_ends_before_it_starts_holds_no_time() -> None:
    assert known(longest(15 * MS, 12 * MS), "busy_ns") == {}


def test_intervals_without_a_sample() -> None:
    trace = with_evidence(trace_of([]), [ane(12, 15), ane(30, 31)])
    analysis = analyze(trace, windows=[manual(10, 20)])
    assert known(analysis, "busy_ns") == {"ANE execute": 3}
    assert known(analysis, "busy_ns", -1) == {"ANE execute": 1}
    assert analysis.verdicts.names == ["ANE"]


def test_windows_outside_of_everything() -> None:
    trace = with_evidence(trace_of([(12, "a", BNNS)]), [ane(12, 15)])
    far: list[Window] = [manual(10**6, 10**6 + 1), manual(0, 1)]
    analysis = analyze(trace, windows=far)
    assert analysis.verdicts.names == ["UNKNOWN", "UNKNOWN"]
    assert known(analysis, "busy_ns", -1) == {"ANE execute": 3}
    assert codes(analysis)["window-outside"] == 2
