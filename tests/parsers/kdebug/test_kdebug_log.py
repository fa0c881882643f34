"""The log in a kdebug stream of version 3, and the signposts among its events."""

from __future__ import annotations

import io
import plistlib
from pathlib import Path

import pytest
from kdebug_files import (
    APP_SIGNPOST,
    BEGIN,
    END,
    TICKS_PER_MS,
    event,
    sample,
    write_chunk,
    write_item,
    write_log,
    write_stackshot,
    write_version_3,
)
from pykdebugparser.pykdebugparser import PyKdebugParser

from tracekit.api import open_trace
from tracekit.model.trace import Trace

pytestmark = pytest.mark.slow

THREADS = [(1, 42, "MyApp"), (2, 42, "MyApp")]
START_S = 1_790_000_000
CLOCK = (1000, START_S, 250_000)
"""Tick 1000 is at 2026-09-21 14:13:20.25 UTC."""
TEXTS = [
    "MyApp",
    "encode",
    "com.example.app",
    "Inference",
    "com.apple.ane",
    "common",
    "ANEProgramProcessRequestDirect() Failed with status=0x16 : statusType=0x9",
    "hello",
    "",
]
APP, ENCODE, SUBSYSTEM, CATEGORY, ANE, COMMON, REQUEST, HELLO, EMPTY = range(1, 10)
SAMPLES = [part for ms in range(21) for part in sample(1000 + ms * TICKS_PER_MS, [0x1000])]
SIGNPOST, LINE, LOSS = 6, 4, 7
EVENT = 0
IN_THREAD, IN_PROCESS, ANYWHERE = 0x40, 0x80, 0xC0


def entry(ms: float, **more: object) -> dict[str, object]:
    """Return an entry, that many milliseconds after tick 1000."""
    microseconds = 250_000 + round(ms * 1000)
    date = {"sec": START_S, "usec": microseconds}
    common = {"t": HELLO, "s": 1, "ns": 0, "b": b"", "piu": b"", "utz": {"mw": 480, "dt": 1}}
    ids = {
        "cm": EMPTY,
        "ud": date,
        "mct": 7_000_000 + round(ms * TICKS_PER_MS),
        "tid": 1,
        "pid": 42,
        "p": APP,
    }
    return {**common, **ids, "ti": LINE, **more}


def signpost(ms: float, kind: int, scope: int = IN_PROCESS, **more: object) -> dict[str, object]:
    return entry(ms, sub=SUBSYSTEM, cat=CATEGORY, sn=ENCODE, si=77, ti=SIGNPOST | (kind | scope) << 8, **more)


def write(tmp_path: Path, content: bytes) -> Path:
    file = tmp_path / "app.ktrace"
    file.write_bytes(content)
    return file


def read(tmp_path: Path, *entries: dict[str, object], clock: tuple[int, int, int] = CLOCK) -> Trace:
    """Return a stream of samples from tick 1000 on for 20 ms, with a log."""
    content = write_version_3([SAMPLES], THREADS, clock=clock, log=write_log(entries, TEXTS))
    return open_trace(write(tmp_path, content))


def list_signposts(trace: Trace) -> list[tuple[object, ...]]:
    columns = ["kind", "start_ns", "end_ns", "name", "subsystem", "category", "identifier", "pid", "tid"]
    return list(trace.signposts[columns].itertuples(index=False, name=None))


def codes(trace: Trace) -> dict[str, str]:
    return {issue.code: issue.message for issue in trace.issues}


def test_signposts_of_the_log_lie_on_the_time_line_of_the_samples(tmp_path: Path) -> None:
    trace = read(tmp_path, signpost(2, BEGIN), signpost(5.5, END))
    assert trace.info.start == "2026-09-21T14:13:20.250000+00:00"
    assert list_signposts(trace) == [
        ("interval", 2_000_000, 5_500_000, "encode", "com.example.app", "Inference", 77, 42, 1)
    ]
    assert len(trace.samples) == 21
    assert codes(trace)["laid-over"].startswith(
        "the log of app.ktrace is laid over the recording by wall clock"
    )


