"""What does not matter changes no finding: the clock's start, other threads, split samples, a process' name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit import Analysis, analyze
from tracekit.load import open_trace
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, Engine

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RECORDINGS = (
    "ane-intervals-macos26",
    "concurrent-models-ios27",
    "counters-bnns-macos15",
    "failing-requests-macos27",
    "fallback-midway-ios27",
    "foundation-models-macos27",
    "text-addresses-ios16",
)
FRAMES = ("samples", "intervals", "signposts", "engine_log", "tracks", "thread_states", "metrics")
Change = Callable[[str, int], Trace]


@cache
def recorded(recording: str) -> Trace:
    return open_trace(SAMPLES / recording)


@cache
def analyzed(recording: str) -> Analysis:
    return analyze(recorded(recording))


def kinds(analysis: Analysis) -> list[tuple[str, str]]:
    """Return the findings' kinds and models in the order of their rank."""
    return [(finding.kind, finding.model) for finding in analysis.findings]


def later(recording: str, number: int) -> Trace:
    """Return a recording whose clock starts earlier: everything happens later by up to a second."""
    trace = recorded(recording)
    shift_ns = number * 1_000_003
    shifted = {}
    for name in FRAMES:
        frame = getattr(trace, name)
        columns = [column for column in ("time_ns", "start_ns", "end_ns") if column in frame.columns]
        shifted[name] = frame.assign(**{column: frame[column] + shift_ns for column in columns})
    duration_ns = trace.info.duration_ns
    info = replace(trace.info, duration_ns=None if duration_ns is None else duration_ns + shift_ns)
    return replace(trace, info=info, **shifted)


def with_threads(recording: str, number: int) -> Trace:
    """Return a recording in which another thread did work that has nothing to do with a model."""
    trace, labels = recorded(recording), analyzed(recording).labels.engine
    is_plain = np.isin(labels, [ENGINE_CODE[Engine.OTHER], ENGINE_CODE[Engine.UNKNOWN]])
    is_plain &= (trace.samples["stack_id"] >= 0).to_numpy(bool)
    rows = np.flatnonzero(is_plain)[:: number % 7 + 1]
    thread = len(trace.threads)
    pid, process = trace.threads.loc[0, ["pid", "process"]]
    added = pd.DataFrame({"tid": [990_000 + number], "name": ["Other"], "pid": [pid], "process": [process]})
    return with_samples(
        replace(
            trace, threads=pd.concat([trace.threads, added.astype(trace.threads.dtypes)], ignore_index=True)
        ),
        trace.samples.iloc[rows].assign(thread_id=np.int32(thread)),
        rows,
    )


def split(recording: str, number: int) -> Trace:
    """Return a recording in which some samples are two, each with half of the weight."""
    trace = recorded(recording)
    column = "weight_ns" if trace.weight_unit == "ns" else trace.weight_unit
    rows = np.arange(number % 31, len(trace.samples), 31)
    halves = trace.samples[column].copy()
    halves.iloc[rows] = trace.samples[column].iloc[rows] // 2
    second = trace.samples.iloc[rows].assign(**{column: (trace.samples[column] - halves).iloc[rows]})
    return with_samples(replace(trace, samples=trace.samples.assign(**{column: halves})), second, rows)


def with_samples(trace: Trace, added: pd.DataFrame, rows: np.ndarray) -> Trace:
    """Return a recording with more samples; counters are those of the rows that they repeat, or nothing."""
    samples = pd.concat([trace.samples, added], ignore_index=True)
    counters = pd.concat([trace.counters, trace.counters.iloc[rows] * 0], ignore_index=True)
    order = np.argsort(samples["time_ns"].to_numpy(), kind="stable")
    return replace(
        trace,
        samples=samples.iloc[order].reset_index(drop=True),
        counters=counters.iloc[order].reset_index(drop=True),
    )


def renamed(recording: str, number: int) -> Trace:
    trace, name = recorded(recording), f"App {number}"
    return replace(trace, info=replace(trace.info, process=name), threads=trace.threads.assign(process=name))


@settings(max_examples=12)
@given(
    recording=st.sampled_from(RECORDINGS),
    change=st.sampled_from([later, with_threads, split, renamed]),
    number=st.integers(1, 999),
)
def test_what_does_not_matter_changes_no_finding(recording: str, change: Change, number: int) -> None:
    assert kinds(analyze(change(recording, number))) == kinds(analyzed(recording))


def test_the_recordings_have_findings_of_many_kinds() -> None:
    assert len({kind for recording in RECORDINGS for kind, _ in kinds(analyzed(recording))}) >= 8
