"""Texts of other tools as traces, and the stacks of a trace in a form that a test can spell out."""

from __future__ import annotations

from pathlib import Path

from tracekit.detect import open_source
from tracekit.load import trace_of
from tracekit.model.trace import Trace

EVIDENCE = Path(__file__).resolve().parents[3] / "shared" / "evidence"


def traces_of(path: Path) -> list[Trace]:
    """Return every run of a file."""
    source = open_source(path)
    return [trace_of(source, run.info.run) for run in source.toc()]


def trace_of_text(folder: Path, text: str | bytes) -> Trace:
    """Return the only run of a text."""
    path = folder / "report.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (trace,) = traces_of(path)
    return trace


def stack_of(trace: Trace, stack_id: int) -> tuple[str, ...]:
    """Return a stack's symbols, root first; none for -1."""
    stacks = trace.stacks
    if stack_id < 0:
        return ()
    frames = stacks.frame_ids[stacks.offsets[stack_id] : stacks.offsets[stack_id + 1]][::-1]
    return tuple(str(stacks.frames["symbol"].iloc[frame]) for frame in frames)


def counted(trace: Trace) -> list[tuple[int, tuple[str, ...]]]:
    """Return each row's samples and stack, root first."""
    return [(int(row.samples), stack_of(trace, int(row.stack_id))) for row in trace.samples.itertuples()]


def per_thread(trace: Trace) -> dict[tuple[int, str], int]:
    """Return the samples of each thread, by its number and name."""
    totals: dict[tuple[int, str], int] = {}
    for row in trace.samples.itertuples():
        thread = trace.threads.iloc[row.thread_id]
        key = (int(thread["tid"]), str(thread["name"]))
        totals[key] = totals.get(key, 0) + int(row.samples)
    return totals


def codes(trace: Trace) -> set[str]:
    """Return the codes of the issues, without the remark that waiting threads count."""
    return {issue.code for issue in trace.issues} - {"waiting-threads"}
