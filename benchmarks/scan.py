"""Speed and memory of reading exports, compared with a plain lxml loop.

    python benchmarks/scan.py [--megabytes 400] [--large 1000] [--samples 1000000] [--more-samples 10000000]
                              [--repeat 5] [--out FILE]

Every measurement is a process of its own that prints the seconds of its work (imports are not part of it,
reading the file is) and its peak memory. The measurements take turns, so that each has a yardstick of the
same time; the table has medians, and the median of the ratios of speed (bytes per second), pair by pair: by
the clock, and by CPU seconds, which are more reliable on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from large_export import write_export, write_rows

YARDSTICK_MB = 40
SMALL_MB = 2
STACKS_OF_SAMPLES = 50_000  # of a million samples, and of more
_COLUMNS = (
    ("megabytes", 6, 0),
    ("seconds", 8, 2),
    ("cpu_seconds", 6, 2),
    ("megabytes_per_s", 6, 0),
    ("times_yardstick", 12, 1),
    ("times_yardstick_cpu", 7, 1),
    ("peak_mib", 9, 0),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--large", type=float, default=1000, help="a second size for tables; 0 for none")
    parser.add_argument("--samples", type=int, default=1_000_000, help="for the analysis; 0 for none")
    parser.add_argument("--more-samples", type=int, default=10_000_000, help="the same again; 0 for none")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(WORK[arguments.measure[0]], arguments.measure[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = run(_plan(arguments, Path(folder)), arguments.repeat)
    print_table(figures)
    if arguments.out:
        arguments.out.write_text(json.dumps({"scan": figures}, indent=2) + "\n")


def _plan(arguments: argparse.Namespace, folder: Path) -> list[tuple[str, str, Path]]:
    """Write the exports; return (measurement, title, file) of each line of the table."""
    megabytes = arguments.megabytes
    normal = _export(folder, megabytes)
    plan = [
        ("yardstick", "yardstick", _export(folder, min(YARDSTICK_MB, megabytes))),
        ("table", "export → Table", normal),
        ("trace", "export → Trace", normal),
        ("command", "tracekit analyze, from its start", _export(folder, min(SMALL_MB, megabytes))),
    ]
    if arguments.large:
        plan.insert(2, ("table", "export → Table", _export(folder, arguments.large)))
    for samples in filter(None, (arguments.samples, arguments.more_samples)):
        path = folder / f"{samples}-samples.xml"
        with path.open("wb") as out:
            write_rows(out, samples, min(0.05, STACKS_OF_SAMPLES / samples))
        plan.append(("analysis", f"analysis of {samples:,} samples", path))
    return plan


def _export(folder: Path, megabytes: float) -> Path:
    path = folder / f"{megabytes:g}.xml"
    with path.open("wb") as out:
        write_export(out, int(megabytes * 1e6))
    return path


def run(plan: list[tuple[str, str, Path]], repeat: int) -> list[dict[str, Any]]:
    rounds = [[_in_process(what, path) for what, _, path in plan] for _ in range(repeat)]
    figures = []
    for index, (_, title, _path) in enumerate(plan):
        runs = [measurements[index] for measurements in rounds]
        figures.append(
            {
                "what": title,
                "megabytes": runs[0]["bytes"] / 1e6,
                "seconds": statistics.median(run["seconds"] for run in runs),
                "cpu_seconds": statistics.median(run["cpu_seconds"] for run in runs),
                "megabytes_per_s": statistics.median(run["bytes"] / run["seconds"] / 1e6 for run in runs),
                "times_yardstick": _ratio(rounds, index, "seconds"),
                "times_yardstick_cpu": _ratio(rounds, index, "cpu_seconds"),
                "peak_mib": statistics.median(run["peak_mib"] for run in runs),
            }
        )
    return figures


def _ratio(rounds: list[list[dict[str, float]]], index: int, seconds: str) -> float:
    """Return how many times as fast as the yardstick of the same round, per byte."""

    def speed(run: dict[str, float]) -> float:
        return run["bytes"] / max(run[seconds], 1e-3)

    return statistics.median(speed(runs[index]) / speed(runs[0]) for runs in rounds)


def print_table(figures: list[dict[str, Any]]) -> None:
    heads = ("MB", "seconds", "CPU s", "MB/s", "× yardstick", "by CPU", "peak MiB")
    print(" " * 32, *(f"{head:>{width}}" for head, (_, width, _) in zip(heads, _COLUMNS, strict=True)))
    for row in figures:
        cells = [f"{row[key]:>{width}.{digits}f}" for key, width, digits in _COLUMNS]
        print(f"{row['what']:<32}", *cells)
    analyses = [row for row in figures if row["what"].startswith("analysis")]
    if len(analyses) == 2:
        times = analyses[1]["seconds"] / analyses[0]["seconds"]
        print(f"{analyses[1]['what']}: {times:.1f} times as long as {analyses[0]['what']}")


def _in_process(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", what, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    figures: dict[str, float] = json.loads(output)
    return figures


def measure(work: Callable[[str], Callable[[], object]], path: str) -> dict[str, float]:
    """Return the figures of one run; ``work`` does the imports and returns the function that is timed."""
    timed = work(path)
    start, start_cpu = time.perf_counter(), time.process_time()
    result = timed()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    del result  # only now: freeing it is not part of the time
    return {
        "bytes": Path(path).stat().st_size,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_mib": _peak_mib(),
    }


def _peak_mib() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss includes the process that this one was forked from
        peak = int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return max(peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)


def yardstick(path: str) -> Callable[[], object]:
    """Read as a plain loop does: every value by its id, every row with its references resolved."""
    from lxml import etree

    def read() -> object:
        values: dict[str, str | None] = {}
        rows = []
        for _, row in etree.iterparse(path, tag="row"):
            for element in row.iter():
                identifier = element.get("id")
                if identifier is not None:
                    values[identifier] = element.text or element.get("fmt")
            rows.append([values.get(cell.get("ref") or cell.get("id") or "") for cell in row])
            row.clear()
            while row.getprevious() is not None:
                del row.getparent()[0]
        return values, rows

    return read


def table(path: str) -> Callable[[], object]:
    from tracekit.detect import open_source

    import_pyarrow()
    return lambda: list(open_source(path).tables("time-profile"))


def import_pyarrow() -> None:
    """Make pandas import pyarrow, which it does at the first use: imports are not measured."""
    import pandas as pd

    pd.DataFrame({"a": ["b"]}).astype("category")


def trace(path: str) -> Callable[[], object]:
    from tracekit.load import open_trace

    import_pyarrow()
    return lambda: open_trace(path)


def analysis(path: str) -> Callable[[], object]:
    """Analyze a parsed document: the work of a program that has the export in memory."""
    from tracekit import analyze
    from tracekit.detect import open_source
    from tracekit.load import trace_of

    source = open_source(path)
    return lambda: analyze(trace_of(source))


def command(path: str) -> Callable[[], object]:
    start = [sys.executable, "-m", "tracekit", "analyze", path]
    return lambda: subprocess.run(start, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


WORK = {"yardstick": yardstick, "table": table, "trace": trace, "analysis": analysis, "command": command}


if __name__ == "__main__":
    main()
