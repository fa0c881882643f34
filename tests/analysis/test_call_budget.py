"""The time budget of a call from literal rows: what each moment is counted as, and what it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from budget_support import pieces_of, sums_of
from evidence_support import Interval, State, ane, core_ml, drawing, gpu, manual, prediction, with_evidence
from trace_support import ANE, BNNS, CALL, LOAD, MS, RUNTIME, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.budget.budget import BudgetSums
from tracekit.analysis.budget.parts import BUDGET_PARTS, BudgetKind, BudgetPart
from tracekit.analysis.budget.summary import sum_by_group
from tracekit.analysis.budget.typical import Differences, compare_with_typical
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Basis

COPY = (
    "Espresso | EspressoLight::espresso_plan::__copy_inputs(std::__1::shared_ptr<EspressoLight::plan_task_t> const&)",
    *CALL,
)
NAMELESS = ("App | 0x1000", "App | 0x2000")
OTHER_LABEL = "Photos_main__Op0_AneInference"
CAMERA = 99
Budget = list[tuple[float, float, str]]


def analyze_rows(
    *rows: Interval,
    samples: Sequence[Sample] = (),
    states: Sequence[State] = (),
    thread: str | None = None,
    processes: dict[str, int] | None = None,
) -> Analysis:
    trace = trace_of([*samples], processes=processes)
    return analyze(with_evidence(trace, rows, states=states), thread=thread)


def budget_of(analysis: Analysis, call: int = 0) -> Budget:
    """The pieces of a call, in ms."""
    return [(piece.start_ns / MS, piece.end_ns / MS, str(piece.part)) for piece in pieces_of(analysis)[call]]


def overlaps_of(analysis: Analysis, call: int = 0) -> dict[str, float]:
    """For how many ms each part of a call happened while another one had the moment."""
    return {str(part): overlap / MS for part, (_, _, overlap) in sums_of(analysis)[call].items() if overlap}


def ticks(start: int, stop: int, stack: tuple[str, ...], thread: str = "a") -> list[Sample]:
    """A sample each millisecond."""
    return [(time, thread, stack) for time in range(start, stop)]


AROUND = [*ticks(0, 10, UI), *ticks(30, 40, UI)]
"""The app's own code before and after a call from 10 ms to 30 ms."""
NET = prediction(10, 30)


@pytest.mark.parametrize(
    ("rows", "samples", "budget"),
    [
        ([ane(12, 28)], [(10, "a", RUNTIME), (11, "a", ANE), (28, "a", COPY), (29, "a", COPY)],
         [(10, 12, "runtime"), (12, 28, "ANE"), (28, 30, "copy")]),
        ([gpu(12, 30)], ticks(10, 12, RUNTIME), [(10, 12, "runtime"), (12, 30, "GPU")]),
        ([core_ml(12, 30, "CPU")], ticks(10, 30, BNNS), [(10, 12, "runtime"), (12, 30, "CPU")]),
        ([], ticks(10, 30, BNNS), [(10, 30, "CPU")]),
        ([], [*ticks(10, 20, LOAD), *ticks(20, 30, RUNTIME)], [(10, 20, "load"), (20, 30, "runtime")]),
    ],
)  # fmt: skip
def test_what_tables_and_stacks_show(rows: list[Interval], samples: list[Sample], budget: Budget) -> None:
    assert budget_of(analyze_rows(NET, *rows, samples=[*AROUND, *samples])) == budget


def test_code_that_is_no_models() -> None:
    trace = with_evidence(trace_of([*ticks(0, 20, NAMELESS), *ticks(20, 40, UI)]))
    assert budget_of(analyze(trace, windows=[manual(10, 30)])) == [(10, 20, "unnamed"), (20, 30, "app")]


def test_work_of_two_engines_at_once_goes_to_the_first_and_the_other_keeps_it_as_overlap() -> None:
    analysis = analyze_rows(NET, ane(10, 20), gpu(15, 30), samples=[*AROUND, *ticks(10, 20, BNNS)])
    assert budget_of(analysis) == [(10, 20, "ANE"), (20, 30, "GPU")]
    assert overlaps_of(analysis) == {"GPU": 5, "CPU": 10}


