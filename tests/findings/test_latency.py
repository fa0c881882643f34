"""Long calls, drift and two groups of lengths of one model; and what only looks like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from evidence_support import Interval, ane, core_ai, core_ml, prediction, with_evidence
from trace_support import BNNS, CALL, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings.finding import Finding, WindowRanges
from tracekit.checks.parser import parse_requirement
from tracekit.model.columns import INTERVALS, TRACKS
from tracekit.model.trace import Trace
from tracekit.report.wording.findings import FindingText, finding_text

KINDS = ("latency-outliers", "latency-drift", "two-populations")
NOISE = np.random.default_rng(3).normal(0, 0.02, 400)


def recording(lengths: Sequence[float], *others: Interval, labels: Sequence[str] = ()) -> Trace:
    """Return calls of these lengths in ms, 100 ms apart, on the Neural Engine; varied by 2 %."""
    rows: list[Interval] = [*others]
    for number, length in enumerate(lengths):
        start, end = 100.0 * number, 100 * number + length * (1 + NOISE[number])
        rows.append(core_ai(start, end, function=labels[number]) if labels else prediction(start, end))
        rows.append(
            ane(start + 1, start + 2, "main_ANE_region_0_0" if labels else "Net_main__Op0_AneInference")
        )
    return with_evidence(trace_of([(0, "a", UI)]), rows)


def latency(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind in KINDS]


def only(trace: Trace) -> tuple[Finding, FindingText]:
    (finding,) = latency(analyze(trace))
    return finding, finding_text(finding, trace.info)


def test_calls_far_longer_than_the_rest() -> None:
    """Two of 39 calls take 30 and 50 instead of 10 ms; the first one is not compared."""
    lengths = [25.0] + [10.0] * 39
    lengths[7], lengths[20] = 30, 50
    finding, text = only(recording(lengths))
    assert (finding.kind, finding.severity, finding.confidence) == ("latency-outliers", "warning", "certain")
    assert (finding.model, finding.windows) == ("Net", WindowRanges(2, ((7, 7), (20, 20))))
    assert finding.start_ns == 2000 * MS
    assert finding.lost_ns == pytest.approx(60 * MS, rel=0.03)
    assert text.title.startswith("2 of 39 calls of Net took far longer than the rest: up to 50.")
    assert "The longest calls: the 21st (at 2.00 s, 50." in text.detail
    look, hold = (step.command for step in text.next_steps)
    assert look.startswith("tracekit analyze literal --window 2000.000ms-2050.")
    assert parse_requirement(hold.split("'")[1])


@pytest.mark.parametrize(
    "lengths",
    [
        [10.0] * 40,
        [25.0, *[10.0] * 39],  # a cold first call
        [10.0] * 20 + [14.0] + [10.0] * 19,  # not far longer
        [0.3] * 20 + [0.7] + [0.3] * 19,  # 0.4 ms: a clock's or a scheduler's
        [10.0] * 10 + [30.0] + [10.0] * 8,  # too few calls
        [10.0] * 5 + [11.0] * 35,  # one small step is no drift
    ],
)
def test_lengths_alike(lengths: list[float]) -> None:
    assert latency(analyze(recording(lengths))) == []


def test_a_call_that_loads_its_model_is_no_outlier() -> None:
    """Compiling and loading have findings of their own."""
    lengths = [10.0] * 40
    lengths[20] = 50
    trace = recording(lengths, core_ml(2005, 2040, "Load Model", model="Net"))
    assert latency(analyze(trace)) == []


def test_what_happened_during_a_long_call() -> None:
    lengths = [10.0] * 40
    lengths[20] = 50
    _, text = only(heated(recording(lengths, prediction(2001, 2003, model="Tiny")), 2020, 2))
    assert "the first call of Tiny (at 2.00 s)" in text.detail
    assert "the thermal state became serious (at 2.02 s)" in text.detail
    assert "Another call ran at the same time in 1 of the 1 long ones, and in 0 of the 38" in text.detail


def heated(trace: Trace, time: float, level: float) -> Trace:
    rows = [(0, "Thermal state", "", 0.0), (round(time * MS), "Thermal state", "", level)]
    return replace(
        trace, tracks=pd.DataFrame(rows, columns=list(TRACKS.required)).astype(dict(TRACKS.required))
    )


def test_calls_that_grow_longer() -> None:
    trace = heated(recording(np.linspace(10, 15, 60).tolist()), 3000, 2)
    finding, text = only(trace)
    assert (finding.kind, finding.severity, finding.confidence) == ("latency-drift", "warning", "likely")
    assert finding.lost_ns == pytest.approx(59 * 2.4 * MS, rel=0.1)
    assert text.title == "Net grew slower along the run: from 10.2 ms to 14.8 ms per call."
    assert text.detail == (
        "In this time: the thermal state became serious (at 3.00 s). That proves no cause."
    )
    assert text.next_steps[0].command == (
        "tracekit record --app APP --preset coreml --instrument 'Thermal State' --time-limit 60s"
    )


def test_calls_that_grow_shorter_cost_nothing() -> None:
    finding, text = only(recording(np.linspace(15, 10, 60).tolist()))
    assert (finding.kind, finding.severity, finding.lost_ns) == ("latency-drift", "info", None)
    assert "grew faster along the run" in text.title
    assert text.detail == "The thermal state was not recorded; heat often looks like this."


def test_two_groups_of_lengths() -> None:
    finding, text = only(recording([10.0, 20.0, 10.0] * 20))
    assert (finding.kind, finding.severity, finding.lost_ns) == ("two-populations", "info", None)
    assert finding.windows.count == 20
    assert text.title == "The calls of Net form two groups: 39 of about 9.96 ms, 20 of about 20.0 ms."
    assert text.detail == (
        "On average, a call of the longer group has: time that the recording does not show +10.0 ms (±264 µs)."
        " Neither function, thread nor time separates them. Inputs of two shapes often look like this."
    )


def test_the_parts_in_which_two_groups_differ() -> None:
    """Every third call has 8 ms more of the Neural Engine and 2 ms more that no sample or table shows."""
    rows: list[Interval] = []
    for number in range(60):
        start, is_long = 100.0 * number, number % 3 == 1
        engine_ms = (12 if is_long else 4) * (1 + NOISE[number])
        rows.append(prediction(start, start + engine_ms + (8 if is_long else 6)))
        rows.append(ane(start + 1, start + 1 + engine_ms, "Net_main__Op0_AneInference"))
    finding, text = only(with_evidence(trace_of([(0, "a", UI)]), rows))
    parts = {part.part: part.difference_ns / MS for part in finding.numbers["parts"]}
    assert parts == {"ANE": pytest.approx(8, abs=0.2), "unknown": pytest.approx(2, abs=0.01)}
    assert text.detail.startswith("On average, a call of the longer group has: Neural Engine +8.0")


def test_two_groups_that_are_two_functions() -> None:
    labels = ["small", "large", "small"] * 20
    _, text = only(recording([10.0, 20.0, 10.0] * 20, labels=labels))
    assert (
        text.detail.partition("). ")[2]
        == "They differ by function: Scene::small (short) and Scene::large (long)."
    )


def test_two_groups_on_two_threads() -> None:
    trace = recording([10.0, 20.0, 10.0] * 20)
    samples: list[Sample] = [
        (100 * n + tick, "b" if n % 3 == 1 else "a", CALL)
        for n in range(60)
        for tick in range(1, 19 if n % 3 == 1 else 9)
    ]
    sampled = trace_of(samples)
    trace = replace(sampled, intervals=trace.intervals, tables=trace.tables)
    assert only(trace)[1].detail.partition("). ")[2] == "They differ by thread: a (short) and b (long)."


def test_two_groups_one_after_the_other() -> None:
    _, text = only(recording([10.0] * 30 + [20.0] * 30, core_ml(2960, 2970, "Load Model", model="Other")))
    assert "Calls are longer since the 31st (at 3.00 s). Just then: Other was loaded" in text.detail


def test_functions_are_compared_with_themselves() -> None:
    """A tenth of the calls are of a function that takes longer: none of them is an outlier but its long one."""
    lengths, labels = ([10.0] * 9 + [30.0]) * 20, (["small"] * 9 + ["large"]) * 20
    assert latency(analyze(recording(lengths, labels=labels))) == []
    lengths[59] = 90
    finding, _ = only(recording(lengths, labels=labels))
    assert (finding.kind, finding.windows.ranges) == ("latency-outliers", ((59, 59),))
    assert finding.lost_ns == pytest.approx(60 * MS, rel=0.05)


def test_calls_on_another_engine_are_not_compared() -> None:
    """Calls without the engine are longer; that is a change of engine, not a long call."""
    trace = recording([10.0] * 40)
    rows = [prediction(4000 + 100 * n, 4030 + 100 * n) for n in range(3)]
    both = with_evidence(replace(trace, tables=()), rows)
    joined = pd.concat([trace.intervals, both.intervals], ignore_index=True)
    joined = joined.astype(dict(INTERVALS.required))
    cpu: list[Sample] = [(4000 + 100 * n + tick, "a", BNNS) for n in range(3) for tick in range(1, 29)]
    analysis = analyze(replace(trace_of(cpu), intervals=joined, tables=trace.tables))
    assert "fell-back" in {finding.kind for finding in analysis.findings}
    assert latency(analysis) == []


def test_windows_of_the_user_have_no_latency() -> None:
    lengths = [10.0] * 40
    lengths[20] = 50
    windows = [f"{100 * n}ms-{100 * n + length}ms" for n, length in enumerate(lengths)]
    assert latency(analyze(recording(lengths), windows=windows)) == []


def test_another_mix_of_functions_at_the_end_is_no_part_of_a_drift() -> None:
    """Each function grows slower by 18 %; the shorter one is all of the last tenth, the longer of the first."""
    labels = ["main", "main"] + ["long"] * 20 + ["long", "short"] * 80 + ["short"] * 20
    lengths = [(5 if label != "short" else 4) * (1 + 0.0009 * number) for number, label in enumerate(labels)]
    finding, text = only(recording(lengths, labels=labels))
    assert (finding.kind, finding.numbers["is_slower"]) == ("latency-drift", True)
    assert finding.numbers["last_ns"] > 1.1 * finding.numbers["first_ns"]
    assert text.detail.startswith("Calls of each of its functions are compared with each other.")
