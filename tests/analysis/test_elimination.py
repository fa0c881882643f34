"""Calls of several threads that follow one another at once: each has the thread that no other row explains."""

from __future__ import annotations

import pytest
from evidence_support import Interval, prediction, with_evidence
from trace_support import BNNS, UI, Sample, trace_of

from tracekit import analyze

# Thread a makes the first three, thread b the other two.
ROWS = [prediction(start, start + 9.8) for start in (10, 20, 30)]
BESIDE = [prediction(start, start + 9.8, "Seg") for start in (15, 25)]


def inside(thread: str, start: int, end: int) -> list[Sample]:
    """Samples of a prediction, one in each millisecond, and one before it."""
    return [(0, thread, UI), *((time + 0.4, thread, BNNS) for time in range(start, end))]


def threads(samples: list[Sample], rows: list[Interval]) -> dict[float, str]:
    """The thread of each call by its start."""
    trace = with_evidence(trace_of(samples), rows)
    calls = analyze(trace, windows="coreml").window_rows
    names = [*trace.threads["name"].tolist(), "none"]
    return dict(zip(calls["start_ns"] / 1e6, (names[row] for row in calls["thread_id"]), strict=True))


def test_each_call_has_the_thread_that_is_in_no_other_one() -> None:
    samples = [*inside("a", 10, 40), *inside("b", 15, 35)]
    assert threads(samples, [*ROWS, *BESIDE]) == {10: "a", 15: "b", 20: "a", 25: "b", 30: "a"}


def test_a_thread_whose_calls_no_table_lists_may_have_made_any() -> None:
    samples = [*inside("a", 10, 40), *inside("b", 15, 35), *inside("c", 12, 38)]
    found = threads(samples, [*ROWS, *BESIDE])
    assert (found[20], found[25], found[30]) == ("none", "none", "none")


@pytest.mark.parametrize("starts", [(10, 20, 30), (10, 10.1, 20, 20.1)])
def test_calls_that_begin_together_have_no_known_thread(starts: tuple[float, ...]) -> None:
    samples = [*inside("a", 10, 40), *inside("b", 10, 40)]
    rows = [prediction(start, start + 9.8) for start in starts]
    assert set(threads(samples, rows).values()) == {"none"}


def test_a_thread_that_is_first_seen_in_a_call_may_be_in_a_cut_one() -> None:
    b: list[Sample] = [(13.4, "b", BNNS), *inside("b", 15, 35)[1:]]
    assert threads([*inside("a", 10, 30), *b], ROWS[:2])[10] != "b"
