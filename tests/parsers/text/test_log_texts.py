"""Logs as text: every style gives the same, lines of others are counted, and damage never becomes evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents_support import SHARED
from pack_support import packed

from tracekit import analyze
from tracekit.detect import open_source
from tracekit.errors import InputError, TracekitError
from tracekit.load import open_trace
from tracekit.model.trace import Trace
from tracekit.parsers.in_memory import read_into_memory
from tracekit.parsers.text.kinds import identify_text
from tracekit.parsers.text.log_lines import is_log, parse_line
from tracekit.parsers.text.log_text import LOG
from tracekit.parsers.text.text_file import TextPlace

pytestmark = pytest.mark.integration

EVIDENCE = SHARED / "evidence"
REAL = EVIDENCE / "logs"
real_files = pytest.mark.skipif(not REAL.is_dir(), reason="the shared recordings are not here")
DONE = "-----> processRequest: ANEProgramProcessRequestDirect() status=0x{:x} : statusType=0x0 : qos=0x21"
POWER = "ANE0: setPowerStateGatedPriv :H11ANEIn::setPowerStateGated: {}"
Style = Callable[[str, str, int, int, str, str], str]
"""(clock, process, pid, tid, subsystem, message) → an entry."""


def default(clock: str, process: str, pid: int, tid: int, subsystem: str, message: str) -> str:
    sender = f"(Lib) [{subsystem}:client] " if subsystem else "(Driver) "
    return (
        f"2024-03-26 {clock}-0700 0x{tid:<8x} Default     0x0    {pid:<6} 0    {process}: {sender}{message}\n"
    )


def compact(clock: str, process: str, pid: int, tid: int, subsystem: str, message: str) -> str:
    sender = f"(Lib) [{subsystem}:client] " if subsystem else "(Driver) "
    return f"2024-03-26 {clock} Df {process}[{pid}:{tid:x}] {sender}{message}\n"


def syslog(clock: str, process: str, pid: int, tid: int, subsystem: str, message: str) -> str:
    sender = f"(Lib) [{subsystem}:client] " if subsystem else "(Driver) "
    return f"2024-03-26 {clock}-0700  localhost {process}[{pid}]: {sender}{message}\n"


def json_line(clock: str, process: str, pid: int, tid: int, subsystem: str, message: str) -> str:
    entry = {
        "traceID": 1,
        "eventMessage": message,
        "subsystem": subsystem,
        "category": "client",
        "processID": pid,
        "threadID": tid,
        "processImagePath": f"/usr/libexec/{process}",
        "timestamp": f"2024-03-26 {clock}-0700",
    }
    return json.dumps(entry) + "\n"


def device_line(clock: str, process: str, pid: int, tid: int, subsystem: str, message: str) -> str:
    """Return a line of ``pymobiledevice3 developer dvt oslog --format json``."""
    entry = {
        "timestamp": f"2024-03-26T{clock}-07:00",
        "pid": pid,
        "message_type": "Default",
        "subsystem": subsystem,
        "category": "client",
        "image_name": "Lib",
        "message": message,
        "format_string": None,
        "arguments": [],
    }
    return json.dumps(entry) + "\n"


STYLES: dict[str, tuple[Style, str, str]] = {
    "default": (
        default,
        "Timestamp                       Thread     Type        Activity             PID    TTL  \n",
        "",
    ),
    "compact": (compact, "Timestamp               Ty Process[PID:TID]\n", ""),
    "syslog": (syslog, "Timestamp                       (process)[PID]    \n", ""),
    "ndjson": (json_line, "", '{"count":6,"finished":1}\n'),
    "pymobiledevice3": (device_line, "", ""),
}


def written(style: str, *entries: tuple[str, str, int, int, str, str]) -> str:
    write, head, end = STYLES[style]
    return head + "".join(write(*entry) for entry in entries) + end


ENTRIES = (
    ("10:31:40.500000", "launchd", 1, 9, "com.apple.xpc", "nothing of note"),
    ("10:31:41.000000", "kernel", 0, 0x4A, "", POWER.format(1)),
    ("10:31:41.250000", "App", 812, 0x31, "com.apple.ane", DONE.format(0)),
    ("10:31:41.500000", "App", 812, 0x31, "com.apple.ane", DONE.format(0x16)),
    ("10:31:41.750000", "App", 812, 0x31, "com.apple.espresso", "Unsupported op 12 (gather): index type"),
    ("10:31:42.000000", "kernel", 0, 0x4A, "", POWER.format(0)),
    ("10:31:42.500000", "App", 812, 0x31, "org.example", DONE.format(0)),  # an app's own line is no evidence
)


def opened(tmp_path: Path, content: str | bytes) -> Trace:
    path = tmp_path / "some.file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_trace(path)


def lines(trace: Trace) -> list[tuple[Any, ...]]:
    names = ("time_ns", "kind", "status", "operator", "pid")
    return [tuple(row[name] for name in names) for row in trace.engine_log.to_dict("records")]


def issue_codes(trace: Trace) -> dict[str, int]:
    return {issue.code: issue.count for issue in trace.issues if issue.code != "no-samples"}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_gives_the_same(tmp_path: Path, style: str) -> None:
    trace = opened(tmp_path, written(style, *ENTRIES))
    assert lines(trace) == [
        (750_000_000, "request", 0, "", 812),
        (1_000_000_000, "request", 0x16, "", 812),
        (1_250_000_000, "unsupported operator", -1, "gather", 812),
    ]
    assert trace.info.start == "2024-03-26T10:31:40.500000" + ("" if style == "compact" else "-07:00")
    assert trace.info.duration_ns == 2_000_000_000
    powered = trace.tracks[trace.tracks["name"] == "Neural Engine powered"]
    assert powered["time_ns"].tolist() == [500_000_000, 1_500_000_000, 2_000_000_000]
    assert powered["value"].fillna(-1).tolist() == [1, 0, -1]
    unrelated = {"ndjson": 1, "pymobiledevice3": 0}.get(style, 2)
    unread = {"log-lines-unrelated": unrelated, "log-lines-unread": 1}
    assert issue_codes(trace) == {code: count for code, count in unread.items() if count}
    analysis = analyze(trace)
    has_process = style not in (
        "syslog",
        "pymobiledevice3",
    )  # the former names no thread, the latter no process
    process = "App (812)" if has_process else "process 812"
    assert analysis.headline == (
        f"The log about the Neural Engine shows 2 requests of {process}, of which 1 failed; 1 refusal of an operator;"
        " power on in 1 period, 1.00 s in total, of no known process. It has no engine time, and by default not"
        " every request."
    )
    assert {finding.kind for finding in analysis.findings} >= {"requests-failed", "operators-refused"}
    assert not len(analysis.window_rows)
    for document in (analysis.to_text(), analysis.to_json(), analysis.to_html(), analysis.to_markdown()):
        assert "window for certain" not in document
        assert "no single call" not in document


def test_an_array_of_json_is_read_like_its_lines(tmp_path: Path) -> None:
    entries = [json.loads(json_line(*entry)) for entry in ENTRIES]
    array = "[" + ",".join(json.dumps(entry, indent=2) for entry in entries) + "]\n"
    trace = opened(tmp_path, array.replace("\n", "\r\n"))
    assert [row[1:] for row in lines(trace)] == [
        ("request", 0, "", 812),
        ("request", 0x16, "", 812),
        ("unsupported operator", -1, "gather", 812),
    ]
    assert trace.info.duration_ns == 2_000_000_000
    assert issue_codes(trace) == {"log-lines-unrelated": 1, "log-lines-unread": 1}
    cut = opened(tmp_path, array[: array.index("gather") + 3])
    assert len(lines(cut)) == 2
    assert issue_codes(cut)["log-entries-damaged"] == 1


@real_files
def test_every_file_of_the_collection_is_read_or_refused_with_a_sentence() -> None:
    headlines = {}
    for path in sorted(REAL.iterdir()):
        try:
            headlines[path.name] = analyze(open_trace(path)).headline.partition(". It has no")[0]
        except InputError as error:
            assert str(error).endswith(".") or "'" in str(error)
            headlines[path.name] = "refused"
    shows = "The log about the Neural Engine shows"
    assert headlines == {
        "ane_kext_log_format_strings.txt": "refused",  # no lines, but the driver's format strings
        "dtrace_ane_method_counts.txt": "refused",
        "h11ane_real_lines.txt": f"{shows} 1 program made by the kernel's driver (a load)",
        "log_ane_client_run_hwx.txt": f"{shows} 1 failure to compile or load a program",
        "log_ane_kernel_powerstate.txt": f"{shows} power on in 2 periods, on at the end of the log, at least"
        " 48.1 ms in total, of no known process",
        "user_ane_messages_real.txt": f"{shows} 1 request of Python (13813), of which 1 failed; 3 failures to compile"
        " or load a program",
    }


@real_files
def test_the_periods_of_power_are_those_of_the_lines() -> None:
    path = REAL / "log_ane_kernel_powerstate.txt"
    written_states = re.findall(r" 10:31:(\d\d\.\d{6})-0700 .*setPowerStateGated: ([01])", path.read_text())
    trace = open_trace(path)
    first = float(written_states[0][0])
    states = trace.tracks.dropna(subset=["value"])
    assert [
        (f"{first + time / 1e9:.6f}", f"{value:.0f}")
        for time, value in zip(states["time_ns"], states["value"], strict=True)
    ] == written_states


@real_files
def test_no_other_text_of_the_collection_is_taken_for_a_log() -> None:
    for folder in ("stack_dumps", "powermetrics"):
        for path in sorted((EVIDENCE / folder).iterdir()):
            recognised = identify_text(TextPlace(str(path), path.name))
            assert recognised is None or recognised[0] is not LOG, path.name


def test_further_lines_of_a_message_have_its_time_and_process(tmp_path: Path) -> None:
    text = (
        "2025-02-21 16:19:32.823 tool[52:18] starting\n"
        "2025-02-21 16:19:33.000 tool[52:18] error: (\n"
        '    "ANEProgramProcessRequestDirect() Failed with status=0x12 : statusType=0x9",\n'
        ")\n"
        "E5RT: ANE model load has failed for on-device compiled macho. (13)\n"
    )
    assert lines(opened(tmp_path, text)) == [
        (177_000_000, "failure", 0x12, "", 52),
        (177_000_000, "not loaded", -1, "", 52),
    ]


def test_a_further_line_of_an_apps_own_message_is_no_evidence(tmp_path: Path) -> None:
    text = written("default", *ENTRIES[:1], ("10:31:41.0", "App", 8, 3, "org.example", "dump:"))
    trace = opened(tmp_path, text + "ANECCompile() FAILED\n")
    assert lines(trace) == []
    assert analyze(trace).headline == (
        "The log has 1 line that mentions ANE, of no subsystem and form that are read: nothing is known from them."
        " Read them yourself."
    )


@pytest.mark.parametrize("word", ["PLANE", "MEMBRANES", "aNEst", "Lane", "ANEW "])
def test_a_word_that_holds_the_letters_mentions_no_engine(tmp_path: Path, word: str) -> None:
    text = written("default", *ENTRIES[:1], ("10:31:41.0", "App", 8, 3, "org.example", f"the {word} is"))
    headline = analyze(opened(tmp_path, text)).headline
    assert headline.startswith(
        "Nothing in the log" if word != "ANEW " else "The log has 1 line that mentions"
    )


NSLOG = "2022-12-04 16:27:{second}.052156-0500 App[728:16566] [{category}] {message}\n"
NOT_LOADED = (
    (
        "espresso",
        "[Espresso::handle_ex_plan] exception=ANECF error: failed to load ANE model. Error=createProgramInstanceForModel"
        ":modelToken:qos:isPreCompiled:error:: Program load failure (0x20004)",
        "Program load failure (0x20004)",
    ),
    (
        "espresso",
        "[Espresso::handle_ex_plan] exception=ANECF error: ANECCompile(/var/Caches/com.apple.aned/A (1)/) FAILED: err=(",
        "ANECCompile() FAILED",
    ),
    ("espresso", "[Espresso::handle_ex_plan] exception=ANECF error:", "exception=ANECF error"),
    ("coreml", "createProgramInstanceForModel:error:: Program load new instance failure (0xF0004)",
     "Program load new instance failure (0xF0004)"),
    ("espresso", "ANECF error: failed to load ANE model file:///App.app/m.mil Error=x",
     "ANECF error: failed to load ANE model"),
)  # fmt: skip


@pytest.mark.parametrize(("category", "message", "reason"), NOT_LOADED)
def test_a_line_that_people_paste_is_a_program_that_was_not_loaded(
    tmp_path: Path, category: str, message: str, reason: str
) -> None:
    plan = NSLOG.format(second=42, category="coreml", message="Error plan build: -1.")
    trace = opened(tmp_path, NSLOG.format(second=41, category=category, message=message) + plan)
    assert trace.engine_log[["kind", "reason"]].astype(str).to_numpy().tolist() == [["not loaded", reason]]
    assert "shows 1 failure to compile or load a program" in analyze(trace).headline


def test_lines_before_any_time_are_counted(tmp_path: Path) -> None:
    text = f"E5RT: {DONE.format(0x16)}\n" + written("syslog", *ENTRIES[:3])
    trace = opened(tmp_path, text)
    assert issue_codes(trace)["log-lines-without-time"] == 1
    assert [row[:3] for row in lines(trace)] == [(0, "request", 0x16), (750_000_000, "request", 0)]


def test_output_without_any_time_has_no_time_line(tmp_path: Path) -> None:
    trace = opened(tmp_path, "E5RT: ANE model load has failed for on-device compiled macho.\n")
    assert (trace.info.start, trace.info.duration_ns) == ("", 0)
    assert [row[1] for row in lines(trace)] == ["not loaded"]
    analysis = analyze(trace)
    assert not trace.has_timeline
    assert "Duration" not in analysis.to_text()
    assert not re.search(r'id="(timeline|windows|latency|submissions|threads)"', analysis.to_html())


def test_a_clock_that_goes_backwards_is_counted_and_no_time_is_below_zero(tmp_path: Path) -> None:
    trace = opened(tmp_path, written("default", ENTRIES[3], ENTRIES[1], *[("09:00:00.0", *ENTRIES[2][1:])]))
    assert issue_codes(trace)["log-clock-backwards"] == 1
    assert int(trace.engine_log["time_ns"].min()) == 0


def test_lines_of_several_zones_are_one_time_line(tmp_path: Path) -> None:
    text = default(*ENTRIES[2]) + default(*ENTRIES[3]).replace("-0700", "+0200").replace(" 10:", " 19:")
    assert [row[0] for row in lines(opened(tmp_path, text))] == [0, 250_000_000]


def test_cut_lines_and_broken_bytes_claim_nothing(tmp_path: Path) -> None:
    text = written("default", *ENTRIES).encode()
    trace = opened(tmp_path, text[: text.index(b"status=0x16") + 7] + b"\xff\xfe\x00")
    assert [row[1] for row in lines(trace)] == ["request"]
    assert issue_codes(trace)["log-messages-unknown"] == 1


def test_a_power_line_of_an_app_is_not_the_kernels(tmp_path: Path) -> None:
    trace = opened(tmp_path, written("default", ("10:31:41.0", "App", 8, 3, "", POWER.format(1))))
    assert not len(trace.tracks)


def test_each_engine_of_an_ultra_has_a_track(tmp_path: Path) -> None:
    second = ("10:31:41.5", "kernel", 0, 3, "", POWER.format(1).replace("ANE0", "ANE1"))
    trace = opened(tmp_path, written("default", ENTRIES[1], second))
    assert trace.tracks["name"].unique().tolist() == [
        "Neural Engine powered (ANE0)",
        "Neural Engine powered (ANE1)",
    ]


def test_a_log_that_mentions_nothing_names_what_was_looked_for(tmp_path: Path) -> None:
    analysis = analyze(opened(tmp_path, written("compact", *ENTRIES[:1], ("10:31:44.0", *ENTRIES[0][1:]))))
    assert analysis.headline == (
        "Nothing in the log is about the Neural Engine: looked for were lines of com.apple.ane, com.apple.coreai,"
        " com.apple.espresso, com.apple.metalperformanceshadersgraph, of the kernel's H11ANEIn, and errors of ANE"
        " and E5RT."
    )
    assert issue_codes(analysis.trace) == {"log-lines-unrelated": 3}


def test_utf_16_is_read(tmp_path: Path) -> None:
    assert len(lines(opened(tmp_path, written("default", *ENTRIES).encode("utf-16")))) == 3


def test_a_long_log_is_read_in_blocks(tmp_path: Path) -> None:
    """Lines are whole across blocks of a megabyte, and each is seen once."""
    filler = default("10:31:40.0", "launchd", 1, 9, "com.apple.xpc", "x" * 400)
    count = 5_000
    text = "".join(default(*ENTRIES[2]) + filler for _ in range(count))
    assert len(text) > 2 << 20
    trace = opened(tmp_path, text)
    assert len(trace.engine_log) == count
    assert issue_codes(trace) == {"log-lines-unrelated": count}


def test_a_log_archive_is_refused_with_the_command_that_exports_it(tmp_path: Path) -> None:
    folder = tmp_path / "system.logarchive"
    (folder / "Persist").mkdir(parents=True)
    (folder / "timesync").mkdir()
    with pytest.raises(InputError, match=r"log show --archive .*--style ndjson"):
        open_trace(folder)


@pytest.mark.parametrize(
    "line",
    [
        "2024-13-45 10:31:41.8-0700 0x4a Default 0x0 0 0 kernel: x",
        "2024-03-26 10:31:41 not a log at all",
        "0001-01-01 00:00:00.0 App[1:2] x",
        "[1e9]: x",
        "1 2 3",
        "",
    ],
)
def test_lines_that_begin_no_entry(line: str) -> None:
    assert parse_line(line) is None


def test_a_text_that_quotes_messages_is_no_log(tmp_path: Path) -> None:
    note = "# Notes\n\nThe kernel logs `H11ANEIn::setPowerStateGated: 1`, see\n> ANEProgramProcessRequestDirect()\n"
    assert not is_log(note)
    with pytest.raises(TracekitError):
        opened(tmp_path, note)


def test_a_pack_of_a_log_gives_what_the_log_gives(tmp_path: Path) -> None:
    text = tmp_path / "app.log"
    text.write_text(written("default", *ENTRIES))
    pack = packed(tmp_path, read_into_memory(open_source(str(text))))
    assert analyze(open_trace(pack)).headline == analyze(open_trace(text)).headline


@pytest.mark.parametrize(
    ("sender", "subsystem"),
    [("Lib", "com.apple.coreml"), ("Lib", "com.apple.appleneuralengine"), ("Espresso", "com.apple.other")],
)
def test_an_error_of_the_engine_that_core_ml_passes_on_is_read(
    tmp_path: Path, sender: str, subsystem: str
) -> None:
    failure = "E5RT: ANE model load has failed for on-device compiled macho."
    entries = [("10:31:42.0", "App", 8, 3, subsystem, text) for text in (failure, "E5 bundle opened")]
    trace = opened(tmp_path, written("default", *entries).replace("(Lib)", f"({sender})"))
    assert [row[1] for row in lines(trace)] == ["not loaded"]
    other = written("default", ("10:31:42.0", "App", 8, 3, "org.example", failure))
    assert lines(opened(tmp_path, other.replace("(Lib)", f"({sender})"))) == []


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        (
            (0, 1),
            "power off at the first line about it, after a period that began before; power on in 1 period,",
        ),
        ((1,), "shows power on in 1 period, on at the end of the log, of no known process."),
        ((1, 0, 1), "power on in 2 periods, on at the end of the log, at least 1.00 s in total, of no"),
        ((1, 0), "shows power on in 1 period, 1.00 s in total, of no known process."),
    ],
)
def test_periods_of_power_that_the_log_cuts(tmp_path: Path, states: tuple[int, ...], sentence: str) -> None:
    entries = [
        (f"10:31:4{number}.0", "kernel", 0, 3, "", POWER.format(state)) for number, state in enumerate(states)
    ]
    assert sentence in analyze(opened(tmp_path, written("default", *entries))).headline
