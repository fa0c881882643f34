"""Verdicts and sentences, word by word."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pandas as pd
import pytest
from evidence_support import Interval, ane, codes, core_ml, gpu, manual, mps, prediction, with_evidence
from trace_support import ANE, BNNS, RUNTIME, UI, Sample, trace_of
from verdict_support import Verdict, in_words, verdicts_of

from tracekit import Analysis, analyze
from tracekit.analysis.classification.leading_frames import DecidingFrame, LeadingFrames
from tracekit.analysis.engines.attribution import Share
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.engines.segments import SEGMENTS, Segments
from tracekit.analysis.engines.transitions import POSITIONS, Transitions, find_transitions
from tracekit.analysis.verdicts import RunFacts, Verdicts
from tracekit.model.columns import ATTRIBUTION
from tracekit.model.trace import WeightUnit
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, SERVING, Basis, Engine, Phase
from tracekit.report.wording.verdicts import format_transitions

Segment: TypeAlias = tuple[int, int, str, int, int, str]
MS = 1_000_000
EXECUTE = Phase.EXECUTE
TABLES = {Engine.ANE: "ane-hw-intervals", Engine.GPU: "metal-gpu-intervals"}
FRAME = DecidingFrame("BNNSFilterApply", "libBNNS.dylib", "cpu.bnns-filter")
COMPILE = "Net_0123456789ab Neural Engine Compile"


def share(engine: Engine, phase: Phase | None, samples: int = 0, busy: float | None = None) -> Share:
    busy_ns = None if busy is None else round(busy * MS)
    return Share(engine, phase, samples, samples * MS, samples * MS, busy_ns, None)


def segment(engine: Engine, start: float, length: float, basis: Basis = Basis.MEASURED) -> Segment:
    is_host = basis is not Basis.MEASURED and engine is not Engine.CPU
    busy_ns, host_ns = (round(length * MS) * part for part in (not is_host, is_host))
    return round(start * MS), round((start + length) * MS), str(engine), busy_ns, host_ns, str(basis)


def segments_of(*windows: list[Segment]) -> Segments:
    rows = [(window, *segment) for window, segments in enumerate(windows) for segment in segments]
    frame = pd.DataFrame(rows, columns=list(SEGMENTS.required)).astype(SEGMENTS.required)
    return Segments([(0, len(windows))], lambda first, after: frame)


def verdict_of(
    shares: list[Share],
    segments: list[Segment] | None = None,
    length: float = 10,
    unit: WeightUnit = "ns",
    served: int = 0,
) -> Verdict:
    """Return the verdict of a single window with these rows of an attribution."""
    rows = pd.DataFrame([row._asdict() for row in shares])
    attribution = rows.assign(window_id=0)[list(ATTRIBUTION.required)].astype(dict(ATTRIBUTION.required))
    windows = pd.DataFrame(
        {"start_ns": [0], "end_ns": [round(length * MS)], "source": pd.Categorical(["manual"])}
    )
    frames = np.full((1, len(ENGINES)), -1)
    frames[0, [ENGINE_CODE[Engine.CPU], ENGINE_CODE[Engine.ANE]]] = [0, 1]
    none = np.zeros(1, np.int64)
    verdicts = Verdicts(
        windows,
        attribution,
        LeadingFrames((FRAME, DecidingFrame("submit", "ANEServices", "ane.x")), frames),
        none,
        RunFacts(TABLES, unit),
        LoggedRequests(none + served, none, {}, (), (), ()),
        segments_of(segments or []),
        none,
    )
    return in_words(verdicts.block())


def of(samples: list[Sample], *rows: Interval, start: float = 10, end: float = 20) -> Analysis:
    return analyze(with_evidence(trace_of(samples), rows), windows=[manual(start, end)])


def why(samples: list[Sample], *rows: Interval) -> str:
    (verdict,) = verdicts_of(of(samples, *rows))
    assert verdict.verdict == "UNKNOWN"
    return verdict.why


# One window -------------------------------------------------------------------------------------------------


def test_the_fallback_in_the_middle() -> None:
    """The example of the guide."""
    verdict = verdict_of(
        [share(Engine.ANE, EXECUTE, busy=3.4), share(Engine.CPU, EXECUTE, samples=2)],
        [
            segment(Engine.ANE, 0, 1.4),
            segment(Engine.CPU, 1.5, 0.5, Basis.SAMPLED),
            segment(Engine.ANE, 2, 2),
        ],
        length=4.1,
    )
    assert verdict.verdict == "MIXED"
    assert verdict.sentence == (
        "ran on the ANE (measured, 83 % of 4.1 ms) with a CPU fallback in the middle"
        " (BNNSFilterApply in libBNNS.dylib, 2 samples)"
    )
    assert verdict.why == (
        "ANE busy 3.4 ms of 4.1 ms (measured); ANE 1.4 ms → CPU 0.5 ms (sampled) → ANE 2.0 ms;"
        f" CPU 2 samples, 2.0 ms host time (running its code: {FRAME})"
    )
    assert (
        verdict.reason
        == f"ANE: measured in the table ane-hw-intervals; CPU: sampled while running its code: {FRAME};"
        " in the order ANE → CPU → ANE"
    )


@pytest.mark.parametrize(
    ("rows", "action"),
    [
        ([mps(11, 15)], "ran MPSGraph programs, counted for the GPU"),
        ([gpu(11, 15)], "ran on the GPU"),
        ([gpu(11, 15), mps(11, 15)], "ran on the GPU"),
    ],
)
def test_mpsgraphs_table_alone_does_not_show_which_engine_worked(rows: list[Interval], action: str) -> None:
    (verdict,) = verdicts_of(of([], *rows))
    assert verdict.verdict == "GPU"
    assert verdict.sentence.startswith(f"{action} (measured, ")


@pytest.mark.parametrize(
    ("shares", "verdict", "short"),
    [
        ([share(Engine.ANE, EXECUTE, busy=10)], "ANE", "ran on the ANE (measured, 100 % of 10.0 ms)"),
        ([share(Engine.GPU, EXECUTE, busy=2)], "GPU", "ran on the GPU (measured, 20 % of 10.0 ms)"),
        ([share(Engine.ANE, Phase.DISPATCH, samples=1)], "ANE", "submitted work to the ANE (1 sample)"),
        ([share(Engine.CPU, Phase.COPY, samples=3)], "CPU", "ran on the CPU (3 samples)"),
        (
            [share(Engine.ANE, Phase.DISPATCH, 1), share(Engine.ANE, Phase.WAIT, 2)],
            "ANE",
            "submitted work to the ANE (3 samples)",
        ),
        (
            [share(Engine.GPU, EXECUTE, busy=4), share(Engine.ANE, EXECUTE, busy=5)],
            "MIXED",
            "ran on the ANE (measured, 50 % of 10.0 ms) with work on the GPU (measured, 4.0 ms)",
        ),
        # Without a number of its own, an engine did not serve.
        ([share(Engine.ANE, EXECUTE, busy=0), share(Engine.GPU, EXECUTE, busy=1)], "GPU", None),
        ([share(Engine.ANE, Phase.COMPILE, 5, 9), share(Engine.GPU, EXECUTE, busy=1)], "GPU", None),
        ([share(Engine.ANE, Phase.IDLE, 5), share(Engine.CPU, EXECUTE, 1)], "CPU", None),
        ([share(Engine.GRAPHICS, None, 5, 9), share(Engine.CPU, EXECUTE, 1)], "CPU", None),
    ],
)
def test_short_sentences(shares: list[Share], verdict: str, short: str | None) -> None:
    actual = verdict_of(shares)
    assert actual.verdict == verdict
    assert short in (None, actual.sentence)


def test_a_request_in_the_log_is_enough() -> None:
    verdict = verdict_of([share(Engine.CPU, EXECUTE, samples=2)], served=1)
    assert verdict.verdict == "MIXED"
    assert (
        verdict.sentence
        == "ran on the CPU (2 samples) with work on the ANE (submit in ANEServices, 1 request by the log)"
    )
    assert verdict.why.startswith("1 request to the ANE served (by the log); CPU 2 samples")


@pytest.mark.parametrize(
    ("order", "place"),
    [
        ("ANE CPU ANE", " in the middle"),
        ("CPU ANE", " at the start"),
        ("ANE CPU", " at the end"),
        ("CPU ANE CPU", " before and after"),
        ("ANE GPU CPU ANE", " in the middle"),
        ("ANE", ""),
        ("", ""),
    ],
)
def test_where_the_fallback_was(order: str, place: str) -> None:
    stretches = [segment(Engine(name), start, 1) for start, name in enumerate(order.split())]
    verdict = verdict_of(
        [share(Engine.ANE, EXECUTE, busy=5), share(Engine.CPU, EXECUTE, samples=1)], stretches
    )
    assert f"with a CPU fallback{place} (BNNS" in verdict.sentence


def texts_of(transitions: Transitions) -> list[str]:
    return format_transitions(transitions).to_pylist()


def test_transitions_in_words() -> None:
    few = [
        segment(Engine.ANE, 0, 2),
        segment(Engine.CPU, 2, 2.1, Basis.SAMPLED),
        segment(Engine.ANE, 5, 18),
        segment(Engine.GPU, 30, 0.05, Basis.INFERRED),
    ]
    again = [(start + 100 * MS, end + 100 * MS, *other_values) for start, end, *other_values in few]
    segments = segments_of(few, [], [*few, *again])
    first, none, last = texts_of(find_transitions(segments, 0, 3, np.full(3, -1)))
    assert first == "ANE 2.0 ms → CPU 2.1 ms (sampled) → ANE 18.0 ms → GPU host 50.0 µs (inferred)"
    assert none == ""
    assert last.endswith("→ ANE 2.0 ms → CPU 2.1 ms (sampled) → 2 more")
    assert texts_of(find_transitions(segments, 2, 3, np.full(1, -1))) == [last]


def test_transitions_of_engines_at_once() -> None:
    segments = segments_of(
        [segment(Engine.ANE, 0, 5), segment(Engine.CPU, 4, 2, Basis.SAMPLED)],
        [segment(Engine.ANE, 5, 1), segment(Engine.CPU, 6, 2, Basis.SAMPLED)],
        [segment(Engine.GPU, 0, 9)],
    )
    ane, cpu = SERVING.index(Engine.ANE), SERVING.index(Engine.CPU)
    for engine, lead, place in ((cpu, ane, "end"), (ane, cpu, "start")):
        transitions = find_transitions(segments, 0, 3, np.full(3, lead))
        assert [POSITIONS[code] for code in transitions.position[engine]] == ["at the same time", place, ""]
    assert texts_of(transitions)[0] == "ANE 5.0 ms ∥ CPU 2.0 ms (sampled)"


def test_cycles_are_no_host_time() -> None:
    verdict = verdict_of([share(Engine.CPU, EXECUTE, samples=2)], unit="cycles")
    assert verdict.why == f"CPU 2 samples, 2,000,000 cycles (running its code: {FRAME})"


def test_a_request_that_core_ml_reported_is_enough() -> None:
    (verdict,) = verdicts_of(of([(1, "a", UI), (25, "a", UI)], core_ml(11, 15, "Neural Engine Request")))
    assert (verdict.verdict, verdict.sentence) == (
        "ANE",
        "submitted work to the ANE (a request that Core ML reported)",
    )


def test_a_dispatch_without_an_interval_is_reported() -> None:
    samples: list[Sample] = [(11, "a", ANE), (12, "a", UI)]
    analysis = of(samples, ane(30, 31))
    (verdict,) = verdicts_of(analysis)
    assert "ane-hw-intervals has no ANE interval here" in verdict.why
    assert codes(analysis)["ane-dispatch-without-interval"] == 1
    (text,) = [i.message for i in analysis.issues if i.code == "ane-dispatch-without-interval"]
    assert text.startswith("In 1 of 1 call the app submitted work to the Neural Engine, but no hardware")
    for rows in ([], [ane(13, 14)], [gpu(30, 31)]):
        assert "ane-dispatch-without-interval" not in codes(of(samples, *rows))


# UNKNOWN ----------------------------------------------------------------------------------------------------


def test_unknown_names_the_missing_evidence() -> None:
    far: list[Sample] = [(0, "a", UI), (30, "a", UI)]
    assert why(far) == "no sample in this range"
    assert why(far, ane(30, 31)) == "no sample in this range, and no interval of inference on the ANE"
    assert why(far, ane(30, 31), gpu(30, 31)) == (
        "no sample in this range, and no interval of inference on the ANE or the GPU"
    )
    # An app's or the window server's drawing is no inference.
    assert why([(11, "a", UI)], ane(30, 31)) == "the only sample shows no ML runtime and no engine"


@pytest.mark.parametrize(
    ("stacks", "expected"),
    [
        ([UI, UI], "none of the 2 samples shows an ML runtime or an engine"),
        ([UI, RUNTIME], "1 of 2 samples are inside an ML runtime, but none reaches the code of an engine"),
        ([None, None], "none of the 2 samples has a stack with symbols"),
        ([None, UI], "none of the 2 samples shows an ML runtime or an engine"),
    ],
)
def test_unknown_by_its_samples(stacks: list[tuple[str, ...] | None], expected: str) -> None:
    assert why([(11 + time, "a", stack) for time, stack in enumerate(stacks)]) == expected


# A run ------------------------------------------------------------------------------------------------------


def run_of(lengths: list[float], fallback_in: tuple[int, ...] = (), compiles: float = 0) -> Analysis:
    """Predictions from 0, 1000, 2000 ms on, each with the ANE busy all the time but for the first ms."""
    rows, samples = [], [(0.0, "a", UI)]
    for call, length in enumerate(lengths):
        start = 1000 * call
        rows += [
            prediction(start, start + length),
            ane(start + (compiles if call == 0 else 0) + 1, start + length),
        ]
        if call in fallback_in:
            samples.append((start + 0.2, "a", BNNS))
    if compiles:
        rows.append(ane(0.5, 0.5 + compiles, COMPILE))
    return analyze(with_evidence(trace_of([*samples, (10**6, "a", UI)]), rows))


def test_one_of_42_calls_has_work_beside_the_engine() -> None:
    analysis = run_of([212, *[5] * 41], fallback_in=(7,), compiles=190)
    assert analysis.headline == (
        "Net ran on the Neural Engine in all 42 calls, with work on the CPU in 1 of them: 5.00 ms per call, the"
        " Neural Engine busy 80 % of it. Costs most: compiling the model, 190 ms."
    )


def test_the_busy_share_of_an_engine_in_some_calls_is_of_these_calls() -> None:
    calls = [row for start in (0, 100) for row in (prediction(start, start + 20), ane(start, start + 16))]
    rows = [*calls, core_ml(116, 120, "CPU")]
    assert analyze(with_evidence(trace_of([(0, "a", UI)]), rows)).headline == (
        "Net ran on the Neural Engine in both calls, with work on the CPU in 1 of them: 20.0 ms per call, the"
        " Neural Engine busy 80 % of it, the CPU busy 20 % of that one."
    )


def test_first_against_warm() -> None:
    summary = run_of([212, 5, 6, 7, 50], compiles=190).summary
    actual = [summary.first_ns, summary.p50_ns, summary.p90_ns, summary.warm_p50_ns, summary.warm_p99_ns]
    assert actual == [212 * MS, 7 * MS, 212 * MS, 6 * MS, 50 * MS]
    assert summary.first_preparing_ns == 190 * MS
    assert summary.verdicts == {"ANE": 5}


def test_one_call_is_compared_with_nothing() -> None:
    analysis = run_of([5])
    assert analysis.headline == (
        "Net ran on the Neural Engine in its only call: 5.00 ms, the Neural Engine busy 80 % of it."
    )
    assert analysis.summary.warm_p50_ns is None


def test_both_calls_on_the_engine_and_one_of_them_not_alone() -> None:
    assert run_of([5, 5], fallback_in=(1,)).headline == (
        "Net ran on the Neural Engine in both calls, with work on the CPU in 1 of them: 5.00 ms per call, the"
        " Neural Engine busy 80 % of it."
    )


def test_per_model() -> None:
    rows = [
        prediction(0, 10, "A"),
        prediction(20, 50, "B"),
        prediction(60, 64, "A"),
        ane(61, 63, "A_main__Op0_AneInference"),
    ]
    summary = analyze(with_evidence(trace_of([(0, "a", UI), (70, "a", UI)]), rows)).summary
    assert {
        name: (durations.windows, durations.first_ns, durations.warm_p50_ns)
        for name, durations in summary.models.items()
    } == {
        "A": (2, 10 * MS, 4 * MS),
        "B": (1, 30 * MS, None),
    }
    assert summary.models["A"].verdicts == {"UNKNOWN": 1, "ANE": 1}
    assert (summary.windows, summary.first_ns, summary.warm_p50_ns) == (3, 10 * MS, 4 * MS)


def test_given_windows_have_no_first() -> None:
    trace = with_evidence(trace_of([(0, "a", UI), (90, "a", UI)]), [ane(1, 5), ane(21, 25)])
    analysis = analyze(trace, windows=[manual(0, 10), manual(20, 30)])
    assert analysis.headline == "Inference ran on the Neural Engine in both chosen time ranges."


def test_models_of_one_name_have_the_number_of_their_process() -> None:
    rows = [prediction(0, 10), prediction(20, 29, pid=88)]
    trace = with_evidence(trace_of([(1, "a", BNNS), (21, "b", BNNS)], processes={"b": 88}), rows)
    assert analyze(trace).headline == (
        "Net (process 7) ran on the CPU in its only call (seen on stacks): 10.0 ms."
        " Net (process 88) ran on the CPU in its only call (seen on stacks): 9.00 ms."
    )


def test_a_call_of_a_function_names_every_engine_that_it_shows() -> None:
    samples = [(start, "a", ANE if start < 5 else BNNS) for start in range(10)]
    other = ane(500, 505, "Other_main__Op0_AneInference")
    assert analyze(with_evidence(trace_of(samples), [other])).headline.startswith(
        "One call of -[MLModel predictionFromFeatures:error:] (or several without a sample between) submitted work to the Neural"
        " Engine (seen on stacks, not measured), with work on the CPU (seen on stacks): "
    )


def test_the_whole_run() -> None:
    trace = with_evidence(trace_of([(0, "a", UI), (9, "a", UI)]), [ane(1, 6)])
    assert analyze(trace, windows="run").headline == (
        "Over the whole recording, inference used the Neural Engine; single calls cannot be separated."
    )


def test_a_whole_run_of_mpsgraph_does_not_claim_the_gpu() -> None:
    trace = with_evidence(trace_of([]), [mps(1, 6), mps(8, 9)])
    assert analyze(trace, windows="run").headline == (
        "Over the whole recording, inference used MPSGraph programs, counted for the GPU; single calls cannot be"
        " separated."
    )


def test_a_load_without_a_call_is_some_evidence() -> None:
    trace = with_evidence(trace_of([]), [core_ml(1, 5, "Load")])
    assert analyze(trace).headline == (
        "A model was compiled or loaded (measured), but nothing here shows it running."
    )


def test_nothing_at_all() -> None:
    analysis = analyze(trace_of([]))
    assert analysis.summary.windows == 0
    assert analysis.headline == (
        "This recording has no ML evidence: no sample, and no interval of inference on an engine."
    )
    trace = with_evidence(trace_of([]), [prediction(0, 5)])
    assert analyze(trace).headline == ("No engine is visible in the only call of Net.")


@pytest.mark.parametrize("samples", [[], [(0, "a", UI), (60, "a", UI)]])
def test_predictions_without_a_length_are_no_sign_that_no_model_ran(samples: list[Sample]) -> None:
    trace = with_evidence(trace_of(samples), [prediction(10, 10), prediction(30, 30)])
    assert analyze(trace).headline == (
        "2 predictions were reported without a length, so neither the engine nor the time of a call can be"
        " determined."
    )
    assert [finding.kind for finding in analyze(trace).findings] == ["no-calls-seen"]