def test_a_hand_over_lies_between_the_end_of_all_work_and_the_begin_of_another_engines() -> None:
    rows = [ane(10, 18), gpu(12, 14), ane(20, 22), gpu(25, 30)]
    analysis = analyze_rows(NET, *rows, samples=AROUND)
    assert budget_of(analysis) == [
        (10, 18, "ANE"),
        (18, 20, "unknown"),  # from one row of the engine to its next
        (20, 22, "ANE"),
        (22, 25, "hand_over"),
        (25, 30, "GPU"),
    ]
    assert overlaps_of(analysis) == {"GPU": 2}


def test_an_engine_busy_with_others_counts_before_the_calls_own_work_alone() -> None:
    rows = [gpu(10, 15, pid=CAMERA), gpu(15, 20), drawing(20, 21), gpu(21, 24), gpu(24, 28, pid=CAMERA)]
    analysis = analyze_rows(NET, *rows, samples=[*AROUND, (29, "a", COPY)])
    assert budget_of(analysis) == [
        (10, 15, "other_process"),
        (15, 20, "GPU"),
        (20, 21, "other_call"),
        (21, 24, "GPU"),
        (24, 29, "idle"),  # no engine works for the app
        (29, 30, "copy"),
    ]
    assert overlaps_of(analysis) == {}


def test_a_label_of_no_model_of_the_app_is_other_work_and_shows_no_other_process() -> None:
    analysis = analyze_rows(NET, ane(10, 15, OTHER_LABEL), ane(15, 30), samples=AROUND)
    assert budget_of(analysis) == [(10, 15, "other_call"), (15, 30, "ANE")]


def test_a_row_that_may_be_of_a_call_without_rows_is_not_anothers() -> None:
    calls = [NET, prediction(50, 70)]
    samples = [*AROUND, *ticks(10, 12, ANE), *ticks(70, 72, UI)]
    analysis = analyze_rows(*calls, ane(12, 28, OTHER_LABEL), ane(52, 70), samples=samples)
    assert (12, 28, "other_call") not in budget_of(analysis)
    assert "other_process" not in {part for _, _, part in budget_of(analysis)}


def test_work_of_two_calls_at_once_that_nothing_separates_is_contested() -> None:
    analysis = analyze_rows(NET, prediction(10, 30), ane(12, 28), samples=AROUND)
    assert [budget_of(analysis, call) for call in (0, 1)] == [
        [(10, 12, "unknown"), (12, 28, "contested"), (28, 30, "unknown")]
    ] * 2


@pytest.mark.parametrize(
    ("state", "part"),
    [("Running", "running"), ("Runnable", "runnable"), ("Preempted", "runnable"), ("Blocked", "blocked"),
     ("Terminated", "unknown")],
)  # fmt: skip
def test_states_of_the_calling_thread(state: str, part: str) -> None:
    samples = [*AROUND, *ticks(10, 12, ANE), *ticks(28, 30, COPY)]
    analysis = analyze_rows(NET, ane(12, 20), samples=samples, states=[State(10, 28, state)], thread="a")
    assert (20, 28, part) in budget_of(analysis)
    assert overlaps_of(analysis).get(part, 0) == {"running": 8, "unknown": 0}.get(part, 10)


@pytest.mark.parametrize(
    ("rows", "samples", "part"),
    [
        ([ane(10, 20)], [], "idle"),
        ([ane(10, 20)], ticks(20, 27, UI, "b"), "other_threads"),
        ([ane(10, 20)], ticks(0, 2, ("Metal | -[MTLCommandBuffer commit]", "App | main"), "b"), "idle"),
        ([ane(10, 20), ane(20, 27, OTHER_LABEL)], [], "unknown"),  # it may be the app's
    ],
)  # fmt: skip
def test_the_time_in_which_the_call_does_nothing(
    rows: list[Interval], samples: list[Sample], part: str
) -> None:
    samples = [*AROUND, (27, "a", COPY), (28, "a", COPY), (29, "a", COPY), *samples]
    assert (20, 27, part) in budget_of(analyze_rows(NET, *rows, gpu(40, 41), samples=samples))


