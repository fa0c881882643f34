"""Crash and hang reports as text and as ``.ips``: every thread is one sample of its stack."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from macho_support import LOADED, UUID_OF_APP, dsym
from pause_support import Paused, read_text, threads_of

from tracekit.errors import InputError
from tracekit.load import open_trace
from tracekit.model.trace import Issue
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError
from tracekit.parsers.text.kinds import identify_text
from tracekit.parsers.text.text_file import TextPlace

HEADER = '{"app_name":"App","bug_type":"309","os_version":"iPhone OS 17.5 (21F79)","name":"App"}'
TEXT = """\
Incident Identifier: 0
Hardware Model:      iPhone9,2
Process:             My App [3769]
Code Type:           ARM-64 (Native)
Date/Time:           2017-05-25 20:34:37.0354 +0800
OS Version:          iPhone OS 10.1.1 (14B100)
Exception Type:  EXC_CRASH (SIGABRT)
Triggered by Thread:  1

Last Exception Backtrace:
0   CoreFoundation   \t0x18f04bc70 __exceptionPreprocess + 164 (NSException.m:249)

Thread 0 name:  Dispatch queue: com.apple.main-thread
Thread 0:
0   libsystem_kernel.dylib        \t0x0000000186ee416c mach_msg_trap + 8 (:-1)
1   My App                        \t0x0000000100801000 0x100070000 + 7094768

Thread 1 Crashed:
0   ...ple.MetalPerformanceShaders\t0x0000000190001000 -[MPSKernel encode] + 12
1   My App                        \t0x0000000100125780 [inlined] closure #1 in A.b() (A.swift:1477)

Thread 1 crashed with ARM Thread State (64-bit):
    x0: 0x0000000000000000   x1: 0x0000000000000000

