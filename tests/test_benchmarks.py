"""The benchmarks run, and what they measure is done in columns: no Python per row, interval or window."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from support import python_calls

FUSION = runpy.run_path(str(Path(__file__).resolve().parents[1] / "benchmarks" / "fusion.py"))


def calls_of_fusion(samples: int, intervals: int, windows: int) -> int:
    """How many Python functions one fusion calls."""
    trace = FUSION["synthetic"](samples, intervals, windows)
    labels = FUSION["label_samples"](trace, FUSION["load_markers"](None))
    FUSION["fuse"](trace, labels)
    return python_calls(lambda: FUSION["fuse"](trace, labels))


@pytest.mark.parametrize("larger", [(40_000, 2_000, 200), (10_000, 8_000, 200), (10_000, 2_000, 800)])
def test_the_work_of_python_does_not_grow_with_rows(larger: tuple[int, int, int]) -> None:
    assert calls_of_fusion(*larger) < 1.2 * calls_of_fusion(10_000, 2_000, 200)


def test_the_benchmark_of_reading_runs_on_tiny_exports(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    program = Path(__file__).resolve().parents[1] / "benchmarks" / "scan.py"
    sizes = ["--megabytes", "0.05", "--large", "0", "--samples", "200"]
    command = [sys.executable, str(program), *sizes, "--repeat", "1", "--out", str(out)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures = json.loads(out.read_text())["scan"]
    assert len(printed.splitlines()) == len(figures) + 1
    assert figures[0]["times_yardstick"] == 1
    assert all(row["seconds"] > 0 and row["peak_mib"] > 0 for row in figures)
