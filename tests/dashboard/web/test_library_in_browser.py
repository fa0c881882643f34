"""The library's page in a real browser: rows that stay while others change, and confirmations."""

from __future__ import annotations

from typing import Any

from dashboard_support import FALLBACK, SAMPLES, Serve, act, eventually, free_port, opened, pictures, until
from library_support import removed

from tracekit_dashboard.library.catalog import make_recording
from tracekit_dashboard.library.library import Library

COUNTERS = SAMPLES / "counters-bnns-macos15"
Idle = tuple[str, Library]
BROKEN = "**/_dash-update-component*"


def quiet(tab: Any) -> None:
    """Forget what the browser and Dash note of requests that fail."""
    tab.expected += ["ERR_FAILED", "ERR_CONNECTION", "the server did not respond"]


def failures(tab: Any) -> list[Any]:
    """Return a list to which every request that fails is added."""
    failed: list[Any] = []

    def note(request: Any) -> None:
        failed.append(request)

    tab.on("requestfailed", note)
    return failed


def without_responses(tab: Any) -> None:
    """Let a question of the page go without a response."""
    failed = failures(tab)
    tab.route(BROKEN, lambda route: route.abort())
    until(tab, lambda: failed)
    tab.unroute(BROKEN)


def cancelled(library: Library, path: Any) -> Any:
    recording = library.add_file(path)
    library.cancel(recording.id)
    return recording


def progress(library: Library, recording: Any, share: float) -> None:
    library._catalog.change(recording.id, state="reading", stage="opening", progress=share)


def test_what_the_start_found_is_shown_until_it_is_hidden(serve: Serve, tab: Any) -> None:
    dashboard = serve(FALLBACK)
    dashboard.library.notices += ["The catalog was missing.", "<b>bold</b> stays"]
    opened(tab, dashboard.base, "#library-found .notice")
    assert tab.locator("#library-found p").all_inner_texts() == [
        "The catalog was missing.",
        "<b>bold</b> stays",
    ]
    tab.get_by_role("button", name="Hide").click()
    until(tab, lambda: tab.locator("#library-found .notice").count() == 0)
    tab.reload()
    tab.locator("#library tbody tr").wait_for()
    assert tab.locator("#library-found .notice").count() == 0


# A question without an answer -----------------------------------------------------------------------------


def test_the_list_goes_on_after_a_question_without_a_response(idle: Idle, sooner: None, tab: Any) -> None:
    base, library = idle
    opened(tab, base, ".empty")
    without_responses(tab)
    library.add_file(FALLBACK)
    tab.locator("#library tbody tr", has_text="fallback").wait_for(timeout=15_000)
    quiet(tab)


def test_a_recording_s_page_goes_on_after_a_question_without_a_response(
    idle: Idle, sooner: None, tab: Any
) -> None:
    base, library = idle
    recording = library.add_file(FALLBACK)
    opened(tab, f"{base}recordings/{recording.id}", "text=Waiting for its turn")
    without_responses(tab)
    library.cancel(recording.id)
    tab.get_by_text("was cancelled").wait_for(timeout=15_000)
    quiet(tab)


def test_the_list_goes_on_after_a_restart_of_the_dashboard(serve: Serve, sooner: None, tab: Any) -> None:
    port = free_port()
    dashboard = serve(port=port)
    opened(tab, dashboard.base, ".empty")
    failed = failures(tab)
    dashboard.close()
    until(tab, lambda: failed)
    serve(FALLBACK, port=port)
    tab.locator("#library tbody tr", has_text="fallback").wait_for(timeout=15_000)
    quiet(tab)


def test_a_page_from_before_an_update_is_loaded_again_once(idle: Idle, tab: Any) -> None:
    base, library = idle
    cancelled(library, FALLBACK)
    opened(tab, base, "#library tbody tr")
    act(tab, "Edit: ")
    tab.locator(".editor").wait_for()
    loads: list[str] = []
    polls: list[Any] = []
    tab.on("load", lambda page: loads.append(page.url))

    def answer_as_another_version(route: Any) -> None:
        polls.append(route)
        route.fulfill(status=400, json={"error": "No."}, headers={"X-Tracekit-Version": "next"})

    tab.route(BROKEN, answer_as_another_version)
    until(tab, lambda: len(polls) > 2)
    assert not loads  # the open form may hold text
    tab.unroute(BROKEN)
    tab.locator("#edit-close").click()
    tab.locator(".editor").wait_for(state="detached")
    tab.route(BROKEN, answer_as_another_version)
    until(tab, lambda: loads)
    before = len(polls)
    until(tab, lambda: len(polls) > before)
    assert len(loads) == 1
    tab.expected += ["400", "body stream already read"]  # Dash reads a refusal twice


