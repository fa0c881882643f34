"""Fixtures of the web side: a client for literal recordings, and a dashboard that runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from dashboard_support import FALLBACK, Running, Serve, Served, Started, start
from fake_library import FakeLibrary
from library_support import opened, settled
from worker_support import TWO

from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import components
from tracekit_dashboard.pages import library as library_pages
from tracekit_dashboard.settings import ServerLimits, Settings


@pytest.fixture
def client(tmp_path: Path) -> Callable[..., Any]:
    """Makes a client of an application; its ``library`` is the fake one."""

    return partial(make_client, tmp_path)


@pytest.fixture(scope="session")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A client of an application that takes a tenth of a second to make, for requests that are refused."""
    return make_client(tmp_path_factory.mktemp("refusing"))


def make_client(folder: Path, *recordings: Recording, **settings: Any) -> Any:
    from tracekit_dashboard.app import create_app

    library = FakeLibrary(folder, *recordings)
    app = create_app(Settings(folder, port=8127, **settings), library)  # type: ignore[arg-type]
    made = app.server.test_client()
    made.library = library  # type: ignore[attr-defined]
    return made


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
        dashboard.process.wait(60)
        assert "Traceback" not in dashboard.log()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Returns a library in which recordings are read already, to be copied; a set of them is read once."""

    @cache
    def read(*paths: Path) -> Path:
        folder = tmp_path_factory.mktemp("shelf")
        with opened(folder, TWO) as library:
            for recording in [library.add_file(path) for path in paths]:
                assert settled(library, recording, 180).state == "ready"
        return folder

    return read


@pytest.fixture
def serve(tmp_path: Path, shelf: Callable[..., Path]) -> Iterator[Serve]:
    """Serves dashboards by threads, each with a library of its own in which these recordings are read."""
    dashboards: list[Served] = []

    def run(*paths: Path, **settings: Any) -> Served:
        folder = tmp_path / f"served{len(dashboards)}"
        if paths:
            shutil.copytree(shelf(*paths), folder)
        dashboards.append(Served(folder, **settings))
        return dashboards[-1]

    yield run
    for dashboard in dashboards:
        dashboard.close()


@pytest.fixture(scope="session")
def fallback(shelf: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard on one recording, for tests that change nothing of it."""
    folder = tmp_path_factory.mktemp("fallback") / "library"
    shutil.copytree(shelf(FALLBACK), folder)
    dashboard = Served(folder)
    yield dashboard
    dashboard.close()


@pytest.fixture
def pauses() -> list[float]:
    """Seconds that ``idle`` waits before each response; the last entry counts."""
    return [0]


@pytest.fixture
def idle(serve: Serve, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> tuple[str, Library]:
    """The address of a dashboard that reads nothing, and its library: what waits goes on waiting.

    Its list is polled more often, so that tests wait less.
    """
    monkeypatch.setattr(library_pages, "POLL_MS", 250)
    dashboard = serve(limits=ServerLimits(workers=0), pauses=pauses)
    return dashboard.base, dashboard.library


@pytest.fixture
def tab(browser: Any, caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    """A tab; at the end its console has no error, no request went to another machine, and no callback failed."""
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
    assert [record.getMessage() for record in caplog.get_records("call") if record.exc_info] == []


PAUSES = {
    "ALIVE_PAUSE_MS = 5000;": "ALIVE_PAUSE_MS = 1500;",
    "ACTION_TIMEOUT_MS = 5000;": "ACTION_TIMEOUT_MS = 1500;",
    "PAUSES_MS = [300, 1000, 3000, 8000];": "PAUSES_MS = [30, 100, 300, 800];",
}
"""Pauses in the page's script, and shorter ones."""


@pytest.fixture
def sooner(tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the pauses after which a tab reports or repeats what went unanswered pass sooner.

    To be named after the dashboard's fixture, which ends last then.
    """
    monkeypatch.setattr(components, "LOST_MS", 1_500)

    def shorten(route: Any) -> None:
        answer = route.fetch()
        text = answer.text()
        for pause, shorter in PAUSES.items():
            assert pause in text
            text = text.replace(pause, shorter)
        route.fulfill(response=answer, body=text)

    tab.route("**/bundle/pages.js*", shorten)


def is_ours(address: str) -> bool:
    return address.startswith(("http://127.0.0.1:", "blob:", "data:", "file:"))
