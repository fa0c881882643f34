"""Streams that stop, jump, repeat, lie or lose lines: what cannot be used is counted, and never becomes evidence."""

from __future__ import annotations

import json

import pytest
from log_streams import FAILED, PREAMBLE, SERVED, call, entry, signpost

from tracekit.live import call_building
from tracekit.live.live_call import LiveCall, StreamCounts, WatchFinding
from tracekit.live.stream_watch import Happening, StreamWatch
from tracekit.parsers.text import signpost_pairing
from tracekit.parsers.text.log_objects import MAX_LINE_BYTES

Lines = list[bytes]


def run(lines: Lines, **options: str) -> tuple[list[Happening], StreamCounts]:
    watch = StreamWatch(["encode"], **options)
    happenings = [*watch.feed(b"".join(lines)), *watch.finish()]
    return happenings, watch.counts


def lengths(happenings: list[Happening]) -> list[float]:
    """Return the lengths of the calls in ms."""
    return [happening.length_ns / 1e6 for happening in happenings if isinstance(happening, LiveCall)]


def found(happenings: list[Happening]) -> list[tuple[str, int]]:
    """Return kind and number of the call of each finding."""
    findings = [happening for happening in happenings if isinstance(happening, WatchFinding)]
    return [(finding.kind.value, finding.call.number if finding.call else 0) for finding in findings]


def row(count: int, *, start_us: int = 0, served: bool = True) -> Lines:
    """Return calls of 5 ms, each 20 ms after the last."""
    lines: Lines = []
    for number in range(count):
        time_us = start_us + number * 20_000
        lines += call(
            time_us, time_us + 5_000, *([(time_us + 4_000, SERVED)] if served else []), number=number
        )
    return lines


def test_a_call_without_a_request_behind_calls_with_some_fell_back() -> None:
    happenings, _ = run(row(5) + row(3, start_us=200_000, served=False))
    assert found(happenings) == [("fell-back", 6)]
    assert [type(each).__name__ for each in happenings][5:7] == ["LiveCall", "WatchFinding"]


def test_a_fall_back_is_known_before_the_next_call_ends() -> None:
    watch = StreamWatch(["encode"])
    lines = row(4) + row(2, start_us=100_000, served=False)
    before_its_end, behind = lines[:-1], lines[-1:]
    assert ("fell-back", 5) in found(list(watch.feed(b"".join(before_its_end))))
    assert found(list(watch.feed(b"".join(behind)))) == []


@pytest.mark.parametrize("calls_before", [0, 1, 2])
def test_too_few_calls_with_requests_are_no_reason_to_ring(calls_before: int) -> None:
    happenings, _ = run(row(calls_before) + row(3, start_us=200_000, served=False))
    assert found(happenings) == []


def test_other_models_under_one_signpost_are_counted_apart() -> None:
    lines: Lines = []
    for number in range(8):
        time_us, model = number * 20_000, "AB"[number % 2]
        begin, end = (
            signpost(time_us + at, kind, number=number) for at, kind in ((0, "begin"), (5_000, "end"))
        )
        begin = begin.replace(b'"eventMessage": ""', b'"eventMessage": "model=%s"' % model.encode())
        lines += [begin, *([entry(time_us + 4_000, SERVED)] if model == "A" else []), end]
    assert found(run(lines)[0]) == []


def test_a_failed_request_is_a_finding_and_no_evidence_of_the_engine() -> None:
    happenings, _ = run(row(3) + call(100_000, 105_000, (104_000, FAILED), number=9))
    last_call = [happening for happening in happenings if isinstance(happening, LiveCall)][-1]
    assert (last_call.served, last_call.failed, last_call.statuses, last_call.engine) == (
        0,
        1,
        (0x16,),
        "UNKNOWN",
    )
    assert found(happenings) == [("requests-failed", 4), ("fell-back", 4)]


@pytest.mark.parametrize(
    ("interruption", "count"),
    [
        (b'{"eventType":"lossEvent","timestamp":"2026-11-28 10:00:00.095000+0000"}\n', "lost"),
        (b'{"eventType":"signpostEvent","signpostName":"enc\n', "damaged"),
        (b'{"signpostName": "' + b"x" * MAX_LINE_BYTES + b'"}\n', "too_long"),
        (entry(20_000, "ANE late"), "late"),
    ],
)
def test_a_gap_in_the_stream_is_no_fall_back(interruption: bytes, count: str) -> None:
    happenings, counts = run([*row(4), interruption, *row(2, start_us=100_000, served=False)])
    assert found(happenings) == []
    assert len(lengths(happenings)) == 6
    assert getattr(counts, count) == 1


