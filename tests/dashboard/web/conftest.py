"""Fixtures of the web side: a client for literal recordings, and a dashboard that runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dashboard_support import Running, Started, start
from fake_library import FakeLibrary
from werkzeug.serving import make_server

from dashboard.library.catalog import Recording
from dashboard.library.library import Library
from dashboard.server import address, listening
from dashboard.settings import Limits, Settings


@pytest.fixture
def client(tmp_path: Path) -> Callable[..., Any]:
    """Makes a client of an application; its ``library`` is the fake one."""

    def make(*recordings: Recording, **settings: Any) -> Any:
        from dashboard.app import create_app

        library = FakeLibrary(tmp_path, *recordings)
        app = create_app(Settings(tmp_path, port=8127, **settings), library)  # type: ignore[arg-type]
        made = app.server.test_client()
        made.library = library  # type: ignore[attr-defined]
        return made

    return make


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """Starts dashboards; at the end none runs, and no log holds a traceback."""
    started: list[Started] = []

    def run(*arguments: str) -> Started:
        folder = tmp_path / f"dashboard{len(started)}"
        folder.mkdir()
        started.append(start(folder, *arguments))
        return started[-1]

    yield run
    for dashboard in started:
        if dashboard.process.poll() is None:
            dashboard.process.terminate()
        dashboard.process.wait(20)
        assert "Traceback" not in dashboard.log()


@pytest.fixture
def pauses() -> list[float]:
    """Seconds that ``idle`` waits before each response; the last entry counts."""
    return [0]


@pytest.fixture
def idle(tmp_path: Path, pauses: list[float]) -> Iterator[tuple[str, Library]]:
    """The address of a dashboard that reads nothing, and its library: what waits goes on waiting."""
    settings = Settings(tmp_path / "idle", limits=Limits(workers=0))
    library = Library(settings.folder, settings.limits)
    listener, settings = listening(settings)
    with listener:
        from dashboard.app import create_app

        app = create_app(settings, library)
        app.server.before_request_funcs.setdefault(None, []).append(lambda: time.sleep(pauses[-1]))
        server = make_server("127.0.0.1", settings.port, app.server, threaded=True, fd=listener.fileno())
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield address(settings), library
        server.shutdown()
        thread.join()
        server.server_close()
    library.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab; at the end its console has no error, and no request went to another machine."""
    bad: list[str] = []
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.on("console", lambda message: bad.append(f"{message.text} {message.location}"))
    page.on("pageerror", lambda error: bad.append(str(error)))
    page.on("request", lambda request: is_ours(request.url) or bad.append(request.url))
    page.bad = bad
    page.expected = []  # what the browser itself notes in this test, whenever it does
    yield page
    context.close()
    assert [message for message in bad if not any(each in message for each in page.expected)] == []


def is_ours(address: str) -> bool:
    return address.startswith(("http://127.0.0.1:", "blob:", "data:"))
