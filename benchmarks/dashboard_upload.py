"""Measure the speed of an upload to the dashboard on this machine, and the server's memory for it.

    python benchmarks/dashboard_upload.py [--megabytes 2000] [--repetitions 1] [--out FILE.json]

*page*: the file is chosen in the library page in a Chromium, until the page of its recording opens. *client*:
the same requests from a few lines of Python, one after the other on one connection. *copy*: no dashboard, a
socket's bytes brought to the same disk in slices of the same size, each for good, as the dashboard does: what
this machine can do at this moment. The rate is the file's bytes by the time from its choice to its
recording's address. Memory (Linux only) is the server's peak above what it held when idle; its worker is
another process. Needs Playwright's Python package and a Chromium (CHROMIUM, or one on the path).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from browser import ROOT, chromium
from playwright.sync_api import Browser

TARGET_MB_PER_S, TARGET_MEMORY_MB = 80, 200
SLICE_BYTES = 8 << 20
_HEAD = b'<?xml version="1.0"?>\n<trace-query-result>'  # what begins otherwise is refused
_PATIENCE_MS = 600_000

Figures = dict[str, float | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    ways: dict[str, list[Figures]] = {"page": [], "client": [], "copy": []}
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        file = written(folder / "recording.xml", options.megabytes * 1_000_000)
        for _ in range(options.repetitions):
            ways["page"].append(measure(folder, file, lambda base: from_page(browser, base, file)))
            ways["client"].append(measure(folder, file, lambda base: from_client(base, file)))
            ways["copy"].append(copied(folder, file))
    report(ways, options.megabytes, options.out)


def written(file: Path, size_bytes: int) -> Path:
    """Write what begins as an export does; it must not be of a kind that a disk or a link makes smaller."""
    block = random.Random(7).randbytes(SLICE_BYTES)  # noqa: S311 - no secret
    with file.open("wb") as stream:
        stream.write(_HEAD[:size_bytes])
        while (left := size_bytes - stream.tell()) > 0:
            stream.write(block[:left])
    return file


def measure(folder: Path, file: Path, send: Callable[[str], None]) -> Figures:
    """Send a file to a dashboard of its own."""
    with dashboard(folder) as (process, base):
        HTTPConnection(*_host(base)).request("GET", "/")
        time.sleep(0.5)
        idle_kb = _memory_kb(process.pid, "VmRSS")
        with suppress(OSError):  # the peak begins here
            Path(f"/proc/{process.pid}/clear_refs").write_text("5")
        began = time.perf_counter()
        send(base)
        took = time.perf_counter() - began
        peak_kb = _memory_kb(process.pid, "VmHWM")
    memory = None if peak_kb is None or idle_kb is None else max(peak_kb - idle_kb, 0) / 1000
    return {"mb_per_s": file.stat().st_size / 1e6 / took, "memory_mb": memory}


@contextmanager
def dashboard(folder: Path) -> Iterator[tuple[subprocess.Popen[Any], str]]:
    library, log = folder / "library", folder / "log.txt"
    command = [sys.executable, "-m", "tracekit", "dashboard", "--no-browser", "--library", str(library)]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=ROOT)  # noqa: S603 - our own
    try:
        while not (match := re.search(r"The dashboard is at (\S+)", log.read_text("utf-8"))):
            if process.poll() is not None:
                raise SystemExit(f"The dashboard did not start: {log.read_text('utf-8')}")
            time.sleep(0.05)
        yield process, match[1]
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(library, ignore_errors=True)


def _memory_kb(pid: int, what: str) -> int | None:
    with suppress(OSError):
        match = re.search(rf"{what}:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(match[1]) if match else None
    return None


def from_page(browser: Browser, base: str, file: Path) -> None:
    tab = browser.new_page()
    tab.goto(base)
    tab.wait_for_selector("#upload .drop")
    tab.locator("#upload input:not([webkitdirectory])").set_input_files(file)
    tab.wait_for_url("**/recordings/*", timeout=_PATIENCE_MS, wait_until="commit")
    tab.close()


def from_client(base: str, file: Path) -> None:
    host, port = _host(base)
    headers = {"Origin": f"http://{host}:{port}", "X-Tracekit": "1", "Content-Type": "application/json"}
    connection = HTTPConnection(host, port)

    def ask(method: str, address: str, body: bytes, **more: str) -> bytes:
        connection.request(method, address, body, {**headers, **more})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {address}: {answer.status} {content!r}")
        return content

    size = file.stat().st_size
    body = json.dumps({"name": file.name, "size_bytes": size}).encode()
    address = f"/api/uploads/{json.loads(ask('POST', '/api/uploads', body))['id']}"
    with file.open("rb") as stream:
        for offset in range(0, size, SLICE_BYTES):
            ask("PUT", address, stream.read(SLICE_BYTES), **{"Upload-Offset": str(offset)})
    ask("POST", f"{address}/finish", b"{}")


def _host(base: str) -> tuple[str, int]:
    host, port = re.findall(r"//([\d.]+):(\d+)", base)[0]
    return host, int(port)


def copied(folder: Path, file: Path) -> Figures:
    """Bring a file to the disk over a socket, without HTTP and without a check."""
    began = time.perf_counter()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taking = threading.Thread(target=_take, args=(listener, folder / "copy"))
        taking.start()
        with socket.create_connection(listener.getsockname()) as line, file.open("rb") as stream:
            line.sendfile(stream)
        taking.join()
    took = time.perf_counter() - began
    (folder / "copy").unlink()
    return {"mb_per_s": file.stat().st_size / 1e6 / took, "memory_mb": None}


def _take(listener: socket.socket, target: Path) -> None:
    line, _ = listener.accept()
    block = bytearray(1 << 20)
    since = 0
    with line, target.open("wb", buffering=0) as stream:
        while count := line.recv_into(block):
            stream.write(memoryview(block)[:count])
            since += count
            if since >= SLICE_BYTES:
                os.fsync(stream.fileno())
                since = 0
        os.fsync(stream.fileno())


def report(ways: dict[str, list[Figures]], megabytes: int, out: Path | None) -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    busy = "" if load is None else f"; load {load:.1f} on {os.cpu_count()} cores"
    print(f"{megabytes} MB in slices of {SLICE_BYTES >> 20} MiB{busy}")
    print(f"{'way':>8} {'n':>3} {'MB/s':>7} {'memory, MB':>11}")
    figures: dict[str, Any] = {}
    for name, runs in ways.items():
        rate = statistics.median(run["mb_per_s"] or 0 for run in runs)
        memory_mb = [run["memory_mb"] for run in runs if run["memory_mb"] is not None]
        figures[name] = {"count": len(runs), "mb_per_s": rate, "memory_mb": max(memory_mb, default=None)}
        print(f"{name:>8} {len(runs):>3} {rate:>7.0f} {f'{max(memory_mb):.0f}' if memory_mb else '–':>11}")
    print(f"{'target':>8} {'':>3} {f'> {TARGET_MB_PER_S}':>7} {f'< {TARGET_MEMORY_MB}':>11}")
    if out:
        about = {"megabytes": megabytes, "load": load, "target_mb_per_s": TARGET_MB_PER_S}
        whole = {**about, "target_memory_mb": TARGET_MEMORY_MB, **figures}
        out.write_text(json.dumps({"dashboard_upload": whole}, indent=2) + "\n")


if __name__ == "__main__":
    main()