Binary Images:
0x100070000 - 0x1018fbfff My App arm64  <42fd89f730be3ac5a40a4c1a99438dfb> /private/My App.app/My App
0x190000000 - 0x19000ffff com.apple.MetalPerformanceShaders arm64e  <42fd89f730be3ac5a40a4c1a99438dfc> /S/MPS
0x1a3000000 - 0x1a300ffff Espresso arm64e  <42fd89f730be3ac5a40a4c1a99438dfd> /System/Espresso
"""


def ips(**body: Any) -> str:
    return f"{HEADER}\n{json.dumps(body, indent=2)}"


def issue(code: str, trace_issues: tuple[Issue, ...]) -> Issue | None:
    return next((issue for issue in trace_issues if issue.code == code), None)


def test_apples_text(tmp_path: Path) -> None:
    trace = read_text(tmp_path, TEXT)
    info = trace.info
    assert (info.process, info.pid, info.os) == ("My App", 3769, "iPhone OS 10.1.1 (14B100)")
    assert (info.model, info.start) == ("iPhone9,2", "2017-05-25T20:34:37.0354+08:00")
    assert info.end_reason == "EXC_CRASH (SIGABRT)"
    assert threads_of(trace) == [
        Paused("Last Exception Backtrace", "", 0, [("CoreFoundation", "__exceptionPreprocess")]),
        Paused(
            "Thread 0: queue com.apple.main-thread",
            "",
            1,
            [("libsystem_kernel.dylib", "mach_msg_trap"), ("My App", "0x100801000")],
        ),
        Paused(
            "Thread 1",
            "Crashed",
            1,
            [("com.apple.MetalPerformanceShaders", "-[MPSKernel encode]"), ("My App", "closure #1 in A.b()")],
        ),
    ]
    inlined = trace.stacks.frames[trace.stacks.frames["inlined"]]
    assert inlined[["source_file", "source_line"]].to_numpy().tolist() == [["A.swift", 1477]]
    cause = issue("report-cause", trace.issues)
    assert cause is not None
    assert cause.message == "the report was written because of 'Thread 1': EXC_CRASH (SIGABRT)"
    assert issue("exception-stack", trace.issues) is not None


def test_images_give_frames_uuid_and_load_address_and_are_no_evidence(tmp_path: Path) -> None:
    binaries = read_text(tmp_path, TEXT).stacks.binaries.set_index("name")
    assert "Espresso" not in binaries.index
    assert binaries.loc["My App"].tolist() == [
        "/private/My App.app/My App",
        "42FD89F7-30BE-3AC5-A40A-4C1A99438DFB",
        "arm64",
        0x100070000,
    ]
    assert binaries.loc["libsystem_kernel.dylib", "uuid"] == ""


def test_symbols_name_the_frames_of_a_report(tmp_path: Path) -> None:
    image = {"base": LOADED, "size": 0x10000, "uuid": UUID_OF_APP.lower(), "name": "App", "arch": "arm64"}
    frames = [{"imageOffset": offset, "imageIndex": 0} for offset in range(0, 0x10000, 16)]
    path = tmp_path / "report.ips"
    path.write_text(ips(threads=[{"frames": frames}], usedImages=[image]))
    names = set(open_trace(path, symbols=[dsym(tmp_path)]).stacks.frames["symbol"])
    assert {"predict", "main"} <= names


def test_the_leaf_of_another_processor_is_looked_up_where_it_stopped(tmp_path: Path) -> None:
    image = {"base": 0x1000, "size": 0x1000, "name": "A", "arch": "x86_64"}
    frames = [{"imageOffset": 16, "imageIndex": 0}, {"imageOffset": 32, "imageIndex": 0}]
    rows = read_text(tmp_path, ips(threads=[{"frames": frames}], usedImages=[image])).stacks.frames
    assert rows["address"].tolist() == [0x1011, 0x1020]
    assert rows["symbol"].tolist() == ["0x1010", "0x1020"]


@pytest.mark.parametrize(
    ("heading", "name", "state"),
    [
        ("Thread 4:: H11ANEServicesThread", "Thread 4: H11ANEServicesThread", ""),
        (
            "Thread 0 Crashed:: Main Dispatch queue: com.apple.x",
            "Thread 0: Main, queue com.apple.x",
            "Crashed",
        ),
        ("Thread 2 Attributed:", "Thread 2", "Attributed"),
        ("Thread 3 Crashed: Dispatch queue: q", "Thread 3: queue q", "Crashed"),
        ("Faden 3 abgestürzt:", "Stack 1: Faden 3 abgestürzt", ""),
        ("Crashed: com.apple.main-thread", "Stack 1: Crashed: com.apple.main-thread", "Crashed"),
    ],
)
def test_headings_of_threads(tmp_path: Path, heading: str, name: str, state: str) -> None:
    text = f"Exception Type: EXC_CRASH\n{heading}\r\n0  A  0x0000000000001000 f + 1\r\n"
    assert threads_of(read_text(tmp_path, text)) == [Paused(name, state, 1, [("A", "f")])]


@pytest.mark.parametrize(
    ("line", "binary", "symbol"),
    [
        (
            "0   com.apple.Metal  \t0x00007fff2e0a1234 -[_MTLDevice a:] + 12",
            "com.apple.Metal",
            "-[_MTLDevice a:]",
        ),
        ("0   A b.dylib  0x0000000180fb4c14     f(int) + 487", "A b.dylib", "f(int)"),
        (
            "0   k.dylib   \t0x18d5d2634 0x18d5cf000 + 0x3634\t// mach_msg_trap + 0x8",
            "k.dylib",
            "mach_msg_trap",
        ),
        ("29  DemoApp    0x100100ea0        main (in DemoApp) (main.m:14)", "DemoApp", "main"),
        ("3   ???        0x0000000000000000 0x0 + 0", "???", "???"),
        ("1   App        0x0000000100003f24 foo() [inlined] (a.swift:3)", "App", "foo()"),
    ],
)
def test_forms_of_frames(tmp_path: Path, line: str, binary: str, symbol: str) -> None:
    text = f"Exception Type: EXC_CRASH\n{line}\n"
    assert [thread.frames[-1] for thread in threads_of(read_text(tmp_path, text))] == [(binary, symbol)]


def test_a_vendors_form_without_headings_begins_a_stack_with_each_frame_0(tmp_path: Path) -> None:
    text = "signal\n((\n  0  A  0x0000000100001000 f + 1\n  1  A  0x0000000100002000 g + 1\n)\n" * 2
    text += "dSYM UUID: 42fd89f730be3ac5a40a4c1a99438dfb\nCPU Type: arm64\nBinary Image: A\nBase Address: 0x100000000\n"
    trace = read_text(tmp_path, text)
    assert [thread.name for thread in threads_of(trace)] == ["Stack 1", "Stack 2"]
    assert trace.stacks.binaries[["uuid", "load_address"]].to_numpy().tolist() == [
        ["42FD89F7-30BE-3AC5-A40A-4C1A99438DFB", 0x100000000]
    ]


def test_an_excerpt_has_a_frame_for_those_that_it_leaves_out(tmp_path: Path) -> None:
    text = "8   ANEServices  0x0000000100001000 f + 1\n9   A  0x0000000100002000 g + 1\n12  A  0x0000000100003000 h\n"
    trace = read_text(tmp_path, text)
    names = [symbol for _, symbol in threads_of(trace)[0].frames]
    assert names == ["(callees missing)", "f", "g", "(callers missing)", "h"]
    missing = issue("callers-missing", trace.issues)
    assert missing is not None
    assert missing.count == 2


def test_a_report_that_console_translated_counts_once(tmp_path: Path) -> None:
    frame = "0   A   \t0x0000000100001000 f + 1\n"
    text = (
        "Translated Report (Full Report Below)\nProcess: App [7]\nCrashed Thread:  0  Dispatch queue: q\n\n"
        f"Application Specific Backtrace 0:\n{frame}\nThread 0 Crashed::  Dispatch queue: q\n{frame}\n"
        "Binary Images:\n 0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???\n"
        "Model: Mac14,2, BootROM 8419, proc 8\n\nFull Report\n"
    )
    trace = read_text(tmp_path, text + ips(threads=[{"frames": [{"symbol": "f"}]}], usedImages=[]))
    assert threads_of(trace) == [
        Paused("Application Specific Backtrace 0", "", 0, [("A", "f")]),
        Paused("Thread 0: queue q", "Crashed", 1, [("A", "f")]),
    ]
    assert (trace.info.kind, trace.info.model) == ("crash-text", "Mac14,2")
    assert trace.stacks.binaries["uuid"].tolist() == [""]


def test_the_stack_that_a_program_prints_with_its_exception(tmp_path: Path) -> None:
    text = (
        "2024-11-20 02:25:06 App[75906:957741] *** Terminating app due to uncaught exception 'E'\n"
        "*** First throw call stack:\n(\n\t0   CoreML     0x00000001803f3d70 -[MLModel f] + 236\n)\n"
    )
    assert threads_of(read_text(tmp_path, text)) == [Paused("Stack 1", "", 1, [("CoreML", "-[MLModel f]")])]


def test_threads_without_frames_and_of_equal_names_are_counted_each(tmp_path: Path) -> None:
    text = "Exception Type: E\nThread 6:\n\nThread 7:: ANEServicesThread\nThread 8:: ANEServicesThread\n"
    threads = threads_of(read_text(tmp_path, text))
    assert [(thread.samples, thread.frames) for thread in threads] == [(1, [])] * 3
    assert len({thread.name for thread in threads}) == 3


def test_reports_after_one_another_are_runs(tmp_path: Path) -> None:
    other = TEXT.replace("My App", "Other")
    trace = read_text(tmp_path, TEXT + other, run=2)
    assert (trace.info.process, len(trace.samples)) == ("Other", 3)
    assert issue("several-runs", read_text(tmp_path, TEXT + other).issues) is not None
    both = (
        ips(threads=[{"frames": []}], procName="A") + "\n" + ips(threads=[{"frames": []}] * 2, procName="B")
    )
    assert (read_text(tmp_path, both, run=2).info.process, len(read_text(tmp_path, both, run=2).threads)) == (
        "B",
        2,
    )


def test_a_line_of_json_before_a_text(tmp_path: Path) -> None:
    trace = read_text(tmp_path, HEADER.replace("309", "109") + "\n" + TEXT)
    assert (trace.info.kind, trace.info.process, len(trace.samples)) == ("ips", "My App", 3)


def test_a_key_of_registers_is_no_symbol(tmp_path: Path) -> None:
    thread = {
        "id": 410020,
        "name": "H11ANEServicesThread",
        "threadState": {"x": [{"value": 1, "symbol": "ANECCompile"}], "frames": []},
        "frames": [{"imageOffset": 5280, "symbol": "mach_msg_trap", "symbolLocation": 8, "imageIndex": 0}],
    }
    trace = read_text(tmp_path, ips(threads=[thread], usedImages=[{"name": "ANECompiler", "base": 1}]))
    assert threads_of(trace) == [
        Paused("Thread 0: H11ANEServicesThread", "", 1, [("ANECompiler", "mach_msg_trap")])
    ]
    assert trace.threads["tid"].tolist() == [410020]


def test_the_thread_that_caused_a_hang_is_not_called_crashed(tmp_path: Path) -> None:
    text = ips(threads=[{"frames": []}, {"frames": [], "triggered": True}]).replace('"309"', '"298"')
    assert [thread.state for thread in threads_of(read_text(tmp_path, text))] == ["", "Triggered"]


def test_an_exception_backtrace_of_json_is_shown_and_not_counted(tmp_path: Path) -> None:
    exception = {"type": "EXC_CRASH", "signal": "SIGABRT"}
    text = ips(
        threads=[{"frames": []}],
        lastExceptionBacktrace=[{"symbol": "f"}],
        exception=exception,
        faultingThread=0,
    )
    trace = read_text(tmp_path, text)
    assert threads_of(trace) == [
        Paused("Thread 0", "Crashed", 1, []),
        Paused("Last Exception Backtrace", "", 0, [("", "f")]),
    ]
    assert trace.info.end_reason == "EXC_CRASH (SIGABRT)"


def test_a_stackshot_has_all_processes_with_kernel_frames_at_the_leaf(tmp_path: Path) -> None:
    thread = {
        "id": 100,
        "name": "worker",
        "state": ["TH_WAIT", "TH_UNINT"],
        "kernelFrames": [[0, 16]],
        "userFrames": [[1, 32], [7, 1]],
    }
    processes = {
        "0": {"procname": "kernel_task", "threadById": {"1": {"state": ["TH_RUN"]}}},
        "77": {"procname": "App", "threadById": {"100": thread}},
        "78": {"procname": "gone"},
    }
    images = [
        ["42fd89f7-30be-3ac5-a40a-4c1a99438dfb", 4096, "K"],
        ["42fd89f730be3ac5a40a4c1a99438dfc", 8192, "P"],
    ]
    text = ips(
        processByPid=processes, binaryImages=images, product="iPhone12,1", build="iPhone OS 13.3 (17C54)"
    )
    trace = read_text(tmp_path, text.replace('"309"', '"288"'))
    assert trace.threads.to_numpy().tolist() == [[1, "", 0, "kernel_task"], [100, "worker", 77, "App"]]
    assert [thread.state for thread in threads_of(trace)] == ["Running", "Blocked"]
    assert [frame[1] for frame in threads_of(trace)[1].frames] == ["0x1010", "0x2020", "???"]
    assert trace.stacks.binaries["uuid"].tolist() == [
        "42FD89F7-30BE-3AC5-A40A-4C1A99438DFB",
        "42FD89F7-30BE-3AC5-A40A-4C1A99438DFC",
    ]
    damaged = issue("document-damaged", trace.issues)
    assert damaged is not None
    assert damaged.count == 1


def test_a_list_of_threads_alone(tmp_path: Path) -> None:
    text = json.dumps(
        [{"id": 1, "name": "a", "frames": [{"imageOffset": 1, "symbol": "f", "imageIndex": 3}]}]
    )
    assert threads_of(read_text(tmp_path, text)) == [Paused("Thread 0: a", "", 1, [("", "f")])]


@pytest.mark.parametrize(
    "frame",
    [
        None,
        7,
        [],
        [-1, 5],
        ["a", "b"],
        [10**30, 10**30],
        {},
        {"imageIndex": True, "imageOffset": 1.5, "symbol": ["x"], "sourceLine": 10**20},
        {"imageIndex": 0, "imageOffset": 2**64 - 1},
    ],
)
def test_a_frame_of_wrong_values_is_an_unknown_one(tmp_path: Path, frame: object) -> None:
    images = [{"base": 2**63, "size": -1, "uuid": "x" * 40, "name": 7, "path": None}, None]
    trace = read_text(tmp_path, ips(threads=[{"frames": [frame]}], usedImages=images))
    assert [[symbol for _, symbol in thread.frames] for thread in threads_of(trace)] == [["???"]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ips(threads=[{"frames": []}])[:-4], "is cut off: its JSON ends in the middle."),
        (HEADER + '\n{"threads": [}', "is not valid JSON: see line 2."),
        (HEADER + '\n{"threads": ' + "[" * 100_000, "is no report: its JSON is nested too deeply"),
        (HEADER.replace("309", "210"), "is a report of type 210 without stacks of threads."),
        (ips(threads=[1, "a"]), "is a report of type 309 without stacks of threads."),
        (HEADER + "\nno stack", "is a report without a thread"),
        ("Incident Identifier: 1\nException Type: E\n", "is a report without a thread"),
    ],
)
def test_a_report_without_stacks_is_refused_with_a_sentence(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        read_text(tmp_path, text)
    assert problem in str(raised.value)


def test_half_of_a_surrogate_pair_is_a_question_mark(tmp_path: Path) -> None:
    text = ips(threads=[{"name": "\ud800", "frames": [{"symbol": "f\udfff"}]}], procName="A\ud800")
    trace = read_text(tmp_path, text)
    assert threads_of(trace) == [Paused("Thread 0: ?", "", 1, [("", "f?")])]
    assert trace.info.process == "A?"


def test_a_report_that_is_too_large_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.ips"
    path.write_text(ips(threads=[{"frames": [], "name": "x" * 2_000}]))
    small = replace(DEFAULT_LIMITS, unusual_bytes=4 * 1_000)
    with pytest.raises(LimitError, match="is a report of more than 1,000 characters"):
        open_trace(path, limits=small)


def test_a_text_cut_in_a_frame_keeps_what_it_has(tmp_path: Path) -> None:
    cut = TEXT[: TEXT.index("[inlined]")]
    assert [thread.samples for thread in threads_of(read_text(tmp_path, cut))] == [0, 1, 1]
    assert [thread.samples for thread in threads_of(read_text(tmp_path, cut.encode("utf-16")))] == [0, 1, 1]


@pytest.mark.parametrize(
    "line",
    [
        "Process: a" + " " * 30_000 + "b",
        "Thread 1 name: " + " " * 30_000 + "Dispatch queue",
        "0   A   0x0000000000001000 f" + " (" * 15_000,
        "0   A   0x0000000000001000 f" + " + 1" * 8_000 + " x",
        "0   A" + " " * 30_000 + "B",
        "0x1 - 0x2 A" + " (" * 10_000,
        "Thread 1" + " A" * 15_000 + ":",
    ],
)
def test_long_lines_take_linear_time(tmp_path: Path, line: str) -> None:
    text = f"Exception Type: E\nBinary Images:\n{line}\n" * 20 + "Thread 0:\n0  A  0x0000000000001000 f + 1\n"
    began = time.process_time()
    read_text(tmp_path, text)
    assert time.process_time() - began < 3  # a quadratic search takes minutes


REAL_JSON = ("ips_SYM_AppleJson.ips", "ips_v2_hang_fixture.ips", "ips_v2_swift_forced_unwrap_fixture.ips")
REAL_TEXTS = ("ips_SYM_AppleDemo.ips", "apple_crash_anonymised_fixture.crash")


@pytest.mark.parametrize("name", REAL_JSON)
def test_real_json_reports_equal_their_own_lists(shared: Path, name: str) -> None:
    path = shared / "evidence" / "stack_dumps" / name
    body = json.loads(path.read_text().partition("\n")[2])
    images = [image.get("name", "") for image in body["usedImages"]]
    trace = open_trace(path)
    for thread, paused in zip(body["threads"], threads_of(trace), strict=True):
        expected = [(images[frame["imageIndex"]], frame.get("symbol")) for frame in thread["frames"]]
        shown = [(binary, symbol) for binary, symbol in paused.frames if binary]
        assert [
            (binary, symbol)
            for (binary, symbol), (_, given) in zip(paused.frames, expected, strict=True)
            if given
        ] == [pair for pair in expected if pair[1]]
        assert {binary for binary, _ in shown} <= set(images)
        assert paused.samples == 1
    places = {
        body["usedImages"][frame["imageIndex"]]["base"] + frame["imageOffset"]
        for thread in body["threads"]
        for frame in thread["frames"]
    }
    assert set(trace.stacks.frames["address"].tolist()) == places


@pytest.mark.parametrize("name", REAL_TEXTS)
def test_real_text_reports_equal_their_blocks(shared: Path, name: str) -> None:
    path = shared / "evidence" / "stack_dumps" / name
    text = path.read_text().partition("\nBinary Images:")[0]
    blocks = re.split(r"\n(?=Thread \d+(?: Crashed)?:\n)", text)[1:]
    trace = open_trace(path)
    counted = [paused for paused in threads_of(trace) if paused.samples]
    for block, paused in zip(blocks, counted, strict=True):
        rows = [line.split("\t") for line in block.splitlines() if "\t0x" in line]
        assert (paused.frames and len(paused.frames) == len(rows)) or not rows
        for (left, right), (binary, symbol) in zip(rows, paused.frames, strict=True):
            assert left.split(maxsplit=1)[1].strip() == binary
            described = right.split(" ", 1)[1]
            assert described.startswith(symbol) or symbol == f"0x{int(right.split()[0], 16):x}"
    assert sum("Crashed" in paused.state for paused in counted) == 1


def test_the_vendors_short_report_and_the_bare_thread(shared: Path) -> None:
    folder = shared / "evidence" / "stack_dumps"
    umeng = threads_of(open_trace(folder / "crash_text_SYM_Umeng.crash"))
    assert [(len(thread.frames), thread.frames[29]) for thread in umeng] == [(31, ("DemoApp", "main"))]
    bare = threads_of(open_trace(folder / "ips_excerpt_h11ane_thread.json"))
    assert bare[0].name == "Thread 0: H11ANEServicesThread"


def test_each_text_of_the_collection_is_read_by_the_reader_of_its_kind(shared: Path) -> None:
    kinds = {"ips": "ips", "crash": "crash-text", "apple": "crash-text", "lldb": "lldb", "symtab": None}
    for path in (shared / "evidence" / "stack_dumps").iterdir():
        recognised = identify_text(TextPlace(str(path), path.name))
        expected = kinds.get(path.name.partition("_")[0], path.name.partition("_")[0])
        assert (recognised[0].name if recognised else None) == expected, path.name


def test_stacks_of_the_collection_are_read_back_from_a_report(shared: Path, tmp_path: Path) -> None:
    stacks = [json.loads(line) for line in (shared / "stacks" / "stacks.jsonl").read_text().splitlines()]
    crashes = [stack for stack in stacks if stack["kind"] in ("crash", "hang")]
    lines = ["Exception Type:  EXC_CRASH (SIGABRT)"]
    for number, stack in enumerate(crashes):
        lines.append(f"\nThread {number}:: {stack['thread_name']}")
        for depth, frame in enumerate(stack["frames"]):
            binary = frame["binary"] or "App"
            lines.append(f"{depth:<4}{binary:<30}\t{0x100000000 + depth:#018x} {frame['symbol']} + 12")
    threads = threads_of(read_text(tmp_path, "\n".join(lines)))
    assert len(threads) == len(crashes) > 20
    for stack, thread in zip(crashes, threads, strict=True):
        assert thread.frames == [(frame["binary"] or "App", frame["symbol"]) for frame in stack["frames"]]
