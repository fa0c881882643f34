"""A headless Chromium, a dashboard to visit with it, and the figures of what was timed."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the Chromium of CHROMIUM, of the path, or Playwright's own."""
    with sync_playwright() as driver:
        program = os.environ.get("CHROMIUM") or shutil.which("chromium") or driver.chromium.executable_path
        browser = driver.chromium.launch(executable_path=program, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(library: Path) -> Iterator[str]:
    """Run the dashboard on a library; yield its address."""
    command = [sys.executable, "-m", "tracekit", "dashboard", "--no-browser", "--library", str(library)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(  # noqa: S603 - our own program
        command, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stderr is not None
            words = server.stderr.readline().split()
            if not words or "://" not in words[-1]:
                raise SystemExit(f"The dashboard did not start: {' '.join(words)} {server.stderr.read()}")
            yield words[-1].rstrip("/")
        finally:
            server.terminate()


def percentiles(times: list[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def timed(times: list[float], at_most: tuple[float | None, float | None]) -> dict[str, Any]:
    """Return the percentiles of times; ``missed`` names those above what they are to be at most."""
    both = dict(zip(("p50", "p95"), percentiles(times), strict=True))
    missed = [name for (name, took), most in zip(both.items(), at_most, strict=True) if most and took > most]
    return {
        "count": len(times),
        "p50_ms": both["p50"],
        "p95_ms": both["p95"],
        "at_most_ms": list(at_most),
        "missed": missed,
    }
