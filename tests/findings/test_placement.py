"""A model that leaves an engine, comes back, alternates, or differs by function; and what only looks like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest
from evidence_support import (
    APP,
    Interval,
    Signpost,
    ane,
    core_ai,
    core_ml,
    gpu,
    manual,
    prediction,
    with_evidence,
)
from trace_support import ANE, BNNS, CALL, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings import coincidences
from tracekit.analysis.findings.finding import Finding, WindowRanges
from tracekit.analysis.run import AnalyzedRun
from tracekit.errors import UsageError
from tracekit.model.columns import SIGNPOSTS, TRACKS
from tracekit.model.schemas import LIFE_CYCLE
from tracekit.model.trace import TraceInfo
from tracekit.report.viewmodel.lanes import iter_signpost_lanes
from tracekit.report.wording.findings import FindingText, finding_text

LENGTH, PERIOD = 10.0, 20.0


def calls_on(engines: str, *others: Interval, slow: float = 2.0) -> Analysis:
    """Return calls of one model, 20 ms apart: A on the Neural Engine, C on the CPU, G on the GPU (both longer),
    - on none seen.
    """
    rows: list[Interval] = [*others]
    samples: list[Sample] = [(0, "a", UI)]
    for number, engine in enumerate(engines):
        start = 20 + number * PERIOD
        end = start + LENGTH + (slow if engine in "CG" else 0)
        rows.append(prediction(start, end))
        if engine == "A":
            rows.append(ane(start + 2, end - 2))
        if engine == "G":
            rows.append(gpu(start + 2, end - 2))
        samples += [(start + tick, "a", BNNS if engine == "C" else CALL) for tick in range(1, 9)]
    return analyze(with_evidence(trace_of(samples), rows))


def placements(analysis: Analysis) -> list[Finding]:
    kinds = ("fell-back", "came-back", "moved-to-engine", "alternates", "differs-by-function")
    return [finding for finding in analysis.findings if finding.kind in kinds]


def only(analysis: Analysis) -> tuple[Finding, FindingText]:
    (finding,) = placements(analysis)
    return finding, finding_text(finding, analysis.trace.info)


def test_a_model_that_leaves_the_neural_engine() -> None:
    """Calls 0 to 3 on the engine, 4 to 7 on the CPU, which take 12 instead of 10 ms."""
    finding, text = only(calls_on("AAAACCCC"))
    assert (finding.kind, finding.severity, finding.confidence) == ("fell-back", "warning", "certain")
    assert (finding.model, finding.windows) == ("Net", WindowRanges(4, ((4, 7),)))
    assert (finding.start_ns, finding.lost_ns) == (100 * MS, 4 * 2 * MS)
    assert text.title == "Net left the Neural Engine after its 4th call (at 100 ms)."
    assert text.cost == (
        "The 4 calls since ran on the CPU: 8.00 ms of CPU work each (sampled), 20 % slower (12.0 ms against"
        " 10.0 ms)."
    )


@pytest.mark.parametrize(
    "engines, title, cost",
    [
        (
            "AAAACCCGG",
            "Net left the Neural Engine after its 4th call (at 100 ms).",
            "3 of the 5 calls since ran on the CPU: 8.00 ms of CPU work each (sampled), calls without the"
            " Neural Engine are 20 % slower (12.0 ms against 10.0 ms).",
        ),
        (
            "AAA--CCCC",
            "Net left the Neural Engine after its 3rd call (at 120 ms).",
            "4 of the 6 calls since ran on the CPU: 8.00 ms of CPU work each (sampled), 12.0 ms against"
            " 10.0 ms per call.",
        ),
        (
            "AAAC-AAA",
            "Net left the Neural Engine after its 3rd call (at 80.0 ms) and came back with its 6th.",
            "1 of the 2 calls between ran on the CPU: 8.00 ms of CPU work (sampled), 12.0 ms against 10.0 ms"
            " per call.",
        ),
        (
            "C-AAA",
            "Net moved to the Neural Engine with its 3rd call.",
            "1 of the 2 calls before ran on the CPU: 8.00 ms of CPU work (sampled), 12.0 ms against 10.0 ms"
            " per call.",
        ),
    ],
)
def test_calls_elsewhere_are_counted_by_their_own_engine(engines: str, title: str, cost: str) -> None:
    _, text = only(calls_on(engines))
    assert (text.title, text.cost) == (title, cost)


@pytest.mark.parametrize("engines", ["AC", "AACAA", "AAC"])
def test_one_longer_call_costs_nothing_that_is_more_than_chance(engines: str) -> None:
    finding, text = only(calls_on(engines))
    assert finding.lost_ns is None and "slower" not in text.cost


def test_chosen_time_ranges_are_no_calls_of_one_model() -> None:
    windows = [manual(18 + 20 * number, 34 + 20 * number) for number in range(6)]
    assert not placements(analyze(calls_on("AAACCC").trace, windows=windows))


@pytest.mark.parametrize("engines", ["AAAAAA", "CCCCCC", "A", "AAA---", "------"])
def test_calls_alike_or_without_a_known_engine_are_no_change(engines: str) -> None:
    assert not placements(calls_on(engines))


@pytest.mark.parametrize(
    ("engines", "kind", "title"),
    [
        (
            "AACCAA",
            "came-back",
            "Net left the Neural Engine after its 2nd call (at 60.0 ms) and came back with its 5th.",
        ),
        ("CCAAA", "moved-to-engine", "Net moved to the Neural Engine with its 3rd call."),
        (
            "ACACAC",
            "alternates",
            "Net alternates: 3 of 6 calls ran on the Neural Engine, with 5 changes between engines.",
        ),
    ],
)
def test_the_order_of_engines(engines: str, kind: str, title: str) -> None:
    finding, text = only(calls_on(engines))
    assert (finding.kind, text.title) == (kind, title)


def test_calls_that_alternate_state_the_share_that_the_engine_may_serve() -> None:
    finding, text = only(calls_on("ACACAC"))
    # Wilson's interval of 3 of 6: (0.5 + 1.92 / 6 ± 1.96 √(0.25 / 6 + 0.96 / 36)) / (1 + 3.84 / 6).
    assert finding.numbers["served_share"] == pytest.approx((0.188, 0.812), abs=1e-3)
    assert text.detail == "These calls fit a program of which 19 to 81 % of the calls run on it (95 %)."
    fell_back, _ = only(calls_on("AAAACCCC"))
    assert fell_back.numbers["served_share"] is None  # a single change is no share of further calls


def test_a_move_to_the_engine_costs_nothing_now() -> None:
    finding, _ = only(calls_on("CCAAA"))
    assert (finding.severity, finding.lost_ns) == ("info", None)


def test_calls_of_overlapping_lengths_carry_no_cost() -> None:
    """All calls take 10 ms: the CPU is another engine, not a slower one."""
    finding, text = only(calls_on("AAACCC", slow=0))
    assert finding.lost_ns is None
    assert "slower" not in text.cost
    assert "10.0 ms per call, as on the Neural Engine" in text.cost


def test_functions_of_a_model_on_different_engines() -> None:
    rows = []
    for number, function in enumerate(("main", "extra", "main", "extra")):
        start = 20 + number * PERIOD
        rows.append(core_ai(start, start + 10, function=function))
        rows += [ane(start + 2, start + 8, "main_ANE_region_0_0")] if function == "main" else []
    samples: list[Sample] = [
        (20 + n * 20 + t, "a", BNNS if n % 2 else CALL) for n in range(4) for t in range(1, 9)
    ]
    finding, text = only(analyze(with_evidence(trace_of(samples), rows)))
    assert finding.kind == "differs-by-function"
    assert "Scene::main on it (2 calls), Scene::extra not (2 calls)" in text.title


def sampled(stacks: Sequence[tuple[str, ...]], ticks: int) -> Analysis:
    """Return calls of ``ticks`` samples each, seen on stacks only."""
    rows = [prediction(20 + n * PERIOD, 20 + n * PERIOD + ticks) for n in range(len(stacks))]
    samples: list[Sample] = [(0, "a", UI)]
    samples += [(20 + n * PERIOD + t + 0.5, "a", s) for n, s in enumerate(stacks) for t in range(ticks)]
    return analyze(with_evidence(trace_of(samples), rows))


def test_an_engine_that_no_table_measured_is_likely_left() -> None:
    finding, _ = only(sampled([ANE] * 3 + [BNNS] * 3, ticks=8))
    assert (finding.kind, finding.confidence, finding.basis) == ("fell-back", "likely", "sampled")


def test_a_single_call_without_a_sample_of_the_engine_is_chance() -> None:
    """Where stacks alone show the engine, a short call may pass between two of its samples."""
    assert not placements(sampled([ANE, ANE, ANE, BNNS, ANE, ANE], ticks=8))


def test_what_changed_just_then_is_named_as_a_coincidence() -> None:
    analysis = calls_on("AAACCC", core_ml(65, 75, "Load Model", model="Other"))
    heat = pd.DataFrame(
        [
            (0, "Thermal state", "", 0.0),
            (70 * MS, "Thermal state", "", 2.0),
            (130 * MS, "Thermal state", "", 1.0),
        ],
        columns=list(TRACKS.required),
    ).astype(dict(TRACKS.required))
    again = analyze(replace(analysis.trace, tracks=heat))
    _, text = only(again)
    assert text.detail == (
        "Just then: Other was loaded (at 65.0 ms); the thermal state became serious (at 70.0 ms). That is a"
        " coincidence in time, which proves no cause."
    )


def test_the_commands_name_the_recording_the_app_and_the_model() -> None:
    _, text = only(calls_on("AAACCC"))
    assert [step.command for step in text.next_steps] == [
        "tracekit record --app APP --compute-units all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly",
        "tracekit check literal --require 'ANE used share == 100% in Net'",
    ]


def test_commands_select_what_the_analysis_selected() -> None:
    """Without the options, the same command would look at other calls."""
    trace = calls_on("AAACCC").trace
    marks = [Signpost(20 + n * PERIOD, 30 + n * PERIOD, "sub/cat/Mark") for n in range(6)]
    marked = replace(trace, signposts=with_evidence(trace, [], marks).signposts)
    (finding,) = placements(analyze(marked, signposts="sub/cat/*", thread="a"))
    commands = [step.command for step in finding_text(finding, trace.info).next_steps]
    assert commands[1] == (
        "tracekit check literal --thread a --window-signpost 'sub/cat/*' --require 'ANE used share == 100%'"
    )


def test_a_recording_that_was_piped_has_a_placeholder_in_commands() -> None:
    finding, _ = only(calls_on("AAACCC"))
    commands = [
        finding_text(finding, TraceInfo(name, "xctrace-xml", run=2)).next_steps[1].command
        for name in ("standard input", "-x.xml")
    ]
    assert commands == [
        "tracekit check RECORDING --run 2 --require 'ANE used share == 100% in Net'",
        "tracekit check ./-x.xml --run 2 --require 'ANE used share == 100% in Net'",
    ]


def test_many_models_look_up_what_else_changed_in_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[AnalyzedRun] = []

    def events_once(run: AnalyzedRun) -> tuple[coincidences.Events, ...]:
        made.append(run)
        return coincidences.collect_events(run)

    monkeypatch.setattr("tracekit.analysis.findings.calls.collect_events", events_once)
    rows = [core_ml(2.5, 2.6, "Load Model", "Other")]
    for number in range(20):
        start = 20.0 * number
        name = f"Net{number}"
        rows += [
            prediction(start + 1, start + 3, name),
            ane(start + 1, start + 2, f"{name}_main__Op0_AneInference"),
        ]
        rows += [prediction(start + 5, start + 8, name), gpu(start + 6, start + 7)]
    found = placements(analyze(with_evidence(trace_of([(0, "a", UI)]), rows)))
    assert len(found) == 20 and len(made) == 1
    coinciding = {finding.model: finding.numbers["coinciding"] for finding in found}
    assert coinciding["Net0"] == (coincidences.Change("load", round(2.5 * MS), "Other"),)
    assert coinciding["Net1"] == ()


def test_calls_without_a_model_may_be_of_two() -> None:
    """A detector on the Neural Engine and a classifier on the CPU have the same stacks up to Core ML."""
    samples: list[Sample] = [
        sample
        for number in range(8)
        for start in [20.0 * number]
        for sample in [
            *((start + tick, "a", ANE if number < 4 else BNNS) for tick in range(8)),
            (start + 12, "a", UI),
        ]
    ]
    analysis = analyze(trace_of(samples))
    finding, text = only(analysis)
    assert (finding.kind, finding.confidence, finding.basis) == ("fell-back", "possible", "sampled")
    doubt = "Stacks name no model: calls of two models look the same."
    assert text.detail.startswith(doubt) and analysis.headline.endswith(doubt)


def app_states(*rows: tuple[float, str, int]) -> pd.DataFrame:
    """Return states of apps that each begin at a time in milliseconds: name and process."""
    values = [
        (int(start * MS), int(start * MS) + MS, "interval", name, "", "App state", 0, pid, -1, "", LIFE_CYCLE)
        for start, name, pid in rows
    ]
    return pd.DataFrame(values, columns=list(SIGNPOSTS.required)).astype(dict(SIGNPOSTS.required))


@pytest.mark.parametrize(
    ("rows", "just_then"),
    [
        ([(0, "Foreground - Active", APP), (70, "Background", APP)], "'Background' (at 70.0 ms)"),
        ([(0, "Unknown", APP), (70, "Back\x1bground" + "d" * 99, APP)], "'Back"),
        ([(0, "Background", APP), (30, "Foreground - Active", APP), (130, "Background", APP)], ""),
        ([(0, "Background", APP), (65, "Unknown", APP), (70, "Background", APP)], ""),
        ([(0, "Background", APP), (70, "Launching - Initial Frame Rendering", APP)], ""),
        ([(0, "Foreground - Active", APP + 1), (70, "Background", APP + 1)], ""),
        ([(70, "Background", APP)], ""),
    ],
    ids=[
        "change",
        "first known",
        "before and after",
        "unknown between",
        "launch",
        "other process",
        "no earlier",
    ],
)
def test_an_app_that_changed_its_state_just_then(rows: list[tuple[float, str, int]], just_then: str) -> None:
    trace = replace(calls_on("AAACCC").trace, signposts=app_states(*rows))
    _, text = only(analyze(trace))
    if just_then:
        assert text.detail.startswith(f"Just then: the app became {just_then}") and "\x1b" not in text.detail
        assert len(text.detail) < 160
    else:
        assert text.detail.startswith("Nothing was recorded just then that could explain it: no load or")


def test_states_of_an_app_are_no_signposts_of_its_calls() -> None:
    trace = replace(
        calls_on("AAACCC").trace, signposts=app_states(*[(9 * n, "Background", APP) for n in range(9)])
    )
    with pytest.raises(UsageError, match="has no signpost intervals"):
        analyze(trace, signposts="*")
    assert [name for name, _ in iter_signpost_lanes(analyze(trace))] == ["App state"]
