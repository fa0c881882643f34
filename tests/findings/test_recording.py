"""Findings about the recording itself: what it lacks for an answer, and what limits its answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evidence_support import OTHER_APP, Signpost, ane, core_ml, mps, prediction, with_evidence
from sample_recordings import sample_analysis
from trace_support import ANE, BNNS, CALL, LOAD, MS, RUNTIME, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings.finding import Finding, WindowRanges
from tracekit.analysis.findings.kind import Kind
from tracekit.model.tables import TableInfo
from tracekit.model.trace import Issue, Trace
from tracekit.report.wording.findings import FindingText, finding_text

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RECORD = "tracekit record --app App --preset coreml"
ALL_TABLES = ("coreml-os-signpost", "ane-hw-intervals", "metal-gpu-intervals", "time-profile")


def recorded(trace: Trace, *tables: str, kind: str = "trace-bundle") -> Trace:
    """Return a trace as one run of a recording with these tables, of the process App."""
    listed = {table.schema for table in trace.tables}
    added = tuple(TableInfo(table, row_count=0) for table in tables if table not in listed)
    info = replace(trace.info, kind=kind, process="App", pid=7, name="App.trace")
    return replace(trace, info=info, has_toc=True, tables=(*trace.tables, *added))


def finding_of(analysis: Analysis, kind: str) -> tuple[Finding, FindingText]:
    (finding,) = [finding for finding in analysis.findings if finding.kind == kind]
    return finding, finding_text(finding, analysis.trace.info)


def kinds(analysis: Analysis) -> list[Kind[Any]]:
    return [finding.kind for finding in analysis.findings]


def commands(text: FindingText) -> list[str]:
    return [step.command for step in text.next_steps]


def calm() -> Analysis:
    """Return 40 alike calls of 10 ms, each measured on the Neural Engine."""
    rows = [prediction(20 * n, 20 * n + 10) for n in range(1, 41)]
    rows += [ane(20 * n + 2, 20 * n + 8) for n in range(1, 41)]
    samples: list[Sample] = [(20 * n + tick + 0.5, "a", ANE) for n in range(1, 41) for tick in range(10)]
    return analyze(recorded(with_evidence(trace_of(samples), rows), *ALL_TABLES))


def test_a_calm_recording_has_no_finding() -> None:
    assert kinds(calm()) == []


def test_no_model_ran() -> None:
    analysis = analyze(recorded(trace_of([(n, "a", UI) for n in range(30)]), "time-profile"))
    finding, text = finding_of(analysis, "no-model-seen")
    assert kinds(analysis) == ["no-model-seen"]
    assert (finding.severity, finding.confidence, finding.lost_ns) == ("info", "certain", None)
    assert text.title == "No model was seen running."
    assert text.detail == (
        "0 of 30 samples are in an ML framework. Not recorded: Core ML, Neural Engine, GPU."
    )
    assert commands(text) == [RECORD]


def test_no_model_ran_with_all_instruments_recorded() -> None:
    """Another process may have run it; a new recording of the same one shows nothing new by itself."""
    analysis = analyze(recorded(trace_of([(n, "a", UI) for n in range(30)]), *ALL_TABLES))
    _, text = finding_of(analysis, "no-model-seen")
    assert text.detail == "0 of 30 samples are in an ML framework."
    assert commands(text) == [RECORD, "tracekit record --all-processes --preset coreml"]


def test_another_process_ran_a_model() -> None:
    trace = trace_of([(n, "a", UI) for n in range(30)] + [(40, "b", UI)], processes={"b": OTHER_APP})
    rows = [prediction(10, 20, pid=OTHER_APP), prediction(30, 40, pid=OTHER_APP)]
    analysis = analyze(recorded(with_evidence(trace, rows)), process=7)
    _, text = finding_of(analysis, "no-model-seen")
    assert "Other processes ran models in this time: App88 (88, 2 calls)." in text.detail
    assert commands(text) == ["tracekit analyze App.trace --process App88", RECORD]


def test_a_process_without_samples_is_recorded() -> None:
    trace = with_evidence(trace_of([(n, "a", UI) for n in range(30)]), [prediction(10, 20, pid=OTHER_APP)])
    _, text = finding_of(analyze(recorded(trace), process=7), "no-model-seen")
    assert commands(text)[0] == "tracekit record --app 88 --preset coreml"


def test_a_selected_process_ran_no_model() -> None:
    trace = trace_of([(n, "a", UI) for n in range(9)] + [(40, "b", BNNS)], processes={"b": OTHER_APP})
    _, text = finding_of(analyze(recorded(trace), process=7), "no-model-seen")
    assert commands(text)[0] == "tracekit analyze App.trace"


def test_a_model_that_was_loaded_only() -> None:
    trace = with_evidence(trace_of([(n, "a", UI) for n in range(30)]), [core_ml(5, 9, "Load Model")])
    _, text = finding_of(analyze(recorded(trace)), "no-model-seen")
    assert "A model was compiled or loaded, but no call was seen." in text.detail


def test_signposts_of_the_app_may_be_its_calls() -> None:
    """Apple's own are no inference of the app, and a single interval is no series of calls."""
    posts = [Signpost(n, n + 1, "com.example/ml/predict") for n in range(3)]
    posts += [Signpost(n, n + 1, "com.apple.SkyLight/tracing/RenderInterval") for n in range(9)]
    posts += [Signpost(1, 2, "com.example/ml/once")]
    _, text = finding_of(analyze(recorded(with_evidence(trace_of([]), signposts=posts))), "no-model-seen")
    assert text.detail.startswith("The recording has no samples.")
    assert "The app marks intervals of its own: com.example/ml/predict (3). One of them" in text.detail
    assert commands(text)[0] == "tracekit analyze App.trace --window-signpost com.example/ml/predict"


