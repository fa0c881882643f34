"""Callbacks of the library page. library.js draws the table and keeps the rows that do not change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import dash
from dash import ALL, Input, Output, State, ctx

from tracekit.errors import TracekitError
from tracekit.samples import SAMPLE_RECORDINGS
from tracekit_dashboard.callbacks import polls
from tracekit_dashboard.callbacks.library_list import ListRequest, find_changes
from tracekit_dashboard.callbacks.trace import clear_problem, perform, was_pressed
from tracekit_dashboard.error_responses import format_sentence
from tracekit_dashboard.errors import Busy, NotFound
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import editor
from tracekit_dashboard.pages import library as pages
from tracekit_dashboard.pages.compare import is_fit
from tracekit_dashboard.pages.components import Node
from tracekit_dashboard.pages.frame import build_problem
from tracekit_dashboard.pages.tray import build_tray

_NO_UPDATE = dash.no_update
_PUBLISH = """(%s) => {
    const rows = document.getElementById("library-rows");
    if (!rows) return dash_clientside.no_update;
    rows.state = { ...rows.state, %s };
    rows.dispatchEvent(new CustomEvent("state", { detail: "%s" }));
    return dash_clientside.no_update;
}"""
_PUBLISH_TABLE = _PUBLISH % ("table, chosen", "table, chosen", "table")
_PUBLISH_ANSWERED = _PUBLISH % ("answered", "answered", "answered")
_PUBLISH_CLOSED = _PUBLISH % ("closed", "closed", "closed")
_TICK = """(ticked, before) => {
    if (!ticked) return dash_clientside.no_update;
    const id = ticked.choose;
    return before.includes(id) ? before.filter((other) => other !== id) : [...before, id];
}"""
# In the browser: a response that redraws the tags meanwhile would lose the press.
_TAG = """(clicks, chosen) => {
    const { triggered, triggered_id } = dash_clientside.callback_context;
    if (!triggered[0]?.value) return dash_clientside.no_update;  // the button appeared
    return triggered_id.tag === chosen ? "" : triggered_id.tag;
}"""
_FIRST_PAGE = "() => 1"
_NOTE = """(q, tag, pressed, chosen, page, order) => {
    const deleted = pressed === "true" ? "1" : "";
    const sort = order !== "-added" && order;
    const shown = { q, tag, deleted, chosen: chosen.join("."), page: page > 1 && page, sort };
    const query = new URLSearchParams(Object.entries(shown).filter(([, value]) => value)).toString();
    history.replaceState(history.state, "", location.pathname + (query && `?${query}`) + location.hash);
    return dash_clientside.no_update;
}"""


def build_page(query: str = "") -> Node:
    """Return the library page in the state of its address; the callbacks below send its rows."""
    return pages.build_library_page(pages.parse_query(query))


def register(app: dash.Dash, library: Library) -> None:
    """Fill the table and keep it up to date; handle the buttons."""
    polls.retry_lost_requests(app, "library")
    _add_list_callbacks(app, library)
    _add_filter_callbacks(app)
    _add_action_callbacks(app, library)
    _add_choice_callbacks(app, library)
    _add_edit_callbacks(app, library)
    _show_disk_use(app, library)
    _show_what_was_found(app, library)


def _add_list_callbacks(app: dash.Dash, library: Library) -> None:
    @app.callback(
        Output("library-table", "data"),
        Output("library-tags", "children"),
        Output("library-shown", "data"),
        Input("library-poll", "n_intervals"),
        Input("library-search", "value"),
        Input("library-tag", "data"),
        Input("library-deleted", "aria-pressed"),
        Input("library-page", "data"),
        Input("library-order", "data"),
        Input("library-answered", "data"),
        Input("library-edit", "children"),
        State("library-shown", "data"),
        running=polls.disable_while_running("library"),
    )
    def fill(
        _tick: Any,
        search: str | None,
        tag: str,
        pressed: str,
        page: int,
        order: str,
        _answered: Any,
        _edit: Any,
        known_rows: dict[str, str] | None,
    ) -> Any:
        if ctx.triggered_id == "library-search":
            clear_problem()  # of the search before
        request = ListRequest(search or "", tag, pressed == "true", page or 1, order)
        return find_changes(library, request, known_rows or {})

    _run_in_browser(app, _PUBLISH_TABLE, Output("library-drawn", "data"), "library-table", "library-chosen")


def _run_in_browser(app: dash.Dash, code: str, output: Output, *stores: str) -> None:
    inputs = [Input(store, "data") for store in stores]
    app.clientside_callback(code, output, *inputs, prevent_initial_call=True)  # type: ignore[no-untyped-call]


def _add_filter_callbacks(app: dash.Dash) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        _TAG,
        Output("library-tag", "data"),
        Input({"tag": ALL}, "n_clicks"),
        State("library-tag", "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("library-deleted", "aria-pressed"),
        Input("library-deleted", "n_clicks"),
        State("library-deleted", "aria-pressed"),
        prevent_initial_call=True,
    )
    def show_deleted(_clicks: int, pressed: str) -> Any:
        return str(pressed != "true").lower() if was_pressed() else _NO_UPDATE

    app.clientside_callback(  # type: ignore[no-untyped-call]
        _NOTE,
        Output("library-drawn", "data", allow_duplicate=True),
        Input("library-search", "value"),
        Input("library-tag", "data"),
        Input("library-deleted", "aria-pressed"),
        Input("library-chosen", "data"),
        Input("library-page", "data"),
        Input("library-order", "data"),
        prevent_initial_call=True,
    )

    app.clientside_callback(  # type: ignore[no-untyped-call]
        _FIRST_PAGE,
        Output("library-page", "data"),
        Input("library-order", "data"),
        Input("library-search", "value"),
        Input("library-tag", "data"),
        Input("library-deleted", "aria-pressed"),
        prevent_initial_call=True,
    )


def _add_action_callbacks(app: dash.Dash, library: Library) -> None:
    @app.callback(
        Output("library-notice", "children"),
        Output("library-edited", "data"),
        Output("library-answered", "data"),
        Input("library-asked", "data"),
        State("library-edited", "data"),
        prevent_initial_call=True,
    )
    def on_action(button: dict[str, str | int] | None, edited: str) -> Any:
        if not button:
            return _NO_UPDATE, _NO_UPDATE, _NO_UPDATE
        clear_problem()
        action, recording = str(button.get("act")), str(button.get("recording"))
        try:
            notice = _perform(library, action, recording)
        except Busy:
            raise
        except TracekitError as error:
            dash.set_props("problem", {"children": build_problem(format_sentence(error))})
            return None, _NO_UPDATE, button
        if action == "edit":
            return None, recording, button
        return notice, "" if edited == recording and action == "delete" else _NO_UPDATE, button

    _run_in_browser(
        app, _PUBLISH_ANSWERED, Output("library-drawn", "data", allow_duplicate=True), "library-answered"
    )


def _perform(library: Library, action: str, recording_id: str) -> Node:
    """Perform the action of a button, and return the notice of it."""
    if action == "drop-all":
        return pages.build_dropped_notice(*library.drop_all_results())
    if action == "hide-found":
        library.notices.clear()
        return None
    if action == "sample":
        library.add_file(SAMPLE_RECORDINGS[0].path)
        return None
    recording = library.find_recording(recording_id)
    if action == "drop":
        return pages.build_dropped_notice(library.drop_results(recording_id))
    perform(library, action, recording_id)
    if action == "delete":
        return pages.build_deleted_notice(recording)
    return pages.build_purged_notice(recording) if action == "purge" else None


def _show_disk_use(app: dash.Dash, library: Library) -> None:
    @app.callback(Output("library-disk", "children"), Input("library-shown", "data"))
    def show(_shown: dict[str, str] | None) -> Node:
        return pages.describe_disk_use(library.measure_disk_use())


def _show_what_was_found(app: dash.Dash, library: Library) -> None:
    @app.callback(Output("library-found", "children"), Input("library-answered", "data"))
    def show(_answered: Any) -> Node:
        return pages.build_found_notices(library.notices)


def _add_choice_callbacks(app: dash.Dash, library: Library) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        _TICK,
        Output("library-chosen", "data"),
        Input("library-ticked", "data"),
        State("library-chosen", "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("library-compare", "children"),
        Input("library-chosen", "data"),
        Input("library-shown", "data"),
    )
    def offer(chosen: list[str], _shown: dict[str, str] | None) -> Node:
        return build_tray(find_ready_recordings(library, chosen))

    @app.callback(
        Output("library-chosen", "data", allow_duplicate=True),
        Input("library-unchoose", "n_clicks"),
        prevent_initial_call=True,
    )
    def clear(_clicks: int) -> Any:
        return [] if was_pressed() else _NO_UPDATE


def find_ready_recordings(library: Library, recording_ids: Sequence[str]) -> list[Recording]:
    """Return the chosen recordings that exist and are ready."""
    recordings = []
    for recording_id in recording_ids:
        with suppress(NotFound):
            recordings.append(library.find_recording(recording_id))
    return [recording for recording in recordings if is_fit(recording)]


def _add_edit_callbacks(app: dash.Dash, library: Library) -> None:
    @app.callback(
        Output("library-edit", "children"), Input("library-edited", "data"), prevent_initial_call=True
    )
    def open_editor(recording: str) -> Node:
        return editor.build_editor(library.find_recording(recording)) if recording else None

    @app.callback(
        Output("library-edited", "data", allow_duplicate=True),
        Output("library-closed", "data"),
        Output("edit-problem", "children"),
        Input("edit-save", "n_clicks"),
        Input("edit-name", "n_submit"),
        Input("edit-tags", "n_submit"),
        Input("edit-close", "n_clicks"),
        State("library-edited", "data"),
        State("edit-name", "value"),
        State("edit-tags", "value"),
        State("edit-note", "value"),
        prevent_initial_call=True,
    )
    def close_editor(
        _save: int,
        _name: int,
        _tags: int,
        _close: int,
        recording: str,
        name: str | None,
        tags: str | None,
        note: str | None,
    ) -> Any:
        if not was_pressed():
            return _NO_UPDATE, _NO_UPDATE, _NO_UPDATE
        clear_problem()
        if ctx.triggered_id != "edit-close":
            new_tags = editor.split_tags(tags or "")
            if problem_text := editor.find_problem(library.find_recording(recording), name or "", new_tags):
                return _NO_UPDATE, _NO_UPDATE, problem_text
            library.edit(recording, name=name, tags=new_tags, note=note or "")
        return "", recording, _NO_UPDATE

    _run_in_browser(
        app, _PUBLISH_CLOSED, Output("library-drawn", "data", allow_duplicate=True), "library-closed"
    )
