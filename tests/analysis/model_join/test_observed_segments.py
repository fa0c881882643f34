"""Anticipated segments against literal calls: what is distinct, what it costs, and what stays unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from evidence_support import ane, core_ai, manual, prediction, with_evidence
from join_support import CUT, FIRST, SECOND, THIRD, calls_of, join, judged, on_system, plan_of
from trace_support import BNNS, CALL, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.mlmodels.plans import Plan, PlannedFunction, PlannedRegion
from tracekit.model.vocabulary import Basis, Engine

NAMELESS = "Net_0123456789ab main Neural Engine Prediction"


def test_segments_of_a_model_that_is_cut_by_the_cpu() -> None:
    joined = join(calls_of(CUT, on_cpu=[8, 9, 10], plans=[plan_of("AACA")]))
    assert judged(joined) == [("ANE", "ANE", "agrees"), ("CPU", "CPU", "agrees"), ("ANE", "ANE", "agrees")]
    first, between, last = joined.segments
    assert [(segment.first, segment.end) for segment in joined.segments] == [(0, 2), (2, 3), (3, 4)]
    assert (first.start_ns, first.end_ns, first.work_ns, first.basis) == (
        2 * MS,
        6 * MS,
        4 * MS,
        Basis.MEASURED,
    )
    assert (between.start_ns, between.end_ns, between.work_ns) == (8 * MS, 11 * MS, 3 * MS)
    assert (between.basis, between.gap_ns, between.hand_over_ns) == (Basis.SAMPLED, 8 * MS, None)
    assert (last.start_ns, last.end_ns, last.gap_ns) == (14 * MS, 18 * MS, None)
    assert (joined.lost_ns, joined.lost_total_ns) == (8 * MS, 4 * 8 * MS)
    assert (joined.calls, joined.matched_calls, joined.pieces, joined.limits) == (4, 4, 2, ())
    assert (joined.typical_call, joined.length_ns) == (1, 20 * MS)


def test_hand_overs_are_measured_between_intervals() -> None:
    joined = join(calls_of(CUT, on_gpu=[(7, 12)], plans=[plan_of("AAGA")]))
    assert judged(joined)[1] == ("GPU", "GPU", "agrees")
    assert [segment.hand_over_ns for segment in joined.segments] == [1 * MS, 2 * MS, None]
    assert joined.segments[1].work_ns == 5 * MS


def test_the_engine_between_pieces_differs() -> None:
    joined = join(calls_of(CUT, on_gpu=[(7, 12)], plans=[plan_of("AACA")]))
    assert judged(joined)[1] == ("CPU", "GPU", "differs")


def test_work_of_the_cpu_alone_does_not_exclude_a_gpu_without_a_table() -> None:
    joined = join(calls_of(CUT, on_cpu=[8, 9], plans=[plan_of("AAGA")]))
    assert judged(joined)[1] == ("GPU", "CPU", "unknown")


def test_nothing_seen_between_pieces_is_unknown() -> None:
    joined = join(calls_of(CUT, plans=[plan_of("AACA")]))
    assert judged(joined)[1] == ("CPU", "None", "unknown")
    assert joined.segments[1].gap_ns == joined.lost_ns == 8 * MS


def test_an_engine_that_the_plan_does_not_state_never_agrees() -> None:
    joined = join(calls_of(CUT, on_cpu=[8, 9], plans=[plan_of("AA?A")]))
    assert judged(joined)[1] == ("None", "CPU", "unknown")
    assert joined.lost_ns is None  # nothing states that the operation is off the engine


def test_two_engines_between_pieces_each_anticipated_once() -> None:
    analysis = calls_of(CUT, on_cpu=[7, 8], on_gpu=[(9, 12)], plans=[plan_of("ACGA")])
    assert judged(join(analysis))[1:3] == [("CPU", "CPU", "agrees"), ("GPU", "GPU", "agrees")]


def test_two_engines_between_pieces_where_one_is_anticipated() -> None:
    joined = join(calls_of(CUT, on_cpu=[7, 8], on_gpu=[(9, 12)], plans=[plan_of("ACA")]))
    assert judged(joined)[1] == ("CPU", "None", "unknown")


def test_two_segments_on_one_engine_between_pieces_stay_unknown() -> None:
    joined = join(calls_of(CUT, on_cpu=[7, 8], plans=[plan_of("ACGCA")]))
    assert judged(joined)[1] == judged(joined)[3] == ("CPU", "None", "unknown")


def test_parts_before_and_after_the_pieces_are_no_gap() -> None:
    joined = join(calls_of([(6.0, 14.0, FIRST)], on_cpu=[2, 3, 16], plans=[plan_of("CAC")]))
    assert judged(joined) == [("CPU", "CPU", "agrees"), ("ANE", "ANE", "agrees"), ("CPU", "CPU", "agrees")]
    assert [segment.work_ns for segment in joined.segments] == [2 * MS, 8 * MS, 1 * MS]
    assert (joined.lost_ns, [segment.gap_ns for segment in joined.segments]) == (None, [None] * 3)


def test_submissions_of_one_segment_in_turn_are_one_piece() -> None:
    pieces = [(2.0, 4.0, FIRST), (5.0, 6.0, FIRST), (14.0, 18.0, SECOND)]
    joined = join(calls_of(pieces, on_cpu=[8], plans=[plan_of("ACA")]))
    assert (joined.pieces, joined.matched_calls, joined.segments[0].work_ns) == (2, 4, 3 * MS)


@pytest.mark.parametrize("letters", ["AAAA", "ACACA"])
def test_another_number_of_pieces_is_no_match(letters: str) -> None:
    joined = join(calls_of(CUT, on_cpu=[8], plans=[plan_of(letters)]))
    assert {agreement for _, _, agreement in judged(joined)} == {"unknown"}
    assert (joined.matched_calls, joined.pieces, joined.limits, joined.lost_ns) == (
        0,
        2,
        ("pieces-differ",),
        None,
    )


def test_pieces_whose_numbers_do_not_rise_are_no_match() -> None:
    joined = join(calls_of([(2, 6, SECOND), (14, 18, FIRST)], plans=[plan_of("ACA")]))
    assert (joined.matched_calls, joined.limits) == (0, ("order-differs",))


def test_a_batch_that_repeats_its_segments_is_no_match() -> None:
    pieces = [(1, 3, FIRST), (4, 6, SECOND), (8, 10, FIRST), (12, 14, SECOND)]
    joined = join(calls_of(pieces, plans=[plan_of("ACACACA")]))
    assert (joined.pieces, joined.matched_calls, joined.limits) == (4, 0, ("order-differs",))


def test_pieces_without_names_are_matched_by_their_number() -> None:
    joined = join(calls_of([(2, 6, NAMELESS), (14, 18, NAMELESS)], on_cpu=[8], plans=[plan_of("ACA")]))
    assert (joined.matched_calls, joined.limits) == (4, ("matched-by-count",))


def test_calls_that_ran_on_another_engine() -> None:
    elsewhere = [ane(200, 201, FIRST), prediction(199, 202)]
    analysis = calls_of([], on_cpu=range(1, 20), further=elsewhere, plans=[plan_of("ACA")])
    joined = join(analysis)
    assert (joined.calls, joined.matched_calls, joined.absent_calls, joined.pieces) == (5, 0, 4, 0)
    assert judged(joined) == [("ANE", "CPU", "differs"), ("CPU", "CPU", "agrees"), ("ANE", "CPU", "differs")]
    assert joined.limits == ("pieces-differ", "not-on-engine")


def test_calls_of_which_some_left_the_engine() -> None:
    starts = [30.0 * number for number in range(6)]
    rows = [prediction(start, start + 20) for start in starts]
    rows += [ane(start + begin, start + end, label) for start in starts[:4] for begin, end, label in CUT]
    samples: list[Sample] = [
        (start + tick, "a", BNNS if tick == 8 or start >= 120 else CALL)
        for start in starts
        for tick in range(1, 20)
    ]
    joined = join(analyze(on_system(with_evidence(trace_of(samples), rows)), plans=[plan_of("ACA")]))
    assert (joined.calls, joined.matched_calls, joined.absent_calls, joined.limits) == (
        6,
        4,
        2,
        ("calls-differ",),
    )
    assert {segment.calls for segment in joined.segments} == {4}


def test_without_the_engines_table_nothing_is_compared() -> None:
    joined = join(calls_of([], on_cpu=[8, 9], plans=[plan_of("ACA")]))
    assert (joined.limits, joined.pieces, joined.matched_calls) == (("engine-not-measured",), None, 0)
    assert {agreement for _, _, agreement in judged(joined)} == {"unknown"}


def test_contested_pieces_are_not_counted() -> None:
    rows = [prediction(10, 20), prediction(20, 30), ane(18, 23, FIRST)]
    joined = join(analyze(on_system(with_evidence(trace_of([(5, "a", UI)]), rows)), plans=[plan_of("ACA")]))
    assert (joined.limits, joined.pieces) == (("owner-unknown",), None)


def test_calls_that_overlap_those_of_another_model_count_for_no_gap() -> None:
    other = [prediction(30.0 * n + 1, 30.0 * n + 19, "Other") for n in range(4)]
    analysis = calls_of(CUT, on_cpu=[8], further=other, plans=[plan_of("ACA", model="Net")])
    joined = join(analysis)
    assert joined.matched_calls == 4
    assert (joined.lost_ns, joined.lost_total_ns, joined.limits) == (None, None, ("calls-overlap",))
    assert joined.segments[1].gap_ns is None


@pytest.mark.parametrize("options", [{"windows": [manual(0, 50), manual(60, 110)]}, {"windows": "stacks"}])
def test_ranges_and_stacks_are_no_single_calls(options: dict[str, Any]) -> None:
    for joined in calls_of(CUT, on_cpu=[8], plans=[plan_of("ACA")], **options).joined_models:
        assert joined.limits == ("not-single-calls",)


def test_rows_of_another_owner_are_no_pieces() -> None:
    foreign = [ane(30.0 * n + 8, 30.0 * n + 9, "Other_main__Op0_AneInference") for n in range(4)]
    joined = join(calls_of(CUT, on_cpu=[7], further=foreign, plans=[plan_of("ACA")]))
    assert (joined.pieces, joined.matched_calls) == (2, 4)


# Core AI ----------------------------------------------------------------------------------------------------


def scene(pieces: list[tuple[float, float, int]], function: str = "main", **options: Any) -> Analysis:
    rows = [
        row
        for start in (0.0, 30.0)
        for row in (
            core_ai(start, start + 20, function=function),
            *(ane(start + b, start + e, f"{function}_ANE_region_0_{number}") for b, e, number in pieces),
        )
    ]
    return analyze(on_system(with_evidence(trace_of([(60, "a", UI)]), rows)), **options)


def regions_of(*engines: Engine) -> Plan:
    regions = tuple(
        PlannedRegion(f"main_{engine}_region_0_{n}", engine, 3) for n, engine in enumerate(engines)
    )
    plan = plan_of("A")
    return replace(plan, runtime="Core AI", functions=(PlannedFunction("main", (), regions),))


def test_regions_of_a_plan_without_operations() -> None:
    plan = regions_of(Engine.ANE, Engine.GPU, Engine.ANE)
    joined = join(scene([(2, 6, 0), (10, 18, 2)], plans=[plan]))
    assert [segment.name for segment in joined.segments][1] == "main_GPU_region_0_1"
    assert [(segment.first, segment.end) for segment in joined.segments] == [(0, 3), (3, 6), (6, 9)]
    assert (joined.matched_calls, joined.lost_ns, joined.limits) == (2, 4 * MS, ("regions-only",))


def test_a_table_without_rows_of_core_ai_proves_nothing() -> None:
    rows = [core_ai(0, 20), prediction(40, 50, "Net"), ane(41, 42, FIRST)]
    samples = [(float(tick), "a", BNNS) for tick in range(1, 20)]
    trace = with_evidence(trace_of([*samples, (60.0, "a", UI)]), rows)
    plan = replace(plan_of("ACA", model="Scene"), runtime="Core AI")
    joined = join(analyze(trace, plans=[plan]))
    assert joined.absent_calls == 0
    assert {agreement for _, _, agreement in judged(joined)} == {"unknown"}


def test_calls_of_a_function_that_the_plan_has_not() -> None:
    plan, decode = (replace(plan_of("A", function=name), runtime="Core AI") for name in ("main", "decode"))
    assert join(scene([(2, 6, 0)], function="decode", plans=[plan])).limits == ("function-unknown",)
    assert join(scene([(2, 6, 0)], function="decode", plans=[decode])).matched_calls == 2


def test_pieces_of_another_function_of_the_model_are_not_compared() -> None:
    """Core ML's table does not name the function of a call; labels of the engine's rows may."""
    labels = [
        f"Net_5F0C1C1E-0000-4000-8000-000000000000_encode__Op{number}_AneInference" for number in (0, 2)
    ]
    pieces = [(2, 6, labels[0]), (14, 18, labels[1])]
    joined = join(calls_of(pieces, on_cpu=[8], plans=[plan_of("ACA")]))
    assert (joined.matched_calls, joined.limits) == (0, ("other-function",))
    named = join(calls_of(pieces, on_cpu=[8], plans=[plan_of("ACA", function="encode")]))
    assert (named.matched_calls, named.limits) == (4, ())


def test_three_pieces_lose_the_time_of_both_gaps() -> None:
    pieces = [(1, 4, FIRST), (6, 9, SECOND), (14, 18, THIRD)]
    assert join(calls_of(pieces, plans=[plan_of("ACAGA")])).lost_ns == 7 * MS


def test_a_plan_of_core_ml_is_not_compared_with_calls_of_core_ai() -> None:
    plan = replace(plan_of("ACA", model="Scene"), runtime="Core ML")
    joined = join(scene([(2, 6, 0), (10, 18, 2)], plans=[plan]))
    assert (joined.matched_calls, joined.limits) == (0, ("other-runtime",))
    assert {agreement for _, _, agreement in judged(joined)} == {"unknown"}


def test_a_few_calls_that_have_the_plans_number_by_chance_are_no_match() -> None:
    """Two of six calls have one piece, as the plan; one has none."""
    starts = [30.0 * number for number in range(7)]
    rows = [prediction(start, start + 20) for start in starts]
    rows += [ane(start + begin, start + end, label) for start in starts[:4] for begin, end, label in CUT]
    rows += [ane(start + 2, start + 6, FIRST) for start in starts[4:6]]
    samples: list[Sample] = [
        (start + tick, "a", BNNS if start == starts[6] else CALL) for start in starts for tick in range(1, 20)
    ]
    joined = join(analyze(on_system(with_evidence(trace_of(samples), rows)), plans=[plan_of("AC")]))
    assert (joined.matched_calls, joined.absent_calls, joined.pieces) == (0, 1, 2)
    assert {agreement for _, _, agreement in judged(joined)} == {"unknown"}
    assert joined.limits == ("pieces-differ",)
