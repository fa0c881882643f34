"""Threads of a paused program as the tests compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tracekit.load import open_trace
from tracekit.model.trace import Trace


class Paused(NamedTuple):
    """One thread of a trace: its frames are pairs of binary and symbol, leaf first."""

    name: str
    state: str
    samples: int
    frames: list[tuple[str, str]]


def threads_of(trace: Trace) -> list[Paused]:
    """Return each row of counted stacks with its thread, in order."""
    binaries = [*trace.stacks.binaries["name"], ""]
    frames = trace.stacks.frames
    names = [
        (binaries[binary], str(symbol))
        for binary, symbol in zip(frames["binary_id"], frames["symbol"], strict=True)
    ]
    rows: list[dict[Any, Any]] = trace.samples.to_dict("records")
    paused = []
    for row in rows:
        offsets, stack = trace.stacks.offsets, row["stack_id"]
        ids = trace.stacks.frame_ids[offsets[stack] : offsets[stack + 1]] if stack >= 0 else []
        state = row["state"] if isinstance(row["state"], str) else ""
        name = str(trace.threads["name"].iloc[row["thread_id"]])
        paused.append(Paused(name, state, int(row["samples"]), [names[frame] for frame in ids]))
    return paused


def read_text(folder: Path, text: str | bytes, run: int | None = None) -> Trace:
    """Return the trace of a text in a file without an extension."""
    path = folder / "text"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_trace(path, run)