END = [*AROUND, *ticks(27, 30, COPY)]


@pytest.mark.parametrize(
    "analysis",
    [
        analyze_rows(NET, ane(10, 20), gpu(40, 41)),  # no sample at all
        analyze_rows(NET, ane(10, 20), gpu(40, 41), samples=END, thread="a"),
        analyze_rows(NET, gpu(10, 20), samples=[*END, (35, "a", ANE)]),  # an engine without a table
        analyze_rows(NET, samples=END),
    ],
)  # fmt: skip
def test_what_is_not_known_is_never_idle(analysis: Analysis) -> None:
    assert "idle" not in {part for _, _, part in budget_of(analysis)}
    assert "unknown" in {part for _, _, part in budget_of(analysis)}


@pytest.mark.parametrize(("end", "part"), [(21.9, "unknown"), (22, "idle")])
def test_a_pause_of_less_than_two_sampling_periods_is_unknown(end: float, part: str) -> None:
    samples = [*AROUND, *((end + tick, "a", COPY) for tick in range(int(31 - end)))]
    assert (20, end, part) in budget_of(analyze_rows(NET, ane(10, 20), gpu(40, 41), samples=samples))


def test_before_the_first_sample_and_after_the_last_one_nothing_is_known() -> None:
    samples = [(15, "a", RUNTIME), (16, "a", ANE), (25, "a", COPY)]
    analysis = analyze_rows(NET, ane(17, 20), gpu(40, 41), samples=samples)
    assert budget_of(analysis) == [
        (10, 15, "unknown"),
        (15, 17, "runtime"),
        (17, 20, "ANE"),
        (20, 25, "idle"),
        (25, 26, "copy"),
        (26, 30, "unknown"),
    ]


def test_samples_that_count_cycles_have_no_length() -> None:
    trace = trace_of([*AROUND, *ticks(10, 30, BNNS)], unit="cycles")
    analysis = analyze(with_evidence(trace, [NET, ane(12, 20)]))
    assert budget_of(analysis) == [(10, 12, "unknown"), (12, 20, "ANE"), (20, 30, "unknown")]


def test_blocked_samples_are_blocked_time() -> None:
    trace = trace_of([*AROUND, *ticks(10, 30, RUNTIME)])
    is_late = trace.samples["time_ns"].between(20 * MS, 29 * MS).to_numpy()
    states = pd.Categorical(np.where(is_late, "Blocked", "Running"))
    trace = replace(trace, samples=trace.samples.assign(state=states))
    analysis = analyze(with_evidence(trace, [NET, gpu(40, 41), ane(44, 45)]))
    assert budget_of(analysis) == [(10, 20, "runtime"), (20, 30, "blocked")]


def test_a_wait_for_an_engine_without_a_table() -> None:
    samples = [*AROUND, *ticks(10, 12, ANE), *ticks(25, 30, COPY)]
    assert budget_of(analyze_rows(NET, samples=samples)) == [
        (10, 12, "runtime"),
        (12, 25, "waiting"),
        (25, 30, "copy"),
    ]


def test_a_load_that_a_table_measures_takes_nothing_from_samples() -> None:
    samples = [*AROUND, *ticks(10, 20, LOAD), *ticks(20, 30, RUNTIME)]
    analysis = analyze_rows(NET, core_ml(12, 16, "Load"), samples=samples)
    assert budget_of(analysis) == [(10, 12, "runtime"), (12, 16, "load"), (16, 30, "runtime")]
    assert overlaps_of(analysis) == {}


def test_nested_calls_each_have_their_own_budget() -> None:
    samples = [*AROUND, *ticks(10, 30, RUNTIME)]
    analysis = analyze_rows(NET, prediction(14, 24, depth=1), ane(16, 20), samples=samples)
    for call, length in enumerate(analysis.window_rows["end_ns"] - analysis.window_rows["start_ns"]):
        assert sum(end - start for start, end, _ in budget_of(analysis, call)) == length / MS


