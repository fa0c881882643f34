"""A model that is cut into pieces or has a part on another engine; and what only looks like it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from evidence_support import Interval, ane, manual, prediction, with_evidence
from trace_support import ANE, BNNS, CALL, MS, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings import FindingText, finding_text

Piece = tuple[float, float, str]
FIRST, SECOND = "Net_main__Op0_AneInference", "Net_main__Op2_AneInference"


def calls_of(
    pieces: Sequence[Piece], on_cpu: Sequence[float], calls: int = 4, windows: Sequence[Window] | None = None
) -> Analysis:
    """Return calls of 20 ms with these pieces on the Neural Engine and samples of the CPU, in ms of the call."""
    rows: list[Interval] = []
    samples: list[Sample] = []
    for number in range(calls):
        start = 30.0 * number
        rows += [prediction(start, start + 20)]
        rows += [ane(start + begin, start + end, label) for begin, end, label in pieces]
        samples += [
            (start + tick, "a", BNNS if tick in on_cpu else CALL) for tick in map(float, range(1, 20))
        ]
    trace = with_evidence(trace_of(samples), rows)
    return analyze(trace, windows=windows) if windows else analyze(trace)


def partial(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind == "partly-on-engine"]


def only(analysis: Analysis) -> tuple[Finding, FindingText]:
    (finding,) = partial(analysis)
    return finding, finding_text(finding, analysis.trace.info)


def test_a_model_of_two_pieces_with_the_cpu_between() -> None:
    finding, text = only(calls_of([(2, 6, FIRST), (14, 18, SECOND)], on_cpu=[8, 9, 10, 11]))
    assert (finding.severity, finding.confidence, finding.lost_ns) == ("warning", "certain", 4 * 8 * MS)
    assert text.title == "Net is cut into 2 pieces in each call on the Neural Engine."
    assert text.cost == (
        "Per call, 8.00 ms pass between its first and last piece without the engine (measured, 40 % of it). Of"
        " that, the CPU worked about 4.00 ms in BNNSFilterApply (sampled)."
    )
    assert text.detail == "The pieces: Op0, Op2."
    assert text.next_steps[1].command == "tracekit analyze literal --model MODEL --plan PLAN"
    assert text.next_steps[2].command == (
        "tracekit check literal --require 'segments per inference in Net <= 1'"
    )


def test_pieces_without_time_between_them_are_no_cut() -> None:
    assert partial(calls_of([(2, 14, FIRST), (6, 18, SECOND)], on_cpu=[])) == []
    assert partial(calls_of([(2, 9, FIRST), (9, 18, SECOND)], on_cpu=[])) == []


def test_a_short_gap_is_no_warning() -> None:
    finding, _ = only(calls_of([(2, 9, FIRST), (9.5, 18, SECOND)], on_cpu=[]))
    assert (finding.severity, finding.lost_ns) == ("info", 4 * MS // 2)


def test_a_batch_of_one_piece_is_not_cut() -> None:
    assert not partial(calls_of([(2, 6, FIRST), (8, 12, FIRST), (14, 18, FIRST)], on_cpu=[]))


def test_pieces_without_names_are_cut_where_another_engine_works_in_the_call() -> None:
    pieces = [(2.0, 6.0, "anonymous"), (14.0, 18.0, "anonymous")]
    finding, text = only(calls_of(pieces, on_cpu=[8, 9, 10]))
    assert finding.confidence == "likely"
    assert text.title == "Net is cut into 2 pieces in each call on the Neural Engine."
    assert not text.detail
    assert not partial(calls_of(pieces, on_cpu=[]))


def test_a_part_on_the_cpu_before_the_only_piece() -> None:
    finding, text = only(calls_of([(8, 18, FIRST)], on_cpu=[1, 2, 3, 4, 5]))
    assert (finding.severity, finding.confidence, finding.lost_ns) == ("warning", "likely", 4 * 5 * MS)
    assert text.title == "Net runs in part on the CPU in every call on the Neural Engine."
    assert text.cost == "The CPU worked 5.00 ms per call (25 % of it, sampled) in BNNSFilterApply."
    assert text.next_steps[2].command == "tracekit check literal --forbid 'CPU in Net'"


@pytest.mark.parametrize("calls", [1, 2])
def test_one_call_with_a_sample_of_another_engine_is_no_part(calls: int) -> None:
    pieces = [(8.0, 18.0, FIRST)]
    assert len(partial(calls_of(pieces, on_cpu=[1], calls=calls))) == (calls > 1)


def test_windows_of_the_user_may_hold_several_models() -> None:
    pieces = [(2.0, 6.0, FIRST), (14.0, 18.0, SECOND)]
    assert not partial(calls_of(pieces, on_cpu=[8, 9], windows=[manual(0, 50), manual(60, 110)]))


def test_both_engines_on_stacks_alone() -> None:
    stacks = [ANE, ANE, BNNS, BNNS, ANE, ANE] * 3
    samples: list[Sample] = [
        (30 * number + tick, "a", stack) for number in range(3) for tick, stack in enumerate(stacks, 1)
    ]
    rows = [prediction(30 * number, 30 * number + 20) for number in range(3)]
    finding, text = only(analyze(with_evidence(trace_of(samples), rows)))
    assert (finding.confidence, str(finding.basis)) == ("likely", "sampled")
    assert text.title == "Net runs in part on the CPU in every call on the Neural Engine."
