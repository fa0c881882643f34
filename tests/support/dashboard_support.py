"""Dashboards: served by a thread of this process, or run as a user starts them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server

from tracekit_dashboard.library.library import Library
from tracekit_dashboard.server import build_address, open_listener
from tracekit_dashboard.settings import ServerLimits, Settings

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
FALLBACK = SAMPLES / "fallback-midway-ios27"
VERDICT = "SpeechEncoder left the Neural Engine after its 6th call"
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
_READ_ALL = ServerLimits()


class QuietHandler(WSGIRequestHandler):
    """Answers requests without a line in the log."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


class Served:
    """A dashboard on a thread of this process: all but its start and its end is as in a process of its own.

    Every response waits for the last of ``pauses``, in seconds.
    """

    def __init__(
        self, folder: Path, limits: ServerLimits = _READ_ALL, pauses: Sequence[float] = (0,), **settings: Any
    ) -> None:
        from tracekit_dashboard.app import create_app

        self.folder, self.library = folder, Library(folder, limits)
        self._listener, self._settings = open_listener(Settings(folder, limits=limits, **settings))
        app = create_app(self._settings, self.library)
        app.server.before_request_funcs.setdefault(None, []).append(lambda: time.sleep(pauses[-1]))
        self._server = make_server(
            "127.0.0.1",
            self._settings.port,
            app.server,
            threaded=True,
            request_handler=QuietHandler,
            fd=self._listener.fileno(),
        )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._settings.port}/"

    @property
    def address(self) -> str:
        """The address that the command prints: of the recording, if there is one only."""
        recordings = self.library.list_recordings()
        path = f"/recordings/{recordings[0].id}" if len(recordings) == 1 else "/"
        return build_address(self._settings, path)

    def close(self) -> None:
        """End the dashboard; does nothing the second time."""
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._listener.close()
        self.library.close()


Serve = Callable[..., Served]


def page_callback(path: str, **changed: Any) -> dict[str, Any]:
    """Return what a browser sends to Dash for the page at a path, with some of its fields changed."""
    return {
        "output": "page.children",
        "outputs": {"id": "page", "property": "children"},
        "inputs": [{"id": "address", "property": "pathname", "value": path}],
        "state": [{"id": "address", "property": "search", "value": ""}],
        "changedPropIds": ["address.pathname"],
        **changed,
    }


def free_port() -> int:
    """Return a port that no other dashboard takes, unlike the first one that it finds by itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def start(folder: Path, *arguments: str) -> Started:
    """Start ``tracekit dashboard`` and wait for its address."""
    library, log = folder / "library", folder / "log.txt"
    command = [sys.executable, "-m", "tracekit", "dashboard", "--no-browser", "--library", str(library)]
    command += arguments
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=ROOT)
    for _ in range(1200):
        match = re.search(r"The dashboard is at (\S+)", log.read_text("utf-8"))
        if match:
            return Started(process, library, log, match[1])
        if process.poll() is not None:
            break
        time.sleep(0.05)
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


def until(tab: Any, condition: Callable[[], object]) -> None:
    """Wait for what a test's own handlers note of requests and dialogs: they run while the browser is called."""
    for _ in range(1200):
        if condition():
            return
        tab.wait_for_timeout(25)
    raise AssertionError("it did not come about within thirty seconds")


def drawn(tab: Any) -> None:
    """Wait until the page has drawn what was last changed on it."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def delayed_work_done(tab: Any) -> None:
    """Wait until the page has done what it delays (the filter, the address).

    The timer is the page's own: those that were set before and are shorter (HISTORY_PAUSE_MS is 400) have run,
    however busy the machine is.
    """
    tab.evaluate("() => new Promise(done => setTimeout(done, 500))")
    drawn(tab)


def changed_block(block: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    """Return a view with other fields in its header; its arrays move on."""
    size = int.from_bytes(block[:4], "little")
    header = json.loads(block[4 : 4 + size])
    header |= change(header)
    start, by = 4 + size + -(4 + size) % 8, len(json.dumps(header)) + 8_000
    by -= by % 8
    for array in header["arrays"].values():
        array[1] += by
    text = json.dumps(header).encode().ljust(start + by - 4)
    return len(text).to_bytes(4, "little") + text + block[start:]


def pictures(tab: Any, name: str) -> None:
    """Save a picture of the page in the folder DASHBOARD_PICTURES, if it is set."""
    if folder := os.environ.get("DASHBOARD_PICTURES"):
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            drawn(tab)
            tab.screenshot(path=f"{folder}/{name}-{scheme}.png", full_page=True, animations="disabled")
        tab.emulate_media(color_scheme=None)


def export_of(sample: Path) -> Path:
    return max(sample.glob("*.xml"), key=lambda path: path.stat().st_size)


def act(tab: Any, name: str) -> None:
    """Press a button of a recording's menu in the list, such as ``Delete: fallback``."""
    recording = name.partition(": ")[2]
    tab.get_by_label(f"Actions: {recording}").first.click()
    tab.get_by_role("button", name=name).first.click()
