"""Recording from the page in a real browser, on a Mac that is a stand-in."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, READY, Running, Serve, opened, pictures, start
from library_support import wait_for
from xctrace_support import FakeXctrace, install

from tracekit_dashboard.library.library import Library

PHONE = {"name": "My Phone", "os": "26.2", "udid": "00008101-000D482C1E78001E"}
MAC = {"name": "Test Mac", "udid": "D283C622-DE11-5668-8E1F-E6234E85E6C8"}
OPENED = re.compile(r"/recordings/[0-9a-f]+")
FORM = "#record-start"
PROCESS = "select[data-store=record-process]"


@pytest.fixture
def xctrace(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeXctrace]:
    """A Mac for the dashboards of one test; the browser runs already."""
    fake = install(tmp_path / "mac", devices=[MAC, PHONE])
    for name, value in fake.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DEVELOPER_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield fake
    for pid in fake.running():
        os.kill(pid, signal.SIGKILL)


def choose_app(tab: Any, seconds: float = 60) -> None:
    tab.locator(PROCESS).select_option("SampleApp (pid 4215)")
    tab.locator("#record-seconds").fill(str(seconds))


def begin(tab: Any, base: str, seconds: float = 60) -> None:
    """Start a recording of the app that runs."""
    opened(tab, f"{base}record", FORM)
    choose_app(tab, seconds)
    tab.locator(FORM).click()


def recording(tab: Any) -> Any:
    button = tab.get_by_role("button", name="Stop and save")
    button.wait_for(timeout=PATIENCE_MS)
    return button


def commands(xctrace: FakeXctrace) -> list[list[str]]:
    return [call for call in xctrace.calls("xctrace") if call[1] == "record"]


def test_from_the_form_to_the_opened_recording(serve: Serve, tab: Any, xctrace: FakeXctrace) -> None:
    xctrace.configure(save_seconds=3)
    base = serve().base
    opened(tab, base, "#upload .drop")
    tab.get_by_role("link", name="Record", exact=True).click()
    tab.locator(FORM).wait_for(timeout=PATIENCE_MS)
    pictures(tab, "record")
    choose_app(tab)
    tab.locator(FORM).click()
    stop = recording(tab)
    tab.get_by_text("2 s of 60 s, ").wait_for(timeout=PATIENCE_MS)
    assert not tab.locator(FORM).is_visible()
    pictures(tab, "recording")
    stop.click()
    tab.get_by_text("This can take as long as the recording did.").wait_for(timeout=PATIENCE_MS)
    pictures(tab, "saving")
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    assert "/recordings/" in tab.url
    assert tab.locator("h1").inner_text().startswith("SampleApp-")
    opened(tab, base, "#library tbody tr")
    assert tab.locator("#library tbody tr").count() == 1


def test_a_dashboard_that_ends_names_the_recording_that_it_saves(
    running: Running, tab: Any, xctrace: FakeXctrace
) -> None:
    xctrace.configure(save_seconds=2)
    started = running()
    begin(tab, started.base, 60)
    recording(tab)
    tab.goto("about:blank")
    started.process.send_signal(signal.SIGINT)
    started.process.wait(20)
    assert (
        "The recording of SampleApp (pid 4215) is being saved. The next start of the dashboard adds it."
        in started.log()
    )
    for _ in range(200):
        if not xctrace.running():
            return
        tab.wait_for_timeout(50)
    raise AssertionError(xctrace.running())


def test_other_visitors_may_record_if_allowed(serve: Serve, tab: Any, xctrace: FakeXctrace) -> None:
    dashboard = serve(allowed_hosts=("mac.example.org",), remote_recording=True)
    opened(tab, dashboard.address.replace("/?", "/record?"), FORM)


def test_its_end_opens_it_also_without_a_stop(serve: Serve, tab: Any, xctrace: FakeXctrace) -> None:
    begin(tab, serve().base, 0.3)
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)


def test_launched_with_a_template_once_per_setting(
    idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace, tmp_path: Path
) -> None:
    tool = tmp_path / "a tool"
    tool.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    tool.chmod(0o755)
    opened(tab, f"{idle[0]}record", FORM)
    tab.get_by_role("button", name="Start an app or program").click()
    tab.locator("#record-app").fill(str(tool))
    tab.get_by_role("button", name="all", exact=True).click()
    tab.get_by_role("button", name="cpuOnly").click()
    tab.locator("[data-store=record-with]").select_option("Metal System Trace")
    tab.locator("#record-seconds").fill("1")
    pictures(tab, "record-launch")
    tab.locator(FORM).click()
    tab.get_by_text("Recording 2 of 2: cpuOnly").wait_for(timeout=PATIENCE_MS)
    tab.locator("#library tbody tr").nth(1).wait_for(timeout=PATIENCE_MS)
    tags = tab.locator("#library tbody .tag").all_inner_texts()
    assert sorted(tags) == ["all", "cpuOnly"]
    assert [command[command.index("--template") + 1] for command in commands(xctrace)] == [
        "Metal System Trace"
    ] * 2
    assert {command[-1] for command in commands(xctrace)} == {str(tool)}


def test_a_device_takes_a_name_and_everything_takes_none(
    idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace
) -> None:
    xctrace.configure(processes=[{"pid": 9, "path": "/private/MyApp.app/MyApp", "device": PHONE["udid"]}])
    base = idle[0]
    opened(tab, f"{base}record", FORM)
    tab.locator("[data-store=record-device]").select_option("My Phone (26.2)")
    tab.locator("#record-name").fill("MyApp")
    tab.locator("#record-seconds").fill("0.3")
    tab.locator(FORM).click()
    tab.wait_for_url(OPENED, timeout=PATIENCE_MS)
    opened(tab, f"{base}record", FORM)
    tab.get_by_role("button", name="All processes").click()
    tab.locator("#record-seconds").fill("0.3")
    tab.locator(FORM).click()
    tab.wait_for_url(OPENED, timeout=PATIENCE_MS)
    first, second = commands(xctrace)
    assert first[first.index("--device") + 1] == PHONE["udid"]
    assert first[-2:] == ["--attach", "MyApp"]
    assert second[-1] == "--all-processes"


def test_what_runs_is_listed_anew(idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace) -> None:
    opened(tab, f"{idle[0]}record", FORM)
    choose_app(tab)
    xctrace.configure(processes=[{"pid": 5, "path": "/bin/newcomer"}])
    tab.get_by_role("button", name="Refresh").click()
    tab.get_by_text("newcomer (pid 5)").wait_for(state="attached", timeout=PATIENCE_MS)
    assert tab.locator(PROCESS).input_value() == ""
    tab.locator(FORM).click()  # what was chosen before is no longer
    tab.get_by_text("Choose the process to record.").wait_for(timeout=PATIENCE_MS)


def test_what_makes_no_recording_is_reported_and_changes_nothing(
    idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace
) -> None:
    opened(tab, f"{idle[0]}record", FORM)
    tab.locator(FORM).click()
    tab.get_by_text("Choose the process to record.").wait_for(timeout=PATIENCE_MS)
    tab.get_by_role("button", name="Start an app or program").click()
    tab.locator("#record-app").fill("--output")
    tab.locator(FORM).click()
    tab.get_by_text("would be taken for an option").wait_for(timeout=PATIENCE_MS)
    assert commands(xctrace) == []


def test_discarded_it_is_gone(idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace) -> None:
    base, library = idle
    begin(tab, base)
    recording(tab)
    tab.get_by_text("Discard …").click()
    pictures(tab, "record-discard")
    tab.get_by_role("button", name="Discard it").click()
    tab.locator(FORM).wait_for(timeout=PATIENCE_MS)
    assert tab.url.endswith("/record")
    assert list(library.recorded.iterdir()) == []


def test_two_tabs_one_recording(idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace) -> None:
    base = idle[0]
    second_tab = tab.context.new_page()
    opened(second_tab, f"{base}record", FORM)
    choose_app(second_tab)
    begin(tab, base)
    recording(tab)
    second_tab.locator(FORM).dispatch_event("click")  # as if it had not heard of the other one yet
    second_tab.get_by_text("is being recorded already. Only one recording can be made").wait_for(
        timeout=PATIENCE_MS
    )
    pictures(second_tab, "record-second")
    recording(second_tab).click()  # who is told can follow it, too
    for page in (tab, second_tab):
        page.wait_for_url(OPENED, timeout=PATIENCE_MS)
    assert len(commands(xctrace)) == 1


def test_a_closed_page_costs_nothing(idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace) -> None:
    base = idle[0]
    page = tab.context.new_page()
    begin(page, base, 1.5)
    recording(page)
    page.close()
    opened(tab, base, "#library tbody tr")
    assert tab.locator("#library tbody a").first.inner_text().startswith("SampleApp-")


def test_the_dashboard_is_killed_and_started_anew_while_it_records(
    running: Running, tab: Any, xctrace: FakeXctrace
) -> None:
    xctrace.configure(save_seconds=8.0, second_interrupt="aborts")
    first = running()
    page = tab.context.new_page()
    begin(page, first.base)
    recording(page)
    page.close()
    first.process.kill()
    first.process.wait(20)
    second = start(first.library.parent)
    try:
        opened(tab, f"{second.base}record", "#record-attempt section")
        tab.get_by_text("This can take as long as the recording did.").wait_for(timeout=PATIENCE_MS)
        tab.wait_for_selector(READY, timeout=PATIENCE_MS)
        assert tab.locator("h1").inner_text().startswith("SampleApp-")
    finally:
        second.process.terminate()
        second.process.wait(20)
    assert "Traceback" not in second.log()
    assert xctrace.running() == []


def test_xctraces_refusal_and_what_is_left(idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace) -> None:
    xctrace.configure(attach="refused")
    base = idle[0]
    begin(tab, base)
    tab.get_by_text("macOS refused to attach to this process").wait_for(timeout=PATIENCE_MS)
    pictures(tab, "record-refused")
    tab.get_by_role("button", name="Close").click()
    tab.get_by_text("macOS refused").wait_for(state="detached", timeout=PATIENCE_MS)
    xctrace.configure(attach="ok", disk="full")
    choose_app(tab, 0.5)
    tab.locator(FORM).click()
    tab.get_by_text("The disk is full.").wait_for(timeout=PATIENCE_MS)
    pictures(tab, "record-full")
    tab.get_by_role("button", name="Open what there is").click()
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)


def test_who_insists_is_warned_first(idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace) -> None:
    xctrace.configure(hang="saving")
    begin(tab, idle[0])
    recording(tab).click()
    tab.get_by_role("button", name="Stop saving …").click()
    tab.get_by_text("killing it now can lose the recording").wait_for(timeout=PATIENCE_MS)
    pictures(tab, "record-insist")
    tab.get_by_role("button", name="Kill xctrace").click()
    tab.get_by_text("xctrace was killed while it was saving, after a repeated stop request").wait_for(
        timeout=PATIENCE_MS
    )
    pictures(tab, "record-unfinished")
    command = tab.locator("#record-failed pre")
    assert command.evaluate("one => one.scrollWidth <= one.clientWidth")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.get_by_role("button", name="Copy").click()
    tab.get_by_role("button", name="Copied").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == command.inner_text()
    tab.get_by_role("button", name="Copy", exact=True).wait_for()


def test_without_xctrace_the_page_gives_advice(
    idle: tuple[str, Library], browser: Any, tab: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    opened(tab, f"{idle[0]}record", "#record-form h2")
    assert "Nothing can be recorded here" in tab.locator("#record").inner_text()
    pictures(tab, "record-nothing")
    before = tab.get_by_text("Last looked at").inner_text()
    wait_for(lambda: time.strftime("%H:%M:%S") not in before)
    tab.get_by_role("button", name="Look again").click()
    tab.get_by_text("Asking xctrace for devices").wait_for(timeout=PATIENCE_MS)
    tab.locator("#record-form h2").wait_for(timeout=PATIENCE_MS)
    assert tab.get_by_text("Last looked at").inner_text() != before
    assert tab.locator("#record").inner_text().count("Checks by tracekit doctor") == 1
    assert tab.locator("#record-form tbody .problem").count() >= 1
    tab.get_by_role("link", name="add it to the library").click()
    tab.locator("#upload .drop").wait_for(timeout=PATIENCE_MS)


def test_a_reachable_dashboard_has_a_warning_on_the_page(
    serve: Serve, tab: Any, xctrace: FakeXctrace
) -> None:
    dashboard = serve(allowed_hosts=("mac.example.org",))
    opened(tab, dashboard.address.replace("/?", "/record?"), "#page main pre")
    assert "starts no programs on its machine" in tab.locator("#page main").inner_text()
    pictures(tab, "record-remote")


def test_nothing_stands_in_the_way_of_assistive_technology(
    axe: str, idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace
) -> None:
    opened(tab, f"{idle[0]}record", FORM)
    assert barriers(tab, axe) == []
    tab.get_by_role("button", name="Start an app or program").click()
    tab.locator("#record-app").wait_for()
    assert barriers(tab, axe) == []
    tab.get_by_role("button", name="A running process").click()
    choose_app(tab)
    tab.locator(FORM).click()
    recording(tab)
    assert barriers(tab, axe) == []
    tab.get_by_role("button", name="Stop and save").click()
    tab.wait_for_url(OPENED, timeout=PATIENCE_MS)


def test_everything_can_be_done_by_keyboard(
    idle: tuple[str, Library], tab: Any, xctrace: FakeXctrace
) -> None:
    opened(tab, f"{idle[0]}record", FORM)
    tab.locator(PROCESS).focus()
    tab.keyboard.type("Sample")
    tab.locator("#record-seconds").focus()
    tab.keyboard.press("Control+A")
    tab.keyboard.type("60")
    tab.locator(FORM).focus()
    tab.keyboard.press("Enter")
    recording(tab).focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url(OPENED, timeout=PATIENCE_MS)
