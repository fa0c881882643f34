"""Properties of any samples, intervals, thread states and windows; slow oracles count ms by ms."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from evidence_support import (
    APP,
    OTHER_APP,
    Interval,
    Metric,
    Signpost,
    State,
    ane,
    core_ai,
    core_ml,
    drawing,
    gpu,
    manual,
    mps,
    prediction,
    with_evidence,
)
from hypothesis import given
from hypothesis import strategies as st
from json_oracle import plain_windows
from jsonschema import Draft202012Validator
from trace_support import ANE, ANE_WAIT, BNNS, CALL, E5_WORKER, LOAD, MS, UI, Sample, trace_of
from verdict_support import verdicts_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase
from tracekit.report.analysis.json import to_dict, to_json
from tracekit.report.analysis.text import to_text
from tracekit.text import escape_json

pytestmark = pytest.mark.integration  # properties of whole analyses take seconds

SCHEMA = Draft202012Validator(
    json.loads(
        (Path(__file__).parents[2] / "docs/tracekit-analysis-1.schema.json").read_text(encoding="utf-8")
    )
)
END = 45
"""In ms: no row lies later."""

ROWS = {
    "ane a": lambda start, end: ane(start, end, "A_main__Op0_AneInference"),
    "ane b": lambda start, end: ane(start, end, "B_main__Op0_AneInference"),
    "ane of others": lambda start, end: ane(start, end, "Photos_main__Op0_AneInference"),
    "nested": lambda start, end: ane(start, end, "A_main__Op0_AneInference", depth=1),
    "compile": lambda start, end: ane(start, end, "A_0123456789ab Neural Engine Compile"),
    "gpu": gpu,
    "gpu of others": lambda start, end: gpu(start, end, OTHER_APP),
    "gpu without process": lambda start, end: gpu(start, end, -1),
    "mps": mps,
    "drawing": drawing,
    "cpu": lambda start, end: core_ml(start, end, "CPU", "A"),
    "request": lambda start, end: core_ml(start, end, "GPU Request", "A"),
    "load": lambda start, end: core_ml(start, end, "Model Load", "B"),
    "prediction": lambda start, end: prediction(start, end, "A"),
    "core ai": lambda start, end: core_ai(start, end, model="S", function="encode"),
    "inside core ai": lambda start, end: core_ai(start, end, model="S", function="encode", depth=1),
    "core ai compiles": lambda start, end: core_ai(start, end, "Specialization", "S", "encode"),
    "region": lambda start, end: ane(start, end, "encode_ANE_region_0_1"),
    "region of others": lambda start, end: ane(start, end, "detect_ANE_region_0_0"),
    "cut off": lambda start, end: ane(start, end, "A_main__Op1_AneInference Lo"),
    "mps twin": lambda start, end: ane(start, end, "entry_0_ANE_region_0_0", pid=APP),
    "mps twin of others": lambda start, end: ane(start, end, "entry_0_ANE_region_0_0", pid=OTHER_APP),
}
TIMES = st.integers(0, END - 15)
LENGTHS = st.integers(-1, 15)
INTERVALS = st.lists(
    st.tuples(st.sampled_from(list(ROWS)), TIMES, LENGTHS).map(
        lambda row: ROWS[row[0]](row[1], row[1] + row[2])
    ),
    max_size=10,
)
STACKS = [UI, LOAD, CALL, ANE, ANE_WAIT, BNNS, E5_WORKER, None]
SAMPLES: st.SearchStrategy[list[Sample]] = st.lists(
    st.tuples(TIMES, st.sampled_from(["a", "b"]), st.sampled_from(STACKS)),
    max_size=25,
    unique_by=lambda row: row[:2],
).map(lambda rows: [(0.5, "a", UI), *rows])
STATES = st.lists(
    st.builds(
        lambda start, length, state, tid: State(start, start + length, state, tid),
        TIMES,
        LENGTHS,
        st.sampled_from(["Blocked", "Running"]),
        st.sampled_from([1, 2]),
    ),
    max_size=4,
)
CUTS = st.lists(st.integers(0, END + 5), min_size=2, max_size=5, unique=True)


@dataclass(frozen=True)
class Case:
    samples: list[Sample]
    intervals: list[Interval]
    states: list[State]

    def trace(self, shift: int = 0) -> Trace:
        """The case with every clock ``shift`` ms on."""
        return with_evidence(
            trace_of([(sample[0] + shift, *sample[1:]) for sample in self.samples]),  # type: ignore[misc]
            [replace(row, start=row.start + shift, end=row.end + shift) for row in self.intervals],
            [Signpost(3 + shift, 30 + shift, "s/c/n")],
            [replace(row, start=row.start + shift, end=row.end + shift) for row in self.states],
            [Metric(shift, shift + 20, "cycles", 1000)],
        )


CASES = st.builds(Case, SAMPLES, INTERVALS, STATES)


def windows_at(cuts: list[int], shift: int = 0) -> list[Window]:
    return [manual(start + shift, end + shift) for start, end in itertools.pairwise(sorted(cuts))]


def amounts(rows: pd.DataFrame) -> Counter[tuple[str, str, str]]:
    """(engine, phase, what) → amount, over any number of windows; zero and missing are left out."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows.to_dict("records"):
        for what in ("samples", "weight", "busy_ns", "waiting_ns"):
            if not pd.isna(row[what]) and row[what]:
                counts[str(row["engine"]), str(row["phase"]), what] += int(row[what])
    return counts


