"""Downloads: what is sent, under which name, and with which headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dash import html
from dashboard_support import SAMPLES
from fake_library import BUSY, READY, recording

from tracekit_dashboard.errors import Busy, Conflict
from tracekit_dashboard.jobs.download_jobs import DownloadFailed, Downloads
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages.downloads import build_menu
from tracekit_dashboard.routes.downloads import make_file_stem
from tracekit_dashboard.settings import ServerLimits, Settings

pytestmark = pytest.mark.integration

Client = Callable[..., Any]
HOST = {"Host": "127.0.0.1:8127"}


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, bool]]:
    """The calls of ``Downloads.path``; each returns the same file."""
    made = tmp_path / "made"
    made.write_bytes(b"<script>alert(1)</script>")
    calls: list[tuple[str, str, bool]] = []

    def path(_self: Downloads, recording_id: str, what: Any, redact: bool, process: str) -> Path:
        calls.append((recording_id, f"{what.name}{process and f' of {process}'}", redact))
        return made

    monkeypatch.setattr(Downloads, "find_or_make", path)
    return calls


def get(client: Any, what: str, recording_id: str = READY) -> Any:
    return client.get(f"/recordings/{recording_id}/download/{what}", headers=HOST, buffered=True)


@pytest.mark.parametrize(
    ("name", "kind", "file"),
    [
        ("html", "text/html", "Camera.trace.html"),
        ("svg", "image/svg+xml", "Camera.trace.svg"),
        ("markdown", "text/markdown", "Camera.trace.md"),
        ("windows", "text/csv", "Camera.trace.windows.csv"),
        ("pprof", "application/octet-stream", "Camera.trace.pb.gz"),
    ],
)
def test_a_download_is_saved_and_never_runs_here(
    name: str, kind: str, file: str, client: Client, requests: list[Any]
) -> None:
    answer = get(client(), name)
    assert (answer.status_code, answer.mimetype, answer.data) == (200, kind, b"<script>alert(1)</script>")
    assert answer.headers["Content-Disposition"] == f"attachment; filename={file}"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Encoding" not in answer.headers
    assert requests == [(READY, name, False)]


def test_the_name_contains_redacted(client: Client, requests: list[Any]) -> None:
    answer = get(client(), "html?redact=1")
    assert answer.headers["Content-Disposition"] == "attachment; filename=Camera.trace.redacted.html"
    get(client(), "html?redact=0")
    assert requests == [(READY, "html", True), (READY, "html", False)]


def test_the_process_that_is_kept_is_in_the_name(client: Client, requests: list[Any]) -> None:
    answer = get(client(), "html?redact=1&process=751")
    assert answer.headers["Content-Disposition"] == "attachment; filename=Camera.trace.redacted-751.html"
    get(client(), "html?process=751")
    assert requests == [(READY, "html of 751", True), (READY, "html", False)]


def test_the_menu_offers_the_process_to_keep() -> None:
    parts = flat(build_menu(recording(), [(751, "Finder"), (42, "App\u202e")]))
    assert [part.href for part in parts if hasattr(part, "href") and "redact" in part.href] == []
    choice = next(part for part in parts if isinstance(part, html.Select))
    assert choice.name == "process"
    assert [(part.value, part.children) for part in choice.children] == [
        ("751", "Finder (751)"), ("42", "App\\u202e (42)"),
    ]  # fmt: skip
    buttons = [part for part in parts if isinstance(part, html.Button)]
    assert [
        (button.name, button.value, button.type, button.formAction.rpartition("/")[2]) for button in buttons
    ] == [("redact", "1", "submit", name) for name in ("html", "markdown", "png", "svg", "json")]


def flat(layout: Any) -> list[Any]:
    """All parts of a layout, in order."""
    if isinstance(layout, list):
        return [part for component in layout for part in flat(component)]
    return [layout, *flat(getattr(layout, "children", []) or [])] if layout is not None else []


@pytest.mark.parametrize("what", ["html?redact=yes", "html?redact=", "samples?redact=1"])
def test_what_cannot_be_redacted_is_not_sent_as_it_is(what: str, client: Client, requests: list[Any]) -> None:
    answer = get(client(), what)
    assert (answer.status_code, requests) == (400, [])
    assert b"redact" in answer.data


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ('../../etc/"x"; filename=y.exe', "attachment; filename=etc-x-filename-y.exe.html"),
        ("a\r\nSet-Cookie: x=1", "attachment; filename=a-Set-Cookie-x-1.html"),
        ("C:\\Windows\\x\x00\x7f\x85", "attachment; filename=C-Windows-x.html"),
        ("exe\u202egpj.\u2066", "attachment; filename=exe-gpj.html"),
        ("Über 1", "attachment; filename=Uber-1.html; filename*=UTF-8''%C3%9Cber-1.html"),
        ("\ud800", "attachment; filename=recording.html"),
        ("..", "attachment; filename=recording.html"),
    ],
)
def test_names_in_the_header_are_harmless(
    name: str, header: str, client: Client, requests: list[Any]
) -> None:
    answer = get(client(recording(name=name)), "html")
    assert answer.headers["Content-Disposition"] == header
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Busy("Other downloads are being made."), 503),
        (DownloadFailed("It is damaged."), 422),
        (Conflict("It has changed."), 409),
        (KeyError("/home/somebody"), 500),
    ],
)
def test_what_goes_wrong_is_a_page_with_a_sentence(
    error: Exception, status: int, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def path(*_: Any) -> Path:
        raise error

    monkeypatch.setattr(Downloads, "find_or_make", path)
    answer = get(client(), "html")
    assert (answer.status_code, answer.mimetype) == (status, "text/html")
    assert "Content-Disposition" not in answer.headers
    assert ("Retry-After" in answer.headers) == (status == 503)
    text = answer.get_data(as_text=True)
    assert (str(error) in text) == (status != 500)
    assert f'<a href="/recordings/{READY}">Back to the recording</a>' in text
    assert re.search(r'<link rel="stylesheet" href="/bundle/pages\.css[^"]*"', text)


@pytest.mark.parametrize(
    ("what", "recording_id"), [("html", "0" * 32), ("html", BUSY), ("exe", READY), ("..%2fhtml", READY)]
)
def test_missing_inputs_are_reported(what: str, recording_id: str, client: Client) -> None:
    answer = get(client(recording(), recording(BUSY, state="reading")), what, recording_id)
    assert answer.status_code in {200, 404}  # Dash answers with its page to what is no address of ours
    assert "Content-Disposition" not in answer.headers
    assert answer.status_code == 404 or "%2f" in what


@pytest.fixture
def real(tmp_path: Path) -> Iterator[tuple[Any, str]]:
    """A client of a real library, and a sample in it as if it had been read."""
    from tracekit_dashboard.app import create_app

    library = Library(tmp_path / "library", ServerLimits(workers=0, free_disk_bytes=0))
    added = library.add_file(SAMPLES / "gpu-mpsgraph-macos15-bundle" / "recording.trace")
    results = tmp_path / "library" / "recordings" / added.id / "results"
    results.mkdir(parents=True)
    (results / "summary.json").write_bytes(b"{}")
    library._catalog.change(added.id, state="ready")
    yield create_app(Settings(tmp_path / "library", port=8127), library).server.test_client(), added.id
    library.close()


@pytest.mark.integration
def test_a_report_from_the_command_line_s_own_code_arrives(real: tuple[Any, str]) -> None:
    client, recording_id = real
    answer = get(client, "markdown", recording_id)
    assert answer.status_code == 200
    assert "GPU" in answer.get_data(as_text=True)


def test_every_link_of_the_menu_leads_to_a_download(client: Client, requests: list[Any]) -> None:
    stack, links = [build_menu(recording())], []
    while stack:
        component = stack.pop()
        if isinstance(component, list):
            stack += component
        elif hasattr(component, "href"):
            links.append(component.href)
        else:
            stack.append(getattr(component, "children", []))
    tab = client()
    assert len(links) == 17
    assert {tab.get(link, headers=HOST, buffered=True).status_code for link in links} == {200}
    assert len(requests) == 17


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Camera.trace", "Camera.trace"),
        ("a b/c", "a-b-c"),
        ("..", "recording"),
        ("", "recording"),
        ("Über", "Über"),
        ("x" * 300, "x" * 100),
    ],
)
def test_file_names(name: str, expected: str) -> None:
    assert make_file_stem(name) == expected
