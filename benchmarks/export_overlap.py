"""Measure the cost of parsing during an export: the export alone, and export and parsing side by side.

    python benchmarks/export_overlap.py [--out FILE.json]

A script plays a slow xctrace: 20 MB of a time-profile in about six seconds, evenly or in bursts of a
megabyte. Alone, its output is thrown away; then `XctraceSource` makes a table of it. The ratio of the two,
repetition by repetition, is what parsing adds to the export that has to be made anyway (target: 1.10).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.xctrace_source import XctraceSource

SCHEMA = "time-profile"
TARGET = 1.10
_SECONDS = 6.0
_BURSTS = {"even": 1 << 14, "bursts": 1 << 20}
_COLUMNS = (
    ("time", "sample-time"),
    ("thread", "thread"),
    ("process", "process"),
    ("core", "core"),
    ("thread-state", "thread-state"),
    ("weight", "weight"),
    ("stack", "backtrace"),
)
_TOC = (
    '<?xml version="1.0"?>\n<trace-toc><run number="1"><info/><data><table schema="time-profile"/></data>'
    "</run></trace-toc>\n"
)
_SCRIPT = """#!{python}
import os, sys, time
name = "toc.xml" if "--toc" in sys.argv else "table.xml"
with open(os.path.join({folder!r}, name), "rb") as file:
    data = file.read()
pieces = range(0, len(data), {burst})
for start in pieces:
    piece = memoryview(data)[start : start + {burst}]
    while piece:
        piece = piece[os.write(1, piece) :]
    if name != "toc.xml":
        time.sleep({seconds} / len(pieces))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="how long the export takes at least")
    options = parser.parse_args()
    figures = []
    print(f"{'exporter':>8} {'MB':>6} {'rows':>8} {'alone':>7} {'parsed':>7} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        size_bytes = write_exports(Path(folder), int(options.megabytes * 1e6))
        for name, burst in _BURSTS.items():
            tool = install(Path(folder), burst, options.seconds)
            pairs = [measure(tool, folder) for _ in range(options.repetitions)]
            figure = {
                "exporter": name,
                "bytes": size_bytes,
                "rows": pairs[0][2],
                "export_seconds": statistics.median(alone for alone, _, _ in pairs),
                "parsed_seconds": statistics.median(both for _, both, _ in pairs),
                "ratio": statistics.median(both / alone for alone, both, _ in pairs),
                "target": TARGET,
            }
            figures.append(figure)
            print(
                f"{name:>8} {size_bytes / 1e6:>6.1f} {figure['rows']:>8,} {figure['export_seconds']:>7.2f}"
                f" {figure['parsed_seconds']:>7.2f} {figure['ratio']:>6.3f}"
            )
    if options.out:
        options.out.write_text(json.dumps({"export_overlap": figures}, indent=2) + "\n")


def measure(tool: Xctrace, bundle: str) -> tuple[float, float, int]:
    """Return the seconds of the export alone, those of export and parsing, and the rows that came."""
    begun = time.perf_counter()
    throw_away(tool, "--toc")
    throw_away(tool, "--xpath")
    alone = time.perf_counter() - begun
    begun = time.perf_counter()
    source = XctraceSource(tool, bundle, "benchmark.trace", [SCHEMA])
    rows = sum(len(table) for table in source.tables(SCHEMA))
    both = time.perf_counter() - begun
    return alone, both, rows


def throw_away(tool: Xctrace, query: str) -> None:
    with subprocess.Popen([tool.path, "export", query], stdout=subprocess.PIPE, bufsize=0) as child:  # noqa: S603
        assert child.stdout is not None
        while os.read(child.stdout.fileno(), 1 << 18):
            pass


def install(folder: Path, burst: int, seconds: float) -> Xctrace:
    """Write the script that plays xctrace."""
    script = folder / "xctrace"
    words = {"python": sys.executable, "folder": str(folder), "burst": burst, "seconds": seconds}
    script.write_text(_SCRIPT.format(**words))
    script.chmod(0o755)
    return Xctrace(str(script))


def write_exports(folder: Path, size_bytes: int) -> int:
    """Write a table of contents and a time-profile of about that size; return the size."""
    (folder / "toc.xml").write_text(_TOC)
    text = time_profile(size_bytes)
    (folder / "table.xml").write_text(text)
    return len(text)


def time_profile(size_bytes: int) -> str:
    """Return a document in which one row of four brings a new stack of 20 frames; the rest are refs."""
    columns = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name><engineering-type>{kind}</engineering-type></col>"
        for name, kind in _COLUMNS
    )
    head = (
        "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
        f'<schema name="{SCHEMA}">{columns}</schema>'
    )
    first = (
        '<thread id="1" fmt="Main Thread 0x1f (App, pid: 7)"><tid id="2">31</tid>'
        '<process id="3" fmt="App (7)"><pid id="4">7</pid></process></thread><process ref="3"/>'
        '<core id="5" fmt="CPU 0 (P Core)">0</core><thread-state id="6">Running</thread-state>'
        '<weight id="7">1000000</weight>'
    )
    later = '<thread ref="1"/><process ref="3"/><core ref="5"/><thread-state ref="6"/><weight ref="7"/>'
    rows, written, next_id, stack_id = [head], len(head), 8, 0
    while written < size_bytes:
        index = len(rows) - 1
        row = f'<row><sample-time id="{next_id}" fmt="00:00.{index:06}">{index * 1_000_000}</sample-time>'
        row += later if index else first
        next_id += 1
        if index % 4:
            row += f'<backtrace ref="{stack_id}"/></row>\n'
        else:
            stack_id = next_id
            frames = "".join(
                f'<frame id="{stack_id + n}" name="work_{(index + n) % 5000}"'
                f' addr="{index + n + (6 << 30):#x}"/>'
                for n in range(1, 21)
            )
            row += f'<backtrace id="{stack_id}">{frames}</backtrace></row>\n'
            next_id += 21
        rows.append(row)
        written += len(row)
    return "".join([*rows, "</node></trace-query-result>\n"])


if __name__ == "__main__":
    main()
