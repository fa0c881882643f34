"""The calling thread between calls: the app's own work, conversions, allocations and loads."""

from __future__ import annotations

import pytest
from evidence_support import Interval, core_ml, prediction, with_evidence
from trace_support import BNNS, CALL, LOAD, MS, UI, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.engines.codes import is_phase
from tracekit.analysis.findings.finding import Finding
from tracekit.model.vocabulary import Phase
from tracekit.report.wording.findings import finding_text

ROOT = ("App7 | Pipeline.run()", "App7 | main")
PREPARE = ("libsystem_m.dylib | exp", "App7 | Spectrogram.transform(_:)", *ROOT)
DECODE = ("App7 | Decoder.bestPath(_:)", *ROOT)
RESIZE = ("CoreGraphics | CGContextDrawImage", "App7 | ImageSource.next()", *ROOT)
ALLOCATE = ("CoreVideo | CVPixelBufferCreate", "App7 | ImageSource.next()", *ROOT)
SYSTEM = ("libsystem_kernel.dylib | read", "Foundation | -[NSFileHandle readData]")
KINDS = {"work-beside-calls", "conversions", "allocations", "load-per-call"}

Stack = tuple[str, ...]


def calls_after(
    *work: tuple[Stack, int],
    count: int = 6,
    every: int = 1,
    thread: str = "a",
    rows: tuple[Interval, ...] = (),
    reported: bool = True,
) -> Analysis:
    """Return calls of 10 ms; before each (or every so many), the thread spends some ms in these stacks."""
    intervals, samples, time = [*rows], [(0.0, thread, UI)], 20.0
    for number in range(count):
        for stack, length in work if number % every == 0 else ():
            samples += [(time + tick, thread, stack) for tick in range(length)]
            time += length
        intervals += [prediction(time, time + 10)] if reported else []
        samples += [(time + tick + 0.5, thread, BNNS) for tick in range(10)]
        time += 20
        samples += [(time - 5, thread, SYSTEM)]
    return analyze(with_evidence(trace_of([*samples]), intervals))


def found(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind in KINDS]


def test_the_app_computes_longer_than_the_model() -> None:
    analysis = calls_after((PREPARE, 12), (DECODE, 3))
    (finding,) = found(analysis)
    assert (finding.kind, finding.severity, finding.lost_ns) == ("work-beside-calls", "warning", 75 * MS)
    text = finding_text(finding, analysis.trace.info)
    assert text.title == (
        "Between calls of Net, the app computes longer than the calls take: 15.0 ms against 10.0 ms."
    )
    assert text.cost == (
        "Most of it is in Spectrogram.transform(_:): 12.0 ms per call (sampled on the calling thread)."
    )
    assert text.basis == "Likely (sampled): 60 rows of time-profile (Spectrogram.transform(_:) in App7)."


@pytest.mark.parametrize(
    "analysis",
    [
        calls_after((PREPARE, 8)),
        calls_after((SYSTEM, 15)),
        calls_after((PREPARE, 15), count=3),
        calls_after((PREPARE, 15), every=3, count=9),
    ],
)
def test_less_work_the_systems_work_or_few_calls_are_no_finding(analysis: Analysis) -> None:
    assert not found(analysis)


def test_a_main_thread_with_a_user_interface_has_other_work_between_calls() -> None:
    assert not found(calls_after((PREPARE, 15), (RESIZE, 5), thread="Main Thread"))


def test_conversions_before_each_call() -> None:
    analysis = calls_after((RESIZE, 3))
    (finding,) = found(analysis)
    assert (finding.kind, finding.severity) == ("conversions", "warning")
    text = finding_text(finding, analysis.trace.info)
    assert text.title == (
        "Images or arrays are converted again and again between calls of Net: 3.00 ms per call, most in"
        " CGContextDrawImage."
    )
    assert text.cost == "Per call, it is 30 % of its length (seen before 5 of 5 calls, sampled)."


def test_allocations_before_each_call() -> None:
    analysis = calls_after((ALLOCATE, 2))
    (finding,) = found(analysis)
    assert (finding.kind, finding.severity) == ("allocations", "info")
    assert finding_text(finding, analysis.trace.info).title == (
        "Memory is allocated again and again between calls of Net: 2.00 ms per call, most in CVPixelBufferCreate."
    )


def test_a_rare_or_short_conversion_is_no_finding() -> None:
    assert not found(calls_after((RESIZE, 3), every=5, count=10))
    assert not found(calls_after((RESIZE, 1), every=2, count=12))


def test_conversions_inside_the_runtime_are_not_the_apps() -> None:
    """What Core ML copies inside a call is counted there."""
    inside = ("vImage | vImageConvert_ARGB8888toPlanar8", *CALL)
    assert not found(calls_after((inside, 3), reported=False))


# Loads ----------------------------------------------------------------------------------------------------


def test_a_model_that_is_loaded_before_each_call() -> None:
    loads = [core_ml(22 + n * 28, 30 + n * 28, "Load") for n in range(6)]
    analysis = calls_after((LOAD, 8), rows=tuple(loads))
    (finding,) = found(analysis)
    assert (finding.kind, finding.confidence, finding.lost_ns) == ("load-per-call", "certain", 5 * 8 * MS)
    text = finding_text(finding, analysis.trace.info)
    assert text.title == "Net is loaded again before each of the 5 calls after its first."
    assert text.cost == "Loading takes 8.00 ms each time (measured), a call 10.0 ms."


def test_loads_on_stacks_alone_are_likely() -> None:
    analysis = calls_after((LOAD, 8))
    (finding,) = found(analysis)
    assert (finding.kind, finding.confidence, finding.lost_ns) == ("load-per-call", "likely", 5 * 8 * MS)
    assert finding_text(finding, analysis.trace.info).title == (
        "A model is loaded before each of the 5 calls of Net after the first."
    )


def test_releasing_a_model_is_no_load() -> None:
    """Both have the phase "load"."""
    release = ("AppleNeuralEngine | -[_ANEClient unloadModel:options:qos:error:]", *ROOT)
    analysis = calls_after((release, 4))
    assert is_phase(analysis.labels.phase, Phase.LOAD).sum() == 6 * 4
    assert not found(analysis)


def test_one_load_another_models_loads_and_unloads_are_no_finding() -> None:
    assert not found(calls_after(rows=(core_ml(5, 15, "Load"),)))
    assert not found(
        calls_after(rows=tuple(core_ml(32 + n * 20, 36 + n * 20, "Load", "Other") for n in range(6)))
    )
    assert not found(calls_after(rows=tuple(core_ml(32 + n * 20, 36 + n * 20, "Unload") for n in range(6))))
    assert not found(calls_after((LOAD, 8), every=3, count=9))
