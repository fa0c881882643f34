"""Measure the listing of a bundle with many tables: CPU seconds, peak memory, and how they grow.

    python benchmarks/many_tables.py [--tables 20000] [--different] [--out FILE.json]

The tables have the same columns and no rows, as most tables of a recording; with ``--different`` each has
columns and a number of rows of its own. Each size is listed by `tracekit tables` in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import zlib
from pathlib import Path
from subprocess import DEVNULL, Popen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sample_traces"))

from bundle_document import RunInfo
from bundle_tables import TIME, Col
from bundle_values import Process, Thread
from bundle_writer import BundleWriter, write_folder

TARGET_SECONDS = 2.0
TARGET_EXPONENT = 1.15
APP = Process(4711, "SampleApp", "/Applications/SampleApp.app/Contents/MacOS/SampleApp")
COLUMNS = (
    Col("time", "Timestamp", "XRRecordedEventTimestampTypeID", TIME),
    Col("name", "Name", "XRPrototypeStringTypeID"),
    Col("duration", "Duration", "XRDurationTypeID"),
)


def write_bundle(folder: Path, tables: int, different: bool = False) -> Path:
    """Write a bundle with so many tables."""
    bundle = BundleWriter(compress=lambda content: zlib.compress(content, 1))
    run = bundle.run(RunInfo(process=APP.name, pid=APP.pid), [APP], [Thread(0x5A00, APP, main=True)])
    for number in range(tables):
        schema, row_count = (f"table-{number}", number % 1000) if different else ("table", 0)
        run.table(schema, COLUMNS, [], attributes={"codes": [f"0x{number:x}"]}, next_event_id=row_count)
    return write_folder(bundle.files(), folder)


def measure(bundle: Path) -> tuple[float, float]:
    """Return CPU seconds and peak MiB of the command that lists the bundle's tables."""
    command = [sys.executable, "-m", "tracekit", "tables", str(bundle), "--raise-limits", "8"]
    process = Popen(command, stdout=DEVNULL)  # noqa: S603 - this interpreter
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed with status {status}")
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit_bytes / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tables", type=int, default=20_000, help="the largest size; a half and a quarter, too"
    )
    parser.add_argument("--different", action="store_true")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    arguments = parser.parse_args()
    figures = []
    for tables in (1, arguments.tables // 4, arguments.tables // 2, arguments.tables):
        with tempfile.TemporaryDirectory() as folder:
            cpu_s, peak_mib = measure(write_bundle(Path(folder) / "x.trace", tables, arguments.different))
        print(f"{tables:>8,} tables  {cpu_s:6.2f} s of CPU  {peak_mib:6.0f} MiB", flush=True)
        figures.append({"tables": tables, "cpu_seconds": round(cpu_s, 3), "peak_mib": round(peak_mib)})
    start, quarter, _, whole = (figure["cpu_seconds"] for figure in figures)
    exponent = math.log((whole - start) / (quarter - start), 4) if quarter > start else math.nan
    print(f"grows with the number of tables to the {exponent:.2f}", end=" ")
    print(f"(targets: {TARGET_SECONDS:g} s, {TARGET_EXPONENT})")
    if arguments.out:
        arguments.out.write_text(json.dumps({"many_tables": figures, "exponent": exponent}, indent=2) + "\n")


if __name__ == "__main__":
    main()
