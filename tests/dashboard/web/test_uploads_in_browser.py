"""Uploads in a real browser: as they should be, broken off, in two tabs, and of what is no recording."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dashboard_support import (
    FALLBACK,
    PATIENCE_MS,
    READY,
    SAMPLES,
    VERDICT,
    Serve,
    eventually,
    export_of,
    opened,
    pictures,
    until,
)
from kdebug_files import write_device_folder
from library_support import received, wait_for
from worker_support import Workers

from tracekit.cli import main
from tracekit.parsers.input_kinds import RECORDINGS, TEXTS
from tracekit_dashboard.library.library import Library

FILE = "#upload input:not([webkitdirectory])"
Idle = tuple[str, Library]


def test_from_an_upload_to_the_verdict(serve: Serve, tab: Any) -> None:
    opened(tab, serve().base, "#upload .drop")
    assert "tracekit dashboard MyApp.trace" in tab.locator("main").inner_text()
    tab.locator("#upload input[webkitdirectory]").set_input_files(FALLBACK)
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    assert VERDICT in tab.locator("#verdict").inner_text()
    tab.get_by_role("link", name="Recordings").click()
    tab.locator("#library tbody tr", has_text="uploaded").wait_for()


def test_a_packed_recording_is_uploaded_as_one_file(serve: Serve, tab: Any, tmp_path: Path) -> None:
    packed = tmp_path / "fallback.tracekit.zip"
    assert CliRunner().invoke(main, ["pack", str(FALLBACK), "-o", str(packed)]).exit_code == 0
    opened(tab, serve().base, "#upload .drop")
    tab.locator("#upload input:not([webkitdirectory])").set_input_files(packed)
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    assert VERDICT in tab.locator("#verdict").inner_text()


def test_a_real_bundle_is_dropped_as_a_folder(serve: Serve, tab: Any, tmp_path: Path) -> None:
    (bundle,) = (SAMPLES / "gpu-mpsgraph-macos15-bundle").glob("*.trace")
    place = tmp_path / bundle.name
    shutil.copytree(bundle, place)
    opened(tab, serve().base, "#upload .drop")
    tab.locator("#upload input[webkitdirectory]").set_input_files(place)
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    assert "GPU" in tab.locator("#verdict").inner_text()


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_recording_of_a_device_is_uploaded(serve: Serve, tab: Any, tmp_path: Path, is_packed: bool) -> None:
    folder = write_device_folder(tmp_path / "x.device")
    opened(tab, serve().base, "#upload .drop")
    if is_packed:
        packed = shutil.make_archive(str(tmp_path / "x.device"), "zip", tmp_path, folder.name)
        tab.locator(FILE).set_input_files(packed)
    else:
        tab.locator("#upload input[webkitdirectory]").set_input_files(folder)
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    assert "render" in tab.locator("main").inner_text()


def test_other_files_are_refused_with_a_sentence(serve: Serve, tab: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "letter.txt"
    wrong.write_text("Dear reader,\n")
    opened(tab, serve().base, "#upload .drop")
    pictures(tab, "upload")
    hint = tab.locator("#upload .note[role=status]").inner_text()
    assert all(kind.lower() in hint.lower() for kind in (*RECORDINGS, *TEXTS))
    tab.locator("#upload input:not([webkitdirectory])").set_input_files(wrong)
    problem = tab.locator("#upload .problem, #page main .problem")
    problem.wait_for(timeout=PATIENCE_MS)
    assert "letter.txt" in problem.inner_text()
    pictures(tab, "refused")
    tab.expected.append("status of 4")  # the browser itself notes a refusal


def test_an_upload_goes_on_after_a_reload(idle: Idle, tab: Any, tmp_path: Path) -> None:
    base, library = idle
    file = large(tmp_path)
    opened(tab, base, "#upload .drop")
    sent: list[int] = []

    def one_slice_only(route: Any) -> None:
        if route.request.method == "PUT":
            offset = int(route.request.headers["upload-offset"])
            sent.append(offset)
            if len(sent) == 2:
                return  # never answered: the page is left meanwhile
        route.continue_()

    tab.route("**/api/uploads/*", one_slice_only)
    tab.locator(FILE).set_input_files(file)
    tab.get_by_text("8.4 of").wait_for(timeout=PATIENCE_MS)
    until(tab, lambda: len(sent) == 2)
    pictures(tab, "uploading")
    opened(tab, tab.url, "#upload .drop")
    tab.locator(FILE).set_input_files(file)
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    assert sent == [0, 8 << 20, 8 << 20, 16 << 20]
    is_whole(library, file)


def test_a_file_that_changed_meanwhile_is_refused_at_once(idle: Idle, tab: Any, tmp_path: Path) -> None:
    """Of the same name, size and time: the page takes it for the one of which the beginning is here."""
    base, library = idle
    file = large(tmp_path)
    status = file.stat()
    stopped_at_the_second_slice(tab, base, file)
    with file.open("r+b") as changed:
        changed.seek(5 << 20)
        changed.write(b"!")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    tab.once("dialog", lambda dialog: dialog.accept())
    opened(tab, base, "#upload .drop")  # the slice that waits for its response is never sent
    tab.unroute("**/api/uploads/*")
    (before,) = library.uploads.list_unfinished()
    tab.locator(FILE).set_input_files(file)
    problem = tab.locator("#upload .problem")
    problem.wait_for(timeout=PATIENCE_MS)
    assert "large.xml is not the file of which 8.4 MB are here" in problem.inner_text()
    (after,) = library.uploads.list_unfinished()
    assert (after.id, after.offset) == (before.id, before.offset)
    tab.locator(FILE).set_input_files(file)
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    is_whole(library, file)
    tab.expected.append("status of 4")  # the browser itself notes a refusal


def is_whole(library: Library, file: Path) -> None:
    """Check that the library has one recording, of this file's bytes."""
    (recording,) = library.list_recordings()
    assert received(library, recording.id) == file.read_bytes()


