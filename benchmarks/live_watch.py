"""``tracekit watch`` at 2,000 signposts a second: its share of a core, and its memory after a simulated day.

Where valgrind is installed, the instructions of a line are counted, too, which other programs do not change.

A second of the stream has 200 calls, each with four client intervals inside and a request's line. The day
has fewer calls, at moments all over it, with new processes, begins without ends, repeated and damaged lines:
everything that could grow with time has its chance.

Fails above 10 % of a core, above 50 MB, or if the second half of the day adds more than 5 % to the memory.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from start import HERE, count_python_instructions

from tracekit.live.stream_watch import StreamWatch
from tracekit.live.watch_summary import summarize_watch

CALLS_A_SECOND, LINES_A_CALL = 200, 11
MAX_SHARE, MAX_BYTES, MAX_GROWTH = 0.10, 50_000_000, 1.05
KEEP_BYTES = 24 << 20
_BLOCK_BYTES = 1 << 16
EPOCH_S = 1_795_860_000
DAY_S = 86_400
_ENTRY = {
    "traceID": 6194135293972484,
    "eventMessage": "",
    "source": None,
    "formatString": "%{public}s",
    "activityIdentifier": 0,
    "senderImageUUID": "9E2B2F1C-7B6C-3A09-A4BB-0A58D2F0B4C1",
    "backtrace": {"frames": [{"imageOffset": 12345, "imageUUID": "9E2B2F1C-7B6C-3A09-A4BB-0A58D2F0B4C1"}]},
    "bootUUID": "0B3F1D5E-5F1D-4C6E-9D0B-3B0C7A9A5E11",
    "senderImagePath": "/Applications/App.app/Contents/MacOS/App",
    "processImagePath": "/Applications/App.app/Contents/MacOS/App",
    "messageType": "Default",
    "processImageUUID": "9E2B2F1C-7B6C-3A09-A4BB-0A58D2F0B4C1",
    "senderProgramCounter": 12345,
    "parentActivityIdentifier": 0,
    "timezoneName": "",
}
SERVED = "-----> doEvaluate: ANEProgramProcessRequestDirect() status=0x0 : statusType=0x0 : qos=0x21"


def write_line(time_us: int, pid: int, **values: object) -> bytes:
    """Return an entry of the log at a time since ``EPOCH_S``."""
    seconds, fraction = divmod(time_us, 1_000_000)
    clock = f"{datetime.fromtimestamp(EPOCH_S + seconds, UTC):%Y-%m-%d %H:%M:%S}.{fraction:06}+0000"
    facts = {"timestamp": clock, "machTimestamp": time_us * 24, "processID": pid, "threadID": pid * 10}
    return json.dumps(_ENTRY | facts | values).encode() + b"\n"


def write_mark(time_us: int, pid: int, kind: str, name: str, number: int, subsystem: str) -> bytes:
    """Return a signpost."""
    return write_line(
        time_us,
        pid,
        eventType="signpostEvent",
        signpostType=kind,
        signpostName=name,
        signpostID=number,
        signpostScope="process",
        subsystem=subsystem,
        category="inference",
    )


def write_call(start_us: int, pid: int, number: int) -> list[bytes]:
    """Return a call of 4 ms: ten signposts and a request's line."""
    lines = [write_mark(start_us, pid, "begin", "encode", number, "com.example.app")]
    for part in range(4):
        for offset_us, kind in ((100, "begin"), (800, "end")):
            moment_us = start_us + part * 900 + offset_us
            lines.append(
                write_mark(moment_us, pid, kind, "_ANEF_MODEL_EVALUATE", number * 4 + part, "com.apple.ane")
            )
    served = {
        "eventType": "logEvent",
        "eventMessage": SERVED,
        "subsystem": "com.apple.ane",
        "category": "client",
    }
    lines.append(write_line(start_us + 3_800, pid, **served))
    lines.append(write_mark(start_us + 4_000, pid, "end", "encode", number, "com.example.app"))
    return lines


