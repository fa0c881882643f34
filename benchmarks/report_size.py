"""Measure the size of reports, and the time to write one after the analysis.

    python benchmarks/report_size.py [--out FILE.json] [--samples N] [--stacks N] [--windows N] [--threads N]

Prints a row without and one with ``--full``, beside the target. The recording is synthetic: a million samples
of 50,000 unique stacks on 30 threads, with 1,000 windows and the Neural Engine's intervals. A thread's stacks
follow one another at random, so they compress worse than those of a real recording.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tracekit import Analysis, analyze
from tracekit.model.columns import BINARIES, INTERVALS, SIGNPOSTS, THREADS, TRACKS
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace, TraceInfo
from tracekit.report.html.page import to_html

_PID = 7
_PERIOD_NS = 1_000_000
_JITTER_NS = 20_000
_FUNCTIONS = 8_000
_DEPTH = 40
_LARGEST = {"bins": 2_500_000, "full": 8_000_000}
_SLOWEST_SECONDS = 3.0
_ENDS = (
    (("AppKit", "-[NSView drawRect:]"),),
    (
        ("CoreML", "-[MLModel predictionFromFeatures:error:]"),
        ("ANEServices", "H11ANEProgramProcessRequestDirect"),
    ),
    (
        ("CoreML", "-[MLModel predictionFromFeatures:error:]"),
        ("Espresso", "Espresso::BNNSEngine::convolution_kernel::__launch"),
        ("libBNNS.dylib", "BNNSFilterApply"),
    ),
    (("libsystem_kernel.dylib", "mach_msg2_trap"),),
)
"""How stacks end, root first; what stands before is made up."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    for name, number in (("samples", 1_000_000), ("stacks", 50_000), ("windows", 1_000), ("threads", 30)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    trace = synthetic(options.samples, options.stacks, options.windows, options.threads)
    analysis = analyze(trace, windows="coreml")  # stacks alone would give one per sample or two
    print(
        f"{len(trace.samples):,} samples, {len(trace.stacks):,} stacks, {len(analysis.window_rows):,} windows"
    )
    print(f"{'kept':>6} {'bytes':>11} {'at most':>11} {'seconds':>8} {'at most':>8}")
    figures = [measure(analysis, mode) for mode in _LARGEST]
    for figure in figures:
        print(
            f"{figure['kept']:>6} {figure['size_bytes']:>11,} {_LARGEST[figure['kept']]:>11,}"
            f" {figure['seconds']:>8.2f} {_SLOWEST_SECONDS:>8.2f}"
        )
    if options.out:
        options.out.write_text(json.dumps({"report_size": figures}, indent=2) + "\n")


def measure(analysis: Analysis, mode: str) -> dict[str, Any]:
    """Return size and seconds of one report; the first writing counts, as it does for a user."""
    begun = time.perf_counter()
    text = to_html(analysis, full=mode == "full")
    seconds = time.perf_counter() - begun
    return {"kept": mode, "size_bytes": len(text.encode()), "seconds": seconds}