def stopped_at_the_second_slice(tab: Any, base: str, file: Path) -> None:
    """Leave a tab whose upload waits for the response to its second slice."""
    opened(tab, base, "#upload .drop")

    def hold(route: Any) -> None:
        if route.request.headers.get("upload-offset") != str(8 << 20):
            route.continue_()

    tab.route("**/api/uploads/*", hold)
    tab.locator(FILE).set_input_files(file)
    tab.get_by_text("8.4 of").wait_for(timeout=PATIENCE_MS)


def test_leaving_in_the_midst_of_an_upload_needs_confirmation(idle: Idle, tab: Any, tmp_path: Path) -> None:
    stopped_at_the_second_slice(tab, idle[0], large(tmp_path))
    requests: list[str] = []
    tab.once("dialog", lambda dialog: (requests.append(dialog.type), dialog.dismiss()))
    tab.get_by_role("link", name="Record", exact=True).click(no_wait_after=True)
    until(tab, lambda: bool(requests))
    assert requests == ["beforeunload"]
    assert tab.get_by_role("button", name="Cancel upload").is_visible()
    tab.get_by_role("button", name="Cancel upload").click()
    tab.get_by_text("Upload cancelled. Nothing was stored.").wait_for()
    opened(tab, f"{idle[0]}record", "h1")  # unasked


def test_what_was_left_is_listed_and_can_be_discarded(idle: Idle, tab: Any, tmp_path: Path) -> None:
    base, library = idle
    stopped_at_the_second_slice(tab, base, large(tmp_path))
    assert not tab.get_by_text("Unfinished uploads").is_visible()  # it is under way here
    tab.unroute("**/api/uploads/*")
    tab.once("dialog", lambda dialog: dialog.accept())
    opened(tab, base, ".unfinished li")
    text = tab.locator(".unfinished li").inner_text()
    assert re.match(
        r"large\.xml, [\d.]+ of 1\d MB\. Choose the same file or folder again to continue\.", text
    )
    pictures(tab, "unfinished")
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Discard: large.xml").click()
    tab.locator(".unfinished li").wait_for(state="detached")
    assert library.uploads.list_unfinished() == []
    assert tab.evaluate("Object.keys(localStorage).filter(key => key.startsWith('tracekit-upload:'))") == []


def test_an_upload_goes_on_by_itself_when_the_dashboard_answers_again(
    idle: Idle, sooner: None, tab: Any, tmp_path: Path
) -> None:
    base, library = idle
    opened(tab, base, "#upload .drop")
    is_away = [True]

    def lose(route: Any) -> None:
        is_slice = route.request.headers.get("upload-offset") == str(8 << 20)
        if is_away[0] and (is_slice or "alive" in route.request.url):
            route.abort()
        else:
            route.continue_()

    tab.route("**/api/**", lose)
    tab.locator(FILE).set_input_files(large(tmp_path))
    tab.get_by_text("continues by itself").wait_for(timeout=30_000)
    assert tab.get_by_role("button", name="Try again").is_visible()
    pictures(tab, "lost")
    is_away[0] = False
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    assert [recording.name for recording in library.list_recordings()] == ["large.xml"]
    tab.expected.append("ERR_FAILED")  # the browser itself notes it


def has_large_files(folder: Path) -> bool:
    with suppress(FileNotFoundError):  # removed meanwhile
        return any(path.stat().st_size > 1 << 20 for path in folder.rglob("*"))
    return True