@pytest.mark.parametrize("time", [0, 2**61 - 30, 2**62 - 2**40])
def test_times_of_any_size_sum_exactly(time: int) -> None:
    trace = with_evidence(trace_of([]), [prediction(0, 30), ane(10, 20), gpu(25, 30)])
    moved = trace.intervals.assign(
        start_ns=trace.intervals["start_ns"] + time, end_ns=trace.intervals["end_ns"] + time + 1
    )
    analysis = analyze(replace(trace, intervals=moved))
    assert [
        (piece.start_ns - time, piece.end_ns - time, str(piece.part)) for piece in pieces_of(analysis)[0]
    ] == [
        (0, 10 * MS, "unknown"),
        (10 * MS, 20 * MS + 1, "ANE"),
        (20 * MS + 1, 25 * MS, "hand_over"),
        (25 * MS, 30 * MS + 1, "GPU"),
    ]


def test_a_recording_without_calls_has_no_budgets() -> None:
    analysis = analyze(with_evidence(trace_of(AROUND)))
    assert pieces_of(analysis) == []
    assert analysis.budget.sums.duration_ns.shape == (0, 0)


def test_a_range_of_the_user_has_the_work_of_its_process() -> None:
    trace = with_evidence(trace_of(AROUND), [NET, ane(12, 28)])
    analysis = analyze(trace, windows=[manual(10, 20)])
    assert (12, 20, "ANE") in budget_of(analysis)


def test_every_part_is_declared_in_the_order_of_its_precedence() -> None:
    assert BUDGET_PARTS[0] is BudgetPart.ANE
    assert BUDGET_PARTS[-2:] == (BudgetPart.IDLE, BudgetPart.UNKNOWN)


# The typical call of a model ---------------------------------------------------------------------------------


ON_ENGINES = (
    BudgetKind(BudgetPart.ANE, Basis.MEASURED),
    BudgetKind(BudgetPart.CPU, Basis.MEASURED),
    BudgetKind(BudgetPart.IDLE, Basis.INFERRED),
)
CONTESTED = (
    BudgetKind(BudgetPart.ANE, Basis.MEASURED),
    BudgetKind(BudgetPart.CONTESTED, Basis.MEASURED),
    BudgetKind(BudgetPart.RUNTIME, Basis.SAMPLED),
)
PARTLY_SHOWN = (
    BudgetKind(BudgetPart.ANE, Basis.MEASURED),
    BudgetKind(BudgetPart.CPU, Basis.SAMPLED),
    BudgetKind(BudgetPart.UNKNOWN, None),
)


def compare(*calls: tuple[int, ...], kinds: tuple[BudgetKind, ...] = ON_ENGINES) -> Differences:
    """Compare calls of one model, each of so long in every kind of time."""
    durations = np.array(calls, np.int64)
    sums = BudgetSums(kinds, durations, np.zeros_like(durations))
    rows = np.arange(len(calls))
    return compare_with_typical([Group(rows)], durations.sum(axis=1), np.ones(len(calls), bool), sums)


class Group(NamedTuple):
    rows: IntArray


def test_two_calls_have_no_typical_one() -> None:
    differences = compare((10, 1, 1), (90, 1, 1))
    assert differences.typical.tolist() == [-1, -1]
    assert not differences.part_ns.any()
    assert differences.main_parts.tolist() == [-1, -1]


def test_the_typical_call_is_one_of_the_calls_and_differences_sum_to_that_of_the_length() -> None:
    differences = compare((10, 1, 0), (11, 1, 0), (12, 1, 1), (11, 1, 20), (4, 1, 0))
    assert set(differences.typical.tolist()) == {1}
    assert differences.part_ns.sum(axis=1).tolist() == differences.length_ns.tolist() == [-1, 0, 2, 20, -7]
    assert differences.part_ns[3].tolist() == [0, 0, 20]


