"""Samples of overlapping windows: sums and ranges against a plain list of every (sample, window) pair."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evidence_support import Interval, ane, core_ml, mps, with_evidence
from hypothesis import given
from hypothesis import strategies as st
from trace_support import ANE, ANE_WAIT, BNNS, CALL, E5_WORKER, LOAD, MS, RUNTIME, UI, Sample, trace_of
from verdict_support import verdicts_of

from tracekit import analyze
from tracekit.analysis import Window
from tracekit.analysis.classification.rule_set import load_rules
from tracekit.analysis.classification.sample_labels import SampleLabels, label_samples
from tracekit.analysis.engines import membership as membership_module
from tracekit.analysis.engines import ranges
from tracekit.analysis.engines.assignment import assign_samples
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.windows.window import GIVEN_SOURCES, build_window_frame
from tracekit.export.export_view import find_sample_windows
from tracekit.model.columns import IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import PHASE_CODE, SERVING, Basis, Phase

RULES = load_rules(None)
THREADS = ["a", "b", "c", "d"]
PROCESSES = {"d": 8}
END = 12

SAMPLES = st.lists(
    st.tuples(
        st.integers(0, END),
        st.sampled_from(THREADS),
        st.sampled_from([UI, LOAD, CALL, ANE, ANE_WAIT, BNNS, RUNTIME, E5_WORKER, None]),
        st.sampled_from([0, 1, MS, MS, 4 * MS]),
    ),
    max_size=14,
).map(lambda rows: [*((-1, thread, UI, MS) for thread in THREADS), *rows])
"""Several samples may have one time, also on one thread; each thread has one sample before all windows."""

WINDOWS = st.lists(
    st.builds(
        lambda start, length, source, thread, pid: Window(
            start * MS, (start + length) * MS, "", source, Basis.MEASURED, thread, pid
        ),
        st.integers(0, END),
        st.integers(0, 8),
        st.sampled_from(["manual", "stacks", "coreml-os-signpost", "ane-hw-intervals"]),
        st.integers(-1, len(THREADS) - 1),
        st.sampled_from([-1, 7, 7, 8, 9]),
    ),
    max_size=8,
)


def samples_of(members: Membership, window: int) -> Any:
    """The samples of one window in their order."""
    return members.samples[members.start[window] : members.stop[window]]


@dataclass(frozen=True)
class Case:
    trace: Trace
    windows: pd.DataFrame
    labels: SampleLabels
    members: Membership

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every (window, sample) of the membership."""
        return [
            (window, sample)
            for window in range(len(self.windows))
            for sample in samples_of(self.members, window).tolist()
        ]


def case_of(samples: list[Sample], windows: list[Window], nameless: bool = False) -> Case:
    """``nameless``: the samples of thread c have no thread."""
    trace = trace_of(samples, processes=PROCESSES)
    if nameless:
        thread = trace.samples["thread_id"]
        trace = replace(trace, samples=trace.samples.assign(thread_id=thread.where(thread != 2, -1)))
    frame, labels = build_window_frame(windows), label_samples(trace, RULES)
    return Case(trace, frame, labels, assign_samples(trace, labels, frame))


CASES = st.builds(case_of, SAMPLES, WINDOWS, st.booleans())