@pytest.mark.parametrize(
    ("scope", "end_thread", "end_process", "is_pair"),
    [
        (IN_THREAD, 1, 42, True),
        (IN_THREAD, 2, 42, False),
        (IN_PROCESS, 2, 42, True),
        (IN_PROCESS, 2, 43, False),
        (ANYWHERE, 2, 43, True),
    ],
)
def test_partners_are_where_their_scope_allows(
    tmp_path: Path, scope: int, end_thread: int, end_process: int, is_pair: bool
) -> None:
    end = signpost(5, END, scope, tid=end_thread, pid=end_process)
    trace = read(tmp_path, signpost(2, BEGIN, scope), end)
    assert (len(trace.signposts) == 1) is is_pair
    assert (
        "the log of app.ktrace: signposts of the log without a partner: 2" in str(codes(trace))
    ) is not is_pair


def test_an_identifier_keeps_its_64_bits(tmp_path: Path) -> None:
    pair = [signpost(ms, kind) | {"si": 2**63 + 5} for ms, kind in ((1, BEGIN), (2, END))]
    assert read(tmp_path, *pair).signposts["identifier"].tolist() == [2**63 + 5]


def test_lines_about_the_engine_are_kept_and_others_are_counted(tmp_path: Path) -> None:
    lines = [
        entry(1, sub=ANE, cat=COMMON, cm=REQUEST, lt=16),
        *(entry(2 + ms, sub=SUBSYSTEM, cm=HELLO) for ms in range(3)),
        entry(6, ti=LOSS),
    ]
    trace = read(tmp_path, *lines)
    assert trace.engine_log[["time_ns", "kind", "subsystem", "pid", "tid"]].values.tolist() == [
        [1_000_000, "failure", "com.apple.ane", 42, 1]
    ]
    messages = codes(trace)
    assert messages["log-lines-unrelated"].endswith("were not read: 3")
    assert messages["log-entries-lost"].endswith(": 1")


def test_entries_without_their_texts_or_a_date_are_counted(tmp_path: Path) -> None:
    unknown = 4_000
    lines = [entry(1, cm=unknown), signpost(2, BEGIN) | {"sn": unknown}, signpost(3, END) | {"ud": {}}]
    assert codes(read(tmp_path, *lines))["log-entries-damaged"] == (
        "the log in the file cannot be read: damaged entries: 3"
    )
    some = read(tmp_path, *lines, entry(4, cm=HELLO))
    assert codes(some)["log-entries-damaged"].endswith("entries of the log that cannot be read: 3")


def test_a_log_without_a_place_is_left_out_with_the_reason(tmp_path: Path) -> None:
    pair = (signpost(2, BEGIN), signpost(5, END))
    no_clock = read(tmp_path, *pair, clock=(0, 0, 0))
    assert len(no_clock.samples) == 21 and not len(no_clock.signposts)
    assert codes(no_clock)["file-skipped"] == (
        "the log of app.ktrace is left out: it cannot be laid over app.ktrace: that input does not state when"
        " the recording began"
    )
    other_day = read(tmp_path, *pair, clock=(1000, START_S - 86_400, 250_000))
    assert "is of another time than app.ktrace" in codes(other_day)["file-skipped"]


def test_a_log_without_samples_is_read_alone(tmp_path: Path) -> None:
    content = write_version_3([], log=write_log([signpost(2, BEGIN), signpost(5, END)], TEXTS))
    trace = open_trace(write(tmp_path, content + write_chunk(0x9999, b"12345")))
    assert list_signposts(trace)[0][:3] == ("interval", 0, 3_000_000)
    assert "0 events without a sample" in codes(trace)["file-skipped"]
    assert "0x9999" in codes(trace)["parts-unread"]


def test_parts_of_unknown_form_are_named(tmp_path: Path) -> None:
    content = write_version_3([sample(0, [1, 2])])
    described = write_chunk(0x8C00, b"machine") + write_chunk(0x1B00, b"configuration")
    more = write_chunk(0x8004, bytes(2_000)) + write_chunk(0x9999, b"1") * 3
    trace = open_trace(write(tmp_path, content + described + more))
    assert codes(trace)["parts-unread"] == (
        "parts of the file whose form is not published, and that were not read: 0x8004 (images) 2.0 kB in 1 part,"
        " 0x9999 3 bytes in 3 parts"
    )
    assert "document-incomplete" not in codes(trace)


def test_parts_of_many_kinds_are_a_short_list(tmp_path: Path) -> None:
    content = write_version_3([sample(0, [1])]) + b"".join(
        write_chunk(0x9000 + tag, b"1") for tag in range(500)
    )
    message = codes(open_trace(write(tmp_path, content)))["parts-unread"]
    assert message.count("0x") <= 21 and message.endswith("others 480 bytes in 480 parts")


