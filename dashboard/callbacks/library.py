"""What the library page does."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import dash
from dash import ALL, Input, Output, State, ctx

from dashboard.callbacks.trace import forget_problem, perform, was_pressed
from dashboard.errors import NotFound
from dashboard.library.catalog import Recording
from dashboard.library.library import Library
from dashboard.pages import library as pages
from dashboard.pages.compare import is_fit
from dashboard.pages.parts import Node

# In the browser, lest rows that are drawn anew meanwhile know nothing of it.
_TICK = """(clicks, before) => {
    const { triggered, triggered_id } = dash_clientside.callback_context;
    if (!triggered[0]?.value) return dash_clientside.no_update;  // it merely appeared
    const one = triggered_id.choose;
    return before.includes(one) ? before.filter((each) => each !== one) : [...before, one];
}"""
_MARK = "(chosen, ids) => ids.map((id) => String(chosen.includes(id.choose)))"


def page() -> Node:
    """Return the library page; its rows come by the callbacks below."""
    return pages.library_page()


def register(app: dash.Dash, library: Library) -> None:
    """Fill the table and keep it up to date; do what the buttons say."""
    _list(app, library)
    _act(app, library)
    _choose(app, library)
    _edit(app, library)


def _list(app: dash.Dash, library: Library) -> None:
    @app.callback(
        Output("library-rows", "children"),
        Output("library-tags", "children"),
        Output("library-shown", "data"),
        Input("library-poll", "n_intervals"),
        Input("library-search", "value"),
        Input("library-tag", "data"),
        Input("library-deleted", "aria-pressed"),
        Input("library-notice", "children"),
        Input("library-edit", "children"),
        State("library-shown", "data"),
        State("library-chosen", "data"),
        # Dash drops an answer when the same is asked again meanwhile: with a slow server, at every tick.
        running=[(Output("library-poll", "disabled"), True, False)],
    )
    def fill(
        _tick: Any,
        search: str | None,
        tag: str,
        pressed: str,
        _notice: Any,
        _edit: Any,
        before: str | None,
        chosen: list[str],
    ) -> Any:
        deleted = pressed == "true"
        found = library.recordings(search or "", tag, deleted)
        tags = [name for name, _count in library.tags()]
        told = repr((found, tags, tag, bool(search), deleted))
        shown = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()
        if shown == before:  # nothing is drawn anew while somebody reads or points at it
            return dash.no_update, dash.no_update, dash.no_update
        table = pages.rows(found, filtered=bool(search or tag), deleted=deleted, chosen=chosen)
        return table, pages.tag_buttons(tags, tag), shown

    @app.callback(
        Output("library-tag", "data"),
        Input({"tag": ALL}, "n_clicks"),
        State("library-tag", "data"),
        prevent_initial_call=True,
    )
    def choose(_clicks: list[int], chosen: str) -> Any:
        if not was_pressed():
            return dash.no_update
        return "" if ctx.triggered_id["tag"] == chosen else ctx.triggered_id["tag"]

    @app.callback(
        Output("library-deleted", "aria-pressed"),
        Input("library-deleted", "n_clicks"),
        prevent_initial_call=True,
    )
    def show_deleted(clicks: int) -> str:
        return str(clicks % 2 == 1).lower()


def _act(app: dash.Dash, library: Library) -> None:
    @app.callback(
        Output("library-notice", "children"),
        Output("library-edited", "data"),
        Input({"page": "library", "act": ALL, "recording": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def do(_clicks: list[int]) -> Any:
        if not was_pressed():
            return dash.no_update, dash.no_update
        forget_problem()
        act, recording = ctx.triggered_id["act"], ctx.triggered_id["recording"]
        if act == "edit":
            return None, recording
        told = pages.deleted_notice(library.recording(recording)) if act == "delete" else None
        perform(library, act, recording)
        return told, dash.no_update


def _choose(app: dash.Dash, library: Library) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        _TICK,
        Output("library-chosen", "data"),
        Input({"choose": ALL}, "n_clicks"),
        State("library-chosen", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        _MARK,
        Output({"choose": ALL}, "aria-checked"),
        Input("library-chosen", "data"),
        State({"choose": ALL}, "id"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("library-compare", "children"),
        Input("library-chosen", "data"),
        Input("library-shown", "data"),
    )
    def offer(chosen: list[str], _shown: str) -> Node:
        return pages.comparison(ready(library, chosen))

    @app.callback(
        Output("library-chosen", "data", allow_duplicate=True),
        Input("library-unchoose", "n_clicks"),
        prevent_initial_call=True,
    )
    def clear(_clicks: int) -> Any:
        return [] if was_pressed() else dash.no_update


def ready(library: Library, chosen: Sequence[str]) -> list[Recording]:
    """Return the chosen recordings that are still there and ready."""
    found = []
    for one in chosen:
        with suppress(NotFound):
            found.append(library.recording(one))
    return [one for one in found if is_fit(one)]


def _edit(app: dash.Dash, library: Library) -> None:
    @app.callback(
        Output("library-edit", "children"), Input("library-edited", "data"), prevent_initial_call=True
    )
    def open_editor(recording: str) -> Node:
        return pages.editor(library.recording(recording)) if recording else None

    @app.callback(
        Output("library-edited", "data", allow_duplicate=True),
        Input("edit-save", "n_clicks"),
        Input("edit-close", "n_clicks"),
        State("library-edited", "data"),
        State("edit-name", "value"),
        State("edit-tags", "value"),
        State("edit-note", "value"),
        prevent_initial_call=True,
    )
    def close_editor(
        _save: int, _close: int, recording: str, name: str | None, tags: str | None, note: str | None
    ) -> Any:
        if not was_pressed():
            return dash.no_update
        forget_problem()
        if ctx.triggered_id == "edit-save":
            library.edit(recording, name=name or None, tags=pages.split_tags(tags or ""), note=note or "")
        return ""
