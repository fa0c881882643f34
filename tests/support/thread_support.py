"""Traces without times for tests: threads as (name, frames, samples), as readers of texts make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tracekit.load import trace_of
from tracekit.model.trace import Trace, TraceInfo
from tracekit.parsers.text.stack_counts import StackCounts
from tracekit.parsers.text.text_recording import TextRecording, build_source


class Thread(NamedTuple):
    """A thread with samples of one stack; ``frames`` are (symbol, binary), leaf first."""

    name: str
    frames: Sequence[tuple[str, str]]
    samples: int = 1
    state: str = ""
    process: str = "MyApp"
    pid: int = 412


ON_ANE = (
    ("semaphore_wait_trap", "libsystem_kernel.dylib"),
    ("E5RT::Ops::AneInferenceOperation::ExecuteSync()", "Espresso"),
    ("-[MLModel predictionFromFeatures:error:]", "CoreML"),
    ("main", "MyApp"),
)
ON_CPU = (
    ("bnns::ConvolutionLayer::compute()", "libBNNS.dylib"),
    ("-[MLModel predictionFromFeatures:error:]", "CoreML"),
    ("main", "MyApp"),
)
SERVICE = (
    ("mach_msg2_trap", "libsystem_kernel.dylib"),
    ("H11ANE::H11ANEServicesThreadStart(H11ANE::H11ANEServicesThreadParams*)", "ANEServices"),
)
ELSEWHERE = (("__pthread_kill", "libsystem_kernel.dylib"), ("abort", "libsystem_c.dylib"), ("main", "MyApp"))
WITHOUT_SYMBOLS = (("0x18ce044e4", ""),)


def text_trace(*threads: Thread, name: str = "dump.txt", kind: str = "lldb") -> Trace:
    counts = StackCounts()
    for number, thread in enumerate(threads, start=1):
        row = counts.add_thread(number, thread.name, thread.pid, thread.process)
        frames = [counts.add_frame(symbol, counts.add_binary(binary)) for symbol, binary in thread.frames]
        counts.add_stack(row, frames, thread.samples, thread.state)
    processes = {(thread.process, thread.pid) for thread in threads}
    info = TraceInfo(name, kind)
    if len(processes) == 1:
        process, pid = processes.pop()
        info = TraceInfo(name, kind, process=process, pid=pid)
    return trace_of(build_source(name, kind, [TextRecording(info, (counts.build_table(),))]), None)


SAMPLE_TEXT = """Analysis of sampling MyApp (pid 412) every 1 millisecond
Process:         MyApp [412]
Date/Time:       2026-10-03 03:46:21.144 -0500
OS Version:      macOS 26.6.2 (25G83)
Report Version:  7
----

Call graph:
    500 Thread_101   DispatchQueue_1: com.apple.main-thread  (serial)
    + 500 main  (in MyApp) + 96  [0x103faa8bc]
    +   413 -[MLModel predictionFromFeatures:error:]  (in CoreML) + 8  [0x1a0000008]
    +   ! 413 E5RT::Ops::AneInferenceOperation::ExecuteSync()  (in Espresso) + 16  [0x1b0000010]
    +   !   413 semaphore_wait_trap  (in libsystem_kernel.dylib) + 8  [0x191000008]
    +   87 draw()  (in MyApp) + 12  [0x103faa900]
    500 Thread_102: worker
    + 500 __workq_kernreturn  (in libsystem_kernel.dylib) + 8  [0x191000108]

Total number in stack (recursive counted multiple, when >=5):

Sort by top of stack, same collapsed (when >= 5):
        __workq_kernreturn  (in libsystem_kernel.dylib)        500
"""