def inside(analysis: Analysis) -> pd.DataFrame:
    return analysis.attribution_rows[analysis.attribution_rows["window_id"] >= 0]


# Slow oracles -----------------------------------------------------------------------------------------------


def held(rows: list[Interval], window: tuple[int, int]) -> int:
    """Return the ms of a window that any of the rows covers."""
    return sum(any(row.start <= time < row.end for row in rows) for time in range(*window))


def counting(rows: list[Interval]) -> list[Interval]:
    """The rows that count for process 7, by the guide's words; a nested row only where its table has no other."""
    outer = {row.source for row in rows if not row.depth}
    nesting = [row for row in rows if row.source in ("ODIEProfile", "coreml-os-signpost")]
    rows = [row for row in rows if row in nesting or not row.depth or row.source not in outer]
    return [row for row in rows if is_counted(row, rows)]


def is_counted(row: Interval, rows: list[Interval]) -> bool:
    """True for a row of process 7, or one whose label fits a model or function of its runtimes."""
    if row.source != "ane-hw-intervals" or row.pid >= 0:
        return row.pid in (7, -1)
    named = [entry for entry in rows if entry.source in ("coreml-os-signpost", "ODIEProfile")]
    of_core_ai = [entry for entry in named if entry.source == "ODIEProfile"]

    def fits(entry: Interval) -> bool:
        return any(entry.label.startswith(f"{name.model}_") for name in named)

    def of_function(entry: Interval) -> list[Interval]:
        return [call for call in of_core_ai if entry.label.startswith(f"{call.label}_")]

    def is_region(entry: Interval) -> bool:
        return bool(of_core_ai) and "_ANE_region_" in entry.label

    alike = [o for o in rows if o.source == row.source and is_region(o) == is_region(row)]
    if is_region(row):
        calls = of_function(row) if any(of_function(entry) for entry in alike) else of_core_ai
        return any(call.start < row.end and row.start < call.end for call in calls)
    return fits(row) or not any(fits(entry) for entry in alike)


def may_be_of_others(rows: list[Interval]) -> list[Interval]:
    """The rows that name no process, where one of them lies outside of the calls that a table lists.

    The guide's rules about other owners begin with such a row; which of the rows they leave open is not counted.
    """
    calls = [row for row in rows if row.channel in ("Prediction", "Inference")]
    open_rows = [row for row in rows if row.source == "ane-hw-intervals" and row.pid < 0]
    is_outside = any(
        not any(call.start <= row.start and row.end <= call.end for call in calls) for row in open_rows
    )
    return open_rows if calls and is_outside else []


def handed_over(samples: list[Sample], thread: str) -> list[tuple[float, bool]]:
    """(time, hands over) of one thread's samples, in order."""
    of_thread = sorted((sample for sample in samples if sample[1] == thread), key=lambda sample: sample[0])
    return [(sample[0], sample[2] in (ANE, ANE_WAIT, E5_WORKER)) for sample in of_thread]


def holes(samples: list[Sample]) -> list[tuple[float, float]]:
    """From one period after a sample that hands over to the thread's next one."""
    return [
        (time + 1, following)
        for thread in ("a", "b")
        for (time, hands), (following, _) in itertools.pairwise(handed_over(samples, thread))
        if hands and following - time > 1.5
    ]


