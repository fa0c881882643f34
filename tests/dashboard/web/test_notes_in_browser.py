"""Notes pinned to times, kept in the library."""

from __future__ import annotations

from typing import Any

from dashboard_support import FALLBACK, Serve, eventually, opened

LISTED = "[...document.querySelectorAll('.notes-list li > span')].map(note => note.textContent).join('|')"


def test_a_note_survives_a_reload_and_a_refused_one_is_not_shown_as_kept(serve: Serve, tab: Any) -> None:
    dashboard = serve(FALLBACK)
    opened(tab, dashboard.address)
    tab.get_by_role("button", name="Add note").click()
    tab.get_by_label("Text of the note").fill("<b>since</b> here")
    tab.keyboard.press("Enter")
    eventually(tab, f"{LISTED} === '<b>since</b> here'")
    recording = dashboard.library.list_recordings()[0].id
    for _ in range(40):
        if dashboard.library.notes.list_notes(recording):
            break
        tab.wait_for_timeout(50)
    [note] = dashboard.library.notes.list_notes(recording)
    assert note.text == "<b>since</b> here"
    opened(tab, dashboard.address)
    eventually(tab, f"{LISTED} === '<b>since</b> here'")
    assert "notes" not in tab.url
    tab.get_by_role("button", name="Delete the note").click()
    eventually(tab, f"{LISTED} === ''")
    tab.expected.append("ERR_FAILED")
    tab.route("**/notes/*", lambda route: route.abort())
    tab.get_by_role("button", name="Add note").click()
    tab.get_by_label("Text of the note").fill("lost")
    tab.keyboard.press("Enter")
    eventually(
        tab, "document.querySelector('#notes [role=status]').textContent.startsWith('The note was not kept')"
    )
    assert tab.evaluate(LISTED) == ""
    assert dashboard.library.notes.list_notes(recording) == []