def test_an_upload_is_cancelled_and_leaves_nothing(serve: Serve, tab: Any, tmp_path: Path) -> None:
    dashboard = serve()
    opened(tab, dashboard.base, "#upload .drop")
    tab.route("**/api/uploads/*", lambda route: None if route.request.method == "PUT" else route.continue_())
    tab.locator(FILE).set_input_files(large(tmp_path))
    tab.get_by_role("button", name="Cancel upload").click()
    tab.get_by_text("Upload cancelled. Nothing was stored.").wait_for()
    eventually(tab, "Object.keys(localStorage).length === 0")
    wait_for(lambda: not has_large_files(dashboard.folder), 10)
    assert not tab.get_by_role("button", name="Cancel upload").is_visible()


def test_a_hostile_symbol_is_text(serve: Serve, tab: Any, tmp_path: Path) -> None:
    content = export_of(SAMPLES / "gpu-mpsgraph-macos15").read_bytes()
    hostile = "<img src=x onerror=alert(1)>\u202e${7*7}</script>"
    escaped = hostile.replace("<", "&lt;").replace(">", "&gt;").encode()
    changed = re.sub(rb'(<frame [^>]*name=")[^"]*"', lambda match: match[1] + escaped + b'"', content)
    assert changed != content
    file = tmp_path / f"{hostile.partition('>')[0]}>.xml"
    file.write_bytes(changed)
    alerts: list[str] = []
    tab.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    opened(tab, serve().base, "#upload .drop")
    tab.locator(FILE).set_input_files(file)
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    tab.locator("#tab-samples").click()
    tab.locator("#stacks", has_text="<img src=x onerror").wait_for()
    assert "\u202e" not in tab.locator("main").inner_text()
    assert tab.locator("img[src=x]").count() == 0
    assert alerts == []


def large(folder: Path) -> Path:
    path = folder / "large.xml"
    path.write_bytes(export_of(SAMPLES / "gpu-mpsgraph-macos15").read_bytes() + b"\n" * (16 << 20))
    return path


def test_two_tabs_with_the_same_file_share_one_upload(idle: Idle, tab: Any, tmp_path: Path) -> None:
    (base, library), file = idle, large(tmp_path)
    second_tab = tab.context.new_page()
    routes: list[Any] = []

    def hold_the_third(route: Any) -> None:
        if route.request.method == "PUT" and route.request.headers["upload-offset"] == str(16 << 20):
            routes.append(route)
        else:
            route.continue_()

    for page in (tab, second_tab):
        opened(page, base, "#upload .drop")
    tab.route("**/api/uploads/*", hold_the_third)
    tab.locator(FILE).set_input_files(file)
    tab.get_by_text("16.8 of").or_(tab.get_by_text("17 of")).wait_for(timeout=PATIENCE_MS)
    second_tab.locator(FILE).set_input_files(file)
    second_tab.get_by_text("Another tab is sending large.xml").wait_for()
    pictures(second_tab, "another-tab")
    eventually(second_tab, "document.querySelector('#upload progress').value > 0.7")
    routes[0].continue_()
    for page in (tab, second_tab):
        page.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    assert tab.url.split("#")[0] == second_tab.url.split("#")[0]
    is_whole(library, file)


def test_a_tab_goes_on_with_what_another_left(idle: Idle, tab: Any, tmp_path: Path) -> None:
    (base, library), file = idle, large(tmp_path)
    second_tab = tab.context.new_page()
    for page in (tab, second_tab):
        opened(page, base, "#upload .drop")
    second_tab.route(
        "**/api/uploads/*",
        lambda route: (
            None if route.request.headers.get("upload-offset") == str(8 << 20) else route.continue_()
        ),
    )
    second_tab.locator(FILE).set_input_files(file)
    second_tab.get_by_text("8.4 of").wait_for(timeout=PATIENCE_MS)
    tab.locator(FILE).set_input_files(file)
    tab.get_by_text("Another tab is sending large.xml").wait_for()
    second_tab.close()
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    is_whole(library, file)


@pytest.mark.skipif(sys.platform == "win32", reason="a signal")
def test_a_worker_killed_in_its_work_is_reported_on_the_page(
    serve: Serve, tab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = Workers(tmp_path / "notes", monkeypatch)
    workers.do("hang")
    opened(tab, serve().base, "#upload .drop")
    slow = tmp_path / "slow.xml"
    shutil.copy(export_of(SAMPLES / "gpu-mpsgraph-macos15"), slow)
    tab.locator(FILE).set_input_files(slow)
    tab.wait_for_url("**/recordings/*", timeout=PATIENCE_MS)
    worker, _ = workers.hanging()
    workers.read()
    os.kill(worker, signal.SIGKILL)
    tab.get_by_text("was killed (signal 9)").wait_for(timeout=PATIENCE_MS)
    pictures(tab, "killed")
    tab.get_by_role("button", name="Try again: slow.xml").click()
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
