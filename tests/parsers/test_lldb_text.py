"""Backtraces of lldb and Xcode's console: every thread of a pause is one sample of its stack."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from pause_support import Paused, read_text, threads_of

from tracekit.errors import InputError
from tracekit.load import open_trace

NEW = """\
Process 4242 launched: '/tmp/My App' (arm64)
Process 4242 stopped
* thread #1, queue = 'com.apple.main-thread', stop reason = signal SIGSTOP
  * frame #0: 0x00000001cf9e17bc libsystem_kernel.dylib`__ulock_wait + 8
    frame #1: 0x0000000100003f24 My App`-[Model run:](self=0x0000, _cmd="run:", x=nil) at Model.m:14:9 [opt]
    frame #2: 0x0000000100003f28 My App`main [inlined] net::Layer::run(this=0x0, v="ANECompiler`") + 4 at a b.cpp:3:7 [opt] [inlined]
->  14 \tint main() {
  thread #2, name = 'H11ANEServicesThread'
    frame #0: 0x000000018d5d2634 libsystem_kernel.dylib`mach_msg2_trap + 8
(lldb) image list
[  0] 42FD89F7-30BE-3AC5-A40A-4C1A99438DFB 0x0000000100000000 /tmp/My App
"""


def test_the_new_form(tmp_path: Path) -> None:
    trace = read_text(tmp_path, NEW.replace("\n", "\r\n"))
    assert (trace.info.process, trace.info.pid, trace.info.end_reason) == ("My App", 4242, "signal SIGSTOP")
    assert threads_of(trace) == [
        Paused(
            "Thread 1: queue com.apple.main-thread",
            "",
            1,
            [
                ("libsystem_kernel.dylib", "__ulock_wait"),
                ("My App", "-[Model run:]"),
                ("My App", "net::Layer::run"),
            ],
        ),
        Paused("Thread 2: H11ANEServicesThread", "", 1, [("libsystem_kernel.dylib", "mach_msg2_trap")]),
    ]
    places = trace.stacks.frames[["source_file", "source_line", "inlined"]].to_numpy().tolist()
    assert places[1:3] == [["Model.m", 14, False], ["a b.cpp", 3, True]]
    app = trace.stacks.binaries.set_index("name").loc["My App"]
    assert app.tolist() == ["/tmp/My App", "42FD89F7-30BE-3AC5-A40A-4C1A99438DFB", "arm64", 0x100000000]


@pytest.mark.parametrize(
    ("line", "binary", "symbol"),
    [
        ("  * frame #0: 0x0000000100 a.out`foo + 12", "a.out", "foo"),
        (
            "frame #10: AppleNeuralEngine`-[_ANEClient evaluateWithModel:] + 12",
            "AppleNeuralEngine",
            "-[_ANEClient evaluateWithModel:]",
        ),
        ("    frame #3: 0x00000001 libx.dylib", "libx.dylib", "0x1"),
        ("    frame #3: 0x00000001", "", "0x1"),
        (
            "    frame #3: 0x01 S`closure #1 (a: Swift.Int) -> () in Foo.bar() + 4 at F.swift:3",
            "S",
            "closure #1 (a: Swift.Int) -> () in Foo.bar()",
        ),
        ("    frame #3: 0x01 S`operator()(int) const + 4", "S", "operator()(int) const"),
        ("    frame #3: 0x01 B`___lldb_unnamed_symbol12$$B + 4", "B", "___lldb_unnamed_symbol12$$B"),
        ("#4\t0x0000000184e8e3e8 in mach_msg2_trap ()", "", "mach_msg2_trap"),
        ("#4  0x0000000184e8e3e8 in main at /tmp/a.swift:12", "", "main"),
    ],
)
def test_forms_of_frames(tmp_path: Path, line: str, binary: str, symbol: str) -> None:
    trace = read_text(tmp_path, f"{line}\n")
    assert [thread.frames[-1] for thread in threads_of(trace)] == [(binary, symbol)]


@pytest.mark.parametrize(
    ("line", "name", "tid"),
    [
        (
            "* thread #5: tid = 0x2dc0bd, 0x0001 a`b + 18, name = 'w', queue = 'q', stop reason = EXC",
            "Thread 5: w, queue q",
            0x2DC0BD,
        ),
        ("  thread #7: tid = 12, 0x0001 a`b at x.c:3, activity = 'x', 3 messages", "Thread 7", 12),
        ("thread #8", "Thread 8", -1),
        (
            "Thread 3 Queue : com.apple.root.default-qos (concurrent)",
            "Thread 3: queue com.apple.root.default-qos",
            -1,
        ),
        (
            "Thread 9 com.apple.uikit.eventfetch-thread (1234)",
            "Thread 9: com.apple.uikit.eventfetch-thread",
            -1,
        ),
    ],
)
def test_lines_of_threads(tmp_path: Path, line: str, name: str, tid: int) -> None:
    trace = read_text(tmp_path, f"(lldb) bt all\n{line}\n")
    assert (trace.threads["name"].tolist(), trace.threads["tid"].tolist()) == ([name], [tid])
    leaf = [("a", "b")] if "a`b" in line else []
    assert [(thread.samples, thread.frames) for thread in threads_of(trace)] == [(1, leaf)]


PAUSE = (
    "thread #1, name = 'a'\n  frame #0: 0x01 B`f\n  frame #1: 0x02 B`g\nthread #2\n  frame #0: 0x05 B`idle\n"
)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (PAUSE, [1, 1]),
        (
            PAUSE + "(lldb) bt\n* thread #1\n  frame #0: 0x01 B`f\n  frame #1: 0x02 B`g\n" + PAUSE,
            [1, 1],
        ),  # printed again
        ("thread #1: tid = 9, 0x01 B`f\n" + PAUSE, [1, 1]),  # thread list
        (PAUSE + "(lldb) continue\n" + PAUSE, [2, 2]),
        (PAUSE + "Process 7 resuming\n" + PAUSE, [2, 2]),
        (PAUSE + PAUSE.replace("0x01", "0x03"), [1, 2, 1]),  # it moved on, so it ran
    ],
)
def test_a_thread_counts_once_in_each_pause(tmp_path: Path, text: str, counts: list[int]) -> None:
    assert [thread.samples for thread in threads_of(read_text(tmp_path, text))] == counts


def test_a_number_is_the_same_thread_whatever_its_lines_state(tmp_path: Path) -> None:
    text = "thread #1: tid = 9, 0x01 B`f\n(lldb) c\n" + PAUSE
    trace = read_text(tmp_path, text)
    assert trace.threads[["tid", "name"]].to_numpy().tolist() == [[9, "Thread 1: a"], [-1, "Thread 2"]]


def test_excerpts_without_a_threads_line(tmp_path: Path) -> None:
    text = "frame #4: 0x01 B`f\nframe #5: 0x02 B`g\n\nframe #0: 0x01 B`h\n"
    threads = threads_of(read_text(tmp_path, text))
    assert [(thread.name, len(thread.frames)) for thread in threads] == [
        ("Backtrace 1", 3),
        ("Backtrace 2", 1),
    ]
    assert threads[0].frames[0] == ("", "(callees missing)")


def test_frames_that_were_cut_out_are_one_frame(tmp_path: Path) -> None:
    text = "thread #1\n  frame #0: 0x01 B`f\n  frame #1: 0x02 B`g\n  ...\n  frame #9: 0x03 B`main\n"
    trace = read_text(tmp_path, text)
    names = [symbol for _, symbol in threads_of(trace)[0].frames]
    assert names == ["f", "g", "(callers missing)", "main"]
    assert [issue.message for issue in trace.issues if issue.code == "callers-missing"] == [
        "places in stacks where the text leaves frames out: 1"
    ]


def test_another_process_is_another_run(tmp_path: Path) -> None:
    text = NEW + NEW.replace("4242", "4243")
    assert [read_text(tmp_path, text, run).info.pid for run in (1, 2)] == [4242, 4243]


def test_a_text_of_lldb_without_a_backtrace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a text of lldb without a backtrace\. Pause the program"):
        read_text(tmp_path, "(lldb) image dump symtab Espresso\n[    0]  1 Code 0x1 f\n")


@pytest.mark.parametrize(
    "line",
    [
        "Thread 1" + " Queue : a" * 3_000 + "x(",
        "#0  0x0000000184e8e3e8 in " + "a at b:" * 4_000,
        "[  0] 42FD89F7-30BE-3AC5-A40A-4C1A99438DFB 0x0000000100000000 /a" + " " * 30_000 + "b",
        "frame #0: 0x01 A`" + "f(a(" * 7_000,
        "frame #0: 0x01 A`f" + " at x" * 6_000 + " [opt" * 10,
        "thread #1: tid = 0x1, 0x01 " + "a, " * 10_000,
        "thread #1, " + "name = '" * 4_000,
    ],
)
def test_long_lines_take_linear_time(tmp_path: Path, line: str) -> None:
    began = time.process_time()
    read_text(tmp_path, "(lldb) bt\n" + f"{line}\n" * 20 + "frame #0: 0x01 A`f\n")
    assert time.process_time() - began < 3  # a quadratic search takes minutes


def test_the_real_text(shared: Path) -> None:
    trace = open_trace(shared / "evidence" / "stack_dumps" / "lldb_bt_all_core_ld_excerpt.txt")
    assert threads_of(trace) == [
        Paused("Thread 1", "", 1, [("libsystem_c.dylib", "__cxa_finalize_ranges")]),
        Paused(
            "Thread 2",
            "",
            1,
            [
                ("libsystem_kernel.dylib", "close"),
                ("ld", "Snapshot::createSnapshot()"),
                ("ld", "__assert_rtn"),
                ("ld", "ld::tool::InputFiles::parseWorkerThread()"),
                ("libsystem_pthread.dylib", "_pthread_body"),
            ],
        ),
    ]


def test_stacks_of_the_collection_are_read_back(shared: Path, tmp_path: Path) -> None:
    stacks = [json.loads(line) for line in (shared / "stacks" / "stacks.jsonl").read_text().splitlines()]
    paused = [stack for stack in stacks if stack["kind"] == "lldb"]
    lines = []
    for number, stack in enumerate(paused):
        lines.append(f"  thread #{number}, queue = '{stack['queue']}'")
        for depth, frame in enumerate(stack["frames"]):
            lines.append(f"    frame #{depth}: {depth + 1:#018x} {frame['binary']}`{frame['symbol']} + 8")
    threads = threads_of(read_text(tmp_path, "\n".join(lines)))
    assert len(threads) == len(paused) > 5
    for stack, thread in zip(paused, threads, strict=True):
        names = [re.sub(r"\(\w+=.*", "", frame["symbol"]) for frame in stack["frames"]]  # no values
        assert thread.frames == [
            (frame["binary"], name) for frame, name in zip(stack["frames"], names, strict=True)
        ]