def test_signposts_of_an_app_are_events_of_the_kernel(tmp_path: Path) -> None:
    code = APP_SIGNPOST | 7 << 2
    events = [
        event(1000, code | BEGIN, (1, 2, 3, 4), tid=1),
        event(1000 + 1 * TICKS_PER_MS, code | BEGIN, (9,), tid=2),
        event(1000 + 2 * TICKS_PER_MS, code | END, (0, 0, 0, 4), tid=1),
        event(1000 + 3 * TICKS_PER_MS, code | END, (), tid=2),
        event(1000 + 4 * TICKS_PER_MS, APP_SIGNPOST | 8 << 2, (5,), tid=1),
    ]
    trace = open_trace(write(tmp_path, write_version_3([events], THREADS)))
    columns = ["kind", "start_ns", "end_ns", "name", "subsystem", "pid", "tid", "message"]
    assert trace.signposts[columns].values.tolist() == [
        ["interval", 0, 2_000_000, "signpost 7", "kdebug", 42, 1, "1, 2, 3, 4"],
        ["interval", 1_000_000, 3_000_000, "signpost 7", "kdebug", 42, 2, "9, 0, 0, 0"],
        ["event", 4_000_000, 4_000_000, "signpost 8", "kdebug", 42, 1, "5, 0, 0, 0"],
    ]
    assert not len(trace.samples)


def test_a_log_that_is_cut_or_damaged_anywhere_is_no_error_of_its_own(tmp_path: Path) -> None:
    log = write_log([signpost(2, BEGIN), signpost(5, END), entry(6, sub=ANE, cm=REQUEST)], TEXTS)
    head = write_version_3([sample(1000, [1])], THREADS, clock=CLOCK)
    for size in range(0, len(log), 67):
        assert len(open_trace(write(tmp_path, head + log[:size])).samples) == 1
    for position in range(3, len(log), 31):
        damaged = bytearray(log)
        damaged[position] ^= 0xFF
        assert len(open_trace(write(tmp_path, head + bytes(damaged))).samples) == 1


@pytest.mark.parametrize("content", [{}, {"Events": 1}, {"Events": [1]}, {"Events": [{"ud": [1]}]}, []])
def test_a_property_list_of_another_form_is_counted(tmp_path: Path, content: object) -> None:
    chunk = write_chunk(0x8011, plistlib.dumps(content, fmt=plistlib.FMT_BINARY))
    stream = write_version_3([sample(1000, [1])], THREADS, clock=CLOCK, log=chunk)
    trace = open_trace(write(tmp_path, stream))
    assert len(trace.samples) == 1 and not len(trace.signposts)


def test_an_entry_that_a_list_repeats_counts_once(tmp_path: Path) -> None:
    """A list of 200,000 references to an entry takes 400 kB, and would take gigabytes as entries."""
    mark = signpost(2, EVENT)
    assert len(read(tmp_path, *[mark] * 200_000).signposts) == 1


def test_another_reader_finds_the_same_entries(tmp_path: Path) -> None:
    entries = [
        signpost(2, BEGIN, IN_THREAD),
        entry(3, sub=ANE, cat=COMMON, cm=REQUEST, lt=16),
        signpost(5, END, IN_THREAD),
    ]
    end_of_stackshot = write_item(0x3, b"stackshot_out_flags".ljust(40, b"\0"))
    content = write_version_3(
        [SAMPLES],
        THREADS,
        clock=CLOCK,
        stackshot=write_stackshot([end_of_stackshot]),
        log=write_log(entries, TEXTS),
        sub_tag=0,
    )
    others = list(PyKdebugParser().os_log_events(io.BytesIO(content)))
    trace = open_trace(write(tmp_path, content))
    begin, line, end = others
    assert [begin.signpost_name, begin.subsystem, begin.category, begin.signpost_identifier] == [
        trace.signposts[name].iloc[0] for name in ("name", "subsystem", "category", "identifier")
    ]
    assert (end.unix_date - begin.unix_date).total_seconds() * 1e9 == (
        trace.signposts["end_ns"] - trace.signposts["start_ns"]
    ).iloc[0]
    assert [line.composed_message, line.process_identifier] == [
        TEXTS[REQUEST - 1],
        trace.engine_log["pid"].iloc[0],
    ]