def test_signposts_of_apple_alone() -> None:
    posts = [Signpost(n, n + 1, "com.apple.SkyLight/tracing/RenderInterval") for n in range(9)]
    _, text = finding_of(analyze(recorded(with_evidence(trace_of([]), signposts=posts))), "no-model-seen")
    assert "It has signposts of 1 kind, all of Apple's: com.apple.SkyLight/tracing/RenderInterval (9)." in (
        text.detail
    )
    assert commands(text) == ["tracekit record --app App --preset coreml"]  # Apple's mark no call of the app


def test_ml_code_without_a_call() -> None:
    stacks = [LOAD[:1] if n % 3 else UI for n in range(30)]
    trace = recorded(trace_of([(n, "a", stack) for n, stack in enumerate(stacks)]))
    analysis = analyze(trace)
    _, text = finding_of(analysis, "no-calls-seen")
    assert kinds(analysis) == ["no-calls-seen"]
    assert text.title == "No call of a model was seen."
    assert text.detail.startswith(
        "20 of 30 samples are in an ML framework, none in a prediction. Single calls"
    )
    assert commands(text) == [RECORD]
    assert "no-calls-seen" not in kinds(analyze(trace, windows="run"))  # the user's choice, not a lack


def test_an_engine_at_work_without_a_call() -> None:
    analysis = analyze(recorded(with_evidence(trace_of([]), [mps(1, 5)])))
    _, text = finding_of(analysis, "no-calls-seen")
    assert text.detail.startswith("An engine was measured at work, but no table and no stack shows a call.")


def calls_of(stack: tuple[str, ...], count: int = 40, length: float = 8) -> Trace:
    """Return calls that Core ML reports, 20 ms apart, with a sample of a stack every ms."""
    rows = [prediction(20 * n, 20 * n + length) for n in range(1, count + 1)]
    samples: list[Sample] = [
        (20 * n + tick + 0.5, "a", stack) for n in range(1, count + 1) for tick in range(round(length))
    ]
    return with_evidence(trace_of([(0, "a", UI), *samples]), rows)


