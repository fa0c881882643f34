"""The benchmarks run, and what they measure is done in columns: no Python per row, interval or window."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser_support import BROWSERS
from support import python_calls

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
FUSION = runpy.run_path(str(BENCHMARKS / "fusion.py"))


def calls_of_fusion(samples: int, intervals: int, windows: int) -> int:
    """How many Python functions one fusion calls."""
    trace = FUSION["synthetic"](samples, intervals, windows)
    labels = FUSION["label_samples"](trace, FUSION["load_markers"](None))
    FUSION["fuse"](trace, labels)
    return python_calls(lambda: FUSION["fuse"](trace, labels))


@pytest.mark.parametrize("larger", [(40_000, 2_000, 200), (10_000, 8_000, 200), (10_000, 2_000, 800)])
def test_the_work_of_python_does_not_grow_with_rows(larger: tuple[int, int, int]) -> None:
    assert calls_of_fusion(*larger) < 1.2 * calls_of_fusion(10_000, 2_000, 200)


def test_an_upload_is_measured_in_three_ways(tmp_path: Path, browser: Any) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, str(BENCHMARKS / "dashboard_upload.py"), "--megabytes", "9", "--out", str(out)]
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), "")
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "CHROMIUM": found},
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(out.read_text())["dashboard_upload"]
    assert [name for name in ("page", "client", "copy") if figures[name]["mb_per_s"] > 0] == [
        "page",
        "client",
        "copy",
    ]
    assert sys.platform != "linux" or figures["page"]["memory_mb"] < figures["target_memory_mb"]
