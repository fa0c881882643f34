"""``no finding``: failed where a recording has it, passed where it could show it, else not measurable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from documents_support import strict
from evidence_support import Interval, ane, prediction, with_evidence
from sample_recordings import sample_analysis
from trace_support import ANE, BNNS, CALL, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings.find import KINDS, MORE_FINDINGS
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.recording import NO_SYMBOLS
from tracekit.checks.check import check
from tracekit.checks.parser import parse_requirement
from tracekit.checks.requirements import Absence
from tracekit.checks.results import CheckResult
from tracekit.errors import UsageError
from tracekit.model.vocabulary import Basis
from tracekit.report.checks.github import to_github
from tracekit.report.checks.json import to_json
from tracekit.report.checks.wording import reason

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).parents[2] / "sample_traces"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "tracekit-check-1.schema.json").read_text("utf-8"))


def calls_on(engines: str, model: str = "Net", is_measured: bool = True) -> Analysis:
    """Return calls of one model: A on the Neural Engine, C on the CPU, - on none seen."""
    rows: list[Interval] = []
    samples: list[Sample] = [(0, "a", UI)]
    for number, engine in enumerate(engines):
        start = 20 + 20 * number
        rows.append(prediction(start, start + 10, model=model))
        if engine == "A" and is_measured:
            rows.append(ane(start + 2, start + 8, model))
        stack = {"A": CALL if is_measured else ANE, "C": BNNS, "-": CALL}[engine]
        samples += [(start + tick, "a", stack) for tick in range(1, 9)]
    return analyze(with_evidence(trace_of(samples), rows))


def judged(analysis: Analysis | list[Analysis], text: str) -> CheckResult:
    (result,) = check(analysis, text)
    return result


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("no finding", "failed"),
        ("no finding fell-back", "failed"),
        ("no findings fell-back in Net", "failed"),
        ("no finding fell-back in N*", "failed"),
        ("no finding warning", "failed"),
        ("no finding error", "passed"),
        ("no finding came-back", "passed"),
        ("no finding in Net", "failed"),
        ("no finding fell-back in Other", "not measurable"),
        ("no finding requests-failed", "not measurable"),
        ("no finding no-symbols", "passed"),
    ],
)
def test_a_model_that_left_the_neural_engine(text: str, outcome: str) -> None:
    assert judged(calls_on("AAACCC"), text).outcome == outcome


def test_the_reason_names_what_happened() -> None:
    result = judged(calls_on("AAACCC"), "no finding fell-back")
    assert reason(result) == "Net left the Neural Engine after its 3rd call (at 80.0 ms)."
    assert [finding.kind for finding in result.actual.findings] == ["fell-back"]


def test_calls_on_one_engine_pass_and_what_cannot_be_shown_is_named() -> None:
    result = judged(calls_on("AAAAAA"), "no finding")
    assert result.outcome == "passed"
    assert reason(result).startswith("no finding in 6 calls; this recording cannot show ")
    assert "requests-failed" in reason(result)


@pytest.mark.parametrize(
    ("analysis", "why"),
    [
        (calls_on("AAA---"), "the engine of 3 of 6 calls is unknown"),
        (calls_on("AACAAA", is_measured=False), "its samples are too few to show where it stopped"),
        (analyze(trace_of([(0, "a", UI)])), "there is no call"),
        (analyze(trace_of([])), "there is no call"),
    ],
)
def test_what_the_recording_cannot_show_never_passes(analysis: Analysis, why: str) -> None:
    for text in ("no finding fell-back", "no finding"):
        result = judged(analysis, text)
        assert result.outcome == "not measurable"
        assert why in reason(result)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("latency-drift", "Net has 5 calls after its first, and 20 are needed"),
        ("not-on-requested-engine", "the compute units that the app requested are not known"),
        ("on-efficiency-cores", "does not show on which kind of core"),
        ("gpu-shared-with-rendering", "no table that shows it was recorded: metal-gpu-intervals"),
        ("operators-refused", "no log here has a line of the Neural Engine's frameworks"),
    ],
)
def test_each_kind_needs_what_it_rests_on(kind: str, why: str) -> None:
    result = judged(calls_on("AAAAAA"), f"no finding {kind}")
    assert result.outcome == "not measurable"
    assert why in reason(result)
    for shown in ("cold-first-call", "partly-on-engine", "loaded-again"):
        assert judged(calls_on("AAAAAA"), f"no finding {shown}").outcome == "passed"


@pytest.mark.parametrize(
    "text",
    ["no finding fell-back", "no finding partly-on-engine", "no finding engine-contention", "no finding"],
)
def test_work_without_a_certain_owner_never_passes(text: str) -> None:
    """Two processes run a model of the same name, and the engine worked in each call for one of them."""
    result = judged(sample_analysis("same-name-two-processes-macos27"), text)
    assert result.outcome == "not measurable"
    assert "7 of 7 calls" in reason(result)


def test_the_lengths_of_calls_on_two_engines_are_too_few_of_each() -> None:
    result = judged(calls_on("AC" * 12), "no finding latency-outliers")
    assert result.outcome == "not measurable"
    assert "fewer than 20 measured calls of Net are alike" in reason(result)
    assert judged(calls_on("A" * 24), "no finding latency-outliers").outcome == "passed"


def test_of_several_runs_every_one_must_be_without() -> None:
    runs = [calls_on("AAAAAA"), calls_on("AAAACCC"), calls_on("AAA--")]
    result = judged(runs, "no finding fell-back")
    assert (result.outcome, result.actual.runs, result.actual.note) == ("failed", 3, "run 2 of 3")
    assert judged(runs[::2], "no finding fell-back").outcome == "not measurable"


def test_findings_about_the_recording_count_only_by_name() -> None:
    analysis = calls_on("AAAAAA")
    poor = Finding(kind=NO_SYMBOLS, severity="warning", confidence="certain", basis=Basis.SAMPLED, numbers={})
    analysis.__dict__["findings"] = (poor,)
    assert judged(analysis, "no finding").outcome == "passed"
    assert judged(analysis, "no finding no-symbols").outcome == "failed"


def test_a_list_that_was_cut_shows_no_absence() -> None:
    analysis = calls_on("AAAAAA")
    cut = Finding(
        kind=MORE_FINDINGS,
        severity="info",
        confidence="certain",
        basis=Basis.MEASURED,
        numbers={"kinds": {"fell-back": 3}},
    )
    analysis.__dict__["findings"] = (cut,)
    assert judged(analysis, "no finding fell-back").outcome == "not measurable"
    assert judged(analysis, "no finding came-back").outcome == "passed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no finding fel-back", "'fel-back' is not a valid kind of finding. Did you mean 'fell-back'?"),
        ("no finding zzz", "tracekit analyze shows the kind of each finding in brackets."),
        ("no fallback", "'finding' is expected after 'no'"),
        ("no finding no-symbols in Net", "'no-symbols' is about the whole recording: remove 'in'."),
        ("no finding fell-back <= 3", "unexpected text"),
    ],
)
def test_mistakes_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_requirement(text)
    assert message in str(refused.value)


def test_forbid_takes_no_absence() -> None:
    with pytest.raises(UsageError):
        parse_requirement("no finding", forbids=True)


def test_every_kind_can_be_required() -> None:
    assert all(parse_requirement(f"no finding {kind}").rule == Absence(kind) for kind in KINDS)


def test_json_has_the_findings() -> None:
    results = check(calls_on("AAACCC"), "no finding fell-back")
    document = json.loads(to_json(results, "literal"))
    jsonschema.validate(document, strict(SCHEMA))
    (entry,) = document["results"][0]["actual"]["findings"]
    assert (entry["kind"], entry["model"], entry["severity"]) == ("fell-back", "Net", "warning")


def test_annotations_have_the_command_and_are_escaped() -> None:
    named = calls_on("AAACCC", "Net%0A::error::x\n::stop")
    info = replace(named.trace.info, process="100% a:b\n::error::c")
    named = replace(named, trace=replace(named.trace, info=info))
    listed = to_github(check(named, "windows >= 1"), "literal", (), [named])
    (line,) = [
        line for line in listed.splitlines() if line.startswith("::warning title=finding%3A fell-back::")
    ]
    assert "tracekit record --app $'100%25 a:b\\x0a::error::c' --compute-units" in line
    assert all(
        line.startswith(("::warning title=", "::notice title=", "::error title="))
        for line in listed.splitlines()
    )
    assert "%0A::error" not in line


def test_a_finding_that_a_requirement_names_is_annotated_once() -> None:
    analysis = calls_on("AAACCC")
    listed = to_github(check(analysis, "no finding fell-back"), "literal", (), [analysis])
    assert listed.count("left the Neural Engine") == 1
    assert "::error title=require no finding fell-back::" in listed
    assert "tracekit record --app APP" in listed
