"""Streams of an iPhone as pymobiledevice3 prints them: lines of its two commands, by its sources and guide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from html_support import section_of
from log_streams import SERVED

from tracekit import analyze, open_trace
from tracekit.live.live_call import LiveCall, WatchFinding
from tracekit.live.stream_watch import Happening, StreamWatch
from tracekit.live.watch_summary import summarize_watch
from tracekit.report.html.page import to_html
from tracekit.report.wording.live import describe_choice, list_problems

BEGIN = (
    '{"timestamp": "2026-11-28T10:00:01.250000", "pid": 812, "message_type": "Begin", "subsystem":'
    ' "com.example.app", "category": "inference", "image_name": "App", "message": "encode",'
    ' "format_string": null, "arguments": []}\n'
)
SYSLOG = (
    '{"pid": 812, "procid": 812, "thread_id": 2801165, "timestamp": "2026-11-28T10:00:01.254000",'
    ' "level": "DEBUG", "image_name": "/System/Library/PrivateFrameworks/AppleNeuralEngine.framework'
    '/AppleNeuralEngine", "image_offset": 56968, "image_uuid": null, "process_image_uuid": null, "filename":'
    ' "/private/var/containers/Bundle/Application/F44/App.app/App", "mach_timestamp": 1, "message": "'
    + SERVED
    + '", "label": {"subsystem": "com.apple.ane", "category": "client"}}\n'
)


def line(time_us: int, kind: str, message: str, **more: Any) -> bytes:
    """Return a line of ``developer dvt oslog``; its times have no fraction at a whole second."""
    seconds, fraction = divmod(time_us, 1_000_000)
    clock = f"2026-11-28T10:00:{seconds:02}" + (f".{fraction:06}" if fraction else "")
    return change(BEGIN, timestamp=clock, message_type=kind, message=message, **more)


def change(text: str, **values: Any) -> bytes:
    """Return a line with other values."""
    return json.dumps(json.loads(text) | values).encode() + b"\n"


def request(time_us: int, message: str = SERVED) -> bytes:
    return line(time_us, "Debug", message, subsystem="com.apple.ane", format_string="%s", arguments=[{}])


def call(start_us: int, *, served: bool = True, name: str = "encode") -> list[bytes]:
    """Return a call of 5 ms."""
    begin, end = line(start_us, "Begin", name), line(start_us + 5_000, "End", name)
    return [begin, *([request(start_us + 4_000)] if served else []), end]


def run(lines: list[bytes], *patterns: str, process: str = "") -> tuple[list[Happening], StreamWatch]:
    watch = StreamWatch(patterns or ("encode",), process)
    return [*watch.feed(b"".join(lines)), *watch.finish()], watch


def rows(happenings: list[Happening]) -> list[tuple[float, int, int]]:
    """Return length in ms, served and contested requests of the calls."""
    calls = [each for each in happenings if isinstance(each, LiveCall)]
    return [(each.length_ns / 1e6, each.served, each.contested) for each in calls]


def found(happenings: list[Happening]) -> list[str]:
    return [each.kind.value for each in happenings if isinstance(each, WatchFinding)]


def test_begins_and_ends_become_calls_with_their_requests() -> None:
    begin, end = BEGIN.encode(), BEGIN.replace("Begin", "End").replace("1.250", "1.255").encode()
    happenings, watch = run([begin, SYSLOG.encode(), end])
    assert rows(happenings) == [(5.0, 1, 0)]
    assert list_problems(watch.counts) == []


def test_a_fall_back_rings_within_one_call() -> None:
    lines = [each for i in range(5) for each in call(i * 20_000)]
    assert found(run(lines + call(100_000, served=False))[0]) == ["fell-back"]


def test_a_saved_stream_has_the_same_calls_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "iphone.ndjson"
    path.write_bytes(b"".join([*call(0), *call(20_000), *call(40_000, served=False)]))
    analysis = analyze(open_trace(path), signposts="encode")
    starts, ends = (analysis.window_rows[name].tolist() for name in ("start_ns", "end_ns"))
    assert list(zip(starts, ends, analysis.verdicts.names, strict=True)) == [
        (0, 5_000_000, "ANE"),
        (20_000_000, 25_000_000, "ANE"),
        (40_000_000, 45_000_000, "UNKNOWN"),
    ]


@pytest.mark.parametrize("is_served", [True, False])
def test_the_page_of_a_stream_states_what_the_log_shows_of_an_engine(tmp_path: Path, is_served: bool) -> None:
    path = tmp_path / "iphone.ndjson"
    path.write_bytes(b"".join(call(0, served=is_served)))
    text = section_of(to_html(analyze(open_trace(path), signposts="encode")), "engines")
    assert "No work of an engine was measured or sampled." in text
    assert ("The log shows requests to the Neural Engine, not how long it worked." in text) is is_served


def test_calls_at_once_are_no_calls_as_nothing_shows_whose_end_is_whose(tmp_path: Path) -> None:
    crowd = [
        line(time_us, kind, "encode")
        for time_us, kind in ((100_000, "Begin"), (101_000, "Begin"), (103_000, "End"), (104_000, "Begin"),
                              (106_000, "End"), (109_000, "End"))
    ]  # fmt: skip
    lines = [*call(0), *crowd, *call(200_000)]
    happenings, watch = run(lines)
    assert [row[0] for row in rows(happenings)] == [5.0, 5.0]
    assert list_problems(watch.counts) == [
        "3 intervals that overlap another of their name, which no identifier tells apart"
    ]
    path = tmp_path / "iphone.ndjson"
    path.write_bytes(b"".join(lines))
    trace = open_trace(path)
    assert len(analyze(trace, signposts="encode").window_rows) == 2
    issues = {issue.code: issue for issue in trace.issues}
    assert issues["signposts-overlapping"].count == 3
    assert "no identifier tells apart: 3. None counts as a call" in issues["signposts-overlapping"].message
    assert "signposts-unpaired" not in issues


def test_calls_without_identifiers_at_once_end_the_row_before_them() -> None:
    lines = [each for i in range(5) for each in call(i * 20_000)]
    crowd = [
        line(100_000 + i * 1_000, kind, "encode") for i, kind in enumerate(("Begin", "Begin", "End", "End"))
    ]
    assert found(run([*lines, *crowd, *call(200_000, served=False)])[0]) == []


def test_a_request_beside_calls_without_identifiers_is_no_evidence() -> None:
    others = [line(1_000 + i, "Begin", "decode") for i in (0, 1)]
    ends = [line(4_500 + i, "End", "decode") for i in (0, 1)]
    begin, served, end = call(0)
    happenings, _ = run([begin, *others, served, *ends, end], "encode", "decode")
    assert rows(happenings) == [(5.0, 0, 1)]


def test_a_message_takes_the_place_of_the_name() -> None:
    begin = line(
        0, "Begin", "model=Encoder", format_string="model=%{public}s", arguments=[{"type": "string"}]
    )
    happenings, watch = run([begin, line(5_000, "End", "encode")])
    assert rows(happenings) == []
    assert list_problems(watch.counts) == [
        "1 end without a begin",
        "1 begin or end of a signpost without a name",
    ]


def test_an_event_is_a_line() -> None:
    happenings, watch = run([line(0, "Event", "encode"), *call(10_000)])
    assert rows(happenings) == [(5.0, 1, 0)]
    assert watch.counts.signposts == 2


@pytest.mark.parametrize(
    ("more", "problems"),
    [
        ({"timestamp": 5}, ["1 entry without a time, left out", "1 end without a begin"]),
        ({"pid": "812", "image_name": {}}, ["1 end without a begin"]),
        ({"subsystem": None, "category": [1]}, ["1 end without a begin"]),
        ({"message": None}, ["1 end without a begin", "1 begin or end of a signpost without a name"]),
        ({"message": {}}, ["1 end without a begin", "1 begin or end of a signpost without a name"]),
    ],
)
def test_values_of_a_wrong_type_are_no_values(more: dict[str, Any], problems: list[str]) -> None:
    happenings, watch = run([change(BEGIN, **more), line(2_000_000, "End", "encode")])
    assert rows(happenings) == []
    assert list_problems(watch.counts) == problems


def test_syslog_live_has_requests_and_no_signposts(tmp_path: Path) -> None:
    _, watch = run([SYSLOG.encode()])
    assert watch.counts.requests == 1
    assert describe_choice(summarize_watch(watch)).startswith(
        "No call: pymobiledevice3 syslog live prints no signposts, which mark calls. Watch pymobiledevice3"
        " developer dvt oslog --format json."
    )
    path = tmp_path / "iphone.ndjson"
    path.write_text(SYSLOG)
    log = open_trace(path).engine_log
    assert log[["kind", "status", "pid", "tid"]].values.tolist() == [["request", 0, 812, 2801165]]


def test_a_request_with_a_line_and_an_interval_is_one() -> None:
    client = {"subsystem": "com.apple.ane", "category": "client", "image_name": "AppleNeuralEngine"}
    begin, served, end = call(0)
    name = "_ANEF_MODEL_EVALUATE"
    evaluation = line(1_000, "Begin", name, **client), line(4_500, "End", name, **client)
    happenings, watch = run([begin, evaluation[0], served, evaluation[1], end])
    assert (watch.counts.requests, rows(happenings)) == (1, [(5.0, 1, 0)])
    assert run([begin, *evaluation, end])[1].counts.requests == 1


def test_a_process_that_is_chosen_by_name_where_the_stream_has_numbers() -> None:
    _, watch = run(call(0), process="App")
    assert describe_choice(summarize_watch(watch)) == (
        "No call of the process App: the stream has 2 signposts of processes with other numbers, and no names"
        " of processes."
    )
    assert rows(run(call(0), process="812")[0]) == [(5.0, 1, 0)]