def test_what_is_pressed_while_a_recording_is_read_is_not_lost(idle: Idle, tab: Any) -> None:
    base, library = idle
    recording = library.add_file(FALLBACK)
    opened(tab, f"{base}recordings/{recording.id}", "text=Waiting for its turn")
    tab.get_by_role("button", name="Cancel: fallback").hover()
    tab.mouse.down()
    progress(library, recording, 0.3)
    tab.get_by_text("opening, 30 %").wait_for()
    tab.mouse.up()
    tab.get_by_text("was cancelled").wait_for()


# Rows that stay -------------------------------------------------------------------------------------------


def test_a_row_stays_while_others_change(idle: Idle, tab: Any) -> None:
    base, library = idle
    cancelled(library, FALLBACK)
    opened(tab, base, "#library tbody tr")
    tab.get_by_label("Actions: fallback").focus()
    tab.evaluate("window.before = document.activeElement")
    recording = library.add_file(COUNTERS)
    tab.locator("#library tbody tr >> nth=1").wait_for()
    for share in (0.1, 0.2):
        progress(library, recording, share)
        tab.get_by_text(f"opening, {100 * share:.0f} %").wait_for()
    library.delete(recording.id)
    tab.locator("#library tbody tr >> nth=1").wait_for(state="detached")
    assert tab.evaluate("document.activeElement === window.before && window.before.isConnected")


def test_a_click_that_takes_its_time_is_not_lost(idle: Idle, tab: Any) -> None:
    base, library = idle
    cancelled(library, FALLBACK)
    opened(tab, base, "#library tbody tr")
    tab.get_by_label("Actions: fallback").click()
    tab.get_by_role("button", name="Edit: fallback").hover()
    tab.mouse.down()
    progress(library, library.add_file(COUNTERS), 0.3)
    tab.locator("#library tbody tr >> nth=1").wait_for()
    box = tab.get_by_role("button", name="Edit: fallback").bounding_box()
    tab.mouse.move(box["x"] + 5, box["y"] + 5)  # the row above has moved it
    tab.mouse.up()
    tab.get_by_role("heading", name="Edit “fallback").wait_for()


def test_the_focus_is_where_one_goes_on(idle: Idle, tab: Any) -> None:
    base, library = idle
    cancelled(library, FALLBACK)
    opened(tab, base, "#library tbody tr")
    act(tab, "Edit: fallback")
    tab.locator("#edit-name").fill("Speech")
    tab.locator("#edit-name").press("Enter")  # saves
    tab.get_by_role("link", name="Speech").wait_for()
    eventually(tab, "document.activeElement.ariaLabel === 'Actions: Speech'")
    act(tab, "Delete: Speech")
    eventually(tab, "document.activeElement.ariaLabel === 'Undo: Speech'")
    tab.keyboard.press("Enter")
    tab.get_by_role("link", name="Speech").wait_for()


# Messages ------------------------------------------------------------------------------------------------


def test_undo_is_in_sight_wherever_one_deletes(idle: Idle, tab: Any) -> None:
    base, library = idle
    for number in range(22):
        library._catalog.add(make_recording(f"{number:032x}", f"{number}.xml", "upload", 1))
        library.cancel(f"{number:032x}")
    opened(tab, base, "#library tbody tr >> nth=21")
    tab.set_viewport_size({"width": 1280, "height": 700})
    tab.get_by_label("Actions: ").last.click()
    tab.get_by_role("button", name="Delete:").last.click()
    undo = tab.get_by_role("button", name="Undo:")
    undo.wait_for()
    pictures(tab, "undo")
    assert tab.evaluate("scrollY") > 150
    assert 0 < undo.bounding_box()["y"] < 700


def test_an_undo_that_comes_too_late_is_not_offered_again(idle: Idle, tab: Any) -> None:
    base, library = idle
    recording = cancelled(library, FALLBACK)
    opened(tab, base, "#library tbody tr")
    act(tab, "Delete: fallback")
    tab.get_by_role("button", name="Undo: fallback").wait_for()
    removed(library, recording.id)
    tab.get_by_role("button", name="Undo: fallback").click()
    tab.get_by_text("There is no such recording").wait_for()
    tab.get_by_role("button", name="Undo: fallback").wait_for(state="detached")


