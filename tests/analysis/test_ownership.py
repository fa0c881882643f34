"""Each interval of an engine's table has one owner: a call, the process, another process, or none for certain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from evidence_support import Interval, Signpost, ane, core_ml, gpu, prediction, with_evidence
from trace_support import ANE, BNNS, CALL, E5_WORKER, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.ownership.owners import OWNERS, REASONS, Owner, Reason
from tracekit.checks.check import check
from tracekit.load import open_trace
from tracekit.report import wording

QUIET: list[Sample] = [(0, "a", UI), (400, "a", UI)]
ON_GPU = ("MetalPerformanceShadersGraph | -[MPSGraphExecutable encodeToCommandBuffer:]", *CALL)
NET, OTHER = "Net_main__Op0_AneInference", "Photos_main__Op0_AneInference"


def analysis_of(*rows: Interval, samples: list[Sample] | None = None) -> Analysis:
    return analyze(with_evidence(trace_of(samples or QUIET), rows))


def verdicts(analysis: Analysis) -> list[str]:
    return list(analysis.verdicts.names)


def owners(analysis: Analysis) -> list[tuple[Owner, Reason]]:
    """The owner of each row of the Neural Engine, in order of time, and the evidence."""
    measured = analysis.measured
    rows = np.flatnonzero((measured._frame["engine"] == "ANE").to_numpy(bool))
    assignment = measured.assignment
    return [(OWNERS[assignment.owner[row]], REASONS[assignment.reason[row]]) for row in rows.tolist()]


def busy_ms(analysis: Analysis) -> list[float]:
    return [int(busy) / MS for busy in analysis.verdicts.works[0].busy_ns]


def contested_ms(analysis: Analysis) -> list[float]:
    return [int(contested) / MS for contested in analysis.times["contested_ns"]]


def outcome(analysis: Analysis, requirement: str) -> str:
    return check(analysis, [requirement])[0].outcome


def test_a_row_that_reaches_into_the_next_call_is_of_the_call_that_it_lies_in() -> None:
    analysis = analysis_of(prediction(10, 30), ane(12, 30.3), prediction(30.2, 50.2), core_ml(31, 49, "CPU"))
    assert verdicts(analysis) == ["ANE", "CPU"]
    assert busy_ms(analysis) == [18, 0]
    assert outcome(analysis, "ANE used share == 100% in Net") == "failed"


def test_a_row_that_ends_long_after_its_call_is_of_no_known_call() -> None:
    analysis = analysis_of(prediction(10, 30), ane(12, 51), prediction(50, 70), core_ml(51, 69, "CPU"))
    assert verdicts(analysis) == ["UNKNOWN", "CPU"]
    assert contested_ms(analysis) == [18, 1]
    assert outcome(analysis, "ANE used share == 0% in Net") == "open"


@pytest.mark.parametrize(
    ("row", "owner"),
    [
        (ane(12, 18), (Owner.CALL, Reason.CONTAINED)),
        (ane(8, 16), (Owner.CALL, Reason.MOST)),
        (ane(29.5, 60), (Owner.PROCESS, Reason.OUTSIDE)),
        (ane(40, 50), (Owner.PROCESS, Reason.OUTSIDE)),
        (ane(12, 18, OTHER), (Owner.OTHER, Reason.LABEL)),
        (ane(12, 18, pid=99), (Owner.OTHER, Reason.NAMED_PROCESS)),
    ],
)
def test_the_owner_of_a_row_and_its_evidence(row: Interval, owner: tuple[Owner, Reason]) -> None:
    assert owner in owners(analysis_of(prediction(10, 30), row, ane(24, 26)))


def test_rows_between_the_calls_show_a_second_user_of_the_models_name() -> None:
    calls = [prediction(start, start + 20) for start in (10, 70, 130)]
    on_cpu = [core_ml(start + 1, start + 19, "CPU") for start in (10, 70, 130)]
    rows = [ane(start, start + 6) for start in (13, 40, 73, 100, 133)]
    analysis = analysis_of(*calls, *on_cpu, *rows)
    assert verdicts(analysis) == ["CPU"] * 3
    assert contested_ms(analysis) == [6, 6, 6]
    assert {entry.code for entry in analysis.diagnostics} >= {"model-name-shared", "intervals-contested"}
    assert outcome(analysis, "ANE used share == 100% in Net") == "open"
    (table,) = (entry for entry in analysis.evidence if entry.table == "ane-hw-intervals")
    assert wording.remark(table).endswith("; some rows are another process's, or may be")
    assert analysis.headline == (
        "Net ran on the CPU in all 3 calls: 20.0 ms per call, the CPU busy 90 % of it. In each of its 3 calls,"
        " the Neural Engine worked for this model or for another owner: nothing here decides which."
    )
    assert outcome(analysis, "CPU share == 100% in Net") == "open"
    assert not any(finding.kind == "fell-back" for finding in analysis.findings)


def test_a_call_that_shows_the_engine_owns_its_rows_beside_a_second_user() -> None:
    calls = [prediction(start, start + 20) for start in (10, 70, 130)]
    samples: list[Sample] = [(0, "a", UI), *((start, "a", ANE) for start in (10, 11, 12, 70, 71, 130, 131))]
    analysis = analysis_of(*calls, *(ane(start, start + 6) for start in (13, 40, 73, 133)), samples=samples)
    assert verdicts(analysis) == ["ANE"] * 3
    assert contested_ms(analysis) == [0, 0, 0]


def test_a_call_on_stacks_owns_no_row_of_a_model_that_has_calls() -> None:
    samples: list[Sample] = [(0, "a", UI), (0, "b", UI)]
    samples += [(time, "b", BNNS) for start in (10, 110, 210) for time in range(start, start + 40)]
    samples += [(time, "b", UI) for time in (51, 151, 251)]
    samples += [(time, "a", ANE) for start in (20, 120, 220) for time in (start, start + 1)]
    rows = [
        row for start in (20, 120, 220) for row in (prediction(start, start + 20), ane(start + 1, start + 19))
    ]
    analysis = analysis_of(*rows, samples=samples)
    by_model = dict(zip(analysis.window_rows["model"], verdicts(analysis), strict=True))
    assert by_model["Net"] == "ANE"
    assert by_model.get("", "CPU") == "CPU"


def test_a_row_in_two_calls_counts_in_neither_and_makes_shares_a_range() -> None:
    analysis = analysis_of(prediction(10, 30), prediction(20, 40), ane(12, 16), ane(22, 28))
    assert busy_ms(analysis) == [4, 0]
    assert contested_ms(analysis) == [6, 6]
    assert verdicts(analysis) == ["ANE", "UNKNOWN"]
    assert outcome(analysis, "ANE used share == 100% in Net") == "open"
    assert outcome(analysis, "max ANE busy <= 5ms") == "open"
    assert "for another owner" in analysis.headline


def test_rows_of_calls_at_once_that_lie_in_one_call_each_are_counted_once() -> None:
    analysis = analysis_of(prediction(0, 20), prediction(5, 25), ane(1, 11), ane(11, 24))
    assert busy_ms(analysis) == [10, 13]
    assert contested_ms(analysis) == [0, 0]


def test_a_row_over_all_calls_is_of_none() -> None:
    calls = [prediction(start, start + 5) for start in range(10, 110, 10)]
    analysis = analysis_of(*calls, ane(0, 200))
    assert set(verdicts(analysis)) == {"UNKNOWN"}
    assert contested_ms(analysis) == [5] * 10


def test_ten_thousand_calls_at_one_moment_contest_a_row() -> None:
    analysis = analysis_of(*[prediction(10, 20)] * 10_000, ane(12, 18))
    assert set(verdicts(analysis)) == {"UNKNOWN"}
    assert set(contested_ms(analysis)) == {6}


def test_rows_without_a_length_and_without_a_label_are_no_evidence() -> None:
    analysis = analysis_of(prediction(10, 30), ane(12, 12), ane(19, 15), prediction(40, 60), ane(41, 50, ""))
    assert busy_ms(analysis)[0] == 0


def test_every_row_of_work_has_one_owner() -> None:
    analysis = analysis_of(
        prediction(10, 30),
        prediction(20, 40),
        ane(12, 16),
        ane(22, 28),
        ane(60, 70),
        ane(25, 26, OTHER),
        gpu(11, 13),
    )
    assignment = analysis.measured.assignment
    by_owner = [int(assignment.is_owner(owner).sum()) for owner in Owner]
    assert by_owner == [2, 1, 1, 1]
    assert sum(by_owner) == int((assignment.owner >= 0).sum())


PERIODIC = [prediction(start, start + 20) for start in (10, 70, 130, 190)]


def test_rows_that_reach_out_of_their_calls_on_both_sides_show_another_owner() -> None:
    rows = [ane(4, 22), ane(72, 88), ane(141, 160), ane(192, 208)]
    assert contested_ms(analysis_of(*PERIODIC, *rows)) == [12, 16, 9, 16]
    # All on one side: the clocks of two tables differ.
    late = [ane(start + 4, start + 24) for start in (10, 70, 130, 190)]
    assert contested_ms(analysis_of(*PERIODIC, *late)) == [0, 0, 0, 0]


def test_rows_without_a_label_show_another_owner_as_well() -> None:
    rows = [ane(start, start + 12, "") for start in (12, 40, 72, 132, 192)]
    analysis = analysis_of(*PERIODIC, *rows)
    assert contested_ms(analysis) == [12, 12, 12, 12]
    assert verdicts(analysis) == ["UNKNOWN"] * 4
    assert contested_ms(analysis_of(*PERIODIC, *[row for row in rows if row.start != 40])) == [0] * 4


def test_a_row_beside_the_calls_work_on_the_cpu_needs_a_stack_where_rows_lie_in_no_call() -> None:
    on_cpu = [core_ml(start + 1, start + 19, "CPU") for start in (10, 70)]
    on_ane = [ane(start + 2, start + 18) for start in (10, 70, 130, 190)]
    assert contested_ms(analysis_of(*PERIODIC, *on_cpu, *on_ane)) == [0, 0, 0, 0]
    after_the_calls = ane(300, 310)
    analysis = analysis_of(*PERIODIC, *on_cpu, *on_ane, after_the_calls)
    assert contested_ms(analysis) == [16, 16, 0, 0]
    assert verdicts(analysis) == ["CPU", "CPU", "ANE", "ANE"]


def test_a_label_of_the_gpus_work_names_its_model() -> None:
    calls = [prediction(10, 30, "Net"), prediction(12, 32, "Seg")]
    rows = [
        replace(gpu(14, 28), model=name, label=f"{name}_main__Op1_MpsGraphInference") for name in ("Seg",)
    ]
    analysis = analysis_of(*calls, *rows)
    assert [int(busy) / MS for busy in analysis.verdicts.works[1].busy_ns] == [0, 14]
    unlabelled = analysis_of(*calls, gpu(14, 28))
    assert [int(busy) for busy in unlabelled.verdicts.works[1].busy_ns] == [0, 0]


def turns(thread: str, starts: tuple[int, ...], length: int, work: str) -> list[Sample]:
    """Calls of a thread: a sample of work at each beginning, samples of the work after it."""
    inside = [(time, thread, work) for start in starts for time in range(start, start + length)]
    return [(0, thread, UI), *inside, *((start + length, thread, UI) for start in starts)]


def test_a_row_of_a_label_that_no_stack_supports_is_of_no_known_process() -> None:
    samples = sorted([*turns("a", (10, 50, 90), 3, ANE), *turns("b", (20, 60, 100), 12, BNNS)])
    net, photos = [ane(start, start + 15) for start in (11, 51, 91)], [ane(22, 30, OTHER), ane(62, 70, OTHER)]
    analysis = analysis_of(*net, *photos, samples=samples)
    processes = analysis.window_rows.groupby("model")["pid"].unique().map(list).to_dict()
    assert processes["Photos"] == [-1]
    assert processes["Net"] == [7]
    assert {name for name, model in zip(verdicts(analysis), analysis.window_rows["model"], strict=True)} == {
        "ANE",
        "CPU",
    }


def test_rows_of_the_gpu_beside_another_threads_calls_are_not_of_the_engines_rows() -> None:
    samples = sorted([*turns("a", (10, 50, 90), 3, ANE), *turns("b", (12, 52, 92), 10, BNNS)])
    rows = [row for start in (11, 51, 91) for row in (ane(start, start + 15), gpu(start + 4, start + 10))]
    analysis = analysis_of(*rows, samples=samples)
    of_net = (analysis.window_rows["model"] == "Net").to_numpy(bool)
    assert not analysis.verdicts.works[1].busy_ns[of_net].any()


def test_a_share_of_nothing_passes_only_where_the_engine_could_be_seen() -> None:
    on_cpu = [core_ml(start + 1, start + 19, "CPU") for start in (10, 70, 130, 190)]
    assert outcome(analysis_of(*PERIODIC, *on_cpu), "GPU used share == 0% in Net") == "not measurable"
    assert outcome(analysis_of(*PERIODIC, *on_cpu, gpu(300, 301)), "GPU used share == 0% in Net") == "passed"
    samples = sorted(turns("a", (11, 71, 131, 191), 18, BNNS))
    analysis = analysis_of(*PERIODIC, *on_cpu, samples=samples)
    assert outcome(analysis, "GPU used share == 0% in Net") == "passed"


TURNS = sorted([(0, "a", UI), *turns("a", (10, 50, 90, 130), 12, BNNS)][1:])
POSTS = [Signpost(start - 1, start + 13, "app/ml/infer") for start in (10, 50, 90, 130)]


def signpost_models(messages: list[str], *rows: Interval) -> list[str]:
    posts = [replace(post, message=message) for post, message in zip(POSTS, messages, strict=True)]
    analysis = analyze(with_evidence(trace_of(TURNS), rows, signposts=posts))
    assert set(analysis.window_rows["source"]) == {"signpost"}
    return list(analysis.window_rows["model"])


def test_signposts_have_the_models_of_their_messages() -> None:
    messages = ["model=Net step=1", 'model: "Seg"', "model=Net", "model=Seg"]
    assert signpost_models(messages) == ["Net", "Seg", "Net", "Seg"]


def test_signposts_have_the_model_of_the_rows_in_all_of_them() -> None:
    rows = [ane(start + 1, start + 9) for start in (10, 50, 90, 130)]
    assert signpost_models(["x"] * 4, *rows) == ["Net"] * 4
    assert signpost_models(["x"] * 4, *rows[::2]) == [""] * 4  # the others may be calls of another model


def test_a_call_that_the_recordings_edge_cuts_is_called_so() -> None:
    runtime = ("CoreML | -[MLModel predictionFromFeatures:error:]", "App | main")
    samples: list[Sample] = [(0, "a", runtime), (1, "a", runtime), (2, "a", UI), (300, "a", UI)]
    samples += [(time, "a", runtime) for time in (100, 101)] + [(102, "a", UI)]
    trace = trace_of(sorted(samples, key=lambda sample: sample[0]))
    recorded = replace(trace, info=replace(trace.info, duration_ns=400 * MS))
    assert "1 of which an edge of the recording cuts" in analyze(recorded).headline
    assert (
        "edge" not in analyze(trace).headline
    )  # the first sample may be later than the recording's beginning


def test_idle_threads_of_a_runtime_are_not_denied() -> None:
    idle = (
        "libsystem_kernel.dylib | __psynch_cvwait",
        "mlx | mlx::core::scheduler::StreamThread::thread_fn()",
    )
    headline = analyze(trace_of([(time, "worker", idle) for time in range(5)])).headline
    assert "none of the 5 samples is at work in an ML framework" in headline
    assert "5 samples show an idle thread of an ML runtime, which does no work." in headline


def test_a_workers_sample_is_of_no_call_where_a_call_without_a_window_is_under_way() -> None:
    samples = sorted([*turns("a", (10,), 18, ANE), (20, "w", E5_WORKER)])
    beside = sorted([*samples, *turns("b", (8,), 22, CALL)])
    alone, shared = (
        analyze(with_evidence(trace_of(each), [ane(11, 26)]), windows="ane") for each in (samples, beside)
    )
    assert alone.members.counts[0] == shared.members.counts[0] + 1


def test_rows_of_which_none_meets_a_call_show_no_other_owner() -> None:
    hour = 3_600_000
    analysis = analysis_of(*PERIODIC, *[ane(hour + start, hour + start + 10) for start in (12, 72, 132, 192)])
    assert "model-name-shared" not in {diagnostic.code for diagnostic in analysis.diagnostics}
    assert {owner for owner, _ in owners(analysis)} == {Owner.PROCESS}


def test_a_row_by_time_alone_needs_a_stack_where_the_cpu_works_for_the_call() -> None:
    calls = [prediction(10, 30), prediction(70, 90)]
    on_cpu = core_ml(11, 29, "CPU")
    analysis = analysis_of(*calls, on_cpu, ane(12, 26, ""), ane(72, 86, ""))
    assert contested_ms(analysis) == [14, 0]
    assert verdicts(analysis) == ["CPU", "ANE"]
    by_name = analysis_of(*calls, on_cpu, ane(12, 26), ane(72, 86))
    assert contested_ms(by_name) == [0, 0]
    on_stacks = sorted([*turns("a", (11, 71), 2, ANE)])
    assert contested_ms(analysis_of(*calls, on_cpu, ane(12, 26, ""), ane(72, 86, ""), samples=on_stacks)) == [
        0,
        0,
    ]


def test_a_row_by_time_alone_does_not_outlast_its_call() -> None:
    assert contested_ms(analysis_of(prediction(10, 30), ane(20, 30.9, ""))) == [0]
    assert contested_ms(analysis_of(prediction(10, 30), ane(20, 34, ""))) == [10]


def test_a_row_by_time_alone_needs_a_stack_where_no_table_lists_a_threads_calls() -> None:
    calls, rows = [prediction(10, 30), prediction(70, 90)], [ane(16, 26, ""), ane(76, 86, "")]
    listed = sorted(turns("a", (11, 71), 2, CALL))
    unlisted = sorted([*listed, *turns("b", (14, 74), 2, CALL)])
    assert contested_ms(analysis_of(*calls, *rows, samples=listed)) == [0, 0]
    assert contested_ms(analysis_of(*calls, *rows, samples=unlisted)) == [10, 10]
    assert contested_ms(analysis_of(*calls, ane(16, 26), ane(76, 86), samples=unlisted)) == [0, 0]


def test_a_row_that_two_calls_hold_but_for_what_clocks_differ_is_of_either() -> None:
    calls = [prediction(10, 30, "Net"), prediction(12, 40, "Seg")]
    assert contested_ms(analysis_of(*calls, ane(24, 30.8, ""))) == [6, 6.8]
    assert contested_ms(analysis_of(*calls, ane(24, 33, ""))) == [0, 0]


def test_a_workers_samples_of_two_calls_leave_the_share_of_an_engine_without_a_table_open() -> None:
    net, seg = prediction(10, 30, "Net"), prediction(15, 35, "Seg")
    of_net = [*turns("a", (10,), 20, CALL), (20, "w", E5_WORKER)]
    of_both = sorted([*of_net, *turns("b", (15,), 20, CALL)])
    alone, shared = analysis_of(net, samples=sorted(of_net)), analysis_of(net, seg, samples=of_both)
    assert outcome(alone, "ANE used share == 100% in Net") == "passed"
    assert shared.members.counts.tolist() == [20, 20]
    assert outcome(shared, "ANE used share == 0% in Net") == "not measurable"


def test_a_row_by_time_alone_may_be_of_a_call_that_the_recordings_edge_cuts() -> None:
    call, row = prediction(4, 30), core_ml(8, 20, "CPU", "")
    listed = turns("a", (5,), 25, CALL)[1:]
    beside = [(time, "b", CALL) for time in (12, 13)] + [(14, "b", UI), (100, "b", UI)]
    alone = analysis_of(call, row, samples=sorted(listed))
    cut = analysis_of(call, row, samples=sorted([*listed, *beside]))
    later = analysis_of(call, row, samples=sorted([(0, "b", UI), *listed, *beside]))
    contested = [int(analysis.verdicts.works[2].contested_ns[0]) // MS for analysis in (alone, cut, later)]
    assert contested == [0, 12, 0]


def test_the_gpus_work_for_another_model_needs_a_stack() -> None:
    call, row = prediction(10, 30), replace(gpu(14, 26), model="Seg", label="Seg_main__Op0_MpsGraphInference")
    encoding = sorted(turns("a", (11,), 18, ON_GPU))
    contested = [
        int(analysis_of(call, row, samples=samples).verdicts.works[1].contested_ns[0]) // MS
        for samples in (QUIET, encoding)
    ]
    assert contested == [12, 0]


def test_the_cpu_work_of_another_process_is_on_the_cpu(shared: Path) -> None:
    headline = analyze(open_trace(shared / "review" / "stories" / "v25_other_process_cpu")).headline
    assert headline.endswith(
        " Another process ran models in this time: mediaanalysisd (99), 12 calls seen on stacks, with work on"
        " the CPU."
    )
