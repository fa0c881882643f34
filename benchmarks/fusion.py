"""Measure the fusion of evidence of one run: attribution, transitions, times and counters.

    python benchmarks/fusion.py [--out FILE.json]

Prints seconds per size, the best of three. The first row is the reference; each other row has one thing
doubled, so its ratio says how the cost grows with that thing. Reading and classification are not part of it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from tracekit.analysis.classification.rule_set import load_rules
from tracekit.analysis.classification.sample_labels import SampleLabels, label_samples
from tracekit.analysis.engines.assignment import assign_samples
from tracekit.analysis.engines.attribution import attribute
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.counters import count_events
from tracekit.analysis.engines.segments import Timeline
from tracekit.analysis.engines.waiting import Waiting
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.analysis.windows.table_windows import build_core_ml_windows
from tracekit.analysis.windows.window import build_window_frame
from tracekit.model.columns import BINARIES, INTERVALS, SIGNPOSTS, THREADS, TRACKS
from tracekit.model.tables import StackTable
from tracekit.model.trace import Trace, TraceInfo

_PID = 7
_THREADS = 8
_PERIOD_NS = 1_000_000
_STACKS = (
    (("AppKit", "-[NSView drawRect:]"),),
    (("CoreML", "-[MLModel predictionFromFeatures:error:]"),),
    (
        ("ANEServices", "H11ANEProgramProcessRequestDirect"),
        ("CoreML", "-[MLModel predictionFromFeatures:error:]"),
    ),
    (
        ("libBNNS.dylib", "BNNSFilterApply"),
        ("Espresso", "Espresso::BNNSEngine::convolution_kernel::__launch"),
    ),
    (("Espresso", "E5RT::Ops::AneInferenceOperation::ExecuteSync()"),),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    out = parser.parse_args().out
    sizes = [
        (1_000_000, 100_000, 10_000),
        (2_000_000, 100_000, 10_000),
        (1_000_000, 200_000, 10_000),
        (1_000_000, 100_000, 20_000),
    ]
    figures = []
    print(f"{'samples':>10} {'intervals':>10} {'windows':>8} {'seconds':>8} {'ratio':>6}")
    for samples, intervals, windows in sizes:
        trace = synthetic(samples, intervals, windows)
        labels = label_samples(trace, load_rules(None))
        seconds = min(fuse(trace, labels) for _ in range(3))
        ratio = seconds / (figures[0]["seconds"] if figures else seconds)
        figures.append(
            {
                "samples": samples,
                "intervals": intervals,
                "windows": windows,
                "seconds": seconds,
                "ratio": ratio,
            }
        )
        print(f"{samples:>10,} {intervals:>10,} {windows:>8,} {seconds:>8.2f} {ratio:>6.2f}")
    if out:
        out.write_text(json.dumps({"fusion": figures}, indent=2) + "\n")


def fuse(trace: Trace, labels: SampleLabels) -> float:
    """Return the seconds that one fusion took."""
    pids = frozenset([_PID])
    windows = build_window_frame(build_core_ml_windows(trace, pids))
    begun = time.perf_counter()
    members = assign_samples(trace, labels, windows)
    submitters = Submitters(trace, labels, members)
    measured = Measured(trace, pids, windows, submitters, np.zeros(len(windows), np.int64))
    waiting = Waiting(trace, labels)
    attribute(trace, labels, members, windows, measured, waiting)
    timeline = Timeline(trace, labels, members, windows, measured, waiting)
    timeline.times()
    timeline.segments().frame()
    count_events(trace, labels, members)
    return time.perf_counter() - begun


def synthetic(samples: int, intervals: int, windows: int) -> Trace:
    """Return a trace of random samples, ANE and GPU intervals, and as many Core ML predictions as windows."""
    dice = np.random.default_rng(1)
    length_ns = samples * _PERIOD_NS // 2
    frame = pd.DataFrame(
        {
            "time_ns": np.sort(dice.integers(0, length_ns, samples)),
            "weight_ns": pd.array(np.full(samples, _PERIOD_NS), dtype="Int64"),
            "thread_id": dice.integers(0, _THREADS, samples).astype(np.int32),
            "core": np.full(samples, -1, np.int16),
            "state": pd.Categorical.from_codes(np.zeros(samples, int), ["Running"]),
            "stack_id": dice.integers(0, len(_STACKS), samples).astype(np.int32),
        }
    )
    starts = np.sort(dice.integers(0, length_ns, windows))
    ends = np.minimum(
        starts + dice.integers(1, length_ns // windows, windows), np.append(starts[1:], length_ns)
    )
    half = intervals // 2
    ane, gpu = (dice.integers(0, length_ns, half) for _ in range(2))
    label = "Model_0a1b2c3d main Neural Engine Prediction"
    rows = [
        _rows(ane, ane + dice.integers(1, 2_000_000, half), "ANE", "execute", label, "ane-hw-intervals", -1),
        _rows(
            gpu,
            gpu + dice.integers(1, 2_000_000, half),
            "GPU",
            "execute",
            "MPSGraph",
            "metal-gpu-intervals",
            _PID,
        ),
        _rows(starts, ends, "RUNTIME", None, "", "coreml-os-signpost", _PID),
    ]
    joined = pd.concat(rows, ignore_index=True).astype(dict(INTERVALS.required))
    names = [f"thread {number}" for number in range(_THREADS)]
    threads = pd.DataFrame({"tid": range(1, _THREADS + 1), "name": names, "pid": _PID, "process": "App"})
    return Trace(
        info=TraceInfo("synthetic", "xctrace-xml", pid=_PID),
        samples=frame,
        stacks=_stacks(),
        threads=threads.astype(dict(THREADS.required)),
        intervals=INTERVALS.check(joined.sort_values(["start_ns", "end_ns"], ignore_index=True), "intervals"),
        signposts=SIGNPOSTS.empty(),
        counters=pd.DataFrame({name: np.ones(samples, np.int64) for name in ("cycles", "instructions")}),
        tracks=TRACKS.empty(),
        samples_source="time-profile",
    )


def _rows(
    starts: np.ndarray, ends: np.ndarray, engine: str, phase: str | None, label: str, source: str, pid: int
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start_ns": starts,
            "end_ns": ends,
            "engine": engine,
            "phase": phase,
            "label": label,
            "model": "Model",
            "channel": "Prediction",
            "pid": pid,
            "source": source,
            "depth": 0,
            "copy": "",
            "segment": "",
            "command_buffer": -1,
        }
    )


def _stacks() -> StackTable:
    frames = list(dict.fromkeys(frame for stack in _STACKS for frame in stack))
    binaries = list(dict.fromkeys(binary for binary, _ in frames))
    table = pd.DataFrame(
        {
            "symbol": pd.Series([symbol for _, symbol in frames], dtype="category"),
            "binary_id": np.array([binaries.index(binary) for binary, _ in frames], np.int32),
            "address": np.arange(len(frames), dtype=np.uint64),
            "source_file": pd.Series([""] * len(frames), dtype="category"),
            "source_line": np.full(len(frames), -1, np.int32),
            "inlined": np.zeros(len(frames), bool),
        }
    )
    nowhere = {"path": "", "uuid": "", "arch": "", "load_address": 0}
    images = pd.DataFrame({"name": binaries, **nowhere}).astype(dict(BINARIES.required))
    offsets = np.cumsum([0, *(len(stack) for stack in _STACKS)]).astype(np.int64)
    ids = np.array([frames.index(frame) for stack in _STACKS for frame in stack], np.int32)
    return StackTable(offsets, ids, table, images)


if __name__ == "__main__":
    main()