def write_second(second: int) -> bytes:
    """Return the lines of a second of the stream."""
    step_us = 1_000_000 // CALLS_A_SECOND
    numbers = range(second * CALLS_A_SECOND, (second + 1) * CALLS_A_SECOND)
    return b"".join(line for number in numbers for line in write_call(number * step_us, 812, number))


def feed(watch: StreamWatch, data: bytes) -> None:
    """Let a watch read a second of the stream, as it comes from a pipe, and show what it holds."""
    for start in range(0, len(data), _BLOCK_BYTES):
        for _ in watch.feed(data[start : start + _BLOCK_BYTES]):
            pass
    for _ in range(4):
        summarize_watch(watch)


def measure_speed(seconds: int) -> tuple[float, StreamWatch]:
    """Return the share of a core that the stream takes, with a summary four times a second."""
    watch = StreamWatch(["encode"], keep_bytes=KEEP_BYTES)
    used = 0.0
    for second in range(seconds):
        data = write_second(second)
        begin = time.process_time()
        feed(watch, data)
        used += time.process_time() - begin
    return used / seconds, watch


def measure_instructions(seconds: int) -> int:
    """Return the instructions of a line; those of a start, which vary by some per mille, need many lines."""
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for length in (1, 1 + seconds):
            path = Path(folder) / f"{length}.ndjson"
            path.write_bytes(b"".join(map(write_second, range(length))))
            counts.append(count_python_instructions(HERE, str(Path(__file__).resolve()), "--feed", str(path)))
    return round((counts[1] - counts[0]) / (seconds * CALLS_A_SECOND * LINES_A_CALL))


def iter_day(calls: int) -> Iterator[bytes]:
    """Yield the lines of a day with so many calls."""
    for number in range(calls):
        time_us = number * DAY_S * 1_000_000 // calls
        pid = 812 + number // 20  # an app that is started again and again
        lines = write_call(time_us, pid, number)
        if number % 10 == 0:
            lines.append(
                write_mark(time_us + 4_500, pid, "begin", f"lost {number}", number, "com.example.app")
            )
            lines.append(b'{"signpostName": "cut off')
            lines.append(lines[0])
        yield b"".join(lines)


def measure_memory(calls: int) -> tuple[int, int]:
    """Return the bytes that a watch holds after half of a day, and after the day."""
    halves = []
    tracemalloc.start()
    watch = StreamWatch(["encode"], keep_bytes=KEEP_BYTES)
    before, _ = tracemalloc.get_traced_memory()
    for number, data in enumerate(iter_day(calls), 1):
        for _ in watch.feed(data):
            pass
        if number in (calls // 2, calls):
            halves.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    return halves[0], halves[1]


def main() -> None:
    """Measure, print, and fail above the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--out", dest="output", type=Path, help="write the figures as JSON, too")
    parser.add_argument("--feed", type=Path, help="only read a saved stream, while instructions are counted")
    options = parser.parse_args()
    if options.feed:
        feed(StreamWatch(["encode"], keep_bytes=KEEP_BYTES), options.feed.read_bytes())
        return
    share, watch = measure_speed(options.seconds)
    half_bytes, day_bytes = measure_memory(options.calls)
    figures = {
        "share of a core": round(share, 4),
        **({"instructions of a line": measure_instructions(10)} if shutil.which("valgrind") else {}),
        "calls": watch.counts.calls,
        "bytes after half a day": half_bytes,
        "bytes after a day": day_bytes,
    }
    print(json.dumps(figures, indent=2))
    if options.output:
        options.output.write_text(json.dumps(figures) + "\n")
    if share > MAX_SHARE or day_bytes > MAX_BYTES or day_bytes > half_bytes * MAX_GROWTH:
        sys.exit("watch takes more than it may")


if __name__ == "__main__":
    main()
