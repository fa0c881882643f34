"""Measure the reading of a million log lines.

    python benchmarks/engine_log.py [--out FILE.json]

Prints CPU seconds from a table in memory to ``Trace.engine_log``, for lines with few texts, for lines of
which each is different, and for lines that no framework wrote. Parsing of the export is not part of it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from tracekit.model.columns import PROCESSES, SIGNPOSTS, THREADS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.tables.engine_log import read_engine_log

LINES = 1_000_000
_FORM = "-----> %@: ANEProgramProcessRequestDirect() status=0x%x : statusType=0x%x : qos=0x%x"
_KINDS = {"time": "int", "thread": "thread", "message": "parts"}
_TYPES = {"time": "event-time", "thread": "thread", "message": "os-log-metadata"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    out = parser.parse_args().out
    tables = {
        "two texts": log_table(LINES, 2, "com.apple.ane"),
        "every text different": log_table(LINES, LINES, "com.apple.ane"),
        "lines of an app": log_table(LINES, LINES, "org.example.App"),
    }
    figures = {name: seconds(table) for name, table in tables.items()}
    for name, value in figures.items():
        print(f"{name:<22} {value:.2f} s for {LINES:,} lines")
    if out is not None:
        out.write_text(json.dumps(figures, indent=1) + "\n")


def log_table(lines: int, texts: int, subsystem: str) -> Table:
    """Return a table of lines with so many different texts."""
    cells = [
        (("narrative-text", f"-----> {number}: ANEProgramProcessRequestDirect() status=0x{number % 2:x}"),)
        for number in range(texts)
    ]
    message = np.empty(lines, object)
    message[:] = cells * (lines // texts)
    rows = pd.DataFrame(
        {
            "time": pd.array(np.arange(lines) * 1000, "Int64"),
            "thread": np.zeros(lines, np.int32),
            "format-string": pd.Categorical.from_codes(np.zeros(lines, np.int8), [_FORM]),
            "subsystem": pd.Categorical.from_codes(np.zeros(lines, np.int8), [subsystem]),
            "message": message,
        }
    )
    columns = tuple(Column(name, name, _TYPES.get(name, "string"), _KINDS.get(name, "text")) for name in rows)
    threads = pd.DataFrame({"tid": [31], "name": ["Worker"], "pid": [7], "process": ["App"]})
    return Table(
        "os-log", columns, rows, threads.astype(dict(THREADS.required)), PROCESSES.empty(), StackTable.empty()
    )


def seconds(table: Table) -> float:
    """Return the CPU seconds of reading the table, the best of three."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        read_engine_log(lambda schema: [table] if schema == "os-log" else [], SIGNPOSTS.empty())
        times.append(time.process_time() - begin)
    return min(times)


if __name__ == "__main__":
    main()
