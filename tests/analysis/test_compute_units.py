"""Settings of compute units side by side, from literal windows and samples."""

from __future__ import annotations

from evidence_support import Interval, core_ml, prediction, with_evidence
from trace_support import ANE, BNNS, LOAD, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.compute_units import SettingRow, compare_settings
from tracekit.model.vocabulary import Basis


def analysis(*rows: Interval, samples: tuple[Sample, ...] = ()) -> Analysis:
    quiet: list[Sample] = [(0, "a", UI), (95, "a", UI)]
    return analyze(with_evidence(trace_of([*quiet, *samples]), rows))


def predictions(*lengths: float, model: str = "Net") -> list[Interval]:
    """One prediction each 10 ms, from 10 ms on."""
    return [prediction(10 * call, 10 * call + length, model) for call, length in enumerate(lengths, 1)]


def row(rows: tuple[SettingRow, ...], setting: str, model: str = "Net") -> SettingRow:
    (row,) = [candidate for candidate in rows if (candidate.setting, candidate.model) == (setting, model)]
    return row


# Lengths --------------------------------------------------------------------------------------------------


def test_cold_is_the_first_window_and_warm_the_others() -> None:
    (row,) = compare_settings({"all": analysis(*predictions(9, 3, 4, 5))})
    assert (row.setting, row.model, row.windows) == ("all", "Net", 4)
    assert (row.cold_ns, row.warm_p50_ns, row.warm_p90_ns) == (9 * MS, 4 * MS, 5 * MS)
    assert row.edges == ("measured",)


def test_a_window_that_is_the_only_one_is_cold_and_nothing_is_warm() -> None:
    rows = compare_settings({"all": analysis(*predictions(9)), "cpuOnly": analysis(*predictions(8))})
    assert [(row.cold_ns, row.warm_p50_ns, row.warm_p90_ns, row.speed_up) for row in rows] == [
        (9 * MS, None, None, None),
        (8 * MS, None, None, None),
    ]


def test_without_a_window_nothing_is_claimed() -> None:
    (row,) = compare_settings({"all": analysis()})
    assert (row.model, row.cold_ns, row.warm_p50_ns, row.warm_p90_ns) == ("", None, None, None)
    assert (row.speed_up, row.load_ns, row.load_basis) == (None, None, None)


def test_windows_inferred_from_stacks_are_marked() -> None:
    work: tuple[Sample, ...] = tuple((time, "a", ANE) for time in (20, 21, 22))
    (row,) = compare_settings({"all": analysis(samples=work)})
    assert (row.model, row.edges, row.verdicts) == ("", ("inferred",), {"ANE": 1})


# Against cpuOnly ------------------------------------------------------------------------------------------


def test_the_speed_up_is_the_warm_median_of_cpu_only_over_this_ones() -> None:
    rows = compare_settings(
        {
            "all": analysis(*predictions(9, 2, 2)),
            "cpuAndGPU": analysis(*predictions(9, 4, 4)),
            "cpuOnly": analysis(*predictions(1, 8, 8)),
        }
    )
    assert [(row.setting, row.speed_up) for row in rows] == [
        ("all", 4.0),
        ("cpuAndGPU", 2.0),
        ("cpuOnly", 1.0),
    ]


def test_a_setting_slower_than_cpu_only_is_slower() -> None:
    rows = compare_settings({"cpuOnly": analysis(*predictions(1, 2)), "all": analysis(*predictions(1, 8))})
    assert row(rows, "all").speed_up == 0.25


def test_without_cpu_only_there_is_no_speed_up() -> None:
    rows = compare_settings({"all": analysis(*predictions(9, 2)), "cpuAndGPU": analysis(*predictions(9, 4))})
    assert [row.speed_up for row in rows] == [None, None]


def test_the_settings_keep_their_order() -> None:
    recording = analysis(*predictions(3, 3))
    settings = ["cpuOnly", "all", "cpuAndNeuralEngine"]
    assert [row.setting for row in compare_settings(dict.fromkeys(settings, recording))] == settings


# Loading --------------------------------------------------------------------------------------------------


def test_loading_that_a_table_reports_is_measured() -> None:
    """Overlapping rows count once."""
    loads = core_ml(1, 5, "Load"), core_ml(3, 7, "Load")
    (row,) = compare_settings({"all": analysis(*predictions(9, 3), *loads)})
    assert (row.load_ns, row.load_basis) == (6 * MS, Basis.MEASURED)


def test_loading_on_stacks_alone_is_sampled() -> None:
    samples: tuple[Sample, ...] = ((1, "a", LOAD), (2, "a", LOAD), *((time, "a", BNNS) for time in (20, 21)))
    (row,) = compare_settings({"cpuOnly": analysis(samples=samples)})
    assert (row.load_ns, row.load_basis) == (2 * MS, Basis.SAMPLED)


def test_measured_and_sampled_loading_are_never_added() -> None:
    (row,) = compare_settings(
        {"all": analysis(*predictions(9, 3), core_ml(1, 6, "Load"), samples=((1, "a", LOAD), (2, "a", LOAD)))}
    )
    assert (row.load_ns, row.load_basis) == (5 * MS, Basis.MEASURED)


def test_sampled_loading_is_no_models_own() -> None:
    """Stacks do not show which model was loaded."""
    both = *predictions(9, 3, model="A"), *predictions(0, 0, 9, 3, model="B")[2:]
    rows = compare_settings({"all": analysis(*both, samples=((1, "a", LOAD),))})
    assert [(row.model, row.load_ns, row.load_basis) for row in rows] == [
        ("A", None, None),
        ("B", None, None),
    ]


# Several models -------------------------------------------------------------------------------------------


def test_models_have_rows_of_their_own() -> None:
    both = (
        core_ml(1, 3, "Load", "A"),
        core_ml(4, 8, "Load", "B"),
        *predictions(9, 3, model="A"),
        *predictions(0, 0, 8, 6, model="B")[2:],
    )
    cpu = *predictions(9, 6, model="A"), *predictions(0, 0, 8, 3, model="B")[2:]
    rows = compare_settings({"all": analysis(*both), "cpuOnly": analysis(*cpu)})
    assert [
        (row.model, row.setting, row.cold_ns, row.warm_p50_ns, row.speed_up, row.load_ns) for row in rows
    ] == [
        ("A", "all", 9 * MS, 3 * MS, 2.0, 2 * MS),
        ("A", "cpuOnly", 9 * MS, 6 * MS, 1.0, None),
        ("B", "all", 8 * MS, 6 * MS, 0.5, 4 * MS),
        ("B", "cpuOnly", 8 * MS, 3 * MS, 1.0, None),
    ]


def test_a_model_that_a_setting_did_not_run_has_no_row_there() -> None:
    rows = compare_settings(
        {"all": analysis(*predictions(9, 3, model="A")), "cpuOnly": analysis(*predictions(9, 6, model="B"))}
    )
    assert [(row.model, row.setting, row.speed_up) for row in rows] == [
        ("A", "all", None),
        ("B", "cpuOnly", 1.0),
    ]


def test_where_one_recording_names_no_model_none_is_distinguished() -> None:
    work: tuple[Sample, ...] = tuple((time, "a", BNNS) for time in (20, 21, 22))
    rows = compare_settings({"all": analysis(*predictions(9, 3)), "cpuOnly": analysis(samples=work)})
    assert [(row.model, row.setting) for row in rows] == [("", "all"), ("", "cpuOnly")]