def synthetic(samples: int, stacks: int, windows: int, threads: int) -> Trace:
    """Return a trace of random samples; each thread has stacks of its own, some far more often."""
    dice = np.random.default_rng(1)
    table = _stacks(stacks, dice)
    length_ns = samples * _PERIOD_NS // max(threads // 4, 1)
    thread = dice.integers(0, threads, samples)
    popular = np.minimum((stacks // threads) * dice.random(samples) ** 3, stacks // threads - 1).astype(int)
    frame = pd.DataFrame(
        {
            "time_ns": _ticks(samples, length_ns, dice),
            "weight_ns": pd.array(np.full(samples, _PERIOD_NS), dtype="Int64"),
            "thread_id": thread.astype(np.int32),
            "core": np.full(samples, -1, np.int16),
            "state": pd.Categorical.from_codes(np.zeros(samples, int), ["Running"]),
            "stack_id": (popular * threads + thread).astype(np.int32),
        }
    )
    names = [f"com.example.worker-{number}" for number in range(threads)]
    rows = pd.DataFrame({"tid": range(1, threads + 1), "name": names, "pid": _PID, "process": "App"})
    return Trace(
        info=TraceInfo("synthetic", "xctrace-xml", pid=_PID, duration_ns=length_ns),
        samples=frame,
        stacks=table,
        threads=rows.astype(dict(THREADS.required)),
        intervals=_intervals(windows, length_ns, dice),
        signposts=SIGNPOSTS.empty(),
        counters=pd.DataFrame(index=frame.index),
        tracks=TRACKS.empty(),
        samples_source="time-profile",
    )


def _ticks(samples: int, length_ns: int, dice: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return times of a timer that fires once a period on every core, some microseconds early or late."""
    tick = dice.integers(0, length_ns // _PERIOD_NS, samples) * _PERIOD_NS
    return np.sort(np.clip(tick + dice.normal(0, _JITTER_NS, samples).astype(np.int64), 0, length_ns - 1))


def _intervals(windows: int, length_ns: int, dice: np.random.Generator) -> pd.DataFrame:
    """Return a prediction per window, each with an interval of the Neural Engine in it."""
    room = length_ns // max(windows, 1)
    starts = np.arange(windows) * room + dice.integers(0, room // 4, windows)
    ends = starts + dice.integers(room // 8, room // 2, windows)
    label = "Model_0a1b2c3d main Neural Engine Prediction"
    shared = {"model": "Model", "copy": "", "segment": "", "depth": 0, "command_buffer": -1}
    calls = {"engine": "RUNTIME", "phase": None, "label": "", "channel": "Prediction", "pid": _PID}
    work = {"engine": "ANE", "phase": "execute", "label": label, "channel": "Neural Engine", "pid": -1}
    parts = [
        pd.DataFrame({"start_ns": starts, "end_ns": ends, **shared, **calls, "source": "coreml-os-signpost"}),
        pd.DataFrame(
            {
                "start_ns": starts + 1_000,
                "end_ns": ends - 1_000,
                **shared,
                **work,
                "source": "ane-hw-intervals",
            }
        ),
    ]
    joined = pd.concat(parts, ignore_index=True).sort_values(["start_ns", "end_ns"], ignore_index=True)
    return INTERVALS.check(joined[list(INTERVALS.required)].astype(dict(INTERVALS.required)), "intervals")


def _stacks(count: int, dice: np.random.Generator) -> StackTable:
    """Return stacks that share their way from the root and differ near the leaf."""
    ends = list(dict.fromkeys(frame for end in _ENDS for frame in end))
    binaries = [*dict.fromkeys(binary for binary, _ in ends), *(f"Library{number}" for number in range(40))]
    symbols = [symbol for _, symbol in ends]
    symbols += [
        f"namespace{index % 97}::Class{index % 811}::function{index}(int)" for index in range(_FUNCTIONS)
    ]
    image = [binaries.index(binary) for binary, _ in ends]
    image += [len(binaries) - 1 - index % 40 for index in range(_FUNCTIONS)]
    trunks = dice.integers(0, _FUNCTIONS, (64, _DEPTH)) + len(ends)
    ways: list[list[int]] = []
    for number in range(count):
        trunk = trunks[number % 64][: int(dice.integers(5, _DEPTH))].tolist()
        branch = (dice.integers(0, _FUNCTIONS, int(dice.integers(1, 5))) + len(ends)).tolist()
        end = [ends.index(frame) for frame in _ENDS[number % len(_ENDS)]]
        ways.append([*trunk, *branch, *end][::-1])
    frames = pd.DataFrame(
        {
            "symbol": pd.Series(symbols, dtype="category"),
            "binary_id": np.array(image, np.int32),
            "address": np.arange(len(symbols), dtype=np.uint64),
            "source_file": pd.Series([""] * len(symbols), dtype="category"),
            "source_line": np.full(len(symbols), -1, np.int32),
            "inlined": np.zeros(len(symbols), bool),
        }
    )
    nowhere = {"path": "", "uuid": "", "arch": "", "load_address": 0}
    images = pd.DataFrame({"name": binaries, **nowhere}).astype(dict(BINARIES.required))
    offsets = np.cumsum([0, *map(len, ways)]).astype(np.int64)
    return StackTable(offsets, np.concatenate(ways).astype(np.int32), frames, images)


if __name__ == "__main__":
    main()
