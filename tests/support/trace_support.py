"""A trace from literal samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracekit.model.columns import BINARIES, INTERVALS, SIGNPOSTS, THREADS, TRACKS
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace, TraceInfo, WeightUnit

MS = 1_000_000

# Stacks, leaf first, "binary | symbol".
CALL = ("CoreML | -[MLModel predictionFromFeatures:error:]", "App | main")
ANE = (
    "ANEServices | H11ANEProgramProcessRequestDirect",
    "Espresso | Espresso::ANERuntimeEngine::compiler::__forward_segment(int)",
    *CALL,
)
ANE_WAIT = ("libsystem_kernel.dylib | semaphore_wait_trap", *ANE)
BNNS = (
    "libBNNS.dylib | BNNSFilterApply",
    "Espresso | Espresso::BNNSEngine::convolution_kernel::__launch",
    *CALL,
)
RUNTIME = ("Espresso | Espresso::net::__forward(int)", *CALL)
E5_WORKER = (
    "Espresso | E5RT::Ops::AneInferenceOperation::ExecuteSync()",
    "Espresso | E5RT::AsyncTask::SafeExecuteTask()",
    "libdispatch.dylib | _dispatch_worker_thread2",
)
E5_CPU = ("Espresso | E5RT::Ops::BnnsCpuInferenceOperation::ExecuteSync()", *E5_WORKER[1:])
LOAD = ("CoreML | +[MLLoader loadModelFromAssetAtURL:configuration:error:]", "App | main")
UI = ("AppKit | -[NSView drawRect:]", "App | main")

Sample = tuple[float, str, tuple[str, ...] | None] | tuple[float, str, tuple[str, ...] | None, int]


def trace_of(
    samples: Sequence[Sample],
    unit: WeightUnit = "ns",
    processes: dict[str, int] | None = None,
    state: str = "Running",
) -> Trace:
    """Samples are (time in ms, thread, stack, weight = 1 ms); ``processes`` gives threads another pid than 7."""
    ordered = sorted(samples, key=lambda sample: sample[0])
    threads = list(dict.fromkeys(sample[1] for sample in ordered))
    stacks = list(dict.fromkeys(sample[2] for sample in ordered if sample[2] is not None))
    weights = np.array([sample[3] if len(sample) > 3 else MS for sample in ordered], np.int64)  # type: ignore[misc]
    pids = [(processes or {}).get(name, 7) for name in threads]
    frame = pd.DataFrame(
        {
            "time_ns": np.array([round(sample[0] * MS) for sample in ordered], np.int64),
            "weight_ns": pd.arrays.IntegerArray(weights.copy(), np.full(len(ordered), unit != "ns")),
            "thread_id": np.array([threads.index(sample[1]) for sample in ordered], np.int32),
            "core": np.full(len(ordered), -1, np.int16),
            "state": pd.Categorical([state] * len(ordered)),
            "stack_id": np.array([-1 if s[2] is None else stacks.index(s[2]) for s in ordered], np.int32),
        }
    )
    if unit != "ns":
        frame[unit] = weights
    return Trace(
        info=TraceInfo("literal", "xctrace-xml"),
        samples=frame,
        stacks=stack_table(stacks),
        threads=pd.DataFrame(
            {
                "tid": range(1, len(threads) + 1),
                "name": threads,
                "pid": pids,
                "process": [f"App{p}" for p in pids],
            }
        ).astype(dict(THREADS.required)),
        intervals=INTERVALS.empty(),
        signposts=SIGNPOSTS.empty(),
        counters=pd.DataFrame(index=frame.index),
        tracks=TRACKS.empty(),
        weight_unit=unit,
        samples_source="time-profile",
    )


def stack_table(stacks: Sequence[tuple[str, ...]]) -> StackTable:
    frames = list(dict.fromkeys(frame for stack in stacks for frame in stack))
    named = [frame.split(" | ") for frame in frames]
    binaries = list(dict.fromkeys(binary for binary, _ in named))
    offsets = np.cumsum([0, *(len(stack) for stack in stacks)]).astype(np.int64)
    return StackTable(
        offsets,
        np.array([frames.index(frame) for stack in stacks for frame in stack], np.int32),
        pd.DataFrame(
            {
                "symbol": pd.Series([symbol for _, symbol in named], dtype="category"),
                "binary_id": np.array([binaries.index(binary) for binary, _ in named], np.int32),
                "address": np.arange(len(named), dtype=np.uint64),
                "source_file": pd.Series([""] * len(named), dtype="category"),
                "source_line": np.full(len(named), -1, np.int32),
                "inlined": np.zeros(len(named), bool),
            }
        ),
        pd.DataFrame(
            {
                "name": binaries,
                "path": "",
                "uuid": "",
                "arch": "",
                "load_address": np.zeros(len(binaries), np.uint64),
            }
        ).astype(dict(BINARIES.required)),
    )