def test_calls_without_a_visible_engine() -> None:
    analysis = analyze(recorded(calls_of(RUNTIME), "metal-gpu-intervals"))
    finding, text = finding_of(analysis, "no-engine-visible")
    assert kinds(analysis) == ["no-engine-visible"]
    assert (finding.model, finding.windows) == ("Net", WindowRanges(40, ((0, 39),)))
    assert text.title == "No engine is visible in any of the 40 calls of Net."
    assert text.detail == (
        "320 samples are inside these calls, and none reaches the code of an engine; no table measured an"
        " engine in them. Not recorded: Neural Engine."
    )
    assert commands(text) == [
        RECORD,
        "tracekit record --app App --compute-units all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly",
    ]
    assert "no-engine-visible" not in kinds(analyze(recorded(calls_of(BNNS))))


def test_stacks_without_symbols() -> None:
    raw = ("App | 0x1000",)
    analysis = analyze(recorded(trace_of([(n, "a", raw) for n in range(30)])))
    _, text = finding_of(analysis, "no-symbols")
    assert kinds(analysis) == ["no-symbols"]
    assert text.title == "Stacks without symbols show no engine."
    assert text.detail.startswith(
        "30 of 30 samples with a stack lack symbols; the work there is unknown. Xcode 14.3.1"
    )
    assert commands(text) == [RECORD]
    half = analyze(recorded(trace_of([(n, "a", raw if n % 2 else UI) for n in range(30)])))
    _, text = finding_of(half, "no-symbols")
    assert text.detail.startswith("15 of 30 samples with a stack lack symbols")
    few = analyze(recorded(trace_of([(n, "a", UI if n % 3 else raw) for n in range(30)])))
    assert "no-symbols" not in kinds(few)


@pytest.mark.parametrize(
    ("count", "title"),
    [
        (6, "Too few calls for a stable median: Net (6 calls)."),
        (7, "Too few calls for a p90: Net (7 calls)."),
        (36, "Too few calls for a p90: Net (36 calls)."),
        (37, ""),
    ],
)
def test_calls_for_a_percentile(count: int, title: str) -> None:
    """The first call is none of them: 6 for the median, 36 for the p90."""
    analysis = analyze(recorded(calls_of(BNNS, count), *ALL_TABLES))
    titles = [
        finding_text(f, analysis.trace.info).title for f in analysis.findings if f.kind == "too-few-calls"
    ]
    assert titles == ([title] if title else [])


def test_a_longer_recording_has_calls_enough() -> None:
    """Two calls without the first in 54 s: 36 take a little more than 1,000 s, of which ten minutes are usual."""
    rows = [prediction(1 + 25_000 * n, 26_000 * n + 10) for n in range(3)]
    samples: list[Sample] = [(25_000 * n + tick, "a", BNNS) for n in range(3) for tick in range(2, 9)]
    analysis = analyze(recorded(with_evidence(trace_of(samples), rows), *ALL_TABLES))
    _, text = finding_of(analysis, "too-few-calls")
    assert commands(text) == [f"{RECORD} --time-limit 600s"]


def test_windows_of_the_user_are_no_calls() -> None:
    analysis = analyze(recorded(calls_of(BNNS, 5)), windows=["20ms-28ms"])
    assert kinds(analysis) == []


@pytest.mark.parametrize(
    ("code", "message", "is_lost"),
    [
        ("recording-issue", "Instruments reported while recording: 12 events were lost", True),
        ("recording-issue", "Instruments reported while recording: Signposts are not visualized", False),
        ("recording-unfinished", "the recording was not finished", True),
        ("table-damaged", "the table 'x' is damaged", True),
        ("null-stacks", "no stack on 1 sample", False),
    ],
)
def test_lost_rows(code: str, message: str, is_lost: bool) -> None:
    trace = replace(calm().trace, issues=(Issue("warning", code, message),))
    analysis = analyze(trace)
    assert kinds(analysis) == (["rows-lost"] if is_lost else [])
    if is_lost:
        _, text = finding_of(analysis, "rows-lost")
        assert text.detail == message
        assert all(text.next_steps)


