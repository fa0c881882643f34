"""``compare``: the numbers that two sides cannot share, the groups and engines of one side, and the cautions about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from compare_support import INFO, LENGTHS, numbers, recorded, row
from evidence_support import ane, core_ml, manual, prediction, with_evidence
from sample_recordings import sample_analysis
from trace_support import ANE, ANE_WAIT, BNNS, UI, trace_of

from tracekit import Analysis, analyze, compare
from tracekit.comparison.result import Caution, Value
from tracekit.comparison.rows import refuse_difference
from tracekit.errors import UsageError
from tracekit.load import open_trace
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.headline import sentence
from tracekit.report.comparison.wording import cells, missing, table_rows

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def test_busy_time_and_host_samples_are_never_one_number() -> None:
    comparison = compare([recorded(LENGTHS, ane_busy=2)], [recorded(LENGTHS, ane_busy=4)])
    assert numbers(row(comparison, "ANE busy")) == (2.0, 4.0, 2.0, "higher in these recordings")
    assert row(comparison, "ANE busy").base.basis == "measured"
    assert numbers(row(comparison, "ANE samples")) == (1.0, 1.0, 0.0, "within the noise")
    assert row(comparison, "ANE samples").base.basis == "sampled"


def test_what_one_side_cannot_show_is_not_compared() -> None:
    comparison = compare([recorded(LENGTHS, measured=False)], [recorded(LENGTHS)])
    busy = row(comparison, "ANE busy")
    assert (busy.difference, busy.judgement, busy.new.value) == (None, "not measurable", 2e6)
    assert busy.base.missing.startswith("no table measured the ANE")
    assert row(comparison, "ANE share").judgement == "within the noise"


def test_lengths_of_different_bases_are_not_compared() -> None:
    inferred = recorded([10.0] * 12, "C" * 12, windows="stacks")
    assert set(inferred.window_rows["basis"]) == {"inferred"}
    comparison = compare([recorded([10.0] * 12, "C" * 12)], [inferred])
    assert row(comparison, "p50").judgement == "not measurable"
    assert "coreml-os-signpost in BASE and from stacks in NEW" in row(comparison, "p50").base.missing
    assert "different-window-sources" in [caution.code for caution in comparison.cautions]
    assert row(comparison, "CPU share").judgement == "within the noise"


def test_the_two_names_of_the_neural_engines_table_are_one_source() -> None:
    def windows(internal: bool) -> Analysis:
        busy = [ane(30 * n, 30 * n + 5 + n % 3, internal=internal) for n in range(1, 12)]
        return analyze(with_evidence(trace_of([(40.0, "main", ANE)]), busy), windows="ane")

    comparison = compare([windows(False)], [windows(True)])
    assert [side.runs[0].window_sources for side in (comparison.base, comparison.new)] == [
        ("ane-hw-intervals",),
        ("ane-hw-intervals-internal",),
    ]
    codes = {caution.code for caution in comparison.cautions}
    assert not codes & {"different-window-sources", "different-kinds-of-windows"}
    assert comparison.one_sided == ()
    assert row(comparison, "p50").difference == 0


def test_times_with_different_bases_are_not_subtracted() -> None:
    measured, inferred = Value(5.0, 10, 10, "measured"), Value(9.0, 10, 10, "inferred")
    refusal = refuse_difference("ANE waiting", ("ns", "ns"), measured, inferred)
    assert refusal is not None
    assert (refusal.difference, refusal.judgement) == (None, "not measurable")
    assert refusal.base.missing == "measured in BASE and inferred in NEW, which cannot be compared"
    assert refuse_difference("hand-offs", ("count", "count"), measured, inferred) is None


def test_given_windows_have_no_length_to_compare() -> None:
    trace = trace_of([(index + 0.5, "main", BNNS) for index in range(200)])
    given = analyze(trace, windows=[manual(index * 10, index * 10 + 8) for index in range(10)])
    lengths = row(compare([given], [given]), "p50")
    assert lengths.base.missing == "the ranges are user-supplied, so their lengths are not measurements"


def test_samples_in_cycles_are_not_subtracted_from_time() -> None:
    stacks = [(index + 0.5, "main", BNNS) for index in range(100)]
    windows = [manual(index * 10, index * 10 + 8) for index in range(10)]
    time, cycles = (analyze(trace_of(stacks, unit), windows=windows) for unit in ("ns", "cycles"))  # type: ignore[arg-type]
    comparison = compare([time], [cycles])
    assert row(comparison, "CPU samples").judgement == "not measurable"
    assert comparison.functions_missing == "samples are weighted in cycles and ns, which cannot be compared"


def test_models_are_groups_and_one_sided_ones_are_named() -> None:
    models = ["Net", "Big"] * 10
    base = recorded([10.0, 30.0] * 10, models=models)
    new = recorded([20.0, 30.0] * 10, models=models)
    comparison = compare([base], [new])
    assert [(group.kind, group.name, group.base_windows) for group in comparison.groups] == [
        ("all", "", 20),
        ("kind", "Big", 10),
        ("kind", "Net", 10),
    ]
    assert [group.also_names for group in comparison.groups] == [(), ("Big",), ("Net",)]
    assert [row(comparison, "p50", group).judgement for group in (1, 2)] == [
        "within the noise",
        "higher in these recordings",
    ]
    assert "different-kinds-of-windows" not in [caution.code for caution in comparison.cautions]
    alone = compare([base], [recorded([20.0] * 10)])
    assert "different-kinds-of-windows" in [caution.code for caution in alone.cautions]
    assert ("model", "Big", "base", 10) in [
        (group.kind, group.name, group.side, group.windows) for group in alone.one_sided
    ]


def of_models(*models: str) -> Analysis:
    """Return six calls of each model: of the first 10 ms on the Neural Engine, of others 40 ms on the CPU."""
    rows, samples = [], [(0.0, "a", UI)]
    for number, model in enumerate(model for model in models for _ in range(6)):
        start = 100.0 * number + 10
        is_first = model == models[0]
        rows += [prediction(start, start + (10 if is_first else 40), model)]
        rows += [ane(start + 1, start + 8)] if is_first else []
        samples += [] if is_first else [(start + n, model, BNNS) for n in range(1, 39)]
    return analyze(with_evidence(trace_of(samples), rows))


def test_a_model_of_one_side_is_not_in_the_first_sentences() -> None:
    text = sentence(compare(of_models("Net", "Slow"), of_models("Net")))
    assert text.startswith(
        "In these recordings Net p50 is the same: 10.000 ms. Every engine has the same share"
    )
    assert text.endswith("This leaves out what only one side has: Slow.")


def test_sides_without_a_model_in_common_have_no_length_to_compare() -> None:
    text = sentence(compare(of_models("Net"), of_models("Slow")))
    assert text == "Lengths and engines cannot be compared: BASE and NEW have no model in common."


def test_windows_of_one_label_and_two_sources_are_two_kinds() -> None:
    analysis = recorded(LENGTHS)
    sources = pd.Categorical(["coreml-os-signpost"] * 4 + ["signpost"] * 6)
    two = replace(analysis, window_rows=analysis.window_rows.assign(source=sources))
    kinds = [
        (group.source, group.base_windows) for group in compare([two], [two]).groups if group.kind == "kind"
    ]
    assert kinds == [("coreml-os-signpost", 4), ("signpost", 6)]


def test_hand_offs_are_counted_per_window() -> None:
    comparison = compare([recorded([20.0] * 6)], [recorded([20.0] * 6, "X" * 6)])
    hand_offs = row(comparison, "hand-offs")
    assert (hand_offs.base.value, hand_offs.new.value, hand_offs.judgement) == (
        0.0,
        1.0,
        "higher in these recordings",
    )


def test_submissions_are_counted_per_inference() -> None:
    comparison = compare([recorded([20.0] * 6)], [recorded([20.0] * 6, "AAACCC")])
    for metric in ("submissions", "segments"):
        difference = row(comparison, metric)
        assert (difference.base.value, difference.new.value) == (1.0, 0.5)
        assert difference.base.basis == "measured"


def test_other_explanations_of_a_difference_are_cautions() -> None:
    new = replace(INFO, device="iPhone", os="18.0", template="Time Profiler")
    later = [*LENGTHS[1:], 10.5]
    comparison = compare([recorded(LENGTHS)], [recorded(later, info=new)])
    assert {caution.code: caution_text(caution) for caution in comparison.cautions} | {"one-run": ""} == {
        "different-device": "different devices: Mac in BASE, iPhone in NEW",
        "different-os": "different systems: 15.0 in BASE, 18.0 in NEW",
        "different-template": "different templates: Core ML in BASE, Time Profiler in NEW",
        "one-run": "",
    }


def test_a_side_whose_windows_have_no_known_engine_has_no_shares() -> None:
    comparison = compare([recorded(LENGTHS)], [recorded(LENGTHS, "U" * 10)])
    for name in ("ANE share", "CPU share"):
        share = row(comparison, name)
        assert (share.new.value, share.judgement) == (None, "not measurable")
        assert share.new.missing == "no call has a known engine"
    unknown = row(comparison, "UNKNOWN share")
    assert (unknown.base.value, unknown.new.value, unknown.judgement) == (
        0.0,
        1.0,
        "higher in these recordings",
    )
    assert "Engines cannot be compared: not measurable in NEW, no call has a known engine." in sentence(
        comparison
    )
    neither = compare([recorded(LENGTHS, "U" * 10)], [recorded(LENGTHS, "U" * 10)])
    assert "No call has a known engine." in sentence(neither)


def test_windows_of_unknown_engine_leave_shares_open() -> None:
    comparison = compare([recorded([10.0] * 20)], [recorded([10.0] * 20, "AUAUA" * 4)])
    ane = row(comparison, "ANE share")
    assert (ane.base.value, ane.base.most, ane.new.value, ane.new.most) == (1.0, None, 0.6, 1.0)
    assert (ane.difference, ane.judgement) == (None, "not measurable")
    assert ane.new.missing == (
        "the engine of 8 of 20 calls in NEW is unknown, and the result depends on them"
    )
    assert "Engines cannot be compared: the engine of 8 of 20 calls in NEW is unknown" in sentence(comparison)


def test_few_silent_windows_change_no_finding() -> None:
    comparison = compare([recorded([10.0] * 20)], [recorded([10.0] * 20, "C" * 19 + "U")])
    cpu = row(comparison, "CPU share")
    assert (cpu.base.value, cpu.new.value, cpu.new.most, cpu.judgement) == (
        0.0,
        0.95,
        1.0,
        "higher in these recordings",
    )
    assert cells(cpu)[2] == "95.0 … 100.0 %"
    assert cpu.low is not None
    assert cpu.high is not None
    assert cpu.low < 0.95 < 1.0 <= cpu.high
    back = compare([recorded([10.0] * 20, "C" * 19 + "U")], [recorded([10.0] * 20)])
    turned = row(back, "CPU share")
    assert (turned.low, turned.high) == pytest.approx((-cpu.high, -cpu.low))
    assert turned.judgement == "lower in these recordings"


def half_busy(on_cpu: int) -> Analysis:
    """Ten predictions, of which Core ML reports the CPU's part in some."""
    trace = trace_of([(20.5 + index * 20, "main", BNNS) for index in range(10)])
    rows = [prediction(20 + index * 20, 30 + index * 20) for index in range(10)]
    rows += [core_ml(21 + index * 20, 24 + index * 20, "CPU", depth=1) for index in range(on_cpu)]
    return analyze(with_evidence(trace, rows))


