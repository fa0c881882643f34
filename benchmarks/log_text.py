"""Measure the reading of a long log, as a whole command.

    python benchmarks/log_text.py [--megabytes 100] [--out FILE.json]

Writes a log of ``log show`` in the default style, as JSON lines and as a JSON array, in which one line in
2,000 concerns the Neural Engine, and one of which every line does. Prints the CPU seconds and the MB/s of
``tracekit analyze`` for each, with the start of the program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_UNRELATED = (
    "(Security) [com.apple.securityd:trust] cert[0]: AnchorTrusted =(leaf)[force]> 0",
    "(CoreFoundation) [com.apple.defaults:User Defaults] found no value for key AppleLanguages",
    "(libxpc.dylib) [com.apple.xpc:connection] [0x600003a1c0f0] activating connection: mach=true",
    "(RunningBoardServices) [com.apple.runningboard:connection] Identity resolved as app<com.example>",
)
_RELATED = (
    "(AppleNeuralEngine) [com.apple.ane:client] -----> processRequest: ANEProgramProcessRequestDirect()"
    " status=0x0 : statusType=0x0 : qos=0x21"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (line, every, between) in _STYLES.items():
            path = Path(folder) / "log.txt"
            size = write_log(path, arguments.megabytes << 20, line, every, between)
            cpu_s = seconds(path)
            figures[name] = size / 1e6 / cpu_s
            print(f"{name:<34} {cpu_s:.2f} s CPU, {figures[name]:.0f} MB/s for {size / 1e6:.0f} MB")
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


def default_line(number: int, message: str) -> str:
    second, micro = divmod(number * 137, 1_000_000)
    clock = f"{10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{micro:06d}"
    return f"2024-03-26 {clock}-0700 0x4a46a    Default     0x0                  812    0    app: {message}"


def json_line(number: int, message: str) -> str:
    subsystem = message.partition("[")[2].partition(":")[0]
    fields = {
        "traceID": number,
        "eventMessage": message.partition("] ")[2],
        "eventType": "logEvent",
        "subsystem": subsystem,
        "category": "client",
        "threadID": 1234,
        "processID": 812,
        "processImagePath": "/Applications/App.app/Contents/MacOS/App",
        "senderImagePath": "/usr/lib/libxpc.dylib",
        "timestamp": default_line(number, "")[:31],
        "formatString": "%s",
    }
    return json.dumps(fields)


def json_entry(number: int, message: str) -> str:
    return json.dumps(json.loads(json_line(number, message)), indent=2)


_STYLES: dict[str, tuple[Callable[[int, str], str], int, str]] = {
    "default style": (default_line, 2000, "\n"),
    "JSON lines": (json_line, 2000, "\n"),
    "JSON array": (json_entry, 2000, ","),
    "every line of the Neural Engine": (default_line, 1, "\n"),
}


def write_log(path: Path, size: int, line: Callable[[int, str], str], every: int, between: str) -> int:
    """Write a log of about ``size`` bytes; return its size."""
    with path.open("w") as file:
        file.write("[" if between == "," else "")
        number = 0
        while file.tell() < size:
            lines = [
                line(row, _RELATED if row % every == 0 else _UNRELATED[row % len(_UNRELATED)])
                for row in range(number, number + 1000)
            ]
            file.write((between if number else "") + between.join(lines))
            number += 1000
        file.write("]\n" if between == "," else "\n")
    return path.stat().st_size


def seconds(path: Path) -> float:
    """Return the CPU seconds of the command, the best of two."""
    command = [sys.executable, "-m", "tracekit", "analyze", "--format", "json", str(path)]
    times = []
    for _ in range(2):
        before = _children_s()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - this very program
        times.append(_children_s() - before)
    return min(times)


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
