"""The sample recordings, each read and analyzed once in a process of the tests that only look at it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import tracekit
from tracekit import Analysis, Trace
from tracekit.analysis.windows.choose import WindowSource

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RECORDINGS = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))


@cache
def sample_trace(name: str) -> Trace:
    return tracekit.open_trace(SAMPLES / name)


@cache
def sample_analysis(name: str, windows: WindowSource = "auto") -> Analysis:
    return tracekit.analyze(sample_trace(name), windows=windows)