def test_a_number_of_some_windows_has_a_note_with_their_count() -> None:
    comparison = compare([half_busy(6)], [half_busy(10)])
    busy = row(comparison, "CPU busy")
    assert (busy.base.value, busy.base.count, busy.base.total, busy.base.is_partial) == (3e6, 6, 10, True)
    assert not busy.new.is_partial
    (note,) = missing(table_rows(iter([busy]))[1])
    assert note.text == (
        "6 of 10 calls in BASE and 10 of 10 in NEW show it, and the number covers only these: CPU busy"
    )
    whole = row(compare([half_busy(10)], [half_busy(10)]), "CPU busy")
    assert table_rows(iter([whole])) == ([whole], [])


def test_loads_of_some_runs_state_the_number_of_runs() -> None:
    base = [recorded(LENGTHS, load=5), recorded(LENGTHS[1:])]
    load = row(compare(base, [recorded(LENGTHS[2:], load=5)]), "load")
    assert (load.base.count, load.base.total, load.base.is_partial) == (1, 2, True)


def test_the_run_that_lacks_a_number_is_named() -> None:
    named = replace(INFO, name="bare")
    base = [recorded(LENGTHS), recorded(LENGTHS[1:], measured=False, info=named)]
    busy = row(compare(base, [recorded(LENGTHS[2:])]), "ANE busy")
    assert busy.base.missing.startswith("bare, run 1: no table measured the ANE")
    alone = row(compare(base[1:], [recorded(LENGTHS[2:])]), "ANE busy")
    assert alone.base.missing.startswith("no table measured the ANE")


