"""A slow first call, a compile, a repeated load; and what is an ordinary start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from evidence_support import Interval, ane, core_ai, core_ml, manual, prediction, with_evidence
from trace_support import BNNS, CALL, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.analysis.findings.finding import Finding, WindowRanges
from tracekit.report.wording.findings import FindingText, finding_text

KINDS = ("cold-first-call", "compiled-in-run", "loaded-again")
COMPILE = ("libBNNS.dylib | bnns::GraphCompile(bnns::GraphCompileOptions const&)", "App | main")
BEGIN = 100.0


def calls_of(
    lengths: Sequence[float],
    *others: Interval,
    windows: Sequence[Window] | None = None,
    cpu: Sequence[int] = (),
    more: Sequence[Sample] = (),
) -> Analysis:
    """Return calls of these lengths from 100 ms on, 50 ms apart, on the Neural Engine or on the CPU."""
    rows: list[Interval] = [*others]
    samples: list[Sample] = [(0, "a", UI), *more]
    for number, length in enumerate(lengths):
        start = BEGIN + 50 * number
        rows.append(prediction(start, start + length))
        if number not in cpu:
            rows.append(ane(start + 2, start + 8))
        samples += [(start + tick, "a", BNNS if number in cpu else CALL) for tick in range(1, int(length))]
    trace = with_evidence(trace_of(samples), rows)
    return analyze(trace, windows=windows) if windows else analyze(trace)


def starts(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind in KINDS]


def only(analysis: Analysis) -> tuple[Finding, FindingText]:
    (finding,) = starts(analysis)
    return finding, finding_text(finding, analysis.trace.info)


def test_a_first_call_that_takes_longer() -> None:
    finding, text = only(calls_of([30, 10, 10, 11, 10]))
    assert (finding.kind, finding.confidence, finding.severity) == ("cold-first-call", "certain", "info")
    assert (finding.lost_ns, finding.windows) == (20 * MS, WindowRanges(1, ((0, 0),)))
    assert text.title == "The first call of Net took 30.0 ms, the others 10.0 ms."
    assert text.cost == "That is 20.0 ms more, once; no compile and no load is seen in it."
    assert text.next_steps[1].command == "tracekit check literal --require 'first in Net <= 11ms'"


def test_what_is_compiled_in_the_first_call_is_part_of_it() -> None:
    _, text = only(calls_of([40, 10, 10, 10, 10], ane(110, 130, "Net_main__Op0 Compile")))
    assert text.cost == "That is 30.0 ms more, once; 20.0 ms of the call compile or load a model (measured)."


@pytest.mark.parametrize(
    "lengths",
    [
        [11, 10, 10, 10, 10],  # hardly longer
        [30, 10, 10, 10],  # too few others
        [22, 10, 20, 12, 18],  # as long as their spread
        [30, 10, 10, 10, 31],  # not the longest
        [10, 10, 10, 10, 30],
    ],
)
def test_an_ordinary_first_call(lengths: list[float]) -> None:
    assert not starts(calls_of(lengths))


def test_a_first_call_on_another_engine_is_a_change_of_engine() -> None:
    assert not starts(calls_of([30, 10, 10, 10, 10], cpu=[0]))


def test_windows_of_the_user_have_no_first_call() -> None:
    windows = [manual(BEGIN + 50 * n, BEGIN + 50 * n + (30 if n == 0 else 10)) for n in range(5)]
    assert not starts(calls_of([30, 10, 10, 10, 10], windows=windows))


def test_a_model_that_is_compiled() -> None:
    """The compile of another app's model is none of this one's."""
    analysis = calls_of(
        [10, 10], ane(20, 60, "Net_main__Op0 Compile"), ane(62, 90, "Other_main__Op0 Compile")
    )
    finding, text = only(analysis)
    assert (finding.kind, finding.model, finding.lost_ns) == ("compiled-in-run", "Net", 40 * MS)
    assert text.title == "Net was compiled during this recording (at 20.0 ms)."
    assert text.whole_cost.startswith("Costs 40.0 ms")
    assert text.cost == "It is not needed again while the result is cached."


def test_a_specialization_of_core_ai_is_a_compile() -> None:
    rows = [core_ai(5, 45, "Specialization"), core_ai(6, 20, "Specialization", depth=1), core_ai(60, 70)]
    finding, text = only(analyze(with_evidence(trace_of([(0, "a", UI)]), rows)))
    assert (finding.kind, finding.model, finding.lost_ns) == ("compiled-in-run", "Scene", 40 * MS)
    assert text.next_steps[0].command.endswith("--preset coreai")  # the preset that shows the next compile


def test_a_compile_on_stacks_names_no_model() -> None:
    compiling: list[Sample] = [(10.0 + tick, "a", COMPILE) for tick in range(12)]
    finding, text = only(calls_of([10, 10], more=compiling))
    assert (finding.model, finding.confidence, str(finding.basis)) == ("", "likely", "sampled")
    assert text.title == "A model was compiled during this recording (at 10.0 ms)."
    assert text.cost == ("The time is CPU time in bnns::GraphCompile(bnns::GraphCompileOptions const&).")
    assert not starts(calls_of([10, 10], more=compiling[:2]))


def test_a_model_that_is_loaded_again() -> None:
    loads = [core_ml(start, start + 20, "Load Model") for start in (10, 40, 280)]
    finding, text = only(calls_of([10, 10, 10, 10, 10], *loads))
    assert (finding.kind, finding.model, finding.lost_ns) == ("loaded-again", "Net", 40 * MS)
    assert text.title == "Net was loaded 3 times (at 10.0 ms, 40.0 ms, 280 ms)."
    assert text.cost == "The first time took 20.0 ms, the repetitions 40.0 ms in total."


def test_a_model_that_is_compiled_again_is_one_finding() -> None:
    compiles = [ane(start, start + 20, "Net_main__Op0 Compile") for start in (10, 40)]
    finding, text = only(calls_of([10, 10, 10, 10, 10], *compiles))
    assert finding.kind == "loaded-again"
    assert text.title == "Net was compiled 2 times (at 10.0 ms, 40.0 ms)."


@pytest.mark.parametrize(
    "loads",
    [
        [core_ml(10, 40, "Load Model"), ane(15, 30, "Net_main__Op0 Load")],  # one load in two tables
        [ane(15, 30, "Net_main__Op0 Load"), ane(35, 50, "Net_main__Op2 Load")],  # two pieces
        [ane(15, 30, "Net_main__Op0 Load"), ane(15, 30, "Net_main__Op0 Load")],  # the same row
        [core_ml(10, 40, "Load Model"), core_ml(60, 80, "Load Model", "Other")],
        [core_ml(10, 40, "Load Model"), core_ml(60, 70, "Unload Model")],
        [ane(10, 40, "Net_main__Op0 Load"), ane(60, 70, "Net_main__Op0 Unload")],
    ],
)
def test_a_single_load(loads: list[Interval]) -> None:
    assert not starts(calls_of([10, 10, 10, 10, 10], *loads))


def test_a_load_before_every_call_is_another_finding() -> None:
    loads = [core_ml(BEGIN + 50 * n - 20, BEGIN + 50 * n - 5, "Load Model") for n in range(5)]
    assert not starts(calls_of([10, 10, 10, 10, 10], *loads))


def test_models_of_one_name_in_two_processes_are_loaded_once_each() -> None:
    loads = [core_ml(10, 20, "Load Model"), core_ml(30, 40, "Load Model", pid=88)]
    other = [prediction(1000, 1010, pid=88)]
    assert not starts(calls_of([10, 10], *loads, *other))
    unowned = [replace(load, pid=-1) for load in loads]
    assert not starts(calls_of([10, 10], *unowned, *other))
    assert [finding.kind for finding in starts(calls_of([10, 10], *unowned))] == ["loaded-again"]
    again = [*loads, core_ml(50, 60, "Load Model", pid=88)]
    (finding,) = starts(calls_of([10, 10], *again, *other))
    assert (finding.kind, finding.pid, finding.lost_ns) == ("loaded-again", 88, 10 * MS)


def test_a_first_call_beside_another_one_may_be_no_cold_one() -> None:
    """A call of another model at the same time explains the length as well."""
    alone, beside = (
        calls_of([40, 10, 10, 10, 10, 10], *rows) for rows in ((), [prediction(90, 150, "Other")])
    )
    assert [finding.confidence for finding in starts(alone)] == ["certain"]
    (finding,) = starts(beside)
    assert (finding.kind, finding.confidence) == ("cold-first-call", "possible")
    text = finding_text(finding, beside.trace.info)
    assert text.detail == "Another call ran at the same time, which may explain it."