def test_calls_as_short_as_a_few_samples() -> None:
    analysis = analyze(recorded(calls_of(BNNS, length=4), *ALL_TABLES))
    _, text = finding_of(analysis, "sampling-too-coarse")
    assert text.title == (
        "Sampling is coarse for such short calls: Net (4.00 ms per call), a sample every 1.00 ms."
    )
    assert commands(text) == [f"{RECORD} --time-limit 60s"]
    assert "sampling-too-coarse" not in kinds(analyze(recorded(calls_of(BNNS, length=5), *ALL_TABLES)))
    measured = [*(ane(20 * n + 1, 20 * n + 3) for n in range(1, 41))]
    short = calls_of(ANE, length=4)
    rows = [prediction(20 * n, 20 * n + 4) for n in range(1, 41)]
    analysis = analyze(recorded(with_evidence(replace(short, tables=()), [*rows, *measured]), *ALL_TABLES))
    assert kinds(analysis) == []


def test_instruments_that_would_measure() -> None:
    samples: list[Sample] = [
        (20 * n + tick, "a", BNNS if tick < 8 else UI) for n in range(40) for tick in range(9)
    ]
    analysis = analyze(recorded(trace_of(samples), "metal-gpu-intervals"))
    _, text = finding_of(analysis, "instruments-missing")
    assert text.title == (
        "The Core ML and Neural Engine instruments are missing here: calls are deduced from stacks, where calls"
        " without a sample between them count as one; the work of the Neural Engine is not measured."
    )
    assert commands(text) == [RECORD]
    assert "instruments-missing" not in kinds(analyze(recorded(trace_of(samples), *ALL_TABLES)))


def test_instruments_that_were_recorded_and_not_exported() -> None:
    trace = recorded(calls_of(CALL, 3), kind="xctrace-xml")
    listed = (*trace.tables, TableInfo("ane-hw-intervals"), TableInfo("metal-gpu-intervals"))
    analysis = analyze(replace(trace, tables=listed))
    _, text = finding_of(analysis, "no-engine-visible")
    assert "Recorded, but not in this export: Neural Engine, GPU." in text.detail
    assert commands(text)[0] == "tracekit analyze RECORDING.trace"


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        ("ane-espresso-macos13", {"instruments-missing", "too-few-calls"}),
        ("concurrent-models-ios27", {"too-few-calls"}),
        ("failing-requests-macos27", {"too-few-calls"}),  # failed requests explain calls without an engine
        ("foundation-models-macos27", {"no-engine-visible", "too-few-calls"}),
        ("kperf-samples-macos26", {"no-symbols"}),
        ("text-addresses-ios16", {"no-symbols"}),
    ],
)
def test_sample_recordings(recording: str, expected: set[str]) -> None:
    analysis = sample_analysis(recording)
    assert {kind for kind in kinds(analysis) if kind.about in ("recording", "limit")} == expected


def test_names_of_the_recording_are_escaped_and_short() -> None:
    rows = [prediction(20 * n, 20 * n + 8, model="N\x1b[31m" + "x" * 300) for n in range(1, 4)]
    _, text = finding_of(analyze(recorded(with_evidence(trace_of([]), rows))), "no-engine-visible")
    assert "\x1b" not in text.title
    assert len(text.title) < 160


def test_calls_of_no_length() -> None:
    trace = with_evidence(trace_of([(1, "a", CALL)]), [prediction(5, 5), prediction(9, 9)])
    for finding in analyze(recorded(trace)).findings:
        assert finding_text(finding, trace.info).title
    assert MS == 1_000_000