def blocked(case: Case) -> list[tuple[float, float]]:
    """Blocked states up to 250 ms after the thread's last sample, if that hands over."""
    tids = {
        thread: tid
        for tid, thread in enumerate(dict.fromkeys(s[1] for s in sorted(case.samples, key=lambda s: s[0])), 1)
    }
    blocked = []
    for state in case.states:
        of_state_thread = [
            t for thread, tid in tids.items() if tid == state.tid for t in handed_over(case.samples, thread)
        ]
        before = [sample for sample in of_state_thread if sample[0] <= state.start]
        if state.state == "Blocked" and before and before[-1][1] and state.start - before[-1][0] <= 250:
            blocked.append((state.start, state.end))
    return [(start, end) for start, end in blocked if end > start]


def halves(spans: list[tuple[float, float]], window: tuple[int, int]) -> float:
    """Return the time of a window that the intervals cover, by halves of a ms."""
    ticks = range(2 * window[0], 2 * window[1])
    return sum(any(start <= tick / 2 < end for start, end in spans) for tick in ticks) / 2


# Properties -------------------------------------------------------------------------------------------------


@given(CASES, CUTS)
def test_busy_equals_a_slow_count(case: Case, cuts: list[int]) -> None:
    check_busy(case, cuts)


def test_busy_leaves_out_rows_that_reach_out_of_their_calls_on_both_sides() -> None:
    rows = [ROWS["ane a"](0, 2), ROWS["ane a"](0, 3), ROWS["prediction"](1, 2)]
    case = Case([(0.5, "a", UI)], rows, [])
    check_busy(case, [0, 1])
    of_neural_engine = amounts(analyze(case.trace(), windows=windows_at([0, 1])).totals)
    assert of_neural_engine["ANE", "execute", "busy_ns"] == 0
    one_row = amounts(analyze(replace(case, intervals=rows[1:]).trace(), windows=windows_at([0, 1])).totals)
    assert one_row["ANE", "execute", "busy_ns"] == 3 * MS


def test_busy_leaves_out_a_row_beside_work_of_the_cpu_whose_label_lies_in_no_call_as_well() -> None:
    rows = [ROWS["ane a"](0, 1), ROWS["prediction"](5, 10), ROWS["cpu"](5, 10), ROWS["ane a"](6, 8)]
    case = Case([(0.5, "a", UI)], rows, [])
    check_busy(case, [0, 12])
    totals = amounts(analyze(case.trace(), windows=windows_at([0, 12])).totals)
    assert totals["ANE", "execute", "busy_ns"] == MS


def check_busy(case: Case, cuts: list[int]) -> None:
    """Compare with a count of ms; rows that may be another owner's may be left out."""
    analysis = analyze(case.trace(), windows=windows_at(cuts))
    rows = counting(case.intervals)
    doubtful = may_be_of_others(rows)
    actual: Counter[tuple[int, str, str]] = Counter()
    for row in inside(analysis).to_dict("records"):
        phase_name = "None" if pd.isna(row["phase"]) else str(row["phase"])
        actual[row["window_id"], str(row["engine"]), phase_name] = (
            0 if pd.isna(row["busy_ns"]) else row["busy_ns"]
        )
    for number, edge in enumerate(itertools.pairwise(sorted(cuts))):
        for engine, phase in itertools.product(
            (Engine.ANE, Engine.GPU, Engine.CPU, Engine.RUNTIME, Engine.GRAPHICS),
            (Phase.EXECUTE, Phase.COMPILE, Phase.LOAD, None),
        ):
            # A call as a whole is no work, nor is a row of which the kind is not known.
            is_work = (engine, phase) not in ((Engine.RUNTIME, None), (Engine.ANE, None))
            of_engine = [row for row in rows if is_work and (row.engine, row.phase) == (engine, phase)]
            certain = [row for row in of_engine if row not in doubtful]
            busy_ns = actual.pop((number, str(engine), str(phase)), 0)
            assert held(certain, edge) * MS <= busy_ns <= held(of_engine, edge) * MS
    assert not +actual


@given(CASES, CUTS)
def test_waiting_equals_a_slow_count(case: Case, cuts: list[int]) -> None:
    analysis = analyze(case.trace(), windows=windows_at(cuts))
    states = blocked(case)
    spans, basis = (states, "measured") if states else (holes(case.samples), "inferred")
    for number, edge in enumerate(itertools.pairwise(sorted(cuts))):
        rows = analysis.attribution_rows
        rows = rows[(rows["window_id"] == number) & (rows["engine"] == "ANE") & rows["waiting_ns"].notna()]
        assert rows["waiting_ns"].sum() == halves(spans, edge) * MS
        assert rows["waiting_basis"].tolist() in ([], [basis])