def test_the_part_that_grew_or_shrank_most_is_the_main_one() -> None:
    differences = compare((10, 5, 5), (10, 5, 5), (10, 5, 5), (20, 1, 6), (1, 5, 9))
    assert differences.is_longer.tolist() == [False, False, False, True, False]
    assert differences.is_shorter.tolist() == [False, False, False, False, True]
    assert [differences.parts[part] for part in differences.main_parts[3:]] == [
        BudgetPart.ANE,
        BudgetPart.ANE,
    ]


@pytest.mark.parametrize(
    ("slow", "part"),
    [
        ((115, 120, 100), BudgetPart.ANE),  # a sample more or less is chance
        ((114, 120, 100), BudgetPart.CPU),
        ((115, 100, 120), BudgetPart.ANE),
        ((100, 115, 120), BudgetPart.CPU),
        ((110, 100, 140), BudgetPart.UNKNOWN),
    ],
)
def test_of_parts_that_grew_about_alike_the_best_known_one_is_named(
    slow: tuple[int, int, int], part: BudgetPart
) -> None:
    usual = (100, 100, 100)
    differences = compare(usual, usual, usual, slow, kinds=PARTLY_SHOWN)
    assert differences.parts[differences.main_parts[3]] is part


def test_work_that_may_be_the_typical_calls_as_well_is_no_growth() -> None:
    contested = (0, 60, 10), (0, 60, 10), (0, 60, 10)
    longer, same, slow = (85, 0, 10), (60, 0, 10), (60, 0, 30)
    differences = compare(*contested, longer, same, slow, kinds=CONTESTED)
    assert differences.typical[0] == 4  # the one of the same length that has no contested time
    differences = compare(*contested, longer, kinds=CONTESTED)
    assert differences.is_longer.tolist() == [False, False, False, True]
    assert (differences.parts[differences.main_parts[3]], differences.main_ns[3]) == (BudgetPart.ANE, 25)
    assert differences.part_ns[3].tolist() == [85, -60, 0]
    differences = compare(*contested, slow, kinds=CONTESTED)
    assert (differences.parts[differences.main_parts[3]], differences.main_ns[3]) == (BudgetPart.RUNTIME, 20)


def test_a_longer_call_of_which_no_part_grew_for_certain_is_still_longer() -> None:
    kinds = (*CONTESTED[:2], BudgetKind(BudgetPart.GPU, Basis.MEASURED))
    differences = compare((0, 60, 0), (0, 60, 0), (0, 60, 0), (40, 0, 40), kinds=kinds)
    assert (differences.is_longer[3], differences.main_parts[3], differences.main_ns[3]) == (True, -1, 0)
    assert differences.is_notable.tolist() == [False, False, False, True]


def test_a_call_of_two_usual_lengths_is_longer_than_the_typical_one() -> None:
    differences = compare(*[(10, 0, 0), (30, 0, 0)] * 3, (10, 0, 0))
    assert differences.length_ns.tolist() == [0, 20, 0, 20, 0, 20, 0]
    assert differences.is_longer.tolist() == [False, True] * 3 + [False]


def test_a_fallback_of_the_same_length_is_different() -> None:
    differences = compare((20, 0, 0), (20, 0, 0), (20, 0, 0), (0, 20, 0))
    assert not (differences.is_longer | differences.is_shorter).any()
    assert differences.is_different.tolist() == [False, False, False, True]
    assert differences.length_ns.tolist() == [0, 0, 0, 0]
    assert differences.part_ns[3].tolist() == [-20, 20]


def test_sums_of_a_group_are_exact_whatever_their_size() -> None:
    durations = np.array([[2**61 + 1], [2**61 + 3], [2**62 + 5]], np.int64)
    sums = BudgetSums((BudgetKind(BudgetPart.ANE, Basis.MEASURED),), durations, durations)
    (total,) = sum_by_group([Group(np.arange(3))], sums)
    assert (total.total_ns, total.overlap_ns) == (2**63 + 9, 2**63 + 9)
    assert (total.calls, total.median_ns) == (3, 2**61 + 3)