def test_lines_out_of_order_are_put_in_order_while_they_wait() -> None:
    begin, request, end = call(0, 5_000, (4_900, SERVED))
    for lines in ([end, begin, request], [begin, end, request], [request, begin, end]):
        happenings, counts = run(lines)
        assert [each.served for each in happenings if isinstance(each, LiveCall)] == [1]
        assert counts.late == 0


def test_a_begin_that_comes_behind_its_end_makes_no_call() -> None:
    begin, end = call(0, 5_000)
    happenings, counts = run([end, entry(10_000, SERVED), begin])
    assert lengths(happenings) == []
    assert (counts.without_begin, counts.late) == (1, 1)


def test_the_clock_set_back_ends_open_calls_and_goes_on() -> None:
    lines = [*row(1), signpost(30_000, "begin", number=5)]
    hour_us = 3_600_000_000
    later = [
        signpost(hour_us + 1_000, "begin", number=6),
        signpost(hour_us + 4_000, "end", number=6),
        signpost(2_000_000, "end", number=5, machTimestamp=None),
        *row(1, start_us=3_000_000),
    ]
    happenings, counts = run(lines + later)
    assert lengths(happenings) == [5.0, 3.0, 5.0]
    assert (counts.clock_jumps, counts.without_begin) == (1, 1)


def test_the_clock_set_forward_gives_no_long_call() -> None:
    begin = signpost(0, "begin", machTimestamp=24_000_000)
    end = signpost(500_000_000, "end", machTimestamp=24_000_000 + 24 * 5_000)  # five milliseconds of ticks
    happenings, counts = run([begin, end])
    assert lengths(happenings) == []
    assert (counts.clock_jumps, counts.without_end, counts.without_begin) == (1, 1, 1)


def test_a_long_silence_is_no_jump_of_the_clock() -> None:
    happenings, counts = run(row(1) + row(1, start_us=500_000_000))
    assert (lengths(happenings), counts.clock_jumps) == ([5.0, 5.0], 0)


def test_times_at_the_ends_of_all_time_are_bounded() -> None:
    far = [
        entry(0, "", eventType="signpostEvent", signpostName="encode", signpostType=kind, signpostID=number,
              machTimestamp=None, timestamp=f"{year}-01-01 00:00:00.00000{number}+0000")
        for number, (year, kind) in enumerate([(1970, "begin"), (2240, "end"), (9999, "begin"), (1970, "end")] * 50)
    ]  # fmt: skip
    happenings, counts = run(far + row(1))
    assert lengths(happenings) == [5.0]
    assert counts.clock_jumps > 50
    assert counts.without_time == 50


def test_repeated_lines_count_once() -> None:
    lines = row(4)
    happenings, counts = run([*lines, *lines[-6:], *row(1, start_us=100_000, served=True)])
    assert (len(lengths(happenings)), counts.repeated, counts.clock_jumps) == (5, 6, 0)


def test_an_identifier_used_again_belongs_to_the_latest_begin() -> None:
    lines = [
        signpost(0, "begin"),
        signpost(10_000, "begin"),
        signpost(13_000, "end"),
        signpost(30_000, "begin"),
        signpost(34_000, "end"),
    ]
    happenings, _ = run(lines)
    assert lengths(happenings) == [3.0, 4.0]


def test_an_end_closes_no_begin_of_another_process_or_thread() -> None:
    lines = [
        signpost(0, "begin", processID=1),
        signpost(1_000, "begin", processID=2, signpostScope="thread", threadID=5),
        signpost(2_000, "end", processID=3),
        signpost(3_000, "end", processID=2, signpostScope="thread", threadID=6),
        signpost(9_000, "end", processID=1, threadID=99),
    ]
    happenings, counts = run(lines)
    assert lengths(happenings) == [9.0]
    assert counts.without_begin == 2


def test_a_begin_without_an_end_is_given_up_after_ten_minutes() -> None:
    happenings, counts = run([signpost(0, "begin", number=77), *row(1, start_us=601_000_000)])
    assert lengths(happenings) == [5.0]
    assert counts.without_end == 1


def test_a_request_beside_an_open_call_is_contested_until_the_threads_decide() -> None:
    open_call = signpost(0, "begin", number=9, threadID=8)
    on_its_thread = call(1_000, 5_000, (4_000, SERVED))
    happenings, _ = run([open_call, *on_its_thread])
    assert [(each.served, each.contested) for each in happenings if isinstance(each, LiveCall)] == [(1, 0)]
    on_no_thread = call(1_000, 5_000)
    on_no_thread.insert(1, entry(4_000, SERVED, threadID=55))
    happenings, _ = run([open_call, *on_no_thread])
    assert [(each.served, each.contested) for each in happenings if isinstance(each, LiveCall)] == [(0, 1)]