@given(CASES, CUTS)
def test_nothing_is_negative_and_no_engine_is_busy_for_longer_than_its_window(
    case: Case, cuts: list[int]
) -> None:
    analysis = analyze(case.trace(), windows=windows_at(cuts))
    check_bounds(analysis)


def check_bounds(analysis: Analysis) -> None:
    lengths = (analysis.window_rows["end_ns"] - analysis.window_rows["start_ns"]).tolist()
    for row in analysis.attribution_rows.to_dict("records"):
        for what in ("samples", "weight", "busy_ns", "waiting_ns"):
            assert pd.isna(row[what]) or row[what] >= 0
        for what in ("busy_ns", "waiting_ns"):
            longest = lengths[row["window_id"]] if row["window_id"] >= 0 else 2**62
            assert pd.isna(row[what]) or row[what] <= longest
    for row, length in zip(analysis.times.to_dict("records"), lengths, strict=True):
        for what in ("busy_ns", "overlap_ns", "idle_ns", "preparing_ns", "foreign_ns"):
            assert pd.isna(row[what]) or 0 <= row[what] <= length
        assert pd.isna(row["overlap_ns"]) or row["overlap_ns"] <= row["busy_ns"]
    starts, ends = analysis.window_rows["start_ns"].tolist(), analysis.window_rows["end_ns"].tolist()
    previous = (-1, 0)
    for row in analysis.segments.to_dict("records"):
        window = row["window_id"]
        assert starts[window] <= row["start_ns"] <= row["end_ns"] <= ends[window]
        assert 0 <= row["busy_ns"] <= row["end_ns"] - row["start_ns"]
        assert previous <= (window, row["start_ns"])
        previous = (window, row["start_ns"])


@given(CASES, CUTS)
def test_splitting_a_window_and_adding_gives_the_same(case: Case, cuts: list[int]) -> None:
    trace = case.trace()
    pieces = analyze(trace, windows=windows_at(cuts))
    whole = analyze(trace, windows=windows_at([min(cuts), max(cuts)]))
    assert amounts(inside(pieces)) == amounts(inside(whole))
    for what in ("busy_ns", "overlap_ns", "foreign_ns"):
        parts, all_of_it = pieces.times[what], whole.times[what]
        assert parts.isna().all() == all_of_it.isna().all()
        assert parts.sum() == all_of_it.sum()


@given(CASES, CUTS)
def test_windows_and_what_is_outside_add_up_to_the_whole(case: Case, cuts: list[int]) -> None:
    trace = case.trace()
    given_ones = analyze(trace, windows=windows_at(cuts))
    assert amounts(given_ones.attribution) == amounts(given_ones.totals)
    everything = analyze(trace, windows=[manual(0, END + 5)])
    assert amounts(inside(everything)) == amounts(given_ones.totals)


@given(CASES, st.sampled_from(["auto", "ane", "stacks", "given"]), st.integers(1, 10**6))
def test_shifting_the_clock_changes_nothing_but_times(case: Case, source: str, shift: int) -> None:
    case = replace(case, intervals=[*case.intervals, ane(1, 3, "A_main__Op0_AneInference")])
    unmoved, shifted = (
        analyze(case.trace(by), windows=[manual(5 + by, 30 + by)] if source == "given" else source)  # type: ignore[arg-type]
        for by in (0, shift)
    )
    moved = ["start_ns", "end_ns"]
    for left, right in [(unmoved.window_rows, shifted.window_rows), (unmoved.segments, shifted.segments)]:
        back = right.assign(**{name: right[name] - shift * MS for name in moved})
        unnamed = ["label"] if source == "given" else []
        pd.testing.assert_frame_equal(
            left.drop(columns=unnamed, errors="ignore"), back.drop(columns=unnamed, errors="ignore")
        )
    pd.testing.assert_frame_equal(unmoved.attribution_rows, shifted.attribution_rows)
    pd.testing.assert_frame_equal(unmoved.times, shifted.times)
    assert unmoved.verdicts == shifted.verdicts


