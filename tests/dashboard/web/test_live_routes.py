"""The live page's events: a stream in, states out, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, Served
from log_streams import SERVED, call

from tracekit import analyze, open_trace
from tracekit.errors import InputError
from tracekit.live.stream_inputs import FileStream
from tracekit_dashboard.live_session import LiveSession
from tracekit_dashboard.routes import live as live_routes

pytestmark = pytest.mark.integration

HOST = {"Host": "127.0.0.1:8127"}
LINES = [
    line for i in range(5) for line in call(i * 20_000, i * 20_000 + 5_000, (i * 20_000 + 4_000, SERVED))
]
LINES += call(100_000, 105_000)


def session_of(folder: Path, content: bytes = b"".join(LINES)) -> LiveSession:
    path = folder / "stream.ndjson"
    path.write_bytes(content)
    session = LiveSession(FileStream(path, follows=False, note=str), ["encode"])
    session.start()
    assert session.wait(30)
    return session


def events(body: str) -> list[dict[str, Any]]:
    return [
        json.loads(line.removeprefix("data: ")) for line in body.splitlines() if line.startswith("data: ")
    ]


def test_events_have_the_calls_and_findings_of_the_stream(client: Callable[..., Any], tmp_path: Path) -> None:
    made = client(live=session_of(tmp_path))
    response = made.get("/api/live/events", headers=HOST)
    assert response.mimetype == "text/event-stream"
    first_state, last_state = events(response.text)
    assert [each["engine"] for each in first_state["calls"]] == ["ane"] * 5 + ["unknown"]
    assert first_state["findings"] == [
        "10:00:00.105 fell-back: encode 6 of App (812) has no request to the Neural Engine in the log; the 5"
        " calls before it had."
    ]
    assert first_state["groups"][0]["engine"] == "Neural Engine in 5 (requests in the log), not visible in 1"
    assert (last_state["calls"], last_state["state"]) == ([], "The stream has ended.")


def test_groups_of_one_name_have_lanes_with_the_number_of_their_process(tmp_path: Path) -> None:
    other = call(200_000, 205_000, processID=900, processImagePath="/usr/bin/other", number=9)
    state = session_of(tmp_path, b"".join(LINES + other)).build_state(0)
    assert [group["lane"] for group in state["groups"]] == ["encode (900)", "encode (812)"]


def test_the_latest_findings_are_listed(tmp_path: Path) -> None:
    lines: list[bytes] = []
    for number in range(60):
        start_us = number * 20_000
        lines += call(start_us, start_us + 5_000, *([] if number % 4 == 3 else [(start_us + 4_000, SERVED)]))
    findings = session_of(tmp_path, b"".join(lines)).build_state(0)["findings"]
    assert (len(findings), findings[-1]) == (13, "Earlier ones are not listed.")
    assert "encode 60 " in findings[0]


def test_a_stream_in_which_nothing_could_be_read_is_named(tmp_path: Path) -> None:
    state = session_of(tmp_path, b"\0\1\2\n{}\n").build_state(0)
    assert state["state"].startswith("The stream: has no line of JSON that is an entry of a log.")


def test_a_page_that_connects_again_gets_what_is_new(client: Callable[..., Any], tmp_path: Path) -> None:
    made = client(live=session_of(tmp_path))
    states = events(made.get("/api/live/events?since=4", headers=HOST).text)
    assert [each["number"] for each in states[0]["calls"]] == [5, 6]
    assert events(made.get("/api/live/events?since=999", headers=HOST).text)[0]["calls"] == []


def test_more_pages_than_there_are_threads_for_are_refused(
    client: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_routes, "_VIEWERS", 1)
    made = client(live=session_of(tmp_path))
    open_response = made.get("/api/live/events", headers=HOST, buffered=False)
    refused = made.get("/api/live/events", headers=HOST)
    assert refused.status_code == 503
    open_response.close()
    assert made.get("/api/live/events", headers=HOST).status_code == 200


def test_without_a_stream_the_page_has_the_command(client: Callable[..., Any]) -> None:
    response = client().get("/api/live/events", headers=HOST)
    assert response.status_code == 404
    assert "--watch" in response.get_json()["error"]


def test_a_file_that_is_not_there_starts_no_page(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read: No such file or directory\."):
        FileStream(tmp_path / "none.ndjson", follows=True, note=print)


def test_the_kept_minutes_are_a_recording_that_analyze_reads(tmp_path: Path) -> None:
    path = tmp_path / "kept.ndjson"
    session_of(tmp_path).keep(path)
    assert path.read_bytes() == b"".join(LINES)
    assert analyze(open_trace(path), signposts="encode").verdicts.names == ["ANE"] * 5 + ["UNKNOWN"]


@pytest.fixture
def base(tmp_path: Path) -> Iterator[str]:
    dashboard = Served(tmp_path / "library", live=session_of(tmp_path))
    yield dashboard.base
    dashboard.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_the_stream_and_keeps_it(browser: Any, axe: Any, base: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 844})
    tab = context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{base}/live")
    tab.wait_for_selector(".live-groups tbody tr", timeout=PATIENCE_MS)
    assert "encode 6 of App (812) has no request" in tab.inner_text("#live")
    assert barriers(tab, axe) == []
    tab.click("text=Keep this")
    tab.wait_for_url("**/recordings/**", timeout=PATIENCE_MS)
    assert errors == []
    context.close()
