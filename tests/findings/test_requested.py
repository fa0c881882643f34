"""The engine that was requested, and the one that served; and settings that fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from evidence_support import Interval, ane, prediction, with_evidence
from trace_support import ANE, BNNS, CALL, MS, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings.finding import Finding
from tracekit.errors import UsageError
from tracekit.record.journal import COMPUTE_UNITS_VARIABLE, find_compute_units, read_recorded_compute_units
from tracekit.report.wording.findings import FindingText, finding_text

FOREIGN = "Other_main__Op0_AneInference"


def calls_on(
    stack: tuple[str, ...], setting: str, *others: Interval, ticks: int = 9, calls: int = 3
) -> Analysis:
    """Return calls of 10 ms whose first samples have this stack."""
    rows: list[Interval] = [prediction(20.0 * n, 20.0 * n + 10) for n in range(calls)]
    samples: list[Sample] = [
        (20.0 * n + tick + 0.5, "a", stack if tick < ticks else CALL)
        for n in range(calls)
        for tick in range(9)
    ]
    return analyze(with_evidence(trace_of(samples), [*rows, *others]), compute_units=setting)


def requested(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind == "not-on-requested-engine"]


def only(analysis: Analysis) -> tuple[Finding, FindingText]:
    (finding,) = requested(analysis)
    return finding, finding_text(finding, analysis.trace.info)


def test_a_model_that_never_ran_on_the_measured_engine() -> None:
    """The table has rows, of another app's model: its zero for this one is measured."""
    own = ane(-10, -5)  # before the first call; the label shows that both tables name models alike
    finding, text = only(calls_on(BNNS, "cpuAndNeuralEngine", own, ane(100, 105, FOREIGN)))
    assert (finding.severity, finding.confidence, finding.model) == ("warning", "certain", "Net")
    assert text.title == "Net never ran on the Neural Engine, although cpuAndNeuralEngine allows it."
    assert text.cost == "It ran on the CPU (3 of 3 calls with a visible engine)."
    assert text.next_steps[1].command == "tracekit analyze literal --model MODEL --plan PLAN"
    assert text.next_steps[2].command == "tracekit check literal --require 'ANE used share == 100% in Net'"


def test_without_a_table_the_calls_have_to_be_elsewhere_for_most_of_their_time() -> None:
    finding, _ = only(calls_on(BNNS, "cpuAndNeuralEngine"))
    assert (finding.confidence, str(finding.basis)) == ("likely", "sampled")
    assert not requested(calls_on(BNNS, "cpuAndNeuralEngine", ticks=3))
    assert not requested(calls_on(BNNS, "cpuAndNeuralEngine", calls=2))


@pytest.mark.parametrize(
    ("stack", "setting"),
    [
        (BNNS, ""),
        (BNNS, "cpuOnly"),
        (ANE, "cpuAndNeuralEngine"),
        (ANE, "all"),
        (CALL, "all"),
        (CALL, "cpuOnly"),
    ],
)
def test_what_fits_the_setting_or_is_not_known_is_no_finding(stack: tuple[str, ...], setting: str) -> None:
    assert not requested(calls_on(stack, setting))


def test_an_engine_that_the_setting_excludes() -> None:
    finding, text = only(calls_on(ANE, "cpuOnly"))
    assert (finding.severity, finding.confidence) == ("warning", "certain")
    assert text.title == "Net ran on the Neural Engine in 3 of 3 calls, although cpuOnly excludes it."
    assert text.next_steps[1].command == "tracekit check literal --forbid 'ANE in Net'"


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(UsageError, match="'fast' is none of the compute units all, cpuAndGPU"):
        calls_on(ANE, "fast")


def test_two_analyses_with_different_settings_differ() -> None:
    analysis = calls_on(ANE, "cpuOnly")
    assert analysis != replace(analysis, compute_units="all")
    assert analysis.trace.samples["time_ns"].iloc[0] == MS // 2


def command(*settings: str) -> dict[str, object]:
    words = [word for setting in settings for word in ("--env", f"{COMPUTE_UNITS_VARIABLE}={setting}")]
    return {"command": ["xctrace", "record", *words, "--launch", "--", "App"]}


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([command("cpuOnly")], "cpuOnly"),
        ([command("cpuOnly"), command("cpuOnly")], "cpuOnly"),
        ([command("cpuOnly"), command("all")], ""),
        ([command("fast")], ""),
        ([command()], ""),
        ([{"command": "text"}, 5], ""),
        ([{"command": [1, None]}], ""),
    ],
)
def test_the_setting_of_a_journal(tmp_path: Path, runs: list[object], expected: str) -> None:
    (tmp_path / "X.recording.json").write_text(json.dumps({"runs": runs}))
    assert read_recorded_compute_units(tmp_path / "X.trace") == expected
    assert read_recorded_compute_units(tmp_path / "Y.trace") == ""


def test_the_setting_of_an_environment() -> None:
    assert find_compute_units([("A", "b"), (COMPUTE_UNITS_VARIABLE, "cpuAndGPU")]) == "cpuAndGPU"
    assert find_compute_units([(COMPUTE_UNITS_VARIABLE, "fast")]) == ""
