"""Attribution: every sample counts once in each window that it lies in, and the rest adds up."""

from __future__ import annotations

import itertools
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_support import ANE, ANE_WAIT, BNNS, CALL, E5_WORKER, LOAD, MS, UI, Sample, trace_of
from verdict_support import verdicts_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.model.vocabulary import Basis

STACKS = [UI, LOAD, CALL, ANE, ANE_WAIT, BNNS, E5_WORKER, None]
SAMPLES = st.lists(
    st.tuples(
        st.integers(0, 100), st.sampled_from(["a", "b"]), st.sampled_from(STACKS), st.integers(0, 50 * MS)
    ),
    max_size=40,
)
CUTS = st.lists(st.integers(0, 110), min_size=2, max_size=6, unique=True)


def given_windows(cuts: list[int]) -> list[Window]:
    edges = sorted(cuts)
    return [
        Window(start * MS, end * MS, f"{start}", "manual", Basis.GIVEN)
        for start, end in itertools.pairwise(edges)
    ]


def amounts(rows: pd.DataFrame) -> Counter[tuple[str, str, str]]:
    """(engine, phase, what) → amount, over any number of windows."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows.to_dict("records"):
        phase = "none" if pd.isna(row["phase"]) else str(row["phase"])
        counts[str(row["engine"]), phase, "samples"] += row["samples"]
        counts[str(row["engine"]), phase, "weight"] += row["weight"]
    return counts


def inside(analysis: Analysis) -> pd.DataFrame:
    return analysis.attribution_rows[analysis.attribution_rows["window_id"] >= 0]


def test_literal() -> None:
    samples: list[Sample] = [
        (0, "a", UI),
        (1, "a", ANE),
        (2, "a", ANE_WAIT),
        (3, "a", BNNS, 40 * MS),
        (4, "b", UI),
        (5, "a", UI),
    ]
    analysis = analyze(trace_of(samples), windows=[Window(1 * MS, 5 * MS, "w", "manual", Basis.GIVEN)])
    rows = analysis.attribution_rows
    samples_by_key = {
        (row["window_id"], str(row["engine"]), "none" if pd.isna(row["phase"]) else str(row["phase"])): (
            row["samples"],
            row["sampled_ns"] // MS,
        )
        for row in rows.to_dict("records")
    }
    assert samples_by_key == {
        (-1, "OTHER", "none"): (2, 2),
        (0, "OTHER", "none"): (1, 1),
        (0, "ANE", "dispatch"): (1, 1),
        (0, "ANE", "wait"): (1, 1),
        (0, "CPU", "execute"): (1, 40),
    }
    assert rows["busy_ns"].isna().all()
    assert rows["waiting_ns"].isna().all()
    (verdict,) = verdicts_of(analysis)
    assert verdict.verdict == "MIXED"
    assert "ANE 2 samples, 2.0 ms host time" in verdict.why
    assert "CPU 1 sample, 40.0 ms host time" in verdict.why


def test_a_thread_that_the_recorder_calls_blocked_waits() -> None:
    """Its leaf may look like work: mach_msg2_trap is a submission or a wait."""
    submit = ("libsystem_kernel.dylib | mach_msg2_trap", *ANE)
    for state, phase in [("Running", "dispatch"), ("Blocked", "wait")]:
        totals = analyze(trace_of([(1, "a", submit)], state=state)).totals
        assert totals["phase"].tolist() == [phase]
    assert analyze(trace_of([(1, "a", UI)], state="Blocked")).totals["phase"].isna().all()
    assert analyze(trace_of([(1, "a", LOAD)], state="Blocked")).totals["phase"].tolist() == ["load"]


def test_a_window_is_half_open() -> None:
    windows = [Window(1 * MS, 2 * MS, "w", "manual", Basis.GIVEN)]
    analysis = analyze(trace_of([(1, "a", ANE), (2, "a", BNNS)]), windows=windows)
    assert analysis.verdicts.names == ["ANE"]


def test_a_window_without_samples() -> None:
    windows = [Window(50 * MS, 60 * MS, "w", "manual", Basis.GIVEN)]
    (verdict,) = verdicts_of(analyze(trace_of([(1, "a", ANE)]), windows=windows))
    assert (verdict.verdict, verdict.why) == ("UNKNOWN", "no sample in this range")


def test_loading_for_an_engine_is_no_inference_on_it() -> None:
    load = ("AppleNeuralEngine | -[_ANEClient loadModel:options:qos:error:]", "App | main")
    windows = [Window(0, 9 * MS, "w", "manual", Basis.GIVEN)]
    (verdict,) = verdicts_of(analyze(trace_of([(1, "a", load), (2, "a", UI)]), windows=windows))
    assert verdict.verdict == "UNKNOWN"
    assert verdict.why == "1 of 2 samples load or compile a model for an engine, but none runs an inference"


@pytest.mark.integration
@given(SAMPLES, CUTS)
def test_windows_and_the_rest_add_up_to_the_whole(samples: list[Sample], cuts: list[int]) -> None:
    analysis = analyze(trace_of(samples), windows=given_windows(cuts))
    assert amounts(analysis.attribution_rows) == amounts(analysis.totals)
    assert analysis.totals["samples"].sum() == len(samples)
    assert analysis.totals["weight"].sum() == sum(sample[3] for sample in samples)  # type: ignore[misc]


@pytest.mark.integration
@given(SAMPLES, CUTS)
def test_splitting_a_window_and_adding_gives_the_same(samples: list[Sample], cuts: list[int]) -> None:
    trace = trace_of(samples)
    pieces = analyze(trace, windows=given_windows(cuts))
    whole = analyze(trace, windows=given_windows([min(cuts), max(cuts)]))
    assert amounts(inside(pieces)) == amounts(inside(whole))


@pytest.mark.integration
@given(SAMPLES, CUTS)
def test_attribution_equals_a_slow_count(samples: list[Sample], cuts: list[int]) -> None:
    analysis = analyze(trace_of(samples), windows=given_windows(cuts))
    times = analysis.trace.samples["time_ns"].tolist()
    for window in analysis.window_rows.to_dict("records"):
        rows = analysis.attribution_rows[analysis.attribution_rows["window_id"] == window["window_id"]]
        lies_in = [window["start_ns"] <= time < window["end_ns"] for time in times]
        assert rows["samples"].sum() == sum(lies_in)
        assert rows["weight"].sum() == sum(
            w for w, is_inside in zip(analysis.trace.weights, lies_in, strict=True) if is_inside
        )
        assert ((rows["samples"] > 0) | rows["waiting_ns"].notna()).all()


@pytest.mark.integration
@given(SAMPLES, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(samples: list[Sample], random: object) -> None:
    """Equal times may swap: amounts are per window, not per row."""
    shuffled = list(samples)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    windows = given_windows([10, 50, 90])
    ordered, reordered = (analyze(trace_of(rows), windows=windows) for rows in (samples, shuffled))
    assert amounts(ordered.attribution_rows) == amounts(reordered.attribution_rows)
    assert ordered.verdicts.names == reordered.verdicts.names


@pytest.mark.integration
@given(SAMPLES)
def test_overlapping_windows_each_count_their_own(samples: list[Sample]) -> None:
    windows = [
        Window(0, 60 * MS, "a", "manual", Basis.GIVEN),
        Window(40 * MS, 110 * MS, "b", "manual", Basis.GIVEN),
    ]
    analysis = analyze(trace_of(samples), windows=windows)
    times = analysis.trace.samples["time_ns"]
    counted = analysis.attribution_rows.groupby("window_id")["samples"].sum()
    assert counted.get(0, 0) == (times < 60 * MS).sum()
    assert counted.get(1, 0) == (times >= 40 * MS).sum()