def test_a_recording_that_is_given_twice_is_no_second_run() -> None:
    first, second, third = recorded(LENGTHS), recorded(LENGTHS[1:]), recorded(LENGTHS[2:])
    renamed = recorded(LENGTHS, info=replace(INFO, name="copy"))
    messages = {
        caution.code: caution_text(caution) for caution in compare([first, second], [third, renamed]).cautions
    }
    assert messages["same-recording-twice"].startswith(
        "the same recording is given twice or more: literal, run 1, in BASE and NEW;"
    )
    twice = compare([second], [first, renamed]).cautions[0]
    assert "literal, run 1, in NEW (2 times)" in caution_text(twice)
    assert not any(
        caution.code == "same-recording-twice" for caution in compare([first], [second, third]).cautions
    )


def test_verdicts_that_are_known_in_different_ways_are_a_caution() -> None:
    comparison = compare([recorded(LENGTHS)], [recorded(LENGTHS, measured=False)])
    (message,) = [
        caution_text(caution) for caution in comparison.cautions if caution.code == "different-verdict-bases"
    ]
    assert message.startswith(
        "verdicts are measured in BASE, sampled in NEW: a share counts calls by verdict"
    )
    alike = compare([recorded(LENGTHS)], [recorded(LENGTHS[1:])])
    assert "different-verdict-bases" not in [caution.code for caution in alike.cautions]