def test_hostile_metadata_is_data() -> None:
    nasty = "model=\x1b]0;owned\x07 <script>alert(1)</script> ::error:: \ud800" + "A" * 100_000
    lines = [
        signpost(
            0, "begin", eventMessage=nasty, signpostName="encode", processImagePath="/\x1b[2J/../\u202e"
        ),
        signpost(1_000, "end", signpostID=1, processImagePath=None),
        signpost(2_000, "begin", signpostID=-5, subsystem={"a": 1}, category=["x"], processID=True),
        signpost(3_000, "end", signpostID="1", subsystem={"a": 1}, category=["x"], processID=True),
        signpost(4_000, "begin", signpostType="sideways", signpostScope=5),
        signpost(5_000, "begin", signpostName=""),
        signpost(6_000, "begin", timestamp="yesterday"),
        json.dumps(["signpostName"]).encode() + b"\n",
        b'{"signpostName": ' + b"[" * 200_000 + b"\n",
        b'"signpostName"\n',
        b"\xff\xfe\x00\n",
        b"\n",
    ]
    happenings, counts = run(lines)
    assert lengths(happenings) == [1.0, 1.0]
    assert counts.without_time == 1
    assert (counts.damaged, counts.other_lines) == (1, 3)
    first_call = next(happening for happening in happenings if isinstance(happening, LiveCall))
    assert len(first_call.model) <= 128
    assert first_call.process == "\u202e"


def test_a_stream_of_begins_alone_keeps_few() -> None:
    watch = StreamWatch(["encode"])
    for number in range(signpost_pairing.MAX_OPEN + 1_000):
        for _ in watch.feed(signpost(number, "begin", number=number)):
            pass
    list(watch.settle())
    assert watch.counts.without_end == 1_000
    assert len(watch._stream.pairing) == signpost_pairing.MAX_OPEN


def test_requests_beside_a_call_that_never_ends_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_building, "_MAX_KEPT", 100)
    lines = [signpost(0, "begin", number=9, threadID=8)]
    lines += [entry(10_000 + number * 5_000, SERVED, threadID=8) for number in range(300)]
    lines.append(signpost(2_000_000, "end", number=9, threadID=8))
    happenings, counts = run(lines)
    (only_call,) = [happening for happening in happenings if isinstance(happening, LiveCall)]
    assert counts.requests_dropped > 0
    assert (only_call.served, only_call.contested > 0) == (0, True)


def test_only_the_chosen_process_is_watched() -> None:
    lines = [*call(0, 5_000), *call(10_000, 15_000, processID=4, processImagePath="/usr/bin/other")]
    assert lengths(run(lines, process="other")[0]) == [5.0]
    assert lengths(run(lines, process="812")[0]) == [5.0]
    assert lengths(run(lines, process="nobody")[0]) == []


def test_refusals_are_listed_once() -> None:
    refusal = {"subsystem": "com.apple.espresso", "category": "espresso"}
    lines = [
        entry(time_us, "Unsupported op 12 (gather): index type", **refusal) for time_us in (0, 5_000, 9_000)
    ]
    lines.append(entry(20_000, "ANE model load has failed for on-device compiled macho.", **refusal))
    assert found(run(lines)[0]) == [("operators-refused", 0), ("program-not-loaded", 0)]


def test_what_a_program_prints_besides_is_kept_for_the_reader() -> None:
    watch = StreamWatch(["encode"])
    list(watch.feed(PREAMBLE + b"log: Could not open local log store\r\n" + b"".join(row(1))))
    assert watch.other_lines == ["log: Could not open local log store"]


def test_a_silent_stream_shows_the_call_that_waits() -> None:
    watch = StreamWatch(["encode"])
    assert lengths(list(watch.feed(b"".join(row(1))))) == []
    assert lengths(list(watch.settle())) == [5.0]
    assert lengths(list(watch.feed(b"".join(row(1, start_us=50_000))))) == []


def test_the_forward_pass_of_a_language_model_is_a_call_without_being_named() -> None:
    package = {"subsystem": "com.apple.coreai-models.performance", "category": "performance"}
    watch = StreamWatch()
    lines = call(0, 5_000, (4_000, SERVED), **package, name="LogitsInference") + call(
        10_000, 12_000, name="encode"
    )
    calls = [*watch.feed(b"".join(lines)), *watch.finish()]
    assert [(each.name, each.served) for each in calls if isinstance(each, LiveCall)] == [
        ("LogitsInference", 1)
    ]
