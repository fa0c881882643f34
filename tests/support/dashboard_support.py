"""A dashboard that runs as a user starts it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
FALLBACK = SAMPLES / "fallback-midway-ios27"
VERDICT = "12 windows from coreml-os-signpost: 6 ANE, 6 CPU."
READY = "html[data-ready]"
PATIENCE_MS = 40_000


@dataclass
class Started:
    """A dashboard's process, and where it is."""

    process: subprocess.Popen[Any]
    library: Path
    log_file: Path
    address: str

    @property
    def port(self) -> int:
        return int(re.search(r":(\d+)/", self.address)[1])  # type: ignore[index]

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def log(self) -> str:
        return self.log_file.read_text("utf-8")

    def children(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()] if children.exists() else []


Running = Callable[..., Started]


def free_port() -> int:
    """Return a port that no other dashboard takes, unlike the first one that it finds by itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def start(folder: Path, *arguments: str) -> Started:
    """Start ``tracekit dashboard`` and wait for its address."""
    library, log = folder / "library", folder / "log.txt"
    command = [
        sys.executable,
        "-m",
        "tracekit",
        "dashboard",
        "--no-browser",
        "--library",
        str(library),
        *arguments,
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=ROOT)
    for _ in range(300):
        match = re.search(r"The dashboard is at (\S+)", log.read_text("utf-8"))
        if match:
            return Started(process, library, log, match[1])
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    raise AssertionError(log.read_text("utf-8"))


def opened(tab: Any, place: str, awaited: str = READY) -> Any:
    tab.goto(place)
    tab.wait_for_selector(awaited, timeout=PATIENCE_MS)
    return tab


def eventually(tab: Any, expression: str) -> None:
    """Wait until something holds; playwright's own way is an eval, which the page's policy forbids."""
    for _ in range(100):
        if tab.evaluate(expression):
            return
        tab.wait_for_timeout(50)
    raise AssertionError(expression)


def pictures(tab: Any, name: str) -> None:
    """Save a picture of the page in the folder DASHBOARD_PICTURES, if it is set."""
    if folder := os.environ.get("DASHBOARD_PICTURES"):
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            tab.wait_for_timeout(300)
            tab.screenshot(path=f"{folder}/{name}-{scheme}.png", full_page=True)
        tab.emulate_media(color_scheme=None)


def export_of(sample: Path) -> Path:
    return max(sample.glob("*.xml"), key=lambda path: path.stat().st_size)