def test_sides_without_windows_or_samples_have_a_remark() -> None:
    empty = analyze(with_evidence(trace_of([])))
    comparison = compare([empty], [recorded(LENGTHS)])
    assert row(comparison, "p50").base.missing == "there is no such call"
    assert comparison.functions_missing == "not measurable in BASE: no host sample has a stack"
    assert compare([empty], [empty]).groups[0].base_windows == 0
    with pytest.raises(UsageError, match="needs a recording on each side"):
        compare([], [empty])


def test_functions_without_a_symbol_are_one_per_binary() -> None:
    def bare(address: str) -> Analysis:
        stack = (f"libSecret.dylib | {address}", "App | main")
        windows = [manual(index * 10, index * 10 + 8) for index in range(10)]
        return analyze(trace_of([(index * 10 + 1.0, "main", stack) for index in range(10)]), windows=windows)

    assert compare([bare("0x1000")], [bare("0x2000")]).largest_functions == ()


def test_a_sample_recording_whose_truth_is_known() -> None:
    """fallback-midway: six windows on the Neural Engine, then six on the CPU."""
    whole = sample_analysis("fallback-midway-ios27")
    halves = [
        analyze(
            open_trace(SAMPLES / "fallback-midway-ios27"),
            windows=[manual(start + index * 41, start + index * 41 + 26) for index in range(6)],
        )
        for start in (18.8, 264.8)
    ]
    assert compare([whole], [whole]).base.verdicts == {"ANE": 6, "CPU": 6}
    comparison = compare(halves[:1], halves[1:])
    assert [
        (share.base.value, share.new.value, share.judgement)
        for share in (row(comparison, f"{name} share") for name in ("ANE", "CPU"))
    ] == [
        (1.0, 0.0, "lower in these recordings"),
        (0.0, 1.0, "higher in these recordings"),
    ]
    appeared = {change.engine for change in comparison.largest_functions if change.change == "appeared"}
    vanished = {
        function.symbol
        for function in comparison.largest_functions
        if function.change == "vanished" and function.engine == "ANE"
    }
    assert "CPU" in appeared
    assert vanished


def test_a_function_is_the_frame_that_decided_and_not_the_leaf() -> None:
    windows = [manual(index * 10, index * 10 + 8) for index in range(10)]
    once, thrice = (
        [(index * 10 + 1.0 + n, "main", ANE_WAIT) for index in range(10) for n in range(times)]
        for times in (1, 3)
    )
    sides = [analyze(trace_of(samples), windows=windows) for samples in (once, thrice)]
    (change,) = compare(sides[:1], sides[1:]).largest_functions
    assert (change.change, change.engine, change.symbol) == (
        "grew",
        "ANE",
        "H11ANEProgramProcessRequestDirect",
    )
    assert (change.row.base.value, change.row.new.value) == (1e6, 3e6)


def test_a_function_that_decides_nothing_is_the_leaf() -> None:
    windows = [manual(index * 10, index * 10 + 8) for index in range(10)]
    idle, busy = (
        [(index * 10 + 1.0 + n, "main", UI) for index in range(10) for n in range(times)] for times in (1, 3)
    )
    sides = [analyze(trace_of(samples), windows=windows) for samples in (idle, busy)]
    (change,) = compare(sides[:1], sides[1:]).largest_functions
    assert (change.symbol, change.binary, change.engine) == ("-[NSView drawRect:]", "AppKit", "OTHER")


def test_a_caution_separates_runs_whose_windows_have_several_sources() -> None:
    facts = {"base": ["stacks"], "new": ["coreml-os-signpost, stacks", "stacks"]}
    text = caution_text(Caution("different-window-sources", facts))
    assert text.endswith("stacks in BASE, coreml-os-signpost, stacks; stacks in NEW")
