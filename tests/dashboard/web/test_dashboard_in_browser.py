"""The dashboard in a real browser: a recording's page and the library."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import (
    FALLBACK,
    PATIENCE_MS,
    READY,
    SAMPLES,
    VERDICT,
    Running,
    Serve,
    Served,
    act,
    eventually,
    opened,
    pictures,
)
from library_support import removed

from tracekit_dashboard.library.library import Library

# A recording ----------------------------------------------------------------------------------------------


def test_from_the_command_to_a_zoomed_timeline(running: Running, tab: Any) -> None:
    started = running(str(FALLBACK))
    opened(tab, started.address)
    assert tab.locator("h1").inner_text() == "fallback-midway-ios27"
    assert VERDICT in tab.locator("#verdict").inner_text()
    assert "384 of 384 samples" in tab.locator(".view-tools").inner_text()
    assert tab.locator("#windows-live tbody tr").count() == 0  # made when its tab is opened
    tab.locator("#tab-calls").click()
    assert tab.locator("#windows-live tbody tr").count() == 12
    tab.locator("#tab-summary").click()
    tab.locator(".timeline-scroll").focus()
    for _ in range(3):
        tab.keyboard.press("w")
    eventually(tab, "location.hash.includes('t=')")
    start, end = map(int, re.search(r"t=(\d+)-(\d+)", tab.url).groups())  # type: ignore[union-attr]
    assert (end - start) / 568e6 == pytest.approx(1 / 1.4**3, rel=0.02)
    tab.fill("#toolbar input[type=search]", "engine:ANE")
    eventually(tab, "document.querySelector('.view-tools .summary').textContent.startsWith('26 of 384')")
    eventually(tab, "location.hash.includes('engine')")
    opened(tab, tab.url)  # a link reproduces it
    assert tab.locator(".view-tools .summary").inner_text().startswith("26 of 384 samples")
    pictures(tab, "trace")


def test_the_report_s_sections_are_the_tabs(fallback: Served, tab: Any) -> None:
    opened(tab, fallback.address)
    tab.locator("#verdict").wait_for()
    ids = tab.evaluate("[...document.querySelectorAll('#bench section[id]')].map(one => one.id)")
    names = "timeline findings notes engines latency submissions counters windows calltree flame samples"
    assert ids == [
        *names.split(),
        "stacks",
        "tables",
        "questions",
        "evidence",
        "symbols",
        "overlays",
        "model",
        "recording",
        "issues",
    ]
    assert not tab.locator("#windows-static").is_visible()
    tab.get_by_role("link", name="Show in the timeline: SpeechEncoder left").click()
    assert "Finding 1" in tab.locator("#inspector h2").inner_text()
    tab.locator("#tab-calls").click()
    eventually(
        tab, "document.querySelectorAll('#windows-live tr.inside').length === 6"
    )  # the finding's calls
    timeline = tab.locator("#timeline").bounding_box()
    tab.get_by_text("Download", exact=True).click()
    assert tab.locator("#timeline").bounding_box() == timeline  # the list lies over the page
    pictures(tab, "downloads")
    with tab.expect_download(timeout=PATIENCE_MS) as download:
        tab.get_by_role("link", name="Analysis (JSON)", exact=True).click()
    assert download.value.suggested_filename == "fallback-midway-ios27.analysis.json"


def test_no_script_in_the_markup_runs(fallback: Served, tab: Any) -> None:
    run = "window.ran = 1"
    forged = (
        f'<script>{run}</script><img src="/nothing" onerror="{run}"><p id="forged" onclick="{run}">It</p>'
    )

    def forge(route: Any) -> None:
        response = route.fetch()
        sections = response.json()
        sections["verdict"] = sections["verdict"].replace("</section>", f"{forged}</section>")
        route.fulfill(response=response, json=sections)

    tab.expected += ["404", "Content Security Policy"]
    tab.route("**/sections", forge)
    opened(tab, fallback.address)
    tab.get_by_role("button", name="Unfold the headline").click()
    tab.locator("#forged").click()
    assert tab.evaluate("window.ran") is None


def test_a_chosen_theme_holds_on_other_pages(fallback: Served, tab: Any) -> None:
    tab.emulate_media(color_scheme="light")
    opened(tab, fallback.address)
    tab.get_by_label("Theme").select_option("dark")
    tab.get_by_role("link", name="Recordings", exact=True).click()
    tab.wait_for_selector("#library", timeout=PATIENCE_MS)
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 24)"


def test_counters_are_drawn_as_a_line_per_event(serve: Serve, tab: Any) -> None:
    opened(tab, serve(SAMPLES / "counters-bnns-macos15").address)
    lines = tab.locator("#counters-live path.counter")
    lines.first.wait_for(timeout=PATIENCE_MS)
    names = tab.locator("#counters-live text").all_text_contents()
    assert 2 <= lines.count() <= 8
    assert len([name for name in names if name and not name[0].isdigit()]) == lines.count()
    tab.locator("#counters-live").scroll_into_view_if_needed()
    pictures(tab, "counters")


def test_a_recording_that_is_not_there(fallback: Served, tab: Any) -> None:
    opened(tab, f"{fallback.base}recordings/{'0' * 32}", "h1")
    tab.get_by_role("heading", name="Not found").wait_for()
    tab.expected.append("404")
    pictures(tab, "not-found")


def test_deleted_while_it_is_open(serve: Serve, tab: Any) -> None:
    dashboard = serve(FALLBACK)
    opened(tab, dashboard.address)
    second_tab = tab.context.new_page()
    opened(second_tab, dashboard.base, "#library tbody tr")
    act(second_tab, "Delete: fallback")
    second_tab.locator(".notice").wait_for()
    tab.keyboard.press("0")
    tab.reload()
    tab.get_by_text("This recording was deleted.").wait_for()
    tab.get_by_role("button", name="Restore: fallback").click()
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)


def test_while_it_waits_it_can_be_cancelled_and_tried_again(idle: tuple[str, Library], tab: Any) -> None:
    base, library = idle
    recording = library.add_file(FALLBACK)
    opened(tab, f"{base}recordings/{recording.id}", "progress")
    assert "Waiting for its turn" in tab.locator("main").inner_text()
    pictures(tab, "waiting")
    tab.get_by_role("button", name="Cancel: fallback").click()
    tab.get_by_text("Reading this recording was cancelled.").wait_for()
    assert library.find_recording(recording.id).state == "cancelled"
    tab.get_by_role("button", name="Try again: fallback").click()
    tab.get_by_text("Waiting for its turn").wait_for()
    library.delete(recording.id)  # by somebody else, while this page shows it
    tab.get_by_text("This recording was deleted.").wait_for()
    removed(library, recording.id)
    tab.get_by_role("button", name="Restore: fallback").click()
    tab.get_by_text("There is no such recording").wait_for()
    pictures(tab, "gone")


def test_the_list_follows_what_happens_elsewhere(idle: tuple[str, Library], tab: Any) -> None:
    base, library = idle
    opened(tab, base, ".empty")
    recording = library.add_file(FALLBACK)
    tab.get_by_role("button", name="Cancel: fallback").click()
    tab.get_by_role("button", name="Try again: fallback").wait_for()
    library.edit(recording.id, note="<b>from elsewhere</b>")
    tab.get_by_text("<b>from elsewhere</b>").wait_for()


def test_the_end_of_the_dashboard_is_reported(serve: Serve, sooner: None, tab: Any) -> None:
    dashboard = serve(FALLBACK)
    opened(tab, dashboard.address)
    tab.expected.append("ERR_CONNECTION")
    dashboard.close()
    tab.get_by_text("The dashboard does not answer").wait_for(timeout=15_000)
    tab.locator(".timeline-scroll").focus()
    tab.keyboard.press("w")  # what is here goes on
    eventually(tab, "location.hash.includes('t=')")


def test_a_problem_is_forgotten_when_something_else_succeeds(idle: tuple[str, Library], tab: Any) -> None:
    base, library = idle
    gone, stays = library.add_file(FALLBACK), library.add_file(SAMPLES / "counters-bnns-macos15")
    opened(tab, base, "#library tbody tr >> nth=1")
    tab.route(
        "**/_dash-update-component*",
        lambda route: (
            None if "library-poll.n_intervals" in (route.request.post_data or "") else route.continue_()
        ),
    )
    removed(library, gone.id)
    tab.get_by_role("button", name="Cancel: fallback").click()
    tab.get_by_text("There is no such recording").wait_for()
    tab.get_by_role("button", name="Cancel: counters").click()
    tab.get_by_text("There is no such recording").wait_for(state="detached")
    assert library.find_recording(stays.id).state == "cancelled"


def test_a_view_that_does_not_come_is_reported(fallback: Served, tab: Any) -> None:
    opened(tab, fallback.address)
    tab.route("**/api/recordings/*/view", lambda route: route.abort())
    tab.reload()
    tab.locator("#status.problem").wait_for()
    assert "The tables and pictures below are complete." in tab.locator("#status").inner_text()
    assert VERDICT in tab.locator("#verdict").inner_text()
    pictures(tab, "no-view")
    tab.expected.append("ERR_FAILED")  # the browser itself notes it


# The library ----------------------------------------------------------------------------------------------


def test_edit_search_tag_delete_and_undo(serve: Serve, tab: Any) -> None:
    opened(tab, serve(FALLBACK).base, "#library tbody tr")
    rows = tab.locator("#library tbody tr")
    act(tab, "Edit: fallback")
    tab.locator("#edit-name").fill("Speech")
    tab.locator("#edit-tags").fill("slow, v4.2")
    tab.locator("#edit-note").fill("since the update")
    tab.get_by_role("button", name="Save").click()
    tab.locator("#library tbody tr", has_text="since the update").wait_for()
    tab.locator("#library-search").fill("nothing like it")
    tab.get_by_text("No recording matches the search.").wait_for()
    tab.locator("#library-search").fill("speech")
    rows.first.wait_for()
    tab.locator("#library-search").fill("")
    tab.locator("#library-tags button", has_text="slow").click()
    tab.locator("#library-tags button[aria-pressed=true]").wait_for()
    assert rows.count() == 1
    pictures(tab, "library")
    tab.locator("#library-tags button", has_text="slow").click()
    act(tab, "Delete: Speech")
    tab.get_by_text("Deleted “Speech”.").wait_for()
    tab.get_by_text("No recording yet.").wait_for()
    pictures(tab, "empty")
    tab.get_by_role("button", name="Undo: Speech").click()
    rows.first.wait_for()
    act(tab, "Delete: Speech")
    tab.get_by_role("button", name="Show deleted").click()
    requests: list[str] = []
    tab.once("dialog", lambda dialog: (requests.append(dialog.message), dialog.dismiss()))
    tab.get_by_role("button", name="Delete for good: Speech").click()
    assert requests == [
        "Delete for good? This cannot be undone. The analysis of “Speech” is removed. "
        "The file itself stays in its place."
    ]
    assert rows.count() == 1
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Delete for good: Speech").click()
    tab.get_by_text("Deleted “Speech” for good.").wait_for()
    tab.get_by_text("Nothing was deleted.").wait_for()


def test_a_slow_server_shows_what_is_searched_for(
    idle: tuple[str, Library], tab: Any, pauses: list[float]
) -> None:
    """Responses that take longer than the pause between two polls arrive all the same."""
    base, library = idle
    for sample in (FALLBACK, SAMPLES / "counters-bnns-macos15"):
        library.add_file(sample)
    opened(tab, base, "#library tbody tr >> nth=1")
    pauses.append(1.5)
    tab.locator("#library-search").fill("counters")
    tab.locator("#library tbody tr", has_text="fallback").wait_for(state="detached", timeout=10_000)
    assert tab.locator("#library-search").input_value() == "counters"
    pauses.append(0)


def test_a_slow_server_shows_what_became_of_a_recording(
    idle: tuple[str, Library], tab: Any, pauses: list[float]
) -> None:
    base, library = idle
    recording = library.add_file(FALLBACK)
    opened(tab, f"{base}recordings/{recording.id}", "text=Waiting for its turn")
    pauses.append(1.5)
    with tab.expect_request("**/_dash-update-component*"):  # a question is on its way
        pass
    library.cancel(recording.id)
    tab.get_by_text("was cancelled").wait_for(timeout=10_000)
    pauses.append(0)


def test_what_is_typed_and_focused_stays_while_the_list_changes(idle: tuple[str, Library], tab: Any) -> None:
    base, library = idle
    recording = library.add_file(FALLBACK)
    library.cancel(recording.id)
    opened(tab, base, "#library tbody tr")
    act(tab, "Edit: fallback")
    tab.locator("#edit-note").fill("half a sen")
    library.add_file(SAMPLES / "counters-bnns-macos15")  # by somebody else
    tab.locator("#library tbody tr >> nth=1").wait_for()
    tab.keyboard.type("tence")
    assert tab.locator("#edit-note").input_value() == "half a sentence"
    tab.get_by_role("button", name="Save").click()
    tab.locator("#library tbody tr", has_text="half a sentence").wait_for()


def test_an_empty_library_differs_from_an_empty_search(idle: tuple[str, Library], tab: Any) -> None:
    opened(tab, idle[0], ".empty")
    tab.locator("#library-search").fill("nothing")
    tab.get_by_text("No recording matches the search.").wait_for()
    tab.locator("#library-search").fill("")
    tab.get_by_text("No recording yet.").wait_for()


def test_the_library_is_usable_by_keyboard_alone(fallback: Served, tab: Any) -> None:
    opened(tab, fallback.base, "#library tbody a")
    tab.locator("#library tbody tr", has_text=VERDICT[:20]).wait_for(timeout=PATIENCE_MS)
    reached = []
    for _ in range(30):
        tab.keyboard.press("Tab")
        reached.append(
            tab.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent || document.activeElement.id"
            )
        )
    for state in (
        "Skip to the content",
        "Choose a file …",
        "Choose a folder …",
        "library-search",
        "fallback-midway-ios27",
        "Actions: fallback-midway-ios27",
    ):
        assert state in reached


def test_nothing_stands_in_the_way_of_assistive_technology(fallback: Served, tab: Any, axe: str) -> None:
    for page, awaited in ((fallback.address, READY), (fallback.base, "#library tbody .actions")):
        opened(tab, page, awaited)
        assert barriers(tab, axe) == []


def test_another_host_needs_its_token(serve: Serve, tab: Any) -> None:
    dashboard = serve(host="0.0.0.0")
    token = dashboard.address.rpartition("?token=")[2]
    assert len(token) >= 32
    refused = tab.request.get(dashboard.base)
    assert refused.status == 401
    opened(tab, f"{dashboard.base}?token={token}", "#upload .drop")
    assert tab.url == dashboard.base
    opened(tab, dashboard.base, "#upload .drop")  # the cookie