def test_what_was_pressed_in_vain_is_reported(idle: Idle, sooner: None, tab: Any) -> None:
    base, library = idle
    recording = cancelled(library, FALLBACK)
    opened(tab, base, "#library tbody tr")
    tab.route(BROKEN, lambda route: route.abort())
    act(tab, "Delete: fallback")
    notice = tab.get_by_text("“Delete: fallback-midway-ios27” was not answered")
    notice.wait_for(timeout=10_000)
    pictures(tab, "unanswered")
    assert library.find_recording(recording.id).deleted is None
    tab.unroute(BROKEN)
    act(tab, "Delete: fallback")
    tab.get_by_role("button", name="Undo: fallback").wait_for()
    assert not notice.is_visible()
    quiet(tab)


# The form -------------------------------------------------------------------------------------------------


def test_what_was_typed_is_not_lost_unasked(idle: Idle, tab: Any) -> None:
    base, library = idle
    cancelled(library, FALLBACK)
    cancelled(library, COUNTERS)
    opened(tab, base, "#library tbody tr >> nth=1")
    act(tab, "Edit: fallback")
    note = tab.locator("#edit-note")
    note.fill("one\ntwo")
    requests: list[str] = []
    tab.on("dialog", lambda dialog: (requests.append(dialog.message), dialog.dismiss()))
    act(tab, "Edit: counters")
    note.press("Escape")
    assert len(requests) == 2 and "not saved" in requests[0]
    assert note.input_value() == "one\ntwo"
    pictures(tab, "editor")
    tab.get_by_role("button", name="Save").click()
    note.wait_for(state="detached")
    assert sorted(recording.note for recording in library.list_recordings()) == ["", "one\ntwo"]
    act(tab, "Edit: fallback")
    note.press("Escape")  # nothing was changed: nothing is asked
    note.wait_for(state="detached")
    assert len(requests) == 2


def test_a_name_of_blanks_is_reported_and_a_deleted_recording_s_form_closes(idle: Idle, tab: Any) -> None:
    base, library = idle
    recording = cancelled(library, FALLBACK)
    opened(tab, base, "#library tbody tr")
    act(tab, "Edit: fallback")
    tab.locator("#edit-name").fill("  ")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_text("A recording needs a name.").wait_for()
    assert library.find_recording(recording.id).name == "fallback-midway-ios27"
    act(tab, "Delete: fallback")
    tab.locator("#edit-name").wait_for(state="detached")


# What is shown --------------------------------------------------------------------------------------------


def test_what_is_shown_stays_over_a_reload_and_the_way_back(idle: Idle, tab: Any) -> None:
    base, library = idle
    gone, stays = cancelled(library, FALLBACK), cancelled(library, COUNTERS)
    library.delete(gone.id)
    library.edit(stays.id, tags=["slow"])
    opened(tab, base, "#library tbody tr")
    tab.locator("#library-tags button", has_text="slow").click()
    tab.locator("#library-tags button[aria-pressed=true]").wait_for()
    tab.locator("#library-search").fill("count")
    eventually(tab, "location.search === '?q=count&tag=slow'")
    tab.get_by_role("link", name="counters").click()
    tab.get_by_text("was cancelled").wait_for()
    tab.go_back()
    tab.locator("#library tbody tr").wait_for()
    assert tab.locator("#library-search").input_value() == "count"
    assert tab.locator("#library-tags button[aria-pressed=true]").inner_text() == "slow"
    opened(tab, f"{base}?deleted=1", "#library tbody tr")
    assert tab.get_by_role("button", name="Restore: fallback").is_visible()
    tab.get_by_role("button", name="Show deleted").click()
    tab.get_by_label("Actions: counters").wait_for()
    eventually(tab, "location.search === ''")


def test_the_form_and_the_notices_are_open_to_assistive_technology(idle: Idle, tab: Any, axe: str) -> None:
    base, library = idle
    cancelled(library, FALLBACK)
    cancelled(library, COUNTERS)
    library.uploads.begin("left.xml", 5)
    opened(tab, base, ".unfinished li")
    act(tab, "Delete: counters")
    tab.get_by_role("button", name="Undo: counters").wait_for()
    tab.evaluate(axe)
    for _ in range(2):
        violations = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        assert [(violation["id"], violation["nodes"][0]["html"]) for violation in violations] == []
        act(tab, "Edit: fallback")
        tab.locator("#edit-note").wait_for()