def listed(case: Case) -> tuple[set[tuple[int, int]], int]:
    """Every (window, sample) pair by the rules of ``assign_samples``, one by one, and the ambiguous samples."""
    times, threads = (case.trace.samples[name].tolist() for name in ("time_ns", "thread_id"))
    labels, windows = case.labels, case.windows.to_dict("records")
    inside = [
        (window["window_id"], sample)
        for window in windows
        for sample in range(len(times))
        if window["start_ns"] <= times[sample] < window["end_ns"]
    ]

    def is_call(window: int) -> bool:
        return windows[window]["source"] not in GIVEN_SOURCES

    def same_process(window: int, sample: int) -> bool:
        return windows[window]["pid"] in (-1, labels.pid[sample])

    def is_own(window: int, sample: int) -> bool:
        owner = windows[window]["thread_id"]
        if is_call(window):
            return bool(owner >= 0 and owner == threads[sample] and same_process(window, sample))
        return bool((owner < 0 or owner == threads[sample]) and same_process(window, sample))

    called = {sample for window, sample in inside if is_call(window) and is_own(window, sample)}

    def joins(window: int, sample: int) -> bool:
        if not is_call(window) or is_own(window, sample) or not same_process(window, sample):
            return False
        of_any = windows[window]["source"] in ANE_TABLES and windows[window]["pid"] < 0
        if of_any and windows[window]["thread_id"] < 0:
            return False
        if windows[window]["source"] == "stacks" or sample in called:
            return bool(labels.is_worker[sample])
        return bool(labels.is_worker[sample] or labels.is_ml[sample] or labels.in_call[sample])

    joined = [(window, sample) for window, sample in inside if joins(window, sample)]
    claimants: dict[int, set[tuple[str, int]]] = {}
    for window, sample in joined:
        owner = windows[window]["thread_id"]
        claimants.setdefault(sample, set()).add(("thread", owner) if owner >= 0 else ("window", window))
    ambiguous = {sample for sample, callers in claimants.items() if len(callers) > 1}
    members = {(window, sample) for window, sample in inside if is_own(window, sample)}
    served = {sample: next(iter(callers)) for sample, callers in claimants.items() if len(callers) == 1}
    ambiguous |= of_other_calls(served, labels, threads)
    return members | {pair for pair in joined if pair[1] not in ambiguous}, len(ambiguous)


def of_other_calls(served: dict[int, tuple[str, int]], labels: SampleLabels, threads: list[int]) -> set[int]:
    """The samples inside predictions of other threads, and all that join a call of one of several threads."""
    predicting = [sample for sample in served if labels.in_call[sample] and not labels.is_worker[sample]]
    callers: dict[tuple[str, int], set[int]] = {}
    for sample in predicting:
        callers.setdefault(served[sample], set()).add(threads[sample])
    unclear = {caller for caller, own in callers.items() if caller[0] == "window" and len(own) > 1}
    return {sample for sample in predicting if served[sample][0] == "thread"} | {
        sample for sample, caller in served.items() if caller in unclear
    }


@given(CASES)
def test_windows_count_the_samples_of_a_plain_list_of_pairs(case: Case) -> None:
    expected, ambiguous = listed(case)
    assert len(case.pairs) == len(set(case.pairs))
    assert set(case.pairs) == expected
    assert len(case.members.ambiguous) == ambiguous
    for window in range(len(case.windows)):
        assert (np.diff(samples_of(case.members, window)) > 0).all()


@given(CASES, st.booleans())
def test_sums_per_window_are_those_of_the_pairs(case: Case, by_code: bool) -> None:
    code, weight = case.labels.engine.astype(np.int64), case.trace.weights
    code[case.labels.phase < 0] = -1
    expected: Counter[tuple[int, int]] = Counter()
    weights: Counter[tuple[int, int]] = Counter()
    for window, sample in case.pairs:
        expected[window, int(code[sample])] += 1
        weights[window, int(code[sample])] += int(weight[sample])
    keys = sorted(key for key in expected if key[1] >= 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership_module, "_MAX_WINDOWS_PER_SAMPLE", -1 if by_code else 99)
        tally = case.members.tally(code, weight)
    assert list(zip(tally.window.tolist(), tally.code.tolist(), strict=True)) == keys
    assert tally.count.tolist() == [expected[key] for key in keys]
    assert tally.sums[0].tolist() == [weights[key] for key in keys]
    assert tally.first.tolist() == [
        min(s for w, s in case.pairs if (w, code[s]) == key) for key in keys
    ]  # fmt: skip


@given(CASES)
def test_marks_counts_and_parts_are_those_of_the_pairs(case: Case) -> None:
    members, size, number = case.members, len(case.trace.samples), len(case.windows)
    inside = {sample for _, sample in case.pairs}
    assert set(members.find_outside(size).tolist()) == set(range(size)) - inside
    assert members.times_counted(size).tolist() == [
        sum(sample == row for _, sample in case.pairs) for row in range(size)
    ]
    assert members.count(case.labels.is_ml).tolist() == [
        sum(bool(case.labels.is_ml[sample]) for window, sample in case.pairs if window == row)
        for row in range(number)
    ]
    stays, kept = np.arange(size) % 3 > 0, np.arange(number) % 3 < 2
    part = members.select(stays, kept)
    rows, windows = np.flatnonzero(stays), np.flatnonzero(kept)
    assert [rows[samples_of(part, window)].tolist() for window in range(len(windows))] == [
        [sample for sample in samples_of(members, window).tolist() if stays[sample]] for window in windows
    ]