@given(CASES, st.randoms(use_true_random=False), st.sampled_from(["given", "coreml", "ane", "stacks"]))
def test_the_order_and_repetition_of_rows_changes_nothing(case: Case, random: Random, source: str) -> None:
    calls = [prediction(2, 9, "A"), prediction(12, 30, "B")]
    hardware = [ROWS["ane a"](2, 5)] if source == "ane" else calls  # labels alone tell ANE rounds apart
    case = replace(case, intervals=[*case.intervals, *hardware])
    again = [*case.intervals, *(row for row in case.intervals if row.channel != "Prediction")]
    random.shuffle(again)
    states = [*case.states, *case.states]
    random.shuffle(states)
    windows = [manual(5, 30), manual(20, 40)] if source == "given" else source
    once, repeated = (
        analyze(variant.trace(), windows=windows)  # type: ignore[arg-type]
        for variant in (case, replace(case, intervals=again, states=states))
    )
    pd.testing.assert_frame_equal(once.attribution_rows, repeated.attribution_rows)
    pd.testing.assert_frame_equal(once.times, repeated.times)
    pd.testing.assert_frame_equal(once.segments, repeated.segments)
    pd.testing.assert_frame_equal(once.submissions, repeated.submissions)
    assert once.verdicts == repeated.verdicts
    assert once.summary == repeated.summary


def check_json(analysis: Analysis) -> None:
    """Compare the document with one made of plain windows, byte by byte."""
    document = to_dict(analysis)
    SCHEMA.validate(document)
    plain = {**document, "windows": plain_windows(analysis)}
    text = json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False)
    assert to_json(analysis) == f"{escape_json(text)}\n"


@given(CASES, st.sampled_from(["auto", "stacks", "run", "signpost"]))
def test_calls_are_within_bounds_and_have_sentences(case: Case, source: str) -> None:
    signposts = ["s/c/*"] if source == "signpost" else []
    analysis = analyze(case.trace(), windows="auto" if signposts else source, signposts=signposts)  # type: ignore[arg-type]
    check_bounds(analysis)
    check_json(analysis)
    assert to_text(analysis)
    for verdict in verdicts_of(analysis):
        assert verdict.verdict in ("ANE", "GPU", "CPU", "MIXED", "UNKNOWN")
        assert verdict.sentence
        assert "-" not in verdict.sentence.partition("(")[0]


@given(CASES, CUTS, st.integers(1, 4))
def test_windows_given_twice_count_twice(case: Case, cuts: list[int], times: int) -> None:
    trace = case.trace()
    once = analyze(trace, windows=windows_at(cuts))
    several = analyze(trace, windows=windows_at(cuts) * times)
    expected = {key: times * amount for key, amount in amounts(inside(once)).items()}
    assert amounts(inside(several)) == expected


# Rows and windows that make no sense ------------------------------------------------------------------------

EDGE_NS = [0, 1, 5 * MS, 2**53 + 1, 2**62 - 1, 2**62]


@given(
    st.lists(
        st.tuples(st.sampled_from(list(ROWS)), st.sampled_from(EDGE_NS), st.sampled_from(EDGE_NS)), max_size=6
    ),
    st.lists(st.tuples(st.sampled_from(EDGE_NS), st.sampled_from(EDGE_NS)), max_size=3),
    st.booleans(),
)
def test_edges_of_64_bits(
    rows: list[tuple[str, int, int]], windows: list[tuple[int, int]], with_samples: bool
) -> None:
    trace = with_evidence(
        trace_of([(1, "a", ANE), (4, "a", BNNS)] if with_samples else []),
        [ROWS[kind](0, 0) for kind, _, _ in rows],
    )
    exact = trace.intervals.assign(
        start_ns=pd.Series([start for _, start, _ in rows], dtype="int64"),
        end_ns=pd.Series([end for _, _, end in rows], dtype="int64"),
    )
    trace = replace(trace, intervals=exact)
    given = [manual(0, 1)._replace(start_ns=start, end_ns=end) for start, end in windows if start < end]
    given.append(manual(2, 3))
    for analysis in (analyze(trace), analyze(trace, windows=given)):
        check_bounds(analysis)
        check_json(analysis)
        assert to_text(analysis)


@pytest.mark.parametrize(
    "rows", [[], [ane(1, 2)], [gpu(1, 2, OTHER_APP)], [prediction(1, 2)], [core_ml(1, 2, "CPU")]]
)
@pytest.mark.parametrize("samples", [[], [(1, "a", None)], [(1, "a", ANE)]])
def test_next_to_nothing(rows: list[Interval], samples: list[Sample]) -> None:
    trace = with_evidence(trace_of(samples), rows)
    for windows in ("auto", "stacks", "run", [], [manual(0, 10)]):
        analysis = analyze(trace, windows=windows)  # type: ignore[arg-type]
        check_bounds(analysis)
        SCHEMA.validate(to_dict(analysis))
        assert to_text(analysis)