@given(CASES)
def test_a_sample_is_shown_in_the_window_that_began_last_and_is_shortest(case: Case) -> None:
    analysis = SimpleNamespace(window_rows=case.windows, members=case.members, trace=case.trace)
    starts, ends = (case.windows[name].tolist() for name in ("start_ns", "end_ns"))
    for sample, window in enumerate(find_sample_windows(analysis).tolist()):  # type: ignore[arg-type]
        around = [w for w, s in case.pairs if s == sample]
        assert window == max(around, key=lambda w: (starts[w], -ends[w], w), default=-1)


INTERVALS = st.lists(
    st.builds(
        lambda kind, start, length: kind(start, start + length),
        st.sampled_from([ane, mps, lambda start, end: core_ml(start, end, "CPU", "A")]),
        st.integers(0, END),
        st.integers(0, 5),
    ),
    max_size=5,
)


def covered(spans: list[tuple[int, int]]) -> int:
    """The length of the union of half-open intervals."""
    edges = sorted({edge for span in spans for edge in span})
    return sum(
        after - before
        for before, after in pairwise(edges)
        if any(start <= before and after <= end for start, end in spans)
    )


PREPARING = [PHASE_CODE[phase] for phase in (Phase.LOAD, Phase.COMPILE)]


@pytest.mark.integration
@given(SAMPLES, WINDOWS, INTERVALS, st.integers(1, 4))
def test_times_are_those_of_the_pairs(
    samples: list[Sample], windows: list[Window], rows: list[Interval], block: int
) -> None:
    trace = with_evidence(trace_of(samples, processes=PROCESSES), rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "BLOCK", block)  # the head of a range in blocks
        analysis = analyze(trace, windows=windows)
    times, weights = trace.samples["time_ns"].tolist(), trace.weights.tolist()
    frame = analysis.window_rows
    for window, (start, end) in enumerate(zip(frame["start_ns"], frame["end_ns"], strict=True)):
        samples = samples_of(analysis.members, window).tolist()
        spans = {s: (times[s], min(times[s] + weights[s], end)) for s in samples}
        loading = [spans[s] for s in samples if analysis.labels.phase[s] in PREPARING]
        if analysis.times["preparing_basis"].iloc[window] != Basis.MEASURED:
            assert analysis.times["preparing_ns"].iloc[window] == covered(loading)
        measured = [
            (max(start, row.start * MS), min(end, row.end * MS)) for row in rows if row.pid in (-1, 7)
        ]
        idle = analysis.times["idle_ns"].iloc[window]
        if not pd.isna(idle) and frame["pid"].iloc[window] in (-1, 7):
            assert idle == end - start - covered([*measured, *spans.values()])


@pytest.mark.integration
@given(SAMPLES, WINDOWS, INTERVALS)
def test_segments_in_blocks_are_those_of_all_windows_at_once(
    samples: list[Sample], windows: list[Window], rows: list[Interval]
) -> None:
    trace = with_evidence(trace_of(samples, processes=PROCESSES), rows)
    whole = analyze(trace, windows=windows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "BLOCK", 5)
        parts = analyze(trace, windows=windows)
    pd.testing.assert_frame_equal(parts.segments, whole.segments)
    assert parts.verdicts == whole.verdicts
    assert parts.to_json() == whole.to_json()
    for engines, verdict in zip(whole.verdicts.engines, verdicts_of(whole), strict=True):
        assert {engine for bit, engine in enumerate(SERVING) if engines >> bit & 1} == set(verdict.order)


PAIRS = Membership.pairs


def few_pairs(members: Membership, windows: IntArray) -> tuple[IntArray, IntArray]:
    assert members.counts[windows].sum() <= ranges.BLOCK
    return PAIRS(members, windows)


def test_overlap_costs_no_memory_per_pair() -> None:
    # 5,000 windows around 5,000 samples each are 25 million pairs; a list of them takes a gigabyte.
    count = 5_000
    trace = trace_of([(0.1 * number, "a", BNNS) for number in range(count)])
    windows = [
        Window(-number, 10**9 + number, "", "coreml-os-signpost", Basis.MEASURED, 0, 7)
        for number in range(count)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Membership, "pairs", few_pairs)
        analysis = analyze(trace, windows=windows)
    assert (analysis.members.counts == count).all()
    assert analysis.attribution_rows["samples"].tolist() == [count] * count
